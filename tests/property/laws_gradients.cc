// A law about gradients: both ways to differentiate a program say the same as differences.
//
// Of a function f, a direction d and the adjoint 1 of f's result, the tangent of f's result along d
// has the sum of the gradients' products with d. Both are computed in float64, so kinks do not
// matter: both modes take the side that an operator's rule takes. A program that asks for its own
// gradient, by grad(f), gets the same.
//
// Tangents are made of the rules for adjoints, so a rule that is wrong is wrong in both. A central
// difference along d knows no rules. Programs are full of integers, where operators have kinks and
// steps, so the arguments are moved off them first. Two differences that disagree say that there is
// a kink all the same, or that the slope changes too quickly.
#include <algorithm>
#include <cmath>
#include <functional>

#include "base/cat.h"
#include "ir/builder.h"
#include "op/apply.h"
#include "op/grad.h"
#include "passes/reference.h"
#include "passes/runner.h"
#include "tests/property/law_list.h"
#include "tests/property/run.h"

namespace relay::property {
namespace {

// What is lost to cancellation on the way may be larger than what is left of it.
constexpr double kTolerance = 1e-7;

constexpr const char* kAsked = "changed by expand-grad";

// What is counted.
constexpr const char* kByDifferences = "compared with differences";
constexpr const char* kBySlopes = "compared with differences that are not 0";

struct Differentiated {
  Result<Module> module;
  std::string refusal = {};  // the slug
  std::string bug = {};
};

Differentiated differentiate(const Module& m, const char* pass) {
  Diagnostics diagnostics;
  passes::RunnerOptions options;
  options.verify = passes::Verify::kTypes;
  Differentiated out{passes::run_pipeline(m, pass, options, diagnostics)};
  if (out.module) return out;
  if (diagnostics.fault() == Fault::kBug)
    out.bug = cat(pass, ": ", diagnostics.render(m.context().sources()));
  else
    out.refusal = diagnostics.all().front().slug().name();
  return out;
}

// What is wrong with the program that asks for the gradient of @main, as it is read: it gives the
// same as the pass `gradient` makes of it.
std::string broken_asking(const Module& m, const std::vector<Value>& args, const Run& want, Tally& tally) {
  Module asking = m;
  Builder b(m.context());
  const Fn& of = *m.function("main");
  std::vector<const Var*> params;
  for (const Var* p : of.params) params.push_back(b.var(p->name.text(), p->type));
  asking.set_function("asked", &of);
  const Expr gradient = b.call(b.op(op::grad()), {b.global("asked")});
  asking.set_function("main",
                      b.fn(params, b.call(gradient, std::vector<Expr>(params.begin(), params.end()))));
  std::string wrong;
  const Result<Module> typed = checked(asking, wrong);
  if (!typed) return cat("grad(@main) does not type check: ", wrong);
  const Differentiated expanded = differentiate(*typed, "expand-grad");
  if (!expanded.module) return cat("grad(@main) is refused: ", expanded.bug, expanded.refusal);
  tally[kAsked] += !expanded.module->same(*typed);
  const Run got = interpret(*expanded.module, args);
  const std::string differs = difference(got, want);
  return differs.empty() ? differs : cat("grad(@main): ", differs, "\n", text_of(*expanded.module));
}

// -1, 0 or 1 for each float.
Value direction(const Value& v, ByteSource& choices) {
  if (!v.is_tensor()) {
    std::vector<Value> fields;
    for (const Value& f : v.fields()) fields.push_back(direction(f, choices));
    return Value::tuple(std::move(fields));
  }
  if (!v.tensor().dtype().is_float()) return v;
  Tensor t = v.tensor().copy();
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(choices.below(3)) - 1);
  return Value(t);
}

struct Sum {
  double of = 0, magnitude = 0;
  void add(double x) {
    of += x;
    magnitude += std::fabs(x);
  }
};

double sum_of_floats(const Value& v) {
  double sum = 0;
  for (const Tensor& t : passes::tensors_of(v)) {
    for (int64_t i = 0; t.dtype().is_float() && i < t.size(); ++i) sum += t.get(i);
  }
  return sum;
}

double magnitude_of_floats(const Value& v) {
  double sum = 0;
  for (const Tensor& t : passes::tensors_of(v)) {
    for (int64_t i = 0; t.dtype().is_float() && i < t.size(); ++i) sum += std::fabs(t.get(i));
  }
  return sum;
}

// Each float of the value with `by` of its number among them added.
Value moved(const Value& v, const std::function<double(size_t)>& by, size_t& count) {
  if (!v.is_tensor()) {
    std::vector<Value> fields;
    for (const Value& f : v.fields()) fields.push_back(moved(f, by, count));
    return Value::tuple(std::move(fields));
  }
  if (!v.tensor().dtype().is_float()) return v;
  Tensor t = v.tensor().copy();
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, t.get(i) + by(count++));
  return Value(t);
}

std::vector<Value> moved(const std::vector<Value>& args, const std::function<double(size_t)>& by) {
  std::vector<Value> out;
  size_t count = 0;
  for (const Value& v : args) out.push_back(moved(v, by, count));
  return out;
}

