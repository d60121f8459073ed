#include "tools/verify/exec_program.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "analysis/port_names.h"
#include "base/cat.h"
#include "base/failure.h"
#include "base/stopwatch.h"
#include "driver/libraries.h"
#include "driver/results.h"
#include "driver/tolerance.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/expand_grad.h"
#include "passes/reference.h"
#include "tools/test_files/test_file.h"

namespace relay::tools {
namespace {

// `~` without a tolerance of its own: the digits that people write down, about six.
constexpr double kWrittenDigits = 2e-6;

// Relative to the element, and a little to the largest one, so that a written 0 may be 1e-17.
Bound written_bound(const Tensor& want, double tolerance) {
  double largest = 0;
  for (int64_t k = 0; k < want.size(); ++k) {
    if (std::isfinite(want.get(k))) largest = std::max(largest, std::fabs(want.get(k)));
  }
  return [want, tolerance, largest](int64_t k) {
    return tolerance * std::fabs(want.get(k)) + tolerance * 0.01 * largest;
  };
}

std::string_view what_it_did(driver::Outcome::Kind kind) {
  switch (kind) {
    case driver::Outcome::Kind::kValue: return "gives a value";
    case driver::Outcome::Kind::kTrap: return "traps";
    case driver::Outcome::Kind::kExhausted: return "reaches a limit";
  }
  return "";
}

void fail(driver::VerifyRow& row, std::string why) {
  row.ok = false;
  if (row.failed.empty()) row.failed = std::move(why);
}

// Calls `compare` for the index of each tensor of a result, if there are as many as are wanted.
template <class Compare>
void compare_all(driver::VerifyRow& row, const std::vector<Tensor>& got, size_t wanted,
                 const Compare& compare) {
  if (got.size() != wanted) {
    fail(row, cat("gives ", got.size(), " tensors where ", wanted, " are expected"));
    return;
  }
  for (size_t i = 0; i < wanted; ++i) compare(i, analysis::output_name(i, wanted));
}

// The interpreter's outcome against what the file says.
void expect(driver::VerifyRow& row, const CallLine& call, const driver::Outcome& got, const FnType& type,
            const Module& m) {
  const bool gives_value = call.assertion == "==" || call.assertion == "~" || call.assertion == "agrees";
  const auto kind = gives_value                    ? driver::Outcome::Kind::kValue
                    : call.assertion == "exhausts" ? driver::Outcome::Kind::kExhausted
                                                   : driver::Outcome::Kind::kTrap;
  if (got.kind != kind) {
    fail(row, cat(what_it_did(got.kind), got.message.empty() ? "" : cat(" (", got.message, ")"),
                  " where the file says that it ", what_it_did(kind)));
    return;
  }
  if (!gives_value) {
    if (got.message.find(call.message) == std::string::npos)
      fail(row, cat("the message `", got.message, "` lacks `", call.message, "`"));
    return;
  }
  row.result = got.value;
  if (call.assertion == "agrees") return;
  const Value want = value_of(call.expected, type.result, m);
  const std::vector<Tensor> a = passes::tensors_of(got.value), b = passes::tensors_of(want);
  const bool is_exact = call.assertion == "==";
  const double tolerance = call.tolerance > 0 ? call.tolerance : kWrittenDigits;
  compare_all(row, a, b.size(), [&](size_t i, const std::string& name) {
    row.add(compare(a[i], b[i], is_exact ? Bound::exact() : written_bound(b[i], tolerance)), name,
            b[i].shape());
  });
  if (!is_exact) return;
  // Constructors too.
  const std::string is = interp::show(got.value), was = interp::show(want);
  if (row.ok && is != was) fail(row, cat("gives ", is, " where ", was, " is expected"));
}

// What the RUN line says of denormals: `exec --denormals keep`. Throws Malformed for other lines.
std::optional<Denormals> denormals_said(const TestFile& file) {
  if (file.command == "exec") return std::nullopt;
  if (file.command == "exec --denormals keep") return Denormals::kKeep;
  if (file.command == "exec --denormals flush") return Denormals::kFlush;
  throw Malformed(is_exec(file.command)
                      ? cat(file.path, ": `", file.command.substr(5),
                            "`: an exec test has one option, `--denormals keep` or `--denormals flush`")
                      : cat(file.path, ": it is a test of `", file.command, "`, not of `exec`"));
}

}  // namespace

ExecProgram::ExecProgram(const std::string& path, const std::vector<std::string>& libraries,
                         const Operators& operators)
    : path_(path) {
  const TestFile file = read_test_file(path);
  denormals_ = denormals_said(file);
  for (const auto& [name, text] : file.sections) {
    if (name != "input" && name != "calls") throw Malformed(cat(path, ": it has no section `", name, "`"));
  }
  const std::string* input = file.find("input");
  if (!input) throw Malformed(cat(path, ": there is no section `input`"));
  calls_ = call_lines(file);
  if (calls_.empty()) throw Malformed(cat(path, ": there is no call"));
  ParseOptions options;
  context_ = options.into.shared_context();
  Result<Module> parsed = parse(path, *input, diagnostics_, operators, options);
  Result<Module> checked = parsed ? passes::checked(*parsed, diagnostics_) : Result<Module>(kReported);
  if (checked) checked = driver::with_libraries(*checked, "", libraries, diagnostics_);
  if (checked) {
    module_ = *checked;
  } else {
    problem_ = diagnostics_.render(sources());
  }
}

uint64_t ExecProgram::rounds(const CallLine& call) {
  uint64_t most = 1;
  for (const Literal& arg : call.args) most = std::max(most, arg.repeats);
  return most;
}

std::vector<Value> ExecProgram::arguments(const CallLine& call, uint64_t round) const {
  const Fn* fn = module_.function(call.function);
  if (!fn) throw Malformed(cat(path_, ": there is no @", call.function));
  const FnType& type = *fn->type->as<FnType>();
  if (call.args.size() != type.args.size()) {
    throw Malformed(
        cat(path_, ": @", call.function, " takes ", type.args.size(), " arguments, not ", call.args.size()));
  }
  std::vector<Value> out;
  for (size_t i = 0; i < call.args.size(); ++i) {
    Literal arg = call.args[i];
    arg.seed += round * 1000 + i;  // random arguments of one call differ
    out.push_back(value_of(arg, type.args[i], module_));
  }
  return out;
}

driver::Prepared& ExecProgram::prepared(const driver::EngineAt& at, const std::string& function,
                                        const driver::VerifyOptions& options, driver::VerifyRow& row) {
  const std::pair key(row.label(), function);
  auto it = prepared_.find(key);
  if (it == prepared_.end()) {
    const Stopwatch watch;
    it = prepared_.emplace(key, prepare_(at, function, options.at(at.level))).first;
    row.prepare_seconds = watch.seconds();
  }
  row.prepare(it->second);
  return it->second;
}

driver::VerifyOptions ExecProgram::as_said(driver::VerifyOptions options) const {
  options.denormals = denormals_.value_or(options.denormals);
  return options;
}

std::vector<driver::VerifyRow> ExecProgram::run(const CallLine& call, const driver::VerifyOptions& given) {
  const driver::VerifyOptions options = as_said(given);
  if (!problem_.empty()) {
    driver::VerifyRow row{.engine = "check"};
    if (call.assertion != "rejected") {
      fail(row, problem_);
    } else if (problem_.find(call.message) == std::string::npos) {
      fail(row, cat("the message `", problem_, "` lacks `", call.message, "`"));
    }
    return {row};
  }
  std::vector<driver::EngineAt> others;
  for (const driver::EngineAt& at : driver::engines_at(options)) {
    if (at.engine->name != "interp") others.push_back(at);
  }
  std::vector<driver::VerifyRow> rows{{.engine = "interp"}};
  for (const driver::EngineAt& at : others) rows.push_back(driver::row_of(at));

  const uint64_t count = rounds(call);
  for (uint64_t round = 0; round < count; ++round) {
    const std::vector<Value> args = arguments(call, round);
    const FnType& type = *module_.function(call.function)->type->as<FnType>();
    Stopwatch watch;
    const driver::Outcome want = driver::outcome_of([&] {
      Value result = interp::Machine(module_).call(call.function, args);
      driver::compare_result(module_, call.function, args, result);
      return result;
    });
    rows[0].seconds = watch.seconds();
    expect(rows[0], call, want, type, module_);
    if (!rows[0].ok) return {rows[0]};  // engines cannot be compared with what is wrong

    std::optional<driver::Wanted> wanted;  // as soon as somebody needs it
    for (size_t i = 0; i < others.size(); ++i) {
      driver::VerifyRow& row = rows[i + 1];
      driver::Prepared& p = prepared(others[i], call.function, options, row);
      if (!p.run || !row.ok) continue;
      watch = Stopwatch();
      const driver::Outcome got = p.run(args);
      row.seconds = watch.seconds();
      row.interpreted_calls += got.interpreted_calls;
      if (got.kind != want.kind) {
        fail(row, cat(what_it_did(got.kind), got.message.empty() ? "" : cat(" (", got.message, ")"),
                      " where the interpreter ", what_it_did(want.kind)));
        continue;
      }
      if (want.kind == driver::Outcome::Kind::kTrap && reason_of(got.message) != reason_of(want.message))
        fail(row, cat("traps with the message `", got.message, "` where the interpreter says `", want.message,
                      "`"));
      if (want.kind != driver::Outcome::Kind::kValue) continue;
      if (!wanted) wanted = driver::wanted_of(module_, call.function, args, want.value, options.denormals);
      const std::vector<Tensor> tensors = passes::tensors_of(got.value);
      compare_all(row, tensors, wanted->own.size(),
                  [&](size_t k, const std::string& name) { row.add(*wanted, k, tensors[k], name); });
      row.result = got.value;
    }
  }
  return rows;
}

}  // namespace relay::tools
