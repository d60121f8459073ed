// fuse: the calls of each kernel group (analysis/kernel_groups.h) are gathered into a function
// marked `Primitive`, which becomes one kernel.
//
// Before: no operator is left that `expand-operators` writes out. After: an operator call outside
// of primitive functions is a view, or one that no kernel takes.
#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "analysis/kernel_groups.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "kernel/execute.h"
#include "kernel/schedule/cost.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/accepts.h"
#include "passes/each_function.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

using Calls = std::vector<const Call*>;

class Extraction {
 public:
  Extraction(const Module& m, Expr root) : context_(m.context()), root_(root), scopes_(scopes(root)) {
    for (Expr e : post_order(root)) {
      if (const auto* fn = e->as<Fn>()) function_with_[fn->body] = fn;
    }
  }

  // Replaces the last call of each group by a call of a function that holds the group.
  Expr run(const analysis::KernelGroups& groups) {
    std::unordered_map<Expr, const Calls*> group_of_last;
    for (const Calls& calls : groups) {
      // A user kernel alone is one already.
      if (calls.size() == 1 && !op::callee(*calls[0])) continue;
      if (auto shapes = shape_arguments(calls)) {
        group_of_last[calls.back()] = &calls;
        shape_arguments_[calls.back()] = std::move(*shapes);
      }
    }
    // Bottom-up: when the last call of a group is met its outside arguments have been
    // rewritten already.
    NodeMap<Expr> now;
    for (Expr e : post_order(root_)) {
      const auto it = group_of_last.find(e);
      if (it != group_of_last.end()) {
        now[e] = primitive(*it->second, shape_arguments_.at(e), now);
        continue;
      }
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      now[e] = with_children(context_, e, children);
    }
    return now.get(root_);
  }

