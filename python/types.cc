#include "python/types.h"

#include <pybind11/pybind11.h>

#include <functional>
#include <vector>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/import.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/make.h"
#include "python/tensors.h"

namespace relay::python {
namespace {

// An extent of a type: the attributes of operators may be negative, these may not.
Dim extent_of(const Module& module, py::handle extent, const std::string& what) {
  const Dim out = dim_of(module, extent, what);
  if (!out.is_const() || out.value() >= 0) return out;
  throw py::value_error(cat(what, " has the extent ", out.value(),
                            ", and none is negative: one that only a run tells is a relay.Dim, or \"?\""));
}

TypeHandle tensor_type(const py::sequence& shape, py::handle dtype) {
  if (py::isinstance<py::str>(shape)) {
    throw py::type_error(cat("argument `shape` is the text ", std::string(py::repr(shape)),
                             ": give a tuple of extents, as (2, \"n\")"));
  }
  const Module module;
  std::vector<Dim> dims;
  // An element of a sequence may live for as long as somebody holds it.
  for (const py::object extent : shape) dims.push_back(extent_of(module, extent, "argument `shape`"));
  return {module.shared_context(), module.context().tensor_type(dims, dtype_of(dtype, "argument `dtype`"))};
}

[[noreturn]] void refuse(py::handle spec, const std::string& what) {
  throw py::type_error(
      cat("argument `", what, "` is a ", class_name(spec),
          ": give a type as a text, as \"Tensor[(2, n), float32]\", a relay.Type, or an array"));
}

// Reads a text that is one type, or one extent.
template <class T, class Read>
T parsed(const std::string& text, const std::string& name, const Module& module, const Read& read) {
  Diagnostics diagnostics;
  ParseOptions options;
  options.into = module;
  const Result<T> out = read(name, text, diagnostics, options);
  if (!out) raise_diagnostics(diagnostics, module.context().sources());
  return *out;
}

Result<Dim> parse_dim(std::string name, std::string text, Diagnostics& diagnostics,
                      const ParseOptions& options) {
  // An extent stands nowhere alone, so this is the type of a vector.
  const Result<Type> type =
      parse_type(std::move(name), cat("Tensor[(", text, "), bool]"), diagnostics, options);
  if (!type) return kReported;
  const auto* tensor = (*type)->as<TensorType>();
  if (tensor && tensor->rank() == 1) return tensor->dims[0];
  diagnostics.error(Span::none(), "expected-dim", cat("`", text, "` is no extent"));
  return kReported;
}

// --- Dim -----------------------------------------------------------------------------------------

DimHandle calculated(const DimHandle& a, py::handle b, Dim (*operation)(Dim, Dim), bool swapped) {
  const Module module;
  Importer import(module.context());
  const Dim left = import.dim(a.dim), right = dim_of(module, b, "the operand");
  const Dim out = swapped ? operation(right, left) : operation(left, right);
  if (out.is_too_large()) throw py::value_error("the extent is beyond what 64 bits hold");
  if (out.is_unknown() && !left.is_unknown() && !right.is_unknown()) {
    PyErr_SetString(PyExc_ZeroDivisionError, "an extent is divided by zero");
    throw py::error_already_set();
  }
  return {module.shared_context(), out};
}

// An expression does the calculation itself, when the program runs.
py::object calculated_or_not(const DimHandle& a, py::handle b, Dim (*operation)(Dim, Dim), bool swapped) {
  if (py::isinstance<ExprHandle>(b)) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  return py::cast(calculated(a, b, operation, swapped));
}

Dim add(Dim a, Dim b) { return a + b; }
Dim subtract(Dim a, Dim b) { return a - b; }
Dim multiply(Dim a, Dim b) { return a * b; }

// To another extent as a text, so that an unknown one is equal to another of these; or to an
// integer. No text is parsed: `==` raises nothing.
py::object is_equal(const DimHandle& a, py::handle b) {
  if (py::isinstance<DimHandle>(b)) {
    const Module module;
    Importer import(module.context());
    return py::bool_(import.dim(a.dim) == import.dim(py::cast<const DimHandle&>(b).dim));
  }
  if (!PyLong_Check(b.ptr())) return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  return py::bool_(a.dim.is_const() && py::int_(a.dim.value()).equal(b));
}

DimHandle read_dim(const std::string& text) {
  const Module module;
  return {module.shared_context(), dim_of(module, py::str(text), "argument `text`")};
}

void bind_dim(py::module_& m) {
  py::class_<DimHandle> dim(m, "Dim",
                            "An extent of a shape that only a run knows: `n = relay.Dim(\"n\")`, `2*n + 1`.");
  dim.def(py::init(&read_dim), py::arg("text"));
  dim.def(py::pickle([](const DimHandle& d) { return py::make_tuple(show(d.dim)); },
                     [](const py::tuple& t) { return read_dim(py::cast<std::string>(t[0])); }));
  struct Operation {
    const char *name, *swapped;
    Dim (*apply)(Dim, Dim);
  };
  for (const Operation& o :
       {Operation{"__add__", "__radd__", add}, Operation{"__sub__", "__rsub__", subtract},
        Operation{"__mul__", "__rmul__", multiply}, Operation{"__floordiv__", "__rfloordiv__", floor_div},
        Operation{"__mod__", "__rmod__", floor_mod}}) {
    dim.def(o.name,
            [f = o.apply](const DimHandle& a, py::handle b) { return calculated_or_not(a, b, f, false); });
    dim.def(o.swapped,
            [f = o.apply](const DimHandle& a, py::handle b) { return calculated_or_not(a, b, f, true); });
  }
  dim.def("__eq__", &is_equal);
  // What is equal has one hash, so a constant has that of the integer.
  dim.def("__hash__", [](const DimHandle& d) {
    return d.dim.is_const() ? py::hash(py::int_(d.dim.value())) : py::hash(py::str(show(d.dim)));
  });
  dim.def("__bool__", [](const DimHandle& d) {
    if (d.dim.is_const()) return d.dim.value() != 0;
    throw py::type_error(cat("an extent that only a run knows has no truth value, and this one is ",
                             show(d.dim), ": relay.if_ decides when it runs"));
  });
  dim.def("__str__", [](const DimHandle& d) { return show(d.dim); });
  dim.def("__repr__", [](const DimHandle& d) { return cat("<relay.Dim ", show(d.dim), ">"); });
}

// --- Type ----------------------------------------------------------------------------------------

py::object extent(Dim d) {
  if (d.is_const()) return py::int_(d.value());
  return py::cast(own_dim(d));
}

py::object shape(const TypeHandle& t) {
  const auto* tensor = t.type->as<TensorType>();
  if (!tensor) return py::none();
  py::tuple out(tensor->rank());
  for (size_t i = 0; i < tensor->rank(); ++i) out[i] = extent(tensor->dims[i]);
  return out;
}

py::object dtype(const TypeHandle& t) {
  const auto* tensor = t.type->as<TensorType>();
  return tensor ? py::object(py::str(tensor->dtype.name())) : py::none();
}

py::object fields(const TypeHandle& t) {
  const auto* tuple = t.type->as<TupleType>();
  if (!tuple) return py::none();
  py::tuple out(tuple->fields.size());
  for (size_t i = 0; i < tuple->fields.size(); ++i)
    out[i] = py::cast(TypeHandle{t.context, tuple->fields[i]});
  return out;
}

// What a pickle has: the text, which is read again. Data types and type parameters are
// those of a module.
py::tuple pickled(const TypeHandle& t) {
  const std::string text = print(t.type);
  const Module module;
  Diagnostics diagnostics;
  ParseOptions options;
  options.into = module;
  const Result<Type> again = parse_type("<pickle>", text, diagnostics, options);
  if (!again || !alpha_equal(*again, t.type)) {
    throw py::type_error(
        cat("the type ", show(t.type, 200),
            " cannot be pickled alone, because it names what only its module has: pickle the "
            "module"));
  }
  return py::make_tuple(text);
}

TypeHandle read_type(const std::string& text) {
  const Module module;
  return {module.shared_context(), type_of_spec(module, py::str(text), "text")};
}

// Types that differ only in the names of type parameters are equal, and so have one hash.
size_t hash_of(const TypeHandle& t) {
  Context renamed;
  return std::hash<std::string>()(print(Importer(renamed, /*rename_type_params=*/true).type(t.type)));
}

}  // namespace

TypeHandle own_type(Type type) {
  const auto context = std::make_shared<Context>();
  return {context, Importer(*context).type(type)};
}

DimHandle own_dim(Dim dim) {
  const auto context = std::make_shared<Context>();
  return {context, Importer(*context).dim(dim)};
}

int64_t integer_of(py::handle value, const std::string& what) {
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) throw py::error_already_set();
  int beyond = 0;
  const int64_t out = PyLong_AsLongLongAndOverflow(number.ptr(), &beyond);
  if (beyond == 0) return out;
  PyErr_SetString(PyExc_OverflowError, cat(what, " has a number that 64 bits do not hold").c_str());
  throw py::error_already_set();
}

