// com.microsoft: weights that are blocks of small numbers, each block with a scale of its own.
#include <algorithm>
#include <array>

#include "base/cat.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/stored.h"

namespace relay::frontend {
namespace {

using namespace op;

constexpr int64_t kMost = int64_t{1} << 31;  // of an extent

// Bytes as the numbers of `bits` bits in them: (.., bytes) becomes (.., bytes * 8 / bits). The
// lowest come first, or the highest.
Expr unpacked(Node& n, Expr bytes, int64_t bits, bool highest_first = false) {
  if (bits == 8) return bytes;
  const auto number = [&](int64_t v) { return n.builder().constant(Tensor::scalar_int(kUInt8, v)); };
  std::vector<Expr> parts;
  for (int64_t shift = 0; shift < 8; shift += bits) {
    const Expr moved = shift == 0 ? bytes : n.call(kRightShift, {bytes, number(shift)});
    parts.push_back(n.call(kBitwiseAnd, {moved, number((1 << bits) - 1)}));
  }
  if (highest_first) std::reverse(parts.begin(), parts.end());
  std::vector<Dim> dims = dims_of(bytes);
  const auto rank = static_cast<int64_t>(dims.size());
  dims.back() = dims.back() * Dim(8 / bits);
  return n.reshape(n.call(kStack, {n.builder().tuple(parts)}, {{"axis", rank}}), dims);
}

bool is_block_size(int64_t size) { return size >= 16 && size < kMost && (size & (size - 1)) == 0; }

// --- MatMulNBits ---------------------------------------------------------------------------------

struct Blocks {
  int64_t bits, columns, depth, size, count;  // N, K, the elements of a block, the blocks of a column
};

Blocks blocks_of(Node& n) {
  Blocks b{n.integer("bits", 4), n.integer("N"), n.integer("K"), n.integer("block_size"), 0};
  if (b.bits != 2 && b.bits != 4 && b.bits != 8)
    n.unsupported(cat(b.bits, " bits are not supported"), "2, 4 and 8 are");
  n.require(b.columns > 0 && b.columns < kMost && b.depth > 0 && b.depth < kMost && is_block_size(b.size),
            "its attributes N, K and block_size are out of range");
  b.count = (b.depth + b.size - 1) / b.size;
  return b;
}

// A zero point for each block of each column: given as such, or packed like the
// weight, or the middle.
Expr zero_points(Node& n, const Blocks& b, DType dtype) {
  const Expr none = n.scalar(dtype, static_cast<double>(int64_t{1} << (b.bits - 1)));
  if (!n.has(3)) return none;
  const Expr given = n.input(3);
  const std::vector<Dim> shape{Dim(b.columns), Dim(b.count), Dim(1)};
  if (type_of(given).dtype != kUInt8) return n.reshape(n.cast(given, dtype), shape);
  const int64_t bytes = (b.count * b.bits + 7) / 8;
  const Expr points = unpacked(n, n.reshape(given, {Dim(b.columns), Dim(bytes)}), b.bits);
  return n.reshape(n.cast(n.slice(points, 1, 0, b.count), dtype), shape);
}

// g_idx: which of its column's blocks each row of the weight belongs to. Null if
// they come in order.
Expr groups_of(Node& n, const Blocks& b) {
  if (!n.has(4)) return nullptr;
  const Expr group = n.input(4);
  n.require(type_of(group).rank() == 1 && type_of(group).dtype == kInt32,
            "its input `g_idx` must be a list of int32");
  const Dim length = dims_of(group)[0];
  n.require(!length.is_const() || length.value() >= b.depth, "its input `g_idx` has fewer elements than K");
  return length == Dim(b.depth) ? group : n.slice(group, 0, 0, b.depth);
}

// What each row has of its block: (N, count, 1) becomes (N, K). A run traps on a
// group that is none.
Expr chosen(Node& n, const Blocks& b, Expr of_blocks, Expr group) {
  if (type_of(of_blocks).rank() == 0) return of_blocks;
  const Expr of_columns = n.reshape(of_blocks, {Dim(b.columns), Dim(b.count)});
  return n.call(kTake, {of_columns, group}, {{"axis", int64_t{1}}, {"mode", std::string("fast")}});
}

// a times the transpose of a weight (N, K) whose rows are blocks of small integers
// with a scale each.
Results matrix_product_of_bits(Node& n) {
  n.without_effect({"accuracy_level"});
  if (n.integer("weight_prepacked", 0) != 0)
    n.unsupported("weights in a layout of one machine are not supported", "export with weight_prepacked=0");
  const Blocks b = blocks_of(n);
  n.require(n.dtype(1) == kUInt8, "its weight must be packed in uint8");
  const Expr group = groups_of(n, b);
  const Expr a = n.input(0);
  const DType dtype = type_of(a).dtype;
  const Expr packed = n.reshape(n.input(1), {Dim(b.columns), Dim(b.count), Dim(b.size * b.bits / 8)});
  const Expr numbers = n.cast(unpacked(n, packed, b.bits), dtype);
  const Expr scale = n.reshape(n.cast(n.input(2), dtype), {Dim(b.columns), Dim(b.count), Dim(1)});
  const Expr points = zero_points(n, b, dtype);
  // (N, count, size), or a matrix, as a matrix without what fills the last block.
  const auto matrix = [&](Expr e) {
    const Expr whole = n.reshape(e, {Dim(b.columns), Dim(b.count * b.size)});
    return b.count * b.size == b.depth ? whole : n.slice(whole, 1, 0, b.depth);
  };
  const auto real = [&](Expr q, Expr zero, Expr by) {
    return n.call(kMultiply, {n.call(kSubtract, {q, zero}), by});
  };
  const Expr weight = group ? real(matrix(numbers), chosen(n, b, points, group), chosen(n, b, scale, group))
                            : matrix(real(numbers, points, scale));
  const Expr y = n.call(kMatmul, {a, weight}, {{"transpose_b", true}});
  return {n.has(5) ? n.call(kAdd, {y, n.input(5)}) : y};
}

// --- MatMulBnb4 ----------------------------------------------------------------------------------

// What the 16 patterns stand for: bitsandbytes' 4-bit float, and the quantiles of a normal
// distribution that QLoRA calls NF4.
constexpr std::array<double, 16> kFp4 = {0, 1.0 / 192,  2.0 / 3,  1,  1.0 / 3,  0.5,  1.0 / 6,  0.25,
                                         0, -1.0 / 192, -2.0 / 3, -1, -1.0 / 3, -0.5, -1.0 / 6, -0.25};
constexpr std::array<double, 16> kNf4 = {
    -1,           -0.69619280,  -0.52507305,  -0.39491749,  -0.28444138, -0.18477343,  -0.09105004,  0,
    0.0795802996, 0.1609302014, 0.2461123019, 0.3379152417, 0.44070983,  0.5626170039, 0.7229568362, 1};

Results matrix_product_of_bnb4(Node& n) {
  n.without_effect({"training_mode"});
  const int64_t columns = n.integer("N"), depth = n.integer("K"), size = n.integer("block_size");
  const int64_t kind = n.integer("quant_type");
  n.require(columns > 0 && columns < kMost && depth > 0 && depth < kMost && is_block_size(size),
            "its attributes N, K and block_size are out of range");
  n.require(kind == 0 || kind == 1, "its attribute `quant_type` is neither 0 (FP4) nor 1 (NF4)");
  n.require(n.dtype(1) == kUInt8, "its weight must be packed in uint8");
  const int64_t all = columns * depth, blocks = (all + size - 1) / size;
  Tensor table(kFloat32, {16});
  for (int64_t i = 0; i < 16; ++i) table.set(i, (kind == 0 ? kFp4 : kNf4)[static_cast<size_t>(i)]);

  const Expr bytes = n.reshape(n.input(1), {Dim((all + 1) / 2)});
  Expr patterns = unpacked(n, bytes, 4, /*highest_first=*/true);
  if (all % 2 != 0) patterns = n.slice(patterns, 0, 0, all);
  const Expr numbers = n.call(kTake, {n.builder().constant(std::move(table)), n.cast(patterns, kInt32)},
                              {{"axis", int64_t{0}}});
  const Expr largest = n.cast(n.reshape(n.input(2), {Dim(blocks)}), kFloat32);
  Expr scale = n.call(kRepeat, {largest}, {{"repeats", size}, {"axis", int64_t{0}}});
  if (blocks * size != all) scale = n.slice(scale, 0, 0, all);
  const Expr flat = n.cast(n.call(kMultiply, {numbers, scale}), n.dtype(0));
  const Expr weight = n.reshape(flat, {Dim(columns), Dim(depth)});
  return {n.call(kMatmul, {n.input(0), weight}, {{"transpose_b", n.integer("transB", 1) != 0}})};
}

// --- GatherBlockQuantized ------------------------------------------------------------------------

// Rows of a table of quantised numbers, as real numbers. Rows are taken first, so that the whole
// table need not be made real.
class GatherBlocks {
 public:
  explicit GatherBlocks(Node& n) : n_(n) {
    const Element element = element_at(n, 0);
    is_bytes_ = element.dtype == kUInt8 && !element.storage;
    const unsigned bits = element.storage ? element.storage->bits : element.dtype.bits;
    is_float_ = element.is_float() && bits <= 8;
    if (!is_bytes_ && !is_float_ && element.dtype != kInt4 && element.dtype != kUInt4)
      n.unsupported("its data are neither uint8, int4, uint4, float8 nor float4");
    bits_ = n.integer("bits", 4);
    n.require(!is_bytes_ || bits_ == 2 || bits_ == 4 || bits_ == 8, "its attribute `bits` is not 2, 4 or 8");
    block_ = n.integer("block_size", 128);
    n.require(is_block_size(block_) || (is_float_ && block_ == 0),
              "its attribute `block_size` is out of range");
    table_ = is_bytes_ ? unpacked(n, n.input(0), bits_) : numbers_at(n, 0);
    if (is_float_) table_ = n.cast(table_, kFloat32);
    const size_t rank = type_of(table_).rank();
    n.require(rank >= 1 && n.rank(2) == rank, "its scales need as many dimensions as its data");
    gathered_ = n.axis(n.integer("gather_axis", 0), rank);
    blocked_ = n.axis(n.integer("quantize_axis", 1), rank);
    if (is_bytes_ && bits_ < 8 && (gathered_ + 1 == rank || blocked_ + 1 != rank))
      n.unsupported("of packed numbers whole rows are gathered, in blocks along the last axis");
    n.require(!is_float_ || !n.has(3), "data of floats have no zero points");
  }

