// The threads of artifacts: how many there are, when they work, and that they change no result.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include "aot/artifact_testing.h"

namespace relay::aot {
namespace {

TEST(Artifact, ThreadsGiveTheSameBitsAndContextsDoNotDisturbEachOther) {
  Opened one(embedded(), {.threads = 1});
  ASSERT_EQ(one.go(), RELAY_OK);
  Opened three(embedded(), {.threads = 3});
  ASSERT_EQ(three.status, RELAY_OK) << three.error;
  ASSERT_EQ(three.go(), RELAY_OK);
  EXPECT_EQ(one.y, three.y);

  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      Opened mine(embedded());
      relay_context* other = nullptr;  // of a model that others use at the same time
      EXPECT_EQ(three.api->context_create(three.model, &other), RELAY_OK);
      const DLTensor* inputs[] = {&mine.in[0], &mine.in[1]};
      DLTensor* outputs[] = {&mine.out[0], &mine.out[1]};
      for (int i = 0; i < 50; ++i) {
        EXPECT_EQ(three.api->run(other, inputs, 2, outputs, 2), RELAY_OK);
        EXPECT_EQ(mine.y, one.y);
      }
      three.api->context_free(other);
    });
  }
  for (std::thread& t : threads) t.join();
}

TEST(Artifact, AChildAfterForkRunsWithoutTheThreadsOfItsParent) {
  Opened r(embedded(), {.threads = 3});
  ASSERT_EQ(r.go(), RELAY_OK);
  const std::vector<float> want = r.y;
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    r.y.assign(r.y.size(), 0);
    const bool ok = r.go() == RELAY_OK && r.y == want;
    r.api->context_free(r.context);
    _exit(ok && r.api->model_close(r.model) == RELAY_OK ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

// The threads of this process, each with how often it has waited.
std::map<std::string, long> waits_by_thread() {
  std::map<std::string, long> out;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("voluntary_ctxt_switches:"))
        out[task.path().filename()] = std::stol(line.substr(24));
    }
  }
  return out;
}

TEST(Artifact, OneThreadIsTheCallersAndOthersEndWithTheModel) {
  const size_t before = waits_by_thread().size();
  {
    Opened one(embedded(), {.threads = 1});
    ASSERT_EQ(one.go(), RELAY_OK);
    EXPECT_EQ(waits_by_thread().size(), before);
    Opened three(embedded(), {.threads = 3});
    EXPECT_EQ(waits_by_thread().size(), before + 2);
  }
  EXPECT_EQ(waits_by_thread().size(), before);
}

// The signals that a thread of this process does not take, by its number.
uint64_t blocked_signals(const std::string& thread) {
  std::ifstream status("/proc/self/task/" + thread + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigBlk:")) return std::stoull(line.substr(7), nullptr, 16);
  }
  return 0;
}

// A program that waits for SIGTERM with sigwait, or ends a read with SIGALRM, counts on its own
// threads. What a thread does wrong itself is its own, also for who reports crashes.
TEST(Artifact, ThreadsOfAModelTakeNoSignalsOfTheProcess) {
  const auto before = waits_by_thread();
  const uint64_t mine = blocked_signals(std::to_string(getpid()));
  Opened r(embedded(), {.threads = 3});
  EXPECT_EQ(blocked_signals(std::to_string(getpid())), mine);
  int looked_at = 0;
  for (const auto& [thread, waits] : waits_by_thread()) {
    if (before.contains(thread)) continue;
    uint64_t blocked = blocked_signals(thread);
    // The C library blocks all of them until the thread has begun.
    for (int i = 0; i < 1000 && (blocked >> (SIGSEGV - 1) & 1) != 0; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      blocked = blocked_signals(thread);
    }
    for (const int put_off : {SIGTERM, SIGINT, SIGALRM, SIGUSR1, SIGCHLD})
      EXPECT_NE(blocked >> (put_off - 1) & 1, 0u) << put_off;
    for (const int own : {SIGSEGV, SIGFPE, SIGBUS, SIGPROF}) EXPECT_EQ(blocked >> (own - 1) & 1, 0u) << own;
    ++looked_at;
  }
  EXPECT_EQ(looked_at, 2);
}

