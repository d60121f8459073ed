// Partitioning keeps the meaning: the functions inlined again give the program there was, and with
// or without them the interpreter gives the same bits. On random programs with branches, lets,
// shared expressions and cells.
#include "pattern/partition.h"

#include <gtest/gtest.h>

#include <random>

#include "base/cat.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/operators.h"
#include "op/ops.h"
#include "pattern/text.h"
#include "runtime/value.h"
#include "typecheck/check.h"

namespace relay::pattern {
namespace {

const char* const kPatterns[] = {
    "nn.relu(add(_, _))",
    "add(multiply(_, _), _)",
    "(nn.relu | negative)(_)",
    "multiply(_, const)",
    "_[fusion=\"broadcast\"](%a, %a)",
    "_[fusion=\"elementwise\"](_) | _[fusion=\"broadcast\"](_, _)",
    "dominates(add(_, _), _, multiply(_, _))",
    "dominates(_, _[fusion=\"elementwise\"](_), subtract(_, _))",
    "if (_) { nn.relu(_) | _ } else { _ }",
    "if (_) { _ } else { add(_, _) }",
    "let %v = _; (nn.relu | negative)(_) | add(%v, _)",
    "let %v = _(...); _(...)",
    "(_, _).0",
    "(...)._",
    "fn (%p) { add(%p, _) }(_)",
    "fn (...) { _ }",
    "add(_, fn (...) { _ }(_))",
    "_",
};

class Maker {
 public:
  Maker(uint64_t seed, Module& m) : engine_(seed), m_(m), b_(m.context()) {
    type_ = m.context().tensor_type(Shape{2}, kFloat32);
  }

  void make_main() {
    const Var *x = b_.var("x", type_), *y = b_.var("y", type_),
              *c = b_.var("c", m_.context().scalar_type(kBool));
    truth_ = c;
    const Var* cell = b_.var("cell");
    cell_ = cell;
    std::vector<Expr> made{x, y, b_.constant(Tensor::of<float>(kFloat32, {2}, std::vector<float>{2, -3}))};
    const Expr body = b_.let(cell, b_.ref_new(x), b_.tuple({grow(made, 12, 2), b_.ref_read(cell)}));
    const std::vector<const Var*> params{x, y, c};
    m_.set_function("main", b_.fn(params, body));
  }

 private:
  size_t below(size_t n) { return engine_() % n; }

  // Something over variables only, or more: regions may hold the first kind only.
  Expr scope(const std::vector<Expr>& made, const Var* own, size_t depth) {
    const auto variable = [&]() -> Expr { return own && below(2) == 0 ? own : made[below(2)]; };
    switch (below(4)) {
      case 0: return variable();
      case 1: return b_.call(b_.op(op::kRelu), {variable()});
      case 2: return b_.call(b_.op(op::kAdd), {variable(), variable()});
      default: break;
    }
    std::vector<Expr> inside = made;
    if (own) inside.push_back(own);
    return grow(std::move(inside), 1 + below(4), depth);
  }

  // Adds `size` expressions to those that are in scope; the last one.
  Expr grow(std::vector<Expr> made, size_t size, size_t depth) {
    for (size_t i = 0; i < size; ++i) {
      const auto pick = [&] { return made[made.size() - 1 - below(std::min<size_t>(made.size(), 5))]; };
      const size_t kind = below(depth > 0 ? 16 : 10);
      if (kind < 3) {
        made.push_back(b_.call(b_.op(kind == 0 ? op::kNegative : op::kRelu), {pick()}));
      } else if (kind < 7) {
        const op::OpDef* ops[] = {&op::kAdd, &op::kAdd, &op::kMultiply, &op::kSubtract};
        made.push_back(b_.call(b_.op(*ops[kind - 3]), {pick(), pick()}));
      } else if (kind == 7) {
        made.push_back(b_.proj(b_.tuple({pick(), pick()}), static_cast<uint32_t>(below(2))));
      } else if (kind == 8) {
        made.push_back(b_.ref_read(b_.ref_new(pick())));
      } else if (kind == 9) {
        // Writing gives nothing, so it is paired with what does.
        const Expr effect = below(2) ? b_.ref_write(cell_, pick()) : pick();
        made.push_back(b_.proj(b_.tuple({effect, b_.ref_read(cell_)}), 1));
      } else if (kind == 10 || kind == 11) {
        const Expr then_branch = scope(made, nullptr, depth - 1);
        made.push_back(b_.if_(truth_, then_branch, scope(made, nullptr, depth - 1)));
      } else if (kind == 12 || kind == 13) {
        const Var* p = b_.var("p", type_);
        const std::vector<const Var*> params{p};
        made.push_back(b_.call(b_.fn(params, scope(made, p, depth - 1)), {pick()}));
      } else {
        const Var* v = b_.var("v", type_);
        made.push_back(b_.let(v, pick(), scope(made, v, depth - 1)));
      }
    }
    return made.back();
  }

