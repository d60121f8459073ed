// What comparing one engine with the reference gave: a row of the tables of `relay verify`.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/engines.h"
#include "driver/tolerance.h"
#include "runtime/compare.h"

namespace relay::driver {

struct VerifyOptions {
  std::vector<std::string> engines = {};  // empty: all
  std::vector<int> levels = {0, 1, 2, 3};
  int threads = 1;  // of a run
  target::Target target = target::target_of("native");
  Denormals denormals = Denormals::kFlush;  // of the engines, and so of the bounds
  std::string libraries = {};               // Options::libraries
  // Engines that are prepared at once, and that run at once; 0: one for each core that this process
  // may run on. A report differs by its times alone.
  unsigned at_once = 0;
  // When it becomes true, the Verifier throws Exhausted before its next stage, and runs end that
  // may be endless. Must outlive the Verifier.
  const std::atomic<bool>* cancel = nullptr;

  Options at(int level) const {
    return {.opt_level = level,
            .threads = threads,
            .target = target,
            .denormals = denormals,
            .limits = {.cancel = cancel},
            .libraries = libraries};
  }
};

// An engine at one of its levels.
struct EngineAt {
  const Engine* engine;
  int level = 0;

  std::optional<int> shown_level() const { return engine->compiles ? std::optional(level) : std::nullopt; }
};
std::vector<EngineAt> engines_at(const VerifyOptions& options);

enum class Verdict : uint8_t { kAgrees, kDiffers, kFailed, kSkipped };
std::string_view name(Verdict verdict);  // "agrees", "differs", "failed", "skipped"

// One engine at one level; or `expected`, the outputs of another program; or `check`, the type
// check, of a program that it must refuse.
// In the place of an engine's name: what another program computed.
inline constexpr std::string_view kExpected = "expected";

struct VerifyRow {
  std::string engine;
  std::optional<int> level = {};            // of engines that compile
  std::string skipped = {};                 // why; empty if it ran
  std::string slug = {};                    // of the diagnostic that says so, if a pass refused the program
  std::string failed = {};                  // how, if there is no result to compare
  std::string weaker = {};                  // why the engine runs the program in a weaker form; empty if not
  size_t interpreted_calls = 0;             // Outcome::interpreted_calls, of all runs
  bool ok = true;                           // no difference was found
  double prepare_seconds = 0, seconds = 0;  // 0 where nothing ran
  Comparison worst = {};                    // of the output that used the largest share of its bound
  std::string output = {};                  // its name
  // Why the bound of an output is not capped (passes::ErrorBound::uncapped); empty if all are.
  std::string_view uncapped = {};
  Shape shape = {};
  Value result = {};
  std::shared_ptr<const Context> context = {};  // where constructors and functions of `result` live

  Verdict verdict() const;
  std::string label() const;  // "graph -O2"
  // What a person has to know of a row that does not agree: the reason or the worst element;
  // empty if it agrees.
  std::string trouble() const;
  // What preparing the program says of it: is it skipped, or run in a weaker form?
  void prepare(const Prepared& prepared);
  // Another tensor of the result: the row keeps the one that used the largest share of its bound.
  void add(const Comparison& c, const std::string& name, const Shape& of_shape);
  // Tensor i of a result, which is called `name`.
  void add(const Wanted& wanted, size_t i, const Tensor& got, const std::string& name);
};

// "at [0, 3]: theirs 1.5, ours 1.25, 2.5 times the bound": of a result that another
// program computed.
std::string show_theirs(const Comparison& c, const Shape& shape);

VerifyRow row_of(const EngineAt& at);
std::string show(const std::vector<VerifyRow>& rows);  // the table

}  // namespace relay::driver
