#include "driver/verifier.h"

#include "base/cat.h"
#include "base/stopwatch.h"
#include "driver/nonfinite.h"
#include "passes/reference.h"

namespace relay::driver {
namespace {

std::string output_name(const Model& model, size_t i) {
  return i < model.output_names.size() ? model.output_names[i] : cat("output ", i);
}

// An output of which no element is a number: that engines give the same says nothing of them. Empty
// if there is none.
std::string without_numbers(const passes::Reference& reference, const Model& model) {
  for (size_t i = 0; i < reference.exact.size(); ++i) {
    const Tensor& t = reference.exact[i];
    const NonFinite n = count_nonfinite(t);
    if (n.any() && n.nans + n.infinities == t.size())
      return cat("`", output_name(model, i), "` has no number to compare: its ", t.size(),
                 " elements are NaN or infinite in the reference too; `relay run` says where they come from");
  }
  return {};
}

// What float32 cannot hold and float64 can: no engine agrees there, and none is to blame.
std::string overflow_note(const Tensor& exact, const Tensor& own) {
  const NonFinite wide = count_nonfinite(exact), narrow = count_nonfinite(own);
  const int64_t more = narrow.nans + narrow.infinities - wide.nans - wide.infinities;
  if (more <= 0) return {};
  return cat(more, " elements are numbers in float64 and not in ", own.dtype().name(),
             ": the program leaves the range of its dtype, and `relay run` says where");
}

// The worst output of a run against the reference.
void judge(VerifyRow& row, const std::vector<Tensor>& got, const passes::Reference& reference,
           const Model& model) {
  for (size_t i = 0; i < got.size(); ++i) {
    row.add(reference.compare(i, got[i]), output_name(model, i), got[i].shape());
  }
  if (!row.ok) return;
  row.failed = without_numbers(reference, model);
  row.ok = row.failed.empty();
}

VerifyRow judge_given(const data::NamedTensors& given, const passes::Reference& reference,
                      const Model& model) {
  VerifyRow row;
  row.engine = kExpected;
  if (given.size() != reference.own.size()) {
    row.ok = false;
    row.failed = cat("there are ", given.size(), " outputs where the model has ", reference.own.size());
    return row;
  }
  std::vector<Tensor> got;
  for (size_t i = 0; i < given.size(); ++i) {
    const Tensor &t = given[i].value, &own = reference.own[i];
    if (t.dtype() != own.dtype() || t.shape() != own.shape()) {
      row.ok = false;
      row.failed = cat(given[i].name, " is ", t.dtype().name(), relay::show(t.shape()),
                       " where the model gives ", own.dtype().name(), relay::show(own.shape()));
      return row;
    }
    got.push_back(t);
  }
  judge(row, got, reference, model);
  return row;
}

}  // namespace

Verifier::Verifier(const Model& model, const std::vector<EngineAt>& engines, const VerifyOptions& options,
                   OnStep on_step)
    : model_(model), on_step_(std::move(on_step)) {
  if (!on_step_) on_step_ = [](std::string_view) {};
  for (const EngineAt& at : engines) {
    on_step_(cat("preparing ", row_of(at).label()));
    const Stopwatch watch;
    Prepared p = at.engine->prepare(model.module, model.function, options.at(at.level));
    candidates_.push_back({at, std::move(p), watch.seconds()});
  }
}

std::vector<VerifyRow> Verifier::run(const std::vector<Value>& args, const data::NamedTensors* given) {
  on_step_("the reference, and what float32 does to it");
  const passes::Reference reference = passes::reference_of(model_.module, model_.function, args);
  notes_.clear();
  for (size_t i = 0; i < reference.bounds.size(); ++i) {
    if (const std::string note = reference.bounds[i].note(); !note.empty())
      notes_.push_back(cat(output_name(model_, i), ": ", note));
    if (const std::string note = overflow_note(reference.exact[i], reference.own[i]); !note.empty())
      notes_.push_back(cat(output_name(model_, i), ": ", note));
  }
  std::vector<VerifyRow> rows;
  for (const Candidate& c : candidates_) {
    VerifyRow row = row_of(c.at);
    on_step_(row.label());
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
        judge(row, passes::tensors_of(outcome.value), reference, model_);
        row.result = outcome.value;
      } else {
        row.ok = false;
        row.failed = outcome.message;
      }
    }
    rows.push_back(std::move(row));
  }
  if (given) rows.push_back(judge_given(*given, reference, model_));
  return rows;
}

}  // namespace relay::driver
