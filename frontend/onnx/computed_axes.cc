#include "frontend/onnx/computed_axes.h"

#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/choose.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/importer.h"

namespace relay::frontend {
namespace {

using namespace op;

// numbers[places], where a place that does not exist traps.
Expr looked_up(Node& n, Expr numbers, Expr places) {
  return n.call(kTake, {numbers, places}, {{"axis", int64_t{0}}, {"mode", std::string("fast")}});
}

Expr whole(Node& n, int64_t v) { return n.builder().constant(Tensor::scalar_int(kInt64, v)); }

// 0, 1, ... of so many numbers, `times` times.
Expr counted(Node& n, size_t count, size_t times = 1) {
  std::vector<int64_t> out(count * times);
  for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(i % count);
  return n.ints(out);
}

Expr element(Node& n, Expr vector, size_t i) {
  return n.call(kTake, {vector, whole(n, static_cast<int64_t>(i))}, {{"axis", int64_t{0}}});
}

}  // namespace

Expr axes_from_front(Node& n, size_t i, std::string_view what, size_t rank) {
  const Expr given = n.input(i);
  const TensorType& t = type_of(given);
  if (!t.dtype.is_int() || t.rank() > 1)
    n.invalid(cat("its ", what, " (input ", i, ") must be a list of integers"));
  const Expr axes = n.cast(given, kInt64);
  // -rank is at place 0 of the table, and so is 0 at place `rank`.
  return looked_up(n, counted(n, rank, 2), n.call(kAdd, {axes, whole(n, static_cast<int64_t>(rank))}));
}

Expr marked_axes(Node& n, Expr axes, size_t rank) {
  const Expr none = n.ints(std::vector<int64_t>(rank, 0));
  const Expr one = n.call(kOnesLike, {axes});
  const Expr counts =
      n.call(kScatterElements, {none, axes, one}, {{"axis", int64_t{0}}, {"reduction", std::string("add")}});
  return looked_up(n, n.ints({0, 1}), counts);
}

Expr different_axes_from_front(Node& n, size_t i, std::string_view what, size_t rank) {
  const Expr axes = axes_from_front(n, i, what, rank);
  return n.call(kMultiply, {axes, looked_up(n, marked_axes(n, axes, rank), axes)});  // marks are 1
}

Choosable every_axis(size_t rank) {
  Choosable out{rank, std::vector<size_t>(rank)};
  std::iota(out.axes.begin(), out.axes.end(), size_t{0});
  return out;
}

Expr along_input_axis(Node& n, size_t i, const Choosable& from, const AlongAxis& along) {
  if (n.known(i)) return along(n.axis(n.constant_int(i, "axis"), from.rank));
  const size_t count = from.axes.size();
  n.require(count > 0, "its input has no such axes");
  Expr axis = axes_from_front(n, i, "axis", from.rank);
  const TensorType& t = type_of(axis);
  n.require(t.rank() == 0 || !t.dims[0].is_const() || t.dims[0].value() == 1,
            cat("its axis (input ", i, ") must be one integer"));
  if (t.rank() == 1) axis = n.reshape(axis, {});
  // The place of the axis among those that may be chosen; the second table has none for others.
  std::vector<int64_t> places(from.rank, static_cast<int64_t>(count));
  for (size_t k = 0; k < count; ++k) places[from.axes[k]] = static_cast<int64_t>(k);
  if (count < from.rank) axis = looked_up(n, counted(n, count), looked_up(n, n.ints(places), axis));
  Expr out = along(from.axes.back());
  // Where one axis alone may be chosen, nobody else looks at the number: it traps all the same.
  if (count == 1) return n.builder().let(n.builder().var("axis", axis->type), axis, out);
  for (size_t k = count - 1; k-- > 0;) {
    const Expr is_this = n.call(kEqual, {axis, whole(n, static_cast<int64_t>(k))});
    out = choose(n, is_this, along(from.axes[k]), out);
  }
  return out;
}

Expr along_marked_axes(Node& n, Expr e, Expr marks, const AlongMarked& along) {
  const size_t rank = type_of(e).rank();
  for (size_t at = rank; at-- > 0;) {
    const Expr is_marked = n.call(kNotEqual, {element(n, marks, at), whole(n, 0)});
    const Expr either = choose(n, is_marked, along(e, at), e);
    e = n.importer().name_extents(either, n.proto().output(0));
  }
  return e;
}

Expr squeeze_computed(Node& n, Expr e) {
  const Expr axes = computed(n, 1, "axes");
  n.require(length_of(axes) <= type_of(e).rank(), "its axes are more than its input has");
  return n.call(kDynSqueeze, {e, axes});
}

Expr squeeze_ones(Node& n, Expr e) {
  const std::vector<Dim> dims = dims_of(e);
  std::vector<int64_t> axes, open;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == Dim(1)) axes.push_back(static_cast<int64_t>(i));
    if (prove_equal(dims[i], Dim(1)) == kernel::Proof::kUnknown) open.push_back(static_cast<int64_t>(i));
  }
  Expr out = axes.empty() ? e : n.squeeze(e, axes);
  if (open.empty()) return out;
  n.importer()
      .diagnostics()
      .warning(n.importer().span_of(n.proto()), "unsupported-operator-form",
               cat("`Squeeze` without axes: a run traps if dimension ", join(open, " or "), " of ",
                   show(e->type, 80), " is 1"))
      .note("fix the dynamic axes with --input-shapes, or give the node its axes");
  const Expr extents = n.call(kShapeOf, {e}, {{"dtype", kInt64}});
  for (size_t i = open.size(); i-- > 0;) {
    const Expr is_other = n.call(kNotEqual, {element(n, extents, static_cast<size_t>(open[i])), whole(n, 1)});
    out = n.importer().demand(
        n.proto(), is_other,
        cat("without axes, dimension ", open[i], " of ", show(e->type, 80), " must not be 1"), out);
  }
  return out;
}

// The new shape is 1 at the axes; the old extents fill the other places in their order.
Expr unsqueeze_computed(Node& n) {
  const Expr x = n.input(0);
  const size_t old = type_of(x).rank(), rank = old + length_of(computed(n, 1, "axes"));
  n.require(rank <= data::kMaxRank, "its result has too many dimensions");
  const Expr marks = marked_axes(
      n, n.reshape(axes_from_front(n, 1, "axes", rank), {Dim(static_cast<int64_t>(rank - old))}), rank);
  const Expr order = n.call(kArgsort, {marks}, {{"dtype", kInt64}});
  const Expr others = n.slice(order, 0, 0, static_cast<int64_t>(old));
  const Expr shape =
      n.call(kScatterElements,
             {n.ints(std::vector<int64_t>(rank, 1)), others, n.call(kShapeOf, {x}, {{"dtype", kInt64}})},
             {{"axis", int64_t{0}}, {"reduction", std::string("update")}});
  return n.call(kDynReshape, {x, shape}, {{"allowzero", true}});
}

}  // namespace relay::frontend
