// Making small ONNX models in tests.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <variant>
#include <vector>

#include "frontend/onnx/import.h"

namespace relay::frontend {

using TestDim = std::variant<int, std::string>;  // an extent, or the name of one; "" is one without a name

// A model that is built line by line: model.input(...).node(...).output(...).
class TestModel {
 public:
  explicit TestModel(int64_t opset = 13) {
    proto.set_ir_version(8);
    proto.add_opset_import()->set_version(opset);
    graph = proto.mutable_graph();
  }
  // `graph` and `last` point into the model that they belong to.
  TestModel(const TestModel& other) : proto(other.proto), graph(proto.mutable_graph()) {
    if (graph->node_size() > 0) last = graph->mutable_node(graph->node_size() - 1);
  }
  TestModel& operator=(const TestModel&) = delete;

  TestModel& input(const std::string& name, const std::vector<TestDim>& dims,
                   int type = ::onnx::TensorProto::FLOAT) {
    declare(*graph->add_input(), name, dims, type);
    return *this;
  }
  TestModel& output(const std::string& name) {
    graph->add_output()->set_name(name);
    return *this;
  }
  TestModel& ints(const std::string& name, const std::vector<int64_t>& values, bool scalar = false) {
    ::onnx::TensorProto& t = *graph->add_initializer();
    t.set_name(name);
    t.set_data_type(::onnx::TensorProto::INT64);
    if (!scalar) t.add_dims(static_cast<int64_t>(values.size()));
    for (int64_t v : values) t.add_int64_data(v);
    return *this;
  }
  TestModel& floats(const std::string& name, const std::vector<int64_t>& dims, float value = 0) {
    ::onnx::TensorProto& t = *graph->add_initializer();
    t.set_name(name);
    t.set_data_type(::onnx::TensorProto::FLOAT);
    int64_t count = 1;
    for (int64_t d : dims) {
      t.add_dims(d);
      count *= d;
    }
    for (int64_t i = 0; i < count; ++i) t.add_float_data(value);
    return *this;
  }
  // In another file, of which `at` is the path beside the model.
  TestModel& floats_in_file(const std::string& name, const std::vector<int64_t>& dims,
                            const std::string& at) {
    lies_in_file(*graph->add_initializer(), name, dims, at);
    return *this;
  }
  TestModel& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
    last = graph->add_node();
    last->set_op_type(op);
    last->set_name("the_" + op);
    for (const std::string& i : inputs) last->add_input(i);
    for (const std::string& o : outputs) last->add_output(o);
    return *this;
  }
  TestModel& attr(const std::string& name, int value) { return attr(name, int64_t{value}); }
  TestModel& attr(const std::string& name, int64_t value) {
    auto& a = attribute(name, ::onnx::AttributeProto::INT);
    a.set_i(value);
    return *this;
  }
  TestModel& attr(const std::string& name, const std::vector<int64_t>& values) {
    auto& a = attribute(name, ::onnx::AttributeProto::INTS);
    for (int64_t v : values) a.add_ints(v);
    return *this;
  }
  TestModel& attr(const std::string& name, const char* text) {
    attribute(name, ::onnx::AttributeProto::STRING).set_s(text);
    return *this;
  }
  TestModel& attr(const std::string& name, const ::onnx::GraphProto& g) {
    *attribute(name, ::onnx::AttributeProto::GRAPH).mutable_g() = g;
    return *this;
  }
  ::onnx::AttributeProto& attribute(const std::string& name, ::onnx::AttributeProto::AttributeType type) {
    ::onnx::AttributeProto& a = *last->add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  }
  static void declare(::onnx::ValueInfoProto& v, const std::string& name, const std::vector<TestDim>& dims,
                      int type) {
    v.set_name(name);
    auto* t = v.mutable_type()->mutable_tensor_type();
    t->set_elem_type(type);
    t->mutable_shape();
    for (const TestDim& d : dims) {
      auto* dim = t->mutable_shape()->add_dim();
      if (const int* extent = std::get_if<int>(&d)) {
        dim->set_dim_value(*extent);
      } else if (!std::get<std::string>(d).empty()) {
        dim->set_dim_param(std::get<std::string>(d));
      }
    }
  }

  static void lies_in_file(::onnx::TensorProto& t, const std::string& name, const std::vector<int64_t>& dims,
                           const std::string& at) {
    t.set_name(name);
    t.set_data_type(::onnx::TensorProto::FLOAT);
    for (int64_t d : dims) t.add_dims(d);
    t.set_data_location(::onnx::TensorProto::EXTERNAL);
    auto* location = t.add_external_data();
    location->set_key("location");
    location->set_value(at);
  }

  std::string bytes() const { return proto.SerializeAsString(); }

  ::onnx::ModelProto proto;
  ::onnx::GraphProto* graph;
  ::onnx::NodeProto* last = nullptr;
};

// What importing gave: the type of main's body, or the messages.
struct Imported {
  Module module;
  bool ok = false;
  std::string type, messages;
  ImportFailure failure = ImportFailure::kUnreadable;
};

inline Imported import_bytes(const std::string& bytes, const ImportOptions& options = {}) {
  Imported out;
  Diagnostics d;
  const Module empty;
  const Result<Module> m = import_onnx(bytes, "m.onnx", nullptr, empty, options, d);
  out.ok = m.ok();
  if (m.ok()) {
    out.module = *m;
    out.type = show(m->function("main")->body->type);
  } else {
    out.failure = import_failure(d);
  }
  out.messages = d.render(empty.context().sources());
  return out;
}
inline Imported import_model(const TestModel& m, const ImportOptions& options = {}) {
  return import_bytes(m.bytes(), options);
}

}  // namespace relay::frontend
