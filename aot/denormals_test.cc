// Artifacts and denormals: what a run does with them, on which threads, and what it leaves of the
// caller's control word.
#include "runtime/denormals.h"

#include <fenv.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "aot/artifact_testing.h"

namespace relay::aot {
namespace {

constexpr float kTiny = 0x1p-129f;  // denormal

// One output that is a sum, for each element by itself, in a loop that threads share; and integers,
// whose division traps.
const Compiled& doubling() {
  static const Compiled c(R"(
def @main(%x: Tensor[(4, 64), float32], %n: Tensor[(8), int32]) {
  (add(%x, %x), floor_divide(%n, tensor([0, 1, 2, 3, 4, 5, 6, 7], int32) + %n))
}
)",
                          {});
  return c;
}
// The same with a choice, so that it is functions over values and no plan.
const Compiled& choosing() {
  static const Compiled c(R"(
def @main(%x: Tensor[(4, 64), float32], %n: Tensor[(8), int32]) {
  if (greater(sum(%n), 0)) { (add(%x, %x), floor_divide(%n, tensor([0, 1, 2, 3, 4, 5, 6, 7], int32) + %n)) }
  else { (%x, %n) }
}
)",
                          {});
  return c;
}

// Runs the model on denormals and expects the result everywhere.
void expect_everywhere(const Compiled& c, relay_open_options options, float want) {
  Opened r(c, options);
  ASSERT_EQ(r.status, RELAY_OK) << r.error;
  r.x.assign(r.x.size(), kTiny);
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  for (size_t i = 0; i < r.y.size(); ++i) ASSERT_EQ(r.y[i], want) << i;
}

TEST(Denormals, AreFlushedUnlessTheModelIsOpenedOtherwise) {
  for (const Compiled* c : {&doubling(), &choosing()}) {
    for (uint32_t threads : {1u, 3u}) {
      expect_everywhere(*c, {.threads = threads}, 0);
      expect_everywhere(*c, {.threads = threads, .denormals = RELAY_DENORMALS_FLUSH}, 0);
      expect_everywhere(*c, {.threads = threads, .denormals = RELAY_DENORMALS_KEEP}, kTiny + kTiny);
    }
  }
}

TEST(Denormals, AsCompiledUnlessSaidOtherwise) {
  EmitOptions keep;
  keep.denormals = Denormals::kKeep;
  const Compiled c(
      "def @main(%x: Tensor[(4, 64), float32], %n: Tensor[(8), int32]) { (add(%x, %x), %n + %n) }", keep);
  expect_everywhere(c, {}, kTiny + kTiny);
  expect_everywhere(c, {.denormals = RELAY_DENORMALS_FLUSH}, 0);
  Opened r(c);
  EXPECT_NE(std::string(r.api->model_describe(r.model)).find(R"("denormals":"keep")"), std::string::npos);
}

TEST(Denormals, TheControlWordIsTheCallersAgain) {
  for (const Compiled* c : {&doubling(), &choosing()}) {
    for (const Denormals before : {Denormals::kKeep, Denormals::kFlush}) {
      for (const uint32_t said : {RELAY_DENORMALS_KEEP, RELAY_DENORMALS_FLUSH}) {
        const DenormalsScope caller(before);
        const uint64_t word = control_word();
        Opened r(*c, {.denormals = said});
        EXPECT_EQ(r.go(), RELAY_OK) << r.said();
        EXPECT_EQ(control_word(), word);
        r.n[0] = 0;
        EXPECT_EQ(r.go(), RELAY_TRAP);
        EXPECT_EQ(control_word(), word) << "after a trap";
        r.in[0].ndim = 1;
        EXPECT_EQ(r.go(), RELAY_USAGE);
        EXPECT_EQ(control_word(), word) << "after a refusal";
      }
    }
  }
}

// A caller may round upwards, and may have asked for a signal where a number is divided by 0: a run
// gives the same bits, and comes back.
TEST(Denormals, RoundingAndSignalsOfTheCallerAreNotTheModels) {
  for (const std::string_view choice : {"", "if (greater(sum(%n), 0)) { (%y, %n) } else { (%x, %n) }"}) {
    const Compiled c(cat("def @main(%x: Tensor[(4, 64), float32], %n: Tensor[(8), int32]) {\n",
                         "  let %y = divide(tanh(%x), log(%x) + 3f);\n", choice.empty() ? "(%y, %n)" : choice,
                         "\n}\n"));
    for (const uint32_t threads : {1u, 3u}) {
      Opened r(c, {.threads = threads});  // x[0] is 0
      r.x[1] = -1;
      r.x[2] = INFINITY;
      ASSERT_EQ(r.go(), RELAY_OK) << r.said();
      const std::vector<float> want = r.y;
      EXPECT_TRUE(std::isnan(want[1]));
      const int signals = FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW;
      fenv_t before;
      ASSERT_EQ(fegetenv(&before), 0);
      ASSERT_EQ(fesetround(FE_UPWARD), 0);
      const bool can_trap = feenableexcept(signals) != -1;  // not every ARM processor can
      const relay_status status = r.go();
      const int rounding = fegetround(), enabled = fegetexcept();
      fesetenv(&before);
      EXPECT_EQ(status, RELAY_OK) << r.said();
      EXPECT_EQ(rounding, FE_UPWARD);
      if (can_trap) {
        EXPECT_EQ(enabled, signals);
      }
      EXPECT_EQ(memcmp(r.y.data(), want.data(), want.size() * sizeof want[0]), 0);
    }
  }
}