 private:
  // What the group takes from outside, in evaluation order: the effects of arguments happen in
  // that order, too.
  static std::vector<Expr> taken(const Calls& group) {
    const std::unordered_set<Expr> calls(group.begin(), group.end());
    std::unordered_set<Expr> seen;
    std::vector<Expr> out, pending{group.back()};
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      if (!seen.insert(e).second) continue;
      if (!calls.contains(e)) {
        out.push_back(e);
        continue;
      }
      const size_t before = pending.size();
      for (Expr arg : e->as<Call>()->args) {
        const auto* tuple = arg->as<Tuple>();
        if (!tuple) pending.push_back(arg);
        for (size_t i = 0; tuple && i < tuple->fields.size(); ++i) pending.push_back(tuple->fields[i]);
      }
      std::reverse(pending.begin() + static_cast<ptrdiff_t>(before), pending.end());
    }
    return out;
  }

  // A tensor that a function is given, and the extents that its type tells.
  struct Source {
    Expr value;
    std::vector<kernel::Expr> extents;
  };

  static void add_extents(const TensorType& t, std::vector<kernel::Expr>& out) {
    for (Dim d : t.dims) {
      if (d.is_symbolic()) out.push_back(d.symbolic());
    }
  }

  // A kernel is told the shapes of what it takes and nothing else. Where these do not determine its
  // own, as of zeros(shape=[n]), or as of sum(x + y) which runs over an extent of both, it takes
  // tensors that the functions around are given as well, of which it reads the extents alone.
  // Nothing if that does not do.
  std::optional<std::vector<Expr>> shape_arguments(const Calls& calls) const {
    std::vector<kernel::Expr> given, needed;
    const auto dims = [](Type root, std::vector<kernel::Expr>& out) {
      for (const TensorType* t : op::flatten(std::vector<Type>{root})) add_extents(*t, out);
    };
    for (const Call* call : calls) dims(call->type, needed);
    const size_t of_results = needed.size();
    for (Expr e : taken(calls)) dims(e->type, given);
    needed.insert(needed.end(), given.begin(), given.end());
    std::vector<Expr> out;
    auto known = kernel::determined_by(given);
    for (size_t i = 0; i < needed.size(); ++i) {
      for (kernel::Expr v : kernel::variables(needed[i])) {
        if (known.contains(v.get())) continue;
        const std::vector<Source> sources = sources_that_tell(v, given, calls.back());
        if (sources.empty() && i >= of_results) continue;  // the operator may not ask for it
        if (sources.empty()) return std::nullopt;
        for (const Source& source : sources) {
          out.push_back(source.value);
          given.insert(given.end(), source.extents.begin(), source.extents.end());
          // It may have extents of other variables, such as m // 2: they have to be
          // determined, too.
          needed.insert(needed.end(), source.extents.begin(), source.extents.end());
        }
        known = kernel::determined_by(given);
      }
    }
    return out;
  }

  // What tells this extent, where others are given: one tensor if that is enough, else no more than
  // are needed. Inner functions are asked first. None if there is nothing that does.
  std::vector<Source> sources_that_tell(kernel::Expr extent, const std::vector<kernel::Expr>& given,
                                        Expr call) const {
    const auto tell = [&](std::span<const Source> sources) {
      std::vector<kernel::Expr> all = given;
      for (const Source& s : sources) all.insert(all.end(), s.extents.begin(), s.extents.end());
      return kernel::determined_by(all).contains(extent.get());
    };
    std::vector<Source> together;
    for (uint32_t s = scopes_.scope_of.get(call);; s = scopes_.all[s].parent) {
      if (const auto fn = function_with_.find(scopes_.all[s].body); fn != function_with_.end()) {
        for (Source& source : sources_of(*fn->second)) {
          if (tell({&source, 1})) return {source};
          together.push_back(std::move(source));
        }
        if (tell(together)) break;
      }
      if (s == scopes_.all[s].parent) return {};
    }
    for (size_t i = together.size(); i-- > 0;) {
      Source last = std::move(together[i]);
      together.erase(together.begin() + static_cast<ptrdiff_t>(i));
      if (!tell(together)) together.insert(together.begin() + static_cast<ptrdiff_t>(i), std::move(last));
    }
    return together;
  }

  // The function's parameters with extents, and those in tuples.
  std::vector<Source> sources_of(const Fn& fn) const {
    relay::Builder b(context_);
    std::vector<Source> out;
    std::vector<Expr> pending(fn.params.begin(), fn.params.end());
    std::reverse(pending.begin(), pending.end());
    // A tuple of tuples that share their fields may have more than anybody looks at.
    for (size_t looked = 0; !pending.empty() && looked < kMostSources; ++looked) {
      const Expr e = pending.back();
      pending.pop_back();
      if (!e->type) continue;
      if (const auto* t = e->type->as<TensorType>()) {
        Source source{e, {}};
        add_extents(*t, source.extents);
        if (!source.extents.empty()) out.push_back(std::move(source));
      } else if (const auto* tuple = e->type->as<TupleType>()) {
        for (size_t i = tuple->fields.size(); i-- > 0;)
          pending.push_back(b.with_type(b.proj(e, static_cast<uint32_t>(i)), tuple->fields[i]));
      }
    }
    return out;
  }

  Expr primitive(const Calls& calls, const std::vector<Expr>& shapes, const NodeMap<Expr>& outside) {
    relay::Builder b(context_);
    std::unordered_map<Expr, Expr> inside;  // old expression -> its counterpart in the body
    std::vector<const Var*> params;
    std::vector<Expr> args;
    const auto add_param = [&](Expr e) {
      Expr typed = b.with_type(b.var("p" + std::to_string(params.size()), e->type), e->type);
      params.push_back(typed->as<Var>());
      return typed;
    };
    for (Expr e : taken(calls)) {
      // Small constants become part of the code.
      if (const auto* c = e->as<Constant>(); c && c->value->size() == 1) {
        inside[e] = c;
        continue;
      }
      args.push_back(outside.get(e));
      inside[e] = add_param(e);
    }
    for (Expr e : shapes) {
      args.push_back(e);
      add_param(e);
    }
    Expr body = nullptr;
    for (const Call* call : calls) {
      b.set_span(call->span);
      const op::OpDef* def = op::callee(*call);
      std::vector<Expr> inner;
      for (Expr arg : call->args) {
        const auto* tuple = arg->as<Tuple>();
        if (!tuple) {
          inner.push_back(inside.at(arg));
          continue;
        }
        std::vector<Expr> fields;
        for (Expr field : tuple->fields) fields.push_back(inside.at(field));
        inner.push_back(b.with_type(b.tuple(fields), arg->type));
      }
      body = b.call(def ? b.op(*def) : call->callee, inner, call->attrs, call->type);
      inside[call] = body;
    }
    std::vector<Type> param_types;
    for (const Var* p : params) param_types.push_back(p->type);
    const Fn* fn = b.fn(params, body, body->type, context_.attrs({{"Primitive", true}}));
    Expr typed = b.with_type(fn, context_.fn_type({}, param_types, body->type));
    return b.call(typed, args, {}, body->type);
  }

  static constexpr size_t kMostSources = 4096;

  Context& context_;
  Expr root_;
  const Scopes scopes_;
  std::unordered_map<Expr, const Fn*> function_with_;            // by its body
  std::unordered_map<Expr, std::vector<Expr>> shape_arguments_;  // by the group's last call
};

size_t most_addends(int64_t value) { return value == 0 ? SIZE_MAX : static_cast<size_t>(value); }

Module fuse(const Module& m, const PassContext& pass) {
  const analysis::GroupLimits limits{.most_calls = static_cast<size_t>(pass.value("max-ops")),
                                     .longest_attention = pass.value("attention"),
                                     .most_addends = most_addends(pass.value("addends"))};
  return with_each_function(m, [&](const Fn* fn) -> Expr {
    if (fn->attrs.flag("Primitive")) return fn;
    return Extraction(m, fn).run(analysis::kernel_groups(m, fn, accepts_of(pass.target), limits));
  });
}

// Several uses in a group are one use of the group.
Module run(const Module& m, const PassContext& pass) {
  return with_inserted_lets(m, [&](const Module& now, analysis::TrapOrder) { return fuse(now, pass); });
}

}  // namespace

const Pass kFuse = {
    .name = "fuse",
    .doc = "gather operator calls into functions that become one kernel each",
    .parameters = {{"max-ops", 64, "the most operators in one kernel"},
                   {"attention", kernel::schedule::kLongestScoreRow,
                    "the longest row of scores that attention becomes one kernel for, on processors; 0: none",
                    0, kernel::schedule::kLongestScoreRow},
                   {"addends", analysis::kMostAddends,
                    "the most tensors of its shape that a kernel sums, if one is a product; 0: any number"}},
    .run = run,
};

}  // namespace relay::passes
