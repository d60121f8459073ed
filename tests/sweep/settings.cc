#include "tests/sweep/settings.h"

#include <charconv>

#include "base/cat.h"
#include "base/failure.h"
#include "tests/conformance/engine_batch.h"
#include "tests/support/engine_skips.h"

namespace relay::sweep {
namespace {

using Kind = driver::Outcome::Kind;

std::string_view name_of(Kind kind) {
  return kind == Kind::kValue ? "gives a value" : kind == Kind::kTrap ? "traps" : "comes to a limit";
}

// What a run says that the interpreter does not say; empty if they agree.
std::string difference(const driver::Outcome& got, const driver::Outcome& want) {
  if (got.kind != want.kind) {
    return cat("it ", name_of(got.kind), " (", got.message, ") where the interpreter ", name_of(want.kind),
               " (", want.message, ")");
  }
  if (reason_of(got.message) == reason_of(want.message)) return {};
  return cat("it traps with `", got.message, "`, and the interpreter with `", want.message, "`");
}

std::string alone(const Setting& setting, const Case& c) {
  const driver::Engine& engine = *driver::find_engine(setting.engine);
  try {
    const driver::Prepared prepared = engine.prepare(c.module, "main", {.opt_level = setting.level});
    if (!prepared.run) {
      const auto& all = prepared.refusal.all();
      const std::string slug = all.empty() ? "" : std::string(all.front().slug().name());
      if (tests::may_skip(setting.engine, slug)) return {};
      return cat("it is skipped: [", slug, "] ", prepared.skipped);
    }
    if (!prepared.refusal.all().empty())
      return cat("it is not lowered: ", prepared.refusal.all().front().message());
    return difference(prepared.run(c.args), c.want);
  } catch (const driver::CannotPrepare& e) {
    return cat("it does not compile: ", e.what());
  } catch (const std::exception& e) {
    return cat("an exception: ", e.what());
  }
}

std::string trouble(const Setting& setting, const driver::VerifyRow& row) {
  if (!row.skipped.empty()) {
    if (tests::may_skip(setting.engine, row.slug)) return {};
    return cat("it is skipped: [", row.slug, "] ", row.skipped);
  }
  if (!row.weaker.empty()) return cat("it is not lowered: ", row.weaker);
  if (row.interpreted_calls > 0) return "a call is interpreted";
  return row.ok ? "" : row.trouble();
}

}  // namespace

std::string Setting::name() const { return cat(engine, " -O", level); }

void run_cases(const Setting& setting, std::span<const Case> cases, size_t traps,
               const std::function<void(size_t index, const std::string& wrong)>& on_finding) {
  std::vector<tests::EngineTest> together;
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    if (setting.engine == "graph" && c.is_symbolic) continue;
    if (c.want.kind == Kind::kExhausted) continue;
    if (c.want.kind == Kind::kValue) {
      together.push_back({cat(i), c.module, c.args, c.wanted});
    } else if (traps > 0) {
      --traps;
      if (const std::string wrong = alone(setting, c); !wrong.empty()) on_finding(i, wrong);
    }
  }
  const auto judge = [&](const tests::EngineTest& test, const driver::VerifyRow& row,
                         std::span<const Tensor>) {
    size_t i = 0;
    std::from_chars(test.name.data(), test.name.data() + test.name.size(), i);
    if (const std::string wrong = trouble(setting, row); !wrong.empty()) on_finding(i, wrong);
  };
  tests::run_on_engine(*driver::find_engine(setting.engine), {.opt_level = setting.level}, together, judge);
}

}  // namespace relay::sweep
