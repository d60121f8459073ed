// Programs with control flow on an emulated GPU: what a device adds to aot/value_run_test.cc.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "aot/cuda/testing.h"
#include "toolchain/subprocess.h"

namespace relay::aot::cuda {
namespace {

// A decision by an element, a division that may fail, and one result that is no kernel's.
constexpr std::string_view kBranches = R"(
def @main(%x: Tensor[(n), float32], %more: bool) {
  if (%more) { (nn.relu(%x + %x), %x) } else { (%x * 3f, %x) }
}
)";
const Compiled& branches() {
  static const Emulated c(kBranches);
  return c;
}

struct BranchRun : Session {
  int64_t shape[1] = {100};
  std::vector<float> x = std::vector<float>(100, 2), y = std::vector<float>(101), z = std::vector<float>(100);
  bool more = true;
  DLTensor in[2] = {{x.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0},
                    {&more, {kDLCPU, 0}, 0, {kDLBool, 8, 1}, nullptr, nullptr, 0}};
  DLTensor out[2] = {in[0], in[0]};

  explicit BranchRun(const Compiled& c = branches(), const relay_allocator* memory = nullptr)
      : Session(c, memory) {
    out[0].data = y.data(), out[1].data = z.data();
  }
  void use_device() {
    for (DLTensor* t : {&in[0], &in[1], &out[0], &out[1]}) t->device.device_type = kDLCUDA;
  }
  relay_status go() {
    const DLTensor* inputs[] = {&in[0], &in[1]};
    DLTensor* outputs[] = {&out[0], &out[1]};
    return api->run(context, inputs, 2, outputs, 2);
  }
};

TEST(CudaValues, TensorsOfTheDeviceAreUsedWhereTheyAre) {
  // One copy is that of the condition, another one of the result that no kernel writes.
  const Environment few("RELAY_EMULATED_COPIES", "1");
  BranchRun device, host;
  device.use_device();
  for (bool more : {true, false}) {
    device.more = more;
    EXPECT_EQ(device.go(), RELAY_OK) << device.said();
    EXPECT_EQ(device.y[99], more ? 4 : 6);
    EXPECT_EQ(device.z[99], 2);
  }
  EXPECT_EQ(host.go(), RELAY_INTERNAL) << "inputs of the host are copied";
}

TEST(CudaValues, WhatIsNotAlignedIsCopied) {
  BranchRun r;
  r.use_device();
  r.out[0].data = r.y.data() + 1;
  r.more = false;
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  EXPECT_EQ(r.y[0], 0);
  EXPECT_EQ(r.y[100], 6);
}

TEST(CudaValues, OutputsWithoutAPlaceLiveInTheHostsMemory) {
  BranchRun r;
  r.out[0] = r.out[1] = {};
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  EXPECT_EQ(r.out[0].device.device_type, kDLCPU);
  EXPECT_EQ(static_cast<const float*>(r.out[0].data)[99], 4);
  EXPECT_EQ(static_cast<const float*>(r.out[1].data)[99], 2);
}

// What the context gave is an input, before and after runs that failed.
TEST(CudaValues, ACancelledRunCanBeTriedAgain) {
  BranchRun r;
  r.out[0] = r.out[1] = {};
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  r.in[0] = r.out[0];
  for (int k = 0; k < 3; ++k) {
    r.api->cancel(r.context);
    ASSERT_EQ(r.go(), RELAY_CANCELLED) << k;
  }
  ASSERT_EQ(r.go(), RELAY_OK) << r.said();
  for (size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(static_cast<const float*>(r.out[0].data)[i], 8) << i;
    ASSERT_EQ(static_cast<const float*>(r.out[1].data)[i], 4) << i;
  }
}

// C: however a run ends, nothing of it touches the caller's memory afterwards, and the
// context runs again.
TEST(CudaValues, ACopyThatFailsEndsTheRun) {
  for (const char* copies : {"0", "1", "2"}) {
    BranchRun r;
    {
      const Environment failing("RELAY_EMULATED_COPIES", copies);
      EXPECT_EQ(r.go(), RELAY_INTERNAL) << copies;
      EXPECT_NE(r.said().find("could not be copied"), std::string::npos) << r.said();
      EXPECT_NE(r.said().find("invalid argument"), std::string::npos) << r.said();
    }
    EXPECT_EQ(r.go(), RELAY_OK) << r.said();
    EXPECT_EQ(r.y[99], 4);
  }
}

TEST(CudaValues, WithoutMemoryOfTheDeviceThereIsALimit) {
  size_t refused = 0;
  for (const char* bytes : {"20000", "3000000", "9000000"}) {
    const Environment little("RELAY_EMULATED_MEMORY", bytes);
    BranchRun r;
    ASSERT_EQ(r.status, RELAY_OK);
    std::vector<float> many(2000000, 2), results(2000000);
    r.in[0].data = many.data(), r.out[0] = r.out[1] = {};
    r.shape[0] = 2000000;
    ++refused;
    EXPECT_EQ(r.go(), RELAY_LIMIT) << bytes;
    EXPECT_EQ(r.said(), "there is not enough memory on the device");
    const Environment enough("RELAY_EMULATED_MEMORY", "100000000");
    EXPECT_EQ(r.go(), RELAY_OK) << r.said();
    EXPECT_EQ(static_cast<const float*>(r.out[0].data)[1999999], 4);
  }
  EXPECT_EQ(refused, 3u);
}

TEST(CudaValues, AContextWithoutMemoryIsALimit) {
  const Environment little("RELAY_EMULATED_MEMORY", "100");
  const BranchRun r;
  EXPECT_EQ(r.status, RELAY_LIMIT);
  EXPECT_EQ(r.context, nullptr);
}

TEST(CudaValues, WithoutMemoryOfTheHostThereIsALimitAndNoLeak) {
  const int refusals = refuse_each_request<BranchRun>(
      branches(), [](BranchRun& r) { return r.go(); }, [](BranchRun& r) { return r.y[99] == 4; });
  EXPECT_GE(refusals, 4);  // the model, a context, its workspace, the heap
}

// Divides by each number of a list, and asks for a value at the end.
constexpr std::string_view kDivisions = R"(
type List[A] { Cons(A, List[A]), Nil }
type Maybe { Some(int32), None }
def @divide(%x: int32, %l: List[int32]) -> int32 {
  match (%l) { Nil => %x, Cons(%h, %t) => @divide(floor_divide(%x, %h), %t) }
}
def @main(%l: List[int32], %m: Maybe) {
  let %q = @divide(1000000, %l);
  match? (%m) { Some(%x) => %q + %x }
}
)";

