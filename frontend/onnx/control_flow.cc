// If: graphs within nodes, of which the condition takes one.
//
// A graph within a node sees the names around it, as the body of a function does; so
// its expressions simply use those of the graph around it.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/loops.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/sequences.h"
#include "ir/analysis.h"

namespace relay::frontend {
namespace {

bool import_branch(Node& n, std::string_view name, Path& path) {
  const ::onnx::GraphProto& graph = n.graph(name);
  if (graph.input_size() > 0) n.invalid(cat("its ", name, " has inputs"));
  return n.importer().import_path(graph, path);
}

// What a branch gives becomes, in this order, what the node gives.
void require_outputs(Node& n, std::string_view branch) {
  n.require(static_cast<size_t>(n.graph(branch).output_size()) == n.outputs(),
            "its branches and its outputs differ in number");
}

// Inputs by name, the first of them.
std::string names_of(const std::vector<const Var*>& inputs) {
  constexpr size_t kMostNames = 3;
  const std::span first(inputs.data(), std::min(inputs.size(), kMostNames));
  return cat(join(first, ", ", [](const Var* v) { return cat("`", printable(v->name.text()), "`"); }),
             inputs.size() > kMostNames ? ", ..." : "");
}

// On this way the condition is known: what asks for it again takes the same branch.
void assume(Importer& importer, const std::string& condition, bool value, Path& path) {
  path.scope->names.insert_or_assign(condition, importer.constant(Tensor::scalar_int(kBool, value ? 1 : 0)));
}

// The outputs of the branches become those of the node, on each way that leads out of it.
void name_outputs(const ::onnx::NodeProto& node, NameScope& outer, Path& path) {
  path.own_scope = {{}, &outer};
  path.scope = &path.own_scope;
  if (path.fork) {
    path.fork->apart = {node.output().begin(), node.output().end()};
    name_outputs(node, *path.scope, path.fork->yes);
    name_outputs(node, *path.scope, path.fork->no);
    return;
  }
  for (size_t i = 0; i < path.outputs.size(); ++i)
    path.scope->names.insert_or_assign(node.output(static_cast<int>(i)), std::move(path.outputs[i]));
  path.outputs.clear();
}

std::optional<std::vector<Operand>> take_branch(Node& n, bool condition) {
  Importer& importer = n.importer();
  Path path(importer.scope());
  path.bindings = &importer.bindings();
  const std::string_view branch = condition ? "then_branch" : "else_branch";
  require_outputs(n, branch);
  if (!import_branch(n, branch, path)) return std::nullopt;
  if (!path.fork) return std::move(path.outputs);
  // Its ways outlive the path, so they lie within the names around the node.
  Fork& fork = *path.fork;
  fork.apart = {n.proto().output().begin(), n.proto().output().end()};
  for (Path* way : {&fork.yes, &fork.no}) name_outputs(n.proto(), importer.scope(), *way);
  importer.divide(std::move(path.fork));
  return std::nullopt;
}

std::optional<std::vector<Operand>> convert_if(Node& n) {
  Importer& importer = n.importer();
  if (const std::optional<Tensor> condition = n.known(0)) {
    n.require(condition->size() == 1 && condition->dtype().is_bool(), "its condition must be one bool");
    return take_branch(n, condition->get_int(0) != 0);
  }
  if (const std::optional<IndexTensor> condition = n.index(0);
      condition && condition->constant() && condition->elements.size() == 1) {
    return take_branch(n, condition->elements[0] != Dim(0));
  }
  for (const std::string_view branch : {"then_branch", "else_branch"}) require_outputs(n, branch);
  Expr condition = n.input(0);
  n.require(type_of(condition).dtype.is_bool(), "its condition must be one bool");
  if (type_of(condition).rank() > 0) condition = n.reshape(condition, {});
  auto fork = std::make_unique<Fork>(n.proto(), n.operand(0), condition, importer.scope());
  const auto assume_both = [&] {
    assume(importer, n.proto().input(0), true, fork->yes);
    assume(importer, n.proto().input(0), false, fork->no);
  };
  assume_both();
  {
    const Importer::Choice choice(importer, *fork);
    const bool yes = import_branch(n, "then_branch", fork->yes),
               no = import_branch(n, "else_branch", fork->no);
    if (!yes || !no) return std::nullopt;
  }
  if (!fork->yes.fork && !fork->no.fork) {
    std::vector<JoinedValue> values;
    for (size_t i = 0; i < n.outputs(); ++i)
      values.push_back({n.proto().output(static_cast<int>(i)), &fork->yes.outputs[i], &fork->no.outputs[i]});
    if (std::optional<std::vector<Operand>> joined = importer.join_ways(*fork, values)) return joined;
  }
  fork->apart = {n.proto().output().begin(), n.proto().output().end()};
  name_outputs(n.proto(), importer.scope(), fork->yes);
  name_outputs(n.proto(), importer.scope(), fork->no);
  assume_both();
  importer.divide(std::move(fork));
  return std::nullopt;
}

}  // namespace

std::string Importer::remedy_of(const Operand& condition) {
  if (condition.index) return "shapes say which branch is taken: fix dynamic axes with --input-shapes";
  std::vector<const Var*> inputs = free_vars(condition.expr);
  std::erase_if(inputs, [&](const Var* v) { return !switches_.contains(v); });
  if (inputs.empty()) return {};
  return cat(inputs.size() == 1 ? "input " : "inputs ", names_of(inputs),
             inputs.size() == 1 ? " says" : " say",
             " which branch is taken; what is always the same may be fixed with --fix-input NAME=VALUE");
}

bool is_control_flow(std::string_view name) { return name == "If" || name == "Loop" || name == "Scan"; }

std::optional<std::vector<Operand>> convert_control_flow(Node& n) {
  const std::string& name = n.proto().op_type();
  if (name == "If") return convert_if(n);
  if (name == "Scan") return convert_scan(n);
  for (size_t i = 2; i < n.inputs(); ++i) {
    if (n.has(i) && is_composite(n.operand(i))) return convert_loop_of_composites(n);
  }
  return convert_loop(n);
}

}  // namespace relay::frontend
