#include "python/make.h"

#include <pybind11/numpy.h>

#include "base/cat.h"
#include "ir/module.h"
#include "ir/text/printer.h"
#include "python/recording.h"
#include "python/tensors.h"

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
  for (const py::handle item : py::reinterpret_borrow<py::sequence>(value)) find_home(item, found);
}

DType dtype_of_number(py::handle value) {
  if (PyBool_Check(value.ptr())) return kBool;
  return PyFloat_Check(value.ptr()) ? kFloat32 : kInt32;
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
    throw py::value_error(cat(what, " is the number ", std::string(py::repr(value)),
                              ", which is beyond what ", entry.text, " holds"));
  }
}

Tensor array(py::handle value, const std::string& what) {
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
  for (const py::handle value : values) {
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

Expr expr_of(const HomeRef& home, py::handle value, Type wanted, const std::string& what) {
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
  if (is_number(value)) {
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
