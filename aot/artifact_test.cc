// Artifacts through their C interface: what relay.h promises to a program that loads one.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "aot/testing.h"
#include "base/cat.h"
#include "base/file.h"
#include "toolchain/subprocess.h"

namespace relay::aot {
namespace {

// Two results, one of which divides integers: 0 among its divisors makes it trap.
constexpr std::string_view kProgram = R"(
def @main(%x: Tensor[(4, 64), float32], %n: Tensor[(8), int32]) {
  (nn.softmax(add(%x, tensor([[0.5]], float32))), floor_divide(%n, tensor([0, 1, 2, 3, 4, 5, 6, 7], int32) + %n))
}
)";
// The same shapes, other weights.
constexpr std::string_view kOtherProgram = R"(
def @main(%x: Tensor[(4, 64), float32], %n: Tensor[(8), int32]) {
  (nn.softmax(add(%x, tensor([[0.25]], float32))), floor_divide(%n, tensor([0, 1, 2, 3, 4, 5, 6, 8], int32) + %n))
}
)";

// Compiled once for all tests: they only load it.
const Compiled& embedded() {
  static const Compiled c(kProgram, {});
  return c;
}
const Compiled& with_file() {
  static const Compiled c(kProgram, {.weights = Weights::kFile});
  return c;
}

// An opened model and the arguments of a run.
struct Opened {
  const relay_api* api;
  relay_model* model = nullptr;
  relay_context* context = nullptr;
  char error[256] = "";
  std::vector<float> x = std::vector<float>(256), y = std::vector<float>(256);
  std::vector<int32_t> n = std::vector<int32_t>(8, 7), q = std::vector<int32_t>(8);
  int64_t x_shape[2] = {4, 64}, n_shape[1] = {8};
  DLTensor in[2] = {}, out[2] = {};

  explicit Opened(const Compiled& c, relay_open_options options = {}) : api(c.api) {
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 64) / 8;
    in[0] = {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, x_shape, nullptr, 0};
    in[1] = {n.data(), {kDLCPU, 0}, 1, {kDLInt, 32, 1}, n_shape, nullptr, 0};
    out[0] = in[0], out[0].data = y.data();
    out[1] = in[1], out[1].data = q.data();
    options.struct_size = sizeof options;
    options.error = error;
    options.error_size = sizeof error;
    status = api->model_open(&options, &model);
    if (status == RELAY_OK) status = api->context_create(model, &context);
  }
  Opened(const Opened&) = delete;
  ~Opened() {
    api->context_free(context);
    EXPECT_EQ(api->model_close(model), RELAY_OK);
  }

  relay_status go() {
    const DLTensor* inputs[] = {&in[0], &in[1]};
    DLTensor* outputs[] = {&out[0], &out[1]};
    return api->run(context, inputs, 2, outputs, 2);
  }
  std::string said() const { return api->error(context); }

  relay_status status;
};

TEST(Artifact, RunsInPlace) {
  Opened r(embedded());
  ASSERT_EQ(r.status, RELAY_OK) << r.error;
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  EXPECT_EQ(r.said(), "");
  for (int row = 0; row < 4; ++row) {
    float sum = 0;
    for (int i = 0; i < 64; ++i) sum += r.y[static_cast<size_t>(row * 64 + i)];
    EXPECT_NEAR(sum, 1, 1e-5);
  }
  EXPECT_EQ(r.q, (std::vector<int32_t>{1, 0, 0, 0, 0, 0, 0, 0}));  // 7 / (7 + i)
}

TEST(Artifact, AnOutputWithoutDataIsHeldByTheContext) {
  Opened r(embedded());
  ASSERT_EQ(r.go(), RELAY_OK);
  for (DLTensor& t : r.out) t = {};
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  ASSERT_EQ(r.out[0].ndim, 2);
  EXPECT_EQ(r.out[0].shape[1], 64);
  EXPECT_EQ(r.out[1].dtype.code, kDLInt);
  EXPECT_EQ(std::memcmp(r.out[0].data, r.y.data(), r.y.size() * sizeof(float)), 0);
}

