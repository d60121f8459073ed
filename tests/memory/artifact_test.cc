// Artifacts whose memory comes from the C library, where any request may fail: what relay_allocator
// cannot see, such as what the C library takes for itself, among them.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "aot/testing.h"
#include "tests/memory/allocations.h"
#include "tests/memory/programs.h"

namespace {
bool no_mappings = false;
}
// Of the artifact that is loaded, too.
extern "C" void* mmap(void* address, size_t size, int protection, int flags, int file,
                      off_t offset) noexcept {
  if (no_mappings) return errno = ENOMEM, MAP_FAILED;
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, size, protection, flags, file, offset));
}

namespace relay::tests {
namespace {

using aot::Compiled;

// A list of so many elements is made by calls within calls: more of them than fit the least stack
// that a run may use.
constexpr int32_t kDeep = 20000;

struct Call {
  relay_status status = RELAY_OK;
  int32_t calls = 0;
};

// Opens the model, runs it and closes it, in the memory that there is. Where `again` is given, a
// failed run is repeated in the same context when no more is refused; if there is none, the model
// is opened again.
Call run(const relay_api& api, int32_t n, FailingAllocation* failing, Call* again) {
  relay_model* model = nullptr;
  relay_context* context = nullptr;
  relay_open_options options = {};
  options.struct_size = sizeof options;
  options.threads = 2;
  float x[] = {1, 2, 3}, y[3] = {};
  int64_t three[] = {3};
  const DLTensor in[] = {{x, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, three, nullptr, 0},
                         {&n, {kDLCPU, 0}, 0, {kDLInt, 32, 1}, nullptr, nullptr, 0}};
  const DLTensor* inputs[] = {&in[0], &in[1]};
  const auto go = [&] {
    Call out;
    DLTensor results[] = {{y, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, three, nullptr, 0}, {}};
    DLTensor* outputs[] = {&results[0], &results[1]};
    out.status = api.run(context, inputs, 2, outputs, 2);
    if (out.status == RELAY_OK) out.calls = *static_cast<const int32_t*>(results[1].data);
    return out;
  };
  Call out;
  out.status = api.model_open(&options, &model);
  if (out.status == RELAY_OK) out.status = api.context_create(model, &context);
  if (out.status == RELAY_OK) out = go();
  if (failing != nullptr) failing->end();
  if (again != nullptr) {
    again->status = model != nullptr ? RELAY_OK : api.model_open(&options, &model);
    if (again->status == RELAY_OK && context == nullptr) again->status = api.context_create(model, &context);
    if (again->status == RELAY_OK) *again = go();
  }
  api.context_free(context);
  EXPECT_EQ(api.model_close(model), RELAY_OK);
  return out;
}

TEST(FailingAllocation, OfAnArtifactIsALimit) {
  const Compiled c(kLanguage);
  ASSERT_NE(c.api, nullptr);
  const Call right = run(*c.api, kDeep, nullptr, nullptr);
  ASSERT_EQ(right.status, RELAY_OK);
  ASSERT_EQ(right.calls, kDeep);
  uint64_t k = 1, refused = 1;
  for (const Refuse how : {Refuse::kOne, Refuse::kAllFromThen}) {
    for (k = 1, refused = 1; refused > 0; ++k) {
      const int64_t before = live_blocks();
      {
        Call again;
        FailingAllocation failing(k, how);
        const Call now = run(*c.api, kDeep, &failing, &again);
        refused = failing.end();
        // A request may be one that the C library can do without.
        EXPECT_TRUE(now.status == RELAY_OK || (now.status == RELAY_LIMIT && refused > 0))
            << k << ": " << now.status;
        if (now.status == RELAY_OK) {
          EXPECT_EQ(now.calls, kDeep) << k;
        }
        EXPECT_EQ(again.status, RELAY_OK) << k;
        EXPECT_EQ(again.calls, kDeep) << k;
      }
      EXPECT_EQ(live_blocks(), before) << k;
    }
    EXPECT_GT(k, 10);  // the model, its threads, a context, its heap and blocks of that
  }
}

TEST(FailingAllocation, OfTheWeightsIsALimit) {
  aot::EmitOptions options;
  options.weights = aot::Weights::kFile;
  const Compiled c(R"(
def @main(%x: Tensor[(64), float32]) { add(%x, cumsum(full(0.5f, shape=[64], dtype="float32"), axis=0)) }
)",
                   options);
  ASSERT_NE(c.api, nullptr);
  char error[256] = "";
  relay_open_options open = {};
  open.struct_size = sizeof open;
  open.threads = 1;
  open.error = error;
  open.error_size = sizeof error;
  relay_model* model = nullptr;
  no_mappings = true;
  const relay_status status = c.api->model_open(&open, &model);
  no_mappings = false;
  EXPECT_EQ(status, RELAY_LIMIT) << error;
  EXPECT_NE(std::string(error).find("cannot map the weights"), std::string::npos) << error;
  EXPECT_EQ(c.api->model_open(&open, &model), RELAY_OK) << error;
  EXPECT_EQ(c.api->model_close(model), RELAY_OK);
}

}  // namespace
}  // namespace relay::tests
