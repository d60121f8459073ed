// Every operator that has a gradient, by a rule or by its kernel: against central differences, at
// the calls of its exec test.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/failure.h"
#include "interp/machine.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/testing.h"
#include "passes/gradient/kernels.h"
#include "passes/reference.h"
#include "passes/runner.h"
#include "tools/test_files/test_file.h"
#include "tools/verify/exec_program.h"
#include "tools/verify/recorded_calls.h"

namespace relay::tests {
namespace {

constexpr int64_t kMostElements = 256;  // each costs four evaluations
constexpr int kCallsEnough = 6;
constexpr double kTolerance = 1e-5;

// Exec tests like equal numbers, whole ones and the ends of domains, where there is no gradient.
enum class Away : uint8_t {
  kUp,    // from kinks
  kZero,  // from kinks, and into domains like [-1, 1]
};

Value moved(const Value& v, Away away, uint64_t seed) {
  if (!v.is_tensor()) {
    std::vector<Value> fields;
    for (const Value& f : v.fields()) fields.push_back(moved(f, away, ++seed));
    return Value::tuple(std::move(fields));
  }
  if (!v.tensor().dtype().is_float()) return v;
  const Tensor noise = op::testing::random(kFloat64, v.tensor().shape(), seed, 0.01, 0.03);
  Tensor t = v.tensor().copy();
  for (int64_t i = 0; i < t.size(); ++i) {
    const double x = std::isfinite(t.get(i)) ? t.get(i) : 0.75, by = noise.get(i);
    t.set(i, away == Away::kUp ? x + by * (1 + std::fabs(x)) : x * (1 - 2 * by) + by / 2);
  }
  return Value(t);
}

std::vector<Value> moved(const std::vector<Value>& args, Away away) {
  std::vector<Value> out;
  for (const Value& v : args) out.push_back(moved(v, away, out.size() + 1));
  return out;
}

// The elements of all floats, which are float64; nothing if there are others, or none.
std::optional<int64_t> wide_elements(const std::vector<Value>& values) {
  std::optional<int64_t> elements;
  for (const Tensor& t : op::flatten(values)) {
    if (!t.dtype().is_float()) continue;
    if (t.dtype() != kFloat64) return std::nullopt;
    elements = elements.value_or(0) + t.size();
  }
  return elements;
}

bool is_small_and_wide(const std::vector<Value>& args) {
  const int64_t elements = wide_elements(args).value_or(0);
  return elements > 0 && elements <= kMostElements;
}

// Calls for which the rule is not meant.
bool is_exempt(const tools::RecordedCall& c) {
  if (c.op->name == "stop_gradient") return true;  // it says that there is none
  if (!c.op->name.starts_with("scatter")) return false;
  const AttrValue* given = c.attrs.find("mode");
  const std::string mode(given ? given->string.text() : "update");
  if (mode == "min" || mode == "max" || mode == "mul") return true;  // it refuses
  // For "update" it takes the places to be distinct. The exec test of scatter_nd repeats one.
  const Tensor& places = c.runs[0].args[1].tensor();
  return mode == "update" && c.op->name == "scatter_nd" && places.size() == 2 &&
         places.get_int(0) == places.get_int(1);
}

// How many elements of the call were compared.
int64_t compare(const Module& m, const tools::RecordedCall& c, const std::string& where) {
  for (const Away away : {Away::kUp, Away::kZero}) {
    const std::vector<Value> at = moved(c.runs[0].args, away);
    try {
      const Value result = op::evaluate(m.context(), *c.op, at, c.attrs);
      if (!wide_elements({result})) return 0;  // without elements it has a gradient, too
      const op::testing::GradientCheck found =
          op::testing::compare_gradient(m.context(), *c.op, at, c.attrs, kTolerance);
      EXPECT_EQ(found.wrong, "") << where;
      if (found.compared > 0) return found.compared;
    } catch (const op::RelationError& wrong) {
      ADD_FAILURE() << where << " the rule makes a wrong call: " << wrong.reason;
    } catch (const Trap&) {       // moved out of the domain,
    } catch (const Exhausted&) {  // or where the result is huge
    }
  }
  return 0;
}

// A module of one function, which gives the squares of what the call gives: their adjoints differ.
Module squares_of(const Module& m, const tools::RecordedCall& c, const std::vector<Value>& args) {
  Module out = m;
  for (const auto& [name, fn] : m.functions()) out.remove_function(name.text());
  Builder b(m.context());
  std::vector<const Var*> params;
  for (const Value& v : args) params.push_back(b.var("x", op::type_of(m.context(), v)));
  const Expr y = b.call(b.op(*c.op), std::vector<Expr>(params.begin(), params.end()), c.attrs);
  const Var* named = b.var("y");
  out.set_function("main", b.fn(params, b.let(named, y, b.call(b.op(op::kMultiply), {named, named}))));
  return out;
}

double sum_of_floats(const Value& v) {
  double sum = 0;
  for (const Tensor& t : op::flatten(std::vector<Value>{v})) {
    for (int64_t i = 0; t.dtype().is_float() && i < t.size(); ++i) sum += t.get(i);
  }
  return sum;
}

// The same of operators whose gradient comes from their kernel.
int64_t compare_by_kernel(const Module& m, const tools::RecordedCall& c, const std::string& where) {
  const std::vector<Value> at = moved(c.runs[0].args, Away::kUp);
  const Module plain = squares_of(m, c, at);
  Diagnostics diagnostics;
  const Result<Module> gradient = passes::run_pipeline(plain, "gradient", {}, diagnostics);
  EXPECT_TRUE(gradient) << where << diagnostics.render(m.context().sources());
  if (!gradient) return 0;
  int64_t compared = 0;
  try {
    const Value both = interp::Machine(*gradient).call("main", at);
    const auto value = [&](const std::vector<Value>& args) {
      return sum_of_floats(interp::Machine(plain).call("main", args));
    };
    for (size_t a = 0; a < at.size(); ++a) {
      if (!at[a].tensor().dtype().is_float()) continue;
      const Tensor found = both.fields()[1].fields()[a].tensor();
      for (int64_t i = 0; i < found.size(); ++i) {
        const auto slope = [&](double step) {
          double ends[2];
          for (const int side : {0, 1}) {
            std::vector<Value> args = at;
            Tensor t = at[a].tensor().copy();
            t.set(i, t.get(i) + (side == 0 ? -step : step));
            args[a] = Value(t);
            ends[side] = value(args);
          }
          return (ends[1] - ends[0]) / (2 * step);
        };
        const double numeric = slope(1e-5), allowed = kTolerance * (1 + std::fabs(numeric));
        if (!(std::fabs(numeric - slope(4e-6)) <= allowed / 2)) continue;
        ++compared;
        EXPECT_NEAR(found.get(i), numeric, allowed) << where << " argument " << a << " element " << i;
      }
    }
  } catch (const Trap&) {  // moved out of the domain
  } catch (const Exhausted&) {
  }
  return compared;
}

TEST(Ops, GradientsAreThoseOfDifferences) {
  std::map<std::string, int> checked;
  for (const std::string& path : tools::test_files_beneath("tests/exec/op")) {
    const tools::ExecProgram program(path);
    if (!program.problem().empty()) continue;
    const Module wide = passes::widened(program.module());
    for (const std::string& line : program.calls()) {
      const tools::CallLine call = tools::parse_call(line);
      if (call.assertion == "rejected") continue;
      std::vector<Value> args;
      for (const Value& v : program.arguments(call, 0)) args.push_back(passes::widened(v, wide));
      for (const tools::RecordedCall& c : tools::record_calls(wide, call.function, args).calls) {
        const bool by_kernel = c.op && passes::gradient::has_gradient_by_kernel(*c.op);
        if (!c.op || (!c.op->differentiate && !by_kernel)) continue;
        int& count = checked[c.op->name];
        if (count >= kCallsEnough || is_exempt(c) || !is_small_and_wide(c.runs[0].args)) continue;
        const std::string where = path + ": " + line + ": `" + c.op->name + "`";
        count += (by_kernel ? compare_by_kernel : compare)(wide, c, where) > 0 ? 1 : 0;
      }
    }
  }
  // Results that are no floats, and a rounding that hides the difference.
  const std::set<std::string> nothing_to_compare{
      "cast",     "iota",         "ndarray_size", "random.threefry_generate", "random.threefry_split",
      "shape_of", "stop_gradient"};
  for (const op::OpDef* op : op::all_ops()) {
    if (op->differentiate || passes::gradient::has_gradient_by_kernel(*op)) {
      EXPECT_EQ(checked[op->name] == 0, nothing_to_compare.contains(op->name)) << op->name;
    }
  }
}

}  // namespace
}  // namespace relay::tests
