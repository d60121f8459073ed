#include "vta/compile/start.h"

#include <algorithm>

#include "base/integers.h"

namespace relay::vta {
namespace {

struct Interval {
  int64_t low = 0, high = 0;

  Interval plus(const Interval& i) const { return {low + i.low, high + i.high}; }
  bool holds(const Interval& i) const { return low <= i.low && i.high <= high; }
};
constexpr Interval kWord{INT32_MIN, INT32_MAX}, kImmediate{INT16_MIN, INT16_MAX}, kByte{INT8_MIN, INT8_MAX};

class Starting {
 public:
  Starting(const Layer& l, const std::vector<std::vector<int32_t>>& channels) : l_(l), channels_(channels) {}

  // With an offset of the results.
  std::optional<Start> with(int64_t offset) const {
    const std::optional<std::vector<int64_t>> offsets = before_steps(offset);
    if (!offsets) return std::nullopt;
    Start out = {l_, channels_};
    out.layer.starts_at_constants = true;
    out.layer.steps[0].op = AluOp::kMin;
    Interval sums = products();
    for (size_t k = 0; k < l_.steps.size(); k++) {
      const int64_t at = (*offsets)[k];
      const bool compares = l_.steps[k].op == AluOp::kMin || l_.steps[k].op == AluOp::kMax;
      if ((k == 0 || compares) && !move_operand(out, k, at)) return std::nullopt;
      sums = after(k, sums);
      const int64_t next = k + 1 < l_.steps.size() ? (*offsets)[k + 1] : offset;
      if (!kWord.holds(sums) || !kWord.holds(sums.plus({next, next}))) return std::nullopt;
    }
    // What `min` finds: zeros in the first tile, then results.
    const int64_t found = std::min<int64_t>(0, sums.low + offset);
    return operand(0).high + (*offsets)[0] <= found ? std::optional(std::move(out)) : std::nullopt;
  }

 private:
  // The offsets that become that one.
  std::optional<std::vector<int64_t>> before_steps(int64_t offset) const {
    std::vector<int64_t> out(l_.steps.size());
    for (size_t k = l_.steps.size(); k-- > 0; out[k] = offset) {
      const LayerStep& s = l_.steps[k];
      if (s.op == AluOp::kAdd) continue;
      if (s.op == AluOp::kMul) return std::nullopt;
      if (s.op != AluOp::kShr) {
        if (s.operand == OperandKind::kTensor) return std::nullopt;
        continue;
      }
      if (s.operand != OperandKind::kImmediate) return std::nullopt;
      const int64_t factor = int64_t{1} << std::abs(s.immediate);
      if (s.immediate < 0 && offset % factor != 0) return std::nullopt;
      offset = s.immediate < 0 ? offset / factor : offset * factor;
      if (!kWord.holds({offset, offset})) return std::nullopt;
    }
    return out;
  }

  // No weight and no input is more than 128 away from zero.
  Interval products() const {
    const int64_t most = l_.in_channels / l_.groups * l_.rows.window * l_.columns.window * 128 * 128;
    return {-most, most};
  }

  Interval operand(size_t k) const {
    const LayerStep& s = l_.steps[k];
    if (s.operand == OperandKind::kTensor) return kByte;
    if (s.operand == OperandKind::kImmediate) return {s.immediate, s.immediate};
    const auto [low, high] = std::minmax_element(channels_[k].begin(), channels_[k].end());
    return {*low, *high};
  }

  static bool move_operand(Start& out, size_t k, int64_t by) {
    LayerStep& s = out.layer.steps[k];
    if (s.operand == OperandKind::kImmediate) {
      s.immediate += by;
      return kImmediate.holds({s.immediate, s.immediate});
    }
    return std::all_of(out.channels[k].begin(), out.channels[k].end(), [by](int32_t& v) {
      const int64_t moved = v + by;
      v = static_cast<int32_t>(moved);
      return kWord.holds({moved, moved});
    });
  }

  // The step on sums without an offset.
  Interval after(size_t k, const Interval& sums) const {
    const Interval o = operand(k);
    switch (l_.steps[k].op) {
      case AluOp::kMin: return {std::min(sums.low, o.low), std::min(sums.high, o.high)};
      case AluOp::kMax: return {std::max(sums.low, o.low), std::max(sums.high, o.high)};
      case AluOp::kShr: {
        const int64_t amount = l_.steps[k].immediate;
        if (amount >= 0) return {sums.low >> amount, sums.high >> amount};
        return {sums.low << -amount, sums.high << -amount};
      }
      default: return sums.plus(o);
    }
  }

  const Layer& l_;
  const std::vector<std::vector<int32_t>>& channels_;
};

}  // namespace

std::optional<Start> start_at_constants(const Layer& layer,
                                        const std::vector<std::vector<int32_t>>& channels) {
  const bool adds = layer.multiplies() && !layer.steps.empty() && layer.steps[0].op == AluOp::kAdd &&
                    layer.steps[0].operand == OperandKind::kChannel;
  if (!adds) return std::nullopt;
  const Starting starting(layer, channels);
  // The closer to zero, the further from the ends of 32 bits. Clips are immediate operands.
  for (int64_t offset = -256; offset >= INT16_MIN; offset -= 256) {
    if (std::optional<Start> out = starting.with(offset)) return out;
  }
  return std::nullopt;
}

}  // namespace relay::vta
