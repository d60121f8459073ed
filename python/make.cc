#include "python/make.h"

#include <pybind11/numpy.h>

#include "base/cat.h"
#include "base/check.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "op/apply.h"
#include "op/extent_value.h"
#include "op/ops.h"
#include "op/registry.h"
#include "python/masked.h"
#include "python/recording.h"
#include "python/tensors.h"
#include "python/types.h"

namespace relay::python {
namespace {

// Of the thread that runs functions of Python.
thread_local HomeRef current;

void find_home(py::handle value, HomeRef& found) {
  const Nesting deeper;
  HomeRef home;
  if (py::isinstance<ExprHandle>(value)) home = py::cast<const ExprHandle&>(value).home;
  if (py::isinstance<ConstructorHandle>(value)) home = py::cast<const ConstructorHandle&>(value).home;
  if (home && found && &home->context() != &found->context()) {
    throw py::type_error(
        "the operands are of two programs: an expression can be used only in the program that it was made "
        "in");
  }
  if (home && !found) found = home;
  if (!py::isinstance<py::tuple>(value) && !py::isinstance<py::list>(value)) return;
  for (const py::object item : py::reinterpret_borrow<py::sequence>(value)) find_home(item, found);
}

DType dtype_of_number(py::handle value) {
  if (PyBool_Check(value.ptr())) return kBool;
  return PyFloat_Check(value.ptr()) ? kFloat32 : kInt32;
}

// For a message: an integer may have any number of digits, and Python writes no more than some
// thousands.
std::string digits_of(py::handle number) {
  constexpr size_t kMost = 40;
  try {
    const std::string all = py::str(py::repr(number));
    return all.size() <= kMost ? all : cat(all.substr(0, kMost), "...");
  } catch (const py::error_already_set&) {
    return "of too many digits to show";
  }
}

Tensor number(py::handle value, Type wanted, const std::string& what) {
  TypeEntry entry{.dtype = dtype_of_number(value)};
  const auto* tensor = wanted ? wanted->as<TensorType>() : nullptr;
  if (tensor && entry.dtype != kBool) entry.dtype = tensor->dtype;
  entry.text = entry.dtype.name();
  if (PyFloat_Check(value.ptr()) && !entry.dtype.is_float()) {
    throw py::type_error(cat(what, " is the number ", std::string(py::repr(value)), ", which no ", entry.text,
                             " is: relay.ops.cast gives a tensor another dtype"));
  }
  try {
    return tensor_of(lend(value, entry, what)).copy();
  } catch (const py::value_error&) {
    throw py::value_error(
        cat(what, " is the number ", digits_of(value), ", which is beyond what ", entry.text, " holds"));
  }
}

Tensor array(py::handle value, const std::string& what) {
  refuse_masked(value, what, "say what stands for the elements that are masked, as by .filled(0)");
  const py::object numpy = py::module_::import("numpy");
  const py::object found = py::hasattr(value, "__array_interface__") ? numpy.attr("asarray")(value)
                                                                     : numpy.attr("from_dlpack")(value);
  const py::object native = found.attr("dtype").attr("newbyteorder")("=");
  const auto contiguous = py::reinterpret_borrow<py::array>(
      found.attr("astype")(native, py::arg("order") = "C", py::arg("copy") = true));
  TypeEntry entry{.dtype = dtype_of(contiguous.dtype(), what),
                  .dims = {contiguous.shape(), contiguous.shape() + contiguous.ndim()}};
  entry.text = entry.dtype.name();
  // Nobody else has this copy, so that the tensor may keep it.
  return tensor_of(lend(contiguous, entry, what));
}

Expr tuple_of(const HomeRef& home, const py::sequence& values, Type wanted, const std::string& what) {
  const Nesting deeper;
  const auto* type = wanted ? wanted->as<TupleType>() : nullptr;
  std::vector<Expr> fields;
  for (const py::object value : values) {
    const size_t i = fields.size();
    fields.push_back(expr_of(home, value, type && i < type->fields.size() ? type->fields[i] : nullptr,
                             cat("field ", i, " of ", what)));
  }
  return make(home, [&](Builder& b) { return b.tuple(fields); }).node;
}

[[noreturn]] void refuse(py::handle value, const std::string& what) {
  if (value.is_none()) throw py::type_error(cat(what, " is None, and a program has no such value"));
  throw py::type_error(cat(what, " is of the type ", class_name(value),
                           ": give an expression, an array, a number, a tuple of these, or a function"));
}

}  // namespace

std::string class_name(py::handle value) { return py::str(py::type::handle_of(value).attr("__name__")); }

const HomeRef& current_home() { return current; }

CurrentHome::CurrentHome(HomeRef home) : before_(std::exchange(current, std::move(home))) {}
CurrentHome::~CurrentHome() { current = std::move(before_); }

HomeRef home_of(const std::vector<py::object>& operands) {
  HomeRef found;
  for (const py::object& operand : operands) find_home(operand, found);
  if (!found) found = current;
  if (!found) {
    throw py::type_error(
        "there is no program to make an expression in, and no operand is one: make it in a function of a "
        "relay.Builder, or in one that relay.trace calls");
  }
  return found;
}

bool is_number(py::handle value) {
  return PyBool_Check(value.ptr()) || PyLong_CheckExact(value.ptr()) || PyFloat_CheckExact(value.ptr());
}

bool is_float64(py::handle value) { return PyFloat_Check(value.ptr()) && !PyFloat_CheckExact(value.ptr()); }

const op::OpDef& operator_called(const char* name) {
  const op::OpDef* found = op::find(name);
  CHECK(found, cat("there is no operator ", name));
  return *found;
}

namespace {

// The value of a shape variable, as a scalar of int64. A tensor that has it for an extent holds no
// elements, so that it takes no memory.
Expr value_of_variable(Builder& b, kernel::Expr variable) {
  const std::vector<Dim> shape{Dim(variable), Dim(0)};
  const Expr empty = op::call(b, op::kZeros, {}, {{"shape", shape}, {"dtype", kBool}});
  const Expr extents = op::call(b, op::kShapeOf, {empty}, {{"dtype", kInt64}});
  return op::call(b, op::kTake, {extents, b.constant(Tensor::scalar_int(kInt64, 0))}, {{"axis", int64_t{0}}});
}

// An extent as a scalar, of the dtype that is wanted, else of int64. It may be below 0, which no
// tensor has: `x.shape[0] - 5`.
Expr extent_of(const HomeRef& home, py::handle given, Type wanted, const std::string& what) {
  const auto* tensor = wanted ? wanted->as<TensorType>() : nullptr;
  const DType dtype = tensor ? tensor->dtype : kInt64;
  if (dtype.is_bool()) throw py::type_error(cat(what, " is an extent, and no truth value"));
  const auto value = [&](Builder& b) -> Expr {
    const Dim dim = dim_of(home->module, given, what);  // a relay.Dim lives in a context of its own
    const Expr e = op::value_of_extent(b, dim, [&](kernel::Expr v) { return value_of_variable(b, v); });
    return !e || dtype == kInt64 ? e : op::call(b, op::kCast, {e}, {{"dtype", dtype}});
  };
  const Expr e = make(home, value).node;
  if (!e)
    throw py::type_error(cat(what, " is an extent that no operators compute: relay.ops.shape_of gives it"));
  return e;
}

}  // namespace

Expr expr_of(const HomeRef& home, py::handle value, Type wanted, const std::string& what) {
  if (py::isinstance<DimHandle>(value)) {
    const Dim dim = py::cast<const DimHandle&>(value).dim;
    if (dim.is_const()) return expr_of(home, py::int_(dim.value()), wanted, what);
    if (dim.is_unknown())
      throw py::type_error(cat(what, " is an extent that is not known: relay.ops.shape_of gives it"));
    return extent_of(home, value, wanted, what);
  }
  if (py::isinstance<ExprHandle>(value)) {
    const auto& e = py::cast<const ExprHandle&>(value);
    if (&e.home->context() != &home->context()) throw py::type_error(cat(what, " is of another program"));
    if (const auto* x = e.node->as<Var>()) settle(home, x);
    return e.node;
  }
  if (py::isinstance<ConstructorHandle>(value)) {
    const auto& c = py::cast<const ConstructorHandle&>(value);
    if (&c.home->context() != &home->context()) throw py::type_error(cat(what, " is of another program"));
    return make(home,
                [&](Builder& b) -> Expr {
                  if (c.ctor->fields.empty()) return b.call(b.ctor(*c.ctor), {});
                  return b.ctor(*c.ctor);
                })
        .node;
  }
  const auto* tensor = wanted ? wanted->as<TensorType>() : nullptr;
  if (is_number(value) || (is_float64(value) && tensor && tensor->dtype.is_float())) {
    const Tensor constant = number(value, wanted, what);
    return make(home, [&](Builder& b) { return b.constant(constant); }).node;
  }
  if (py::isinstance<py::tuple>(value) || py::isinstance<py::list>(value))
    return tuple_of(home, py::reinterpret_borrow<py::sequence>(value), wanted, what);
  if (py::hasattr(value, "__array_interface__") || py::hasattr(value, "__dlpack__")) {
    const Tensor constant = array(value, what);
    return make(home, [&](Builder& b) { return b.constant(constant); }).node;
  }
  if (py::isinstance<py::function>(value))
    return fn_of(home, py::reinterpret_borrow<py::function>(value), wanted);
  refuse(value, what);
}

Type known_type(const Home& home, Expr e) {
  if (e->type) return e->type;
  return home.recording ? home.recording->types.get(e) : nullptr;
}

}  // namespace relay::python
