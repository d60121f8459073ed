// Calls of a model's functions: the body is imported in the place of the call.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"

namespace relay::frontend {
namespace {

// Graphs and bodies around a call. Exporters write modules as functions, a dozen deep; each takes
// some stack of the importer.
constexpr size_t kDeepest = 128;

}  // namespace

std::string place_of(const FunctionCall& call) {
  std::string out = cat("it is in the model's function `", show_name(*call.function->proto), "`");
  const FunctionCall* first = &call;
  while (first->outer) first = first->outer;
  if (!first->node->name().empty())
    out += cat(", which the node `", printable(first->node->name()), "` calls",
               first == &call ? "" : cat(" through `", show_name(*first->function->proto), "`"));
  return out;
}

std::optional<std::vector<Operand>> Importer::import_call(const ModelFunction& function, Node& node) {
  const ::onnx::FunctionProto& f = *function.proto;
  const ::onnx::NodeProto& proto = node.proto();
  const auto formals = static_cast<size_t>(f.input_size());
  if (node.inputs() > formals)
    node.invalid(cat("the model's function of this name takes ", formals, " inputs and not ", node.inputs()));
  if (node.outputs() > static_cast<size_t>(f.output_size()))
    node.invalid(cat("the model's function of this name gives ", f.output_size(), " outputs and not ",
                     node.outputs()));
  if (nesting_ > kDeepest) {
    throw Refusal{"limit-graph-depth", cat("it is called within more than ", kDeepest, " others"),
                  "write out some of the model's functions where they are called"};
  }
  // Functions that call another one twice, which does the same, have exponentially many nodes.
  if (!spend(static_cast<size_t>(f.node_size()) + 1)) {
    if (std::exchange(too_many_calls_, true)) return std::nullopt;  // said once
    throw too_many("the bodies of the model's functions, one for each call, have more nodes", options_.nodes);
  }

  NameScope scope;
  for (size_t i = 0; i < formals; ++i) {
    Operand value;
    value.absent = !node.has(i);
    if (node.has(i)) value = node.operand(i);
    if (!scope.names.emplace(f.input(static_cast<int>(i)), std::move(value)).second)
      node.invalid(cat("two inputs of the model's function are called `",
                       printable(f.input(static_cast<int>(i))), "`"));
  }
  const FunctionCall call{&function, &proto, call_};
  struct Entered {
    Importer& importer;
    const FunctionCall* call;
    const Opsets* opsets;
    ~Entered() {
      importer.call_ = call;
      importer.opsets_ = opsets;
    }
  };
  const Entered entered{*this, std::exchange(call_, &call), std::exchange(opsets_, &function.opsets)};
  std::optional<std::vector<Operand>> out = import_graph(function.body, scope);
  if (out) out->resize(std::min(out->size(), node.outputs()));
  return out;
}

}  // namespace relay::frontend
