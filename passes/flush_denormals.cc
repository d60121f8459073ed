// flush-denormals: denormal numbers of constants become 0, as compiled code takes them.
//
//   multiply(%x, 1e-40f)   becomes   multiply(%x, 0f)
//
// A processor may take hundreds of times as long for a denormal weight as for another number. That
// compiled code takes it for 0 in any case saves nothing of that everywhere: on a GPU, or under a
// caller that keeps denormals. A constant whose bits are moved stays (op::moves_bits), and so does
// one that a function, a kernel of the program or the result gets: its denormals can be seen.
//
// Before: constants are folded, so that a weight stands where it is used. After: no operator that
// calculates has a constant argument with denormals.
#include <algorithm>
#include <unordered_map>

#include "ir/rewrite.h"
#include "op/denormals.h"
#include "op/registry.h"
#include "passes/pass.h"
#include "runtime/flushed.h"

namespace relay::passes {
namespace {

class Flush {
 public:
  // The constant, or each constant of a tuple, without denormals; the same
  // expression if it has none.
  Expr operator()(relay::Builder& b, Expr e) {
    if (const auto* constant = e->as<Constant>()) {
      const auto [done, is_new] = done_.try_emplace(e, e);
      if (!is_new || !has_denormals(*constant->value)) return done->second;
      const SpanScope at(b, e->span);
      return done->second = b.constant(flushed(*constant->value));
    }
    const auto* tuple = e->as<Tuple>();
    if (!tuple) return e;
    std::vector<Expr> fields;
    for (Expr field : tuple->fields) fields.push_back(field->as<Constant>() ? (*this)(b, field) : field);
    return with_children(b.context(), e, fields);
  }

 private:
  // So that uses of one constant share the new one, and each constant is looked through once: steps
  // of a recurrent network all use the same weights.
  std::unordered_map<Expr, Expr> done_;
};

Module run(const Module& m, const PassContext&) {
  Flush flush;
  return rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    const op::OpDef* def = op::callee(e);
    if (!def || op::moves_bits(*def)) return e;
    const auto* call = e->as<Call>();
    std::vector<Expr> args;
    for (Expr arg : call->args) args.push_back(flush(b, arg));
    if (std::equal(args.begin(), args.end(), call->args.begin())) return e;
    const SpanScope at(b, e->span);
    return b.call(call->callee, args, call->attrs, e->type);
  });
}

}  // namespace

const Pass kFlushDenormals = {
    .name = "flush-denormals",
    .doc = "denormal numbers of constants become 0 where an operator calculates with them",
    .run = run,
};

}  // namespace relay::passes
