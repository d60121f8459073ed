// A program with two layers for a VTA, compiled to an artifact, and boards for it, for tests.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "aot/testing.h"
#include "aot/vta_layers.h"
#include "base/cat.h"
#include "interp/machine.h"
#include "passes/observer.h"
#include "runtime/relay_vta.h"
#include "vta/c_driver.h"
#include "vta/compile/compile.h"
#include "vta/isa/testing.h"
#include "vta/simulator_driver.h"

namespace relay::aot {

inline constexpr int64_t kImages = 3, kIn = 5, kOut = 21, kSize = 6;

inline std::vector<int8_t> random_bytes(int64_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int8_t> out(static_cast<size_t>(count));
  for (int8_t& x : out) x = static_cast<int8_t>(random());
  return out;
}
inline const std::vector<int8_t>& conv_weights() {
  static const std::vector<int8_t> w = random_bytes(kOut * kIn * 9, 1);
  return w;
}

// Two layers with an operator of the processor between them. The first one is a convolution whose
// sums are shifted and get a tensor; the second one takes the larger of its input and -7.
inline constexpr std::string_view kLayers = R"(
  let %conv = fn (%p: Tensor[(3, 5, 6, 6), int8], %q: Tensor[(3, 21, 6, 6), int8], Primitive=1, Layer=0) {
    let %sums = nn.conv2d(cast(%p, dtype="int32"), cast(reshape(WEIGHTS, newshape=[21, 5, 3, 3]), dtype="int32"),
                          padding=[1, 1], channels=21, kernel_size=[3, 3]);
    cast(clip(add(right_shift(%sums, 7), cast(%q, dtype="int32")), a_min=-128f, a_max=127f), dtype="int8")
  }(%x, %y);
  let %other = bitwise_xor(%conv, 85i8);
  fn (%r: Tensor[(3, 21, 6, 6), int8], Primitive=1, Layer=1) {
    cast(maximum(cast(%r, dtype="int32"), -7), dtype="int8")
  }(%other)
)";

inline std::string layers_text() {
  std::string text(kLayers);
  const std::string mark = "WEIGHTS";
  text.replace(text.find(mark), mark.size(), cat("tensor([", join(conv_weights(), ", "), "], int8)"));
  return text;
}
inline std::string plan_text() {
  return cat("def @main(%x: Tensor[(3, 5, 6, 6), int8], %y: Tensor[(3, 21, 6, 6), int8]) {", layers_text(),
             "}");
}
// The same where functions run: how often depends on data.
inline std::string functions_text() {
  return cat(
      "def @step(%n: int32, %x: Tensor[(3, 5, 6, 6), int8], %y: Tensor[(3, 21, 6, 6), int8]) -> ",
      "Tensor[(3, 21, 6, 6), int8] { if (less(%n, 1)) { %y } else { @step(subtract(%n, 1), %x, {",
      layers_text(), "}) } }\n",
      "def @main(%x: Tensor[(3, 5, 6, 6), int8], %y: Tensor[(3, 21, 6, 6), int8]) { @step(3, %x, %y) }");
}

inline vta::Layer convolution() {
  vta::Layer l;
  l.batch = kImages, l.in_channels = kIn, l.out_channels = kOut;
  l.rows = l.columns = {.size = kSize, .window = 3, .pad_before = 1, .pad_after = 1};
  l.steps = {{vta::AluOp::kShr, vta::OperandKind::kImmediate, 7},
             {vta::AluOp::kAdd, vta::OperandKind::kTensor},
             {vta::AluOp::kMax, vta::OperandKind::kImmediate, -128},
             {vta::AluOp::kMin, vta::OperandKind::kImmediate, 127}};
  return l;
}
inline vta::Layer larger() {
  vta::Layer l;
  l.kind = vta::LayerKind::kElementwise;
  l.batch = kImages, l.in_channels = l.out_channels = kOut;
  l.rows = l.columns = {.size = kSize};
  l.steps = {{vta::AluOp::kMax, vta::OperandKind::kImmediate, -7}};
  return l;
}

