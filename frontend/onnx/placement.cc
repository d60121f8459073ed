// Operators that put elements into a tensor of another extent: CenterCropPad, Col2Im and
// TensorScatter.
#include <algorithm>
#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/heads.h"
#include "op/tensor/common.h"

namespace relay::frontend {
namespace {

using namespace op;

// --- CenterCropPad -------------------------------------------------------------------------------

// The middle of an axis that is too long, or zeros around one that is too short. Of an odd
// difference the smaller half is in front.
Results center_crop_pad(Node& n) {
  Expr x = n.input(0);
  const std::vector<Dim> from = dims_of(x), wanted = n.dims(1, "shape");
  std::vector<int64_t> axes = n.integers("axes");
  if (axes.empty()) {
    axes.resize(from.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  n.require(axes.size() == wanted.size(), "its shape has another length than its axes");
  std::vector<Dim> begin, end, to = from;
  std::vector<std::pair<Dim, Dim>> around(from.size(), {Dim(0), Dim(0)});
  std::vector<int64_t> cut;
  for (size_t i = 0; i < axes.size(); ++i) {
    const size_t axis = n.axis(axes[i], from.size());
    const Dim have = from[axis], want = wanted[i];
    n.require(to[axis] == have, "its axes name one twice");
    n.require(!want.is_const() || want.value() >= 0, "its shape has a negative extent");
    if (have.is_unknown()) n.unsupported("the shape of its input depends on the data");
    if (have == want) continue;
    to[axis] = want;
    const Dim more = max(have - want, Dim(0)), missing = max(want - have, Dim(0));
    if (more != Dim(0)) {
      const Dim front = floor_div(more, Dim(2));
      cut.push_back(static_cast<int64_t>(axis));
      begin.push_back(front);
      end.push_back(front + min(have, want));
    }
    const Dim front = floor_div(missing, Dim(2));
    around[axis] = {front, missing - front};
  }
  if (!cut.empty()) x = n.call(kStridedSlice, {x}, {{"begin", begin}, {"end", end}, {"axes", cut}});
  // Where only a run tells which of both it is, the type says so in many words:
  // `to` says it in one.
  return {n.reshape(zero_padded(n.builder(), x, around), to)};
}

// --- Col2Im --------------------------------------------------------------------------------------

// Blocks of an image, each of which was a column, and where their elements belong.
struct Blocks {
  std::vector<int64_t> image, block, strides, dilations, before, after;

  size_t axes() const { return image.size(); }
  int64_t padded(size_t a) const { return image[a] + before[a] + after[a]; }
  int64_t count(size_t a) const {  // of blocks along an axis
    const int64_t room = padded(a) - dilations[a] * (block[a] - 1) - 1;
    return room < 0 ? 0 : room / strides[a] + 1;
  }
};

int64_t product_of(Node& n, const std::vector<int64_t>& values) {
  constexpr int64_t kMost = int64_t{1} << 26;  // elements of one channel of one image
  int64_t all = 1;
  for (const int64_t v : values) {
    n.require(v >= 0 && v <= kMost && (v == 0 || all <= kMost / v), "its image or its blocks are too large");
    all *= v;
  }
  return all;
}

Blocks read_blocks(Node& n) {
  Blocks b;
  b.image = n.constant_ints(1, "image shape");
  b.block = n.constant_ints(2, "block shape");
  const size_t axes = b.axes();
  n.require(axes >= 1 && b.block.size() == axes, "its image and its blocks have another number of axes");
  const auto list = [&](const char* name, size_t count, int64_t otherwise, int64_t least) {
    const std::vector<int64_t> out = n.integers(name, std::vector<int64_t>(count, otherwise));
    const bool good =
        std::all_of(out.begin(), out.end(), [&](int64_t v) { return v >= least && v < (int64_t{1} << 26); });
    n.require(out.size() == count && good, cat("its attribute `", name, "` is out of range"));
    return out;
  };
  b.strides = list("strides", axes, 1, 1);
  b.dilations = list("dilations", axes, 1, 1);
  const std::vector<int64_t> pads = list("pads", 2 * axes, 0, 0);
  b.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  b.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  for (size_t a = 0; a < axes; ++a)
    n.require(b.image[a] >= 1 && b.image[a] < (1 << 26) && b.block[a] >= 1 && b.block[a] < (1 << 26),
              "its image or its blocks are empty or too large");
  return b;
}

// The place in the padded image of each element of each block, as the columns hold them: element
// after element, and of each, block after block.
Tensor places(Node& n, const Blocks& b, const std::vector<int64_t>& counts) {
  Shape shape(b.block.begin(), b.block.end());
  shape.insert(shape.end(), counts.begin(), counts.end());
  Tensor out(kInt64, {1, product_of(n, {shape.begin(), shape.end()})});
  int64_t next = 0;
  for_each_index(shape, [&](const std::vector<int64_t>& i) {
    int64_t place = 0;
    for (size_t a = 0; a < b.axes(); ++a)
      place = place * b.padded(a) + i[a] * b.dilations[a] + i[a + b.axes()] * b.strides[a];
    out.set_int(next++, place);
  });
  return out;
}

Results columns_to_image(Node& n) {
  const Expr x = n.input(0);
  const TensorType& t = type_of(x);
  n.require(t.rank() == 3, "its input must have batch, elements of blocks, and blocks");
  const Blocks b = read_blocks(n);
  std::vector<int64_t> counts, padded;
  for (size_t a = 0; a < b.axes(); ++a) counts.push_back(b.count(a)), padded.push_back(b.padded(a));
  const int64_t elements = product_of(n, b.block), blocks = product_of(n, counts),
                all = product_of(n, padded);
  n.require(!t.dims[2].is_const() || t.dims[2] == Dim(blocks),
            cat("its input has ", show(t.dims[2]), " blocks, and its image has ", blocks));
  if (!t.dims[1].is_const())
    n.unsupported("the number of its channels must be known", "fix the dynamic axis with --input-shapes");
  n.require(t.dims[1].value() % elements == 0, "its blocks have another number of elements than its columns");
  const Dim lines = t.dims[0] * Dim(t.dims[1].value() / elements);

  const Expr columns = n.transpose(n.reshape(x, {lines, Dim(elements * blocks)}), {1, 0});
  const Expr empty = n.call(kZeros, std::span<const Expr>(),
                            {{"shape", std::vector<Dim>{Dim(all), lines}}, {"dtype", t.dtype}});
  const Expr where = n.builder().constant(places(n, b, counts));
  const Expr sums = n.call(kScatterNd, {empty, where, columns}, {{"mode", "add"}});
  std::vector<Dim> dims{t.dims[0], Dim(t.dims[1].value() / elements)};
  for (const int64_t extent : padded) dims.emplace_back(extent);
  Expr y = n.reshape(n.transpose(sums, {1, 0}), dims);
  for (size_t a = 0; a < b.axes(); ++a) {
    if (b.before[a] + b.after[a] > 0) y = n.slice(y, a + 2, b.before[a], b.before[a] + b.image[a]);
  }
  return {y};
}

// --- TensorScatter -------------------------------------------------------------------------------

// A cache with new steps written into it, for each element of the batch from a place of its own on.
Results write_cache(Node& n) {
  const Expr cache = n.input(0), update = n.input(1);
  const TensorType &c = type_of(cache), &u = type_of(update);
  n.require(c.rank() >= 2 && u.rank() == c.rank(),
            "its cache and its update must have two or more dimensions");
  const size_t axis = n.axis(n.integer("axis", -2), c.rank());
  n.require(axis > 0, "its axis must not be that of the batch");
  const std::string mode = n.text("mode", "linear");
  n.require(mode == "linear" || mode == "circular", "its attribute `mode` must be linear or circular");
  const Dim room = c.dims[axis], steps = u.dims[axis];
  if (room.is_unknown() || steps.is_unknown()) n.unsupported("the extent of its axis depends on the data");
  n.require(!room.is_const() || !steps.is_const() || steps.value() <= room.value(),
            "its update has more steps than its cache");
  const auto along = static_cast<int64_t>(axis);
  if (!n.has(2) && room.is_const() && steps.is_const()) {
    const Expr rest = n.call(kStridedSlice, {cache},
                             {{"begin", std::vector<Dim>{steps}},
                              {"end", std::vector<Dim>{room}},
                              {"axes", std::vector<int64_t>{along}}});
    return {n.concatenate({update, rest}, along)};
  }
  n.require(!n.has(2) || n.rank(2) == 1,
            "its write_indices must have one number for each element of the batch");
  if (steps == Dim(0)) return {cache};
  // Which step of the update each place takes: place - first, where that is one of its steps.
  const Expr place = n.places({room});
  const Expr first = n.has(2) ? n.cast(n.input(2), kInt64)
                              : n.call(kZeros, std::span<const Expr>(),
                                       {{"shape", std::vector<Dim>{c.dims[0]}}, {"dtype", kInt64}});
  Expr step = n.call(kSubtract, {place, n.expand_dims(first, 1)});  // (batch, room)
  if (mode == "circular") step = n.call(kFloorMod, {step, extent_of(n, cache, axis)});
  const Expr zero = n.builder().constant(Tensor::scalar_int(kInt64, 0));
  Expr written = n.call(
      kLogicalAnd, {n.call(kLessEqual, {zero, step}), n.call(kLess, {step, extent_of(n, update, axis)})});
  const Expr taken = n.call(kTake, {update, step}, {{"axis", along}, {"batch_dims", int64_t{1}}});
  if (axis > 1) written = n.expand_dims(written, 1, along - 1);
  const auto behind = static_cast<int64_t>(c.rank()) - along - 1;
  if (behind > 0) written = n.expand_dims(written, along + 1, behind);
  return {n.call(kWhere, {written, taken, cache})};
}

constexpr Row kRows[] = {
    {"CenterCropPad", 18, center_crop_pad},
    {"Col2Im", 18, columns_to_image, "shapes that are no constants"},
    {"TensorScatter", 24, write_cache},
};

}  // namespace

std::span<const Row> placement_rows() { return kRows; }

}  // namespace relay::frontend
