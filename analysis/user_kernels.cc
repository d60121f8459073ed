#include "analysis/user_kernels.h"

#include <algorithm>

#include "analysis/kernel_extents.h"
#include "kernel/explicit_checks.h"
#include "kernel/schedule/anchored_stage.h"
#include "kernel/schedule/canonical_form.h"
#include "kernel/schedule/stage.h"
#include "kernel/statements.h"

namespace relay::analysis {
namespace {

using kernel::schedule::Axis;
using kernel::schedule::Stage;
using kernel::schedule::StageKind;
using op::Fusion;

// Does the load take the element at the place of the one that is computed, after broadcasting?
bool is_in_place(const Stage& s, const kernel::ExprNode* load) {
  const size_t rank = load->args.size(), axes = s.spatial.size();
  if (rank > axes) return false;
  for (size_t d = 0; d < rank; ++d) {
    const Axis& axis = s.spatial[axes - rank + d];
    const kernel::Expr extent = load->buffer->shape[d], index = load->args[d];
    const bool along = extent == axis.extent && kernel::schedule::is_place(index, axis);
    if (!along && !(extent.is_int(1) && index.is_int(0))) return false;
  }
  return true;
}

Fusion class_of_elements(const Stage& s) {
  Fusion out = Fusion::kElementwise;
  kernel::for_each_load(s.value, [&](const kernel::ExprNode* n) {
    const bool broadcasts = is_in_place(s, n);
    const bool elementwise = broadcasts && n->buffer->shape == s.buffer->shape;
    if (!elementwise) out = std::max(out, broadcasts ? Fusion::kBroadcast : Fusion::kInjective);
  });
  return out;
}

// Is no element that the reduction reads needed for two elements of its result?
bool reads_each_once(const Stage& s) {
  bool once = true;
  kernel::for_each_load(s.value, [&](const kernel::ExprNode* n) {
    if (n->buffer == s.buffer) return;
    for (const auto* axes : {&s.spatial, &s.reduction}) {
      for (const Axis& a : *axes) once &= a.extent.is_int(1) || kernel::mentions(n, a.var);
    }
  });
  return once;
}

}  // namespace

Module with_explicit_checks(const Module& m) {
  Module out = m;
  for (const auto& [name, k] : m.kernels()) {
    const kernel::Kernel checked = kernel::with_explicit_checks(*k);
    if (checked.body != k->body)
      out.set_kernel(name.text(), m.context().arena().make<kernel::Kernel>(checked));
  }
  return out;
}

const kernel::Kernel* UserKernels::callee(Expr e) const {
  const auto* call = e->as<Call>();
  const auto* global = call ? call->callee->as<Global>() : nullptr;
  return global ? module_.kernel(global->name.text()) : nullptr;
}

bool UserKernels::may_trap(const Call& call, const kernel::Kernel& k) {
  if (facts(k).may_fail) return true;
  std::vector<Type> types;
  for (Expr arg : call.args) {
    if (!arg->type) return true;
    types.push_back(arg->type);
  }
  const auto extents = given_extents(module_.context(), types, k);
  if (!extents) return true;
  // A shape variable that would have to be negative is a trap, too.
  return std::any_of(extents->begin(), extents->end(), [](const auto& given) {
    kernel::Bounds bounds;
    for (kernel::Expr v : kernel::variables(given.second)) bounds.set(v, {.low = 0});
    const kernel::Interval range = bounds.of(given.second);
    return !range.low || *range.low < 0;
  });
}

UserKernels::Facts UserKernels::look_at(const kernel::Kernel& k) {
  const auto canonical = kernel::schedule::canonical_form(kernel::with_explicit_checks(k));
  if (!canonical || !canonical->requirements.empty() || !k.read_extents.empty()) return {};
  Facts out{.may_fail = false};
  if (!k.batched.empty()) return out;  // its author says how many calls of it are done at once
  const std::vector<Stage> stages = kernel::schedule::stages_of(canonical->kernel);
  if (stages.empty()) return {};
  Fusion all = Fusion::kElementwise;
  size_t reductions = 0;
  for (const Stage& s : stages) {
    if (s.kind == StageKind::kReduce) {
      ++reductions;
    } else {
      all = std::max(all, class_of_elements(s));
    }
  }
  const bool reduces_inputs =
      reductions == 1 && stages.back().kind == StageKind::kReduce && reads_each_once(stages.back());
  if (reductions > 0) all = reduces_inputs ? Fusion::kReduction : Fusion::kOutputFusable;
  out.fusion = all;
  return out;
}

const UserKernels::Facts& UserKernels::facts(const kernel::Kernel& k) {
  const auto it = facts_.find(&k);
  return it != facts_.end() ? it->second : facts_.emplace(&k, look_at(k)).first->second;
}

}  // namespace relay::analysis