  std::mt19937_64 engine_;
  Module& m_;
  Builder b_;
  Type type_;
  Expr truth_ = nullptr;
  Expr cell_ = nullptr;  // that all of the program shares
};

Module inlined(const Module& m) {
  return relay::rewrite(m, [&](Builder& b, Expr e) -> Expr {
    const auto* call = e->as<Call>();
    const auto* fn = call ? call->callee->as<Fn>() : nullptr;
    if (!fn || !fn->attrs.find(kPartitionedFromPattern)) return e;
    std::unordered_map<const Var*, Expr> by;
    for (size_t i = 0; i < fn->params.size(); ++i) by[fn->params[i]] = call->args[i];
    return substitute(b.context(), fn->body, by);
  });
}

size_t functions_in(const Module& m) {
  size_t n = 0;
  for (Expr e : post_order(m.function("main"))) {
    n += e->as<Fn>() && e->as<Fn>()->attrs.find(kPartitionedFromPattern);
  }
  return n;
}

std::string run(const Module& m, bool truth) {
  Tensor c(kBool, {});
  c.set_int(0, truth);
  const auto vector = [](float a, float b) {
    return Value(Tensor::of<float>(kFloat32, {2}, std::vector<float>{a, b}));
  };
  return interp::show(interp::Machine(m).call("main", {vector(1, -2), vector(3, 0.5f), Value(c)}));
}

TEST(Partition, KeepsTheMeaning) {
  std::map<std::string, size_t> made;
  for (uint64_t seed = 1; seed <= 1000; ++seed) {
    Module written;
    Maker(seed, written).make_main();
    Diagnostics diagnostics;
    const Result<Module> checked = typecheck::check(written, diagnostics);
    ASSERT_TRUE(checked.ok()) << diagnostics.render(written.context().sources());
    const Module& m = *checked;
    const std::string answers[] = {run(m, false), run(m, true)};
    for (const char* text : kPatterns) {
      SCOPED_TRACE(cat("seed ", seed, ": ", text));
      const Result<Pattern> p = parse("pattern", text, diagnostics);
      ASSERT_TRUE(p.ok());
      const Module now = partition(m, *p, {.attrs = {{"Composite", std::string("c")}}});
      made[text] += functions_in(now);
      EXPECT_EQ(now.same(m), functions_in(now) == 0);
      const std::vector<std::string> problems = well_formed(now);
      ASSERT_TRUE(problems.empty()) << problems[0] << "\n" << op::text_of(now);
      const Result<Module> again = typecheck::check(now, diagnostics);
      ASSERT_TRUE(again.ok()) << diagnostics.render(m.context().sources()) << op::text_of(now);
      EXPECT_TRUE(again->same(now)) << "types are missing or wrong\n" << op::text_of(now);
      ASSERT_TRUE(alpha_equal(inlined(now), m)) << op::text_of(m) << op::text_of(now);
      EXPECT_EQ(run(now, false), answers[0]);
      EXPECT_EQ(run(now, true), answers[1]);
    }
  }
  for (const char* text : kPatterns) EXPECT_GT(made[text], 5u) << text << " was hardly ever found";
}

}  // namespace
}  // namespace relay::pattern
