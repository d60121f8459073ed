#include "analysis/features.h"

#include <algorithm>
#include <set>
#include <vector>

#include "analysis/recursion.h"
#include "base/components.h"
#include "ir/function_graph.h"
#include "ir/reachable.h"
#include "ir/traverse.h"

namespace relay::analysis {
namespace {

using Counts = std::array<size_t, kFeatures>;

size_t& of(Counts& counts, Feature f) { return counts[static_cast<size_t>(f)]; }

void count_extents(Expr e, Counts& counts) {
  const auto* tensor = e->type ? e->type->as<TensorType>() : nullptr;
  if (!tensor) return;
  bool open = false, unknown = false;
  for (Dim d : tensor->dims) {
    open |= d.is_symbolic();
    unknown |= d.is_unknown();
  }
  of(counts, Feature::kOpenExtents) += open;
  of(counts, Feature::kUnknownExtents) += unknown;
}

void count_function(const Module& m, const Fn* fn, Counts& counts) {
  of(counts, Feature::kGenericFunctions) += !fn->type_params.empty();
  of(counts, Feature::kRecursion) += recursive_lets(fn).size();
  for (Expr user : post_order(fn->body)) {
    count_extents(user, counts);
    of(counts, Feature::kIf) += user->kind == ExprKind::kIf;
    of(counts, Feature::kMatch) += user->kind == ExprKind::kMatch;
    of(counts, Feature::kReferences) += user->kind == ExprKind::kRefNew || user->kind == ExprKind::kRefRead ||
                                        user->kind == ExprKind::kRefWrite;
    of(counts, Feature::kFunctionValues) += user->kind == ExprKind::kFn;
    const auto* call = user->as<Call>();
    for_each_child(user, [&](Expr child) {
      const auto* global = child->as<Global>();
      if (!global) return;
      const bool is_kernel = m.function(global->name.text()) == nullptr;
      of(counts, Feature::kKernels) += is_kernel;
      of(counts, Feature::kFunctionValues) += !is_kernel && !(call && call->callee == child);
    });
  }
}

}  // namespace

std::string_view name_of(Feature f) {
  switch (f) {
    case Feature::kIf: return "if";
    case Feature::kMatch: return "match";
    case Feature::kReferences: return "references";
    case Feature::kFunctionValues: return "function values";
    case Feature::kRecursion: return "recursive functions";
    case Feature::kGenericFunctions: return "generic functions";
    case Feature::kKernels: return "kernels";
    case Feature::kOpenExtents: return "open extents";
    case Feature::kUnknownExtents: return "unknown extents";
  }
  return "";
}

std::array<size_t, kFeatures> features_of(const Module& m, std::string_view entry) {
  Counts counts{};
  const std::set<Symbol> reachable = reachable_from(m, entry);
  for (Symbol name : reachable) {
    if (const Fn* fn = m.function(name.text())) count_function(m, fn, counts);
  }
  const FunctionGraph graph = function_graph(m);
  for (const std::vector<size_t>& component : strong_components(graph.mentions)) {
    const size_t first = component.front();
    const std::vector<size_t>& mentions = graph.mentions[first];
    const bool recurs =
        component.size() > 1 || std::find(mentions.begin(), mentions.end(), first) != mentions.end();
    if (recurs && reachable.contains(graph.names[first])) of(counts, Feature::kRecursion) += component.size();
  }
  return counts;
}

}  // namespace relay::analysis
