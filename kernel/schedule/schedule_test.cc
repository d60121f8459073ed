// Each primitive: what it makes, that it computes the same, and what it refuses.
#include "kernel/schedule/schedule.h"

#include "base/cat.h"
#include "kernel/schedule/testing.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

class Primitives : public ScheduleTest {
 protected:
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
  Kernel running_sum() {
    Builder k{pool_};
    const Tensor x = k.input("x", kFloat32, {index(3), index(6)});
    const Tensor y = k.update(
        "sums", kFloat32, x.shape(), [&](Indices i) { return x.at(i); }, {index(3), index(5)},
        [&](Indices r) { return std::vector<Expr>{r[0], r[1] + 1}; },
        [&](Tensor self, Indices r) { return self(r[0], r[1]) + self(r[0], r[1] + 1); });
    return k.finish("running", "", {y});
  }

  // The steps are done and keep the values; gives the text of the result.
  std::string done(const Kernel& k, const std::vector<std::string>& steps) {
    Schedule s(k);
    for (const std::string& step : steps) EXPECT_EQ(s.apply(step), "") << step << "\n" << show(s.kernel());
    expect_same(k, s.kernel());
    Schedule again(k);
    EXPECT_EQ(again.replay(s.trace()), "");
    EXPECT_EQ(show(again.kernel()), show(s.kernel()));
    return show(s.kernel());
  }
  // After the steps, the last one is refused for that reason, and the kernel stays as it was.
  void refused(const Kernel& k, std::vector<std::string> steps, std::string_view reason) {
    const std::string last = steps.back();
    steps.pop_back();
    Schedule s(k);
    for (const std::string& step : steps) ASSERT_EQ(s.apply(step), "") << step;
    const Stmt before = s.kernel().body;
    EXPECT_EQ(s.apply(last), reason) << show(s.kernel());
    EXPECT_EQ(s.kernel().body, before);
  }
  static void expect_text(const std::string& text, std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
};

TEST_F(Primitives, SplitWithoutRemainder) {
  const std::string text = done(layer(), {"split dense.2 3"});
  expect_text(text, "for r0_outer in 2:\n        for r0_inner in 3:");
  EXPECT_EQ(text.find("where"), std::string::npos) << text;
}
TEST_F(Primitives, SplitWithARemainderGetsAPredicate) {
  expect_text(done(layer(), {"split dense.0 4"}), "where 4*i0_outer + i0_inner < 7");
}
TEST_F(Primitives, SplitTwice) { done(layer(), {"split dense.0 4", "split dense.1 3", "split dense.4 4"}); }
TEST_F(Primitives, SplitRefuses) {
  refused(layer(), {"split dense.3 4"}, "block `dense` stands in 3 loops, and loop 3 was asked for");
  refused(layer(), {"split other.0 4"}, "there is no block `other`");
  refused(layer(), {"split dense.0 0"}, "a loop cannot be split by 0");
  refused(layer(), {"parallel dense.0", "split dense.0 2"}, "only serial loops are split");
}

TEST_F(Primitives, FuseAndSplitAgain) {
  expect_text(done(layer(), {"fuse dense.0"}), "for i0_i1 in 35:");
  done(layer(), {"fuse relu.0", "split relu.0 4", "vectorize relu.1"});
  done(layer(), {"split dense.1 2", "fuse dense.1"});
}
TEST_F(Primitives, FuseRefuses) {
  refused(layer(), {"fuse dense.2"}, "loop `r0` contains more than one loop");
  refused(layer(), {"unroll dense.1", "fuse dense.0"}, "only serial loops are fused");
}

TEST_F(Primitives, Reorder) {
  expect_text(done(layer(), {"reorder dense 2 0 1"}), "for r0 in 6:\n    for i0 in 7:\n      for i1 in 5:");
  done(layer(), {"split dense.2 3", "reorder dense 3 2"});
  done(running_sum(), {"reorder sums_init 1 0"});
}
TEST_F(Primitives, ReorderRefuses) {
  refused(running_sum(), {"reorder sums 1 0"}, "block `sums` depends on the order of its steps");
  refused(layer(), {"reorder dense 0 3"}, "block `dense` stands in 3 loops");
  refused(layer(), {"reorder dense 1 1"}, "loop 1 is named twice");
  refused(layer(), {"decompose_reduction dense.1", "reorder dense 2 1 0"},
          "loop `i0` contains more than one loop");
}

TEST_F(Primitives, ParallelVectorizeUnroll) {
  const std::string text =
      done(layer(), {"parallel dense.0", "unroll dense.2", "parallel relu.0", "vectorize relu.1"});
  expect_text(text, "parallel for i0 in 7:");
  expect_text(text, "unrolled for r0 in 6:");
  expect_text(text, "vectorized for i1 in 5:");
}
TEST_F(Primitives, ParallelRefuses) {
  refused(layer(), {"parallel dense.2"}, "block `dense` reduces over the loop");
  refused(layer(), {"parallel dense.0", "parallel dense.1"}, "loop `i0` is parallel already");
  refused(stencil(), {"compute_at twice pairs.0", "parallel pairs.0"},
          "iterations overlap in what they write of `twice`");
}
TEST_F(Primitives, VectorizeRefuses) {
  refused(layer(), {"vectorize dense.2"}, "block `dense` reduces over the loop");
  refused(layer(), {"vectorize dense.1"}, "the loop contains loops");
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("z", kFloat32, {n});
  const Tensor y = k_.compute("y", kFloat32, {n}, [&](Indices i) { return x.at(i) * 2; });
  refused(k_.finish("k", "", {y}), {"vectorize y.0"}, "the extent n is not constant");
  refused(k_.finish("k", "", {y}), {"unroll y.0"}, "the extent n is not constant");
}

TEST_F(Primitives, ComputeInline) {
  const std::string text = done(stencil(), {"compute_inline twice"});
  EXPECT_EQ(text.find("temporary"), std::string::npos) << text;
}
TEST_F(Primitives, ComputeInlineRefuses) {
  refused(layer(), {"compute_inline dense"},
          "block `dense` does not write each element once from its iteration variables");
  refused(layer(), {"compute_inline relu"}, "block `relu` writes an output");
  refused(layer(), {"compute_inline nothing"}, "there is no block `nothing`");
}

TEST_F(Primitives, ReverseComputeInline) {
  const std::string text = done(layer(), {"cache_write dense.0", "reverse_compute_inline relu"});
  EXPECT_EQ(text.find("temporary"), std::string::npos) << text;
  expect_text(text, "relu[vi0, vi1] = max(dense_local[i1], 0f)");
}
TEST_F(Primitives, ReverseComputeInlineRefuses) {
  refused(layer(), {"reverse_compute_inline relu"},
          "block `relu` reads what a reduction writes: cache it first");
  refused(layer(), {"reverse_compute_inline dense"},
          "block `dense` does not write each element once from its iteration variables");
  refused(stencil(), {"reverse_compute_inline pairs"},
          "block `pairs` reads the temporary at other places than its own");
}

TEST_F(Primitives, DecomposeReduction) {
  const std::string text = done(layer(), {"decompose_reduction dense.1"});
  expect_text(text, "block dense_init:");
  EXPECT_EQ(text.find("init:\n            "), std::string::npos) << text;
  done(layer(), {"decompose_reduction dense.0"});
  done(layer(), {"decompose_reduction dense.2"});
  done(layer(), {"split dense.0 4", "split dense.3 4", "decompose_reduction dense.1"});
}
TEST_F(Primitives, DecomposeReductionRefuses) {
  refused(layer(), {"reorder dense 2 0 1", "decompose_reduction dense.1"},
          "the reduction loop `r0` stands further out");
  refused(layer(), {"decompose_reduction relu.0"}, "block `relu` has no init");
}

TEST_F(Primitives, CacheWrite) {
  expect_text(done(layer(), {"cache_write dense.0"}), "local dense_local: float32[5]");
  expect_text(
      done(layer(), {"split dense.0 4", "split dense.2 2", "reorder dense 0 2 4 1 3", "cache_write dense.1",
                     "decompose_reduction dense.2", "vectorize dense.4", "parallel dense.0"}),
      "local dense_local: float32[4, 2]");
  done(layer(), {"cache_write relu.1"});
}
TEST_F(Primitives, CacheWriteRefuses) {
  refused(layer(), {"reorder dense 2 0 1", "cache_write dense.1"},
          "the reduction loop `r0` stands further out");
  refused(layer(), {"decompose_reduction dense.1", "cache_write dense.0"}, "several blocks write `dense`");
  refused(layer(), {"cache_write dense.0", "cache_write dense.0"}, "`dense_local` is local already");
  const Expr n = pool_.shape_variable("n");
  const Tensor x = k_.input("z", kFloat32, {index(2), n});
  const Tensor y = k_.compute("y", kFloat32, x.shape(), [&](Indices i) { return x.at(i) * 2; });
  refused(k_.finish("k", "", {y}), {"cache_write y.0"}, "the extent of `i1` is not constant");
}

TEST_F(Primitives, ComputeAt) {
  expect_text(done(stencil(), {"compute_at twice pairs.0"}),
              "for i0 in 8:\n    for a0 in 2:\n      for a1 in 4:");
  done(stencil(), {"split pairs.0 3", "compute_at twice pairs.0"});
  done(stencil(), {"compute_at twice pairs.1"});
}
TEST_F(Primitives, ComputeAtBeyondTheEdgeComputesOnlyWhatExists) {
  const Tensor x = k_.input("x", kFloat32, {index(6)});
  const Tensor t = k_.compute("t", kFloat32, x.shape(), [&](Indices i) { return x.at(i) * 3; });
  const Tensor y = k_.compute("y", kFloat32, x.shape(), [&](Indices i) {
    return select(less(i[0], index(5)), t(i[0] + 1), k_.constant(kFloat32, 0));
  });
  expect_text(done(k_.finish("k", "", {y}), {"split y.0 2", "compute_at t y.0"}), "where ");
}
TEST_F(Primitives, ComputeAtRefuses) {
  refused(layer(), {"compute_at dense relu.0"},
          "block `dense` does not write each element once from its iteration variables");
  refused(stencil(), {"compute_at pairs twice.0"}, "block `pairs` writes an output");
  refused(stencil(), {"parallel pairs.0", "compute_at twice pairs.0"}, "loop `i0` is not serial");
  refused(stencil(), {"compute_at twice twice.0"}, "block `pairs` reads the tensor outside the loop");
  refused(stencil(), {"fuse pairs.0", "split pairs.0 8", "compute_at twice pairs.0"},
          "what block `pairs` reads in dim 0 is not a range");
}

TEST_F(Primitives, StepsThatAreNotUnderstood) {
  refused(layer(), {"tilt dense.0"}, "there is no primitive `tilt`");
  refused(layer(), {"split dense 4"}, "`split dense 4` is not understood");
  refused(layer(), {"split dense.0 x"}, "`split dense.0 x` is not understood");
  refused(layer(), {"split dense.-1 4"}, "`split dense.-1 4` is not understood");
  refused(layer(), {""}, "an empty step");
  Schedule s(layer());
  EXPECT_EQ(s.replay("split dense.0 4\n\nsplit dense.9 1\n"),
            "split dense.9 1: block `dense` stands in 4 loops, and loop 9 was asked for");
  EXPECT_EQ(s.trace(), "split dense.0 4\n");
}

// Random sequences of steps: whatever is not refused keeps the values.
TEST_F(Primitives, RandomSequencesKeepTheValues) {
  std::mt19937 random(7);
  const auto pick = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  size_t applied = 0;
  const std::vector<std::pair<Kernel, std::vector<std::string>>> kernels = {
      {layer(), {"dense", "relu", "dense_init", "dense_copy"}},
      {stencil(), {"twice", "pairs"}},
      {running_sum(), {"sums", "sums_init"}}};
  for (int round = 0; round < 150; ++round) {
    const auto& [kernel, names] = kernels[static_cast<size_t>(round) % kernels.size()];
    Schedule s(kernel);
    for (int step = 0; step < 6; ++step) {
      const std::string_view primitive = primitives()[pick(primitives().size())];
      const std::string block = names[pick(names.size())], loop = cat(block, ".", pick(4));
      std::string text = cat(primitive, " ", loop);
      if (primitive == "split") text += cat(" ", 1 + pick(5));
      if (primitive == "reorder") text = cat(primitive, " ", block, " ", pick(4), " ", pick(4));
      if (primitive == "compute_at")
        text = cat(primitive, " ", block, " ", names[pick(names.size())], ".", pick(3));
      if (primitive == "compute_inline" || primitive == "reverse_compute_inline")
        text = cat(primitive, " ", block);
      applied += s.apply(text).empty();
    }
    SCOPED_TRACE(s.trace());
    expect_same(kernel, s.kernel());
    if (HasFailure()) return;
  }
  EXPECT_GT(applied, 150u);
}

}  // namespace
}  // namespace relay::kernel::schedule
