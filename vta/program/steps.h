// Steps of a layer that compute exactly what integer operators of a program do.
//
// A VTA keeps the low 32 bits of sums and products. Operators keep those of their dtype, or
// saturate, or compute in 64 bits. `Steps` knows the range of the sums, and so where the two agree:
//
//   * Sums, differences, products and left shifts keep the low bits of everything. So what int8 and
//     int16 wrap away may stay in the sums until an operator looks at the whole number. Then two
//     shifts bring the sums back into the dtype.
//   * qnn.rescale computes in 64 bits. Its steps are used if nothing leaves 32 bits, if need be
//     behind a clip that changes no result.
//
// Each step is a pass over all sums, so the fewest steps are made. A clip goes behind a shift to
// the right: max(v, c) >> n is max(v >> n, c >> n). Two things are gained there: the clip of a
// saturation is one clip with it, and sums of constants on both sides of it are one step.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/dtype.h"
#include "vta/compile/compile.h"

namespace relay::vta {

// Integers from `low` to `high`.
struct Range {
  int64_t low = 0, high = 0;

  bool holds(const Range& r) const { return low <= r.low && r.high <= high; }
  friend bool operator==(const Range&, const Range&) = default;
};
// Of a signed dtype of at most 32 bits.
Range range_of(DType dtype);

// An operand: one number, or one for each channel.
using Numbers = std::vector<int64_t>;

// round(v * multiplier / 2^shift) + zero, saturated (op/qnn/rescale.cc).
struct Rescale {
  int64_t multiplier = 1, shift = 0, zero = 0;
  std::string rounding = "UPWARD";
  DType result = kInt8;
};

class Steps {
 public:
  // Of sums that the layer begins with: their low bits are those of the dtype.
  Steps(int64_t channels, DType dtype, const Range& range);

  // The operand is a number of the dtype. Operators in the words of the program.
  void add(const Numbers& n, const Origin& origin);
  void multiply(const Numbers& n, const Origin& origin);
  void maximum(const Numbers& n, const Origin& origin);
  void minimum(const Numbers& n, const Origin& origin);
  void shift_left(const Numbers& n, const Origin& origin);  // amounts are 0 to 31
  void shift_right(const Numbers& n, const Origin& origin);
  // Returns why there are no exact steps; empty if there are.
  std::string rescale(const Rescale& r, const Origin& origin);
  // To int8, int16 or int32.
  void cast(DType to, const Origin& origin);
  // With a tensor of int8, which the caller calls `tensor`: kAdd, kMul, kMin or kMax.
  void combine(AluOp op, size_t tensor, const Origin& origin);

  DType dtype() const { return dtype_; }
  // Of the sums. What is outside of the dtype is wrapped later, or never.
  const Range& range() const { return range_; }

  struct Made {
    std::vector<LayerStep> steps;
    std::vector<std::vector<int32_t>> channels;  // of each step, as LayerConstants has them
    std::vector<std::optional<size_t>> tensors;  // of each step
  };
  Made made() const;

 private:
  struct Step {
    AluOp op;
    Numbers numbers;               // empty if it reads a tensor
    std::optional<size_t> tensor;  // which
    Origin origin;
    Range before;  // of the sums that it reads

    bool is_sum() const { return op == AluOp::kAdd && !tensor; }
    bool is_clip() const { return (op == AluOp::kMin || op == AluOp::kMax) && !tensor; }
  };

  // The sums become numbers of the dtype.
  void settle(const Origin& origin);
  void push(AluOp op, Numbers n, const Origin& origin);
  // The larger, or the smaller one of sums and numbers.
  void clip(AluOp op, const Numbers& n, const Origin& origin);
  // A shift to the right of sums that are numbers of the dtype.
  void halve(int64_t amount, const Origin& origin);
  // Removes the clips at the end of the steps, and returns what they are behind a shift by
  // `amount`. Sums of constants between them stay. Returns none and changes nothing if a clip would
  // become a constant for each channel, or if sums that it cuts off would wrap.
  std::vector<Step> take_clips(int64_t amount);
  void set_range(int64_t low, int64_t high);
  // The product by the multiplier, divided and rounded. Nothing changes if it returns false.
  bool divide(const Rescale& r, const Origin& origin);

  int64_t channels_;
  DType dtype_;
  Range range_;
  std::vector<Step> steps_;
};

}  // namespace relay::vta
