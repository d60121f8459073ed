// set_scope, storage_align, transform_layout.
#include "tests/schedules/common.h"

namespace relay::kernel::schedule::primitives {
namespace {

class Buffers : public SchedulePrimitives {};

TEST_F(Buffers, SetScope) {
  // Around all that mentions it; inside of the loop, once each iteration fills what it
  // reads; and back again.
  expect_text(done(make().chain(), {"set_scope a local"}), "local a: float32[6, 8]\n  for i0 in 6:");
  expect_text(done(make().chain(), {"compute_at a b.0", "set_scope a shared"}),
              "for i0 in 6:\n    shared a: float32[6, 8]\n");
  expect_text(done(make().layer(), {"cache_write dense.0", "set_scope dense_local global"}),
              "temporary dense_local: float32[5]");
  done(make().layer(), {"cache_write dense.0", "set_scope dense_local shared"});
  // What an iteration fills under a predicate may be of an earlier one: around the loop.
  expect_text(done(make().chain(), {"compute_at a b.0", "split a.1 3", "set_scope a shared"}),
              "  shared a: float32[6, 8]\n  for i0 in 6:");
}
TEST_F(Buffers, SetScopeRefuses) {
  refused(make().chain(), {"set_scope d local"}, "there is no buffer `d`");
  refused(make().chain(), {"set_scope x local"}, "callers know where `x` is");
  refused(make().chain(), {"set_scope c local"}, "callers know where `c` is");
  refused(make().chain(), {"set_scope a global"}, "`a` is global already");
  refused(make().unknown_size(), {"set_scope t local"}, "`t` is of no constant size");
  refused(make().chain(600, 500), {"set_scope a local"}, "`a` is larger than 1048576 bytes");
  refused(make().chain(), {"bind b.1 thread_x", "set_scope a local"},
          "the iterations of `i1` could not share `a`");
  refused(make().chain(), {"bind b.0 block_x", "set_scope a shared"},
          "the iterations of `i0` could not share `a`");
  refused(make().layer(), {"cache_write dense.0", "parallel dense.0", "set_scope dense_local global"},
          "the iterations of `i0` would share `dense_local`");
}

TEST_F(Buffers, StorageAlign) {
  expect_text(done(make().chain(), {"storage_align a 0 16 0"}), "temporary a: float32[6, 8] strides [16, 1]");
  expect_text(done(make().chain(), {"storage_align a 0 4 1"}), "temporary a: float32[6, 8] strides [9, 1]");
  expect_text(
      done(make().layer(), {"split dense.0 4", "cache_write dense.0", "storage_align dense_local 0 8 0",
                            "decompose_reduction dense.2", "vectorize dense_copy.2"}),
      "local dense_local: float32[4, 5] strides [8, 1]");
  expect_text(done(make().packed_product(kFloat32, kFloat32, kFloat32, 4),
                   {"cache_read y.0 b local", "storage_align b_cache 1 8 0", "storage_align b_cache 0 1 0"}),
              "strides [256, 8, 1]");
}
TEST_F(Buffers, StorageAlignRefuses) {
  refused(make().chain(), {"storage_align d 0 16 0"}, "there is no buffer `d`");
  refused(make().chain(), {"storage_align x 0 16 0"}, "callers know how `x` lies in memory");
  refused(make().chain(), {"storage_align c 0 16 0"}, "callers know how `c` lies in memory");
  refused(make().chain(), {"storage_align a 1 16 0"}, "dim 1 of `a` has no dim inside of it: it has rank 2");
  refused(make().chain(), {"storage_align a 0 0 0"}, "a stride cannot be a multiple of 0 (at most 65536)");
  refused(make().chain(), {"storage_align a 0 16 16"}, "the offset 16 is not below the factor 16");
  refused(make().unknown_size(), {"storage_align t 0 16 0"},
          "the extent of what is inside of dim 0 of `t` is not constant");
  refused(make().packed_product(kFloat32, kFloat32, kFloat32, 4),
          {"cache_read y.0 b local", "storage_align b_cache 0 200 0", "storage_align b_cache 1 8 0"},
          "dim 0 of `b_cache` is aligned already: align inner dims first");
}

TEST_F(Buffers, TransformLayout) {
  expect_text(done(make().chain(), {"transform_layout a 1 0"}), "temporary a: float32[8, 6]");
  const std::string text =
      done(make().chain(), {"transform_layout a 1/4 0 1%4", "split b.1 4", "vectorize b.2"});
  expect_text(text, "temporary a: float32[2, 6, 4]");
  expect_text(text, "a[vi1 // 4, vi0, vi1 % 4] = x[vi0, vi1] + 1f");
  // A factor that does not divide leaves places that nothing reads.
  expect_text(done(make().chain(), {"transform_layout a 0/4 1 0%4", "storage_align a 0 64 0"}),
              "temporary a: float32[2, 8, 4] strides [64, 4, 1]");
}
TEST_F(Buffers, TransformLayoutRefuses) {
  const std::string_view once = "dim 1 of `a` must stand there once as 1, or once as 1/F and once as 1%F";
  refused(make().chain(), {"transform_layout d 0 1"}, "there is no buffer `d`");
  refused(make().chain(), {"transform_layout c 1 0"}, "callers know how `c` lies in memory");
  refused(make().chain(), {"transform_layout a 0"}, once);
  refused(make().chain(), {"transform_layout a 0 1 1"}, once);
  refused(make().chain(), {"transform_layout a 0 1/4"}, once);
  refused(make().chain(), {"transform_layout a 0 1/4 1%2"}, once);
  refused(make().chain(), {"transform_layout a 0 1/4 1/4"}, once);
  refused(make().chain(), {"transform_layout a 0 1/0 1%0"}, "dim 1 cannot be divided by 0");
  refused(make().chain(), {"transform_layout a 0 1 2"}, "`a` has no dim 2: it has rank 2");
  refused(make().chain(), {"storage_align a 0 16 0", "transform_layout a 1 0"},
          "`a` has strides: align it afterwards");
}

TEST_F(Buffers, WhatIsPrefetchedMovesWithThem) {
  Kernel k = make().chain();
  const Block* b = find_block(k.body, "b");
  const std::vector<const For*> loops = loops_around(k.body, b);
  Arena& arena = pool().arena();
  const Stmt fetch = make_prefetch(arena, find_buffer(k, "a"), {loops[0]->var, loops[1]->var + 1});
  k.body = replace(arena, k.body, b, make_sequence(arena, {fetch, b}));
  expect_text(done(k, {"storage_align a 0 16 0"}), "prefetch a[i0, i1 + 1]");
  expect_text(done(k, {"transform_layout a 1 0"}), "prefetch a[i1 + 1, i0]");
  // Local buffers are at hand, and what is not there cannot be fetched.
  expect_no_text(done(k, {"set_scope a local"}), "prefetch");
  expect_no_text(done(k, {"compute_inline a"}), "prefetch");
}

}  // namespace
}  // namespace relay::kernel::schedule::primitives
