#include "op/grad.h"

#include "base/cat.h"
#include "ir/type_parts.h"
#include "op/define.h"

namespace relay::op {
namespace {

// Tuples in the types of parameters and results, however nested, are of tensors.
Type relate(Relation& r, const NoAttrs&) {
  const auto* fn = r.type(0)->as<FnType>();
  if (!fn) r.fail(0, "expected a function", Slug("not-a-function"));
  if (!fn->type_params.empty())
    r.fail(0, "expected a function of known types; `fn (%x: TYPE) { @f(%x) }` makes one of a generic `@f`");
  for (size_t i = 0; i < fn->args.size(); ++i) {
    if (!is_of_tensors(fn->args[i]))
      r.fail(0, cat("parameter ", i, " of the function is no tensor and no tuple of tensors"));
  }
  if (!is_of_tensors(fn->result))
    r.fail(0, "the result of the function is no tensor and no tuple of tensors");
  const std::vector<Type> adjoints(fn->args.begin(), fn->args.end());
  const Type both = r.tuple_of({fn->result, r.tuple_of(adjoints)});
  return r.context().fn_type({}, adjoints, both);
}

}  // namespace

const OpDef& grad() {
  static const OpDef kGrad = define<NoAttrs>({
      .name = "grad",
      .doc = "The function that gives a function's value and its gradients.",
      .params = {{"function", "of tensors and tuples of them"}},
      .not_differentiable = "the pass `expand-grad` replaces it before",
      .relate = relate,
  });
  return kGrad;
}

}  // namespace relay::op
