#include "kernel/external.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>

#include "base/failure.h"
#include "kernel/execute.h"
#include "kernel/statements.h"
#include "kernel/validate.h"

namespace relay::kernel {
namespace {

using Values = ::relay::Tensor;

extern "C" {
// y = x + 10 * rows + columns
int32_t add_extents(const float* x, float* y, int64_t columns, int64_t rows) {
  for (int64_t i = 0; i < rows * columns; ++i) y[i] = x[i] + static_cast<float>(10 * rows + columns);
  return 0;
}
int32_t fail(const float*, float*, int64_t columns, int64_t) { return static_cast<int32_t>(-columns); }
int32_t write_beyond(const float* x, float* y, int64_t columns, int64_t rows) {
  y[rows * columns] = x[0];
  return 0;
}
int32_t write_before(const float* x, float* y, int64_t, int64_t) {
  y[-1] = x[0];
  return 0;
}
int32_t write_to_input(const float* x, float*, int64_t, int64_t) {
  const_cast<float*>(x)[0] += 1;
  return 0;
}
// Each argument in its place, those in registers and those on the stack.
int32_t many(const int8_t* a, const int16_t* b, const int32_t* c, const int64_t* d, int64_t* sum, int64_t e,
             int64_t f, int64_t g, int64_t h) {
  *sum = *a + 10 * *b + 100 * *c + 1000 * *d + 10000 * e + 100000 * f + 1000000 * g + 10000000 * h;
  return 0;
}
}

class ExternalKernel : public testing::Test {
 protected:
  Arena arena_;
  SymbolTable symbols_{arena_};
  ExprPool pool_{arena_, symbols_};
  uint32_t next_ = 0;

  const Buffer* buffer(std::string_view name, DType d, const std::vector<Expr>& shape) {
    return arena_.make<Buffer>(next_++, symbols_.intern(name), d, arena_.list(shape));
  }
  Kernel kernel(const std::vector<const Buffer*>& in, const std::vector<const Buffer*>& out, void* function,
                const std::vector<Expr>& extents) {
    External e{symbols_.intern("c_name"), arena_.list(extents)};
    e.function = function;
    Kernel k{symbols_.intern("k"), arena_.list(in), arena_.list(out), {}, make_nop(arena_), {}};
    k.external = arena_.make<External>(e);
    return k;
  }
  // A kernel of two-dimensional tensors with such a function.
  template <class F>
  Kernel of(F* function) {
    const Expr r = pool_.shape_variable("r"), c = pool_.shape_variable("c");
    return kernel({buffer("x", kFloat32, {r, c})}, {buffer("y", kFloat32, {r, c})},
                  reinterpret_cast<void*>(function), {c, r});
  }
  static std::string failure_of(const Kernel& k) {
    const Values in[] = {Values::of<double>(kFloat32, {2, 3}, std::vector<double>{1, 2, 3, 4, 5, 6})};
    try {
      (void)execute(k, in);
    } catch (const Trap& trap) {
      return trap.what();
    }
    return "nothing";
  }
};

TEST_F(ExternalKernel, IsGivenPointersAndExtents) {
  const Values in[] = {Values::of<double>(kFloat32, {2, 1}, std::vector<double>{1, 2})};
  EXPECT_EQ(execute(of(add_extents), in)[0].doubles(), (std::vector<double>{22, 23}));
  const Values empty[] = {Values(kFloat32, {0, 5})};
  EXPECT_EQ(execute(of(add_extents), empty)[0].shape(), (Shape{0, 5}));
}

TEST_F(ExternalKernel, ArgumentsOfAnyNumber) {
  const auto scalar = [&](DType d, double v) { return Values::of<double>(d, {}, std::vector<double>{v}); };
  const Values in[] = {scalar(kInt8, 1), scalar(kInt16, 2), scalar(kInt32, 3), scalar(kInt64, 4)};
  std::vector<const Buffer*> inputs;
  for (const Values& v : in) inputs.push_back(buffer("x", v.dtype(), {}));
  std::vector<Expr> extents;
  for (int64_t i = 5; i < 9; ++i) extents.push_back(pool_.integer(i));
  const Kernel k = kernel(inputs, {buffer("sum", kInt64, {})}, reinterpret_cast<void*>(many), extents);
  EXPECT_EQ(execute(k, in)[0].get_int(0), 87654321);
}

TEST_F(ExternalKernel, WhatBreaksTheContractIsFoundOut) {
  EXPECT_EQ(failure_of(of(fail)), "the C function `c_name` failed with code -3");
  EXPECT_EQ(failure_of(of(write_beyond)), "the C function `c_name` writes beyond `y`");
  EXPECT_EQ(failure_of(of(write_before)), "the C function `c_name` writes beyond `y`");
  EXPECT_EQ(failure_of(of(write_to_input)), "the C function `c_name` writes to its input `x`");
  EXPECT_EQ(failure_of(of<void>(nullptr)), "no library was given that has the C function `c_name`");
}

TEST_F(ExternalKernel, TensorsMustFit) {
  const Values wrong[] = {Values(kFloat64, {2, 3})};
  EXPECT_THROW((void)execute(of(add_extents), wrong), Trap);
}

TEST_F(ExternalKernel, NamesOfCFunctions) {
  for (const char* good : {"f", "cblas_sgemm", "F9", "x_", "printf2"})
    EXPECT_EQ(wrong_symbol(good), "") << good;
  for (const char* bad :
       {"", "9f", "a b", "a-b", "\xc3\xa4", "f()", "_f", "__f", "main", "relay_f", "int", "while"})
    EXPECT_NE(wrong_symbol(bad), "") << bad;
}

TEST_F(ExternalKernel, SignaturesAreDtypesAndCounts) {
  const Kernel k = of(add_extents);
  EXPECT_TRUE(same_signature(k, of(fail)));
  const Kernel wide = kernel({buffer("x", kFloat64, {})}, {buffer("y", kFloat32, {})}, nullptr,
                             {pool_.integer(1), pool_.integer(2)});
  EXPECT_FALSE(same_signature(k, wide));
  const Kernel untold = kernel({buffer("x", kFloat32, {})}, {buffer("y", kFloat32, {})}, nullptr, {});
  EXPECT_FALSE(same_signature(k, untold));
}

TEST_F(ExternalKernel, IsValidatedWithoutABody) {
  EXPECT_TRUE(validate(of(add_extents)).empty());
  EXPECT_FALSE(validate(kernel({buffer("x", kFloat32, {})}, {}, nullptr, {})).empty());
}

}  // namespace
}  // namespace relay::kernel
