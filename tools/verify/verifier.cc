#include "tools/verify/verifier.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/cat.h"
#include "interp/machine.h"
#include "tools/stopwatch.h"
#include "tools/tolerance.h"

namespace relay::tools {
namespace {

// The worst output of a run against the reference.
void judge(VerifyRow& row, const std::vector<Tensor>& got, const std::vector<Tensor>& reference,
           const std::vector<Bound>& bounds, const Model& model) {
  for (size_t i = 0; i < got.size(); ++i) {
    // Compared in float64, so that the reference is not rounded.
    const Tensor wide = got[i].dtype().is_float() ? got[i].converted(reference[i].dtype()) : got[i];
    row.add(compare(wide, reference[i], bounds[i]),
            i < model.output_names.size() ? model.output_names[i] : cat("output ", i), reference[i].shape());
  }
}

// Another program rounds in its own ways, so it may be off by what is customary between runtimes, and by what this
// network makes of roundings where that is more: a network that quantises turns one into a whole step.
constexpr double kBetweenPrograms = 1e-4;  // of the largest magnitude

VerifyRow judge_given(const data::NamedTensors& given, const std::vector<Tensor>& reference,
                      const std::vector<Tensor>& plain, const std::vector<Bound>& bounds,
                      const Model& model) {
  VerifyRow row;
  row.engine = "expected";
  if (given.size() != reference.size()) {
    row.ok = false;
    row.failed = cat("there are ", given.size(), " outputs where the model has ", reference.size());
    return row;
  }
  std::vector<Tensor> got;
  std::vector<Bound> wider = bounds;
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor& t = given[i].value;
    if (t.dtype() != plain[i].dtype() || t.shape() != plain[i].shape()) {
      row.ok = false;
      row.failed = cat(given[i].name, " is ", t.dtype().name(), relay::show(t.shape()),
                       " where the model gives ", plain[i].dtype().name(), relay::show(plain[i].shape()));
      return row;
    }
    got.push_back(t);
    if (!t.dtype().is_float()) continue;
    double magnitude = 0;
    for (int64_t k = 0; k < t.size(); ++k) {
      if (std::isfinite(reference[i].get(k))) magnitude = std::max(magnitude, std::fabs(reference[i].get(k)));
    }
    wider[i] = [bound = bounds[i], custom = kBetweenPrograms * magnitude](int64_t k) {
      return std::max(bound(k), custom);
    };
  }
  judge(row, got, reference, wider, model);
  return row;
}

}  // namespace

Verifier::Verifier(const Model& model, const VerifyOptions& options, Session& session)
    : model_(model), wide_(widened(model.module)), session_(session) {
  Progress progress(session, "verify");
  progress.step("preparing the unoptimised run");
  plain_ = prepare_unoptimised(model.module, model.function, options.at(0));
  for (const EngineAt& at : engines_at(options)) {
    progress.step(cat("preparing ", row_of(at).label()));
    const Stopwatch watch;
    Prepared p = at.engine->prepare(model.module, model.function, options.at(at.level));
    candidates_.push_back({at, std::move(p), watch.seconds()});
  }
}

std::vector<VerifyRow> Verifier::run(const std::vector<Value>& args, const data::NamedTensors* given) {
  Progress progress(session_, "verify");
  progress.step("the reference in float64");
  std::vector<Value> wide_args;
  for (const Value& v : args) wide_args.push_back(widened(v, wide_));
  const std::vector<Tensor> reference = tensors_of(interp::Machine(wide_).call(model_.function, wide_args));

  // The interpreter's own run takes the place of the unoptimised one if that failed.
  std::optional<Outcome> base;
  if (plain_.run) base = plain_.run(args);
  if (!base || base->kind != Outcome::Kind::kValue) {
    base = Outcome{Outcome::Kind::kValue, interp::Machine(model_.module).call(model_.function, args), {}};
  }
  const std::vector<Tensor> base_tensors = tensors_of(base->value);
  std::vector<Bound> bounds;
  for (size_t i = 0; i < reference.size(); ++i) {
    const bool exact = !reference[i].dtype().is_float();
    bounds.push_back(exact ? Bound([](int64_t) { return 0.0; })
                           : network_bound(reference[i], base_tensors[i]));
  }

  std::vector<VerifyRow> rows;
  for (const Candidate& c : candidates_) {
    VerifyRow row = row_of(c.at);
    progress.step(row.label());
    row.prepare_seconds = c.prepare_seconds;
    row.prepare(c.prepared);
    if (c.prepared.run) {
      Outcome outcome;
      const auto timed = [&] {
        const Stopwatch watch;
        outcome = c.prepared.run(args);
        return watch.seconds();
      };
      row.seconds = timed();
      // The first run touches its memory, which one of seconds does not feel.
      if (c.at.engine->compiles && row.seconds < 1) row.seconds = timed();
      row.interpreted_calls = outcome.interpreted_calls;
      if (outcome.kind == Outcome::Kind::kValue) {
        judge(row, tensors_of(outcome.value), reference, bounds, model_);
        row.result = outcome.value;
      } else {
        row.ok = false;
        row.failed = outcome.message;
      }
    }
    rows.push_back(std::move(row));
  }
  if (given) rows.push_back(judge_given(*given, reference, base_tensors, bounds, model_));
  return rows;
}

}  // namespace relay::tools
