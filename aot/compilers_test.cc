// The sources of artifacts under other compilers and under sanitizers, in the hands of a small program.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "aot/listing.h"
#include "aot/testing.h"
#include "kernel/native/subprocess.h"

namespace relay::aot {
namespace {

// Loops over threads, integers that may be divided by zero, weights, an output that the context holds.
constexpr std::string_view kPlan = R"(
def @main(%x: Tensor[(64, 64), float32], %n: Tensor[(8), int32]) {
  (nn.softmax(nn.dense(%x, add(%x, tensor([[0.5]], float32)))), floor_divide(tensor([8, 1, 2, 3, 4, 5, 6, 7], int32), %n))
}
)";
// Lists, references that end in a cycle, closures, a recursion as deep as the data says, shape variables.
constexpr std::string_view kValues = R"(
type List[A] { Cons(A, List[A]), Nil }
def @map(%f: fn(Tensor[(2), float32]) -> Tensor[(2), float32], %l: List[Tensor[(2), float32]]) -> List[Tensor[(2), float32]] {
  match (%l) { Nil => Nil, Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)) }
}
def @sum(%x: Tensor[(n), float32], %i: int32, %r: ref(Tensor[(n), float32])) -> Tensor[(n), float32] {
  if (less_equal(%i, 0)) { ref_read(%r) } else {
    ref_write(%r, add(ref_read(%r), %x));
    @sum(%x, subtract(%i, 1), %r)
  }
}
def @main(%l: List[Tensor[(2), float32]], %x: Tensor[(n), float32], %i: int32) {
  let %cycle = ref(fn () { 1 });
  ref_write(%cycle, fn () { ref_read(%cycle)() });
  let %two = tensor([2, 2], float32);
  (@map(fn (%h: Tensor[(2), float32]) { multiply(%h, %two) }, %l), @sum(%x, %i, ref(%x)))
}
)";

// What both programs below begin with.
constexpr std::string_view kDriver = R"(
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <thread>
#include <vector>

#include "relay.h"

#define EXPECT(x) ((x) ? (void)0 : (printf("line %d: %s\n", __LINE__, #x), exit(1)))

// Memory that is counted; request `refused` is refused.
struct Memory {
  int refused = -1, requests = 0;
  std::atomic<long> live{0};
  relay_allocator api = {sizeof(relay_allocator), this,
                         [](void* self, size_t size, size_t alignment) -> void* {
                           Memory& m = *static_cast<Memory*>(self);
                           if (m.requests++ == m.refused) return nullptr;
                           m.live += static_cast<long>(size);
                           void* memory = nullptr;
                           return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
                         },
                         [](void* self, void* memory, size_t size) {
                           static_cast<Memory*>(self)->live -= static_cast<long>(size);
                           free(memory);
                         }};
};

relay_status open_model(unsigned threads, const relay_allocator* memory, relay_model** model) {
  relay_open_options options = {};
  options.struct_size = sizeof options;
  options.threads = threads;
  options.allocator = memory;
  return relay_model_open(&options, model);
}
DLTensor tensor(void* data, DLDataTypeCode code, std::vector<int64_t>& shape) {
  DLTensor t = {};
  t.data = data;
  t.device.device_type = kDLCPU;
  t.ndim = static_cast<int32_t>(shape.size());
  t.dtype = {static_cast<uint8_t>(code), 32, 1};
  t.shape = shape.data();
  return t;
}

relay_status run(relay_context* context, int variant, std::vector<float>* result);

void work(relay_model* model, const std::vector<std::vector<float>>& right) {
  relay_context* context = nullptr;
  EXPECT(relay_context_create(model, &context) == RELAY_OK);
  std::vector<float> result;
  for (int i = 0; i < 20; ++i) {
    EXPECT(run(context, i % 4, &result) == RELAY_OK);
    EXPECT(result == right[static_cast<size_t>(i % 4)]);
    EXPECT(run(context, -1, &result) != RELAY_OK && relay_error(context)[0] != 0);
    EXPECT(relay_set_timeout(context, i % 3 == 0 ? 1 : 0) == RELAY_OK);
    EXPECT(run(context, 0, &result) == (i % 3 == 0 ? RELAY_TIMED_OUT : RELAY_OK));
    EXPECT(relay_set_timeout(context, 0) == RELAY_OK);
    std::thread other([&] { relay_cancel(context); });
    const relay_status status = run(context, 1, &result);
    other.join();
    EXPECT(status == RELAY_OK || status == RELAY_CANCELLED);
    if (status == RELAY_OK) EXPECT(run(context, 1, &result) == RELAY_CANCELLED);
  }
  relay_context_free(context);
}

