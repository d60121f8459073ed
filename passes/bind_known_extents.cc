// bind-known-extents: a function that is called where it is written becomes lets, if the types of
// its arguments say all that its parameters ask for.
//
//   match_shape %x: Tensor[(n, 4), float32] = %y;      %y : Tensor[(3, 4), float32]
//   becomes   let %x: Tensor[(3, 4), float32] = %y;    and n is 3 in what follows
//
// `match_shape` is such a call (docs/semantics.md). The importer of ONNX models names each extent
// so that only a run tells; once the shapes of the inputs are known, nearly all are. What follows a
// call that stays is another function, which neither fusion nor the memory plan looks into.
//
// Before: types are known. After: no call that is left could go by this rule. In a function that
// known extents make wrong, only those have gone that name none.
#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/rewrite.h"
#include "passes/call_instance.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

// Extents that become known make those known that are computed from them: in the next round.
constexpr int kMostRounds = 64;

// Which calls go.
enum class Names : uint8_t {
  kAny,
  kNone,  // only those that name no extent anew
};

class Binder {
 public:
  Binder(Context& context, Names names) : context_(context), names_(names) {}

  Expr run(Expr root) {
    const std::vector<Expr> order = post_order(root);
    if (std::none_of(order.begin(), order.end(), function_called)) return root;
    uses_ = scopes(root).uses;
    for (Expr e : order) note_binder(e);
    for (size_t i = order.size(); i-- > 0;) look_at(order[i]);  // a call before those in its function
    if (first_params_.empty()) return root;
    const Expr dissolved = rewrite(context_, root, [&](relay::Builder& b, Expr e) -> Expr {
      const Fn* fn = function_called(e);
      if (!fn || !first_params_.contains(fn->params[0])) return e;
      const auto* call = e->as<Call>();
      const SpanScope at(b, e->span);
      Expr body = fn->body;
      for (size_t k = call->args.size(); k-- > 0;) body = b.let(fn->params[k], call->args[k], body);
      return body;
    });
    return known_.dims.empty() ? dissolved : map_types(context_, dissolved, known_.map());
  }

 private:
  // The function that stands in the place of the callee, if it has parameters.
  static const Fn* function_called(Expr e) {
    const auto* call = e->as<Call>();
    const auto* fn = call ? call->callee->as<Fn>() : nullptr;
    return fn && !fn->params.empty() && fn->params.size() == call->args.size() ? fn : nullptr;
  }

  void note_binder(Expr e) {
    const auto* fn = e->as<Fn>();
    if (!fn) return;
    for (const Var* x : fn->params) {
      for (kernel::Expr v : shape_variables(context_, x)) {
        const auto [it, is_new] = binder_.emplace(v.get(), fn);
        if (!is_new && it->second != fn) it->second = nullptr;
      }
    }
  }

  void look_at(Expr e) {
    const Fn* fn = function_called(e);
    if (!fn || uses_.get(fn) > 1) return;
    // A result that is written is a check of its own.
    if (!fn->type_params.empty() || fn->result || fn->attrs.flag("Primitive")) return;
    const std::optional<Instance> instance = known_instance(*fn, *e->as<Call>());
    if (!instance) return;
    known_.dims.insert(instance->dims.begin(), instance->dims.end());
    first_params_.insert(fn->params[0]);
  }

  // What the types of the arguments say of the extents that the function names; nothing if a run
  // has more to say.
  std::optional<Instance> known_instance(const Fn& fn, const Call& call) const {
    std::vector<Type> params, args;
    Instance out;
    for (size_t i = 0; i < call.args.size(); ++i) {
      if (!fn.params[i]->type || !call.args[i]->type) return std::nullopt;
      params.push_back(map_type(context_, fn.params[i]->type, known_.map()));
      args.push_back(map_type(context_, call.args[i]->type, known_.map()));
      out.bind(context_, params[i], args[i]);
    }
    std::erase_if(out.dims, [](const auto& d) { return d.first == d.second.get(); });
    if (names_ == Names::kNone && !out.dims.empty()) return std::nullopt;
    // A variable that a function around binds is the same one here.
    const bool own = std::all_of(out.dims.begin(), out.dims.end(), [&](const auto& d) {
      const auto it = binder_.find(d.first);
      return it != binder_.end() && it->second == &fn;
    });
    if (!own) return std::nullopt;
    for (size_t i = 0; i < params.size(); ++i) {
      if (map_type(context_, params[i], out.map()) != args[i]) return std::nullopt;
    }
    return out;
  }

  Context& context_;
  Names names_;
  NodeMap<uint32_t> uses_;
  // The function whose parameters mention a shape variable; null if there are several.
  std::unordered_map<const kernel::ExprNode*, const Fn*> binder_;
  std::unordered_set<const Var*> first_params_;  // of the functions that go
  Instance known_;
};

std::optional<Module> checked(const Module& m) {
  Diagnostics wrong;
  Result<Module> out = typecheck::check(m, wrong);
  return out ? std::optional<Module>(*out) : std::nullopt;
}

// The module with types for what is known now; the same module if that is nothing. Functions that
// what is known makes wrong stay as they are.
Module bound(const Module& m, Names names) {
  std::vector<std::pair<Symbol, const Fn*>> changed;
  Module all = m;
  for (const auto& [name, fn] : m.functions()) {
    const Expr now = Binder(m.context(), names).run(fn);
    if (now == fn) continue;
    changed.emplace_back(name, now->as<Fn>());
    all.set_function(name.text(), changed.back().second);
  }
  if (changed.empty()) return m;
  if (std::optional<Module> out = checked(all)) return *out;
  Module out = m;
  for (const auto& [name, fn] : changed) {
    Module next = out;
    next.set_function(name.text(), fn);
    if (std::optional<Module> fits = checked(next)) out = std::move(*fits);
  }
  return out;
}

// Extents that are known may make an operator wrong in all runs. That is a trap of these runs and
// no error of the program, so they stay names.
Module bind_known(Module m) {
  for (int round = 0; round < kMostRounds; ++round) {
    Module next = bound(m, Names::kAny);
    if (next.same(m)) next = bound(m, Names::kNone);
    if (next.same(m)) break;
    m = std::move(next);
  }
  return m;
}

Module run(const Module& m, const PassContext&) {
  return with_inserted_lets(m, [](const Module& now, analysis::TrapOrder) { return bind_known(now); });
}

}  // namespace

const Pass kBindKnownExtents = {
    .name = "bind-known-extents",
    .doc =
        "replace functions that are called where they are written, such as `match_shape`, by lets where "
        "types fit",
    .run = run,
};

}  // namespace relay::passes