// Threads of the caller's, which have words of their own.
struct Lent {
  std::mutex mutex;
  std::vector<uint64_t> after;  // the word of each thread when its range is done
};
int32_t run_on_new_threads(void* self, int64_t extent, int32_t (*body)(void*, int64_t, int64_t),
                           void* closure) {
  Lent& lent = *static_cast<Lent*>(self);
  std::vector<std::thread> threads;
  for (int64_t i = 0; i < extent; ++i) {
    threads.emplace_back([&, i] {
      set_control_word(with_denormals(control_word(), Denormals::kKeep));
      body(closure, i, i + 1);
      const std::lock_guard guard(lent.mutex);
      lent.after.push_back(control_word());
    });
  }
  for (std::thread& t : threads) t.join();
  return 0;
}

TEST(Denormals, ThreadsOfTheCallerFlushWhileTheyWorkForARun) {
  // So many elements that the loop is shared.
  const Compiled c("def @main(%x: Tensor[(16, 8192), float32]) { add(%x, %x) }");
  for (const uint32_t said : {RELAY_DENORMALS_FLUSH, RELAY_DENORMALS_KEEP}) {
    Lent lent;
    const relay_parallel parallel = {sizeof parallel, &lent, run_on_new_threads};
    const relay_open_options options = {
        .struct_size = sizeof options, .parallel = &parallel, .denormals = said};
    relay_model* model = nullptr;
    relay_context* context = nullptr;
    ASSERT_EQ(c.api->model_open(&options, &model), RELAY_OK);
    ASSERT_EQ(c.api->context_create(model, &context), RELAY_OK);
    std::vector<float> x(16 * 8192, kTiny), y(x.size(), -1);
    int64_t shape[] = {16, 8192};
    const DLTensor in = {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
    DLTensor out = in;
    out.data = y.data();
    const DLTensor* inputs[] = {&in};
    DLTensor* outputs[] = {&out};
    EXPECT_EQ(c.api->run(context, inputs, 1, outputs, 1), RELAY_OK);
    const float want = said == RELAY_DENORMALS_FLUSH ? 0 : kTiny + kTiny;
    for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], want) << i;
    EXPECT_GT(lent.after.size(), 0u) << "no loop is shared among threads";
    for (const uint64_t word : lent.after) EXPECT_EQ(word & kFlushBits, 0u);
    c.api->context_free(context);
    EXPECT_EQ(c.api->model_close(model), RELAY_OK);
  }
}

TEST(Denormals, AnUnknownWayIsRefused) {
  Opened r(doubling(), {.denormals = 3});
  EXPECT_EQ(r.status, RELAY_USAGE);
  EXPECT_EQ(r.model, nullptr);
  EXPECT_NE(std::string(r.error).find("`denormals` of the options is none of"), std::string::npos) << r.error;
}

// A program that was compiled against a header without the field.
TEST(Denormals, AnOlderProgramGetsWhatWasCompiled) {
  relay_open_options options = {};
  options.struct_size = offsetof(relay_open_options, denormals);
  options.denormals = RELAY_DENORMALS_KEEP;  // memory of its own behind the struct
  relay_model* model = nullptr;
  ASSERT_EQ(doubling().api->model_open(&options, &model), RELAY_OK);
  relay_context* context = nullptr;
  ASSERT_EQ(doubling().api->context_create(model, &context), RELAY_OK);
  Opened r(doubling());
  r.x.assign(r.x.size(), kTiny);
  const DLTensor* inputs[] = {&r.in[0], &r.in[1]};
  DLTensor* outputs[] = {&r.out[0], &r.out[1]};
  EXPECT_EQ(r.api->run(context, inputs, 2, outputs, 2), RELAY_OK);
  EXPECT_EQ(r.y[0], 0);
  r.api->context_free(context);
  r.api->model_close(model);
}

}  // namespace
}  // namespace relay::aot
