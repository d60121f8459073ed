// The sources of artifacts under other compilers (third_party/test_packages.txt) and under
// sanitizers, in the hands of a small program.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "aot/listing.h"
#include "aot/testing.h"
#include "toolchain/subprocess.h"

namespace relay::aot {
namespace {

// Loops over threads, integers that may be divided by zero, weights, an output that
// the context holds.
constexpr std::string_view kPlan = R"(
def @main(%x: Tensor[(64, 64), float32], %n: Tensor[(8), int32]) {
  (nn.softmax(nn.dense(%x, add(%x, tensor([[0.5]], float32)))), floor_divide(tensor([8, 1, 2, 3, 4, 5, 6, 7], int32), %n))
}
)";
// A plan for all extents: a workspace that grows, a view, an output that is copied, a C
// function that may fail.
constexpr std::string_view kRows = R"(
extern kernel @scale(x: float32[n, 8], w: float32[8]) -> (y: float32[n, 8]) symbol "scale";
def @main(%x: Tensor[(n, 8), float32], %y: Tensor[(2*n), float32], %w: Tensor[(8), float32]) {
  let %h = @scale(nn.softmax(add(%x, 1f)), %w);
  (reshape(%h, newshape=[n*8]), sum(nn.softmax(multiply(%h, %h)), axis=[1]), %y)
}
)";
// Lists, references that end in a cycle, closures, a recursion as deep as the data says, shape
// variables; a C function; a tree of gates like an LSTM's, whose calls are deferred.
constexpr std::string_view kValues = R"(
extern kernel @scale(x: float32[n, 8], w: float32[8]) -> (y: float32[n, 8]) symbol "scale";
type List[A] { Cons(A, List[A]), Nil }
type Tree { Leaf(Tensor[(1, 64), float32]), Fork(Tree, Tree) }
def @grow(%depth: int32, %x: Tensor[(1, 64), float32]) -> Tree {
  if (%depth <= 0) { Leaf(%x) } else { Fork(@grow(%depth - 1, %x), @grow(%depth - 2, %x * 0.5f)) }
}
def @state(%t: Tree) -> (Tensor[(1, 64), float32], Tensor[(1, 64), float32]) {
  match (%t) {
    Leaf(%x) => (tanh(%x), %x),
    Fork(%l, %r) => {
      let %a = @state(%l);
      let %b = @state(%r);
      let %h = %a.0 + %b.0;
      let %gate = sigmoid(nn.dense(%h, full(0.0078125f, shape=[64, 64], dtype="float32")));
      let %c = %gate * tanh(nn.dense(%h, full(0.015625f, shape=[64, 64], dtype="float32"))) + (%a.1 + %b.1) * 0.5f;
      (%gate * tanh(%c), %c)
    }
  }
}
def @map(%f: fn(Tensor[(2), float32]) -> Tensor[(2), float32], %l: List[Tensor[(2), float32]]) -> List[Tensor[(2), float32]] {
  match (%l) { Nil => Nil, Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)) }
}
def @sum(%x: Tensor[(n), float32], %i: int32, %r: ref(Tensor[(n), float32])) -> Tensor[(n), float32] {
  if (less_equal(%i, 0)) { ref_read(%r) } else {
    ref_write(%r, add(ref_read(%r), %x));
    @sum(%x, subtract(%i, 1), %r)
  }
}
def @main(%l: List[Tensor[(2), float32]], %x: Tensor[(n), float32], %i: int32, %leaf: Tensor[(1, 64), float32]) {
  let %cycle = ref(fn () { 1 });
  ref_write(%cycle, fn () { ref_read(%cycle)() });
  let %two = tensor([2, 2], float32);
  (@map(fn (%h: Tensor[(2), float32]) { multiply(%h, %two) }, %l), @sum(%x, %i, ref(%x)),
   @scale(reshape(@state(@grow(%i + 3, %leaf)).0, newshape=[8, 8]), tensor([1, 2, 3, 4, 5, 6, 7, 8], float32)))
}
)";

// What @scale is.
constexpr std::string_view kScale = R"(
extern "C" int32_t scale(const float* x, const float* w, float* y, int64_t n) {
  if (w[0] < 0) return 7;
  for (int64_t i = 0; i < 8 * n; ++i) y[i] = x[i] * w[i % 8];
  return 0;
}
)";

// What the programs below begin with.
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

