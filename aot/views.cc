#include "aot/views.h"

#include "base/cat.h"
#include "base/escape.h"
#include "base/failure.h"
#include "op/registry.h"

namespace relay::aot {

void compare_extents(FunctionText& text, const std::vector<DoubtedExtent>& doubted,
                     const std::vector<std::string>& operands, const Extents& extents) {
  for (const DoubtedExtent& d : doubted) {
    const auto is_known = [&](kernel::Expr v) { return extents.contains(v.get()); };
    if (d.dim.is_symbolic() && !is_printable(d.dim.symbolic(), is_known)) continue;
    text.line(cat("if (extent(", operands[d.arg], ", ", d.axis, ") != ", print_extent(d.dim, extents),
                  ") return run.trap(",
                  c_string(cat(kWrongShape, "dimension ", d.axis, " of a value is not ", show(d.dim),
                               ", as its type says")),
                  ");"));
  }
}

std::string print_view(FunctionText& text, Arenas& arenas, const KernelCalls& calls, Extents& extents,
                       const op::OpDef& def, const View& view, const std::vector<std::string>& operands) {
  const std::string& x = operands[0];
  // The view waits for elements of deferred calls, and extents that it opens are asked for later.
  if (calls.any_deferred()) arenas.keep(x);
  for (const View::Opened& o : view.opened) {
    arenas.keep(operands[o.arg]);
    extents[o.variable.get()] = cat("extent(", operands[o.arg], ", ", o.axis, ")");
  }
  for (const op::DimCheck& check : view.checks) {
    const std::string a = print_extent(check.a, extents), b = print_extent(check.b, extents);
    const std::string one = cat(op::one_fits_first(check) ? cat(" && ", a, " != 1") : "",
                                op::one_fits_second(check) ? cat(" && ", b, " != 1") : "");
    text.line(cat("if (", a, " != ", b, one, ") return run.trap(",
                  c_string(cat(kWrongShape, "`", def.name, "`: ", show(check.a), " and ", show(check.b), " ",
                               op::what_is_wrong(check))),
                  ");"));
  }
  std::vector<std::string> dims;
  for (Dim d : view.dims) dims.push_back(print_extent(d, extents));
  const std::string v = cat("v_", text.number());
  const std::string keeper = arenas.is_borrowed(x) ? "" : cat(", Value(", x, ")");
  text.add(calls.any_deferred() ? print_tensor(text.indent(), v, dims, cat("view_of(run, ", x, ", "), ")")
                                : print_tensor(text.indent(), v, dims, cat("make_view(run, ", x, "->data, "),
                                               cat(keeper, ")")));
  arenas.show(v, x);
  return v;
}

}  // namespace relay::aot