struct Divisions : Session {
  uint32_t list, maybe, number;

  Divisions() : Session(divisions()) {
    const auto d = nlohmann::json::parse(api->model_describe(model));
    list = d["parameters"][0]["type"], maybe = d["parameters"][1]["type"];
    number = d["types"][list]["constructors"][0]["fields"][0];
  }
  static const Compiled& divisions() {
    static const Emulated c(kDivisions);
    return c;
  }
  relay_value* tensor(int32_t n) {
    const DLTensor t = {&n, {kDLCPU, 0}, 0, {kDLInt, 32, 1}, nullptr, nullptr, 0};
    relay_value* out = nullptr;
    EXPECT_EQ(api->value_tensor(context, number, &t, &out), RELAY_OK) << said();
    return out;
  }
  relay_value* node(uint32_t type, uint32_t constructor, std::vector<relay_value*> fields) {
    relay_value* out = nullptr;
    EXPECT_EQ(api->value_node(context, type, constructor, fields.data(), fields.size(), &out), RELAY_OK)
        << said();
    for (relay_value* f : fields) api->value_free(context, f);
    return out;
  }
  // Ones, and a zero at the place `zero` if there is such a place.
  relay_status go(int count, int zero, bool some, relay_value** result) {
    relay_value* l = node(list, 1, {});
    for (int i = count; i-- > 0;) l = node(list, 0, {tensor(i == zero ? 0 : 1), l});
    relay_value* m = some ? node(maybe, 0, {tensor(7)}) : node(maybe, 1, {});
    relay_value* args[] = {l, m};
    const relay_status status = api->call(context, args, 2, result);
    api->value_free(context, l);
    api->value_free(context, m);
    return status;
  }
};

