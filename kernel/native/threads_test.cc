// Threads of this process: what a range of a loop may rely on.
#include "kernel/native/threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "runtime/denormals.h"

namespace relay::kernel::native {
namespace {

// What each iteration of a loop met.
struct Met {
  std::vector<Denormals> denormals;
  std::vector<std::thread::id> threads;
};

Met met_in_a_loop(const Threads& threads, int64_t extent) {
  Met met{std::vector<Denormals>(static_cast<size_t>(extent)),
          std::vector<std::thread::id>(static_cast<size_t>(extent))};
  const auto body = [](void* closure, int64_t begin, int64_t end) -> int32_t {
    for (int64_t i = begin; i < end; ++i) {
      static_cast<Met*>(closure)->denormals[static_cast<size_t>(i)] = denormals_here();
      static_cast<Met*>(closure)->threads[static_cast<size_t>(i)] = std::this_thread::get_id();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // so that others get ranges too
    return 0;
  };
  EXPECT_EQ(threads.parallel()->run(threads.parallel()->self, extent, body, &met), 0);
  return met;
}

TEST(Threads, EachRangeTreatsDenormalsAsTheCallerDoes) {
  const Threads threads(4);
  bool others_worked = false;
  for (int turn = 0; turn < 20; ++turn) {
    const Denormals wanted = turn % 2 == 0 ? Denormals::kFlush : Denormals::kKeep;
    const DenormalsScope scope(wanted);
    const Met met = met_in_a_loop(threads, 16);
    for (const Denormals d : met.denormals) EXPECT_EQ(d, wanted);
    for (const std::thread::id id : met.threads) others_worked |= id != std::this_thread::get_id();
  }
  EXPECT_TRUE(others_worked);
}

TEST(DenormalsScope, EndsWithTheWordThatWasThere) {
  const uint64_t before = control_word();
  {
    const DenormalsScope flush(Denormals::kFlush);
    EXPECT_EQ(denormals_here(), Denormals::kFlush);
    volatile float tiny = 1e-39f;
    EXPECT_EQ(tiny + tiny, 0.0f);
    {
      const DenormalsScope keep(Denormals::kKeep);
      EXPECT_EQ(denormals_here(), Denormals::kKeep);
      EXPECT_NE(tiny + tiny, 0.0f);
    }
    EXPECT_EQ(denormals_here(), Denormals::kFlush);
  }
  EXPECT_EQ(control_word(), before);
}

}  // namespace
}  // namespace relay::kernel::native
