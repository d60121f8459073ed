#include "vta/compile/testing.h"

#include <algorithm>
#include <array>

#include "vta/compile/pack.h"

namespace relay::vta::testing {
namespace {

int64_t below(std::mt19937_64& random, int64_t n) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
}
int64_t from_to(std::mt19937_64& random, int64_t least, int64_t most) {
  return least + below(random, most - least + 1);
}

int32_t wrapped(int64_t value) {
  return static_cast<int32_t>(static_cast<uint32_t>(static_cast<uint64_t>(value)));
}

int32_t apply(AluOp op, int32_t a, int32_t b) {
  switch (op) {
    case AluOp::kMin: return std::min(a, b);
    case AluOp::kMax: return std::max(a, b);
    case AluOp::kAdd: return wrapped(int64_t{a} + b);
    case AluOp::kMul: return wrapped(int64_t{a} * b);
    case AluOp::kShr: break;
  }
  return b >= 0 ? a >> b : wrapped(static_cast<int64_t>(static_cast<uint64_t>(int64_t{a}) << -b));
}

struct Reference {
  const Layer& l;
  const LayerCase& c;
  TensorShape in = input_shape(l), out = output_shape(l), weights = weight_shape(l);

  static size_t at(const TensorShape& s, int64_t n, int64_t k, int64_t y, int64_t x) {
    return static_cast<size_t>(((n * s.channels + k) * s.rows + y) * s.columns + x);
  }

  // Position of the input that the result sees by the tap; false if none.
  bool seen(const Axis& a, int64_t result, int64_t tap, int64_t& position) const {
    if (l.kind == LayerKind::kTransposed) {
      const int64_t scaled = result + a.pad_before - tap * a.dilation;
      position = scaled / a.stride;
      return scaled >= 0 && scaled % a.stride == 0 && position < a.size;
    }
    position = result * a.stride - a.pad_before + tap * a.dilation;
    return position >= 0 && position < a.size;
  }

  template <class Visit>
  void for_each_tap(int64_t y, int64_t x, Visit visit) const {
    for (int64_t ky = 0; ky < l.rows.window; ky++) {
      for (int64_t kx = 0; kx < l.columns.window; kx++) {
        int64_t row = 0, column = 0;
        if (seen(l.rows, y, ky, row) && seen(l.columns, x, kx, column)) visit(ky, kx, row, column);
      }
    }
  }

  int32_t sum(int64_t n, int64_t k, int64_t y, int64_t x) const {
    int64_t sum = l.kind == LayerKind::kMaxPool ? INT8_MIN : 0;
    const int64_t ins = l.in_channels / l.groups, outs = l.out_channels / l.groups, group = k / outs;
    for_each_tap(y, x, [&](int64_t ky, int64_t kx, int64_t row, int64_t column) {
      if (!l.multiplies()) {
        const int64_t value = c.input[at(in, n, k, row, column)];
        sum = l.kind == LayerKind::kMaxPool ? std::max(sum, value) : sum + value;
        return;
      }
      for (int64_t i = 0; i < ins; i++) {
        const int64_t channel = group * ins + i;
        const size_t weight = l.kind == LayerKind::kTransposed ? at(weights, channel, k % outs, ky, kx)
                                                               : at(weights, k, i, ky, kx);
        sum += int64_t{c.input[at(in, n, channel, row, column)]} * c.constants.weights[weight];
      }
    });
    return wrapped(sum);
  }