int main() {
  std::vector<std::vector<float>> right(4);
  relay_model* model = nullptr;
  relay_context* context = nullptr;
  EXPECT(open_model(1, nullptr, &model) == RELAY_OK);
  EXPECT(relay_context_create(model, &context) == RELAY_OK);
#ifdef MISUSE
  // What sanitizers must see: a context in two threads, and after its end.
  std::thread first([&] { run(context, 0, &right[0]); }), second([&] { run(context, 0, &right[1]); });
  first.join();
  second.join();
  relay_context_free(context);
  puts(relay_error(context));
#endif
  for (int i = 0; i < 4; ++i) EXPECT(run(context, i, &right[static_cast<size_t>(i)]) == RELAY_OK);
  EXPECT(relay_model_close(model) == RELAY_BUSY);
  relay_context_free(context);
  EXPECT(relay_model_close(model) == RELAY_OK);
  for (unsigned threads = 1; threads <= 2; ++threads) {
    EXPECT(open_model(threads, nullptr, &model) == RELAY_OK);
    std::vector<std::thread> workers;
    for (int i = 0; i < 4; ++i) workers.emplace_back([&] { work(model, right); });
    for (std::thread& w : workers) w.join();
    EXPECT(relay_model_close(model) == RELAY_OK);
  }
  for (int refused = 0;; ++refused) {
    Memory memory;
    memory.refused = refused;
    std::vector<float> result;
    relay_status status = open_model(2, &memory.api, &model);
    if (status == RELAY_OK) {
      status = relay_context_create(model, &context);
      if (status == RELAY_OK) status = run(context, 3, &result);
      if (status == RELAY_LIMIT && context != nullptr) EXPECT(run(context, 3, &result) == RELAY_OK);
      relay_context_free(context);
      EXPECT(relay_model_close(model) == RELAY_OK);
    }
    EXPECT(memory.live == 0);
    EXPECT(status == (memory.requests > refused ? RELAY_LIMIT : RELAY_OK));
    if (status == RELAY_OK) break;
  }
}
)";

// Variant -1 must fail.
constexpr std::string_view kPlanDriver = R"(
relay_status run(relay_context* context, int variant, std::vector<float>* result) {
  std::vector<float> x(64 * 64);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 61) / 64 + static_cast<float>(variant);
  std::vector<int32_t> n(8, variant + 1);
  std::vector<int64_t> square = {64, 64}, row = {8};
  result->assign(64 * 64, 0);
  const DLTensor in[] = {tensor(x.data(), kDLFloat, square), tensor(n.data(), kDLInt, row)};
  DLTensor y = tensor(result->data(), kDLFloat, square), held = {};
  const DLTensor* inputs[] = {&in[0], &in[1]};
  DLTensor* outputs[] = {&y, &held};
  return relay_run(context, inputs, 2, outputs, 2);
}
)";

constexpr std::string_view kValuesDriver = R"(
// The types have these numbers: see relay_model_describe, and the header.
const uint32_t kList = LIST, kElement = ELEMENT, kVector = VECTOR, kNumber = NUMBER;

