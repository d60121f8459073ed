#include "passes/reference.h"

#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "base/failure.h"
#include "interp/machine.h"
#include "op/any_type.h"
#include "op/apply.h"
#include "op/denormals.h"
#include "op/parts.h"
#include "passes/disturbance.h"
#include "passes/last_steps.h"
#include "passes/quantised_outputs.h"
#include "passes/runner.h"
#include "runtime/flushed.h"

namespace relay::passes {
namespace {

bool same_shapes(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Tensor& x, const Tensor& y) { return x.shape() == y.shape(); });
}

}  // namespace

std::vector<Tensor> tensors_of(const Value& v) {
  std::vector<Tensor> out;
  std::vector<const Value*> pending{&v};
  size_t parts = 0;
  while (!pending.empty()) {
    const Value* x = pending.back();
    pending.pop_back();
    if (++parts > kMostParts) {
      throw Exhausted(
          cat("the result has more than ", kMostParts,
              " parts, counting what is shared each time: that is more than is shown or written"));
    }
    if (x->is_tensor()) {
      out.push_back(x->tensor());
      continue;
    }
    if (x->kind() == ValueKind::kClosure || x->kind() == ValueKind::kCallable) continue;
    for (size_t i = x->fields().size(); i-- > 0;) pending.push_back(&x->fields()[i]);
  }
  return out;
}

Module widened(const Module& m) {
  Diagnostics ignored;
  Result<Module> wide = run_pipeline(m, Pipeline{step(kWidenFloats)}, {}, ignored);
  CHECK(wide.ok(), "a well-typed program must stay so in float64");
  return *wide;
}

namespace {

// The value with the module's constructors, and with other tensors.
Value rebuilt(const Value& v, const Module& to, Tensor (*tensor_for)(const Tensor&)) {
  struct Open {  // whose fields are being rebuilt
    Value value;
    std::vector<Value> fields = {};
  };
  const auto has_parts = [](const Value& x) {
    return x.kind() == ValueKind::kTuple || x.kind() == ValueKind::kData;
  };
  const auto leaf = [&](const Value& x) { return x.is_tensor() ? Value(tensor_for(x.tensor())) : x; };
  if (!has_parts(v)) return leaf(v);
  std::vector<Open> open{{v}};  // a list is as deep as it is long
  while (true) {
    Open& top = open.back();
    if (top.fields.size() < top.value.fields().size()) {
      const Value next = top.value.fields()[top.fields.size()];
      if (has_parts(next)) {
        open.push_back({next});
      } else {
        top.fields.push_back(leaf(next));
      }
      continue;
    }
    Value done =
        top.value.kind() == ValueKind::kTuple
            ? Value::tuple(std::move(top.fields))
            : Value::data(to.constructor(static_cast<const Constructor*>(top.value.code())->name.text()),
                          std::move(top.fields));
    open.pop_back();
    if (open.empty()) return done;
    open.back().fields.push_back(std::move(done));
  }
}

}  // namespace

Value widened(const Value& v, const Module& wide) {
  return rebuilt(v, wide, [](const Tensor& t) { return t.dtype() == kFloat32 ? t.converted(kFloat64) : t; });
}

Value in_module(const Value& v, const Module& copy) {
  return rebuilt(v, copy, [](const Tensor& t) { return t; });
}

Bound ErrorBound::at_every_element() const {
  Bound out([allowed = bound](int64_t) { return allowed; });
  out.allow(other);
  return out;
}

std::string_view ErrorBound::uncapped() const {
  if (ill_conditioned) return "ill-conditioned";
  if (flushes) return "flushed";
  return quantised && bound > cap ? "quantised" : "";
}

std::string ErrorBound::note() const {
  if (step > 0)
    return cat("quantised: the bound in steps of the last quantised values, ", step, ", is ",
               static_cast<int64_t>(bound / step));
  if (quantised)
    return cat("quantised: rounding to steps takes the interpreter ", error, " away from the float64 result");
  if (flushes && !ill_conditioned)
    return cat("flushed denormals change the interpreter's result by ", flushed,
               ", and its largest magnitude is ", magnitude);
  if (!ill_conditioned) return "";
  return cat("the program is ill-conditioned: on these inputs its own dtypes take the interpreter ", error,
             " away from the float64 result, whose largest magnitude is ", magnitude);
}

// A step of an output in float32 is off by roundings of its own.
constexpr double kPartOfStep = 1e-3;

// Honest kernels of the networks that we know stay below 1e-5 (float32) and 2e-3 (bfloat16) of the
// largest magnitude, and what users notice begins at 1e-3 and 1e-2.
double cap_of(DType dtype) { return dtype.bits < 32 ? 1e-2 : 1e-3; }

double error_of(const Tensor& exact, const Tensor& got) {
  double error = 0;
  if (!got.dtype().is_float()) return error;
  for (int64_t i = 0; i < exact.size(); ++i) {
    const double want = exact.get(i), have = got.get(i);
    if (std::isfinite(want) && std::isfinite(have)) error = std::max(error, std::fabs(have - want));
  }
  return error;
}