  Expr make() {
    const Expr indices = n_.cast(n_.input(1), kInt64);
    const Dim extent = dims_of(table_)[gathered_];
    const auto whole = [&](int64_t v) { return n_.builder().constant(Tensor::scalar_int(kInt64, v)); };
    const Expr end = extent.is_const() ? whole(extent.value()) : n_.importer().materialise(extent);
    const Expr from_front =
        n_.call(kWhere, {n_.call(kLess, {indices, whole(0)}), n_.call(kAdd, {indices, end}), indices});
    const Expr is_there = n_.call(
        kLogicalAnd, {n_.call(kGreaterEqual, {from_front, whole(0)}), n_.call(kLess, {from_front, end})});
    const Expr place = n_.call(kWhere, {is_there, from_front, whole(0)});
    Expr y = n_.cast(taken(table_, place), kFloat32);
    if (const Expr zero = zero_points()) y = n_.call(kSubtract, {y, at_elements(zero, place)});
    y = n_.call(kMultiply, {y, at_elements(n_.cast(n_.input(2), kFloat32), place)});
    // An index that is none gives zeros, where ONNX's own Gather fails.
    const auto behind = static_cast<int64_t>(type_of(table_).rank() - gathered_ - 1);
    const Expr shown =
        behind == 0 ? is_there : n_.expand_dims(is_there, static_cast<int64_t>(n_.rank(1)), behind);
    return n_.cast(n_.call(kWhere, {shown, y, n_.scalar(kFloat32, 0)}), n_.dtype(2));
  }

