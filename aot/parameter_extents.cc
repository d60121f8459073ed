#include "aot/parameter_extents.h"

#include <unordered_set>

#include "base/cat.h"
#include "base/check.h"
#include "base/escape.h"
#include "base/failure.h"
#include "kernel/execute.h"

namespace relay::aot {
namespace {

// An extent of a parameter, as C++, and the dim that its type has there.
struct Place {
  std::string extent;
  const TensorType* type;
  size_t dim;
  Dim asked() const { return type->dims[dim]; }
};

void add_places(Type type, const std::string& value, std::vector<Place>& out) {
  if (const auto* tuple = type->as<TupleType>()) {
    for (uint32_t i = 0; i < tuple->fields.size(); ++i)
      add_places(tuple->fields[i], cat("field(", value, ", ", i, ")"), out);
  } else if (const auto* t = type->as<TensorType>()) {
    for (size_t d = 0; d < t->rank(); ++d) out.push_back({cat("extent(", value, ", ", d, ")"), t, d});
  }
}

void trap_if(FunctionText& text, const std::string& condition, const Place& p) {
  text.line(cat("if (", condition, ") return run.trap(",
                c_string(cat(kWrongShape, "an argument of a function is not ", show(p.type), ": dimension ",
                             p.dim, " is not ", show(p.asked()))),
                ");"));
}

std::string bind_variable(FunctionText& text, Extents& extents, kernel::Expr v, const std::string& value) {
  const std::string n = extents[v.get()] = cat("n", extents.size());
  text.line(cat("[[maybe_unused]] const int64_t ", n, " = ", value, ";"));
  return n;
}

}  // namespace

void bind_extents(FunctionText& text, const Fn& fn, Extents& extents) {
  std::vector<Place> places;
  for (const Var* p : fn.params) {
    const std::string* name = text.name(p);
    CHECK(name != nullptr, cat("parameter %", p->name.text(), " has no name"));
    add_places(p->type, *name, places);
  }
  std::vector<const Place*> others, checked;
  for (const Place& p : places) {
    const Dim dim = p.asked();
    if (dim.is_symbolic() && dim.symbolic()->kind == kernel::ExprKind::kVar &&
        !extents.contains(dim.symbolic().get())) {
      bind_variable(text, extents, dim.symbolic(), p.extent);
      continue;
    }
    if (dim.is_symbolic()) others.push_back(&p);
    if (!dim.is_unknown()) checked.push_back(&p);
  }
  std::vector<kernel::Expr> asked;
  for (const Place* p : others) asked.push_back(p->asked().symbolic());
  std::unordered_set<const kernel::ExprNode*> known;
  for (const auto& [variable, name] : extents) known.insert(variable);
  for (const kernel::ExtentRule& rule : kernel::extent_rules(asked, known)) {
    const Place& p = *others[rule.extent];
    const std::string rest = print_extent(Dim(rule.rest), extents);
    const std::string n = bind_variable(
        text, extents, rule.variable, cat("difference_of(", p.extent, ", ", rest, ") / ", rule.coefficient));
    trap_if(text, cat(n, " < 0"), p);
  }
  for (const Place* p : checked) {
    const auto is_known = [&](kernel::Expr v) { return extents.contains(v.get()); };
    if (p->asked().is_symbolic() && !is_printable(p->asked().symbolic(), is_known)) continue;
    trap_if(text, cat(p->extent, " != ", print_extent(p->asked(), extents)), *p);
  }
}

}  // namespace relay::aot
