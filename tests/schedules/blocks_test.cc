// compute_inline, reverse_compute_inline, compute_at, reverse_compute_at, decompose_reduction,
// rfactor, cache_write, cache_read, blockize, pad_einsum.
#include "tests/schedules/common.h"

namespace relay::kernel::schedule::primitives {
namespace {

class Blocks : public SchedulePrimitives {};

TEST_F(Blocks, ComputeInline) {
  const std::string text = done(make().stencil(), {"compute_inline twice"});
  EXPECT_EQ(text.find("temporary"), std::string::npos) << text;
}
TEST_F(Blocks, ComputeInlineRefuses) {
  refused(make().layer(), {"compute_inline dense"},
          "block `dense` does not write each element once from its iteration variables");
  refused(make().layer(), {"compute_inline relu"}, "block `relu` writes an output");
  refused(make().layer(), {"compute_inline nothing"}, "there is no block `nothing`");
}

TEST_F(Blocks, ReverseComputeInline) {
  const std::string text = done(make().layer(), {"cache_write dense.0", "reverse_compute_inline relu"});
  EXPECT_EQ(text.find("temporary"), std::string::npos) << text;
  expect_text(text, "relu[vi0, vi1] = max(dense_local[i1], 0f)");
}
TEST_F(Blocks, ReverseComputeInlineRefuses) {
  refused(make().layer(), {"reverse_compute_inline relu"},
          "block `relu` reads what a reduction writes: cache it first");
  refused(make().layer(), {"reverse_compute_inline dense"},
          "block `dense` does not write each element once from its iteration variables");
  refused(make().stencil(), {"reverse_compute_inline pairs"},
          "block `pairs` reads the temporary at other places than its own");
}

TEST_F(Blocks, DecomposeReduction) {
  const std::string text = done(make().layer(), {"decompose_reduction dense.1"});
  expect_text(text, "block dense_init:");
  EXPECT_EQ(text.find("init:\n            "), std::string::npos) << text;
  done(make().layer(), {"decompose_reduction dense.0"});
  done(make().layer(), {"decompose_reduction dense.2"});
  done(make().layer(), {"split dense.0 4", "split dense.3 4", "decompose_reduction dense.1"});
}
TEST_F(Blocks, DecomposeReductionRefuses) {
  refused(make().layer(), {"reorder dense 2 0 1", "decompose_reduction dense.1"},
          "the reduction loop `r0` stands further out");
  refused(make().layer(), {"decompose_reduction relu.0"}, "block `relu` has no init");
}

TEST_F(Blocks, CacheWrite) {
  expect_text(done(make().layer(), {"cache_write dense.0"}), "local dense_local: float32[5]");
  expect_text(done(make().layer(),
                   {"split dense.0 4", "split dense.2 2", "reorder dense 0 2 4 1 3", "cache_write dense.1",
                    "decompose_reduction dense.2", "vectorize dense.4", "parallel dense.0"}),
              "local dense_local: float32[4, 2]");
  done(make().layer(), {"cache_write relu.1"});
}
TEST_F(Blocks, CacheWriteRefuses) {
  refused(make().layer(), {"reorder dense 2 0 1", "cache_write dense.1"},
          "the reduction loop `r0` stands further out");
  refused(make().layer(), {"decompose_reduction dense.1", "cache_write dense.0"},
          "several blocks write `dense`");
  refused(make().layer(), {"cache_write dense.0", "cache_write dense.0"}, "`dense_local` is local already");
  refused(make().unknown_size(), {"cache_write y.0"}, "the extent of `i1` is not constant");
}

TEST_F(Blocks, ComputeAt) {
  expect_text(done(make().stencil(), {"compute_at twice pairs.0"}),
              "for i0 in 8:\n    for a0 in 2:\n      for a1 in 4:");
  done(make().stencil(), {"split pairs.0 3", "compute_at twice pairs.0"});
  done(make().stencil(), {"compute_at twice pairs.1"});
}
TEST_F(Blocks, ComputeAtBeyondTheEdgeComputesOnlyWhatExists) {
  Builder k(pool());
  const Tensor x = k.input("x", kFloat32, {k.index(6)});
  const Tensor t = k.compute("t", kFloat32, x.shape(), [&](Indices i) { return x.at(i) * 3; });
  const Tensor y = k.compute("y", kFloat32, x.shape(), [&](Indices i) {
    return select(less(i[0], k.index(5)), t(i[0] + 1), k.constant(kFloat32, 0));
  });
  expect_text(done(k.finish("k", "", {y}), {"split y.0 2", "compute_at t y.0"}), "where ");
}
TEST_F(Blocks, ComputeAtRefuses) {
  refused(make().layer(), {"compute_at dense relu.0"},
          "block `dense` does not write each element once from its iteration variables");
  refused(make().stencil(), {"compute_at pairs twice.0"}, "block `pairs` writes an output");
  refused(make().stencil(), {"parallel pairs.0", "compute_at twice pairs.0"}, "loop `i0` is not serial");
  refused(make().stencil(), {"compute_at twice twice.0"}, "block `pairs` reads the tensor outside the loop");
  refused(make().stencil(), {"fuse pairs.0", "split pairs.0 8", "compute_at twice pairs.0"},
          "what block `pairs` reads in dim 0 is not a range");
}

TEST_F(Blocks, ReverseComputeAt) {
  expect_text(done(make().layer(), {"reverse_compute_at relu dense.0"}),
              "for i0 in 7:\n    for i1 in 5:\n      for r0 in 6:");
  // Of a tile, with rows and columns that are left over.
  const std::string text = done(
      make().layer(),
      {"split dense.0 4", "split dense.2 2", "reorder dense 0 2 1 3 4", "reverse_compute_at relu dense.1"});
  expect_text(text, "for a0 in 4:\n        for a1 in 2:\n          block relu:");
  expect_text(text, "where ");
  done(make().chain(), {"reverse_compute_at b a.0", "reverse_compute_at c b.0"});
}
TEST_F(Blocks, ReverseComputeAtRefuses) {
  refused(make().layer(), {"reverse_compute_at relu other.0"}, "there is no block `other`");
  refused(make().layer(), {"reverse_compute_at other dense.0"}, "there is no block `other`");
  refused(make().layer(), {"reverse_compute_at dense relu.0"},
          "block `dense` does not write each element once from its iteration variables");
  refused(make().layer(), {"reverse_compute_at relu relu.0"}, "block `relu` stands in the loop already");
  refused(make().layer(), {"parallel dense.0", "reverse_compute_at relu dense.0"}, "loop `i0` is not serial");
  refused(make().layer(), {"reverse_compute_at relu dense.2"},
          "block `dense` is not done after an iteration: it reduces over `r0`");
  refused(make().layer(), {"decompose_reduction dense.0", "reverse_compute_at relu dense.0"},
          "block `dense_init` writes `dense` outside the loop");
  refused(make().layer(), {"fuse dense.0", "split dense.0 7", "reverse_compute_at relu dense.0"},
          "what block `dense` writes in dim 0 is not a range");
  refused(make().stencil(), {"reverse_compute_at pairs twice.0"},
          "block `pairs` reads `twice` at other places than its own");
  refused(make().chain(), {"reverse_compute_at a b.0"}, "block `a` runs before the loop");
  refused(make().chain(), {"reverse_compute_at c a.0"}, "block `c` reads what is written after the loop");
  Builder k(pool());
  const Tensor x = k.input("x", kFloat32, {k.index(4)});
  const Tensor a = k.compute("a", kFloat32, x.shape(), [&](Indices i) { return x.at(i) * 2; });
  const Tensor b = k.compute("b", kFloat32, x.shape(), [&](Indices i) { return x.at(i) * 3; });
  refused(k.finish("k", "", {a, b}), {"reverse_compute_at b a.0"},
          "block `b` reads nothing that the loop writes");
}

TEST_F(Blocks, Rfactor) {
  const std::string text = done(make().layer(), {"split dense.2 3", "rfactor dense.2"});
  expect_text(text, "temporary dense_rf: float32[2, 7, 5]");
  expect_text(text, "block dense_rf:");
  // Steps that do not divide: some of the partial sums have none.
  done(make().layer(), {"split dense.2 4", "rfactor dense.3", "parallel dense_rf.0"});
  done(make().row_maximum(), {"split top.1 5", "reorder top 2 0 1", "rfactor top.0", "parallel top_rf.0"});
  done(make().product(4, 5, 6), {"rfactor y.2", "decompose_reduction y.0"});
}
TEST_F(Blocks, RfactorOfWhatIsCombinedTheOtherWayRound) {
  Builder k(pool());
  const Tensor x = k.input("x", kFloat32, {k.index(3), k.index(8)});
  const Reducer product{k.constant(kFloat32, 1), [](Expr so_far, Expr next) { return next * so_far; }};
  const Tensor y = k.reduce("y", kFloat32, {k.index(3)}, {k.index(8)}, product,
                            [&](Indices i, Indices r) { return x(i[0], r[0]); });
  done(k.finish("k", "", {y}), {"rfactor y.1", "decompose_reduction y.0"});
}
TEST_F(Blocks, RfactorRefuses) {
  refused(make().layer(), {"rfactor dense.0"}, "loop `i0` is not of the reduction alone");
  refused(make().layer(), {"rfactor relu.0"},
          "block `relu` is no sum, product, minimum or maximum with its init");
  refused(make().layer(), {"decompose_reduction dense.2", "rfactor dense.2"},
          "loop `i1` contains more than one statement");
  refused(make().layer(), {"decompose_reduction dense.0", "rfactor dense.2"},
          "block `dense` is no sum, product, minimum or maximum with its init");
  refused(make().running_sum(), {"rfactor sums.1"},
          "block `sums` is no sum, product, minimum or maximum with its init");
  refused(make().layer(), {"cache_write dense.1", "rfactor dense.2"},
          "loop `i1` contains more than one statement");
}

TEST_F(Blocks, CacheRead) {
  const std::string text = done(make().product(6, 8, 5), {"cache_read y.0 a local"});
  expect_text(text, "local a_cache: float32[1, 5]");
  expect_text(text, "block a_cache:");
  // A tile of both operands, with rows left over.
  done(make().product(7, 8, 10),
       {"split y.0 4", "split y.2 4", "split y.4 5", "reorder y 0 2 4 1 3 5", "cache_read y.2 a shared",
        "cache_read y.2 b local", "vectorize b_cache.4"});
  done(make().stencil(), {"split pairs.0 2", "cache_read pairs.0 twice local"});
}
TEST_F(Blocks, CacheReadRefuses) {
  refused(make().layer(), {"cache_read dense.0 z local"}, "there is no buffer `z`");
  refused(make().layer(), {"cache_read dense.9 x local"},
          "block `dense` stands in 3 loops, and loop 9 was asked for");
  refused(make().layer(), {"cache_read dense.0 x global"}, "a cache is local or shared");
  refused(make().layer(), {"cache_read dense.0 dense local"}, "the loop writes `dense`");
  refused(make().layer(), {"cache_read relu.0 x local"}, "block `relu` reads nothing of `x`");
  refused(make().layer(), {"fuse dense.0", "split dense.0 3", "cache_read dense.0 x local"},
          "what block `dense` reads in dim 0 is not a range");
  refused(make().unknown_size(), {"cache_read y.0 t local"},
          "what is read in dim 1 of `t` is of no constant size");
  refused(make().layer(), {"cache_read dense.0 x local", "cache_read dense.0 x_cache local"},
          "`x_cache` is in memory of that kind already");
  refused(make().layer(), {"blockize dense.2", "cache_read dense_o.0 x local"},
          "block `dense_o` contains loops or blocks");
}

TEST_F(Blocks, Blockize) {
  const std::string text =
      done(make().product(8, 8, 8), {"split y.0 4", "split y.2 4", "reorder y 0 2 1 3 4", "blockize y.2"});
  expect_text(text,
              "block y_o:\n        spatial vi0_o in 2 = i0_outer\n        spatial vi1_o in 2 = i1_outer");
  // With the reduction going on outside, its init moves out as well; then what is outside
  // is scheduled on.
  done(make().product(8, 8, 8), {"split y.2 4", "reorder y 2 0 1 3", "blockize y.1"});
  done(make().product(8, 8, 8),
       {"split y.0 4", "split y.2 4", "split y.4 4", "reorder y 0 2 4 1 3 5", "blockize y.3",
        "decompose_reduction y_o.2", "reorder y_o 1 0", "parallel y_o.0"});
  done(make().chain(), {"split a.1 4", "blockize a.2", "vectorize a.0", "split a_o.0 2", "unroll a_o.1"});
}
TEST_F(Blocks, BlockizeRefuses) {
  refused(make().layer(), {"blockize dense.3"}, "block `dense` stands in 3 loops, and loop 3 was asked for");
  refused(make().layer(), {"decompose_reduction dense.1", "blockize dense.0"},
          "loop `i0` contains more than one statement");
  refused(make().layer(), {"split dense.0 4", "blockize dense.1"},
          "the predicate of block `dense` mentions `i0_inner`");
  refused(make().unknown_size(), {"blockize y.1"}, "the extent of `i1` is not constant");
  refused(make().layer(), {"parallel dense.0", "blockize dense.0"}, "loop `i0` is spread over threads");
  refused(make().layer(), {"fuse dense.0", "blockize dense.0"}, "iterator `vi0` is no sum of the loops");
  refused(make().stencil(), {"compute_at twice pairs.0", "blockize twice.1"},
          "iterator `vi0` does not divide into pieces of 2");
}

TEST_F(Blocks, PadEinsum) {
  const std::string text = done(make().product(5, 6, 7), {"pad_einsum y 4 4 4"});
  expect_text(text, "temporary a_pad: float32[8, 8]");
  expect_text(text, "temporary y_pad: float32[8, 8]");
  expect_text(text, "block y_crop:");
  // Only what is needed is padded: here the sum alone, and not the result.
  expect_no_text(done(make().product(4, 8, 7), {"pad_einsum y 4 4 4"}), "y_crop");
  done(make().product(5, 6, 7),
       {"pad_einsum y 4 4 4", "split y.0 4", "split y.2 4", "split y.4 4", "reorder y 0 2 4 1 3 5",
        "decompose_reduction y.2", "tensorize y.3 tile_4x4x4"});
}
TEST_F(Blocks, PadEinsumRefuses) {
  refused(make().product(5, 6, 7), {"pad_einsum z 4 4 4"}, "there is no block `z`");
  refused(make().product(5, 6, 7), {"pad_einsum y 4 4"},
          "block `y` has 3 iterators, and 2 factors were given");
  refused(make().product(5, 6, 7), {"pad_einsum y 4 0 4"},
          "an extent cannot be a multiple of 0 (at most 65536)");
  refused(make().product(5, 6, 7), {"split y.0 2", "pad_einsum y 4 4 4"},
          "block `y` does not stand in one serial loop for each iterator");
  refused(make().layer(), {"pad_einsum relu 4 4"}, "block `relu` is no sum with its init");
  refused(make().row_maximum(), {"pad_einsum top 4 4"}, "block `top` is no sum with its init");
  refused(make().packed_product(kFloat32, kFloat32, kFloat32, 4), {"pad_einsum y 4 4 4 4"},
          "`a` is not read at iterators");
  Builder k(pool());
  const Tensor x = k.input("x", kFloat32, {k.index(4), k.index(6)}), w = k.input("w", kFloat32, {k.index(4)});
  const Tensor y = k.reduce("y", kFloat32, {k.index(4)}, {k.index(6)}, k.sum(kFloat32),
                            [&](Indices i, Indices r) { return x(i[0], r[0]) * w(i[0]); });
  refused(k.finish("k", "", {y}), {"pad_einsum y 1 4"}, "`w` has no dim for `vr0`, which would be padded");
  Builder e(pool());
  const Tensor v = e.input("x", kFloat32, {e.index(4), e.index(6)});
  const Tensor z = e.reduce("y", kFloat32, {e.index(4)}, {e.index(6)}, e.sum(kFloat32),
                            [&](Indices i, Indices r) { return exp(v(i[0], r[0])); });
  refused(e.finish("k", "", {z}), {"pad_einsum y 1 4"}, "what block `y` sums up is no product of elements");
}

}  // namespace
}  // namespace relay::kernel::schedule::primitives