// C: who calls wrongly is told what is wrong with which tensor, and may call again.
TEST(Artifact, WrongTensorsAreRefused) {
  Opened r(embedded());
  const auto refused = [&](std::string_view why) {
    EXPECT_EQ(r.go(), RELAY_USAGE) << why;
    EXPECT_NE(r.said().find(why), std::string::npos) << r.said();
  };
  const DLTensor x = r.in[0], y = r.out[0];
  int64_t wrong_shape[] = {4, 63}, strides[] = {1, 4};
  r.in[0].shape = wrong_shape;
  refused("input `x` must have shape (4, 64), it has (4, 63)");
  r.in[0] = x, r.in[0].ndim = 1;
  refused("input `x` must have shape (4, 64)");
  r.in[0] = x, r.in[0].ndim = INT32_MIN;
  refused("input `x` must have shape (4, 64)");
  r.in[0] = x, r.in[0].dtype.bits = 64;
  refused("input `x` must be float32");
  r.in[0] = x, r.in[0].dtype.lanes = 2;
  refused("input `x` must be float32");
  r.in[0] = x, r.in[0].strides = strides;
  refused("input `x` is not dense and row-major");
  r.in[0] = x, r.in[0].device.device_type = kDLCUDA;
  refused("input `x` is on device 2");
  r.in[0] = x, r.in[0].data = nullptr;
  refused("input `x` has no data");
  r.in[0] = x, r.in[0].byte_offset = 1;
  refused("input `x` has data that is not aligned");
  r.in[0] = x;
  r.out[0].dtype.code = kDLInt;
  refused("output `output_0` must be float32");
  r.out[0] = y;
  EXPECT_EQ(r.go(), RELAY_OK) << r.said();
}

TEST(Artifact, WrongNumbersOfTensorsAndNullPointersAreRefused) {
  Opened r(embedded());
  const DLTensor* inputs[] = {&r.in[0], nullptr};
  DLTensor* outputs[] = {&r.out[0], &r.out[1]};
  EXPECT_EQ(r.api->run(r.context, inputs, 1, outputs, 2), RELAY_USAGE);
  EXPECT_NE(r.said().find("2 inputs and 2 outputs, 1 and 2 were given"), std::string::npos) << r.said();
  EXPECT_EQ(r.api->run(r.context, inputs, 2, outputs, 2), RELAY_USAGE);
  EXPECT_NE(r.said().find("is null"), std::string::npos) << r.said();
  EXPECT_EQ(r.api->run(r.context, nullptr, 2, outputs, 2), RELAY_USAGE);
  EXPECT_EQ(r.api->run(r.context, inputs, 2, nullptr, 2), RELAY_USAGE);
  EXPECT_EQ(r.api->run(nullptr, inputs, 2, outputs, 2), RELAY_USAGE);
  EXPECT_EQ(r.api->model_open(nullptr, nullptr), RELAY_USAGE);
  EXPECT_EQ(r.api->context_create(nullptr, nullptr), RELAY_USAGE);
  relay_model* model = r.model;
  relay_open_options unset = {};
  EXPECT_EQ(r.api->model_open(&unset, &model), RELAY_USAGE);
  EXPECT_EQ(model, nullptr);
  r.api->context_free(nullptr);
  EXPECT_EQ(r.api->model_close(nullptr), RELAY_OK);
  r.api->cancel(nullptr);
}

TEST(Artifact, ATrapIsReportedAndTheContextLivesOn) {
  Opened r(embedded());
  r.n[3] = -3;
  EXPECT_EQ(r.go(), RELAY_TRAP);
  EXPECT_NE(r.said().find("division by zero"), std::string::npos) << r.said();
  r.n[3] = 7;
  EXPECT_EQ(r.go(), RELAY_OK);
  EXPECT_EQ(r.said(), "");
}

TEST(Artifact, CancelStopsOneRun) {
  Opened r(embedded());
  r.api->cancel(r.context);
  EXPECT_EQ(r.go(), RELAY_CANCELLED);
  EXPECT_EQ(r.said(), "the run was cancelled");
  EXPECT_EQ(r.go(), RELAY_OK);
}

