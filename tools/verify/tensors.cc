#include "tools/verify/tensors.h"

#include <fmt/format.h>
#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "base/escape.h"
#include "interp/machine.h"
#include "ir/traverse.h"
#include "passes/reference.h"
#include "tools/debug/program.h"
#include "tools/verify/row.h"

namespace relay::tools {
namespace {

// What expressions with names gave, in the order in which they were evaluated. One that is evaluated again gives its last value.
struct Recorded {
  std::map<std::string, Tensor> values;
  std::vector<std::string> order;
};

Recorded record(const Module& m, const std::string& function, const std::vector<Value>& args,
                const std::map<std::pair<uint32_t, uint64_t>, std::string>& names) {
  Recorded out;
  interp::Options machine;
  machine.observe = [&](Expr e, const Value& v) {
    if (!v.is_tensor() || !e->span.known()) return;
    const auto at = names.find({e->span.file, uint64_t{e->span.begin} << 32 | e->span.end});
    if (at == names.end()) return;
    if (!out.values.contains(at->second)) out.order.push_back(at->second);
    out.values.insert_or_assign(at->second, v.tensor());
  };
  interp::Machine(m, machine).call(function, args);
  return out;
}

TensorRow compare_one(const data::NamedTensor& theirs, const Recorded& own, const Recorded& exact) {
  TensorRow row{.name = theirs.name, .shape = theirs.value.shape()};
  const auto ours = own.values.find(theirs.name), wide = exact.values.find(theirs.name);
  if (ours == own.values.end() || wide == exact.values.end()) {
    row.problem = "the model does not compute it";
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
  row.worst = compare(theirs.value, t.dtype().is_float() ? wide->second : t, bound.at_every_element());
  return row;
}

}  // namespace

std::map<std::string, Span> named_expressions(const Model& model) {
  std::map<std::string, Span> out;
  const debug::Program program(model.module, model.is_listed);
  for (Expr e : program.expressions()) {
    if (const auto* let = e->as<Let>(); let && let->value->span.known())
      out.emplace(let->x->name.str(), let->value->span);
    const std::string* name = program.binding(e);
    if (!name || !e->span.known()) continue;
    out.emplace(name->starts_with("%") ? name->substr(1) : *name, e->span);
  }
  return out;
}

std::vector<TensorRow> compare_tensors(const Model& model, const std::vector<Value>& args,
                                       const data::NamedTensors& theirs) {
  std::map<std::pair<uint32_t, uint64_t>, std::string> names;
  for (const auto& [name, at] : named_expressions(model))
    names.emplace(std::pair(at.file, uint64_t{at.begin} << 32 | at.end), name);
  const Recorded own = record(model.module, model.function, args, names);
  const Module wide = passes::widened(model.module);
  std::vector<Value> wide_args;
  for (const Value& v : args) wide_args.push_back(passes::widened(v, wide));
  const Recorded exact = record(wide, model.function, wide_args, names);
  std::vector<TensorRow> out;
  std::map<std::string, const data::NamedTensor*> left;
  for (const data::NamedTensor& t : theirs) left.emplace(t.name, &t);
  for (const std::string& name : own.order) {
    if (const auto at = left.find(name); at != left.end()) {
      out.push_back(compare_one(*at->second, own, exact));
      left.erase(at);
    }
  }
  for (const auto& [name, t] : left) out.push_back(compare_one(*t, own, exact));
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
