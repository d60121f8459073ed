#include "python/indexing.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "op/op_def.h"
#include "op/registry.h"
#include "python/make.h"
#include "python/types.h"

namespace relay::python {
namespace {

using Named = std::vector<std::pair<std::string, py::object>>;

// To `strided_slice`, a bound that far is the end of its axis, whatever the extent.
constexpr int64_t kFar = INT32_MAX;

ExprHandle call(const char* name, const py::object& e, const Named& attributes) {
  return apply(operator_called(name), {e}, attributes);
}

// --- items of an index ---------------------------------------------------------------------------

bool is_new_axis(py::handle item) { return item.is_none(); }
bool is_rest(py::handle item) { return item.ptr() == Py_Ellipsis; }

[[noreturn]] void refuse_item(py::handle item) {
  throw py::type_error(
      cat("a tensor of a program is indexed by integers, slices, `...` and None, and this is a ",
          class_name(item),
          ": relay.ops.take(x, indices, axis=0) takes what other tensors say, and relay.ops.where chooses by "
          "truth values"));
}

// Does the item take one axis: as an integer, or as a slice? Raises TypeError for other items.
bool is_integer(py::handle item) {
  if (PySlice_Check(item.ptr())) return false;
  if (PyBool_Check(item.ptr()) || py::isinstance<ExprHandle>(item) || !PyIndex_Check(item.ptr()))
    refuse_item(item);
  // Every array has `__index__`, whatever its rank.
  const py::object axes = py::getattr(item, "ndim", py::int_(0));
  if (!axes.equal(py::int_(0))) refuse_item(item);
  return true;
}

// One item for each axis, and None where an axis is new. `...` is written out.
std::vector<py::object> items_of(py::handle key, size_t rank) {
  std::vector<py::object> given;
  if (py::isinstance<py::tuple>(key)) {
    for (const py::object item : py::reinterpret_borrow<py::sequence>(key)) given.push_back(item);
  } else {
    given.push_back(py::reinterpret_borrow<py::object>(key));
  }
  size_t axes = 0, rests = 0;
  for (const py::object& item : given) {
    if (is_rest(item)) {
      ++rests;
    } else if (!is_new_axis(item)) {
      is_integer(item);
      ++axes;
    }
  }
  if (rests > 1) throw py::index_error("an index can have one `...`, not two");
  if (axes > rank)
    throw py::index_error(
        cat("too many indices: the tensor has ", rank, " axes, and ", axes, " are indexed"));
  const py::object whole = py::reinterpret_steal<py::object>(PySlice_New(nullptr, nullptr, nullptr));
  if (rests == 0) given.push_back(py::reinterpret_borrow<py::object>(Py_Ellipsis));
  std::vector<py::object> out;
  for (const py::object& item : given) {
    if (is_rest(item)) {
      out.insert(out.end(), rank - axes, whole);
    } else {
      out.push_back(item);
    }
  }
  return out;
}

// --- slices --------------------------------------------------------------------------------------

// Attributes of one call of `strided_slice`.
struct Slices {
  py::list begin, end, strides, axes;