  std::vector<int8_t> run() const {
    std::vector<int8_t> result;
    for (int64_t n = 0; n < out.batch; n++) {
      for (int64_t k = 0; k < out.channels; k++) {
        for (int64_t y = 0; y < out.rows; y++) {
          for (int64_t x = 0; x < out.columns; x++) {
            int32_t value = sum(n, k, y, x);
            for (size_t s = 0; s < l.steps.size(); s++) {
              const LayerStep& step = l.steps[s];
              auto operand = static_cast<int32_t>(step.immediate);
              if (step.operand == OperandKind::kChannel)
                operand = c.constants.channels[s][static_cast<size_t>(k)];
              if (step.operand == OperandKind::kTensor) operand = c.tensors[s][at(out, n, k, y, x)];
              value = apply(step.op, value, operand);
            }
            result.push_back(static_cast<int8_t>(static_cast<uint8_t>(value)));
          }
        }
      }
    }
    return result;
  }
};

std::vector<int8_t> random_bytes(int64_t count, std::mt19937_64& random) {
  std::vector<int8_t> out(static_cast<size_t>(count));
  for (int8_t& byte : out) byte = static_cast<int8_t>(static_cast<uint8_t>(random()));
  return out;
}

Axis random_axis(LayerKind kind, std::mt19937_64& random) {
  Axis a = {.size = from_to(random, 1, 12)};
  if (kind == LayerKind::kElementwise) return a;
  a.window = from_to(random, 1, 4);
  a.stride = from_to(random, 1, 3);
  if (below(random, 3) == 0) a.dilation = from_to(random, 1, 2);
  a.pad_before = below(random, a.reach());
  a.pad_after = below(random, a.reach());
  if (kind == LayerKind::kTransposed) a.out_pad = below(random, std::max(a.stride, a.dilation));
  return a;
}

std::vector<LayerStep> random_steps(std::mt19937_64& random) {
  std::vector<LayerStep> out;
  for (int64_t n = below(random, 5); n > 0; n--) {
    LayerStep step = {.op = static_cast<AluOp>(below(random, 5)),
                      .operand = static_cast<OperandKind>(below(random, 3))};
    const bool shift = step.op == AluOp::kShr;
    if (shift && step.operand == OperandKind::kTensor) step.operand = OperandKind::kChannel;
    if (step.operand == OperandKind::kImmediate)
      step.immediate = shift ? from_to(random, -31, 31) : from_to(random, -300, 300);
    out.push_back(step);
  }
  return out;
}

}  // namespace

LayerCase random_numbers(const Layer& layer, std::mt19937_64& random) {
  LayerCase c = {.layer = layer};
  c.input = random_bytes(input_shape(layer).size(), random);
  if (layer.multiplies()) c.constants.weights = random_bytes(weight_shape(layer).size(), random);
  for (const LayerStep& step : layer.steps) {
    c.tensors.emplace_back();
    c.constants.channels.emplace_back();
    if (step.operand == OperandKind::kTensor)
      c.tensors.back() = random_bytes(output_shape(layer).size(), random);
    if (step.operand != OperandKind::kChannel) continue;
    for (int64_t k = 0; k < layer.out_channels; k++)
      c.constants.channels.back().push_back(static_cast<int32_t>(
          step.op == AluOp::kShr ? from_to(random, -31, 31) : from_to(random, -100000, 100000)));
  }
  return c;
}

Layer random_layer(LayerKind kind, const Params& params, std::mt19937_64& random) {
  while (true) {
    Layer l = {.kind = kind, .batch = from_to(random, 1, 3)};
    l.rows = random_axis(kind, random), l.columns = random_axis(kind, random);
    if (l.multiplies()) {
      constexpr int64_t kGroups[] = {1, 1, 1, 2, 3, 5, 16, 24, 40};
      l.groups = kGroups[below(random, std::ssize(kGroups))];
      const int64_t most = l.groups > 1 ? 1 + 40 / l.groups : 70;
      l.in_channels = l.groups * from_to(random, 1, most),
      l.out_channels = l.groups * from_to(random, 1, most);
    } else {
      l.in_channels = l.out_channels = from_to(random, 1, 70);
    }
    l.steps = random_steps(random);
    Diagnostics d;
    if (check_layer(l, params, d)) return l;
  }
}

std::vector<int8_t> reference(const LayerCase& c) { return Reference{c.layer, c}.run(); }

