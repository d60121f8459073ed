// A law about gradients: both ways to differentiate a program say the same.
//
// Of a function f, a direction d and the adjoint 1 of f's result, the tangent of f's result along d
// has the sum of the gradients' products with d. Both are computed in float64, so kinks do not
// matter: both modes take the side that an operator's rule takes.
#include <cmath>

#include "base/cat.h"
#include "op/apply.h"
#include "passes/reference.h"
#include "passes/runner.h"
#include "tests/property/law_list.h"
#include "tests/property/run.h"

namespace relay::property {
namespace {

// What is lost to cancellation on the way may be larger than what is left of it.
constexpr double kTolerance = 1e-7;

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

}  // namespace

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
    return {};
  return cat("the gradients along the direction give ", products.of, ", the tangents ", tangents.of, "\n",
             text_of(*back.module));
}

}  // namespace relay::property
