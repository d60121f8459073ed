#include "tests/property/passed.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/analysis.h"
#include "passes/map_types.h"
#include "passes/sample_inputs.h"
#include "tests/property/approximations.h"

namespace relay::property {
namespace {

// A function that was of one type and is generic now, as a text; empty if there is none. Whoever
// calls it from outside, and engines that compile, know it by its type.
std::string became_generic(const Module& before, const Module& after) {
  for (const auto& [name, fn] : before.functions()) {
    const Fn* now = after.function(name.text());
    if (!now || !fn->type->as<FnType>()->type_params.empty()) continue;
    if (!now->type->as<FnType>()->type_params.empty())
      return cat("@", name.text(), " became generic: ", show(now->type));
  }
  return {};
}

// Results where float32 has become float64.
Run narrowed(Run run) {
  if (run.kind != Run::Kind::kValue) return run;
  run.value = with_tensors(run.value,
                           [](const Tensor& t) { return t.dtype() == kFloat64 ? t.converted(kFloat32) : t; });
  return run;
}

}  // namespace

std::string changed_by(std::string_view pass) { return cat("changed by ", pass); }
std::string compared_after(std::string_view pass) { return cat("compared after ", pass); }

std::string Passed::run(const std::string& step, passes::RunnerOptions options) {
  const bool first = so_far_.empty();
  const std::string all = cat(so_far_, first ? "" : ",", step);
  Diagnostics diagnostics;
  const Result<passes::Pipeline> steps = passes::parse_pipeline(step, diagnostics);
  if (!steps) return diagnostics.render(now_.context().sources());
  const passes::Pass& pass = *steps->front().pass;
  options.verify = passes::Verify::kTypes;
  const Result<Module> next = passes::run_pipeline(now_, *steps, options, diagnostics);
  // A shape that is not known before the program runs has no kernel.
  refused_ = !next && diagnostics.fault() != Fault::kBug;
  tally_["refused"] += refused_;
  if (refused_) return {};
  so_far_ = all;
  const auto broken = [&](const std::string& how, const Module& before) {
    return cat("after ", so_far_, ": ", how, "before it:\n", text_of(before));
  };
  if (!next) return broken(diagnostics.render(now_.context().sources()), now_);
  if (next->same(now_)) return {};
  if (const std::string generic = became_generic(now_, *next); !generic.empty())
    return broken(cat(generic, "\n", text_of(*next)), now_);
  ++tally_[changed_by(pass.name)];
  const bool widens = pass.name == "widen-floats";
  if (first && !widens && alpha_equal(now_, *next))
    return cat(step, " changed nothing, but not the same pointers");
  if (pass.name == "block-channels" && text_of(*next).find("winograd") != std::string::npos) {
    ++tally_[kWinograd];
    share_ = std::max(share_, kWinogradShare);
  }
  constexpr std::string_view kReorder[] = {"lower", "block-channels", "pair-steps", "convert-layout"};
  reorders_ |= std::find(std::begin(kReorder), std::end(kReorder), pass.name) != std::end(kReorder);
  const Module before = std::exchange(now_, *next);
  if (widens && !wide_) {
    wide_ = true;
    for (Value& v : args_) v = passes::widened(v, now_);
  }
  const std::string differs = pass.approximates ? compared_roughly(steps->front()) : compared(pass);
  return differs.empty() ? differs : broken(cat(differs, "\n", text_of(now_)), before);
}

std::string Passed::compared(const passes::Pass& pass) {
  if (stopped_ || ((reorders_ || wide_) && !expected_->comparable())) return {};
  const Run got = interpret(now_, args_);
  if (got.kind != Run::Kind::kExhausted && expected_->run().kind != Run::Kind::kExhausted)
    ++tally_[compared_after(pass.name)];
  return expected_->difference(wide_ ? narrowed(got) : got, share_);
}

// Later passes are compared with the program that this one leaves, on arguments that fit it.
std::string Passed::compared_roughly(const passes::Step& step) {
  if (stopped_) return {};
  const std::string_view pass = step.pass->name;
  const std::optional<std::vector<Value>> fitted = passes::fitted_inputs(*now_.function("main"), args_);
  if (!fitted) {
    stopped_ = true;
    ++tally_[cat("no arguments fit after ", pass)];
    return {};
  }
  const Run got = interpret(now_, *fitted);
  const Kept kept = kept_by(step, *expected_, args_, wide_ ? narrowed(got) : got, share_);
  tally_[compared_after(pass)] += kept.compared;
  args_ = *fitted;
  expected_ = std::make_shared<Expected>(now_, args_, got, expected_->is_smooth() && leaves_smooth(pass));
  reorders_ = wide_ = false;
  share_ = coarse_ = std::max(coarse_, share_after(pass));
  return kept.differs;
}

}  // namespace relay::property