Dim dim_of(const Module& module, py::handle extent, const std::string& what) {
  if (py::isinstance<DimHandle>(extent))
    return Importer(module.context()).dim(py::cast<const DimHandle&>(extent).dim);
  if (py::isinstance<py::str>(extent)) return parsed<Dim>(py::str(extent), "<extent>", module, &parse_dim);
  if (PyBool_Check(extent.ptr()) || !PyIndex_Check(extent.ptr())) {
    throw py::type_error(cat(what, " has a ", class_name(extent),
                             " for an extent: give an integer, a relay.Dim, or a text, as \"2*n + 1\""));
  }
  const int64_t value = integer_of(extent, what);
  if (value == INT64_MIN) throw py::value_error(cat(what, ": there is no extent ", value));
  return Dim(value);
}

Type type_of_spec(const Module& module, py::handle spec, const std::string& what) {
  if (spec.is_none()) return nullptr;
  if (py::isinstance<TypeHandle>(spec))
    return Importer(module.context()).type(py::cast<const TypeHandle&>(spec).type);
  if (py::isinstance<py::str>(spec))
    return parsed<Type>(py::str(spec), cat("<", what, ">"), module, &parse_type);
  // A class as np.float32 has both names, and neither a shape.
  if (!py::hasattr(spec, "shape") || !py::hasattr(spec, "dtype") || PyType_Check(spec.ptr()))
    refuse(spec, what);
  std::vector<Dim> dims;
  for (const py::object d : py::reinterpret_borrow<py::sequence>(spec.attr("shape")))
    dims.push_back(extent_of(module, d, cat("argument `", what, "`")));
  return module.context().tensor_type(dims, dtype_of(spec.attr("dtype"), cat("argument `", what, "`")));
}

