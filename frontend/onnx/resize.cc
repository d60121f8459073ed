// Resize and Upsample: images of another size.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "frontend/onnx/choose.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/resize_taps.h"
#include "op/term.h"

namespace relay::frontend {
namespace {

using namespace op;

constexpr char kWrongScales[] = "it has another number of scales than its input has dimensions";

struct Wanted {
  ResizeForm form;
  std::vector<ResizedAxis> axes;  // all of them; a scale that is null is the ratio of the extents

  explicit Wanted(Node& n) {
    const std::vector<Dim> from = dims_of(n.input(0));
    for (size_t i = 0; i < from.size(); ++i) {
      axes.emplace_back();
      axes.back().axis = i;
      axes.back().from = axes.back().to = from[i];
    }
  }
  bool crops() const { return form.coordinates == "tf_crop_and_resize"; }
  bool scales() const {
    return std::any_of(axes.begin(), axes.end(), [](const ResizedAxis& a) { return a.scale != nullptr; });
  }
  bool keeps_extents() const {
    return std::all_of(axes.begin(), axes.end(), [](const ResizedAxis& a) { return a.from == a.to; });
  }
};

// Is the whole axis taken? Nothing if only a run tells.
std::optional<bool> is_whole(const ResizedAxis& a) {
  if (!a.start) return true;
  const std::optional<double> start = number_of(a.start), end = number_of(a.end);
  if (!start || !end) return std::nullopt;
  return *start == 0 && *end == 1;
}

// How the mode is called here, and by the operators.
std::string method_of(Node& n, std::string& mode) {
  if (mode == "bilinear") mode = "linear";
  if (mode == "nearest") return "nearest_neighbor";
  if (mode != "linear" && mode != "cubic") n.invalid(cat("its mode `", mode.substr(0, 40), "` is unknown"));
  return mode;
}

void require_words(Node& n, const ResizeForm& w) {
  const auto one_of = [](const std::string& word, std::initializer_list<std::string_view> known) {
    return std::find(known.begin(), known.end(), word) != known.end();
  };
  if (!one_of(w.coordinates, {"half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners",
                              "pytorch_half_pixel", "tf_half_pixel_for_nn", "tf_crop_and_resize"})) {
    n.unsupported(cat("coordinate_transformation_mode `", w.coordinates.substr(0, 40), "` is not supported"),
                  "half_pixel, asymmetric, align_corners and pytorch_half_pixel are");
  }
  if (!one_of(w.nearest, {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}))
    n.invalid(cat("its nearest_mode `", w.nearest.substr(0, 40), "` is unknown"));
}

// Does nothing happen to the axis? Null if something does.
Expr is_unchanged(Node& n, const ResizedAxis& a) {
  const auto equal = [&](Expr e, Expr number) { return n.call(kEqual, {e, number}); };
  Expr test = n.builder().constant(Tensor::scalar_int(kBool, 1));
  const auto add = [&](Expr part) { test = n.call(kLogicalAnd, {test, part}); };
  if (prove_equal(a.from, a.to) == kernel::Proof::kRefuted) return nullptr;
  if (a.from != a.to) add(equal(real_extent(n, a.from), real_extent(n, a.to)));
  if (a.start) {
    add(equal(a.start, n.scalar(kFloat64, 0)));
    add(equal(a.end, n.scalar(kFloat64, 1)));
  }
  if (a.scale) add(equal(a.scale, n.scalar(kFloat64, 1)));
  test = folded(n, test);
  return number_of(test) == 0 ? nullptr : test;
}

Expr resized_axis(Node& n, Expr x, const ResizeForm& form, ResizedAxis a) {
  const auto positive = [](Dim d) { return !d.is_const() || d.value() >= 1; };
  n.require(positive(a.from) && positive(a.to), "an image without pixels cannot be resized");
  if (a.to.is_const() && a.to.value() > (int64_t{1} << 24))
    n.unsupported("an axis of more than 2^24 elements is not supported");
  if (!a.scale) {
    a.scale = n.call(kDivide, {real_extent(n, a.to), real_extent(n, a.from)});
    if (a.start) a.scale = n.call(kDivide, {a.scale, n.call(kSubtract, {a.end, a.start})});
    a.scale = folded(n, a.scale);
  }
  return with_taps(n, x, form, a);
}

// Every axis by itself.
Results resized_by_axes(Node& n, Expr x, const Wanted& w) {
  for (const ResizedAxis& a : w.axes) {
    const Expr unchanged = is_unchanged(n, a);
    if (unchanged && number_of(unchanged)) continue;
    std::vector<Dim> wanted = dims_of(x);
    wanted[a.axis] = a.to;
    Expr y = resized_axis(n, x, w.form, a);
    if (unchanged) y = choose(n, unchanged, x, y);
    x = n.importer().match_extents(y, wanted, n.proto().output(0));
  }
  return {x};
}

// Do the operators on images make this?
bool is_of_images(const Wanted& w) {
  const auto& axes = w.axes;
  if (axes.size() < 3 || axes.size() > 5 || w.form.antialias || w.scales()) return false;
  if (axes[0].to != axes[0].from || axes[1].to != axes[1].from) return false;
  // These coordinates move a pixel even if the size is the same, and an axis that keeps its size
  // stays as it is.
  if (w.form.coordinates == "tf_half_pixel_for_nn" &&
      std::any_of(axes.begin() + 2, axes.end(),
                  [](const ResizedAxis& a) { return prove_equal(a.from, a.to) != kernel::Proof::kRefuted; }))
    return false;
  return is_whole(axes[0]) == true && is_whole(axes[1]) == true &&
         std::all_of(axes.begin(), axes.end(), [](const ResizedAxis& a) { return is_whole(a).has_value(); });
}

// How many axes come before those of an image: batch and channels. A matrix has no such, and a node
// that names its axes says what it resizes.
size_t axes_ahead(Node& n) { return n.rank(0) < 3 || n.attribute("axes") ? 0 : 2; }

// Do the channels come last? Their size is their extent, and that of axis 1 is another expression.
// ONNX Runtime writes such nodes where it moves channels.
bool has_channels_last(const Wanted& w) {
  const ResizedAxis& last = w.axes.back();
  return !last.scale && prove_equal(last.from, last.to) == kernel::Proof::kProved &&
         !w.axes[1].to.is_unknown() && w.axes[1].from != w.axes[1].to;
}

// The image, whose batch and channels a run compares with those of the size if nobody can tell.
// Of an image with its channels last, only the batch.
Expr unchanged_ahead(Node& n, Wanted& w) {
  std::vector<Dim> wanted = dims_of(n.input(0));
  const size_t ahead = axes_ahead(n);
  for (size_t i = 0; i < (ahead == 2 && has_channels_last(w) ? 1 : ahead); ++i) {
    const ResizedAxis& a = w.axes[i];
    if (!a.scale && prove_equal(a.from, a.to) == kernel::Proof::kUnknown && !a.to.is_unknown())
      wanted[i] = a.to;
  }
  const Expr x = n.importer().match_extents(n.input(0), wanted, n.proto().input(0));
  for (ResizedAxis& a : w.axes) a.from = dims_of(x)[a.axis];
  return x;
}

Results resized_floats(Node& n, Expr x, Wanted w, const std::string& method) {
  ResizeForm& form = w.form;
  const size_t rank = w.axes.size();
  if (!is_of_images(w)) return resized_by_axes(n, x, w);
  // Where sizes are the scaled extents, nothing is left for the symmetry.
  if (form.coordinates == "half_pixel_symmetric") form.coordinates = "half_pixel";
  std::vector<Dim> size;
  std::vector<double> starts, sides;
  for (size_t i = 2; i < rank; ++i) {
    size.push_back(w.axes[i].to);
    if (!w.crops()) continue;
    starts.push_back(*number_of(w.axes[i].start));
    sides.push_back(*number_of(w.axes[i].end));
  }
  sides.insert(sides.begin(), starts.begin(), starts.end());
  std::vector<AttrArg> attrs{
      {"size", size}, {"method", method}, {"coordinate_transformation_mode", form.coordinates}};
  if (method == "nearest_neighbor") attrs.push_back({"rounding_method", form.nearest});
  if (method == "cubic") attrs.push_back({"cubic_alpha", form.cubic});
  // Of two pixels, one that is left out leaves the other one, which is that at the border.
  if (method == "cubic" && form.exclude_outside) attrs.push_back({"cubic_exclude", int64_t{1}});
  if (w.crops()) {
    attrs.push_back({"roi", sides});
    attrs.push_back({"extrapolation_value", form.extrapolation});
  }
  return {n.call(rank == 3 ? kResize1d : rank == 4 ? kResize2d : kResize3d, {x}, attrs)};
}

// Resizes. Integers between pixels are computed as floats, and rounded to even where all axes are
// done, as ONNX's reference implementation does. ONNX Runtime cuts some of them off.
Results resized(Node& n, Wanted w) {
  const Expr x = unchanged_ahead(n, w);
  require_words(n, w.form);
  const std::string method = method_of(n, w.form.mode);
  if (w.keeps_extents() && !w.scales() && !w.crops()) return {x};
  const DType dtype = type_of(x).dtype;
  if (w.form.mode == "nearest" || dtype.is_float()) return resized_floats(n, x, std::move(w), method);
  if (!dtype.is_int()) {
    n.unsupported(cat("mode ", w.form.mode, " is not supported for elements of ", dtype.name()),
                  "cast to float32");
  }
  const Expr exact = n.cast(x, dtype.bits > 16 ? kFloat64 : kFloat32);
  const Expr y = resized_floats(n, exact, std::move(w), method).front();
  return {n.cast(n.call(kRound, {y}), dtype)};
}

// --- Sizes ---------------------------------------------------------------------------------------

// Sets the size of an axis: a number, or what a run tells, which must not be negative.
void set_size(Node& n, ResizedAxis& a, Expr size) {
  const std::optional<double> known = number_of(size);
  if (known) n.require(*known >= 0 && *known < 0x1p53, "its sizes are out of range");
  a.to = known ? Dim(static_cast<int64_t>(*known)) : named_number(n, n.cast(size, kInt64));
}

// Sets the size of an axis to extent * scale. If that is not whole, it is rounded down, and the
// scale is not the ratio of the sizes: then it is kept.
void scale_axis(Node& n, ResizedAxis& a, Expr scale) {
  const std::optional<double> known = number_of(scale);
  if (known && (!(*known > 0) || *known > 65536)) n.invalid("its scales are out of range");
  const bool whole = is_whole(a) == true;
  if (whole && known && *known == std::floor(*known)) {
    a.to = a.from * Dim(static_cast<int64_t>(*known));
    return;
  }
  const Term extent{n.builder(), real_extent(n, a.from)}, by{n.builder(), scale};
  const Term part = a.start ? Term{n.builder(), a.end} - Term{n.builder(), a.start} : by.number(1);
  const Term size = extent * by * part, one = size.number(1);
  // A scale is a float: the ratio of two integers, rounded.
  const Term nearest = (size + 0.5).apply(kFloor, {size + 0.5});
  const Term error = (size - nearest).apply(kAbs, {size - nearest});
  const Term is_ratio = error.apply(kLessEqual, {error, 1e-5 * size.apply(kMaximum, {size, one})});
  const Expr rounded = folded(n, where(is_ratio, nearest, size.apply(kFloor, {size})));
  if (known && number_of(rounded) && !(*number_of(rounded) >= 1 && *number_of(rounded) < 0x1p53)) {
    n.unsupported(cat("a scale of ", *known, " of ", show(a.from), " elements is not supported"),
                  "give sizes instead of scales");
  }
  const Term kept = where(part.apply(kEqual, {part, one}),
                          where(is_ratio, nearest / extent.apply(kMaximum, {extent, one}), by), by);
  const bool ratio = whole && number_of(folded(n, is_ratio)) == 1;
  // A run traps on a scale that is not above 0, or no number.
  set_size(n, a, known ? rounded : where(less(by.number(0), by), Term{n.builder(), rounded}, -one));
  if (!ratio) a.scale = folded(n, kept);
}

// The numbers of input i, as many as `count`, as scalars of float64.
std::vector<Expr> reals_of(Node& n, size_t i, size_t count, const std::string& otherwise) {
  const TensorType& t = n.tensor(i);
  n.require(t.dtype.is_float() && t.rank() == 1, cat("its input ", i, " must be a list of floats"));
  n.require(!t.dims[0].is_const() || t.dims[0].value() == static_cast<int64_t>(count), otherwise);
  const Expr all = n.importer().match_extents(n.input(i), {Dim(static_cast<int64_t>(count))},
                                              n.proto().input(static_cast<int>(i)));
  std::vector<Expr> out;
  for (size_t k = 0; k < count; ++k) {
    const auto at = static_cast<int64_t>(k);
    out.push_back(folded(n, n.cast(n.reshape(n.slice(all, 0, at, at + 1), {}), kFloat64)));
  }
  return out;
}

void scale_axes(Node& n, Wanted& w, const std::vector<Expr>& scales, const std::vector<size_t>& axes) {
  n.require(scales.size() == axes.size(), kWrongScales);
  for (size_t i = 0; i < axes.size(); ++i) scale_axis(n, w.axes[axes[i]], scales[i]);
}

void scale_axes(Node& n, Wanted& w, size_t input, const std::vector<size_t>& axes) {
  scale_axes(n, w, reals_of(n, input, axes.size(), kWrongScales), axes);
}

std::vector<size_t> all_axes(Node& n) {
  std::vector<size_t> out(n.rank(0));
  for (size_t i = 0; i < out.size(); ++i) out[i] = i;
  return out;
}

// Upsample, and Resize of version 10: positions are divided by the scale, and rounded down.
Wanted old_form(Node& n) {
  Wanted w(n);
  w.form.mode = n.text("mode", "nearest");
  w.form.coordinates = "asymmetric";
  w.form.nearest = "floor";
  return w;
}

std::vector<Expr> scalars(Node& n, const std::vector<double>& values) {
  std::vector<Expr> out;
  for (double v : values) out.push_back(n.scalar(kFloat64, v));
  return out;
}

Results upsample_attributes(Node& n) {
  Wanted w = old_form(n);
  const auto* a = n.attribute("scales");
  n.require(a != nullptr, "its attribute `scales` is missing");
  scale_axes(n, w, scalars(n, {a->floats().begin(), a->floats().end()}), all_axes(n));
  return resized(n, std::move(w));
}

Results upsample_sides(Node& n) {
  Wanted w = old_form(n);
  n.require(n.rank(0) == 4, "its input must have four dimensions");
  scale_axes(n, w, scalars(n, {1, 1, n.real("height_scale", 1), n.real("width_scale", 1)}), all_axes(n));
  return resized(n, std::move(w));
}

Results upsample(Node& n) {
  Wanted w = old_form(n);
  scale_axes(n, w, 1, all_axes(n));
  return resized(n, std::move(w));
}

// One scale for all axes, so that none is larger than its size, or none smaller.
void keep_aspect_ratio(Node& n, Wanted& w, const std::vector<size_t>& axes, const std::string& policy) {
  n.require(policy == "not_larger" || policy == "not_smaller", "its keep_aspect_ratio_policy is unknown");
  Expr scale = nullptr;
  for (size_t axis : axes) {
    const ResizedAxis& a = w.axes[axis];
    n.require(!a.from.is_const() || a.from.value() >= 1, "an image without pixels cannot be resized");
    const Expr ratio = n.call(kDivide, {real_extent(n, a.to), real_extent(n, a.from)});
    scale = scale ? n.call(policy == "not_larger" ? kMinimum : kMaximum, {scale, ratio}) : ratio;
  }
  if (scale) scale = folded(n, scale);
  for (size_t axis : axes) {
    ResizedAxis& a = w.axes[axis];
    const Term size = Term{n.builder(), scale} * Term{n.builder(), real_extent(n, a.from)} + 0.5;
    set_size(n, a, folded(n, size.apply(kFloor, {size})));
    a.scale = scale;
  }
}

// The part of each axis that is taken.
void read_roi(Node& n, Wanted& w, const std::vector<size_t>& axes) {
  for (ResizedAxis& a : w.axes) {
    a.start = n.scalar(kFloat64, 0);
    a.end = n.scalar(kFloat64, 1);
  }
  const std::vector<Expr> roi =
      reals_of(n, 1, 2 * axes.size(), "its roi must have a start and an end for each axis");
  for (size_t i = 0; i < axes.size(); ++i) {
    w.axes[axes[i]].start = roi[i];
    w.axes[axes[i]].end = roi[axes.size() + i];
  }
}

void read_sizes(Node& n, Wanted& w, const std::vector<size_t>& axes) {
  std::vector<Dim> kept = dims_of(n.input(0));
  kept.resize(axes_ahead(n));
  kept.resize(axes.size(), Dim::unknown());
  const std::optional<std::vector<Dim>> known = n.known_dims(3, "sizes");
  const std::vector<Dim> sizes = known ? *known : named_numbers(n, 3, "sizes", kept);
  n.require(sizes.size() == axes.size(), "it has another number of sizes than its input has dimensions");
  for (size_t i = 0; i < axes.size(); ++i) w.axes[axes[i]].to = sizes[i];
}

Results resize(Node& n) {
  Wanted w(n);
  ResizeForm& form = w.form;
  form.mode = n.text("mode", "nearest");
  form.coordinates = n.text("coordinate_transformation_mode", "half_pixel");
  form.nearest = n.text("nearest_mode", "round_prefer_floor");
  form.cubic = n.real("cubic_coeff_a", -0.75);
  form.exclude_outside = n.integer("exclude_outside", 0) != 0;
  form.antialias = n.integer("antialias", 0) != 0 && form.mode != "nearest";
  form.extrapolation = n.real("extrapolation_value", 0);
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  std::vector<size_t> axes = all_axes(n);
  if (n.attribute("axes")) axes = different_axes(n, n.integers("axes"), n.rank(0));
  if (w.crops()) read_roi(n, w, axes);
  // Old exporters give an empty list of scales where sizes are given.
  const auto empty = [&](size_t i) {
    const std::optional<Tensor> t = n.known(i);
    return !n.has(i) || (t && t->size() == 0);
  };
  if (!empty(3)) {
    read_sizes(n, w, axes);
    if (policy != "stretch") keep_aspect_ratio(n, w, axes, policy);
  } else {
    n.require(!empty(2), "it has neither scales nor sizes");
    scale_axes(n, w, 2, axes);
  }
  return resized(n, std::move(w));
}

constexpr Row kRows[] = {
    {"Resize", 10, upsample},        {"Resize", 11, resize},
    {"Upsample", 1, upsample_sides}, {"Upsample", 7, upsample_attributes},
    {"Upsample", 9, upsample},
};

}  // namespace

std::span<const Row> resize_rows() { return kRows; }

}  // namespace relay::frontend