// More of them than there are words for failures, and the host waits for none.
TEST(CudaValues, AKernelThatFailedIsFoundAmongThousands) {
  Divisions s;
  relay_value* result = nullptr;
  for (int zero : {0, 1023, 1024, 2999}) {
    EXPECT_EQ(s.go(3000, zero, true, &result), RELAY_TRAP) << zero;
    EXPECT_NE(s.said().find("division by zero"), std::string::npos) << s.said();
    EXPECT_EQ(result, nullptr);
  }
  ASSERT_EQ(s.go(3000, -1, true, &result), RELAY_OK) << s.said();
  relay_value_view view = {}, again = {};
  view.struct_size = again.struct_size = sizeof view;
  ASSERT_EQ(s.api->value_look(s.context, result, &view), RELAY_OK) << s.said();
  EXPECT_EQ(view.tensor.device.device_type, kDLCPU);
  EXPECT_EQ(*static_cast<const int32_t*>(view.tensor.data), 1000007);
  ASSERT_EQ(s.api->value_look(s.context, result, &again), RELAY_OK);
  EXPECT_EQ(again.tensor.data, view.tensor.data) << "it is copied once";
  s.api->value_free(s.context, result);
}

// docs/semantics.md: the first trap counts, also if the host finds a later one sooner.
TEST(CudaValues, WhatFailedOnTheDeviceCameBeforeWhatTheHostFinds) {
  Divisions s;
  relay_value* result = nullptr;
  EXPECT_EQ(s.go(3, 1, false, &result), RELAY_TRAP);
  EXPECT_NE(s.said().find("division by zero"), std::string::npos) << s.said();
  EXPECT_EQ(s.go(3, -1, false, &result), RELAY_TRAP);
  EXPECT_NE(s.said().find("no arm of the match"), std::string::npos) << s.said();
}

TEST(CudaValues, ALookThatFailsIsMadeAgain) {
  Divisions s;
  relay_value* result = nullptr;
  ASSERT_EQ(s.go(1, -1, true, &result), RELAY_OK) << s.said();
  relay_value_view view = {};
  view.struct_size = sizeof view;
  {
    const Environment failing("RELAY_EMULATED_COPIES", "0");
    EXPECT_EQ(s.api->value_look(s.context, result, &view), RELAY_INTERNAL);
  }
  ASSERT_EQ(s.api->value_look(s.context, result, &view), RELAY_OK) << s.said();
  EXPECT_EQ(*static_cast<const int32_t*>(view.tensor.data), 1000007);
  s.api->value_free(s.context, result);
}

TEST(CudaValues, BoundsAreLimitsOfInputs) {
  const Emulated c(kBranches, {.bounds = {{"n", 50}}});
  BranchRun r(c);
  EXPECT_EQ(r.go(), RELAY_USAGE);
  EXPECT_EQ(r.said(), "`n` is 100, the model was compiled for at most 50");
  r.shape[0] = 50;
  EXPECT_EQ(r.go(), RELAY_OK) << r.said();
}

TEST(CudaValues, NvccHasNoWarningsForTheFunctions) {
  std::string nvcc;
  if (std::string wrong = find_nvcc(nvcc); !wrong.empty()) GTEST_SKIP() << wrong;
  const std::string_view none =
      "def @go(%i: int32) -> int32 { if (%i == 0) { %i } else { @go(%i - 1) } } def @main() { @go(3) }";
  for (const std::string_view program : {kBranches, kDivisions, none}) {
    TemporaryFolder folder;
    ASSERT_EQ(folder.make(), "");
    for (const SourceFile& f : sources_of(program).files)
      ASSERT_EQ(write_file_atomically(cat(folder.path(), "/", f.name), f.text), "");
    const std::vector<std::string> command{
        nvcc,  "-std=c++17", "-arch=sm_90", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra",
        "-I.", "-c",         "model.cu",    "-o",      "model.o"};
    const toolchain::Finished done = toolchain::run(command, folder.path(), 600);
    EXPECT_EQ(done.exit_code, 0) << done.output.substr(0, 4000) << done.problem;
  }
}

}  // namespace
}  // namespace relay::aot::cuda
