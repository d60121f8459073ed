#include "vta/compile/layer.h"

#include <algorithm>

#include "base/cat.h"
#include "base/integers.h"
#include "vta/compile/blocks.h"

namespace relay::vta {
namespace {

// Extents, strides and counts have fields of 16 bits.
constexpr int64_t kMostExtent = 65535;
// Pads have fields of 4 bits.
constexpr int64_t kMostPad = 15;
// A buffer of DRAM is less than that.
constexpr int64_t kMostBytes = int64_t{1} << 32;

class Check {
 public:
  Check(const Layer& layer, const Params& params, Diagnostics& d) : l_(layer), params_(params), d_(d) {}

  bool run() {
    const size_t before = d_.errors();
    widths();
    for (const auto& [what, value] :
         {std::pair{"batch", l_.batch}, std::pair{"input channels", l_.in_channels},
          std::pair{"output channels", l_.out_channels}, std::pair{"groups", l_.groups}})
      range(what, value, 1, kMostExtent);
    axis("rows", l_.rows);
    axis("columns", l_.columns);
    if (d_.errors() > before) return false;
    channels();
    axis_pads("rows", l_.rows);
    axis_pads("columns", l_.columns);
    for (const LayerStep& step : l_.steps) this->step(step);
    if (d_.errors() > before) return false;
    sizes();
    return d_.errors() == before;
  }

 private:
  void wrong(std::string message, const Origin* origin = nullptr) {
    const Origin& at = origin ? *origin : l_.origin;
    d_.error(at.span, "vta-layer", cat(at.name.empty() ? "" : cat("`", at.name, "`: "), message));
  }

  bool range(std::string_view what, int64_t value, int64_t least, int64_t most) {
    if (value >= least && value <= most) return true;
    wrong(cat(what, ": ", value, ", and a VTA takes ", least, " to ", most));
    return false;
  }

  void widths() {
    constexpr std::pair<std::string_view, int Params::*> kWidths[] = {
        {"LOG_INP_WIDTH", &Params::log_inp_width},
        {"LOG_WGT_WIDTH", &Params::log_wgt_width},
        {"LOG_OUT_WIDTH", &Params::log_out_width}};
    for (const auto& [key, member] : kWidths) {
      if (params_.*member != 3)
        wrong(cat("layers have numbers of 8 bits, and `", key, "` is ", params_.*member));
    }
  }

  void axis(std::string_view which, const Axis& a) {
    range(cat(which, " of the input"), a.size, 1, kMostExtent);
    range(cat(which, " of the window"), a.window, 1, kMostExtent);
    range(cat("stride of ", which), a.stride, 1, kMostExtent);
    range(cat("dilation of ", which), a.dilation, 1, kMostExtent);
    for (const int64_t pad : {a.pad_before, a.pad_after, a.out_pad})
      range(cat("padding of ", which), pad, 0, kMostExtent);
  }

  void channels() {
    if (l_.in_channels % l_.groups || l_.out_channels % l_.groups)
      wrong(cat(l_.groups, " groups do not divide ", l_.in_channels, " and ", l_.out_channels, " channels"));
    if (l_.multiplies()) return;
    if (l_.groups != 1) wrong("only products have groups");
    if (l_.in_channels != l_.out_channels)
      wrong(cat("it has ", l_.in_channels, " channels, and its result ", l_.out_channels));
  }

  void axis_pads(std::string_view which, const Axis& a) {
    if (l_.kind == LayerKind::kElementwise) {
      if (a.window != 1 || a.stride != 1 || a.pad_before || a.pad_after)
        wrong(cat("an elementwise layer has no windows over ", which));
      return;
    }
    if (l_.kind != LayerKind::kTransposed && a.out_pad)
      wrong("only a transposed convolution pads its result");
    if (a.pad_before >= a.reach() || a.pad_after >= a.reach()) {
      wrong(cat("a window of ", a.reach(), " ", which, " may lie in the padding as a whole"));
      return;
    }
    if (a.out_pad >= std::max(a.stride, a.dilation) && a.out_pad)
      wrong(cat("padding of the result by ", a.out_pad, " ", which, ", and the stride is ", a.stride));
    if (out_size(l_.kind, a) < 1)
      wrong(cat("a window of ", a.reach(), " ", which, " does not fit into the input"));
    range(cat(which, " of the result"), out_size(l_.kind, a), 1, kMostExtent);
    if (!l_.multiplies()) return;  // pooling reads no padding
    for (const int64_t pad : {zeros(a, a.pad_before), zeros(a, a.pad_after - a.out_pad)}) {
      if (pad > kMostPad)
        wrong(cat(pad, " ", which, " of zeros beside the input, and a LOAD makes ", kMostPad, " at most"));
    }
  }

