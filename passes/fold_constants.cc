// fold-constants: evaluate operator calls whose arguments are all constants, and take the branches
// and arms that are known then.
//
// Folding is interpretation: the answer comes from the operator's own definition, so a folded
// program cannot disagree with the reference interpreter. Calls that trap are left in place,
// and so are those whose answer is large: keeping it must not be much more expensive than
// keeping the question.
//
// Before: nothing is asked for. After: a call on constants that is left traps, or
// has a large answer. Equal calls on the same constants are one constant.
#include <algorithm>
#include <map>
#include <vector>

#include "base/failure.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/expand.h"
#include "passes/known_branches.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

// The value of a constant, or of a tuple of constants.
std::optional<Value> value_of(Expr e) {
  if (const auto* c = e->as<Constant>()) return Value(*c->value);
  const auto* tuple = e->as<Tuple>();
  if (!tuple) return std::nullopt;
  std::vector<Value> fields;
  for (Expr field : tuple->fields) {
    const auto* c = field->as<Constant>();
    if (!c) return std::nullopt;
    fields.push_back(Value(*c->value));
  }
  return Value::tuple(std::move(fields));
}

std::optional<int64_t> bytes_of(Type t) {
  const auto* tensor = t ? t->as<TensorType>() : nullptr;
  if (!tensor) return std::nullopt;
  const auto shape = tensor->static_shape();
  const auto count = shape ? element_count(*shape) : std::nullopt;
  int64_t bytes;
  if (!count || __builtin_mul_overflow(*count, static_cast<int64_t>(tensor->dtype.bytes()), &bytes))
    return std::nullopt;
  return bytes;
}

// What tells a call on constants from others: the operator, its attributes, and where the elements
// of each tensor are. Types and attributes are interned. Empty: an argument is no constant.
using CallKey = std::vector<const void*>;

bool add_constants(Expr e, CallKey& key) {
  key.push_back(e->type);
  if (const auto* c = e->as<Constant>()) {
    key.push_back(c->value->data());
    return true;
  }
  const auto* tuple = e->as<Tuple>();
  return tuple && std::all_of(tuple->fields.begin(), tuple->fields.end(),
                              [&](Expr field) { return add_constants(field, key); });
}

CallKey key_of(const Call& call, const op::OpDef& def) {
  CallKey key{&def, call.attrs.begin()};
  for (Expr a : call.args) {
    if (!add_constants(a, key)) return {};
  }
  return key;
}

// The shape of a tensor is known from its type, whatever its value.
bool asks_only_for_shape(const op::OpDef* def) { return def == &op::kShapeOf || def == &op::kNdarraySize; }

std::optional<Value> value_of_call(Context& context, const Call& call, const op::OpDef& def,
                                   analysis::Effects& effects) {
  std::vector<Value> args;
  for (Expr a : call.args) {
    std::optional<Value> v = value_of(a);
    if (!v && asks_only_for_shape(&def) && effects.silent(a)) {
      const auto* tensor = a->type ? a->type->as<TensorType>() : nullptr;
      const auto shape = tensor ? tensor->static_shape() : std::nullopt;
      if (!shape) return std::nullopt;
      // Elements are not looked at, so none need exist.
      v = Value(Tensor(tensor->dtype, *shape, nullptr, nullptr));
    }
    if (!v) return std::nullopt;
    args.push_back(std::move(*v));
  }
  try {
    return op::evaluate(context, def, args, call.attrs);
  } catch (const Trap&) {
    return std::nullopt;  // it fails when it runs, not before
  }
}

class Folder {
 public:
  explicit Folder(const PassContext& pass) : pass_(pass) {}

  // Known branches may make other things constant, and types more definite. Once none is made,
  // nothing more follows.
  Module run(Module m) {
    for (;;) {
      Sweep sweep = fold(m, BranchTypes::kInferred);
      if (!sweep.took_branches) return sweep.module;
      std::optional<Module> checked = well_typed(sweep.module);
      if (!checked) checked = well_typed(fold(m, BranchTypes::kWritten).module);
      if (!checked)
        return fold(m, BranchTypes::kNone).module;  // a branch that is not taken says what its types are
      m = *checked;
    }
  }

 private:
  struct Sweep {
    Module module;
    bool took_branches = false;
  };

  Sweep fold(const Module& m, BranchTypes types) {
    analysis::Effects effects(m);
    Sweep out{m};
    for (const auto& [name, fn] : m.functions()) {
      const BranchesTaken taken = rewrite_known_branches(
          m, fn, types, [&](relay::Builder& b, Expr e) { return fold(b, e, effects); });
      out.took_branches = out.took_branches || !taken.touched.empty() || !taken.to_bind.empty();
      Expr now = with_lets(m, fn, taken);
      if (now == fn) now = taken.root;
      if (now != fn) out.module.set_function(name.text(), now->as<Fn>());
    }
    return out;
  }

  // The function with lets for what is shared where branches are taken. It may be the
  // function itself.
  static Expr with_lets(const Module& m, Expr fn, const BranchesTaken& taken) {
    if (taken.touched.empty() && taken.to_bind.empty()) return fn;
    NodeMap<bool> touched;
    for (Expr e : post_order(taken.touched)) touched[e] = true;
    analysis::Effects effects(m, fn);
    return insert_lets(
        m, fn, [&](Expr e) { return taken.to_bind.contains(e) || (touched.get(e) && !effects.silent(e)); });
  }

  static std::optional<Module> well_typed(const Module& m) {
    Diagnostics quiet;
    Result<Module> checked = typecheck::check(m, quiet);
    return checked ? std::optional(*checked) : std::nullopt;
  }

  Expr fold(relay::Builder& b, Expr e, analysis::Effects& effects) {
    if (const auto* proj = e->as<Proj>()) {
      const Expr field = field_of_tuple(*proj, effects);
      return field->as<Constant>() ? field : e;
    }
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (!def || def->effects == op::Effects::kEffect) return e;
    const auto result_bytes = bytes_of(call->type);
    if (!result_bytes) return e;
    int64_t argument_bytes = 0;
    for (Expr a : call->args) argument_bytes += bytes_of(a->type).value_or(0);
    if (*result_bytes > std::max(pass_.value("max-bytes"), 2 * argument_bytes)) return e;
    const CallKey key = key_of(*call, *def);
    if (const auto found = answers_.find(key); !key.empty() && found != answers_.end()) return found->second;
    const auto value = value_of_call(b.context(), *call, *def, effects);
    if (!value || !value->is_tensor()) return e;
    SpanScope at(b, e->span);
    const Expr answer = b.constant(value->tensor());
    if (!key.empty()) answers_[key] = answer;
    return answer;
  }

  const PassContext& pass_;
  std::map<CallKey, Expr> answers_;  // equal calls become one constant, which takes memory once
};

Module run(const Module& m, const PassContext& pass) { return Folder(pass).run(m); }

}  // namespace

const Pass kFoldConstants = {
    .name = "fold-constants",
    .doc =
        "evaluate operator calls whose arguments are all constants, and take the branches and arms that are "
        "known "
        "then",
    .parameters = {{"max-bytes", 1 << 20,
                    "a larger result is folded only if it is no more than twice its arguments"}},
    .run = run,
};

}  // namespace relay::passes