TEST(Artifact, MoreThreadsThanAnybodyHasAreRefused) {
  const size_t before = waits_by_thread().size();
  Opened r(embedded(), {.threads = 1025});
  EXPECT_EQ(r.status, RELAY_USAGE);
  EXPECT_EQ(r.model, nullptr);
  EXPECT_STREQ(r.error, "`threads` of the options is 1025: at most 1024 may run a model");
  EXPECT_EQ(waits_by_thread().size(), before);
}

TEST(Artifact, WithoutANumberThereAreTheThreadsThatTheModelWasCompiledFor) {
  const size_t before = waits_by_thread().size();
  const Compiled three(kProgram, {.threads = 3});
  {
    Opened r(three);
    EXPECT_EQ(waits_by_thread().size(), before + 2);
  }
  Opened one(three, {.threads = 1});
  EXPECT_EQ(waits_by_thread().size(), before);
}

TEST(Artifact, CompiledForAnyNumberThereIsAThreadForEachCoreThatTheProcessMayUse) {
  const size_t before = waits_by_thread().size();
  std::thread([&] {
    const Compiled many(kProgram, {.threads = 0});
    // Of this thread, and of those that it starts.
    cpu_set_t all, one;
    ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    CPU_ZERO(&one);
    for (int c = 0; CPU_COUNT(&one) == 0; ++c) {
      if (CPU_ISSET(c, &all)) CPU_SET(c, &one);
    }
    {
      Opened r(many);
      EXPECT_EQ(waits_by_thread().size(), before + static_cast<size_t>(CPU_COUNT(&all)));
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    Opened r(many);
    EXPECT_EQ(waits_by_thread().size(), before + 1) << "this thread and no more";
  }).join();
}

// Large enough to be worth threads.
constexpr std::string_view kWideProgram = "def @main(%x: Tensor[(512, 512), float32]) { nn.softmax(%x) }";

struct Wide {
  Compiled compiled{kWideProgram, {}};
  std::vector<float> x = std::vector<float>(512 * 512), y = x;
  int64_t shape[2] = {512, 512};

  Wide() {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 89) / 8;
  }
  // The results of `runs` runs on so many threads; `during` is called between opening and running.
  std::vector<float> run(unsigned threads, int runs = 1, const std::function<void()>& during = [] {}) {
    relay_open_options options = {};
    options.struct_size = sizeof options;
    options.threads = threads;
    relay_model* model = nullptr;
    relay_context* context = nullptr;
    EXPECT_EQ(compiled.api->model_open(&options, &model), RELAY_OK);
    EXPECT_EQ(compiled.api->context_create(model, &context), RELAY_OK);
    DLTensor in = {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0}, out = in;
    out.data = y.data();
    const DLTensor* inputs[] = {&in};
    DLTensor* outputs[] = {&out};
    during();
    for (int i = 0; i < runs; ++i) EXPECT_EQ(compiled.api->run(context, inputs, 1, outputs, 1), RELAY_OK);
    after = waits_by_thread();
    compiled.api->context_free(context);
    EXPECT_EQ(compiled.api->model_close(model), RELAY_OK);
    return y;
  }
  std::map<std::string, long> after;  // the last run
};

TEST(Artifact, TheSameBitsForEveryNumberOfThreads) {
  Wide wide;
  const std::vector<float> one = wide.run(1);
  for (unsigned threads : {2u, 3u, 7u}) EXPECT_EQ(wide.run(threads), one) << threads;
}

// While another model of this process computes, a run keeps to the thread that calls.
TEST(Artifact, ModelsOfOneProcessShareItsCores) {
  Wide wide;
  const std::vector<float> alone = wide.run(1);
  std::map<std::string, long> before;
  const auto worked = [&] {
    long total = 0;
    for (const auto& [thread, waits] : wide.after) total += waits - before[thread];
    return total;
  };
  const auto settle = [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));  // until new threads wait for work
    before = waits_by_thread();
    before.erase(std::to_string(getpid()));
  };
  const auto without_caller = [&] { wide.after.erase(std::to_string(getpid())); };
  EXPECT_EQ(wide.run(3, 5, settle), alone);
  without_caller();
  EXPECT_GE(worked(), 5) << "the threads work where nobody else does";
  const int gate = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(gate, LOCK_EX | LOCK_NB), 0);  // as another model's run does
  EXPECT_EQ(wide.run(3, 5, settle), alone);
  without_caller();
  EXPECT_EQ(worked(), 0);
  close(gate);
}

}  // namespace
}  // namespace relay::aot
