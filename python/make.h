// How expressions are made from Python: operands, literals and types.
#pragma once

#include <pybind11/pybind11.h>

#include <string>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "op/op_def.h"
#include "python/expr.h"

namespace relay::python {

// relay.Constructor: of a data type of a program under construction.
struct ConstructorHandle {
  HomeRef home;
  const Constructor* ctor;
};

// While it lives, values are one level deeper: lists of Python may contain themselves. Raises
// RecursionError where Python's own limit is.
class Nesting {
 public:
  Nesting() {
    if (Py_EnterRecursiveCall(" in a value for a program")) throw py::error_already_set();
  }
  ~Nesting() { Py_LeaveRecursiveCall(); }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
};

// The program whose function runs now, on this thread; null if none does.
const HomeRef& current_home();
// While it lives, `home` is the current one.
class CurrentHome {
 public:
  explicit CurrentHome(HomeRef home);
  ~CurrentHome();
  CurrentHome(const CurrentHome&) = delete;
  CurrentHome& operator=(const CurrentHome&) = delete;

 private:
  HomeRef before_;
};

// Where an expression with these operands is made: where they live, else the current home. Looks
// into tuples and lists. Raises TypeError for operands of two homes, or if there is no home.
HomeRef home_of(const std::vector<py::object>& operands);

// A scalar of float64 of NumPy's, which is a float of Python, too.
bool is_float64(py::handle value);

// Makes an expression with the caller's place. `f` takes a Builder.
template <class F>
ExprHandle make(const HomeRef& home, F&& f) {
  const auto lock = hold(*home);
  Builder b(home->context());
  b.set_span(home->files->caller(home->context().sources()));
  return {home, f(b)};
}

// The value as an expression: one already; a number, of the dtype that `wanted` has if it is a
// tensor's type, else int32, float32 or bool; an array, whose elements are copied; a tuple or a
// list of values; a constructor; a Python function, which becomes a function of the program. `what`
// names it in messages. Raises TypeError or ValueError.
Expr expr_of(const HomeRef& home, py::handle value, Type wanted, const std::string& what);
bool is_number(py::handle value);  // of Python: it has no dtype of its own
// The name of the value's class, for messages.
std::string class_name(py::handle value);

// The type, if it is known without the checker: null otherwise.
Type known_type(const Home& home, Expr e);
// The type, by the checker if need be. Null if it is not determined yet. Raises DiagnosticError if
// something is wrong.
Type find_type(const HomeRef& home, Expr e);

// The operator of this name, which there has to be.
const op::OpDef& operator_called(const char* name);

// A call of the operator, typed at once if the arguments are. Raises TypeError or DiagnosticError.
ExprHandle apply(const op::OpDef& op, const std::vector<py::object>& args,
                 const std::vector<std::pair<std::string, py::object>>& attrs);

}  // namespace relay::python
