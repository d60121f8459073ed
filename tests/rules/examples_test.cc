// Every rule on its examples: it applies where it says so, and both sides agree on random and on
// extreme numbers; it does not apply where exactly the condition that an example names is broken.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <set>

#include "base/cat.h"
#include "base/failure.h"
#include "interp/machine.h"
#include "ir/traverse.h"
#include "op/operators.h"
#include "passes/rules/conditions.h"
#include "runtime/compare.h"
#include "tests/rules/instances.h"

namespace relay::passes::rules::testing {
namespace {

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = all_rules();
  return all;
}

// --- inputs --------------------------------------------------------------------------------------

enum class Fill : uint8_t { kSmall, kSpread, kExtreme };

double number(std::mt19937_64& random, DType d, Fill fill) {
  const auto pick = [&](uint64_t n) { return random() % n; };
  const double sign = pick(2) ? 1 : -1;
  if (fill == Fill::kSmall) return static_cast<double>(pick(9)) - 4;
  if (fill == Fill::kSpread || !d.is_float()) {
    return sign *
           std::ldexp(1 + static_cast<double>(pick(1 << 20)) / (1 << 20), static_cast<int>(pick(8)) - 4);
  }
  const double most = d == kFloat16 ? 65504 : d == kFloat64 ? 1.7976931348623157e308 : 3.3e38;
  const double least = d == kFloat16 ? 5.96e-8 : d == kFloat64 ? 4.94e-324 : 1e-40;
  const double numbers[] = {0.0, 1.0, 0.5, 2.5, most, least, INFINITY, NAN, most / 2, std::sqrt(most)};
  return sign * numbers[pick(std::size(numbers))];
}

Tensor tensor(std::mt19937_64& random, DType d, Shape shape, Fill fill) {
  Tensor t(d, std::move(shape));
  for (int64_t i = 0; i < t.size(); ++i) {
    if (d.is_float()) {
      t.set(i, number(random, d, fill));
    } else if (fill == Fill::kSmall) {
      t.set_int(i, static_cast<int64_t>(number(random, d, fill)));
    } else {
      const bool edge = random() % 3 == 0;
      t.set_int(i, edge ? static_cast<int64_t>(random() % 2 ? INT64_MIN >> (64 - d.bits) : -1)
                        : static_cast<int64_t>(random()));
    }
  }
  return t;
}

// Arguments for @main, with one extent for each shape variable.
std::vector<Value> arguments(std::mt19937_64& random, const Module& m, Fill fill) {
  std::map<std::string, int64_t> extents;
  std::vector<Value> out;
  for (const Var* p : m.function("main")->params) {
    const auto& type = *p->type->as<TensorType>();
    Shape shape;
    for (Dim d : type.dims) {
      if (d.is_const()) {
        shape.push_back(d.value());
      } else {
        const auto [at, fresh] = extents.emplace(show(d), 0);
        if (fresh) at->second = static_cast<int64_t>(random() % 5);
        shape.push_back(at->second);
      }
    }
    out.push_back(tensor(random, type.dtype, std::move(shape), fill));
  }
  return out;
}

// --- comparison ----------------------------------------------------------------------------------

struct Answer {
  std::optional<Value> value;
  std::string trap;
};

Answer run(const Module& m, const std::vector<Value>& args) {
  try {
    return {interp::Machine(m).call("main", args), ""};
  } catch (const Trap& trap) {
    return {std::nullopt, trap.what()};
  }
}

// The largest magnitude of a finite number among the arguments, the constants and both answers.
double magnitude(const Instance& i, const std::vector<Value>& args, const Tensor& a, const Tensor& b) {
  double most = 0;
  const auto look = [&](const Tensor& t) {
    for (double v : t.doubles()) {
      if (std::isfinite(v)) most = std::max(most, std::abs(v));
    }
  };
  for (const Value& v : args) look(v.tensor());
  for (Expr e : post_order(i.left)) {
    if (const auto* c = e->as<Constant>()) look(*c->value);
  }
  look(a);
  look(b);
  return most;
}

bool all_finite(const Tensor& t) {
  for (double v : t.doubles()) {
    if (!std::isfinite(v)) return false;
  }
  return true;
}

// Is each number finite that the left side is computed from: the arguments, the constants, and what
// its parts give? Then a bounded rule promises a finite result, with an error of at most `bound`
// units in the last place of the largest number around. Else it promises nothing (docs/rules.md).
bool all_finite_on_the_way(const Instance& i, const std::vector<Value>& args) {
  std::vector<Expr> parts;
  for (Expr e : post_order(i.left)) {
    if (e->type && e->type->as<TensorType>()) parts.push_back(e);
  }
  Module m = i.module;
  const Fn* fn = m.function("main");
  Builder b(m.context());
  const std::vector<const Var*> params(fn->params.begin(), fn->params.end());
  m.set_function("main", b.fn(params, b.tuple(parts)));
  const Value all = interp::Machine(m).call("main", args);
  for (const Value& part : all.fields()) {
    if (part.tensor().dtype().is_float() && !all_finite(part.tensor())) return false;
  }
  return true;
}

void expect_agreement(const Instance& i, const Module& right, const std::vector<Value>& args) {
  const Answer want = run(i.module, args), got = run(right, args);
  std::string inputs;
  for (const Value& v : args) inputs += cat("\n  ", show(v.tensor()));
  ASSERT_EQ(got.trap, want.trap) << i.rule->name << ": " << i.text << inputs;
  if (!want.value || !want.value->is_tensor()) return;
  const Tensor &a = want.value->tensor(), &b = got.value->tensor();
  ASSERT_EQ(a.shape(), b.shape()) << i.rule->name;
  Comparison c;
  if (i.rule->kind != Class::kBounded || !a.dtype().is_float()) {
    c = compare_exact(b, a);
  } else {
    if (!all_finite_on_the_way(i, args)) return;
    const double allowed = i.rule->bound * spacing(a.dtype(), magnitude(i, args, a, b));
    c = compare(b, a, [&](int64_t) { return allowed; });
  }
  ASSERT_TRUE(c.ok) << i.rule->name << ": " << i.text << inputs << "\nbecomes " << op::text_of(right) << "\n"
                    << show(c, a.shape()) << " " << c.reason << "\nwanted " << show(a) << "\ngot " << show(b);
}

// --- tests ---------------------------------------------------------------------------------------

TEST(Rules, ThereAreMany) {
  EXPECT_GE(rules().size(), 100u);
  std::set<std::string> names;
  for (const Rule& rule : rules()) EXPECT_TRUE(names.insert(rule.name).second) << rule.name << " twice";
}

TEST(Rules, BothSidesAgree) {
  std::mt19937_64 random(7);
  for (const Rule& rule : rules()) {
    size_t applications = 0;
    for (const Example& example : rule.examples) {
      if (!example.broken.empty()) continue;
      for (const Instance& i : instances_of(rule, example)) {
        for (const bool fold : {false, true}) {
          const std::optional<Module> right = applied(i, fold);
          if (!right) {
            const auto why = Application(i.module, {}).broken(rule, i.left);
            ADD_FAILURE() << rule.name << " does not apply to " << i.text << ": "
                          << (why ? join(*why, ", ", [](const auto& w) { return w; })
                                  : "the pattern does not match");
            break;
          }
          ++applications;
          for (const Fill fill : {Fill::kSmall, Fill::kSpread, Fill::kExtreme}) {
            for (int repeat = 0; repeat < 4; ++repeat) {
              expect_agreement(i, *right, arguments(random, i.module, fill));
            }
          }
        }
      }
    }
    EXPECT_GT(applications, 0u) << rule.name << " has no example to which it applies";
  }
}

// The engine asks less than the pattern of most rules before it matches them: it must not lose one.
TEST(Rules, TheEngineFindsEachRule) {
  for (const Rule& rule : rules()) {
    for (const Example& example : rule.examples) {
      if (!example.broken.empty()) continue;
      for (const Instance& i : instances_of(rule, example)) {
        Report report;
        simplify(i.module, std::span(&rule, 1), {.bounded = true}, report);
        EXPECT_GE(report.applied[rule.name], 1u) << rule.name << ": " << i.text;
      }
    }
  }
}

// Each condition has an example in which it is the only one that does not hold.
TEST(Rules, EveryConditionIsNeeded) {
  for (const Rule& rule : rules()) {
    std::set<std::string> missing;
    for (const Use& condition : rule.conditions) missing.insert(condition.name);
    for (const Example& example : rule.examples) {
      if (example.broken.empty()) continue;
      missing.erase(example.broken);
      for (const Instance& i : instances_of(rule, example)) {
        EXPECT_FALSE(applied(i, true)) << rule.name << " applies to " << i.text;
        const auto broken = Application(i.module, {}).broken(rule, i.left);
        if (example.broken == "pattern") {
          EXPECT_FALSE(broken) << rule.name << " matches " << i.text;
          continue;
        }
        ASSERT_TRUE(broken) << rule.name << " does not match " << i.text;
        EXPECT_EQ(*broken, std::vector{example.broken}) << rule.name << ": " << i.text;
      }
    }
    EXPECT_TRUE(missing.empty()) << rule.name << " has no example that breaks `" << *missing.begin()
                                 << "` alone";
  }
}

TEST(Rules, EveryConditionIsUsed) {
  std::set<std::string_view> used;
  for (const Rule& rule : rules()) {
    for (const Use& condition : rule.conditions) used.insert(condition.name);
  }
  for (const Condition& c : all_conditions()) EXPECT_TRUE(used.contains(c.name)) << c.name;
}

}  // namespace
}  // namespace relay::passes::rules::testing
