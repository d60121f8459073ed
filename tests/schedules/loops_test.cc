// split, fuse, reorder, parallel, vectorize, unroll, bind.
#include "tests/schedules/common.h"

namespace relay::kernel::schedule::primitives {
namespace {

class Loops : public SchedulePrimitives {};

TEST_F(Loops, SplitWithoutRemainder) {
  const std::string text = done(make().layer(), {"split dense.2 3"});
  expect_text(text, "for r0_outer in 2:\n        for r0_inner in 3:");
  EXPECT_EQ(text.find("where"), std::string::npos) << text;
}
TEST_F(Loops, SplitWithARemainderGetsAPredicate) {
  expect_text(done(make().layer(), {"split dense.0 4"}), "where 4*i0_outer + i0_inner < 7");
}
TEST_F(Loops, SplitTwice) { done(make().layer(), {"split dense.0 4", "split dense.1 3", "split dense.4 4"}); }
TEST_F(Loops, SplitRefuses) {
  refused(make().layer(), {"split dense.3 4"}, "block `dense` stands in 3 loops, and loop 3 was asked for");
  refused(make().layer(), {"split other.0 4"}, "there is no block `other`");
  refused(make().layer(), {"split dense.0 0"}, "a loop cannot be split by 0");
  refused(make().layer(), {"parallel dense.0", "split dense.0 2"}, "only serial loops are split");
}

TEST_F(Loops, FuseAndSplitAgain) {
  expect_text(done(make().layer(), {"fuse dense.0"}), "for i0_i1 in 35:");
  done(make().layer(), {"fuse relu.0", "split relu.0 4", "vectorize relu.1"});
  done(make().layer(), {"split dense.1 2", "fuse dense.1"});
}
TEST_F(Loops, FuseRefuses) {
  refused(make().layer(), {"fuse dense.2"}, "loop `r0` contains more than one loop");
  refused(make().layer(), {"unroll dense.1", "fuse dense.0"}, "only serial loops are fused");
}

TEST_F(Loops, Reorder) {
  expect_text(done(make().layer(), {"reorder dense 2 0 1"}),
              "for r0 in 6:\n    for i0 in 7:\n      for i1 in 5:");
  done(make().layer(), {"split dense.2 3", "reorder dense 3 2"});
  done(make().running_sum(), {"reorder sums_init 1 0"});
}
TEST_F(Loops, ReorderRefuses) {
  refused(make().running_sum(), {"reorder sums 1 0"}, "block `sums` depends on the order of its steps");
  refused(make().layer(), {"reorder dense 0 3"}, "block `dense` stands in 3 loops");
  refused(make().layer(), {"reorder dense 1 1"}, "loop 1 is named twice");
  refused(make().layer(), {"decompose_reduction dense.1", "reorder dense 2 1 0"},
          "loop `i0` contains more than one loop");
}

TEST_F(Loops, ParallelVectorizeUnroll) {
  const std::string text =
      done(make().layer(), {"parallel dense.0", "unroll dense.2", "parallel relu.0", "vectorize relu.1"});
  expect_text(text, "parallel for i0 in 7:");
  expect_text(text, "unrolled for r0 in 6:");
  expect_text(text, "vectorized for i1 in 5:");
}
TEST_F(Loops, ParallelRefuses) {
  refused(make().layer(), {"parallel dense.2"}, "block `dense` reduces over the loop");
  refused(make().layer(), {"parallel dense.0", "parallel dense.1"}, "loop `i0` is parallel already");
  refused(make().stencil(), {"compute_at twice pairs.0", "parallel pairs.0"},
          "iterations overlap in what they write of `twice`");
}
TEST_F(Loops, VectorizeRefuses) {
  refused(make().layer(), {"vectorize dense.2"}, "block `dense` reduces over the loop");
  refused(make().layer(), {"vectorize dense.1"}, "the loop contains loops");
  refused(make().unknown_size(), {"vectorize y.1"}, "the extent n is not constant");
  refused(make().unknown_size(), {"unroll y.1"}, "the extent n is not constant");
}

TEST_F(Loops, Bind) {
  expect_text(done(make().layer(), {"bind dense.0 block_x", "bind dense.1 thread_x", "bind relu.0 block_x",
                                    "bind relu.1 thread_x"}),
              "block.x for i0 in 7:\n    thread.x for i1 in 5:\n      for r0 in 6:");
  done(make().chain(), {"split a.1 4", "bind a.0 block_y", "bind a.1 block_x", "bind a.2 thread_z"});
}
TEST_F(Loops, BindRefuses) {
  refused(make().layer(), {"bind dense.3 block_x"},
          "block `dense` stands in 3 loops, and loop 3 was asked for");
  refused(make().layer(), {"bind dense.2 thread_x"}, "block `dense` reduces over the loop");
  refused(make().layer(), {"parallel dense.0", "bind dense.0 block_x"}, "loop `i0` is not serial");
  refused(make().layer(), {"parallel dense.0", "bind dense.1 thread_x"},
          "loop `i0` around it runs in parallel already");
  refused(make().layer(), {"bind dense.0 thread_x", "bind dense.1 thread_x"},
          "loop `i0` is bound to the same index");
  refused(make().layer(), {"bind dense.1 thread_x", "bind dense.0 thread_x"},
          "loop `i1` is bound to the same index");
  refused(make().layer(), {"bind dense.0 thread_x", "bind dense.1 block_x"},
          "blocks of threads would start inside of a thread");
  refused(make().stencil(), {"compute_at twice pairs.0", "bind pairs.0 block_x"},
          "iterations overlap in what they write of `twice`");
}

}  // namespace
}  // namespace relay::kernel::schedule::primitives
