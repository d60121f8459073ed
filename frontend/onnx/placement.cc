// Operators that put elements into a tensor of another extent: CenterCropPad, Col2Im and
// TensorScatter.
#include <algorithm>
#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/heads.h"
#include "frontend/onnx/importer.h"
#include "op/tensor/common.h"
#include "op/term.h"

namespace relay::frontend {
namespace {

using namespace op;

// --- CenterCropPad -------------------------------------------------------------------------------

// The middle of an axis that is too long, or zeros around one that is too short. Of an odd
// difference the smaller half is in front.
Results center_crop_pad(Node& n) {
  Expr x = n.input(0);
  const std::vector<Dim> from = dims_of(x);
  std::vector<int64_t> axes = n.integers("axes");
  if (axes.empty()) {
    axes.resize(from.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  const std::vector<Dim> wanted = extents_at(n, 1, "shape", axes.size());
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

// How blocks lie in an image, along each axis.
struct Steps {
  std::vector<int64_t> strides, dilations, before, after;
};

Steps read_steps(Node& n, size_t axes) {
  const auto list = [&](const char* name, size_t count, int64_t otherwise, int64_t least) {
    const std::vector<int64_t> out = n.integers(name, std::vector<int64_t>(count, otherwise));
    const bool good =
        std::all_of(out.begin(), out.end(), [&](int64_t v) { return v >= least && v < (int64_t{1} << 26); });
    n.require(out.size() == count && good, cat("its attribute `", name, "` is out of range"));
    return out;
  };
  Steps s;
  s.strides = list("strides", axes, 1, 1);
  s.dilations = list("dilations", axes, 1, 1);
  const std::vector<int64_t> pads = list("pads", 2 * axes, 0, 0);
  s.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
  s.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  return s;
}

// Blocks of an image, each of which was a column, and where their elements belong.
struct Blocks {
  std::vector<int64_t> image, block;
  Steps steps;

  size_t axes() const { return image.size(); }
  int64_t padded(size_t a) const { return image[a] + steps.before[a] + steps.after[a]; }
  int64_t count(size_t a) const {  // of blocks along an axis
    const int64_t room = padded(a) - steps.dilations[a] * (block[a] - 1) - 1;
    return room < 0 ? 0 : room / steps.strides[a] + 1;
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

constexpr auto kOtherAxes = "its image and its blocks have another number of axes";

Blocks read_blocks(Node& n) {
  Blocks b;
  b.image = n.constant_ints(1, "image shape");
  b.block = n.constant_ints(2, "block shape");
  n.require(b.axes() >= 1 && b.block.size() == b.axes(), kOtherAxes);
  b.steps = read_steps(n, b.axes());
  for (size_t a = 0; a < b.axes(); ++a)
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
      place = place * b.padded(a) + i[a] * b.steps.dilations[a] + i[a + b.axes()] * b.steps.strides[a];
    out.set_int(next++, place);
  });
  return out;
}

// The image of the columns x, whose elements go to these places of the padded image.
Expr image_of(Node& n, Expr x, Expr where, Dim channels, const std::vector<Dim>& image, const Steps& s) {
  const TensorType& t = type_of(x);
  std::vector<Dim> dims{t.dims[0], channels};
  for (size_t a = 0; a < image.size(); ++a) dims.push_back(image[a] + Dim(s.before[a] + s.after[a]));
  const Dim lines = t.dims[0] * channels;
  const Expr columns = n.transpose(n.reshape(x, {lines, dims_of(where)[1]}), {1, 0});
  const Dim all = product(std::span<const Dim>(dims).subspan(2));
  const Expr empty =
      n.call(kZeros, std::span<const Expr>(), {{"shape", std::vector<Dim>{all, lines}}, {"dtype", t.dtype}});
  const Expr sums = n.call(kScatterNd, {empty, where, columns}, {{"mode", "add"}});
  Expr y = n.reshape(n.transpose(sums, {1, 0}), dims);
  for (size_t a = 0; a < image.size(); ++a) {
    if (s.before[a] + s.after[a] > 0)
      y = sliced(n.builder(), y, static_cast<int64_t>(a) + 2, Dim(s.before[a]), Dim(s.before[a]) + image[a]);
  }
  return y;
}

// How many axes the attributes are for; 0 if there are none.
size_t given_axes(Node& n) {
  return std::max(
      {n.integers("strides").size(), n.integers("dilations").size(), n.integers("pads").size() / 2});
}

// Of an image and blocks whose extents only a run tells. A run traps if the columns are no such
// blocks.
Expr image_of_run(Node& n) {
  Importer& importer = n.importer();
  const auto extents = [&, given = given_axes(n)](size_t i, std::string_view what) {
    return given > 0 ? extents_at(n, i, what, given) : n.dims(i, what);
  };
  const std::vector<Dim> image = extents(1, "image shape"), block = extents(2, "block shape");
  const size_t axes = image.size();
  n.require(axes >= 1 && block.size() == axes, kOtherAxes);
  const Steps s = read_steps(n, axes);
  const auto number = [&](Dim d) -> Term { return {n.builder(), importer.materialise(d)}; };
  const auto divided = [&](const Term& x, const Term& y) { return x.apply(kFloorDivide, {x, y}); };
  std::vector<Dim> shape = block;
  for (size_t a = 0; a < axes; ++a) {
    const Term padded = number(image[a] + Dim(s.before[a] + s.after[a]));
    const Term reach = (number(block[a]) - 1) * number(Dim(s.dilations[a])) + 1;
    const Term count = divided(padded - reach, number(Dim(s.strides[a]))) + 1;
    shape.push_back(named_number(n, count.apply(kMaximum, {count, count.number(0)})));
  }
  std::optional<Term> place;
  for (size_t a = 0; a < axes; ++a) {
    const auto along = [&](size_t axis) -> Term {
      return {n.builder(), n.places(shape, static_cast<int64_t>(axis))};
    };
    const Term here = along(a) * number(Dim(s.dilations[a])) + along(axes + a) * number(Dim(s.strides[a]));
    place = place ? *place * number(image[a] + Dim(s.before[a] + s.after[a])) + here : here;
  }
  const std::span<const Dim> all(shape);
  const Dim elements = product(all.first(axes)), blocks = product(all.subspan(axes));
  const Dim channels = named_number(n, divided(number(n.tensor(0).dims[1]), number(elements)));
  const Expr x = importer.match_extents(n.input(0), {Dim::unknown(), channels * elements, blocks}, "columns");
  return image_of(n, x, n.reshape(*place, {Dim(1), elements * blocks}), channels, image, s);
}

Results columns_to_image(Node& n) {
  const Expr x = n.input(0);
  const TensorType& t = type_of(x);
  n.require(t.rank() == 3, "its input must have batch, elements of blocks, and blocks");
  if (!n.known(1) || !n.known(2) || !t.dims[1].is_const()) return {image_of_run(n)};
  const Blocks b = read_blocks(n);
  std::vector<int64_t> counts, padded;
  for (size_t a = 0; a < b.axes(); ++a) counts.push_back(b.count(a)), padded.push_back(b.padded(a));
  const int64_t elements = product_of(n, b.block), blocks = product_of(n, counts);
  product_of(n, padded);  // is not too large
  n.require(!t.dims[2].is_const() || t.dims[2] == Dim(blocks),
            cat("its input has ", show(t.dims[2]), " blocks, and its image has ", blocks));
  n.require(t.dims[1].value() % elements == 0, "its blocks have another number of elements than its columns");
  const Expr where = n.builder().constant(places(n, b, counts));
  return {
      image_of(n, x, where, Dim(t.dims[1].value() / elements), {b.image.begin(), b.image.end()}, b.steps)};
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
    {"Col2Im", 18, columns_to_image},
    {"TensorScatter", 24, write_cache},
};

}  // namespace

std::span<const Row> placement_rows() { return kRows; }

}  // namespace relay::frontend
