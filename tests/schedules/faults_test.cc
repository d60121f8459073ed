// Faults in scheduled kernels that a validator once accepted: what random_test has found.
#include "tests/schedules/common.h"

namespace relay::kernel::schedule::primitives {
namespace {

class Faults : public SchedulePrimitives {
 protected:
  Kernel scheduled(const Kernel& k, const std::vector<std::string>& steps) {
    Schedule s(k);
    for (const std::string& step : steps) EXPECT_EQ(s.apply(step), "");
    EXPECT_EQ(join(validate(s.kernel()), "\n"), "");
    return s.kernel();
  }
  // The block with some of it changed.
  Kernel with_block(Kernel k, std::string_view name, const std::function<void(Block&)>& change) {
    Block copy = *find_block(k.body, name);
    change(copy);
    Arena& arena = pool().arena();
    k.body = replace(arena, k.body, find_block(k.body, name), arena.make<Block>(copy));
    return k;
  }
  Kernel with_binding(const Kernel& k, std::string_view name, size_t iter, Expr binding) {
    return with_block(k, name, [&](Block& b) {
      std::vector<BlockIter> iters(b.iters.begin(), b.iters.end());
      iters[iter].binding = binding;
      b.iters = pool().arena().list(iters);
    });
  }
};

TEST_F(Faults, ACopyOfOneRowWhereOtherBlocksReadAll) {
  const Kernel k = scheduled(make().chain(), {"compute_inline a", "cache_write c.1"});
  EXPECT_EQ(join(validate(with_binding(k, "c", 0, make().index(0))), "\n"),
            "block `c` is never run with 1 for iterator `vi0`");
}
TEST_F(Faults, AReductionThatLeavesOutAnElement) {
  Kernel k = scheduled(make().row_maximum(), {"decompose_reduction top.0"});
  const For* loop = loops_around(k.body, find_block(k.body, "top"))[0];
  Arena& arena = pool().arena();
  k.body = replace(arena, k.body, loop, make_for(arena, loop->var, make().index(4), loop->how, loop->body));
  EXPECT_EQ(join(validate(k), "\n"), "block `top` is never run with 4 for iterator `vi0`");
}
TEST_F(Faults, AReductionThatLeavesOutOneOfAllElements) {
  Kernel k = scheduled(make().product(4, 8, 4), {"decompose_reduction y.0", "fuse y.0"});
  const For* loop = loops_around(k.body, find_block(k.body, "y"))[0];
  Arena& arena = pool().arena();
  k.body = replace(arena, k.body, loop, make_for(arena, loop->var, make().index(31), loop->how, loop->body));
  EXPECT_EQ(join(validate(k), "\n"), "block `y` is never run with 3, 7, 0 for iterators `vi0`, `vi1`, `vr0`");
}
TEST_F(Faults, AReductionThatLeavesOutStepsOfOneElement) {
  Kernel k = scheduled(make().product(4, 8, 4), {"fuse y.1", "split y.1 5"});
  const For* loop = loops_around(k.body, find_block(k.body, "y"))[1];
  Arena& arena = pool().arena();
  k.body = replace(arena, k.body, loop, make_for(arena, loop->var, make().index(6), loop->how, loop->body));
  EXPECT_EQ(join(validate(k), "\n"), "block `y` is never run with 0, 7, 2 for iterators `vi0`, `vi1`, `vr0`");
}
TEST_F(Faults, AReductionOfWhatIsNotDoneYet) {
  Kernel k = scheduled(make().row_maximum(), {"rfactor top.1", "decompose_reduction top_rf.0"});
  std::vector<Stmt> parts(k.body->as<Seq>()->body.begin(), k.body->as<Seq>()->body.end());
  ASSERT_EQ(parts.size(), 3u);
  std::swap(parts[1], parts[2]);
  k.body = make_sequence(pool().arena(), parts);
  EXPECT_EQ(join(validate(k), "\n"),
            "block `top_rf` writes top_rf[0, 0], which another block has read before the reduction was done");
}
TEST_F(Faults, AStepThatIsDoneTwice) {
  Kernel k = scheduled(make().product(4, 8, 4), {"rfactor y.2", "decompose_reduction y_rf.0"});
  const Block* step = find_block(k.body, "y_rf");
  Arena& arena = pool().arena();
  k.body = replace(arena, k.body, step,
                   make_for(arena, pool().variable("again"), make().index(2), ForKind::kSerial, step));
  EXPECT_EQ(join(validate(k), "\n"), "block `y_rf` does a step of its reduction again");
}
TEST_F(Faults, ABlockWithinABlockThatLeavesOutAnElement) {
  const Kernel k = scheduled(make().row_maximum(), {"split top.0 1", "reorder top 2 0 1", "blockize top.2"});
  const Kernel faulty = with_block(k, "top", [&](Block& b) {
    const Expr row = find_block(k.body, "top_o")->iters[0].var;
    b.predicate = less(row, make().index(4));
  });
  EXPECT_EQ(join(validate(faulty), "\n"), "block `top` is never run with 4 for iterator `vi0`");
}

TEST_F(Faults, ABlockAroundAnInstructionThatLeavesOutAPiece) {
  const Kernel k =
      scheduled(make().product(4, 8, 4),
                {"split y.1 4", "reorder y 1 0 2 3", "decompose_reduction y.1", "tensorize y.1 tile_4x4x4"});
  const Kernel faulty =
      with_block(k, "y_o", [&](Block& b) { b.predicate = less(b.iters[0].binding, make().index(1)); });
  EXPECT_EQ(join(validate(faulty), "\n"), "block `y_o` is never run with 1 for iterator `vi1_o`");
}

}  // namespace
}  // namespace relay::kernel::schedule::primitives
