// split-args: a concatenation of many tensors becomes concatenations of few.
//
//   concatenate((%a, %b, %c, %d, %e))   with most=3 becomes
//   concatenate((concatenate((%a, %b, %c)), concatenate((%d, %e))))
//
// A kernel has a parameter for each tensor, and a device has a limit for these.
//
// Before: the tuple stands in the call, and not behind a let. After: no concatenation of such a
// tuple has more than `most` fields.
#include <vector>

#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// One concatenation of each `most` fields. A single field that is left stays as it is.
std::vector<Expr> parts_of(relay::Builder& b, std::span<const Expr> fields, size_t most,
                           const std::vector<AttrArg>& attrs) {
  std::vector<Expr> out;
  for (size_t i = 0; i < fields.size(); i += most) {
    const std::span<const Expr> part = fields.subspan(i, std::min(most, fields.size() - i));
    out.push_back(part.size() == 1 ? part[0] : op::call(b, op::kConcatenate, {b.tuple(part)}, attrs));
  }
  return out;
}

Module run(const Module& m, const PassContext& pass) {
  const auto most = static_cast<size_t>(pass.value("most"));
  return rewrite(m, [&](relay::Builder& b, Expr e) -> Expr {
    if (op::callee(e) != &op::kConcatenate) return e;
    const auto& call = *e->as<Call>();
    const auto* tuple = call.args[0]->as<Tuple>();
    if (!tuple || tuple->fields.size() <= most) return e;
    const SpanScope at(b, e->span);
    const std::vector<AttrArg> attrs = op::attr_args(call.attrs);
    std::vector<Expr> fields(tuple->fields.begin(), tuple->fields.end());
    while (fields.size() > most) fields = parts_of(b, fields, most, attrs);
    return op::call(b, op::kConcatenate, {b.tuple(fields)}, attrs);
  });
}

}  // namespace

const Pass kSplitArgs = {
    .name = "split-args",
    .doc = "concatenate many tensors in several steps",
    .parameters = {{"most", 64, "the most tensors that one call concatenates", 2}},
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
