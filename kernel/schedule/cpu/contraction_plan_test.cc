// Tiles of contractions follow from the processor's numbers, not from the length of its vectors.
#include "kernel/schedule/cpu/contraction_plan.h"

#include "kernel/schedule/testing.h"

namespace relay::kernel::schedule::cpu {
namespace {

class ContractionPlanTest : public ScheduleTest {
 protected:
  // Of 120 rows and 192 columns, which are read where they are.
  ContractionPlan plan(const target::Cpu& cpu) {
    Builder k(pool_);
    const Tensor a = k.input("a", kFloat32, {index(120), index(64)}),
                 b = k.input("b", kFloat32, {index(64), index(192)});
    const Tensor y = k.reduce("y", kFloat32, {index(120), index(192)}, {index(64)}, k.sum(kFloat32),
                              [&](Indices i, Indices r) { return a(i[0], r[0]) * b(r[0], i[1]); });
    const auto plan = find_contraction_plan(stages_of(k.finish("product", "", {y}))[0], cpu);
    EXPECT_TRUE(plan);
    return plan.value_or(ContractionPlan{});
  }
  // Sums, the columns of an operand, and an element of the other.
  static int64_t registers(const ContractionPlan& p) {
    return p.tile_rows * p.tile_vectors + p.tile_vectors + 1;
  }
};

TEST_F(ContractionPlanTest, ATileTakesTheRegistersThatThereAre) {
  for (const char* name : {"sse2", "avx2", "avx512", "aarch64"}) {
    const target::Cpu cpu = target::target_of(name).cpu;
    EXPECT_LE(registers(plan(cpu)), cpu.vector_registers) << name;
  }
  const target::Cpu sse = target::target_of("sse2").cpu, neon = target::target_of("aarch64").cpu;
  ASSERT_EQ(sse.lanes(), neon.lanes());
  ASSERT_LT(sse.vector_registers, neon.vector_registers);
  EXPECT_GT(registers(plan(neon)), sse.vector_registers)
      << "its vectors are as short, and it has more of them";
}

}  // namespace
}  // namespace relay::kernel::schedule::cpu