 private:
  Expr taken(Expr from, Expr place) {
    return n_.call(kTake, {from, place}, {{"axis", static_cast<int64_t>(gathered_)}});
  }

  // Of the shape of the scales; null if it is 0.
  Expr zero_points() {
    if (!n_.has(3)) return is_bytes_ ? n_.scalar(kFloat32, static_cast<double>(1 << (bits_ - 1))) : nullptr;
    Expr zero = is_bytes_ ? unpacked(n_, n_.input(3), bits_) : numbers_at(n_, 3);
    const std::vector<Dim> scales = dims_of(n_.input(2));
    n_.require(type_of(zero).rank() == scales.size(),
               "its zero points need as many dimensions as its scales");
    if (is_bytes_ && bits_ < 8 && dims_of(zero).back() != scales.back()) {
      if (!scales.back().is_const()) n_.unsupported("the extent of its scales is not known");
      zero = n_.slice(zero, scales.size() - 1, 0, scales.back().value());
    }
    return n_.cast(zero, kFloat32);
  }

  // A number for each block, at the elements that are taken.
  Expr at_elements(Expr e, Expr place) {
    if (type_of(e).rank() == 0) return e;
    const std::vector<Dim> own = dims_of(e), data = dims_of(table_);
    for (size_t i = 0; i < own.size(); ++i) {
      const bool is_one = is_float_ && own[i] == Dim(1);
      n_.require(i == blocked_ || is_one || own[i] == data[i] || !own[i].is_const() || !data[i].is_const(),
                 cat("its scales or zero points have ", show(own[i]), " indices along axis ", i,
                     " and its data ", show(data[i])));
    }
    const Dim extent = data[blocked_];
    if (!extent.is_const() || !own[blocked_].is_const())
      n_.unsupported("how its blocks divide the axis is not known",
                     "fix the dynamic axes with --input-shapes");
    const int64_t block = block_ == 0 ? std::max<int64_t>(extent.value(), 1) : block_;
    const int64_t needed = extent.value() / block + (extent.value() % block != 0);
    n_.require(own[blocked_].value() == needed,
               cat("an axis of ", extent.value(), " in blocks of ", block, " needs ", needed, " scales, not ",
                   own[blocked_].value()));
    const auto number = [&](int64_t v) { return n_.builder().constant(Tensor::scalar_int(kInt64, v)); };
    if (gathered_ == blocked_) return taken(e, n_.call(kFloorDivide, {place, number(block)}));
    const bool is_shared = own[gathered_] == Dim(1) && data[gathered_] != Dim(1);
    const Expr rows = taken(e, is_shared ? n_.call(kZerosLike, {place}) : place);
    const size_t axis = blocked_ < gathered_ ? blocked_ : blocked_ + n_.rank(1) - 1;
    const Expr all = n_.call(kRepeat, {rows},
                             {{"repeats", std::min(block, std::max<int64_t>(extent.value(), 1))},
                              {"axis", static_cast<int64_t>(axis)}});
    return n_.slice(all, axis, 0, extent.value());
  }

  Node& n_;
  bool is_bytes_ = false, is_float_ = false;
  int64_t bits_ = 4, block_ = 0;
  Expr table_ = nullptr;
  size_t gathered_ = 0, blocked_ = 0;  // axes of the table
};

Results gather_blocks(Node& n) {
  n.admit_carriers();
  return {GatherBlocks(n).make()};
}

constexpr Row kRows[] = {
    {"com.microsoft.GatherBlockQuantized", 1, gather_blocks},
    {"com.microsoft.MatMulBnb4", 1, matrix_product_of_bnb4},
    {"com.microsoft.MatMulNBits", 1, matrix_product_of_bits, "3, 5, 6 and 7 bits, weight_prepacked=1"},
};

}  // namespace

std::span<const Row> ms_block_rows() { return kRows; }

}  // namespace relay::frontend
