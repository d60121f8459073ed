// For tests: inputs that are sequences, and models that work on them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontend/onnx/testing.h"

namespace relay::frontend {

using ElementDims = std::optional<std::vector<TestDim>>;  // nothing: the model does not say its shape

inline void declare_element(::onnx::TypeProto& type, const ElementDims& dims, int code) {
  ::onnx::ValueInfoProto element;
  TestModel::declare(element, "", dims.value_or(std::vector<TestDim>{}), code);
  if (!dims) element.mutable_type()->mutable_tensor_type()->clear_shape();
  type = element.type();
}

inline void sequence_input(TestModel& m, const std::string& name, const ElementDims& dims,
                           int code = ::onnx::TensorProto::FLOAT) {
  ::onnx::ValueInfoProto& v = *m.graph->add_input();
  v.set_name(name);
  declare_element(*v.mutable_type()->mutable_sequence_type()->mutable_elem_type(), dims, code);
}

inline void optional_input(TestModel& m, const std::string& name, const ElementDims& dims,
                           int code = ::onnx::TensorProto::FLOAT) {
  ::onnx::ValueInfoProto& v = *m.graph->add_input();
  v.set_name(name);
  declare_element(*v.mutable_type()->mutable_optional_type()->mutable_elem_type(), dims, code);
}

inline void add_node(::onnx::GraphProto& g, const std::string& op, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs) {
  ::onnx::NodeProto& n = *g.add_node();
  n.set_op_type(op);
  for (const std::string& i : inputs) n.add_input(i);
  for (const std::string& o : outputs) n.add_output(o);
}

// A loop of `trips` steps, which the caller declares, that puts x + i at the end of a sequence.
inline TestModel loop_that_inserts(int64_t opset) {
  TestModel m(opset);
  m.input("x", {2}).node("SequenceEmpty", {}, {"none"});
  ::onnx::GraphProto body;
  for (const char* name : {"i", "go", "s"}) body.add_input()->set_name(name);
  add_node(body, "CastLike", {"i", "x"}, {"f"});
  add_node(body, "Add", {"x", "f"}, {"e"});
  add_node(body, "SequenceInsert", {"s", "e"}, {"t"});
  add_node(body, "Identity", {"go"}, {"still"});
  for (const char* name : {"still", "t"}) body.add_output()->set_name(name);
  m.node("Loop", {"trips", "", "none"}, {"all"}).attr("body", body).output("all");
  return m;
}

// (e, t) -> (e + t, the shape of e)
inline ::onnx::GraphProto map_body() {
  ::onnx::GraphProto body;
  for (const char* name : {"e", "t"}) body.add_input()->set_name(name);
  add_node(body, "Add", {"e", "t"}, {"sum"});
  add_node(body, "Shape", {"e"}, {"shape"});
  for (const char* name : {"sum", "shape"}) body.add_output()->set_name(name);
  return body;
}

}  // namespace relay::frontend