// Which kernel `lower` made of which layer.
struct LayerKernels : passes::Observer {
  std::map<int64_t, Symbol> kernels;
  void lowered(Symbol kernel, const Call& replaced) override {
    const auto* fn = replaced.callee->as<Fn>();
    if (const AttrValue* layer = fn ? fn->attrs.find("Layer") : nullptr)
      kernels.emplace(layer->integer, kernel);
  }
};

// A program with its layers compiled for a VTA.
struct OnVta {
  VtaLayers layers;
  ParseOptions parsing;
  std::optional<Module> module;  // before anything was compiled
  std::optional<Program> program;

  OnVta(const std::string& text, const vta::Params& params) : layers{vta::testing::layout_of(params)} {
    Diagnostics d;
    compile(text, d);
    EXPECT_TRUE(program.has_value()) << d.render(parsing.into.context().sources());
  }

  void compile(const std::string& text, Diagnostics& d) {
    const Result<Module> parsed = parse("test", text, d, op::operators(), parsing);
    const Result<Module> typed =
        parsed ? passes::run_pipeline(*parsed, passes::Pipeline(), {}, d) : Result<Module>(kReported);
    if (!typed) return;
    module.emplace(*typed);
    LayerKernels names;
    passes::RunnerOptions options;
    options.observers = {&names};
    const Result<Module> lowered = passes::run_pipeline(*typed, passes::default_pipeline(2), options, d);
    if (!lowered) return;
    if (!add(names.kernels.at(0), "layer 0: conv", convolution(), {conv_weights(), {{}, {}, {}, {}}}, {0, 1},
             d))
      return;
    if (!add(names.kernels.at(1), "layer 1: maximum", larger(), {}, {0}, d)) return;
    Result<Program> made = make_program(with_vta_kernels(*lowered, layers), "main", d);
    if (made) program.emplace(std::move(*made));
  }

  bool add(Symbol kernel, const std::string& name, const vta::Layer& layer,
           const vta::LayerConstants& constants, std::vector<size_t> reads, Diagnostics& d) {
    Result<vta::LayerCode> code = vta::compile_layer(layer, constants, layers.layout, {}, d);
    return code &&
           layers.add({.kernel = kernel, .name = name, .code = std::move(*code), .reads = std::move(reads)},
                      d);
  }

  Sources sources(const EmitOptions& options) const {
    Variant v{&*program, target::target_of("sse2")};
    v.needs = kAnyProcessor;
    v.vta = &layers;
    return emit(v, options);
  }
};

struct CompiledOnVta : Compiled {
  OnVta on_vta;
  Sources sources;

  explicit CompiledOnVta(const std::string& text, const vta::Params& params = {},
                         const EmitOptions& options = {})
      : Compiled(NotYet()), on_vta(text, params), sources(on_vta.sources(options)) {
    Diagnostics d;
    EXPECT_TRUE(build(sources, options.weights, {}, path, d).ok()) << d.render({});
    load();
  }
};

// Compiled once for all tests.
inline const CompiledOnVta& plan_on_vta() {
  static const CompiledOnVta c(plan_text());
  return c;
}
inline const CompiledOnVta& functions_on_vta() {
  static const CompiledOnVta c(functions_text());
  return c;
}

// The simulator as a driver that counts, and refuses the call after `left` others.
struct Board {
  vta::SimulatorDriver simulator;
  vta::CDriver functions;
  relay_vta_driver api;
  int left = -1;
  int32_t code = RELAY_VTA_FAILED;  // of the call that is refused
  bool speaks = false;              // and says why
  int calls = 0, live = 0, inside = 0;

