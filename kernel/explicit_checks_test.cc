#include "kernel/explicit_checks.h"

#include <gtest/gtest.h>

#include "base/failure.h"
#include "base/failure_names.h"
#include "kernel/builder.h"
#include "kernel/execute.h"
#include "kernel/statements.h"
#include "kernel/validate.h"

namespace relay::kernel {
namespace {

class ExplicitChecks : public testing::Test {
 protected:
  // z[i] = f(x, y, i), of `n` elements.
  template <class F>
  Kernel kernel(DType d, const F& f) {
    const Expr n = pool_.shape_variable("n"), m = pool_.shape_variable("m");
    const Tensor x = k_.input("x", d, {m}), y = k_.input("y", kInt64, {n});
    return k_.finish("pick", "", {k_.compute("z", d, {n}, [&](Indices i) { return f(x, y, i); })});
  }
  static std::vector<std::string> messages(const Kernel& k) {
    std::vector<std::string> out;
    visit(k.body, [&](Stmt s) {
      if (const auto* r = s->as<Require>()) out.push_back(r->message.str());
    });
    return out;
  }
  // The kernel with its checks, which has none to add a second time.
  Kernel checked(const Kernel& k) {
    const Kernel once = with_explicit_checks(k), twice = with_explicit_checks(once);
    EXPECT_EQ(twice.body, once.body) << show(once) << "\n" << show(twice);
    EXPECT_TRUE(validate(once).empty()) << show(once);
    return once;
  }
  static ::relay::Tensor whole(DType d, const std::vector<int64_t>& values) {
    ::relay::Tensor t(d, {static_cast<int64_t>(values.size())});
    for (size_t i = 0; i < values.size(); ++i) t.set_int(static_cast<int64_t>(i), values[i]);
    return t;
  }
  static std::string trap(const Kernel& k, const ::relay::Tensor& x, const ::relay::Tensor& y) {
    try {
      (void)execute(k, std::vector<::relay::Tensor>{x, y});
    } catch (const Trap& t) {
      return t.what();
    }
    return "none";
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Builder k_{pool_};
};

TEST_F(ExplicitChecks, WhatIsProvedStaysAsItIs) {
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("x", kFloat32, {n * 2}), table = k_.input("table", kFloat32, {k_.index(256)}),
               y = k_.input("y", kUInt8, {n});
  const Kernel k = k_.finish("k", "", {k_.compute("z", kFloat32, {n}, [&](Indices i) {
                               const Expr odd = x(i[0] * 2 + 1);
                               const Expr before = select(less(k_.index(0), i[0]), x(i[0] - 1), odd);
                               return before + table(cast(kInt64, y(i[0])));
                             })});
  EXPECT_EQ(with_explicit_checks(k).body, k.body) << show(with_explicit_checks(k));
}

TEST_F(ExplicitChecks, AnIndexThatIsLoaded) {
  const Kernel k = checked(kernel(kFloat32, [](auto& x, auto& y, Indices i) { return x(y(i[0])); }));
  const std::string message =
      "kernel `@pick`: `y[vi0]` is out of range of dim 0 of `x`, which has extent `m`";
  EXPECT_EQ(messages(k), std::vector<std::string>{message});
  EXPECT_EQ(trap(k, whole(kFloat32, {1, 2}), whole(kInt64, {1, 0})), "none");
  EXPECT_EQ(trap(k, whole(kFloat32, {1, 2}), whole(kInt64, {1, 2})), message);
  EXPECT_EQ(trap(k, whole(kFloat32, {1, 2}), whole(kInt64, {-1, 1})), message);
}

// What a selection keeps from being evaluated is not required; its condition is.
TEST_F(ExplicitChecks, OnlyTheSideThatIsChosen) {
  const Kernel k = checked(kernel(kInt64, [&](auto& x, auto& y, Indices i) {
    const Expr at = y(i[0]);
    return select(less(x(at), k_.index(5)), floor_div(k_.index(60), x(at)), x(at + 1));
  }));
  EXPECT_EQ(messages(k).size(), 3u) << show(k);
  const ::relay::Tensor x = whole(kInt64, {7, 0, 3, 9});
  EXPECT_EQ(trap(k, x, whole(kInt64, {0, 2})), "none");
  EXPECT_EQ(trap(k, x, whole(kInt64, {4})),
            "kernel `@pick`: `y[vi0]` is out of range of dim 0 of `x`, which has extent `m`");
  EXPECT_EQ(trap(k, x, whole(kInt64, {1})), "kernel `@pick`: integer division by zero in `60 // x[y[vi0]]`");
  EXPECT_EQ(trap(k, x, whole(kInt64, {3})),
            "kernel `@pick`: `y[vi0] + 1` is out of range of dim 0 of `x`, which has extent `m`");
}

TEST_F(ExplicitChecks, QuotientsAndShifts) {
  const Kernel k = checked(kernel(kInt64, [&](auto& x, auto& y, Indices i) {
    return trunc_mod(x(k_.index(0)), y(i[0])) +
           pool_.make(ExprKind::kShiftLeft, kInt64, {k_.index(1), y(i[0])});
  }));
  const ::relay::Tensor least = whole(kInt64, {INT64_MIN});
  EXPECT_EQ(trap(k, least, whole(kInt64, {63})), "none");
  EXPECT_NE(trap(k, least, whole(kInt64, {0})).find("division by zero in `trunc_mod(x[0], y[vi0])`"),
            std::string::npos);
  EXPECT_EQ(name_of_trap(trap(k, least, whole(kInt64, {0}))), "division-by-zero");
  EXPECT_EQ(name_of_trap(trap(k, least, whole(kInt64, {-1}))), "integer-overflow");
  EXPECT_EQ(name_of_trap(trap(k, least, whole(kInt64, {64}))), "shift-out-of-range");
  EXPECT_EQ(name_of_trap(trap(k, whole(kInt64, {}), whole(kInt64, {1}))), "index-out-of-range");
  EXPECT_NE(trap(k, least, whole(kInt64, {-1})).find("quotient does not fit"), std::string::npos);
  EXPECT_NE(trap(k, least, whole(kInt64, {64})).find("shift by at least the width"), std::string::npos);
  EXPECT_NE(trap(k, whole(kInt64, {}), whole(kInt64, {1})).find("`0` is out of range of dim 0 of `x`"),
            std::string::npos);
}

// Sides that share their parts are looked at in each of their contexts, or as a whole.
TEST_F(ExplicitChecks, SharedChoices) {
  const Kernel k = with_explicit_checks(kernel(kInt64, [&](auto& x, auto& y, Indices i) {
    Expr e = x(y(i[0]));
    for (int step = 0; step < 5; ++step) {
      e = select(less(e, k_.index(step)), e + 1, floor_div(e, e - step));
    }
    return e;
  }));
  EXPECT_LE(messages(k).size(), 20u);
  EXPECT_EQ(trap(k, whole(kInt64, {-100}), whole(kInt64, {0})), "none");
  EXPECT_NE(trap(k, whole(kInt64, {0}), whole(kInt64, {0})), "none");
}

}  // namespace
}  // namespace relay::kernel
