// Importer: from the graphs of one model to expressions. Private to this folder.
#pragma once

#include <onnx/onnx_pb.h>

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontend/onnx/functions.h"
#include "frontend/onnx/import.h"
#include "frontend/onnx/node.h"
#include "frontend/onnx/paths.h"
#include "ir/traverse.h"

namespace relay::frontend {

// A value of which there are two, one on each way from a fork.
struct JoinedValue {
  std::string_view name;
  Operand *yes, *no;
};

class Importer {
 public:
  // Large weights take their bytes out of the model.
  Importer(std::shared_ptr<const ::onnx::ModelProto> model, const std::string& name,
           const std::string* folder, const Module& empty, const ImportOptions& options,
           Diagnostics& diagnostics);

  Result<Module> run();

  // --- For nodes.
  Builder& builder() { return builder_; }
  Context& context() { return module_.context(); }
  const ImportOptions& options() const { return options_; }
  Diagnostics& diagnostics() { return diagnostics_; }
  // The tensor of an attribute. One of a Storage is refused, but for the second form, which gives
  // its carrier.
  Tensor tensor(const ::onnx::TensorProto& proto);
  Tensor carrier(const ::onnx::TensorProto& proto);

  // The operand as an expression. One of a Storage is refused, but for the second form, which gives
  // its carrier.
  Expr materialise(Operand& operand);
  Expr carrier(Operand& operand);
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
  // The same for a branch, which may end on several ways, with its outputs at the end of each, also
  // those that failed. False if one is not defined.
  bool import_path(const ::onnx::GraphProto& graph, Path& path);
  NameScope& scope() { return *scope_; }
  Bindings& bindings() { return *bindings_; }

  // While in scope, names are looked up and defined here, and extents get their names here.
  class Inside {
   public:
    Inside(Importer& importer, NameScope& scope, Bindings& bindings)
        : importer_(importer), scope_(importer.scope_), bindings_(importer.bindings_) {
      importer.scope_ = &scope;
      importer.bindings_ = &bindings;
    }
    ~Inside() {
      importer_.scope_ = scope_;
      importer_.bindings_ = bindings_;
    }
    Inside(const Inside&) = delete;

   private:
    Importer& importer_;
    NameScope* scope_;
    Bindings* bindings_;
  };
  // While in scope, a part of the model is converted that may be converted several times.
  class Again {
   public:
    explicit Again(Importer& importer) : importer_(importer) { ++importer_.repeating_; }
    ~Again() { --importer_.repeating_; }
    Again(const Again&) = delete;

   private:
    Importer& importer_;
  };

  // The tensor with a name for each extent that only a run tells; other values are
  // returned as they are.
  Expr name_extents(Expr e, std::string_view name);
  // The same with the dims that are wanted; `?` for one that is as it is. A run compares.
  Expr match_extents(Expr e, const std::vector<Dim>& wanted, std::string_view name);
  // A shape variable that the program does not have.
  Dim new_variable(std::string_view name);

  // The values as results of an `if`; nothing if two of them have no type in common (join.cc).
  std::optional<std::vector<Operand>> join_ways(Fork& fork, const std::vector<JoinedValue>& values);
  // What follows the node that is converted has to be converted on both ways.
  void divide(std::unique_ptr<Fork> fork) { fork_ = std::move(fork); }
  static constexpr size_t kMostPaths = 64;                // through one graph at once
  static constexpr int64_t kMostRepeatedNodes = 100'000;  // that are converted while `Again` is in scope

  // While in scope, a way is imported of a node that chooses when the model runs. What is refused
  // is kept with the fork.
  class Choice {
   public:
    Choice(Importer& importer, Fork& fork)
        : importer_(importer), sink_(std::exchange(importer.sink_, &fork.refusals)) {
      importer.choices_.push_back(&fork);
    }
    ~Choice() {
      importer_.choices_.pop_back();
      importer_.sink_ = sink_;
    }
    Choice(const Choice&) = delete;

   private:
    Importer& importer_;
    Diagnostics* sink_;
  };

  // The library's types and functions of sequences (sequences.h): a call of one, with its type.
  Type library_type(std::string_view name, Type element);
  const Constructor* library_constructor(std::string_view name);
  Expr library_call(std::string_view function, std::initializer_list<Expr> args, Type type);

  // The value, of which the node demands that `holds`, a scalar, is true. A run where it is not
  // traps with the reason (demand.cc).
  Expr demand(const ::onnx::NodeProto& node, Expr holds, std::string_view reason, Expr value);

  // Counts nodes and elements that are imported again and again: bodies of functions and loops,
  // sequences. False if there are more than the limit of nodes.
  bool spend(size_t parts) { return (spent_ += parts) <= options_.nodes; }

  // Counts steps of recurrent layers; false if there are more than are written out.
  bool unroll(int64_t steps) { return (unrolled_steps_ += steps) <= options_.all_unrolled_steps; }