constexpr std::string_view kRowsDriver = R"(
relay_status run(relay_context* context, int variant, std::vector<float>* result) {
  const int64_t n = 100 * (variant + 2);
  std::vector<float> x(8 * static_cast<size_t>(n)), y(2 * static_cast<size_t>(n), 3), w(8, static_cast<float>(variant));
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 61) / 64 + static_cast<float>(variant);
  std::vector<int64_t> rows = {n, 8}, twice = {2 * n}, row = {8};
  const DLTensor in[] = {tensor(x.data(), kDLFloat, rows), tensor(y.data(), kDLFloat, twice),
                         tensor(w.data(), kDLFloat, row)};
  DLTensor held[3] = {};
  const DLTensor* inputs[] = {&in[0], &in[1], &in[2]};
  DLTensor* outputs[] = {&held[0], &held[1], &held[2]};
  const relay_status status = relay_run(context, inputs, 3, outputs, 3);
  if (status != RELAY_OK) return status;
  EXPECT(held[0].shape[0] == 8 * n && held[1].shape[0] == n && held[2].shape[0] == 2 * n);
  EXPECT(static_cast<const float*>(held[2].data)[2 * n - 1] == 3);
  const float* data = static_cast<const float*>(held[0].data);
  result->assign(data, data + 8 * n);
  return status;
}
)";

constexpr std::string_view kValuesDriver = R"(
// The types have these numbers: see relay_model_describe, and the header.
const uint32_t kList = LIST, kElement = ELEMENT, kVector = VECTOR, kNumber = NUMBER, kLeaf = LEAF;

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
  std::vector<int64_t> pair = {2}, scalar, extent = {1000 * (variant + 1)}, row = {1, 64};
  std::vector<float> x(1000 * static_cast<size_t>(variant + 1), 0.5f);
  std::vector<float> leaf(64, 0.25f);
  float h[2] = {1, static_cast<float>(variant)};
  int32_t i = variant;
  relay_value* list = node(1, {});
  for (int k = 0; k < 50 && status == RELAY_OK; ++k) list = node(0, {make(kElement, tensor(h, kDLFloat, pair)), list});
  relay_value* vector = make(variant < 0 ? kNumber : kVector, tensor(x.data(), kDLFloat, extent));
  relay_value* number = make(kNumber, tensor(&i, kDLInt, scalar));
  relay_value* tree = make(kLeaf, tensor(leaf.data(), kDLFloat, row));
  relay_value *args[] = {list, vector, number, tree}, *out = nullptr, *sum = nullptr, *state = nullptr;
  if (status == RELAY_OK) {
    const relay_status s = relay_call(context, args, 4, &out);
    keep(s, out);
  }
  if (status == RELAY_OK) {
    const relay_status s = relay_value_field(context, out, 1, &sum);
    keep(s, sum);
  }
  if (status == RELAY_OK) {
    const relay_status s = relay_value_field(context, out, 2, &state);
    keep(s, state);
  }
  if (status == RELAY_OK) {
    relay_value_view view = {};
    view.struct_size = sizeof view;
    EXPECT(relay_value_look(context, sum, &view) == RELAY_OK && view.tensor.shape[0] == extent[0]);
    const float* data = static_cast<const float*>(view.tensor.data);
    result->assign(data, data + extent[0]);
    EXPECT((*result)[0] == 0.5f * static_cast<float>(variant + 1));
    EXPECT(relay_value_look(context, state, &view) == RELAY_OK && view.tensor.shape[0] == 8);
    data = static_cast<const float*>(view.tensor.data);
    result->insert(result->end(), data, data + 64);
  }
  for (relay_value* v : made) relay_value_free(context, v);
  return status;
}
)";

using Words = std::vector<std::string>;
using toolchain::Finished;

// The sources of a program in a folder of their own, and what compiles them.
struct Folder {
  TemporaryFolder folder;
  Words files;        // *.cc
  std::string model;  // the text of model.cc
  nlohmann::json description;

