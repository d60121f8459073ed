// For tests of schedules: kernels to schedule, and the comparison with the unscheduled kernel.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "kernel/builder.h"
#include "kernel/execute.h"
#include "kernel/statements.h"
#include "kernel/validate.h"
#include "target/target.h"

namespace relay::kernel::schedule {

// A processor of the table with that many float32 in a vector: 4, 8 or 16.
inline target::Cpu cpu_with(int64_t lanes) {
  return target::target_of(lanes == 4 ? "sse2" : lanes == 8 ? "avx2" : "avx512").cpu;
}

using Values = ::relay::Tensor;

// The kernel gives these results, bit for bit.
inline void expect_results(const std::vector<Values>& want, const Kernel& k, const std::vector<Values>& in) {
  std::vector<Values> got;
  try {
    got = execute(k, in);
  } catch (const std::exception& e) {
    FAIL() << e.what() << "\n" << show(k);
  }
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_TRUE(identical(want[i], got[i])) << ::relay::show(want[i]) << "\n"
                                            << ::relay::show(got[i]) << "\n"
                                            << show(k);
  }
}

class ScheduleTest : public ::testing::Test {
 protected:
  // Small whole numbers, so that sums are exact in any order.
  Values random(DType d, Shape shape) {
    Values t(d, std::move(shape));
    for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, d.is_bool() ? whole_(random_) & 1 : whole_(random_));
    return t;
  }
  std::vector<Values> inputs_of(const Kernel& k, const std::vector<std::pair<Expr, int64_t>>& dims) {
    std::unordered_map<const ExprNode*, int64_t> values;
    for (const auto& [v, n] : dims) values[v.get()] = n;
    std::vector<Values> out;
    for (const Buffer* b : k.inputs) {
      Shape shape;
      for (Expr e : b->shape) shape.push_back(evaluate(e, values).value());
      out.push_back(random(b->dtype, shape));
    }
    return out;
  }
  // Both kernels give the same bits, and the new one is well formed.
  void expect_same(const Kernel& before, const Kernel& after,
                   const std::vector<std::pair<Expr, int64_t>>& dims = {}) {
    const std::vector<std::string> problems = validate(after);
    EXPECT_TRUE(problems.empty()) << problems[0] << "\n" << show(after);
    const std::vector<Values> in = inputs_of(before, dims);
    expect_results(execute(before, in), after, in);
  }

  Expr index(int64_t v) { return pool_.integer(v); }
  kernel::Tensor input(std::string_view name, const std::vector<int64_t>& shape) {
    std::vector<Expr> extents;
    for (int64_t e : shape) extents.push_back(index(e));
    return k_.input(name, kFloat32, extents);
  }
  bool has_prefetch(const Kernel& k) {
    bool found = false;
    visit(k.body, [&](Stmt s) { found |= s->as<Prefetch>() != nullptr; });
    return found;
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  Builder k_{pool_};
  std::mt19937 random_{1};
  std::uniform_int_distribution<int> whole_{-3, 3};
};

}  // namespace relay::kernel::schedule
