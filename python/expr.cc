#include "python/expr.h"

#include <pybind11/stl.h>

#include <algorithm>

#include "base/cat.h"
#include "ir/fields.h"
#include "ir/text/printer.h"
#include "op/operators.h"
#include "op/registry.h"
#include "python/bindings.h"
#include "python/indexing.h"
#include "python/instantiate.h"
#include "python/make.h"
#include "python/numpy_functions.h"
#include "python/recording.h"
#include "python/types.h"
#include "python/work.h"

namespace relay::python {
namespace {

std::string text_of(const ExprHandle& e) {
  const auto lock = hold(*e.home);
  const Operators operators = op::operators();
  return print(e.node, {.operators = &operators, .elide = true});
}

std::string described(const ExprHandle& e) {
  return cat("<relay.Expr ", name_of(e.node->kind), e.node->type ? cat(": ", show(e.node->type, 200)) : "",
             ">");
}

}  // namespace

std::unique_lock<ContextMutex> hold(const Home& home) {
  return home.mutex ? lock_interruptibly(*home.mutex) : std::unique_lock<ContextMutex>();
}

std::string_view name_of(ExprKind kind) {
  switch (kind) {
    case ExprKind::kConstant: return "constant";
    case ExprKind::kVar: return "var";
    case ExprKind::kGlobal: return "global";
    case ExprKind::kOpRef: return "operator";
    case ExprKind::kCtorRef: return "constructor";
    case ExprKind::kTuple: return "tuple";
    case ExprKind::kProj: return "projection";
    case ExprKind::kFn: return "function";
    case ExprKind::kCall: return "call";
    case ExprKind::kLet: return "let";
    case ExprKind::kIf: return "if";
    case ExprKind::kMatch: return "match";
    case ExprKind::kRefNew: return "ref";
    case ExprKind::kRefRead: return "ref_read";
    case ExprKind::kRefWrite: break;
  }
  return "ref_write";
}

std::vector<ExprHandle> children(const ExprHandle& e) {
  std::vector<ExprHandle> out;
  for_each_child(e.node, [&](Expr child) { out.push_back({e.home, child}); });
  return out;
}

namespace {

// --- operators of Python -------------------------------------------------------------------------

struct PythonOperator {
  const char *method, *swapped, *op;  // `swapped`: the same with the operands the other way round
};
constexpr PythonOperator kBinary[] = {
    {"__add__", "__radd__", "add"},
    {"__sub__", "__rsub__", "subtract"},
    {"__mul__", "__rmul__", "multiply"},
    {"__truediv__", "__rtruediv__", "divide"},
    {"__floordiv__", "__rfloordiv__", "floor_divide"},
    {"__mod__", "__rmod__", "floor_mod"},
    {"__pow__", "__rpow__", "power"},
    {"__and__", "__rand__", "bitwise_and"},
    {"__or__", "__ror__", "bitwise_or"},
    {"__xor__", "__rxor__", "bitwise_xor"},
    {"__lshift__", "__rlshift__", "left_shift"},
    {"__rshift__", "__rrshift__", "right_shift"},
    {"__lt__", nullptr, "less"},
    {"__le__", nullptr, "less_equal"},
    {"__gt__", nullptr, "greater"},
    {"__ge__", nullptr, "greater_equal"},
    {"__eq__", nullptr, "equal"},
    {"__ne__", nullptr, "not_equal"},
};
constexpr PythonOperator kUnary[] = {{"__neg__", nullptr, "negative"},
                                     {"__abs__", nullptr, "abs"},
                                     {"__invert__", nullptr, "bitwise_not"},
                                     {"__round__", nullptr, "round"}};

void bind_operators(py::class_<ExprHandle>& expr) {
  for (const PythonOperator& o : kBinary) {
    const op::OpDef& op = operator_called(o.op);
    const std::string doc = cat("`", op.name, "` of the operators");
    expr.def(
        o.method, [&op](const py::object& a, const py::object& b) { return apply(op, {a, b}, {}); },
        doc.c_str());
    if (!o.swapped) continue;
    expr.def(
        o.swapped, [&op](const py::object& a, const py::object& b) { return apply(op, {b, a}, {}); },
        doc.c_str());
  }
  const char* products = "the product of matrices, or of batches of them, as NumPy's";
  expr.def("__matmul__", &product, products);
  expr.def("__rmatmul__", [](const py::object& a, const py::object& b) { return product(b, a); }, products);
  for (const PythonOperator& o : kUnary)
    expr.def(o.method, [&op = operator_called(o.op)](const py::object& a) { return apply(op, {a}, {}); });
  expr.attr("__hash__") = py::none();
}

// --- parts and calls -----------------------------------------------------------------------------

Type required_type(const ExprHandle& e) {
  if (const auto* x = e.node->as<Var>()) settle(e.home, x);
  const Type type = find_type(e.home, e.node);
  if (!type)
    throw py::type_error("the type is not known here: give types to the function's parameters and result");
  return type;
}

std::optional<TypeHandle> type_of(const ExprHandle& e) {
  if (const auto* x = e.node->as<Var>()) settle(e.home, x);
  const Type type = find_type(e.home, e.node);
  return type ? std::optional(own_type(type)) : std::nullopt;
}

const TensorType* tensor_type(const ExprHandle& e) { return required_type(e)->as<TensorType>(); }

// `shape` or `dtype` of the type.
py::object of_tensor(const ExprHandle& e, const char* part) {
  const Type type = required_type(e);
  if (!type->as<TensorType>())
    throw py::type_error(cat("a value of the type ", show(type, 200), " has no ", part));
  return py::cast(own_type(type)).attr(part);
}

const TupleType& tuple_type(const ExprHandle& e) {
  const Type type = required_type(e);
  const auto* tuple = type->as<TupleType>();
  if (!tuple) {
    throw py::type_error(cat("a value of the type ", show(type, 200), " is no tensor, and has no fields"));
  }
  return *tuple;
}

ExprHandle field(const ExprHandle& e, py::handle given) {
  const auto count = static_cast<int64_t>(tuple_type(e).fields.size());
  if (PyBool_Check(given.ptr()) || !PyIndex_Check(given.ptr()))
    throw py::type_error(cat("a tuple of a program is indexed by an integer, not by a ", class_name(given)));
  const int64_t index = integer_of(given, "an index");
  if (index < -count || index >= count) throw py::index_error(cat("field ", index, " of a tuple of ", count));
  const auto at = static_cast<uint32_t>(index < 0 ? index + count : index);
  return make(e.home, [&](Builder& b) { return b.proj(e.node, at); });
}

// A part of a tensor, or a field of a tuple.
ExprHandle item(const ExprHandle& e, py::handle index) {
  const TensorType* tensor = tensor_type(e);
  return tensor ? part_of_tensor(e, *tensor, index) : field(e, index);
}

size_t length(const ExprHandle& e) {
  const TensorType* tensor = tensor_type(e);
  return tensor ? length_of_tensor(*tensor) : tuple_type(e).fields.size();
}

// Python's iterator asks `__getitem__` for one item after another, until one is an IndexError.
py::object items(const py::object& e) {
  length(py::cast<const ExprHandle&>(e));  // refuses what has none that is known
  PyObject* iterator = PySeqIter_New(e.ptr());
  if (!iterator) throw py::error_already_set();
  return py::reinterpret_steal<py::object>(iterator);
}

// What a call gives, if that does not depend on the arguments.
Type result_of(const FnType* type) {
  const bool fixed = type && type->type_params.empty() && !type->result->has_symbolic_dim &&
                     !type->result->has_type_var && !type->result->has_hole;
  return fixed ? type->result : nullptr;
}

bool is_function(py::handle value) {
  return PyCallable_Check(value.ptr()) && !py::isinstance<ExprHandle>(value) &&
         !py::isinstance<ConstructorHandle>(value);
}

// Of a generic function, the other arguments tell the types that functions of Python get: so these
// come last.
std::vector<Expr> arguments(const HomeRef& home, const FnType* fn, const py::args& args) {
  std::vector<Expr> out(args.size());
  std::vector<Type> wanted(args.size()), known(args.size());
  if (fn) wanted.assign(fn->args.begin(), fn->args.end());
  const auto make_each = [&](bool functions) {
    for (size_t i = 0; i < args.size(); ++i) {
      if (is_function(args[i]) == functions) out[i] = expr_of(home, args[i], wanted[i], cat("argument ", i));
    }
  };
  make_each(false);
  const bool any = std::any_of(args.begin(), args.end(), is_function);
  if (fn && !fn->type_params.empty() && any) {
    for (size_t i = 0; i < args.size(); ++i) known[i] = out[i] ? find_type(home, out[i]) : nullptr;
    wanted = expected_types(home->context(), *fn, known);
  }
  make_each(true);
  return out;
}

ExprHandle call(const ExprHandle& f, const py::args& args) {
  if (const auto* x = f.node->as<Var>()) settle(f.home, x);
  const Type type = known_type(*f.home, f.node);
  const auto* fn = type ? type->as<FnType>() : nullptr;
  if (type && !fn) throw py::type_error(cat("a value of the type ", show(type, 200), " is no function"));
  if (fn && fn->args.size() != args.size()) {
    throw py::type_error(
        cat("a function of the type ", show(type, 200), " is called with ", args.size(), " arguments"));
  }
  const std::vector<Expr> given = arguments(f.home, fn, args);
  return make(f.home,
              [&](Builder& b) { return bound(f.home, b, b.call(f.node, given, {}, result_of(fn)), "x"); });
}

ExprHandle read(const ExprHandle& cell) {
  return make(cell.home, [&](Builder& b) { return bound(cell.home, b, b.ref_read(cell.node), "x"); });
}

void write(const ExprHandle& cell, py::handle value) {
  const Type type = known_type(*cell.home, cell.node);
  const auto* ref = type ? type->as<RefType>() : nullptr;
  if (type && !ref) throw py::type_error(cat("a value of the type ", show(type, 200), " is no reference"));
  const Expr to = expr_of(cell.home, value, ref ? ref->contents : nullptr, "argument `value`");
  make(cell.home, [&](Builder& b) { return bound(cell.home, b, b.ref_write(cell.node, to), "_"); });
}

// Arrays of NumPy have methods that are functions here.
py::object no_such_attribute(const ExprHandle&, const std::string& name) {
  std::string remedy;
  for (const op::OpDef* op : op::all_ops()) {
    const std::string_view full = op->name;
    const bool is_meant = full == name || (full.starts_with("nn.") && full.substr(3) == name);
    if (is_meant) remedy = cat(": relay.ops.", full, "(x, ...) is the operator");
  }
  throw py::attribute_error(cat("a relay.Expr has no attribute `", name, "`", remedy));
}

}  // namespace

void bind_expr(py::module_& m) {
  py::class_<ExprHandle> expr(m, "Expr", "An expression of the language.");
  expr.def_property_readonly(
          "kind", [](const ExprHandle& e) { return name_of(e.node->kind); },
          "\"constant\", \"var\", \"global\", \"operator\", \"constructor\", \"tuple\", \"projection\", "
          "\"function\", \"call\",\n\"let\", \"if\", \"match\", \"ref\", \"ref_read\" or \"ref_write\"")
      .def_property_readonly(
          "id", [](const ExprHandle& e) { return e.node->id; },
          "the same for handles on one expression, and different for others of its module")
      .def_property_readonly(
          "span", [](const ExprHandle& e) { return place_of(e.node->span, e.home->context().sources()); },
          "where it was written; None if the compiler made it, or if Python does not know the text")
      .def_property_readonly("type", &type_of,
                             "found by the type checker when it is asked for, if it is not known; None if it "
                             "is not determined yet")
      .def_property_readonly(
          "shape", [](const ExprHandle& e) { return of_tensor(e, "shape"); },
          "of a tensor: integers, or relay.Dim for what a run tells")
      .def_property_readonly(
          "dtype", [](const ExprHandle& e) { return of_tensor(e, "dtype"); }, "of a tensor: its name")
      .def_property_readonly("children", &children, "in the order of evaluation")
      .def("read", &read, "The value of the reference now.")
      .def("write", &write, py::arg("value"), "The reference has this value from now on.")
      .def("__call__", &call)
      .def_property_readonly(
          "ndim", [](const ExprHandle& e) { return py::len(of_tensor(e, "shape")); },
          "of a tensor: how many axes it has")
      .def_property_readonly(
          "T", [](const py::object& e) { return apply(operator_called("transpose"), {e}, {}); },
          "of a tensor: with its axes in reverse order")
      .def(
          "astype",
          [](const py::object& e, const py::object& dtype) {
            return apply(operator_called("cast"), {e}, {{"dtype", dtype}});
          },
          py::arg("dtype"), "The elements in another dtype: `cast` of the operators.")
      .def("__getitem__", &item, py::arg("index"),
           "A field of a tuple. Of a tensor, a part as NumPy's `x[0, :, 1:-1, ..., None]` gives it.")
      .def("__len__", &length, "fields of a tuple, or the first extent of a tensor")
      .def("__iter__", &items, "fields of a tuple, or of a tensor what each index of its first axis gives")
      .def("__getattr__", &no_such_attribute)
      .def("__bool__",
           [](const ExprHandle&) -> bool {
             throw py::type_error(
                 "the value of an expression is not known while the program is made: relay.if_ decides when "
                 "it runs");
           })
      .def("__str__", &text_of)
      .def("__repr__", &described);
  bind_operators(expr);
  bind_numpy_protocols(expr);
}

}  // namespace relay::python
