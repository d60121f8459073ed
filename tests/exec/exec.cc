// Runs tests/exec: programs with results from outside of the interpreter, on every engine.
//
// Each call line is a test of its own: first the interpreter against the expected result, then every other engine
// against the interpreter, within the operator's tolerance. An engine may skip a program; skips are printed.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <optional>
#include <sstream>

#include "base/cat.h"
#include "base/failure.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "tests/support/literal.h"
#include "tests/support/test_file.h"
#include "tools/engines.h"
#include "tools/tolerance.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

using tools::Outcome;

// One file, parsed and checked once for all of its calls.
struct Program {
  Module module;
  std::string problem;                                                     // why there is none
  std::map<std::string, std::map<std::string, tools::Prepared>> prepared;  // engine, function
  std::map<std::string, tools::Prepared> unoptimised;                      // function
};

Program& program_of(const std::string& path) {
  static std::map<std::string, Program> all;
  auto [it, fresh] = all.emplace(path, Program{});
  Program& p = it->second;
  if (!fresh) return p;
  const TestFile file = read_test_file(path);
  Diagnostics diagnostics;
  ParseOptions options;
  const std::string* input = file.find("input");
  Result<Module> parsed = parse(path, input ? *input : "", diagnostics, op::operators(), options);
  Result<Module> checked = parsed ? typecheck::check(*parsed, diagnostics) : Result<Module>(kReported);
  if (!checked) {
    p.problem = diagnostics.render(options.into.context().sources());
  } else {
    p.module = *checked;
  }
  return p;
}

const FnType* type_of(const Fn& fn) { return fn.type->as<FnType>(); }

Outcome interpret(const Module& m, const std::string& function, const std::vector<Value>& args) {
  try {
    return {Outcome::Kind::kValue, interp::Machine(m).call(function, args), {}};
  } catch (const Trap& trap) {
    return {Outcome::Kind::kTrap, {}, trap.what()};
  } catch (const Exhausted& limit) {
    return {Outcome::Kind::kExhausted, {}, limit.what()};
  }
}

// `~` without a tolerance of its own: the digits that people write down, about six.
constexpr double kWrittenDigits = 2e-6;

void expect_close(const Value& got, const Value& want, double tolerance, const std::string& where) {
  const std::vector<Tensor> a = tools::tensors_of(got), b = tools::tensors_of(want);
  ASSERT_EQ(a.size(), b.size()) << where;
  for (size_t i = 0; i < a.size(); ++i) {
    double largest = 0;
    for (int64_t k = 0; k < b[i].size(); ++k) {
      if (std::isfinite(b[i].get(k))) largest = std::max(largest, std::fabs(b[i].get(k)));
    }
    // Relative to the element, and a little to the largest one, so that a written 0 may be 1e-17.
    const Comparison c = compare(a[i], b[i], [&](int64_t k) {
      return tolerance * std::fabs(b[i].get(k)) + tolerance * 0.01 * largest;
    });
    EXPECT_TRUE(c.ok) << where << ": " << show(c, b[i].shape());
  }
}

void expect_identical(const Value& got, const Value& want, const std::string& where) {
  const std::vector<Tensor> a = tools::tensors_of(got), b = tools::tensors_of(want);
  ASSERT_EQ(a.size(), b.size()) << where;
  for (size_t i = 0; i < a.size(); ++i) {
    const Comparison c = compare_exact(a[i], b[i]);
    EXPECT_TRUE(c.ok) << where << ": " << show(c, b[i].shape());
  }
  EXPECT_EQ(interp::show(got), interp::show(want)) << where;  // constructors too
}

class ExecTest : public testing::Test {
 public:
  ExecTest(std::string path, std::string line) : path_(std::move(path)), line_(std::move(line)) {}

  void TestBody() override {
    Program& p = program_of(path_);
    const CallLine call = parse_call(line_);
    if (call.assertion == "rejected" && !p.problem.empty()) {
      EXPECT_NE(p.problem.find(call.message), std::string::npos) << path_ << ": " << p.problem;
      return;
    }
    ASSERT_EQ(p.problem, "") << path_;
    const Fn* fn = p.module.function(call.function);
    ASSERT_NE(fn, nullptr) << path_ << ": there is no @" << call.function;
    const FnType& type = *type_of(*fn);
    ASSERT_EQ(call.args.size(), type.args.size()) << path_ << ": " << line_;
    uint64_t repeats = 1;
    for (const Literal& arg : call.args) repeats = std::max(repeats, arg.repeats);
    for (uint64_t round = 0; round < repeats && !HasFailure(); ++round) {
      std::vector<Value> args;
      for (size_t i = 0; i < call.args.size(); ++i) {
        Literal arg = call.args[i];
        arg.seed += round * 1000 + i;  // random arguments of one call differ
        args.push_back(value_of(arg, type.args[i], p.module));
      }
      run_everywhere(p, call, type, args);
    }
  }

