// Every operator that has a gradient rule: the rule against central differences, at the calls
// of its exec test.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "base/failure.h"
#include "op/registry.h"
#include "op/testing.h"
#include "passes/reference.h"
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
        if (!c.op || !c.op->differentiate) continue;
        int& count = checked[c.op->name];
        if (count >= kCallsEnough || is_exempt(c) || !is_small_and_wide(c.runs[0].args)) continue;
        count += compare(wide, c, path + ": " + line + ": `" + c.op->name + "`") > 0 ? 1 : 0;
      }
    }
  }
  // Results that are no floats, and a rounding that hides the difference.
  const std::set<std::string> nothing_to_compare{
      "cast",     "iota",         "ndarray_size", "random.threefry_generate", "random.threefry_split",
      "shape_of", "stop_gradient"};
  for (const op::OpDef* op : op::all_ops()) {
    if (op->differentiate) {
      EXPECT_EQ(checked[op->name] == 0, nothing_to_compare.contains(op->name)) << op->name;
    }
  }
}

}  // namespace
}  // namespace relay::tests
