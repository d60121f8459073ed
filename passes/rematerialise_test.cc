#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/plan_memory.h"
#include "passes/rematerialise/tasks.h"
#include "passes/runner.h"
#include "passes/within_memory.h"

namespace relay::passes::rematerialise {
namespace {

// Tasks there and back: task i of the way back reads what task i of the way there reads.
Tasks chain(const std::vector<uint64_t>& bytes, const std::vector<double>& costs) {
  const auto n = static_cast<uint32_t>(bytes.size());
  Tasks out;
  for (uint32_t i = 0; i < n; ++i) {
    Task task{.writes = {i}, .cost = costs[i]};
    if (i > 0) task.reads = {i - 1};
    out.all.push_back(task);
    out.bytes.push_back(bytes[i]);
  }
  out.all.push_back({.reads = {n - 1}, .writes = {n}});  // the loss
  out.bytes.push_back(0);
  for (uint32_t i = n; i-- > 0;) {
    out.all.push_back({.reads = {i, static_cast<uint32_t>(out.bytes.size() - 1)},
                       .writes = {static_cast<uint32_t>(out.bytes.size())}});
    out.bytes.push_back(i == 0 ? 0 : 64);
  }
  return out;
}

Order all_once(const Tasks& tasks) {
  Order out(tasks.all.size());
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

// Does each task read what was written before, and is each task run?
bool is_whole(const Tasks& tasks, const Order& order) {
  std::set<uint32_t> written, ran(order.begin(), order.end());
  for (uint32_t i : order) {
    for (uint32_t v : tasks.all[i].reads) {
      if (!written.contains(v)) return false;
    }
    written.insert(tasks.all[i].writes.begin(), tasks.all[i].writes.end());
  }
  return ran.size() == tasks.all.size();
}

// The least extra cost of a chain within the limit, found by trying all that may be done next:
// whatever is in memory may be dropped, and each task of the way there may run if it can.
double least_cost(const Tasks& tasks, size_t there, uint64_t limit) {
  using State =
      std::pair<size_t, std::set<uint32_t>>;  // tasks of the given order that ran, what is in memory
  std::map<State, double> known;
  std::set<std::pair<double, State>> pending{{0.0, {0, {}}}};
  const auto bytes = [&](const std::set<uint32_t>& values) {
    uint64_t out = 0;
    for (uint32_t v : values) out += tasks.bytes[v];
    return out;
  };
  while (!pending.empty()) {
    const auto [cost, state] = *pending.begin();
    pending.erase(pending.begin());
    if (!known.emplace(state, cost).second) continue;
    const auto& [done, here] = state;
    if (done == tasks.all.size()) return cost;
    const auto try_task = [&](size_t i, bool again) {
      const Task& task = tasks.all[i];
      for (uint32_t v : task.reads) {
        if (!here.contains(v)) return;
      }
      std::set<uint32_t> now = here;
      now.insert(task.writes.begin(), task.writes.end());
      if (bytes(now) + task.temporaries > limit) return;
      pending.insert({cost + (again ? task.cost : 0), {again ? done : done + 1, now}});
    };
    try_task(done, false);
    for (size_t i = 0; i < std::min(done, there); ++i) try_task(i, true);
    for (uint32_t v : here) {
      std::set<uint32_t> now = here;
      now.erase(v);
      pending.insert({cost, {done, now}});
    }
  }
  return -1;
}

TEST(Rematerialise, PeakCountsEachLife) {
  const Tasks tasks = chain({64, 128, 256}, {1, 1, 1});
  EXPECT_EQ(peak(tasks, all_once(tasks)), 64u + 128 + 256 + 64);
  // The first value is written twice, and is not in memory between.
  EXPECT_EQ(peak(tasks, {0, 1, 2, 3, 4, 5, 0, 6}), 64u + 128 + 256 + 64 - 64);
  EXPECT_EQ(extra_cost(tasks, {0, 1, 2, 3, 4, 5, 0, 6}), 1);
}

// An order is found wherever there is one. Its cost is the least of those that keep what they keep
// until it was used; in a few cases it pays to forget a value, compute it, and forget it again.
TEST(Rematerialise, StagesCostTheLeastOnChains) {
  std::mt19937 random(1);
  size_t compared = 0, recomputed = 0, optimal = 0;
  for (int round = 0; round < 60; ++round) {
    const size_t n = 2 + random() % 4;
    std::vector<uint64_t> bytes;
    std::vector<double> costs;
    for (size_t i = 0; i < n; ++i)
      bytes.push_back(64 * (1 + random() % 3)), costs.push_back(1.0 + random() % 5);
    const Tasks tasks = chain(bytes, costs);
    const uint64_t whole = peak(tasks, all_once(tasks));
    for (uint64_t limit = 128; limit < whole; limit += 64) {
      const double least = least_cost(tasks, n + 1, limit);
      const std::optional<Order> found = recompute_stages(tasks, n + 1, limit);
      ASSERT_EQ(found.has_value(), least >= 0) << "round " << round << ", limit " << limit;
      if (!found) continue;
      EXPECT_TRUE(is_whole(tasks, *found));
      EXPECT_LE(peak(tasks, *found), limit);
      EXPECT_GE(extra_cost(tasks, *found), least) << "round " << round << ", limit " << limit;
      optimal += extra_cost(tasks, *found) == least;
      ++compared;
      recomputed += least > 0;
    }
  }
  EXPECT_GE(optimal * 100, compared * 95) << optimal << " of " << compared;
  EXPECT_GT(compared, 100u);
  EXPECT_GT(recomputed, 80u);
}

TEST(Rematerialise, GreedyStaysWithinTheLimit) {
  std::mt19937 random(2);
  size_t found_some = 0;
  for (int round = 0; round < 200; ++round) {
    // Any dataflow: each task reads some of the values before it.
    Tasks tasks;
    const uint32_t n = 4 + random() % 30;
    for (uint32_t i = 0; i < n; ++i) {
      std::set<uint32_t> reads;
      for (uint32_t k = random() % 3; i > 0 && k-- > 0;) reads.insert(random() % i);
      tasks.all.push_back({.reads = {reads.begin(), reads.end()},
                           .writes = {i},
                           .temporaries = 64 * (random() % 2),
                           .cost = 1.0 + random() % 9});
      tasks.bytes.push_back(random() % 6 == 0 ? 0 : 64 * (1 + random() % 4));
    }
    tasks.bytes.back() = 0;
    const uint64_t whole = peak(tasks, all_once(tasks));
    for (uint64_t limit : {whole, whole * 3 / 4, whole / 2}) {
      uint64_t looks = 1'000'000;
      const std::optional<Order> found = recompute_greedily(tasks, limit, looks);
      if (!found) continue;
      EXPECT_TRUE(is_whole(tasks, *found));
      EXPECT_LE(peak(tasks, *found), limit);
      EXPECT_LE(extra_cost(tasks, *found), [&] {
        double all = 0;
        for (const Task& t : tasks.all) all += t.cost;
        return all;
      }());
      found_some += limit < whole;
    }
    const Order tape = as_tape(tasks);
    EXPECT_EQ(tape.size(), tasks.all.size());
    EXPECT_TRUE(is_whole(tasks, tape));
  }
  EXPECT_GT(found_some, 50u);
}

// A value is forgotten at each task, and every value that is kept is looked at for it.
TEST(Rematerialise, GreedyLooksNoMoreThanItMay) {
  const Tasks tasks = chain(std::vector<uint64_t>(2000, 64), std::vector<double>(2000, 1));
  const uint64_t whole = peak(tasks, all_once(tasks));
  uint64_t looks = 1000;
  EXPECT_FALSE(recompute_greedily(tasks, whole / 2, looks));
  EXPECT_EQ(looks, 0u);
  looks = 1'000'000'000;
  EXPECT_TRUE(recompute_greedily(tasks, whole * 3 / 4, looks));
  EXPECT_LT(looks, 1'000'000'000u - 1000);
}

// A value that is replaced takes no second place, unless somebody reads it later.
TEST(Rematerialise, PeakCountsWhatIsReplacedOnce) {
  Tasks tasks{{{.writes = {0}},
               {.reads = {0}, .writes = {1}, .temporaries = 10, .replaces = {{1, 0}}},
               {.reads = {1}, .writes = {2}}},
              {100, 100, 0}};
  EXPECT_EQ(peak(tasks, all_once(tasks)), 110u);
  tasks.all[2].reads = {0, 1};
  EXPECT_EQ(peak(tasks, all_once(tasks)), 210u);
}

// Task 1 has no room beside what it reads: it replaces that, which is computed again for task 2.
TEST(Rematerialise, GreedyReplacesWhatIsNeededAgain) {
  const Tasks tasks{{{.writes = {0}, .cost = 1},
                     {.reads = {0}, .writes = {1}, .temporaries = 50, .cost = 1, .replaces = {{1, 0}}},
                     {.reads = {0, 1}, .writes = {2}, .cost = 1}},
                    {100, 100, 0}};
  uint64_t looks = 1000;
  const std::optional<Order> found = recompute_greedily(tasks, 200, looks);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, (Order{0, 1, 0, 2}));
  EXPECT_LE(peak(tasks, *found), 200u);
  EXPECT_FALSE(recompute_greedily(tasks, 199, looks)) << "task 2 reads both";
  Tasks apart = tasks;
  apart.all[1].replaces.clear();
  EXPECT_FALSE(recompute_greedily(apart, 200, looks));
}

TEST(Rematerialise, TrapsKeepTheirOrder) {
  Tasks tasks = chain({64, 64, 64, 64}, {1, 1, 1, 1});
  for (uint32_t i : {1u, 5u, 7u}) tasks.all[i].may_trap = true;
  const Order tape = as_tape(tasks);
  std::vector<uint32_t> traps;
  for (uint32_t i : tape) {
    if (tasks.all[i].may_trap) traps.push_back(i);
  }
  EXPECT_EQ(traps, (std::vector<uint32_t>{1, 5, 7}));
}

// Networks with their gradients: the interpreter gives the same bits after the pass, and the plan
// is within the limit, or the pass says that it is not.
TEST(Rematerialise, NetworksMeanTheSameWithinTheLimit) {
  const char* const kNetworks[] = {
      "def @main(%x: Tensor[(8, 4), float32], %w: Tensor[(4, 4), float32], %v: Tensor[(4, 4), float32]) {\n"
      "  let %a = tanh(nn.dense(%x, %w)); let %b = tanh(nn.dense(%a, %v)); let %c = tanh(nn.dense(%b, %w));\n"
      "  mean(tanh(nn.dense(%c, %v)) * %a)\n}",
      "def @main(%x: Tensor[(2, 1, 8, 8), float32], %k: Tensor[(4, 1, 3, 3), float32], %l: Tensor[(4, 4, 3, "
      "3), float32]) {\n"
      "  let %a = nn.relu(nn.conv2d(%x, %k, padding=[1, 1])); let %b = nn.max_pool2d(%a, pool_size=[2, 2], "
      "strides=[2, 2]);\n"
      "  mean(nn.relu(nn.conv2d(%b, %l, padding=[1, 1])))\n}",
  };
  for (const char* network : kNetworks) {
    Diagnostics diagnostics;
    Result<Module> parsed = parse("test.relay", network, diagnostics, op::operators());
    ASSERT_TRUE(parsed) << diagnostics.render({});
    const Result<Module> gradient = run_pipeline(*parsed, "gradient", {}, diagnostics);
    ASSERT_TRUE(gradient);
    const Result<Module> lowered = run_pipeline(*gradient, default_pipeline(1), {}, diagnostics);
    ASSERT_TRUE(lowered) << diagnostics.render({});
    const uint64_t whole = plan_memory(*lowered, "main", diagnostics)->workspace_bytes;
    std::mt19937 random(3);
    RunnerOptions options{.verify = Verify::kSemantics};
    for (const Var* p : lowered->function("main")->params) {
      Tensor t(p->type->as<TensorType>()->dtype, *p->type->as<TensorType>()->static_shape());
      for (int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(random() % 9) / 8 - 0.5);
      options.sample_inputs.push_back(Value(t));
    }
    size_t smaller = 0;
    for (uint64_t percent : {100, 90, 80, 70, 60, 50, 10}) {
      const uint64_t limit = whole * percent / 100;
      Diagnostics refused;
      const Result<Module> out =
          run_pipeline(*lowered, cat("rematerialise{limit=", limit, "}"), options, refused);
      if (!out) {
        EXPECT_EQ(refused.all().front().slug(), Slug("limit-memory")) << refused.render({});
        continue;
      }
      const uint64_t planned = plan_memory(*out, "main", diagnostics)->workspace_bytes;
      EXPECT_LE(planned, limit);
      smaller += planned < whole;
    }
    EXPECT_GT(smaller, 0u) << network;
  }
}

TEST(WithinMemory, SumsAreShortUnlessThePipelineSaysHowLong) {
  const auto first_step = [](std::string_view text) {
    Diagnostics diagnostics;
    Result<Pipeline> pipeline = parse_pipeline(text, diagnostics);
    EXPECT_TRUE(pipeline) << text;
    return pipeline ? show(within_memory(*pipeline, 1 << 20).front()) : std::string();
  };
  EXPECT_EQ(first_step("fuse"), "fuse{addends=2}");
  for (const char* said : {"fuse{addends=0}", "fuse{addends=1}", "fuse{addends=8}"})
    EXPECT_EQ(first_step(said), said);
}

}  // namespace
}  // namespace relay::passes::rematerialise
