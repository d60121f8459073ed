// A program under construction: the scopes that are open while functions of Python run.
//
// Operators are nodes of a graph, evaluated where their values are needed. Calls of functions, and
// what makes, reads or writes a reference, happen in the order of the Python program: each is bound
// by a `let` in the scope that is open.
#pragma once

#include <pybind11/pybind11.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ir/traverse.h"
#include "python/make.h"

namespace relay::python {

// A `let`, or a `match_shape`, by the variable that it binds.
struct Binding {
  const Var* x;
  Expr value;
  bool matches_shape = false;
};
Expr with_binding(Builder& b, const Binding& binding, Expr body);

// The program so far, around an expression of a scope: what the checker needs to give it a type.
using Around = std::function<Expr(Builder& b, Expr inside)>;

struct Scope {
  std::vector<Binding> bindings = {};
  Around around = {};                      // null: the scope is entered without binding anything
  std::vector<const Var*> functions = {};  // local functions whose bodies have not run yet
};

// A function whose body is a function of Python, which runs when it is first needed.
struct LateFunction {
  std::string name;
  py::function body;
  std::vector<const Var*> params;
  Type result = nullptr;
  Span span = {};
  size_t depth = 0;  // of a local function: how many scopes are around it
  std::vector<const TypeVar*> type_params = {};
  std::vector<Type> where = {};  // each a RelationType
  Attrs attrs = {};
};

// What a decorator says of a function.
struct FunctionSpec {
  py::sequence types;  // of the parameters, or of none
  py::object result = py::none();
  std::optional<std::string> name = {};
  std::vector<std::string> type_parameters = {}, where = {};
  py::dict attributes = {};
};
// Of the arguments of a decorator. A text is a list of one. Raises TypeError.
FunctionSpec function_spec(const py::sequence& types, const py::object& result,
                           const std::optional<std::string>& name, const py::object& type_parameters,
                           const py::object& where, const py::object& attributes);

struct Recording {
  std::vector<Scope> scopes = {};  // of the function whose body runs, innermost last
  NodeMap<Type> types = {};        // that the checker has found
  std::map<const Var*, LateFunction> local = {};
  std::vector<LateFunction> global = {};  // in the order of their definitions
  size_t made = 0;                        // how many of `global` have run
};

// Runs `body` in a scope of its own and returns its value with what the scope has bound.
// `has_effects` says whether it has bound anything.
Expr in_scope(const HomeRef& home, Around around, const std::function<Expr()>& body,
              bool* has_effects = nullptr);

// Binds the value in the innermost scope and returns the variable; the value itself if no function
// is being made.
Expr bound(const HomeRef& home, Builder& b, Expr value, std::string_view name);

// Calls `body` with the parameters as expressions and gives the function. `self`: the variable that
// it is called by, of a local function.
const Fn* run_body(const HomeRef& home, const LateFunction& f, const Var* self);
// The local function that the variable stands for, if any, is bound: its body runs now, if it has
// not yet.
void settle(const HomeRef& home, const Var* x);

// A function that only calls itself: what the checker takes for one whose body is not made yet.
const Fn* stand_in(Builder& b, const LateFunction& f);

// The module with the functions that these expressions mention, and these
// themselves, but no others.
Module with_mentioned(const Module& module, std::vector<Expr> roots);

// Of a Python function. Parameters that have a default keep it, and are none of the program's.
std::string name_of(py::handle f);
std::vector<std::string> parameter_names(py::handle f);

// A function with the parameters of the body. Raises TypeError if the spec has types of more or
// fewer, and DiagnosticError for a wrong text.
LateFunction late_function(const HomeRef& home, const py::function& body, const FunctionSpec& spec);
// Null if it does not say everything.
Type declared_type(Context& context, const LateFunction& f);

// A Python function as a value: its parameters have the types of `wanted`, if that is a function's.
Expr fn_of(const HomeRef& home, const py::function& f, Type wanted);

}  // namespace relay::python