  // The numbers of the steps of the loops around the node that is converted, int64 scalars,
  // outermost first: random numbers differ from step to step.
  std::vector<Expr>& steps() { return steps_; }
  // Numbers what is drawn, from 1 on.
  uint64_t next_draw() { return ++draws_; }
  // True for the first node that draws without a seed.
  bool is_first_without_seed() { return !std::exchange(lacks_seed_, true); }

  // Does any node or output of the model use a value of this name? Looks at all of them.
  bool uses(const std::string& name) const;
  // The node as a call of one of the model's functions (functions.h); null if it is none.
  const ModelFunction* function_of(const ::onnx::NodeProto& node) const { return functions_.find(node); }
  // Imports the body of the function with these inputs: its outputs. Nothing if a node of
  // it was refused.
  std::optional<std::vector<Operand>> import_call(const ModelFunction& function, Node& node);

  // Where a node stands in the listing.
  Span span_of(const ::onnx::NodeProto& node) const;

 private:
  friend class GraphWalk;

  bool check_versions();
  bool check_opsets(const Opsets& opsets, std::string_view whose);
  class Listing;
  class Inputs;
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
  std::optional<std::vector<Operand>> results_of(Node& node, const Row& row);
  void use_library();
  Module without_unused(const Module& imported) const;  // without functions that @main does not reach
  // Refuses the model, whichever way is taken.
  void report(const ::onnx::NodeProto& proto, const Refusal& refusal) {
    describe(proto, refusal, diagnostics_);
  }
  // Refuses the node on this way. Returns the number of the refusal; 0 if the model is refused.
  uint32_t refuse(const ::onnx::NodeProto& proto, const Refusal& refusal);
  Diagnostic& describe(const ::onnx::NodeProto& proto, const Refusal& refusal, Diagnostics& sink);
  // What a user who knows the inputs can do to have a condition decided now.
  std::string remedy_of(const Operand& condition);
  // The refusals that keep the node from being converted; 0 if there are none.
  uint32_t refusal_behind(const ::onnx::NodeProto& proto, size_t before);
  std::optional<std::vector<Operand>> join_values(Fork& fork, const std::vector<JoinedValue>& values,
                                                  uint32_t yes_refused, uint32_t no_refused);
  Expr trap(uint32_t refusal, Type type);     // fails when it is evaluated
  void warn_of(const Diagnostics& refusals);  // of ways that need not be taken
  void publish(const Path& path);             // the refusals of ways that do not meet
  void report_apart(const Fork& fork);
  bool is_only_output(const std::string& name) const;

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
  std::set<std::string> read_names_;  // by the nodes of the model's graphs
  NameScope* scope_ = nullptr;
  Bindings top_;
  Bindings* bindings_ = &top_;
  std::unique_ptr<Fork> fork_;  // set by a node after which the graph divides
  int repeating_ = 0;
  int64_t repeated_nodes_ = 0;
  bool exhausted_ = false;  // too many nodes or paths: nothing more is converted

  // Shape variables: what a name of an axis became, and the parameter that has it as an extent.
  std::map<std::string, Dim> axes_;
  std::set<std::string> variables_;
  std::map<std::string, int> next_variable_;  // the number to try next, of a name that is taken
  struct Place {
    const Var* param;
    int64_t axis;
  };
  std::unordered_map<const kernel::ExprNode*, Place> places_;

  std::deque<::onnx::ValueInfoProto> element_inputs_;  // of sequences: a tensor each

  std::set<const Var*> switches_;  // inputs of one element, which may decide what a model does
  std::vector<const Fork*> choices_;
  Diagnostics* sink_;                                  // of refusals on the way that is converted
  std::vector<std::string> refused_;                   // their messages, by number, from 1 on
  std::set<std::pair<uint32_t, std::string>> warned_;  // places and messages

  NodeMap<relay::Value> evaluated_;  // null: cannot be evaluated
  NodeMap<bool> tried_;
  int64_t unrolled_steps_ = 0;
  int64_t evaluation_budget_ = int64_t{1} << 28;  // additions, or so

  std::shared_ptr<const ::onnx::ModelProto> owner_;  // of model_

  std::vector<Expr> steps_;
  uint64_t draws_ = 0;
  bool lacks_seed_ = false;
};

// "a sequence", "a map": what is not a tensor, for messages.
std::string kind_of(const ::onnx::TypeProto& type);

// Which results of a node are known without evaluating it: shape arithmetic over dims. Nothing if
// the operator is not of that kind, or what it needs is not known.
std::optional<std::vector<IndexTensor>> evaluate_index(Node& node);

// `If`, `Loop` and `Scan`.
std::optional<std::vector<Operand>> convert_control_flow(Node& node);
bool is_control_flow(std::string_view name);

}  // namespace relay::frontend