namespace {

void cap(ErrorBound& b) {
  if (!b.quantised && !b.ill_conditioned && !b.flushes) b.bound = std::min(b.bound, b.cap);
}

}  // namespace

ErrorBound error_bound(const Tensor& exact, DType dtype, double error, Quantised quantised) {
  ErrorBound out{.error = error, .step = quantised.step, .quantised = quantised.any};
  if (!dtype.is_float()) return out;
  for (int64_t i = 0; i < exact.size(); ++i) {
    if (std::isfinite(exact.get(i))) out.magnitude = std::max(out.magnitude, std::fabs(exact.get(i)));
  }
  out.bound = 4 * std::max(error, dtype.unit_roundoff() * out.magnitude);
  if (out.step > 0) {  // a number that lies between two steps may become either of them
    out.bound = out.step * (std::max(1.0, std::ceil(out.bound / out.step)) + kPartOfStep);
  }
  out.cap = cap_of(dtype) * out.magnitude;
  out.ill_conditioned = !out.quantised && error > out.cap;
  cap(out);
  return out;
}

// As `4 E`: the smallest normal number is what one flushed result is off by.
constexpr double kFlushedSteps = 4;

ErrorBound with_floor(ErrorBound b, DType dtype, double flushed) {
  if (!dtype.is_float()) return b;
  const double least = kFlushedSteps * smallest_normal(dtype);
  b.flushed = flushed;
  b.cap = std::max(b.cap, least);
  b.flushes = flushed > b.cap;
  b.bound += least + 4 * flushed;
  cap(b);
  return b;
}

Comparison compare_unrounded(const Tensor& got, const Tensor& exact, const Bound& bound) {
  const Tensor wide = got.dtype().is_float() ? got.converted(exact.dtype()) : got;
  Comparison out = relay::compare(wide, exact, bound);
  if (out.worst >= 0 && out.error > 0) out.ulps = out.error / spacing(got.dtype(), out.want);
  return out;
}

Comparison Reference::compare(size_t i, const Tensor& got) const {
  const Bound bound = bounds[i].at_every_element();
  if (got.dtype() != own[i].dtype()) return relay::compare(got, own[i], bound);  // which says so
  return compare_unrounded(got, exact[i], bound);
}

namespace {

// Runs of the interpreter in the program's own dtypes: every result is rounded to its dtype, and
// sums are added up in float32.
class OwnRuns {
 public:
  OwnRuns(const Module& m, std::string_view function, std::span<const Value> args,
          const RunObserver& observer, const interp::Limits& limits)
      : m_(m), function_(function), args_(args), observer_(observer), limits_(limits) {}

  std::vector<Tensor> plain() {
    return run([this](const op::OpDef& def, std::span<const Value> args, const Attrs& attrs) {
      quantises_ |= passes::quantises(def);
      return watched(m_.context(), def, args, attrs);
    });
  }
  // Was anything rounded to few steps?
  bool quantises() const { return quantises_; }
  // Did an operator take or give a denormal that an engine may flush?
  bool meets_denormals() const { return meets_denormals_; }

  // As an engine does it that flushes wherever it may.
  std::vector<Tensor> flushed() {
    return run([this](const op::OpDef& def, std::span<const Value> args, const Attrs& attrs) {
      return op::evaluate_flushed(m_.context(), def, args, attrs, op::Sums::kSingle);
    });
  }

  // As another honest engine may do it: see Disturbance.
  std::vector<Tensor> disturbed(uint32_t seed) {
    Disturbance disturbance(seed);
    return run([&](const op::OpDef& def, std::span<const Value> args, const Attrs& attrs) {
      return disturbance.of(m_.context(), def, args, attrs, evaluate(def, args, attrs));
    });
  }

 private:
  Value evaluate(const op::OpDef& def, std::span<const Value> args, const Attrs& attrs) {
    return op::evaluate(m_.context(), def, args, attrs, op::Sums::kSingle);
  }
  // The same, and notes denormals, also between the operators of an expansion.
  Value watched(Context& context, const op::OpDef& def, std::span<const Value> args, const Attrs& attrs) {
    Value made =
        op::evaluate_by_parts(context, def, args, attrs, op::Sums::kSingle,
                              [this](Context& scratch, const op::OpDef& part, std::span<const Value> inputs,
                                     const Attrs& given) { return watched(scratch, part, inputs, given); });
    // What takes any value gives it back: who made it was watched.
    if (!op::takes_any_type(def))
      meets_denormals_ |= has_denormals(made) || std::any_of(args.begin(), args.end(), has_denormals);
    return made;
  }
  // Operators take and give tuples of tensors, and hardly deeper ones.
  static bool has_denormals(const Value& v) {
    if (v.is_tensor()) return relay::has_denormals(v.tensor());
    return v.kind() == ValueKind::kTuple && std::any_of(v.fields().begin(), v.fields().end(), has_denormals);
  }

  // `result` takes an operator with its arguments, and gives what stands in the
  // place of the result.
  template <class Result>
  std::vector<Tensor> run(const Result& result) {
    interp::Options options{limits_};
    if (observer_) options.observe = observer_(false);
    options.run_operator = [&](const op::OpDef& def, std::span<const Value> args,
                               const Attrs& attrs) -> std::optional<Value> {
      return result(def, args, attrs);
    };
    return tensors_of(interp::Machine(m_, options).call(function_, {args_.begin(), args_.end()}));
  }