  void add(size_t axis, const py::object& from, const py::object& to, int64_t stride) {
    begin.append(from);
    end.append(to);
    strides.append(stride);
    axes.append(axis);
  }
};

// An end of a slice. Integers are cut to what is surely beyond the axis.
py::object bound(py::handle given, int64_t standard) {
  if (given.is_none()) return py::int_(standard);
  if (py::isinstance<DimHandle>(given)) return py::reinterpret_borrow<py::object>(given);
  if (PyBool_Check(given.ptr()) || !PyIndex_Check(given.ptr())) {
    throw py::type_error(cat("the bound of a slice is a ", class_name(given),
                             ": give an integer, a relay.Dim or None; relay.ops.dyn.strided_slice takes what "
                             "the program computes"));
  }
  const Py_ssize_t value = PyNumber_AsSsize_t(given.ptr(), nullptr);  // of a larger one, the largest
  if (value == -1 && PyErr_Occurred()) throw py::error_already_set();
  return py::int_(std::clamp<int64_t>(value, -kFar, kFar));
}

void add_slice(Slices& slices, size_t axis, py::handle slice) {
  const py::object start = slice.attr("start"), stop = slice.attr("stop"), step = slice.attr("step");
  if (start.is_none() && stop.is_none() && step.is_none()) return;
  int64_t stride = 1;
  if (!step.is_none()) {
    if (PyBool_Check(step.ptr()) || !PyIndex_Check(step.ptr()))
      throw py::type_error(cat("the step of a slice is a ", class_name(step), ": give an integer"));
    stride = integer_of(step, "the step of a slice");
  }
  if (stride == 0) throw py::value_error("the step of a slice is 0");
  slices.add(axis, bound(start, stride > 0 ? 0 : kFar), bound(stop, stride > 0 ? kFar : -kFar), stride);
}

// An axis that an integer removes. `at` is set where the run has to look whether
// the element exists.
struct Removed {
  size_t axis;
  std::optional<int64_t> at;
};

Removed add_integer(Slices& slices, size_t axis, Dim extent, py::handle item) {
  const int64_t i = integer_of(item, "an index");
  if (extent.is_const()) {
    const int64_t n = extent.value();
    if (i < -n || i >= n)
      throw py::index_error(cat("index ", i, " is out of bounds for axis ", axis, " with size ", n));
    const int64_t from = i < 0 ? i + n : i;
    slices.add(axis, py::int_(from), py::int_(from + 1), 1);
    return {axis, std::nullopt};
  }
  if (i >= 0) return {axis, i};
  // The slice is empty if there are too few elements, so that its first one does not exist.
  slices.add(axis, py::int_(std::max(i, -kFar)), i == -1 ? py::int_(kFar) : py::int_(std::max(i, -kFar) + 1),
             1);
  return {axis, 0};
}

}  // namespace

ExprHandle part_of_tensor(const ExprHandle& e, const TensorType& type, py::handle key) {
  const std::vector<py::object> items = items_of(key, type.rank());
  Slices slices;
  std::vector<Removed> removed;
  std::vector<size_t> made;  // places of new axes in the result
  size_t axis = 0, place = 0;
  for (const py::object& item : items) {
    if (is_new_axis(item)) {
      made.push_back(place++);
    } else if (is_integer(item)) {
      removed.push_back(add_integer(slices, axis, type.dims[axis], item));
      ++axis;
    } else {
      add_slice(slices, axis++, item);
      ++place;
    }
  }
  py::object out = py::cast(e);
  if (!slices.axes.empty()) {
    out = py::cast(call(
        "strided_slice", out,
        {{"begin", slices.begin}, {"end", slices.end}, {"strides", slices.strides}, {"axes", slices.axes}}));
  }
  for (size_t i = removed.size(); i-- > 0;) {  // the last first, so that axes keep their numbers
    const auto [at_axis, at] = removed[i];
    if (at) {
      out = py::cast(apply(operator_called("take"), {out, py::int_(*at)},
                           {{"axis", py::int_(at_axis)}, {"mode", py::str("fast")}}));
    } else {
      out = py::cast(call("squeeze", out, {{"axis", py::make_tuple(at_axis)}}));
    }
  }
  for (const size_t p : made) out = py::cast(call("expand_dims", out, {{"axis", py::int_(p)}}));
  return py::cast<ExprHandle>(out);
}

namespace {

// The tensor, in which the axis has this extent: a run compares them.
ExprHandle with_extent(const ExprHandle& e, const TensorType& type, size_t axis, Dim extent) {
  std::vector<Dim> dims(type.dims.begin(), type.dims.end());
  dims[axis] = extent;
  return make(e.home, [&](Builder& b) -> Expr {
    const Type matched = e.home->context().tensor_type(dims, type.dtype);
    const Var* x = b.var("x", matched);
    return b.call(b.fn({&x, 1}, x), {e.node}, {}, matched);  // as `match_shape` is written
  });
}

}  // namespace

ExprHandle product(const py::object& a, const py::object& b) {
  const HomeRef home = home_of({a, b});
  ExprHandle left{home, expr_of(home, a, nullptr, "the left operand of `@`")};
  ExprHandle right{home, expr_of(home, b, nullptr, "the right operand of `@`")};
  const Type left_type = find_type(home, left.node), right_type = find_type(home, right.node);
  const auto* x = left_type ? left_type->as<TensorType>() : nullptr;
  const auto* y = right_type ? right_type->as<TensorType>() : nullptr;
  // What is no tensor, or not known yet, is the checker's to refuse.
  const bool is_plain = !x || !y || (x->rank() > 0 && y->rank() == 2);
  if (is_plain) return apply(operator_called("nn.matmul"), {py::cast(left), py::cast(right)}, {});
  if (x->rank() == 0 || y->rank() == 0)
    throw py::type_error("an operand of `@` is a scalar: `*` multiplies by one");
  const size_t x_axis = x->rank() - 1, y_axis = y->rank() - std::min<size_t>(y->rank(), 2);
  const Dim summed = x->dims[x_axis], over = y->dims[y_axis];
  const auto refuse = [&](const char* remedy) {
    throw py::value_error(cat("the operands of `@` do not fit: the length of the sums is ", show(summed),
                              " in ", show(x, 200), ", and ", show(over), " in ", show(y, 200), remedy));
  };
  // To `einsum`, an extent of 1 fits every other one.
  if (summed.is_unknown() && over.is_unknown()) refuse(": relay.match_shape gives one of them a name");
  if (summed.is_const() && over.is_const()) {
    if (summed != over && (summed == Dim(1) || over == Dim(1))) refuse("");
  } else if (summed.is_unknown()) {
    left = with_extent(left, *x, x_axis, over);
  } else if (summed != over) {
    right = with_extent(right, *y, y_axis, summed);
  }
  const std::string rows = x->rank() == 1 ? "" : "i", columns = y->rank() == 1 ? "" : "j";
  const std::string equation = cat(rows.empty() ? "" : "...", rows, "k,", columns.empty() ? "" : "...", "k",
                                   columns, "->", cat(rows, columns).empty() ? "" : "...", rows, columns);
  return call("einsum", py::make_tuple(left, right), {{"equation", py::str(equation)}});
}

size_t length_of_tensor(const TensorType& type) {
  if (type.rank() == 0) throw py::type_error("a scalar has no length, and no elements to go through");
  if (type.dims[0].is_const()) return static_cast<size_t>(type.dims[0].value());
  throw py::type_error(cat("the length of a tensor of the type ", show(&type, 200),
                           " is only known when the program runs: x.shape[0] is a relay.Dim"));
}

}  // namespace relay::python