 private:
  void run_everywhere(Program& p, const CallLine& call, const FnType& type, const std::vector<Value>& args) {
    const Outcome want = interpret(p.module, call.function, args);
    expect(call, want, type);
    if (HasFailure()) return;
    std::optional<std::vector<Bound>> bounds;  // as soon as somebody needs them
    for (const tools::Engine& engine : tools::engines()) {
      if (engine.name != "interp" && is_wanted(engine)) run_on(engine, p, call, args, want, bounds);
    }
  }

  // RELAY_ENGINES=graph,aot-cuda runs these and no others.
  static bool is_wanted(const tools::Engine& engine) {
    const char* only = std::getenv("RELAY_ENGINES");
    return !only || cat(",", only, ",").find(cat(",", engine.name, ",")) != std::string::npos;
  }

  static std::vector<Bound> bounds_of(Program& p, const CallLine& call, const std::vector<Value>& args,
                                      const Value& want) {
    return tools::bounds_for(p.module, call.function, args, want, [&](const std::vector<Value>& same) {
      auto it = p.unoptimised.find(call.function);
      if (it == p.unoptimised.end())
        it = p.unoptimised.emplace(call.function, tools::prepare_unoptimised(p.module, call.function)).first;
      return it->second.run(same);
    });
  }

  // The interpreter against what the file says.
  void expect(const CallLine& call, const Outcome& got, const FnType& type) {
    const std::string where = path_ + ": " + line_;
    if (call.assertion == "traps" || call.assertion == "exhausts" || call.assertion == "rejected") {
      const auto kind = call.assertion == "exhausts" ? Outcome::Kind::kExhausted : Outcome::Kind::kTrap;
      ASSERT_EQ(got.kind, kind) << where << " " << got.message;
      EXPECT_NE(got.message.find(call.message), std::string::npos) << where << ": got: " << got.message;
      return;
    }
    ASSERT_EQ(got.kind, Outcome::Kind::kValue) << where << ": " << got.message;
    if (call.assertion == "agrees") return;
    const Value expected = value_of(call.expected, type.result, program_of(path_).module);
    if (call.assertion == "==") {
      expect_identical(got.value, expected, where);
    } else {
      expect_close(got.value, expected, call.tolerance > 0 ? call.tolerance : kWrittenDigits, where);
    }
  }

  void run_on(const tools::Engine& engine, Program& p, const CallLine& call, const std::vector<Value>& args,
              const Outcome& want, std::optional<std::vector<Bound>>& bounds) {
    auto& prepared = p.prepared[std::string(engine.name)];
    auto it = prepared.find(call.function);
    if (it == prepared.end()) {
      it = prepared.emplace(call.function, engine.prepare(p.module, call.function, {})).first;
      if (!it->second.skipped.empty()) {
        std::printf("skip %s %s @%s: %s\n", std::string(engine.name).c_str(), path_.c_str(),
                    call.function.c_str(), it->second.skipped.c_str());
      }
    }
    if (!it->second.run) return;
    const std::string where = std::string(engine.name) + " " + path_ + ": " + line_;
    const Outcome got = it->second.run(args);
    ASSERT_EQ(got.kind, want.kind) << where << ": " << got.message;
    if (want.kind != Outcome::Kind::kValue) return;
    const std::vector<Tensor> a = tools::tensors_of(got.value), b = tools::tensors_of(want.value);
    ASSERT_EQ(a.size(), b.size()) << where;
    if (!bounds) bounds = bounds_of(p, call, args, want.value);
    for (size_t i = 0; i < a.size(); ++i) {
      const Comparison c = compare(a[i], b[i], (*bounds)[i]);
      EXPECT_TRUE(c.ok) << where << ": " << show(c, b[i].shape());
    }
  }

  std::string path_, line_;
};

// "@f([1]) == [2]   // why": comments and blank lines are for people.
std::vector<std::string> call_lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (const size_t comment = line.find("//"); comment != std::string::npos) line.resize(comment);
    if (line.find_first_not_of(" \t\r") != std::string::npos) out.push_back(line);
  }
  return out;
}

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  using relay::tests::ExecTest;
  for (const std::string& path : relay::tests::test_files_beneath("tests/exec")) {
    const relay::tests::TestFile file = relay::tests::read_test_file(path);
    const std::string* calls = file.find("calls");
    int number = 0;
    for (const std::string& line : relay::tests::call_lines(calls ? *calls : "")) {
      const std::string suite = std::filesystem::path(path).stem().string();
      const std::string name = std::to_string(++number) + " " + line;
      testing::RegisterTest(suite.c_str(), name.c_str(), nullptr, nullptr, __FILE__, __LINE__,
                            [path, line]() -> testing::Test* { return new ExecTest(path, line); });
    }
  }
  return RUN_ALL_TESTS();
}
