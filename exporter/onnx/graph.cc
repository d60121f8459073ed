#include "exporter/onnx/graph.h"

#include <algorithm>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"

namespace relay::exporter {
namespace {

void declare(::onnx::ValueInfoProto& v, const std::string& name, const TensorType& type) {
  v.set_name(name);
  auto& tensor = *v.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(frontend::data::onnx_of_dtype(type.dtype));
  auto& shape = *tensor.mutable_shape();
  for (Dim d : type.dims) {
    auto& dim = *shape.add_dim();
    if (d.is_const()) dim.set_dim_value(d.value());
    if (d.is_symbolic()) dim.set_dim_param(show(d));
  }
}

}  // namespace

bool fits_attribute(double value) { return static_cast<double>(static_cast<float>(value)) == value; }

std::string Graph::fresh(std::string_view like) {
  const std::string base(like.empty() ? "value" : like);
  std::string name = base;
  while (!taken_.insert(name).second) name = cat(base, "_", ++last_number_[base]);
  return name;
}

Names Graph::nodes(std::string_view op, const Names& inputs, size_t results, const Attributes& attributes) {
  ::onnx::NodeProto& n = *proto_.add_node();
  n.set_op_type(std::string(op));
  for (const std::string& i : inputs) n.add_input(i);
  for (const Attribute& a : attributes) *n.add_attribute() = a.proto;
  Names out;
  for (size_t i = 0; i < results; ++i) {
    out.push_back(fresh(op));
    n.add_output(out.back());
    results_.insert(out.back());
  }
  n.set_name(out[0]);
  return out;
}

std::string Graph::constant(const Tensor& value, std::string_view like) {
  const std::string name = fresh(like);
  weight_bytes_ += value.bytes();
  if (weight_bytes_ > kMostWeightBytes) return name;
  const std::string bytes = frontend::data::onnx_tensor_bytes({name, value});
  CHECK(proto_.add_initializer()->ParseFromString(bytes), "an initialiser does not read as what was written");
  return name;
}

std::string Graph::ints(const std::vector<int64_t>& values) {
  Tensor t(kInt64, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) t.set_int(static_cast<int64_t>(i), values[i]);
  return constant(t, "ints");
}

void Graph::add_input(const std::string& name, const TensorType& type) {
  declare(*proto_.add_input(), name, type);
}
void Graph::add_output(const std::string& name, const TensorType& type) {
  declare(*proto_.add_output(), name, type);
}
void Graph::add_type(const std::string& name, const TensorType& type) {
  declare(*proto_.add_value_info(), name, type);
}

void Graph::drop_unused_constants() {
  std::unordered_set<std::string> used;
  for (const ::onnx::NodeProto& n : proto_.node()) used.insert(n.input().begin(), n.input().end());
  auto& all = *proto_.mutable_initializer();
  const auto unused = [&](const ::onnx::TensorProto& t) { return !used.contains(t.name()); };
  all.erase(std::remove_if(all.begin(), all.end(), unused), all.end());
}

void Graph::rename_results(const std::vector<std::pair<std::string, std::string>>& from_to) {
  const std::unordered_map<std::string, std::string> by(from_to.begin(), from_to.end());
  const auto rename = [&](std::string& name) {
    if (const auto it = by.find(name); it != by.end()) name = it->second;
  };
  for (::onnx::NodeProto& n : *proto_.mutable_node()) {
    for (std::string& name : *n.mutable_input()) rename(name);
    for (std::string& name : *n.mutable_output()) rename(name);
  }
}

}  // namespace relay::exporter