relay_status run(relay_context* context, int variant, std::vector<float>* result) {
  std::vector<relay_value*> made;
  relay_status status = RELAY_OK;
  const auto keep = [&](relay_status s, relay_value* v) {
    if (v != nullptr) made.push_back(v);
    if (status == RELAY_OK) status = s;
    return v;
  };
  const auto make = [&](uint32_t type, const DLTensor& t) {
    relay_value* v = nullptr;
    if (status != RELAY_OK) return v;
    const relay_status s = relay_value_tensor(context, type, &t, &v);
    return keep(s, v);
  };
  const auto node = [&](uint32_t constructor, std::vector<relay_value*> fields) {
    relay_value* v = nullptr;
    if (status != RELAY_OK) return v;
    const relay_status s = relay_value_node(context, kList, constructor, fields.data(), fields.size(), &v);
    return keep(s, v);
  };
  std::vector<int64_t> pair = {2}, scalar, extent = {1000 * (variant + 1)};
  std::vector<float> x(1000 * static_cast<size_t>(variant + 1), 0.5f);
  float h[2] = {1, static_cast<float>(variant)};
  int32_t i = variant;
  relay_value* list = node(1, {});
  for (int k = 0; k < 50 && status == RELAY_OK; ++k) list = node(0, {make(kElement, tensor(h, kDLFloat, pair)), list});
  relay_value* vector = make(variant < 0 ? kNumber : kVector, tensor(x.data(), kDLFloat, extent));
  relay_value* number = make(kNumber, tensor(&i, kDLInt, scalar));
  relay_value *args[] = {list, vector, number}, *out = nullptr, *sum = nullptr;
  if (status == RELAY_OK) {
    const relay_status s = relay_call(context, args, 3, &out);
    keep(s, out);
  }
  if (status == RELAY_OK) {
    const relay_status s = relay_value_field(context, out, 1, &sum);
    keep(s, sum);
  }
  if (status == RELAY_OK) {
    relay_value_view view = {};
    view.struct_size = sizeof view;
    EXPECT(relay_value_look(context, sum, &view) == RELAY_OK && view.tensor.shape[0] == extent[0]);
    const float* data = static_cast<const float*>(view.tensor.data);
    result->assign(data, data + extent[0]);
    EXPECT((*result)[0] == 0.5f * static_cast<float>(variant + 1));
  }
  for (relay_value* v : made) relay_value_free(context, v);
  return status;
}
)";

using Words = std::vector<std::string>;
using kernel::native::Finished;

// The sources of a program in a folder of their own, and what compiles them.
struct Folder {
  TemporaryFolder folder;
  Words files;  // *.cc
  nlohmann::json description;

  explicit Folder(std::string_view program, const EmitOptions& options = {}) {
    EXPECT_EQ(folder.make(), "");
    const Sources sources = sources_of(program, {kAnyProcessor}, options);
    description = nlohmann::json::parse(sources.description);
    write("weights.bin", sources.weights);
    for (const SourceFile& f : sources.files) {
      write(f.name, f.text);
      if (f.name.ends_with(".cc")) files.push_back(f.name);
    }
  }
  void write(const std::string& name, std::string_view text) const {
    EXPECT_EQ(write_file_atomically(folder.path() + "/" + name, text), "");
  }
  // With every file that is to be compiled behind the words.
  Finished compile(Words command) const {
    command.insert(command.end(), files.begin(), files.end());
    return run(command);
  }
  Finished run(const Words& command) const { return kernel::native::run(command, folder.path(), 240); }
};

// --- warnings -------------------------------------------------------------------------------------------------------

class Warnings : public testing::TestWithParam<std::string> {};

TEST_P(Warnings, ThereAreNone) {
  if (kernel::native::run({GetParam(), "--version"}, "", 30).exit_code != 0) GTEST_SKIP() << "not installed";
  for (const EmitOptions& options :
       {EmitOptions{}, EmitOptions{.weights = Weights::kFile, .program = true}}) {
    for (const std::string_view program : {kPlan, kValues}) {
      if (options.program && program == kValues) continue;  // it takes lists
      const Folder folder(program, options);
      for (const std::string level : {"-O1", "-O3"}) {
        const Finished done =
            folder.compile({GetParam(), "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fPIC",
                            "-fno-exceptions", "-fno-rtti", "-msse2", level, "-c"});
        EXPECT_EQ(done.exit_code, 0) << level << "\n" << done.output << done.problem;
      }
    }
  }
}