TEST(Artifact, ARunThatMayTakeNoTimeIsTimedOut) {
  Opened r(embedded());
  EXPECT_EQ(r.api->set_timeout(r.context, 1), RELAY_OK);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(r.go(), RELAY_TIMED_OUT);
    EXPECT_EQ(r.said(), "the run took longer than its limit of 1 ns");
  }
  EXPECT_EQ(r.api->set_timeout(r.context, -1), RELAY_USAGE);
  EXPECT_NE(r.said().find("-1 ns"), std::string::npos) << r.said();
  EXPECT_EQ(r.go(), RELAY_TIMED_OUT) << "the limit is as it was";
  // A request to stop is told from the time that is over, and comes first.
  r.api->cancel(r.context);
  EXPECT_EQ(r.go(), RELAY_CANCELLED);
  for (const int64_t enough : {INT64_MAX, int64_t{3600} * 1000000000, int64_t{0}}) {
    EXPECT_EQ(r.api->set_timeout(r.context, enough), RELAY_OK);
    EXPECT_EQ(r.go(), RELAY_OK) << enough << ": " << r.said();
  }
  EXPECT_EQ(r.api->set_timeout(nullptr, 1), RELAY_USAGE);
}

TEST(Artifact, AModelWithContextsIsBusy) {
  Opened r(embedded());
  EXPECT_EQ(r.api->model_close(r.model), RELAY_BUSY);
  EXPECT_EQ(r.go(), RELAY_OK);
}

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

// --- threads -------------------------------------------------------------------------------------

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

TEST(Artifact, MemoryComesFromTheCallerAndGoesBack) {
  Counting memory{-1};
  {
    Opened r(embedded(), {.allocator = &memory.api});
    ASSERT_EQ(r.go(), RELAY_OK);
    const int64_t live = memory.live;
    EXPECT_GT(live, 0);
    ASSERT_EQ(r.go(), RELAY_OK);
    EXPECT_EQ(memory.live, live);  // a run allocates nothing
  }
  EXPECT_EQ(memory.live, 0);
}

TEST(Artifact, WithoutMemoryThereIsALimitAndNoLeak) {
  int refusals = 0;
  for (int nth = 0;; ++nth) {
    Counting memory{nth};
    {
      Opened r(embedded(), {.threads = 2, .allocator = &memory.api});
      for (DLTensor& t : r.out) t = {};
      const relay_status status = r.status == RELAY_OK ? r.go() : r.status;
      if (memory.left >= 0) break;  // the request that was to be refused never came
      EXPECT_EQ(status, RELAY_LIMIT);
      ++refusals;
    }
    EXPECT_EQ(memory.live, 0);
  }
  EXPECT_GE(refusals, 5);  // the model, its threads, a context, two outputs
}

TEST(Artifact, OptionsOfAnOlderProgramAreUnderstood) {
  relay_open_options options = {};
  options.struct_size = offsetof(relay_open_options, weights_path);
  options.threads = 1;
  options.weights_path = "beyond the end of an older structure";
  relay_model* model = nullptr;
  EXPECT_EQ(embedded().api->model_open(&options, &model), RELAY_OK);
  EXPECT_EQ(embedded().api->model_close(model), RELAY_OK);
}

// C: structures begin with their size, also those that options point to.
TEST(Artifact, AllocatorsAndLoopsOfNoVersionAreRefused) {
  const auto refused = [](const relay_open_options& options, std::string_view what) {
    Opened r(embedded(), options);
    EXPECT_EQ(r.status, RELAY_USAGE) << what;
    EXPECT_EQ(r.model, nullptr);
    EXPECT_NE(std::string(r.error).find(what), std::string::npos) << r.error;
  };
  Counting memory{-1};
  relay_allocator allocator = memory.api;
  allocator.struct_size = 0;
  refused({.allocator = &allocator}, "`allocator` of the options is of no version");
  allocator = memory.api, allocator.release = nullptr;
  refused({.allocator = &allocator}, "`allocator` of the options has a function that is null");
  relay_parallel parallel = {sizeof(relay_parallel) - 1, nullptr,
                             [](void*, int64_t extent, int32_t (*body)(void*, int64_t, int64_t),
                                void* closure) { return body(closure, 0, extent); }};
  refused({.parallel = &parallel}, "`parallel` of the options is of no version");
  parallel.struct_size = sizeof parallel, parallel.run = nullptr;
  refused({.parallel = &parallel}, "`parallel` of the options has a function that is null");
  // A later version has more at the end.
  allocator = memory.api, allocator.struct_size += 8;
  Opened r(embedded(), {.allocator = &allocator});
  EXPECT_EQ(r.status, RELAY_OK) << r.error;
  EXPECT_GE(memory.requests, 2);
}

