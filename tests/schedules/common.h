// Kernels to schedule, and what is expected of a schedule.
#pragma once

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/llvm/compile.h"
#include "kernel/native/agreement.h"
#include "kernel/schedule/primitives/schedule.h"
#include "kernel/schedule/testing.h"

namespace relay::kernel::schedule::primitives {

// Small whole numbers, so that sums are exact in any order.
inline std::vector<Values> some_inputs(const Kernel& k, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> whole(-3, 3);
  std::vector<Values> out;
  for (const Buffer* b : k.inputs) {
    Shape shape;
    for (Expr e : b->shape) shape.push_back(evaluate(e, {}).value());
    Values t(b->dtype, shape);
    for (int64_t i = 0; i < t.size(); ++i)
      t.set_int(i, b->dtype.is_unsigned_int() ? whole(random) + 3 : whole(random));
    out.push_back(std::move(t));
  }
  return out;
}

// Kernels by name, in one pool.
class Kernels {
 public:
  explicit Kernels(ExprPool& pool) : pool_(pool) {}

  // y = relu(x * w) with x of shape (7, 6): blocks `dense` and `relu`.
  Kernel layer() {
    Builder k{pool_};
    const Tensor x = k.input("x", kFloat32, {index(7), index(6)}),
                 w = k.input("w", kFloat32, {index(5), index(6)});
    const Tensor y = k.reduce("dense", kFloat32, {index(7), index(5)}, {index(6)}, k.sum(kFloat32),
                              [&](Indices i, Indices r) { return x(i[0], r[0]) * w(i[1], r[0]); });
    const Tensor z = k.compute("relu", kFloat32, y.shape(),
                               [&](Indices i) { return max(y.at(i), k.constant(kFloat32, 0)); });
    return k.finish("layer", "", {z});
  }
  // b = (2x)[i] + (2x)[i + 1]: blocks `twice` and `pairs`.
  Kernel stencil() {
    Builder k{pool_};
    const Tensor x = k.input("x", kFloat32, {index(9), index(4)});
    const Tensor t = k.compute("twice", kFloat32, x.shape(), [&](Indices i) { return x.at(i) * 2; });
    const Tensor y = k.compute("pairs", kFloat32, {index(8), index(4)},
                               [&](Indices i) { return t(i[0], i[1]) + t(i[0] + 1, i[1]); });
    return k.finish("stencil", "", {y});
  }
  // Blocks `sums_init` and `sums`, whose steps must stay in order.
  Kernel running_sum() {
    Builder k{pool_};
    const Tensor x = k.input("x", kFloat32, {index(3), index(6)});
    const Tensor y = k.update(
        "sums", kFloat32, x.shape(), [&](Indices i) { return x.at(i); }, {index(3), index(5)},
        [&](Indices r) { return std::vector<Expr>{r[0], r[1] + 1}; },
        [&](Tensor self, Indices r) { return self(r[0], r[1]) + self(r[0], r[1] + 1); });
    return k.finish("running", "", {y});
  }
  // Three elementwise steps in rows and columns: blocks `a`, `b` and `c`.
  Kernel chain(int64_t rows = 6, int64_t columns = 8) {
    Builder k{pool_};
    const Tensor x = k.input("x", kFloat32, {index(rows), index(columns)});
    const Tensor a = k.compute("a", kFloat32, x.shape(), [&](Indices i) { return x.at(i) + 1; });
    const Tensor b = k.compute("b", kFloat32, x.shape(), [&](Indices i) { return a.at(i) * 3; });
    const Tensor c = k.compute("c", kFloat32, x.shape(), [&](Indices i) { return b.at(i) - x.at(i); });
    return k.finish("chain", "", {c});
  }
  // y[i, j] = sum over r of a[i, r] * b[r, j].
  Kernel product(int64_t n, int64_t m, int64_t depth) {
    Builder k{pool_};
    const Tensor a = k.input("a", kFloat32, {index(n), index(depth)}),
                 b = k.input("b", kFloat32, {index(depth), index(m)});
    const Tensor y = k.reduce("y", kFloat32, {index(n), index(m)}, {index(depth)}, k.sum(kFloat32),
                              [&](Indices i, Indices r) { return a(i[0], r[0]) * b(r[0], i[1]); });
    return k.finish("product", "", {y});
  }
  // The same of small numbers, b packed in groups along r: y[i, j] = sum over r, g of a[i,
  // r*group + g] * b[r, j, g].
  Kernel packed_product(DType a_type, DType b_type, DType y_type, int64_t group) {
    Builder k{pool_};
    const Tensor a = k.input("a", a_type, {index(3), index(4 * group)}),
                 b = k.input("b", b_type, {index(4), index(32), index(group)});
    const Tensor y =
        k.reduce("y", y_type, {index(3), index(32)}, {index(4), index(group)}, k.sum(y_type),
                 [&](Indices i, Indices r) {
                   return cast(y_type, a(i[0], r[0] * group + r[1])) * cast(y_type, b(r[0], i[1], r[1]));
                 });
    return k.finish("packed", "", {y});
  }
  // The largest of each row: block `top`.
  Kernel row_maximum() {
    Builder k{pool_};
    const Tensor x = k.input("x", kFloat32, {index(5), index(12)});
    const Tensor y = k.reduce("top", kFloat32, {index(5)}, {index(12)}, k.maximum(kFloat32),
                              [&](Indices i, Indices r) { return x(i[0], r[0]); });
    return k.finish("top", "", {y});
  }
  // y = x * 2 over n elements, n unknown.
  Kernel unknown_size() {
    Builder k{pool_};
    const Expr n = pool_.shape_variable("n");
    const Tensor x = k.input("x", kFloat32, {index(2), n});
    const Tensor t = k.compute("t", kFloat32, x.shape(), [&](Indices i) { return x.at(i) * 2; });
    const Tensor y = k.compute("y", kFloat32, x.shape(), [&](Indices i) { return t.at(i) + 1; });
    return k.finish("unknown", "", {y});
  }
  Expr index(int64_t v) { return pool_.integer(v); }

