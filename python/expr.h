// relay.Expr: an expression of the language, ir/expr.h.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <mutex>

#include "ir/module.h"
#include "python/places.h"
#include "python/work.h"

namespace relay::python {

namespace py = pybind11;

struct Recording;  // python/recording.h

// What expressions live in: a module's context, and who may write it.
struct Home {
  Module module;
  // Held by whoever makes expressions. Null if the GIL is enough: no other thread has the context.
  std::shared_ptr<ContextMutex> mutex = {};
  // Of programs under construction, whose expressions may have no types yet.
  std::shared_ptr<Recording> recording = {};
  std::shared_ptr<PythonFiles> files = std::make_shared<PythonFiles>();

  Context& context() const { return module.context(); }
};
using HomeRef = std::shared_ptr<Home>;

// Waits for the home's mutex, if it has one. Needs the GIL.
std::unique_lock<ContextMutex> hold(const Home& home);

struct ExprHandle {
  HomeRef home;
  Expr node;
};

// Names of the forms, as `Expr.kind` has them: "call", "let".
std::string_view name_of(ExprKind kind);
// The operands, in the order of evaluation, and what stands in scopes of its own: bodies, branches.
std::vector<ExprHandle> children(const ExprHandle& e);

}  // namespace relay::python