  const Module& m_;
  std::string_view function_;
  std::span<const Value> args_;
  const RunObserver& observer_;
  const interp::Limits& limits_;
  bool quantises_ = false, meets_denormals_ = false;
};

// Where a number is rounded to few steps, an error of one ULP sometimes becomes a whole step.
constexpr int kRunsOfQuantised = 4;
// Another program's functions are right to some ULP, and not the interpreter's to a half. Where
// roundings are magnified by chance, runs of one program are off by 3e-6 to 2e-5 (GTCRN, 12 seeds),
// so one draw may lie far below. A run that raises the largest error of an output by half shows
// that others may raise it too.
constexpr int kSettled = 3;  // runs in a row that raise none
constexpr double kGrows = 1.5;
constexpr int kMostRuns = 8;

// An output of one element is measured as often as one of many has elements.
int disturbed_runs(const std::vector<Tensor>& outputs, bool quantises) {
  int64_t fewest = kFewestErrors;
  for (const Tensor& t : outputs) {
    if (t.dtype().is_float() && t.size() > 0) fewest = std::min(fewest, t.size());
  }
  const auto runs = static_cast<int>((kFewestErrors + fewest - 1) / fewest) - 1;
  return quantises ? std::max(runs, kRunsOfQuantised) : runs;
}

// Adds to the bounds what an engine may do with denormals: a floor for results on the way that are
// flushed, and what flushing does to this run.
void add_floors(Reference& out, OwnRuns& runs) {
  std::vector<Tensor> flushed;
  try {
    if (runs.meets_denormals()) flushed = runs.flushed();
  } catch (const Trap&) {
    // Denormals decide that the program fails, so no result with them flushed is right.
  }
  const bool says = same_shapes(out.own, flushed);  // unless denormals decide extents
  for (size_t i = 0; i < out.own.size(); ++i) {
    const double change = says ? error_of(out.own[i], flushed[i]) : 0;
    out.bounds[i] = with_floor(std::move(out.bounds[i]), out.own[i].dtype(), change);
    if (says) out.bounds[i].other = flushed[i];
  }
}

}  // namespace

Reference reference_of(const Module& m, std::string_view function, std::span<const Value> args,
                       const RunObserver& observer, Denormals denormals, const interp::Limits& limits) {
  Reference out;
  const auto exact_run = [&](const Module& module, std::span<const Value> values) {
    interp::Options options{limits};
    if (observer) options.observe = observer(true);
    return tensors_of(interp::Machine(module, options).call(function, {values.begin(), values.end()}));
  };
  const Module wide = widened(m);
  std::vector<Value> wide_args;
  for (const Value& v : args) wide_args.push_back(widened(v, wide));
  // Where the program traps only in float64, `exact` stays empty, and so differs from `own`.
  try {
    out.exact = exact_run(wide, wide_args);
  } catch (const Trap&) {
  }
  OwnRuns runs(m, function, args, observer, limits);
  out.own = runs.plain();
  bool other_way = false;
  if (!same_shapes(out.own, out.exact)) {
    // Rounding took another way through the program, so the float64 result says
    // nothing about this one.
    out.exact = exact_run(m, args);
    if (!same_shapes(out.own, out.exact)) out.own = out.exact;
    other_way = true;
  }
  std::vector<double> errors;
  for (size_t i = 0; i < out.own.size(); ++i) errors.push_back(error_of(out.exact[i], out.own[i]));
  const auto raises_one = [&](const std::vector<Tensor>& other) {
    bool grew = false;
    for (size_t i = 0; i < errors.size(); ++i) {
      const double error = error_of(out.exact[i], other[i]);
      grew |= error > kGrows * errors[i];
      errors[i] = std::max(errors[i], error);
    }
    return grew;
  };
  int settled = 0;
  const int least = disturbed_runs(out.own, runs.quantises());
  for (int run = 1; run <= least || (settled < kSettled && run <= kMostRuns); ++run) {
    bool grew = false;
    try {
      const std::vector<Tensor> other = runs.disturbed(static_cast<uint32_t>(run));
      grew = same_shapes(other, out.exact) && raises_one(other);
    } catch (const Trap&) {
      // A disturbance took another way through the program: it says nothing about this one.
    }
    settled = grew ? 0 : settled + 1;
  }
  std::vector<double> steps(out.own.size());
  std::vector<bool> quantised(out.own.size());
  if (runs.quantises()) {
    steps = last_steps(m, function, out.own.size());
    quantised = quantised_outputs(m, function, out.own.size());
  }
  for (size_t i = 0; i < out.own.size(); ++i) {
    out.bounds.push_back(error_bound(out.exact[i], out.own[i].dtype(), errors[i], {quantised[i], steps[i]}));
    out.bounds.back().ill_conditioned |= other_way;
  }
  if (denormals == Denormals::kFlush) add_floors(out, runs);
  return out;
}

}  // namespace relay::passes
