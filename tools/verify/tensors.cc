#include "tools/verify/tensors.h"

#include <fmt/format.h>
#include <algorithm>
#include <list>
#include <map>

#include "base/cat.h"
#include "base/escape.h"
#include "base/nearest.h"
#include "driver/row.h"
#include "passes/reference.h"

namespace relay::tools {
namespace {

// What expressions with names gave in one run, in the order in which they were evaluated. One that
// is evaluated again gives its last value.
struct Recorded {
  std::map<std::string, Tensor> values;
  std::vector<std::string> order;

  void add(const std::string& name, const Value& v) {
    if (!v.is_tensor() || name.empty()) return;
    if (!values.contains(name)) order.push_back(name);
    values.insert_or_assign(name, v.tensor());
  }
};

// The runs that a reference consists of (passes/reference.h).
struct Runs {
  std::list<Recorded> exact, own;  // of several exact runs the last one counts
  bool quantised = false;
};

Runs record(const Module& m, const std::string& function, const std::vector<Value>& args,
            const Names& names) {
  Runs out;
  const passes::Reference reference =
      passes::reference_of(m, function, args, [&](bool is_exact) -> passes::ValueObserver {
        Recorded& run = (is_exact ? out.exact : out.own).emplace_back();
        return [&](Expr e, const Value& v) { run.add(names.of(e->span), v); };
      });
  out.quantised = std::any_of(reference.bounds.begin(), reference.bounds.end(),
                              [](const passes::ErrorBound& b) { return b.quantised; });
  return out;
}

TensorRow compare_one(const frontend::data::NamedTensor& theirs, const Names& names, const Runs& runs) {
  TensorRow row{.name = theirs.name, .shape = theirs.value.shape()};
  const std::string name = names.meant(theirs.name);
  const Recorded &plain = runs.own.front(), &exact = runs.exact.back();
  const auto ours = plain.values.find(name), wide = exact.values.find(name);
  if (ours == plain.values.end() || wide == exact.values.end()) {
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
  double error = 0;
  for (const Recorded& run : runs.own) {
    const auto got = run.values.find(name);
    // A run that took another way says nothing of this value.
    if (!t.dtype().is_float() || got == run.values.end() || got->second.shape() != wide->second.shape())
      continue;
    error = std::max(error, passes::error_of(wide->second, got->second));
  }
  const passes::ErrorBound bound =
      passes::error_bound(wide->second, t.dtype(), error, {.any = runs.quantised});
  // Both are float64 then: elements keep their values.
  row.worst = t.dtype().is_float() ? compare(theirs.value.converted(wide->second.dtype()), wide->second,
                                             bound.at_every_element())
                                   : compare(theirs.value, t, bound.at_every_element());
  return row;
}

}  // namespace

std::vector<TensorRow> compare_tensors(const driver::Model& model, const Names& names,
                                       const std::vector<Value>& args,
                                       const frontend::data::NamedTensors& theirs) {
  const Runs runs = record(model.module, model.function, args, names);
  std::vector<TensorRow> out;
  std::multimap<std::string, const frontend::data::NamedTensor*> left;  // by what they mean
  for (const frontend::data::NamedTensor& t : theirs) left.emplace(names.meant(t.name), &t);
  for (const std::string& name : runs.own.front().order) {
    const auto [begin, end] = left.equal_range(name);
    for (auto it = begin; it != end; ++it) out.push_back(compare_one(*it->second, names, runs));
    left.erase(begin, end);
  }
  for (const auto& [name, t] : left) out.push_back(compare_one(*t, names, runs));
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
             "`: ", first->problem.empty() ? driver::show_theirs(first->worst, first->shape) : first->problem,
             "\n");
}

}  // namespace relay::tools
