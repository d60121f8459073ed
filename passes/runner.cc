#include "passes/runner.h"

#include <fmt/format.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "base/cat.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/nearest.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "kernel/validate.h"
#include "op/operators.h"
#include "passes/reference.h"
#include "runtime/compare.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

constexpr std::string_view kReproducerLine = "// relay-pipeline: ";

// The answer of @main before any pass.
struct Answer {
  Value value;
  Reference reference;  // what later answers are compared with
};

// Is `now` the same answer? It has the same structure, and its tensors are within the bounds of any
// engine. If not, `why` says so.
bool agree(const Value& now, const Answer& answer, std::string& why) {
  std::vector<std::pair<const Value*, const Value*>> pending{{&now, &answer.value}};
  while (!pending.empty()) {
    auto [x, y] = pending.back();
    pending.pop_back();
    if (x->kind() != y->kind()) {
      why = "the answers are of different kinds";
      return false;
    }
    if (x->kind() != ValueKind::kTuple && x->kind() != ValueKind::kData) continue;
    if (x->code() != y->code() || x->fields().size() != y->fields().size()) {
      why = "the answers have different constructors";
      return false;
    }
    for (size_t i = 0; i < x->fields().size(); ++i) pending.emplace_back(&x->fields()[i], &y->fields()[i]);
  }
  const std::vector<Tensor> got = tensors_of(now);
  for (size_t i = 0; i < got.size(); ++i) {
    const Comparison c = answer.reference.compare(i, got[i]);
    if (c.ok) continue;
    why = show(c, got[i].shape());
    return false;
  }
  return true;
}

class Runner {
 public:
  Runner(const RunnerOptions& options, Diagnostics& diagnostics)
      : options_(options), diagnostics_(diagnostics) {}

  Result<Module> run(const Module& start, const Pipeline& steps) {
    Result<Module> checked = typecheck::check(start, diagnostics_);
    if (!checked) return kReported;
    Module now = *checked;
    std::optional<Answer> answer;
    if (options_.verify == Verify::kSemantics) answer = first_answer(now);
    if (!dump(steps, 0, now)) return kReported;
    for (size_t i = 0; i < steps.size(); ++i) {
      const Activity activity("pass", steps[i].pass->name);
      std::optional<Module> next = run_one(now, steps[i]);
      if (!next || !verify(*next, steps[i], answer)) {
        write_reproducer(now, steps, i);
        return kReported;
      }
      if (!report(now, *next, steps, i + 1)) return kReported;
      now = *next;
    }
    if (options_.time) options_.print(times());
    return now;
  }

 private:
  // Milliseconds of a step, and of the type check that follows it.
  struct Time {
    std::string step;
    double pass, check;
  };

  std::optional<Module> run_one(const Module& m, const Step& step) {
    const size_t errors = diagnostics_.errors();
    const auto begin = std::chrono::steady_clock::now();
    Module next = step.pass->run(
        m, {diagnostics_, step.values, options_.target, options_.schedule, options_.on_kernel});
    const auto middle = std::chrono::steady_clock::now();
    if (diagnostics_.errors() > errors) return std::nullopt;
    // What did not change was checked.
    Result<Module> checked = next.same(m) ? Result<Module>(next) : typecheck::check(next, diagnostics_);
    const auto end = std::chrono::steady_clock::now();
    const auto ms = [](auto d) { return std::chrono::duration<double, std::milli>(d).count(); };
    times_.push_back({show(step), ms(middle - begin), ms(end - middle)});
    if (!checked) {
      diagnostics_.error(Span::none(), "pass-broke-types",
                         cat("after pass `", step.pass->name,
                             "` the module does not type check: this is a bug of the pass"));
      return std::nullopt;
    }
    return *checked;
  }

  std::string times() const {
    double all = 0;
    for (const Time& t : times_) all += t.pass + t.check;
    std::string out;
    const auto line = [&](std::string_view name, double pass, double check) {
      out += fmt::format("{:<24} {:9.2f} ms   type check {:9.2f} ms   {:5.1f} %\n", name, pass, check,
                         all > 0 ? 100 * (pass + check) / all : 0.0);
    };
    Time sum{"all passes", 0, 0};
    for (const Time& t : times_) {
      line(t.step, t.pass, t.check);
      sum.pass += t.pass;
      sum.check += t.check;
    }
    line(sum.step, sum.pass, sum.check);
    return out;
  }