// Without any of the files that the parts come from.
TEST_P(Warnings, ThereAreNoneInAListing) {
  if (kernel::native::run({GetParam(), "--version"}, "", 30).exit_code != 0) GTEST_SKIP() << "not installed";
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const auto write = [&](const std::string& name, std::string_view text) {
    EXPECT_EQ(write_file_atomically(cat(folder.path(), "/", name), text), "");
  };
  for (const std::string_view program : {kPlan, kValues}) {
    const Sources sources =
        sources_of(program, {kAnyProcessor}, {.weights_source = "the \"weights\"", .kernel_files = 1});
    write("listing.cc", listing(sources));
    if (sources.weights_bytes > 0) write("the \"weights\"", sources.weights);
    const Finished done = kernel::native::run({GetParam(), "-std=c++17", "-Wall", "-Wextra", "-Wpedantic",
                                               "-Werror", "-fPIC", "-msse2", "-O1", "-c", "listing.cc"},
                                              folder.path(), 240);
    EXPECT_EQ(done.exit_code, 0) << done.output << done.problem;
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, Warnings, testing::Values("g++", "g++-12", "clang++-19", "clang++-14"),
                         [](const auto& test) {
                           std::string name;
                           for (const char c : test.param) name += isalnum(c) ? c : c == '+' ? 'x' : '_';
                           return name;
                         });

// --- sanitizers -----------------------------------------------------------------------------------------------------

// Some systems spread a process over more addresses than the sanitizers of older compilers know.
bool is_lost(const Finished& ran) {
  return ran.output.find("unexpected memory mapping") != std::string::npos;
}
bool cannot_sanitize(const Finished& ran) {
  return is_lost(ran) || ran.output.find("setarch:") != std::string::npos;
}

// The driver and the artifact in one program, and what that says.
Finished sanitized(const Folder& folder, const std::string& sanitizers, const Words& defines = {}) {
  Words command{"g++",
                "-std=c++17",
                "-g1",
                "-O1",
                "-msse2",
                "-fno-sanitize-recover=all",
                "-fsanitize=" + sanitizers,
                "-I.",
                "-o",
                "driver",
                "driver.cc",
                "-pthread"};
  command.insert(command.end(), defines.begin(), defines.end());
  const Finished made = folder.compile(command);
  EXPECT_EQ(made.exit_code, 0) << made.output << made.problem;
  const Finished ran = folder.run({"./driver"});
  return is_lost(ran) ? folder.run({"setarch", "-R", "./driver"}) : ran;
}
void runs_clean(const Folder& folder, const std::string& sanitizers, const Words& defines = {}) {
  const Finished ran = sanitized(folder, sanitizers, defines);
  if (cannot_sanitize(ran)) GTEST_SKIP() << ran.output;
  EXPECT_EQ(ran.exit_code, 0) << ran.output << ran.problem;
  EXPECT_EQ(ran.output, "");
}

class Sanitized : public testing::TestWithParam<std::string> {};

TEST_P(Sanitized, APlanIsClean) {
  const Folder folder(kPlan);
  folder.write("driver.cc", cat(kDriver, kPlanDriver));
  runs_clean(folder, GetParam());
}

TEST_P(Sanitized, ValuesAreClean) {
  const Folder folder(kValues);
  folder.write("driver.cc", cat(kDriver, kValuesDriver));
  const auto& d = folder.description;
  const size_t list = d["parameters"][0]["type"];
  runs_clean(
      folder, GetParam(),
      {cat("-DLIST=", list), cat("-DELEMENT=", d["types"][list]["constructors"][0]["fields"][0].get<int>()),
       cat("-DVECTOR=", d["parameters"][1]["type"].get<int>()),
       cat("-DNUMBER=", d["parameters"][2]["type"].get<int>())});
}

TEST_P(Sanitized, MisuseIsSeen) {
  const Folder folder(kPlan);
  folder.write("driver.cc", cat(kDriver, kPlanDriver));
  const Finished ran = sanitized(folder, GetParam(), {"-DMISUSE"});
  if (cannot_sanitize(ran)) GTEST_SKIP() << ran.output;
  EXPECT_NE(ran.output.find(GetParam() == "thread" ? "data race" : "heap-use-after-free"), std::string::npos)
      << ran.output;
}

INSTANTIATE_TEST_SUITE_P(Sanitizers, Sanitized, testing::Values("thread", "address,undefined"),
                         [](const auto& test) { return test.param == "thread" ? "thread" : "memory"; });

// --- size -----------------------------------------------------------------------------------------------------------

TEST(Size, BeyondKernelsAndWeightsIsSmall) {
  for (const std::string_view program : {kPlan, kValues}) {
    const Folder sources(program);
    const Compiled c(program);
    const auto all = std::filesystem::file_size(c.path);
    EXPECT_LT(all - std::filesystem::file_size(sources.folder.path() + "/weights.bin"), 100u * 1000)
        << program;
  }
}

}  // namespace
}  // namespace relay::aot