uint64_t block_products(const Layer& l, const Params& params) {
  const auto up = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const TensorShape out = output_shape(l);
  const auto on_axis = [&](const Axis& a, int64_t size) {
    int64_t sum = 0;
    for (int64_t y = 0; y < size; y++) {
      for (int64_t k = 0; k < a.window; k++)
        sum += l.kind != LayerKind::kTransposed ||
               (y + a.pad_before + a.stride * a.reach() - k * a.dilation) % a.stride == 0;
    }
    return sum;
  };
  CHECK(l.groups == 1, "blocks of groups are those of bundles");
  return static_cast<uint64_t>(up(l.batch, params.batch()) * up(l.in_channels, params.block()) *
                               up(l.out_channels, params.block()) * on_axis(l.rows, out.rows) *
                               on_axis(l.columns, out.columns));
}

std::vector<NamedLayer> resnet18_layers() {
  struct Row {
    int64_t size, in, out, window, stride;
    Tile published;
  };
  const Row rows[] = {{56, 64, 64, 3, 1, {.outs = 2, .rows = 8, .columns = 56}},
                      {56, 64, 128, 3, 2, {.outs = 4, .rows = 7, .columns = 28}},
                      {56, 64, 128, 1, 2, {.outs = 4, .rows = 7, .columns = 28}},
                      {28, 128, 128, 3, 1, {.outs = 2, .rows = 14, .columns = 28}},
                      {28, 128, 256, 3, 2, {.outs = 4, .rows = 14, .columns = 14}},
                      {28, 128, 256, 1, 2, {.outs = 8, .rows = 7, .columns = 14}},
                      {14, 256, 256, 3, 1, {.outs = 4, .rows = 14, .columns = 14}},
                      {14, 256, 512, 3, 2, {.outs = 16, .rows = 7, .columns = 7}},
                      {14, 256, 512, 1, 2, {.outs = 16, .rows = 7, .columns = 7}},
                      {7, 512, 512, 3, 1, {.outs = 16, .rows = 7, .columns = 7}}};
  std::vector<NamedLayer> out;
  for (const Row& r : rows) {
    const int64_t pad = r.window / 2;
    const Axis axis = {
        .size = r.size, .window = r.window, .stride = r.stride, .pad_before = pad, .pad_after = pad};
    Layer l = {
        .in_channels = r.in, .out_channels = r.out, .rows = axis, .columns = axis, .origin = {"nn.conv2d"}};
    l.steps = {{.op = AluOp::kShr, .immediate = 8, .origin = {"right_shift"}},
               {.op = AluOp::kMax, .immediate = 0, .origin = {"nn.relu"}},
               {.op = AluOp::kMin, .immediate = 127, .origin = {"clip"}}};
    out.push_back({"C" + std::to_string(out.size() + 2), std::move(l), r.published});
  }
  return out;
}

uint64_t published_bytes(const NamedLayer& named) {
  const Layer& l = named.layer;
  const Params params;
  const TensorShape results = output_shape(l);
  // Pixels of the input that all tiles along an axis load.
  const auto loaded = [](const Axis& a, int64_t size, int64_t tile) {
    int64_t sum = 0;
    for (int64_t first = 0; first < size; first += tile) {
      const int64_t begin = first * a.stride - a.pad_before, end = begin + (tile - 1) * a.stride + a.window;
      sum += std::min(end, a.size) - std::max(begin, int64_t{0});
    }
    return sum;
  };
  const Tile& t = named.published;
  const int64_t in_blocks = l.in_channels / params.block(), out_blocks = l.out_channels / params.block();
  const int64_t images = results.rows / t.rows * (results.columns / t.columns);
  const int64_t inputs = loaded(l.rows, results.rows, t.rows) *
                         loaded(l.columns, results.columns, t.columns) * in_blocks * (out_blocks / t.outs);
  const int64_t weights = images * out_blocks * in_blocks * l.rows.window * l.columns.window;
  return static_cast<uint64_t>(inputs * params.dram_bytes(Memory::kInp) +
                               weights * params.dram_bytes(Memory::kWgt) + packed_bytes(results, params));
}

}  // namespace relay::vta::testing