// Compares the tangent at arguments off the integers with differences. Empty if they agree, or if
// the differences say nothing; counts which.
std::string broken_by_differences(const Module& wide, const Module& forth, const std::vector<Value>& args,
                                  const std::vector<Value>& along, Tally& tally) {
  const std::vector<Value> at =
      moved(args, [](size_t i) { return 0.1 + 0.8 * std::fmod(0.618034 * static_cast<double>(i + 1), 1); });
  std::vector<double> ds;
  for (const Tensor& d : op::flatten(along)) {
    for (int64_t i = 0; d.dtype().is_float() && i < d.size(); ++i) ds.push_back(d.get(i));
  }
  std::vector<Value> both = at;
  both.insert(both.end(), along.begin(), along.end());
  const Run tangent = interpret(forth, both);
  constexpr double kStep = 1e-5;
  const double steps[] = {kStep, -kStep, kStep / 2, -kStep / 2};
  double ends[4], magnitude = 0;
  bool ended = tangent.kind == Run::Kind::kValue;
  for (size_t k = 0; k < 4 && ended; ++k) {
    const Run run = interpret(wide, moved(at, [&](size_t i) { return steps[k] * ds[i]; }));
    if (!(ended = run.kind == Run::Kind::kValue)) break;
    ends[k] = sum_of_floats(run.value);
    magnitude = std::max(magnitude, magnitude_of_floats(run.value));
  }
  if (!ended) {
    ++tally["differences: no value"];
    return {};
  }
  const double whole = (ends[0] - ends[1]) / (2 * kStep), half = (ends[2] - ends[3]) / kStep;
  const double slope = sum_of_floats(tangent.value.fields()[1]);
  // Rounding errors of the values, divided by the step; and what changes within a step.
  const double tolerance = 1e-5 * (1 + magnitude_of_floats(tangent.value.fields()[1])) + 1e-9 * magnitude;
  if (!std::isfinite(magnitude) || !std::isfinite(slope) || !(std::fabs(whole - half) <= tolerance)) {
    ++tally["differences: a kink"];
    return {};
  }
  ++tally[kByDifferences];
  tally[kBySlopes] += std::fabs(half) > tolerance ? 1 : 0;
  if (std::fabs(half - slope) <= 2 * tolerance) return {};
  return cat("the tangents along the direction give ", slope, ", differences ", half, " and ", whole, "\n",
             text_of(forth));
}

}  // namespace

std::vector<std::string> gradient_demands() { return {kByDifferences, kBySlopes, kAsked}; }

std::string broken_gradient(const Program& p, ByteSource choices, Tally& tally) {
  std::string wrong;
  const Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  const Module wide = passes::widened(*m);
  const Differentiated back = differentiate(wide, "gradient"),
                       forth = differentiate(wide, "forward-gradient");
  if (!back.bug.empty() || !forth.bug.empty()) return cat(back.bug, forth.bug);
  if (!back.module || !forth.module) {
    if (forth.module) return cat("only the way back is refused: ", back.refusal);
    // The rule of an operator may be made of one that has no rule.
    ++tally[back.module ? "only the way back" : cat("refused: ", back.refusal)];
    return {};
  }
  std::vector<Value> args, along;
  for (const Value& v : p.args) args.push_back(passes::widened(v, wide));
  for (const Value& v : args) along.push_back(direction(v, choices));
  std::vector<Value> both = args;
  both.insert(both.end(), along.begin(), along.end());
  const Run want = interpret(wide, args), down = interpret(*back.module, args),
            up = interpret(*forth.module, both);
  if (want.kind != Run::Kind::kValue) {
    ++tally["no value"];
    return {};
  }
  // The way back takes more steps than the way there, and may come to the limit.
  if (down.kind == Run::Kind::kExhausted || up.kind == Run::Kind::kExhausted) {
    ++tally["too long"];
    return {};
  }
  for (const Run* run : {&down, &up}) {
    if (run->kind == Run::Kind::kTrap) return cat("only the gradient traps: ", run->message);
    if (const std::string differs = difference(run->value.fields()[0], want.value); !differs.empty())
      return cat("the value beside the gradient: ", differs);
  }
  wrong = broken_asking(wide, args, down, tally);
  if (!wrong.empty()) return wrong;
  Sum products, tangents;
  const std::vector<Tensor> gradients = passes::tensors_of(down.value.fields()[1]), ds = op::flatten(along);
  for (size_t t = 0; t < ds.size(); ++t) {
    for (int64_t i = 0; ds[t].dtype().is_float() && i < ds[t].size(); ++i)
      products.add(gradients[t].get(i) * ds[t].get(i));
  }
  for (const Tensor& t : passes::tensors_of(up.value.fields()[1])) {
    for (int64_t i = 0; t.dtype().is_float() && i < t.size(); ++i) tangents.add(t.get(i));
  }
  if (!std::isfinite(products.magnitude) || !std::isfinite(tangents.magnitude)) {
    ++tally["not finite"];
    return {};
  }
  ++tally["compared"];
  tally["with slopes"] += tangents.magnitude > 0 ? 1 : 0;
  if (std::fabs(products.of - tangents.of) <= kTolerance * (1 + products.magnitude + tangents.magnitude))
    return broken_by_differences(wide, *forth.module, args, along, tally);
  return cat("the gradients along the direction give ", products.of, ", the tangents ", tangents.of, "\n",
             text_of(*back.module));
}

}  // namespace relay::property