  explicit Board(const vta::Params& params = {})
      : simulator(vta::testing::layout_of(params)), functions(simulator), api(functions.table()) {
    api.self = this;
    api.allocate = [](void* self, uint64_t size, uint64_t* address) {
      const int32_t status = of(self).count([&](auto& t) { return t.allocate(t.self, size, address); });
      of(self).live += status == RELAY_VTA_OK;
      return status;
    };
    api.release = [](void* self, uint64_t address) {
      const auto& t = of(self).functions.table();
      t.release(t.self, address);
      --of(self).live;
    };
    api.write = [](void* self, uint64_t address, const void* bytes, uint64_t size) {
      return of(self).count([&](auto& t) { return t.write(t.self, address, bytes, size); });
    };
    api.read = [](void* self, uint64_t address, void* bytes, uint64_t size) {
      return of(self).count([&](auto& t) { return t.read(t.self, address, bytes, size); });
    };
    api.run = [](void* self, uint64_t address, uint32_t count) {
      return of(self).count([&](auto& t) { return t.run(t.self, address, count); });
    };
    api.error = [](void* self) { return of(self).speaks ? "the board is on fire" : ""; };
  }
  static Board& of(void* self) { return *static_cast<Board*>(self); }
  // One call at a time: the model sees to that.
  template <class F>
  int32_t count(const F& f) {
    EXPECT_EQ(__atomic_fetch_add(&inside, 1, __ATOMIC_SEQ_CST), 0);
    ++calls;
    const int32_t status = left-- == 0 ? code : f(functions.table());
    __atomic_fetch_sub(&inside, 1, __ATOMIC_SEQ_CST);
    return status;
  }
};

// A model on a board, with a context and its tensors.
struct LayerRun {
  const relay_api* api;
  relay_model* model = nullptr;
  relay_context* context = nullptr;
  bool shares = false;  // the model is another one's
  char error[256] = "";
  relay_status status;
  std::vector<int8_t> x = random_bytes(kImages * kIn * kSize * kSize, 2),
                      y = random_bytes(kImages * kOut * kSize * kSize, 3), z = std::vector<int8_t>(y.size());

  LayerRun(const Compiled& c, const relay_vta_driver* driver, const relay_allocator* memory = nullptr)
      : api(c.api) {
    relay_open_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    options.allocator = memory;
    options.error = error;
    options.error_size = sizeof error;
    options.vta = driver;
    status = api->model_open(&options, &model);
    if (status == RELAY_OK) status = api->context_create(model, &context);
  }
  // Another context.
  explicit LayerRun(const LayerRun& of) : api(of.api), model(of.model), shares(true) {
    status = api->context_create(model, &context);
  }
  ~LayerRun() {
    api->context_free(context);
    if (!shares) {
      EXPECT_EQ(api->model_close(model), RELAY_OK);
    }
  }

  relay_status go() {
    int64_t x_shape[] = {kImages, kIn, kSize, kSize}, y_shape[] = {kImages, kOut, kSize, kSize};
    const DLTensor in[] = {{x.data(), {kDLCPU, 0}, 4, {kDLInt, 8, 1}, x_shape, nullptr, 0},
                           {y.data(), {kDLCPU, 0}, 4, {kDLInt, 8, 1}, y_shape, nullptr, 0}};
    DLTensor out = in[1];
    out.data = z.data();
    const DLTensor* inputs[] = {&in[0], &in[1]};
    DLTensor* outputs[] = {&out};
    return api->run(context, inputs, 2, outputs, 1);
  }
  std::string said() const { return api->error(context); }
  // What the interpreter computes.
  std::vector<int8_t> wanted(const OnVta& p) const {
    const Tensor a = Tensor::of<int8_t>(kInt8, {kImages, kIn, kSize, kSize}, x);
    const Tensor b = Tensor::of<int8_t>(kInt8, {kImages, kOut, kSize, kSize}, y);
    const Tensor out = interp::Machine(*p.module).call("main", {Value(a), Value(b)}).tensor();
    const std::span<const int8_t> values = out.as<int8_t>();
    return {values.begin(), values.end()};
  }
};

}  // namespace relay::aot
