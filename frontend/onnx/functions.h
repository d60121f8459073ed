// Model-local functions: the bodies that a model brings for operators of its own.
//
// A call is imported as the body's nodes, in a scope of its own, with the operator sets that the
// function imports. Each body is copied once, whatever calls it; a call copies only nodes that
// refer to its attributes.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"

namespace relay::frontend {

// Operator sets by domain: the highest version of each that a model or a function imports. ONNX's
// own domain is "".
using Opsets = std::map<std::string, int64_t>;
Opsets opsets_of(const google::protobuf::RepeatedPtrField<::onnx::OperatorSetIdProto>& imports);
// Returns the version for the node's domain; 0 if it is not among them.
int64_t opset_in(const Opsets& opsets, const ::onnx::NodeProto& node);

struct ModelFunction {
  const ::onnx::FunctionProto* proto;
  ::onnx::GraphProto body = {};                       // its nodes and outputs, as those of a graph
  Opsets opsets = {};                                 // its own, and the model's for its other nodes
  std::vector<::onnx::AttributeProto> defaults = {};  // of attributes that a call may leave out
};

class ModelFunctions {
 public:
  // Reports functions without a name, two of one name, and functions that call themselves.
  // Returns false if there was anything to report.
  bool read(const ::onnx::ModelProto& model, const Opsets& opsets, const std::string& name,
            Diagnostics& diagnostics);

  // Returns the function that the node calls; null if it is an operator.
  const ModelFunction* find(const ::onnx::NodeProto& node) const;

  // Those that the model's graph calls, perhaps through others, in the order of the file.
  const std::vector<const ModelFunction*>& called() const { return called_; }

 private:
  bool check_calls(const ::onnx::ModelProto& model, const std::string& name, Diagnostics& diagnostics);

  std::map<std::string, ModelFunction> functions_;  // by domain, name and overload
  std::vector<const ModelFunction*> called_;
};

// One call of a function while its body is imported.
struct FunctionCall {
  const ModelFunction* function;
  const ::onnx::NodeProto* node;  // its attributes refer to nothing any more
  const FunctionCall* outer;      // the call whose body has the node; null for the model's graph

  // Returns what the attribute of this name is in the body; null if it has no value.
  const ::onnx::AttributeProto* attribute(std::string_view name) const;
};

// For a message about a node of the body: which function it is in, and which node calls that.
std::string place_of(const FunctionCall& call);

// Does an attribute of the node refer to one of the function around it?
bool refers_to_attributes(const ::onnx::NodeProto& node);
// Returns the node with the values that the call gives to such attributes. An attribute whose
// reference has no value is left out, as if the node did not have it.
::onnx::NodeProto with_attributes(const ::onnx::NodeProto& node, const FunctionCall& call);

// The function's name as users write it: `com.example.F`, with `:overload` if it has one.
std::string show_name(const ::onnx::FunctionProto& function);

}  // namespace relay::frontend