  explicit Folder(std::string_view program, const EmitOptions& options = {}) {
    EXPECT_EQ(folder.make(), "");
    const Sources sources = sources_of(program, {kAnyProcessor}, options);
    description = nlohmann::json::parse(sources.description);
    write("weights.bin", sources.weights.text());
    for (const SourceFile& f : sources.files) {
      write(f.name, f.text);
      if (f.name.ends_with(".cc")) files.push_back(f.name);
      if (f.name == "model.cc") model = f.text;
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
  Finished run(const Words& command) const { return toolchain::run(command, folder.path(), 240); }
};

// --- warnings ------------------------------------------------------------------------------------

class Warnings : public testing::TestWithParam<std::string> {};

TEST_P(Warnings, ThereAreNone) {
  for (const EmitOptions& options :
       {EmitOptions{}, EmitOptions{.weights = Weights::kFile, .program = true}}) {
    for (const std::string_view program : {kPlan, kRows, kValues}) {
      // Of those that can be programs one is enough; kValues takes lists.
      if (options.program && program != kRows) continue;
      const Folder folder(program, options);
      for (const std::string level : {"-O1", "-O3"}) {
        const Finished done =
            folder.compile({GetParam(), "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fPIC",
                            "-fno-exceptions", "-fno-rtti", "-msse2", level, "-c"});
        EXPECT_EQ(done.exit_code, 0) << GetParam() << " (./dev install) " << level << "\n"
                                     << done.output << done.problem;
      }
    }
  }
}

// Without any of the files that the parts come from.
TEST_P(Warnings, ThereAreNoneInAListing) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  const auto write = [&](const std::string& name, std::string_view text) {
    EXPECT_EQ(write_file_atomically(cat(folder.path(), "/", name), text), "");
  };
  for (const std::string_view program : {kPlan, kRows, kValues}) {
    const Sources sources =
        sources_of(program, {kAnyProcessor}, {.weights_source = "the \"weights\"", .kernel_files = 1});
    write("listing.cc", listing(sources));
    if (sources.weights_bytes > 0) write("the \"weights\"", sources.weights.text());
    const Finished done = toolchain::run({GetParam(), "-std=c++17", "-Wall", "-Wextra", "-Wpedantic",
                                          "-Werror", "-fPIC", "-msse2", "-O1", "-c", "listing.cc"},
                                         folder.path(), 240);
    EXPECT_EQ(done.exit_code, 0) << done.output << done.problem;
  }
}

// Ten thousand operators that fusion may put into one kernel, half of them choices.
TEST_P(Warnings, ThereAreNoneInTenThousandOperators) {
  constexpr int kChoices = 5000;
  std::string program = "def @main(%x: Tensor[(8), float32]) {\n  let %v0 = %x;\n";
  for (int i = 0; i < kChoices; ++i)
    program += cat("  let %v", i + 1, " = where(less(%x, ", i, "f), exp(%v", i, "), sqrt(%x));\n");
  program += cat("  %v", kChoices, "\n}\n");
  const Folder folder(program);
  const Finished done = folder.compile({GetParam(), "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                                        "-fPIC", "-fno-exceptions", "-fno-rtti", "-msse2", "-O0", "-c"});
  EXPECT_EQ(done.exit_code, 0) << done.output << done.problem;
}

INSTANTIATE_TEST_SUITE_P(Compilers, Warnings, testing::Values("g++", "clang++-19", "clang++-14"),
                         [](const auto& test) {
                           std::string name;
                           for (const char c : test.param) name += isalnum(c) ? c : c == '+' ? 'x' : '_';
                           return name;
                         });

// --- sanitizers ----------------------------------------------------------------------------------

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

TEST_P(Sanitized, APlanForAllExtentsIsClean) {
  const Folder folder(kRows);
  folder.write("driver.cc", cat(kDriver, kScale, kRowsDriver));
  runs_clean(folder, GetParam());
}

TEST_P(Sanitized, ValuesAreClean) {
  const Folder folder(kValues);
  EXPECT_NE(folder.model.find("defer(run, "), std::string::npos);
  folder.write("driver.cc", cat(kDriver, kScale, kValuesDriver));
  const auto& d = folder.description;
  const size_t list = d["parameters"][0]["type"];
  runs_clean(
      folder, GetParam(),
      {cat("-DLIST=", list), cat("-DELEMENT=", d["types"][list]["constructors"][0]["fields"][0].get<int>()),
       cat("-DVECTOR=", d["parameters"][1]["type"].get<int>()),
       cat("-DNUMBER=", d["parameters"][2]["type"].get<int>()),
       cat("-DLEAF=", d["parameters"][3]["type"].get<int>())});
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

// --- size ----------------------------------------------------------------------------------------

TEST(Size, BeyondKernelsAndWeightsIsSmall) {
  // With hardly any kernels.
  constexpr std::string_view kList = R"(
type List[A] { Cons(A, List[A]), Nil }
def @map(%f: fn(Tensor[(2), float32]) -> Tensor[(2), float32], %l: List[Tensor[(2), float32]]) -> List[Tensor[(2), float32]] {
  match (%l) { Nil => Nil, Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)) }
}
def @main(%l: List[Tensor[(2), float32]]) { @map(fn (%h: Tensor[(2), float32]) { multiply(%h, 2f) }, %l) }
)";
  for (const std::string_view program : {kPlan, kRows, kList}) {
    const Folder sources(program);
    sources.write("scale.cc", cat("#include <stdint.h>\n", kScale));
    const Compiled c(program, {}, {kAnyProcessor}, {.along = {sources.folder.path() + "/scale.cc"}});
    const auto all = std::filesystem::file_size(c.path);
    EXPECT_LT(all - std::filesystem::file_size(sources.folder.path() + "/weights.bin"), 100u * 1000)
        << program;
  }
}

}  // namespace
}  // namespace relay::aot
