// Importer: from the graphs of one model to expressions. Private to this folder.
#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/onnx/functions.h"
#include "frontend/onnx/import.h"
#include "frontend/onnx/node.h"
#include "ir/traverse.h"

namespace relay::frontend {

// The names that one graph defines; a graph within a node sees those of the graphs around it.
struct NameScope {
  std::unordered_map<std::string, Operand> names = {};
  NameScope* outer = nullptr;

  Operand* find(const std::string& name) {
    for (NameScope* s = this; s; s = s->outer) {
      if (const auto it = s->names.find(name); it != s->names.end()) return &it->second;
    }
    return nullptr;
  }
};

class Importer {
 public:
  Importer(const ::onnx::ModelProto& model, const std::string& name, const std::string* folder,
           const Module& empty, const ImportOptions& options, Diagnostics& diagnostics);

  Result<Module> run();

  // --- For nodes.
  Builder& builder() { return builder_; }
  Context& context() { return module_.context(); }
  const ImportOptions& options() const { return options_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  // The tensor of an attribute.
  Tensor tensor(const ::onnx::TensorProto& proto);

  // The operand as an expression.
  Expr materialise(Operand& operand);
  // A dim as an expression: a scalar of int64.
  Expr materialise(Dim dim);
  // What the operand is, if it depends on constants only and is small enough to be
  // worth evaluating.
  std::optional<Tensor> known(const Operand& operand);
  // What is known of the elements of a small tensor.
  std::optional<IndexTensor> index(Operand& operand);
  Operand constant(Tensor value);
  Operand operand(IndexTensor index);

  // Converts a graph in a scope that holds its inputs already: its outputs. Nothing if a node
  // of it was refused.
  std::optional<std::vector<Operand>> import_graph(const ::onnx::GraphProto& graph, NameScope& scope);
  // The same for a graph within a node, with its initialisers.
  std::optional<std::vector<Operand>> import_subgraph(const ::onnx::GraphProto& graph, NameScope& scope);
  NameScope& scope() { return *scope_; }

  // While in scope, a branch is imported of a node that chooses when the model runs.
  class Choice {
   public:
    Choice(Importer& importer, const ::onnx::NodeProto& node, Operand& condition);
    ~Choice() { importer_.choices_.pop_back(); }
    Choice(const Choice&) = delete;

    // What a user who knows the inputs can do to have it decided now.
    std::string remedy() const;
    const ::onnx::NodeProto& node() const { return node_; }

   private:
    Importer& importer_;
    const ::onnx::NodeProto& node_;
    Operand& condition_;
  };

  // The library's types and functions of sequences (sequences.h): a call of one, with its type.
  Type library_type(std::string_view name, Type element);
  const Constructor* library_constructor(std::string_view name);
  Expr library_call(std::string_view function, std::initializer_list<Expr> args, Type type);

  // Counts nodes and elements that are imported again and again: bodies of functions and loops,
  // sequences. False if there are more than the limit of nodes.
  bool spend(size_t parts) { return (spent_ += parts) <= options_.nodes; }

  // Counts steps of recurrent layers; false if there are more than the limit.
  bool unroll(int64_t steps) { return (unrolled_steps_ += steps) <= options_.all_unrolled_steps; }

  // The node as a call of one of the model's functions (functions.h); null if it is none.
  const ModelFunction* function_of(const ::onnx::NodeProto& node) const { return functions_.find(node); }
  // Imports the body of the function with these inputs: its outputs. Nothing if a node of
  // it was refused.
  std::optional<std::vector<Operand>> import_call(const ModelFunction& function, Node& node);

  // Where a node stands in the listing.
  Span span_of(const ::onnx::NodeProto& node) const;

 private:
  bool check_versions();
  bool check_opsets(const Opsets& opsets, std::string_view whose);
  bool list_nodes();  // the listing, the spans, the limits; every operator that cannot be imported at all
  void name_file(const ::onnx::TensorProto& proto) const;
  bool read_initialisers(const ::onnx::GraphProto& graph, NameScope& scope);
  bool declare_inputs(std::vector<const Var*>& params);
  std::optional<std::vector<Dim>> input_dims(const ::onnx::ValueInfoProto& input);
  // Of inputs and outputs that are no tensors (composite_inputs.cc). How many elements of one of
  // that name the options give; nothing if a run may choose.
  std::optional<size_t> given_elements(const std::string& name) const;
  bool expand_input(const std::string& name, const ::onnx::TypeProto& type,
                    std::vector<const ::onnx::ValueInfoProto*>& out);
  Operand gathered_input(const std::string& name, const ::onnx::TypeProto& type);
  bool declare_list(const ::onnx::ValueInfoProto& input, std::vector<const Var*>& params);
  void name_outputs(const std::string& name, Operand& operand, std::vector<Expr>& results,
                    std::vector<std::string>& names);
  void convert(const ::onnx::NodeProto& proto);
  void convert_resolved(const ::onnx::NodeProto& proto);
  void import_nodes(const google::protobuf::RepeatedPtrField<::onnx::NodeProto>& nodes, NameScope& scope);
  std::optional<std::vector<Operand>> results_of(Node& node, const Row& row);
  void use_library();
  Module without_unused(const Module& imported) const;  // without functions that @main does not reach
  void report(const ::onnx::NodeProto& proto, const Refusal& refusal);

  const ::onnx::ModelProto& model_;
  std::string name_;
  const std::string* folder_;
  Module empty_, module_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
  Builder builder_;
  Opsets model_opsets_;
  const Opsets* opsets_ = &model_opsets_;  // those of the function while its body is imported
  ModelFunctions functions_;
  const FunctionCall* call_ = nullptr;  // the innermost one
  size_t nesting_ = 0;                  // graphs and bodies of functions around the node
  size_t spent_ = 0;
  bool uses_options_ = false;    // of the library's types, not only `List`
  bool too_many_calls_ = false;  // it was reported
  std::unordered_map<const ::onnx::NodeProto*, Span> spans_;
  NameScope* scope_ = nullptr;

  // Shape variables: what a name of an axis became, and the parameter that has it as an extent.
  std::map<std::string, Dim> axes_;
  std::set<std::string> variables_;
  struct Place {
    const Var* param;
    int64_t axis;
  };
  std::unordered_map<const kernel::ExprNode*, Place> places_;

  std::deque<::onnx::ValueInfoProto> element_inputs_;  // of sequences: a tensor each

  std::set<const Var*> switches_;  // inputs of one element, which may decide what a model does
  std::vector<const Choice*> choices_;

  NodeMap<relay::Value> evaluated_;  // null: cannot be evaluated
  NodeMap<bool> tried_;
  int64_t unrolled_steps_ = 0;
  int64_t evaluation_budget_ = int64_t{1} << 28;  // additions, or so
};

// "a sequence", "a map": what is not a tensor, for messages.
std::string kind_of(const ::onnx::TypeProto& type);

// Which results of a node are known without evaluating it: shape arithmetic over dims. Nothing if
// the operator is not of that kind, or what it needs is not known.
std::optional<std::vector<IndexTensor>> evaluate_index(Node& node);

// `If` and `Loop`.
std::optional<std::vector<Operand>> convert_control_flow(Node& node);
bool is_control_flow(std::string_view name);

}  // namespace relay::frontend
