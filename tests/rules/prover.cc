#include "tests/rules/prover.h"

#include "base/cat.h"
#include "passes/rules/conditions.h"
#include "tests/rules/elements.h"

namespace relay::passes::rules::testing {
namespace {

// For one proof, in the solver's own steps: the same on every machine, however busy. The rules need
// less than a tenth of it.
constexpr unsigned kMostSteps = 20'000'000;

// What a condition says of each element of a constant; null if it is about something else.
Elements::Fact fact_of(const Use& use) {
  if (use.name == "all") {
    const double number = use.operands[1].number;
    return [number](const z3::expr& x, DType d) {
      z3::context& z = x.ctx();
      if (d.is_bool()) return number != 0 ? x : !x;
      if (!d.is_int()) throw Outside("a number of floating point");
      return x == z.bv_val(static_cast<int64_t>(number), d.bits);
    };
  }
  if (use.name == "all_bits") {
    return [](const z3::expr& x, DType d) { return x == x.ctx().bv_val(-1, d.bits); };
  }
  return nullptr;
}

bool reads_value(const Template& t, const std::string& part) {
  for (const NewAttribute& a : t.attrs) {
    const Use* use = std::get_if<Use>(&a.value);
    if (!use || use->name != "number") continue;
    for (const Operand& operand : use->operands) {
      if (operand.part == part) return true;
    }
  }
  for (const Template& child : t.children) {
    if (reads_value(child, part)) return true;
  }
  return false;
}

// Constants of the match become any constants of which the conditions hold. One of which a
// condition says what has no formula stays the number that it is.
void generalise(const Instance& i, Elements& elements) {
  pattern::LocalMatch match;
  i.rule->left.match(
      i.left, [](Expr) { return true; },
      [&](const pattern::LocalMatch& m) {
        for (const Use& condition : i.rule->conditions) {
          if (!holds(condition, m)) return false;
        }
        match = m;
        return true;
      });
  for (const auto& [part, e] : match.bindings()) {
    if (part->name.empty() || !e->as<Constant>() || reads_value(i.rule->right, part->name)) continue;
    if (tensor_of(e)->dtype.is_float()) continue;
    std::vector<Elements::Fact> facts;
    for (const Use& condition : i.rule->conditions) {
      const bool about = !condition.operands.empty() && condition.operands[0].part == part->name;
      if (about && fact_of(condition)) facts.push_back(fact_of(condition));
    }
    elements.any_constant(e, std::move(facts));
  }
}

}  // namespace

Proof prove(const Instance& i, const Module& right) {
  z3::context z;
  z3::solver solver(z, z3::solver::simple());
  z3::params params(z);
  params.set("rlimit", kMostSteps);
  solver.set(params);
  try {
    Elements elements(z);
    generalise(i, elements);
    const TensorType& type = *tensor_of(i.left);
    Index index;
    for (size_t axis = 0; axis < type.rank(); ++axis) {
      index.push_back(z.int_const(cat("index", axis).c_str()));
      solver.add(index.back() >= 0 && index.back() < elements.extent(type.dims[axis]));
    }
    const z3::expr a = elements.at(i.left, index), a_runs = elements.runs();
    const z3::expr b = elements.at(right.function("main")->body, index), b_runs = elements.runs();
    for (const z3::expr& fact : elements.known()) solver.add(fact);
    // Without this an impossible assumption would prove everything.
    if (solver.check() == z3::unsat) return {Proof::Kind::kUnknown, "the conditions contradict each other"};
    solver.add(!(a_runs == b_runs && (!a_runs || a == b)));
    const z3::check_result answer = solver.check();
    const z3::stats stats = solver.statistics();
    unsigned steps = 0;
    for (unsigned n = 0; n < stats.size(); ++n) {
      if (stats.key(n) == "rlimit count" && stats.is_uint(n)) steps = stats.uint_value(n);
    }
    switch (answer) {
      case z3::unsat: return {Proof::Kind::kProved, "", steps};
      case z3::sat: return {Proof::Kind::kRefuted, cat("counter-example:\n", solver.get_model().to_string())};
      case z3::unknown: return {Proof::Kind::kUnknown, solver.reason_unknown()};
    }
  } catch (const Outside& what) {
    return {Proof::Kind::kOutside, what.what()};
  } catch (const z3::exception& e) {
    return {Proof::Kind::kUnknown, e.msg()};
  }
  return {};
}

}  // namespace relay::passes::rules::testing
