#include "python/numpy_functions.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "op/op_def.h"
#include "op/registry.h"
#include "python/indexing.h"
#include "python/make.h"
#include "python/types.h"

namespace relay::python {
namespace {

using Named = std::vector<std::pair<std::string, py::object>>;

ExprHandle call(const char* name, const std::vector<py::object>& args, const Named& attributes = {}) {
  return apply(operator_called(name), args, attributes);
}

// --- what differs for integers -------------------------------------------------------------------

// What NumPy makes of tensors of integers.
enum class OfIntegers {
  kSame,    // their dtype
  kFloats,  // float64, where the operator keeps integers or refuses them
  kWide,    // 64 bits, where the operator keeps their width
};

// Refuses an operand of which the operator makes elements of another dtype than NumPy does.
void refuse_integers(const std::string& function, std::string_view op, OfIntegers rule, py::handle operand) {
  if (rule == OfIntegers::kSame || !py::isinstance<ExprHandle>(operand)) return;
  const auto& e = py::cast<const ExprHandle&>(operand);
  const Type type = find_type(e.home, e.node);
  const auto* tensor = type ? type->as<TensorType>() : nullptr;
  if (!tensor || tensor->dtype.is_float()) return;
  if (rule == OfIntegers::kWide && tensor->dtype.is_int() && tensor->dtype.bits == 64) return;
  const char* wide = tensor->dtype.is_unsigned_int() ? "uint64" : "int64";
  const char* dtype = rule == OfIntegers::kFloats ? "float64" : wide;
  throw py::type_error(cat("numpy.", function, " gives ",
                           rule == OfIntegers::kFloats ? "floats of integers" : "64 bits of fewer",
                           ", and an operand is ", show(type, 200), ": x.astype(\"", dtype,
                           "\") gives it such elements; relay.ops.", op, " keeps integers as they are"));
}

// --- element by element: ufuncs ------------------------------------------------------------------

struct Renamed {
  const char *numpy, *op;
};
// Those that an operator of another name computes.
constexpr Renamed kRenamed[] = {
    {"absolute", "abs"},   {"arccos", "acos"},        {"arccosh", "acosh"},    {"arcsin", "asin"},
    {"arcsinh", "asinh"},  {"arctan", "atan"},        {"arctanh", "atanh"},    {"fabs", "abs"},
    {"fmod", "trunc_mod"}, {"invert", "bitwise_not"}, {"matmul", "nn.matmul"}, {"remainder", "floor_mod"},
    {"rint", "round"},     {"true_divide", "divide"},
};

const op::OpDef* operator_of(const std::string& ufunc) {
  for (const Renamed& r : kRenamed) {
    if (ufunc == r.numpy) return op::find(r.op);
  }
  return op::find(ufunc);
}

// Those that give floats of integers, where the operator gives integers. NumPy 1 and 2 call
// `numpy.divide` and `numpy.true_divide`, which are one function, by different names.
constexpr std::string_view kFloatsOfIntegers[] = {"divide", "true_divide", "fabs", "rint"};

[[noreturn]] void refuse_argument(const std::string& function, const std::string& name) {
  throw py::type_error(cat("numpy.", function, " takes no argument `", name, "` in a program"));
}

py::object call_ufunc(const py::object&, const py::object& ufunc, const std::string& method,
                      const py::args& inputs, const py::kwargs& named) {
  const std::string name = py::str(ufunc.attr("__name__"));
  const std::string called = method == "__call__" ? name : cat(name, ".", method);
  const op::OpDef* op = method == "__call__" ? operator_of(name) : nullptr;
  if (!op) {
    throw py::type_error(
        cat("numpy.", called, " is no operator of a program: relay.ops has those that there are"));
  }
  if (!named.empty()) refuse_argument(called, py::str(named.begin()->first));
  if (name == "matmul") return py::cast(product(inputs[0], inputs[1]));
  const bool gives_floats = std::ranges::find(kFloatsOfIntegers, name) != std::end(kFloatsOfIntegers);
  std::vector<py::object> args;
  for (const py::handle input : inputs) {
    refuse_integers(name, op->name, gives_floats ? OfIntegers::kFloats : OfIntegers::kSame, input);
    args.push_back(py::reinterpret_borrow<py::object>(input));
  }
  return py::cast(apply(*op, args, {}));
}

// --- other functions -----------------------------------------------------------------------------

struct Given {
  std::vector<py::object> operands;
  Named attributes;
};

// A function, what makes it of operators, and NumPy's parameters in their order: operands
// (`%a`), attributes of the operator (`axis`; `shape=newshape` is called otherwise
// there), and those that a program cannot give (`out!`). Parameters behind the last word
// cannot be given either.
struct Function {
  const char *numpy, *op, *parameters;
  OfIntegers of_integers = OfIntegers::kSame;
  ExprHandle (*make)(const Given&) = nullptr;  // null: a call of the operator
};

// numpy.var(x) is `variance` about the mean, which keeps the axes.
ExprHandle variance_of(const Given& g) {
  Named of_mean = {{"keepdims", py::bool_(true)}};
  for (const auto& attribute : g.attributes) {
    if (attribute.first == "axis") of_mean.push_back(attribute);
  }
  return call("variance", {g.operands[0], py::cast(call("mean", g.operands, of_mean))}, g.attributes);
}

ExprHandle deviation_of(const Given& g) { return call("sqrt", {py::cast(variance_of(g))}); }

// Positions are int64 to NumPy, and int32 here.
template <const char* op>
ExprHandle wide_position(const Given& g) {
  return call("cast", {py::cast(call(op, g.operands, g.attributes))}, {{"dtype", py::str("int64")}});
}
constexpr char kArgmax[] = "argmax", kArgmin[] = "argmin";

// The ends may be expressions or None, which the operator `clip` does not take.
ExprHandle clipped(const Given& g) {
  py::object x = g.operands[0];
  const char* const ends[] = {"maximum", "minimum"};
  for (size_t i = 0; i < 2; ++i) {
    if (!g.operands[i + 1].is_none()) x = py::cast(call(ends[i], {x, g.operands[i + 1]}));
  }
  return py::cast<ExprHandle>(x);
}

constexpr Function kFunctions[] = {
    {"sum", "sum", "%a axis dtype! out! keepdims", OfIntegers::kWide},
    {"prod", "prod", "%a axis dtype! out! keepdims", OfIntegers::kWide},
    {"mean", "mean", "%a axis dtype! out! keepdims", OfIntegers::kFloats},
    {"var", "variance", "%a axis dtype! out! ddof! keepdims", OfIntegers::kFloats, &variance_of},
    {"std", "variance", "%a axis dtype! out! ddof! keepdims", OfIntegers::kFloats, &deviation_of},
    {"max", "max", "%a axis out! keepdims"},
    {"amax", "max", "%a axis out! keepdims"},
    {"min", "min", "%a axis out! keepdims"},
    {"amin", "min", "%a axis out! keepdims"},
    {"all", "all", "%a axis out! keepdims"},
    {"any", "any", "%a axis out! keepdims"},
    {"argmax", "argmax", "%a axis out! keepdims", OfIntegers::kSame, &wide_position<kArgmax>},
    {"argmin", "argmin", "%a axis out! keepdims", OfIntegers::kSame, &wide_position<kArgmin>},
    {"cumsum", "cumsum", "%a axis dtype! out!", OfIntegers::kWide},
    {"cumprod", "cumprod", "%a axis dtype! out!", OfIntegers::kWide},
    {"transpose", "transpose", "%a axes"},
    {"reshape", "reshape", "%a shape=newshape order!"},
    {"squeeze", "squeeze", "%a axis"},
    {"expand_dims", "expand_dims", "%a axis"},
    {"broadcast_to", "broadcast_to", "%array shape subok!"},
    {"concatenate", "concatenate", "%arrays axis out!"},
    {"stack", "stack", "%arrays axis out!"},
    {"split", "split", "%ary indices_or_sections axis"},
    {"flip", "reverse", "%m axis"},
    {"repeat", "repeat", "%a repeats axis"},
    {"tile", "tile", "%A reps"},
    {"where", "where", "%condition %x %y"},
    {"clip", "clip", "%a %a_min %a_max out!", OfIntegers::kSame, &clipped},
    {"zeros_like", "zeros_like", "%a dtype! order! subok! shape!"},
    {"ones_like", "ones_like", "%a dtype! order! subok! shape!"},
    {"full_like", "full_like", "%a %fill_value dtype! order! subok! shape!"},
    {"round", "round", "%a decimals! out!"},
    {"around", "round", "%a decimals! out!"},
    {"round_", "round", "%a decimals! out!"},  // what NumPy 1 calls the first
};

struct Parameter {
  enum class Role { kOperand, kAttribute, kNotHere } role;
  std::string name, attribute;
};

std::vector<Parameter> parameters_of(const Function& f) {
  std::vector<Parameter> out;
  std::string_view rest = f.parameters;
  while (!rest.empty()) {
    const std::string word(rest.substr(0, rest.find(' ')));
    rest.remove_prefix(std::min(rest.size(), word.size() + 1));
    const size_t renamed = word.find('=');
    if (word.front() == '%') {
      out.push_back({Parameter::Role::kOperand, word.substr(1), {}});
    } else if (word.back() == '!') {
      out.push_back({Parameter::Role::kNotHere, word.substr(0, word.size() - 1), {}});
    } else if (renamed == std::string::npos) {
      out.push_back({Parameter::Role::kAttribute, word, word});
    } else {
      out.push_back({Parameter::Role::kAttribute, word.substr(0, renamed), word.substr(renamed + 1)});
    }
  }
  return out;
}

void take(Given& given, const Function& f, const Parameter& p, const py::object& value) {
  switch (p.role) {
    case Parameter::Role::kOperand: given.operands.push_back(value); break;
    case Parameter::Role::kAttribute: given.attributes.emplace_back(p.attribute, value); break;
    case Parameter::Role::kNotHere:
      if (!value.is_none()) refuse_argument(f.numpy, p.name);
  }
}

// What a call gives to each parameter. Operands come in their order, however they are given.
Given bound(const Function& f, const py::sequence& args, const py::dict& named) {
  const std::vector<Parameter> parameters = parameters_of(f);
  if (py::len(args) > parameters.size()) {
    throw py::type_error(cat("numpy.", f.numpy, " takes at most ", parameters.size(),
                             " arguments by position in a program, and ", py::len(args), " are given"));
  }
  for (const auto& [key, value] : named) {
    const std::string name = py::str(key);
    // NumPy 2.1 calls it `shape`, earlier ones call it as the operator does.
    const auto is_it = [&](const Parameter& p) { return p.name == name || p.attribute == name; };
    if (std::ranges::none_of(parameters, is_it)) refuse_argument(f.numpy, name);
  }
  Given out;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& p = parameters[i];
    py::object value;
    if (i < py::len(args)) value = args[i];
    for (const std::string& name : {p.name, p.attribute}) {
      if (!name.empty() && named.contains(name)) value = named[name.c_str()];
    }
    if (value) {
      take(out, f, p, value);
    } else if (p.role == Parameter::Role::kOperand) {
      throw py::type_error(cat("numpy.", f.numpy, " needs its argument `", p.name, "` in a program"));
    }
  }
  return out;
}

// NumPy's function in full: "sum", "linalg.norm".
std::string name_of(const py::object& function) {
  const std::string module = py::str(py::getattr(function, "__module__", py::str("numpy")));
  const std::string name = py::str(function.attr("__name__"));
  constexpr std::string_view kNumpy = "numpy.";
  return module.starts_with(kNumpy) ? cat(module.substr(kNumpy.size()), ".", name) : name;
}

[[noreturn]] void refuse_function(const std::string& name) {
  const op::OpDef* op = op::find(name);
  const std::string remedy =
      op ? cat("relay.ops.", op->name, " is the operator") : "relay.ops has the operators that there are";
  throw py::type_error(cat("numpy.", name, " takes no expressions: ", remedy));
}

py::object call_function(const py::object&, const py::object& function, const py::object&,
                         const py::tuple& args, const py::dict& named) {
  const std::string name = name_of(function);
  if ((name == "shape" || name == "ndim") && py::len(args) == 1 && named.empty())
    return py::object(args[0]).attr(name.c_str());
  if (name == "einsum" && py::len(args) > 1 && named.empty()) {
    const py::object operands = args[py::slice(1, static_cast<py::ssize_t>(py::len(args)), 1)];
    return py::cast(call("einsum", {operands}, {{"equation", args[0]}}));
  }
  for (const Function& f : kFunctions) {
    if (name != f.numpy) continue;
    const Given given = bound(f, args, named);
    for (const py::object& operand : given.operands) refuse_integers(name, f.op, f.of_integers, operand);
    return py::cast(f.make ? f.make(given) : call(f.op, given.operands, given.attributes));
  }
  refuse_function(name);
}

}  // namespace

void bind_numpy_protocols(py::class_<ExprHandle>& expr) {
  expr.def("__array_ufunc__", &call_ufunc);
  expr.def("__array_function__", &call_function);
  expr.def("__array__", [](const py::object&, const py::args&, const py::kwargs&) -> py::object {
    throw py::type_error(
        "an expression has no elements while the program is made, so it is no array of NumPy: relay.ops has "
        "functions that take expressions");
  });
}

}  // namespace relay::python
