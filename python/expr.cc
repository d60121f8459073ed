#include "python/expr.h"

#include <pybind11/stl.h>

#include "base/cat.h"
#include "ir/fields.h"
#include "ir/text/printer.h"
#include "op/operators.h"
#include "op/registry.h"
#include "python/bindings.h"
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
  return cat("<relay.Expr ", name_of(e.node->kind), e.node->type ? cat(": ", show(e.node->type, 200)) : "", ">");
}

}  // namespace

std::unique_lock<std::timed_mutex> hold(const Home& home) {
  return home.mutex ? lock_interruptibly(*home.mutex) : std::unique_lock<std::timed_mutex>();
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

void bind_expr(py::module_& m) {
  py::class_<ExprHandle>(m, "Expr", "An expression of the language.")
      .def_property_readonly("kind", [](const ExprHandle& e) { return name_of(e.node->kind); })
      .def_property_readonly(
          "id", [](const ExprHandle& e) { return e.node->id; },
          "the same for handles on one expression, and different for others of its module")
      .def_property_readonly(
          "span", [](const ExprHandle& e) { return place_of(e.node->span, e.home->context().sources()); },
          "where it was written; None if the compiler made it")
      .def_property_readonly(
          "type",
          [](const ExprHandle& e) -> std::optional<TypeHandle> {
            const auto lock = hold(*e.home);
            return e.node->type ? std::optional(own_type(e.node->type)) : std::nullopt;
          })
      .def_property_readonly("children", &children, "in the order of evaluation")
      .def("__str__", &text_of)
      .def("__repr__", &described);
}

}  // namespace relay::python
