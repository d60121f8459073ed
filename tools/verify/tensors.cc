#include "tools/verify/tensors.h"

#include <fmt/format.h>
#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "base/escape.h"
#include "base/nearest.h"
#include "interp/machine.h"
#include "passes/reference.h"
#include "tools/verify/row.h"

namespace relay::tools {
namespace {

// What expressions with names gave, in the order in which they were evaluated. One that is
// evaluated again gives its last value.
struct Recorded {
  std::map<std::string, Tensor> values;
  std::vector<std::string> order;
};

Recorded record(const Module& m, const std::string& function, const std::vector<Value>& args,
                const Names& names) {
  Recorded out;
  interp::Options machine;
  machine.observe = [&](Expr e, const Value& v) {
    if (!v.is_tensor()) return;
    const std::string name = names.of(e->span);
    if (name.empty()) return;
    if (!out.values.contains(name)) out.order.push_back(name);
    out.values.insert_or_assign(name, v.tensor());
  };
  interp::Machine(m, machine).call(function, args);
  return out;
}

TensorRow compare_one(const data::NamedTensor& theirs, const Names& names, const Recorded& own,
                      const Recorded& exact) {
  TensorRow row{.name = theirs.name, .shape = theirs.value.shape()};
  const std::string name = names.meant(theirs.name);
  const auto ours = own.values.find(name), wide = exact.values.find(name);
  if (ours == own.values.end() || wide == exact.values.end()) {
    const std::string near = name.empty() ? did_you_mean(theirs.name, names.all()) : "";
    row.problem = cat("the model does not compute it", near.empty() ? "" : cat("; ", near));
    return row;
  }
  const Tensor& t = ours->second;
  if (t.shape() != theirs.value.shape() || t.dtype() != theirs.value.dtype()) {
    row.problem = cat("theirs is ", theirs.value.dtype().name(), relay::show(theirs.value.shape()), ", ours ",
                      t.dtype().name(), relay::show(t.shape()));
    return row;
  }
  const double error = t.dtype().is_float() ? passes::error_of(wide->second, t) : 0;
  const passes::ErrorBound bound = passes::error_bound(wide->second, t.dtype(), error);
  // Both are float64 then: elements keep their values.
  row.worst = t.dtype().is_float() ? compare(theirs.value.converted(wide->second.dtype()), wide->second,
                                             bound.at_every_element())
                                   : compare(theirs.value, t, bound.at_every_element());
  return row;
}

}  // namespace

std::vector<TensorRow> compare_tensors(const Model& model, const Names& names, const std::vector<Value>& args,
                                       const data::NamedTensors& theirs) {
  const Recorded own = record(model.module, model.function, args, names);
  const Module wide = passes::widened(model.module);
  std::vector<Value> wide_args;
  for (const Value& v : args) wide_args.push_back(passes::widened(v, wide));
  const Recorded exact = record(wide, model.function, wide_args, names);
  std::vector<TensorRow> out;
  std::multimap<std::string, const data::NamedTensor*> left;  // by what they mean
  for (const data::NamedTensor& t : theirs) left.emplace(names.meant(t.name), &t);
  for (const std::string& name : own.order) {
    const auto [begin, end] = left.equal_range(name);
    for (auto it = begin; it != end; ++it) out.push_back(compare_one(*it->second, names, own, exact));
    left.erase(begin, end);
  }
  for (const auto& [name, t] : left) out.push_back(compare_one(*t, names, own, exact));
  return out;
}

std::string show(const std::vector<TensorRow>& rows) {
  std::string out =
      fmt::format("{:<32} {:<20} {:>10} {:>10} {:>9}\n", "tensor", "shape", "error", "bound", "needed");
  const TensorRow* first = nullptr;
  for (const TensorRow& r : rows) {
    if (!r.ok() && !first) first = &r;
    out += fmt::format("{:<32} {:<20} ", harmless(r.name, ""), relay::show(r.shape));
    out += r.problem.empty() ? fmt::format("{:>10.3g} {:>10.3g} {:>9.3g}  {}\n", r.worst.error, r.worst.bound,
                                           r.worst.needed, r.worst.ok ? "ok" : "DIFFERS")
                             : cat("FAILED: ", r.problem, "\n");
  }
  const auto wrong = std::count_if(rows.begin(), rows.end(), [](const TensorRow& r) { return !r.ok(); });
  out += cat(rows.size() - static_cast<size_t>(wrong), " of ", rows.size(), " tensors agree\n");
  if (!first) return out;
  return cat(out, "the first that differs: `", harmless(first->name, ""),
             "`: ", first->problem.empty() ? show_theirs(first->worst, first->shape) : first->problem, "\n");
}

}  // namespace relay::tools