  bool verify(const Module& m, const Step& step, const std::optional<Answer>& answer) {
    if (options_.verify == Verify::kNone) return true;
    std::vector<std::string> problems = well_formed(m);
    if (problems.empty()) problems = broken_kernels(m);
    if (!problems.empty()) {
      diagnostics_.error(Span::none(), "pass-broke-module",
                         cat("after pass `", step.pass->name, "` the module is not well formed: ",
                             problems[0], ": this is a bug of the pass"));
      return false;
    }
    if (!answer) return true;
    const std::optional<Value> now = interpret(m);
    std::string why;
    if (!now) why = "it fails when it runs";
    if (now && agree(*now, *answer, why)) return true;
    diagnostics_.error(Span::none(), "pass-changed-answer",
                       cat("pass `", step.pass->name, "` changed the answer of @main: ", why,
                           ": this is a bug of the pass"));
    return false;
  }

  // What is wrong with the kernels that no earlier pass left.
  std::vector<std::string> broken_kernels(const Module& m) {
    std::vector<std::string> problems;
    for (const auto& [name, k] : m.kernels()) {
      if (!valid_.insert(k).second) continue;
      for (const std::string& wrong : kernel::validate(*k))
        problems.push_back(cat("kernel @", name.text(), ": ", wrong));
    }
    return problems;
  }

  // Nothing if the program traps: then there is no answer to compare with.
  std::optional<Answer> first_answer(const Module& m) {
    std::optional<Value> value = interpret(m);
    if (!value) return std::nullopt;
    return Answer{*value, reference_of(m, "main", options_.sample_inputs)};
  }

  std::optional<Value> interpret(const Module& m) {
    try {
      return interp::Machine(m).call("main", options_.sample_inputs);
    } catch (const Trap&) {
      return std::nullopt;
    }
  }

  bool report(const Module& before, const Module& after, const Pipeline& steps, size_t done) {
    const Step& step = steps[done - 1];
    const bool changed = !after.same(before);
    const auto wants = [&](std::string_view what) {
      return options_.print_after.contains(std::string(what));
    };
    if (wants("all") || wants(step.pass->name) || (wants("changed") && changed)) {
      const std::string head = line_comment("//", cat("after ", show(step), changed ? "" : ": unchanged"));
      options_.print(cat(head, "\n", changed ? op::text_of(after) : ""));
    }
    return dump(steps, done, after);
  }

  bool dump(const Pipeline& steps, size_t done, const Module& m) {
    if (options_.dump_dir.empty()) return true;
    std::error_code ignored;
    std::filesystem::create_directories(options_.dump_dir, ignored);
    const std::string wrong = save(dump_path(options_.dump_dir, steps, done), "", m);
    if (!wrong.empty()) diagnostics_.error(Span::none(), "cannot-write", wrong);
    return wrong.empty();
  }

  void write_reproducer(const Module& m, const Pipeline& steps, size_t from) {
    if (options_.reproducer.empty()) return;
    const std::string rest = show(Pipeline(steps.begin() + static_cast<std::ptrdiff_t>(from), steps.end()));
    const std::string wrong = save(options_.reproducer, cat(kReproducerLine, rest, "\n"), m);
    if (!wrong.empty()) {
      diagnostics_.error(Span::none(), "cannot-write", wrong);
    } else {
      diagnostics_.warning(Span::none(), "reproducer-written",
                           cat("wrote ", options_.reproducer, "; `relay opt` runs it again"));
    }
  }

  std::string save(const std::string& path, const std::string& head, const Module& m) {
    return options_.save ? options_.save(path, head, m) : write_file_atomically(path, head + op::text_of(m));
  }

  const RunnerOptions& options_;
  Diagnostics& diagnostics_;
  std::set<const kernel::Kernel*> valid_;  // that were looked at
  std::vector<Time> times_;
};

}  // namespace

std::span<const Pass* const> all_passes() {
  static const std::vector<const Pass*> sorted = [] {
    std::vector<const Pass*> list(std::begin(kAllPasses), std::end(kAllPasses));
    std::sort(list.begin(), list.end(), [](const Pass* a, const Pass* b) { return a->name < b->name; });
    return list;
  }();
  return sorted;
}

const Pass* find_pass(std::string_view name) {
  for (const Pass* p : all_passes()) {
    if (p->name == name) return p;
  }
  return nullptr;
}

std::string dump_path(std::string_view folder, const Pipeline& steps, size_t done) {
  return fmt::format("{}/{:02}-{}.relay", folder, done, done == 0 ? "input" : steps[done - 1].pass->name);
}

Result<Module> run_pipeline(const Module& m, const Pipeline& pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics) {
  return Runner(options, diagnostics).run(m, pipeline);
}

Result<Module> run_pipeline(const Module& m, std::string_view pipeline, const RunnerOptions& options,
                            Diagnostics& diagnostics) {
  const Result<Pipeline> steps = parse_pipeline(pipeline, diagnostics);
  return steps ? run_pipeline(m, *steps, options, diagnostics) : kReported;
}

std::string pipeline_of_reproducer(std::string_view text) {
  if (!text.starts_with(kReproducerLine)) return {};
  text.remove_prefix(kReproducerLine.size());
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace relay::passes