  // Zeros that windows see beside the input.
  int64_t zeros(const Axis& a, int64_t pad) const {
    return l_.kind == LayerKind::kTransposed ? quotient_down(a.reach() - 1 - pad, a.stride) : pad;
  }

  void step(const LayerStep& s) {
    if (s.operand == OperandKind::kTensor && s.op == AluOp::kShr)
      wrong("a tensor shifts, and a VTA has to know before that no amount is 32 or more", &s.origin);
    if (s.operand != OperandKind::kImmediate) return;
    const bool shift = s.op == AluOp::kShr;
    const int64_t least = shift ? -31 : INT16_MIN, most = shift ? 31 : INT16_MAX;
    if (s.immediate < least || s.immediate > most)
      wrong(
          cat("`", name_of(s.op), "` by ", s.immediate, ", and immediate operands are ", least, " to ", most),
          &s.origin);
  }

  void sizes() {
    const BlockedLayer blocked = in_blocks(l_, params_);
    const int64_t vector = params_.batch() * params_.block(), tile = params_.dram_bytes(Memory::kWgt);
    const bool large =
        vectors(blocked.in_blocks, l_.rows.size, l_.columns.size) > kMostBytes / vector ||
        vectors(blocked.out_blocks, blocked.out_rows, blocked.out_columns) > kMostBytes / vector ||
        blocked.weights > kMostBytes / tile;
    if (large) wrong("one of its tensors has more bytes than a VTA has addresses for");
  }

  // Of a tensor with these extents: kMostBytes if it is more.
  int64_t vectors(int64_t blocks, int64_t rows, int64_t columns) const {
    int64_t out = ceil_div(l_.batch, params_.batch());
    for (const int64_t extent : {blocks, rows, columns}) out = std::min(out * extent, kMostBytes);
    return out;
  }

  const Layer& l_;
  const Params& params_;
  Diagnostics& d_;
};

}  // namespace

int64_t channel_steps(const Layer& l) {
  return std::count_if(l.steps.begin(), l.steps.end(),
                       [](const LayerStep& s) { return s.operand == OperandKind::kChannel; });
}

int64_t out_size(LayerKind kind, const Axis& a) {
  if (kind == LayerKind::kTransposed)
    return (a.size - 1) * a.stride - a.pad_before - a.pad_after + a.reach() + a.out_pad;
  return quotient_down(a.size + a.pad_before + a.pad_after - a.reach(), a.stride) + 1;
}

TensorShape input_shape(const Layer& l) { return {l.batch, l.in_channels, l.rows.size, l.columns.size}; }

TensorShape output_shape(const Layer& l) {
  return {l.batch, l.out_channels, out_size(l.kind, l.rows), out_size(l.kind, l.columns)};
}

TensorShape weight_shape(const Layer& l) {
  if (!l.multiplies()) return {0, 0, 0, 0};
  if (l.kind == LayerKind::kTransposed)
    return {l.in_channels, l.out_channels / l.groups, l.rows.window, l.columns.window};
  return {l.out_channels, l.in_channels / l.groups, l.rows.window, l.columns.window};
}

bool check_layer(const Layer& layer, const Params& params, Diagnostics& d) {
  return Check(layer, params, d).run();
}

// With n = 2 sum + count, the mean is n / (2 count), rounded down. A multiplier of 15 bits and a
// shift divide numbers that are not negative exactly, if they are small enough: so 128 is added to
// the mean, and subtracted at the end.
Result<std::vector<LayerStep>> mean_steps(int64_t count, const Origin& origin, Diagnostics& d) {
  const auto step = [&](AluOp op, int64_t immediate) {
    return LayerStep{op, OperandKind::kImmediate, immediate, origin};
  };
  if (count == 1) return std::vector<LayerStep>();
  const int64_t divisor = 2 * count, offset = count + 128 * divisor, largest = 127 * divisor + offset;
  for (int shift = 1; shift < 31 && count > 0 && offset <= INT16_MAX; shift++) {
    const int64_t multiplier = ceil_div(int64_t{1} << shift, divisor);
    if (multiplier > INT16_MAX || multiplier * largest > INT32_MAX) break;
    // n * multiplier / 2^shift = n / divisor + n * excess / (divisor * 2^shift), whose second part
    // has to be less than 1 / divisor.
    const int64_t excess = multiplier * divisor - (int64_t{1} << shift);
    if (excess * largest >= int64_t{1} << shift) continue;
    return std::vector<LayerStep>{step(AluOp::kShr, -1), step(AluOp::kAdd, offset),
                                  step(AluOp::kMul, multiplier), step(AluOp::kShr, shift),
                                  step(AluOp::kAdd, -128)};
  }
  d.error(origin.span, "vta-layer", cat("a mean of ", count, " numbers: the ALU has no exact steps for it"));
  return kReported;
}

}  // namespace relay::vta