TEST(Artifact, WhyThereIsNoContextIsSaidToTheLog) {
  std::vector<std::string> said;
  relay_open_options options = {};
  options.log_self = &said;
  options.log = [](void* self, relay_log_level level, const char* text) {
    if (level == RELAY_LOG_WARNING) static_cast<std::vector<std::string>*>(self)->push_back(text);
  };
  const Compiled two("def @main(%x: Tensor[(4, 64), float32]) { cumsum(cumsum(%x, axis=0), axis=1) }");
  for (int left : {1, 2}) {  // the model is what is asked for first
    Counting memory{left};
    options.allocator = &memory.api;
    Opened r(two, options);
    EXPECT_EQ(r.status, RELAY_LIMIT);
  }
  ASSERT_EQ(said.size(), 2);
  EXPECT_EQ(said[0], "there is no memory for a context");
  EXPECT_NE(said[1].find("for the workspace of a context ("), std::string::npos) << said[1];
}

TEST(Artifact, LoopsRunOnThreadsOfTheCaller) {
  int calls = 0;
  const relay_parallel backwards = {
      sizeof(relay_parallel), &calls,
      [](void* self, int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) {
        ++*static_cast<int*>(self);
        int32_t status = 0;
        for (int64_t i = extent; i-- > 0;) {
          if (const int32_t s = body(closure, i, i + 1)) status = s;
        }
        return status;
      }};
  Opened ours(embedded()), theirs(embedded(), {.parallel = &backwards});
  ASSERT_EQ(ours.go(), RELAY_OK);
  ASSERT_EQ(theirs.go(), RELAY_OK);
  EXPECT_EQ(ours.y, theirs.y);
}

TEST(Artifact, DescribesItself) {
  Opened r(embedded());
  const nlohmann::json d = nlohmann::json::parse(r.api->model_describe(r.model));
  EXPECT_EQ(d["abi_version"], RELAY_ABI_VERSION);
  EXPECT_EQ(d["inputs"][0], (nlohmann::json{{"name", "x"}, {"dtype", "float32"}, {"dims", {4, 64}}}));
  EXPECT_EQ(d["inputs"][1]["name"], "n");
  EXPECT_EQ(d["outputs"][1]["dims"], nlohmann::json({8}));
  EXPECT_EQ(d["weights"], "embedded");
  const Sources licensed = sources_of(kProgram, {kAnyProcessor}, {.licence = "ours */ \" \\ \n"});
  EXPECT_EQ(nlohmann::json::parse(licensed.description)["licence"], "ours */ \" \\ \n");
  // The page that users read says what each key means.
  std::string page;
  ASSERT_EQ(read_file("docs/artifacts.md", 1 << 20, page), "");
  for (const auto& [key, value] : d.items())
    EXPECT_NE(page.find(cat("`", key, "`")), std::string::npos) << "docs/artifacts.md lacks " << key;
}

// __builtin_cpu_supports takes a literal, and a name that compilers know.
std::string absent_feature() {
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("xop")) return "xop";
  return __builtin_cpu_supports("avx512f") ? "" : "avx512f";
}

TEST(Artifact, AFeatureThatTheProcessorLacksIsNamedWhenTheModelIsOpened) {
  const std::string absent = absent_feature();
  if (absent.empty()) GTEST_SKIP() << "this processor has every feature that is asked for";
  const Compiled c(kProgram, {}, {{"sse2", absent}});
  char error[256] = "";
  relay_open_options options = {};
  options.struct_size = sizeof options;
  options.error = error;
  options.error_size = sizeof error;
  relay_model* model = nullptr;
  EXPECT_EQ(c.api->model_open(&options, &model), RELAY_UNSUPPORTED);
  EXPECT_EQ(model, nullptr);
  EXPECT_NE(std::string(error).find("this processor has no " + absent), std::string::npos) << error;
}

TEST(Artifact, OfSeveralVariantsTheFirstThatTheProcessorCanRunDoes) {
  const std::string absent = absent_feature();
  if (absent.empty()) GTEST_SKIP() << "this processor has every feature that is asked for";
  const Compiled c(kProgram, {}, {{"sse2", absent}, {"sse2", "sse"}, {"sse2"}});
  std::vector<std::string> said;
  relay_open_options options = {};
  options.log_self = &said;
  options.log = [](void* self, relay_log_level, const char* text) {
    static_cast<std::vector<std::string>*>(self)->push_back(text);
  };
  Opened several(c, options), one(embedded());
  ASSERT_EQ(several.status, RELAY_OK) << several.error;
  ASSERT_EQ(several.go(), RELAY_OK);
  ASSERT_EQ(one.go(), RELAY_OK);
  EXPECT_EQ(several.y, one.y);
  EXPECT_EQ(several.q, one.q);
  EXPECT_EQ(said.back(), "runs the code for sse2+sse");
}

