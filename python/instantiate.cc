#include "python/instantiate.h"

#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace relay::python {
namespace {

using Chosen = std::unordered_map<Type, Type>;

std::vector<Type> parts_of(Type t) {
  std::vector<Type> out;
  for_each_part(t, [&](Type part) { out.push_back(part); });
  return out;
}

// Has both the same form, so that their parts stand for each other? Generic functions inside of
// types are left to the checker.
bool correspond(Type a, Type b) {
  if (a->kind != b->kind) return false;
  const auto *fn_a = a->as<FnType>(), *fn_b = b->as<FnType>();
  if (fn_a && !(fn_a->type_params.empty() && fn_b->type_params.empty())) return false;
  const auto *data_a = a->as<DataType>(), *data_b = b->as<DataType>();
  return !data_a || data_a->name == data_b->name;
}

// Finds what stands in `actual` where `declared` has one of the parameters. The first one counts.
void choose(const std::unordered_set<Type>& params, Type declared, Type actual, Chosen& chosen) {
  std::vector<std::pair<Type, Type>> pending{{declared, actual}};
  std::set<std::pair<Type, Type>> seen;
  while (!pending.empty()) {
    const auto [d, a] = pending.back();
    pending.pop_back();
    if (!d->has_type_var || !seen.insert({d, a}).second) continue;
    if (params.contains(d)) {
      if (!a->has_hole) chosen.emplace(d, a);
    } else if (correspond(d, a)) {
      const std::vector<Type> of_d = parts_of(d), of_a = parts_of(a);
      for (size_t i = 0; of_d.size() == of_a.size() && i < of_d.size(); ++i)
        pending.emplace_back(of_d[i], of_a[i]);
    }
  }
}

// The type with what was chosen, and holes for the other parameters.
Type replaced(Context& context, const std::unordered_set<Type>& params, Type root, Chosen& done) {
  struct Step {
    Type t;
    bool closing;
  };
  std::vector<Step> pending{{root, false}};
  while (!pending.empty()) {
    const auto [t, closing] = pending.back();
    pending.pop_back();
    const auto* fn = t->as<FnType>();
    if (done.contains(t)) continue;
    if (!t->has_type_var || (t->as<TypeVar>() && !params.contains(t))) {
      done.emplace(t, t);
    } else if (t->as<TypeVar>() || (fn && !fn->type_params.empty())) {
      done.emplace(t, context.hole_type());
    } else if (!closing) {
      pending.push_back({t, true});
      for (const Type part : parts_of(t)) pending.push_back({part, false});
    } else {
      std::vector<Type> parts;
      for (const Type part : parts_of(t)) parts.push_back(done.at(part));
      done.emplace(t, context.with_parts(t, parts));
    }
  }
  return done.at(root);
}

}  // namespace

std::vector<Type> expected_types(Context& context, const FnType& fn, const std::vector<Type>& given) {
  const std::unordered_set<Type> params(fn.type_params.begin(), fn.type_params.end());
  Chosen chosen;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i]) choose(params, fn.args[i], given[i], chosen);
  }
  std::vector<Type> out;
  for (const Type arg : fn.args) out.push_back(replaced(context, params, arg, chosen));
  return out;
}

}  // namespace relay::python