 private:
  ExprPool& pool_;
};

// All tests of a suite share a pool: what they made is compiled at the end, all at once.
class SchedulePrimitives : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { state_ = new State; }
  static void TearDownTestSuite() {
    if (!state_->cases.empty()) {
      toolchain::CompileOptions options;
      options.target = target::target_of("native");
      EXPECT_EQ(native::disagreements(state_->cases, options), "") << "as C++";
      EXPECT_EQ(native::disagreements(state_->cases, options, 1, llvm::compile), "") << "by LLVM";
    }
    delete state_;
    state_ = nullptr;
  }

  Kernels& make() { return state_->kernels; }
  ExprPool& pool() { return state_->pool; }

  // The steps are done, the result is well formed and computes the same, and its trace
  // replays; gives its text.
  std::string done(const Kernel& k, const std::vector<std::string>& steps) {
    Schedule s(k);
    for (const std::string& step : steps) {
      const std::string reason = s.apply(step);
      EXPECT_EQ(reason, "") << step << "\n" << show(s.kernel());
      if (!reason.empty()) return {};
    }
    const std::vector<Values> in = some_inputs(k);
    expect_results(execute(k, in), s.kernel(), in);
    Schedule again(k);
    EXPECT_EQ(again.replay(s.trace()), "");
    EXPECT_EQ(show(again.kernel()), show(s.kernel()));
    state_->cases.push_back({cat(k.name.text(), ": ", join(steps, "; ")), s.kernel(), in});
    return show(s.kernel());
  }
  // After the steps, the last one is refused for that reason, and the kernel stays as it was.
  void refused(const Kernel& k, std::vector<std::string> steps, std::string_view reason) {
    const std::string last = steps.back();
    steps.pop_back();
    Schedule s(k);
    for (const std::string& step : steps) ASSERT_EQ(s.apply(step), "") << step << "\n" << show(s.kernel());
    const Stmt before = s.kernel().body;
    const std::string text = show(s.kernel()), trace = s.trace();
    EXPECT_EQ(s.apply(last), reason) << show(s.kernel());
    EXPECT_EQ(s.kernel().body, before);
    EXPECT_EQ(show(s.kernel()), text);
    EXPECT_EQ(s.trace(), trace);
  }
  static void expect_text(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\nis not in\n" << text;
  }
  static void expect_no_text(const std::string& text, std::string_view part) {
    EXPECT_EQ(text.find(part), std::string::npos) << part << "\nis in\n" << text;
  }

 private:
  struct State {
    Arena arena;
    SymbolTable symbols{arena};
    ExprPool pool{arena, symbols};
    Kernels kernels{pool};
    std::vector<native::Case> cases;
  };
  static inline State* state_ = nullptr;
};

}  // namespace relay::kernel::schedule::primitives