TEST(Artifact, VariantsShareTheWeightsThatAreTheSame) {
  const auto bytes = [](const std::vector<std::vector<std::string>>& features) {
    return sources_of(kProgram, features, {}).weights.size();
  };
  EXPECT_EQ(bytes({{"sse2"}}), bytes({{"sse2", "sse"}, {"sse2"}}));
}

TEST(Artifact, WhatOpensAModelRunsOnAnyProcessor) {
  for (const SourceFile& f : sources_of(kProgram, {{"sse2", "sse"}}, {}).files) {
    EXPECT_EQ(f.target.has_value(), f.name.find("kernels_") != std::string::npos) << f.name;
  }
}

// --- weights in a file ---------------------------------------------------------------------------

TEST(Artifact, WeightsAreFoundBesideTheLibraryOrWhereTheCallerSays) {
  Opened a(embedded()), b(with_file());
  ASSERT_EQ(b.status, RELAY_OK) << b.error;
  ASSERT_EQ(a.go(), RELAY_OK);
  ASSERT_EQ(b.go(), RELAY_OK);
  EXPECT_EQ(a.y, b.y);
  TemporaryFolder elsewhere;
  ASSERT_EQ(elsewhere.make(), "");
  const std::string copy = elsewhere.path() + "/w";
  std::filesystem::copy_file(with_file().weights(), copy);
  Opened c(with_file(), {.weights_path = copy.c_str()});
  EXPECT_EQ(c.status, RELAY_OK) << c.error;
  Opened d(embedded(), {.weights_path = copy.c_str()});
  EXPECT_EQ(d.status, RELAY_USAGE);
  EXPECT_NE(std::string(d.error).find("inside its library"), std::string::npos) << d.error;
}

TEST(Artifact, MissingCutAndForeignWeightsAreRefused) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const auto refused = [&](const std::string& path, std::string_view why) {
    Opened r(with_file(), {.weights_path = path.c_str()});
    EXPECT_EQ(r.status, RELAY_BAD_MODEL) << path;
    EXPECT_NE(std::string(r.error).find(path), std::string::npos) << r.error;
    EXPECT_NE(std::string(r.error).find(why), std::string::npos) << r.error;
  };
  refused(folder.path() + "/none", "No such file");
  std::string bytes;
  ASSERT_EQ(read_file(with_file().weights(), 1 << 20, bytes), "");
  const std::string cut = folder.path() + "/cut";
  ASSERT_EQ(write_file_atomically(cut, bytes.substr(0, bytes.size() - 1)), "");
  refused(cut, "bytes, this model's have");
  const Sources other = sources_of(kOtherProgram, {kAnyProcessor}, {.weights = Weights::kFile});
  ASSERT_EQ(other.weights.size(), bytes.size()) << "else the size alone tells them apart";
  const std::string foreign = folder.path() + "/foreign";
  ASSERT_EQ(write_file_atomically(foreign, other.weights), "");
  refused(foreign, "belong to another model");
}

// --- names ---------------------------------------------------------------------------------------

// Kernels that are called like each other, or like what else is in the source.
TEST(Artifact, NamesOfKernelsAreNobodyElses) {
  std::string program, call = "%x";
  int count = 0;
  for (const std::string name : {"`odd name`", "odd_name", "odd_name_messages", "Stop", "relay_model",
                                 "memcpy", "kVariants", "exp", "k0_own"}) {
    program += cat("kernel @", name, R"((x: float32[]) -> (y: float32[]) {
  block b { reads x[]; writes y[]; require(x[] >= 0f, "negative"); y[] = x[] + 1f; }
}
)");
    call = cat("@", name, "(", call, ")");
    ++count;
  }
  const Compiled c(cat(program, "def @main(%x: float32) { ", call, " }\n"));
  Session r(c);
  ASSERT_EQ(r.status, RELAY_OK);
  float x = 3, y = 0;
  const DLTensor in = {&x, {kDLCPU, 0}, 0, {kDLFloat, 32, 1}, nullptr, nullptr, 0};
  DLTensor out = in;
  out.data = &y;
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  EXPECT_EQ(r.api->run(r.context, inputs, 1, outputs, 1), RELAY_OK) << r.said();
  EXPECT_EQ(y, static_cast<float>(3 + count));
}