void bind_types(py::module_& m) {
  bind_dim(m);
  py::class_<TypeHandle>(m, "Type", "A type of the language. `str(type)` is its text.")
      .def(py::init(&read_type), py::arg("text"),
           "Reads a type, as \"Tensor[(2, n), float32]\". Raises DiagnosticError.")
      .def_property_readonly("shape", &shape, "extents: integers, or relay.Dim; None if it is no tensor")
      .def_property_readonly("dtype", &dtype, "its name; None if it is no tensor")
      .def_property_readonly("fields", &fields, "types of a tuple; None if it is none")
      .def("__eq__",
           [](const TypeHandle& a, py::handle b) {
             return py::isinstance<TypeHandle>(b) && alpha_equal(a.type, py::cast<const TypeHandle&>(b).type);
           })
      .def("__hash__", &hash_of)
      .def("__str__", [](const TypeHandle& t) { return print(t.type); })
      .def("__repr__", [](const TypeHandle& t) { return cat("<relay.Type ", show(t.type, 200), ">"); })
      .def("__copy__", [](const py::object& self) { return self; })
      .def(
          "__deepcopy__", [](const py::object& self, const py::object&) { return self; }, py::arg("memo"))
      .def(py::pickle(&pickled, [](const py::tuple& t) { return read_type(py::cast<std::string>(t[0])); }));
  m.def("Tensor", &tensor_type, py::arg("shape"), py::arg("dtype") = "float32",
        "The type of tensors of this shape: `relay.Tensor((2, \"n\"), \"float32\")`.");
}

}  // namespace relay::python
