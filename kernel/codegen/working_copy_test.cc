#include "kernel/codegen/working_copy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>
#include <vector>

#include "kernel/builder.h"
#include "kernel/codegen/operations.h"
#include "kernel/codegen/requirements.h"
#include "kernel/statements.h"

namespace relay::kernel::codegen {
namespace {

class WorkingCopyTest : public ::testing::Test {
 protected:
  // y = x * 2, with requirements.
  Kernel kernel() {
    Builder k(pool_);
    const Expr n = pool_.shape_variable("n");
    const Tensor x = k.input("x", kFloat32, {n});
    return k.finish("twice", "", {k.compute("y", kFloat32, {n}, [&](Indices i) {
                      k.require(less(i[0], k.index(100)), "too many");
                      k.require(less(x.at(i), k.constant(kFloat32, 9)), "too large");
                      k.require(less(i[0], k.index(50)), "too many");
                      return x.at(i) * 2;
                    })});
  }

  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
};

TEST_F(WorkingCopyTest, HasAnExpandedBodyInAPoolOfItsOwn) {
  const Kernel k = kernel();
  const size_t before = arena_.bytes();
  WorkingCopy code(k);
  EXPECT_EQ(arena_.bytes(), before);  // the kernel's own pool has nothing new
  EXPECT_TRUE(blocks(code.body()).empty());
  visit(code.body(), [&](Stmt s) {
    for (Expr e : expressions(s)) EXPECT_EQ(e->pool, &code.pool());
  });
  EXPECT_EQ(show(code.kernel()), show(k));
}

TEST_F(WorkingCopyTest, RequirementsAreNumberedByTheirTexts) {
  const Kernel k = kernel();
  const WorkingCopy code(k);
  EXPECT_EQ(code.messages(), (std::vector<std::string>{"too many", "too large"}));
  std::vector<size_t> numbers;
  visit(k.body, [&](Stmt s) {
    if (const auto* n = s->as<Require>()) numbers.push_back(number_of(*n, code.messages()));
  });
  EXPECT_EQ(numbers, (std::vector<size_t>{1, 2, 1}));
}

TEST_F(WorkingCopyTest, SeveralThreadsMayHaveOneOfTheSameKernel) {
  const Kernel k = kernel();
  std::vector<std::string> texts(8);
  std::vector<std::thread> threads;
  for (std::string& text : texts) threads.emplace_back([&] { text = show(WorkingCopy(k).body()); });
  for (std::thread& t : threads) t.join();
  for (const std::string& text : texts) EXPECT_EQ(text, texts[0]);
}

TEST_F(WorkingCopyTest, LocalBuffersHaveConstantSizes) {
  const auto with_local = [&](Expr extent) {
    Kernel k = kernel();
    const Buffer* b = new_buffer(pool_, k, "part", kFloat32, {extent}, Scope::kLocal);
    k.body = make_allocate(arena_, b, k.body);
    return cannot_compile(k);
  };
  EXPECT_EQ(with_local(pool_.integer(64)), "");
  EXPECT_EQ(
      with_local(pool_.shape_variable("n")),
      "kernel twice cannot be compiled: its local buffer `part` has the extent `n`, which is no constant: "
      "make it a temporary");
  EXPECT_EQ(
      with_local(pool_.integer(int64_t{1} << 21)),
      "kernel twice cannot be compiled: its local buffer `part` has more than 1048576 elements: make it a "
      "temporary");
}

TEST_F(WorkingCopyTest, OperationsThatTakeFewerInstructions) {
  const Expr f = pool_.real(0.5, kFloat32), i = pool_.variable("i"), n = pool_.variable("n");
  const Expr x = cast(kFloat32, i), nan = pool_.real(std::nan(""), kFloat32);
  EXPECT_EQ(number_operand(min(x, f).get()), Number::kRight);
  EXPECT_EQ(number_operand(min(f, x).get()), Number::kLeft);
  EXPECT_EQ(number_operand(min(x, nan).get()), Number::kNone);
  const auto bound = [&](double v) { return pool_.real(v, kFloat32); };
  EXPECT_TRUE(was_clamped_to(kInt8, min(max(x, bound(-128)), bound(127)).get()));
  EXPECT_TRUE(was_clamped_to(kInt8, math(Math::kRound, min(max(x, bound(-128)), bound(127))).get()));
  EXPECT_FALSE(was_clamped_to(kInt8, min(max(x, bound(-128)), bound(128)).get()));
  EXPECT_FALSE(was_clamped_to(kInt8, min(x, bound(127)).get()));
  Bounds bounds;
  bounds.bind(i, n);
  EXPECT_FALSE(divides_naturals(floor_div(i, n).get(), bounds));  // n may be 0
  EXPECT_TRUE(divides_naturals(floor_div(i, 3).get(), bounds));
  EXPECT_FALSE(divides_naturals(floor_div(i - 1, 3).get(), bounds));
  EXPECT_TRUE(is_quotient(floor_div(i, 3).get()));
  EXPECT_FALSE(is_quotient(floor_mod(i, 3).get()));
}

}  // namespace
}  // namespace relay::kernel::codegen