// --- files ---------------------------------------------------------------------------------------

TEST(Artifact, SameProgramSameBytes) {
  const Sources a = sources_of(kProgram, {kAnyProcessor}, {}), b = sources_of(kProgram, {kAnyProcessor}, {});
  ASSERT_EQ(a.files.size(), b.files.size());
  for (size_t i = 0; i < a.files.size(); ++i) EXPECT_EQ(a.files[i].text, b.files[i].text) << a.files[i].name;
  EXPECT_EQ(a.header, b.header);
  EXPECT_EQ(a.weights, b.weights);
}

TEST(Artifact, TheHeaderIsAllThatAProgramNeeds) {
  const Compiled& c = embedded();
  const std::string header = c.folder.path() + "/model.h";
  for (const char* language : {"c", "c++"}) {
    const auto done = toolchain::run({"cc", "-x", language, language[1] ? "-std=c++11" : "-std=c99", "-Wall",
                                      "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only", header},
                                     c.folder.path(), 60);
    EXPECT_EQ(done.exit_code, 0) << language << ": " << done.output << done.problem;
  }
}

TEST(Artifact, ExportsTheInterfaceAndNeedsTheCLibraryOnly) {
  const Compiled& c = embedded();
  const auto symbols = toolchain::run({"nm", "-D", "--defined-only", "-P", c.path}, "", 60);
  ASSERT_EQ(symbols.exit_code, 0) << symbols.output << symbols.problem;
  std::istringstream lines(symbols.output);
  int exported = 0;
  for (std::string line; std::getline(lines, line); ++exported)
    EXPECT_EQ(line.substr(0, 6), "relay_") << line;
  EXPECT_EQ(exported, 17) << symbols.output;
  const auto head = toolchain::run({"objdump", "-p", c.path}, "", 60);
  ASSERT_EQ(head.exit_code, 0) << head.output << head.problem;
  std::istringstream needs(head.output);
  int needed = 0;
  for (std::string line; std::getline(needs, line);) {
    if (line.find("NEEDED") == std::string::npos) continue;
    ++needed;
    const bool c_library =
        line.find("libc.so") != std::string::npos || line.find("libm.so") != std::string::npos;
    EXPECT_TRUE(c_library) << line;
  }
  EXPECT_GE(needed, 1) << head.output;
}

TEST(Artifact, WeightsThatNoLibraryHoldsAreRefusedBeforeAnythingIsCompiled) {
  EXPECT_EQ(too_large_to_embed(uint64_t{1900} << 20), "");
  Sources sources = sources_of(kProgram, {kAnyProcessor}, {});
  sources.weights_bytes = uint64_t{1} << 31;
  sources.files.push_back({"model.cc", "#error it was compiled"});
  Diagnostics diagnostics;
  EXPECT_FALSE(compile(sources, Weights::kEmbedded, {}, diagnostics).ok());
  ASSERT_EQ(diagnostics.all().size(), 1);
  EXPECT_NE(diagnostics.all()[0].message().find("the weights have 2147483648 bytes"), std::string::npos)
      << diagnostics.all()[0].message();
  EXPECT_NE(diagnostics.render({}).find("--weights-file"), std::string::npos);
}

TEST(Artifact, ALibraryThatCannotBeWrittenLeavesNothingBehind) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const std::string blocked = folder.path() + "/model.so";
  std::filesystem::create_directories(blocked + "/in the way");
  Diagnostics diagnostics;
  EXPECT_FALSE(build(sources_of(kProgram, {kAnyProcessor}, {.weights = Weights::kFile}), Weights::kFile, {},
                     blocked, diagnostics)
                   .ok());
  ASSERT_EQ(diagnostics.all().size(), 1);
  EXPECT_EQ(diagnostics.all()[0].slug().name(), "file-unwritable");
  EXPECT_NE(diagnostics.all()[0].message().find(blocked), std::string::npos)
      << diagnostics.all()[0].message();
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    left.push_back(entry.path().filename());
  EXPECT_EQ(left, std::vector<std::string>{"model.so"});
}

}  // namespace
}  // namespace relay::aot
