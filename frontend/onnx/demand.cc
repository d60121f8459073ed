// What a node demands of values that only a run tells, with a message that says what the model's
// author wrote: an operator that happened to trap would name itself.
#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"
#include "kernel/builder.h"

namespace relay::frontend {

// A kernel gives back the bool that it is given, and fails if that is false.
Expr Importer::demand(const ::onnx::NodeProto& node, Expr holds, std::string_view reason, Expr value) {
  const std::string name = cat("demand_", module_.kernels().size());
  const std::string of_node = node.name().empty() ? "" : cat(" (node `", printable(node.name()), "`)");
  kernel::Builder k(context().pool());
  const kernel::Tensor given = k.input("holds", kBool, {});
  const kernel::Tensor checked = k.compute("checked", kBool, {}, [&](kernel::Indices) {
    k.require(given(), cat("`", printable(node.op_type()), "`", of_node, ": ", reason));
    return given();
  });
  module_.set_kernel(name, context().arena().make<kernel::Kernel>(k.finish(name, "", {checked})));
  const Type truth = context().scalar_type(kBool);
  const Type function = context().fn_type({}, std::vector<Type>{truth}, truth);
  const Expr call = builder_.call(builder_.global(name, function), {holds}, {}, truth);
  return builder_.let(builder_.var("demanded", truth), call, value);
}

}  // namespace relay::frontend
