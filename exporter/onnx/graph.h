// An ONNX graph under construction: nodes, their attributes, constants and fresh names.
#pragma once

#include <onnx/onnx_pb.h>

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/type.h"
#include "runtime/tensor.h"

namespace relay::exporter {

using Names = std::vector<std::string>;  // of values; an empty one is an input that is left out

// One attribute of a node. It has constructors and no variant: g++ 12 destroys temporaries of
// brace lists twice where they hold one.
struct Attribute {
  template <std::integral T>
  Attribute(std::string_view name, T value) : Attribute(name, ::onnx::AttributeProto::INT) {
    proto.set_i(static_cast<int64_t>(value));
  }
  Attribute(std::string_view name, double value) : Attribute(name, ::onnx::AttributeProto::FLOAT) {
    proto.set_f(static_cast<float>(value));
  }
  Attribute(std::string_view name, const std::string& value)
      : Attribute(name, ::onnx::AttributeProto::STRING) {
    proto.set_s(value);
  }
  Attribute(std::string_view name, const std::vector<int64_t>& values)
      : Attribute(name, ::onnx::AttributeProto::INTS) {
    for (int64_t v : values) proto.add_ints(v);
  }

  ::onnx::AttributeProto proto;

 private:
  Attribute(std::string_view name, ::onnx::AttributeProto::AttributeType type) {
    proto.set_name(std::string(name));
    proto.set_type(type);
  }
};
using Attributes = std::vector<Attribute>;

// Does a float of ONNX's attributes hold the number?
bool fits_attribute(double value);

class Graph {
 public:
  // Protobuf's limit on a message is 2 GiB; this leaves room for what is no weight.
  static constexpr uint64_t kMostWeightBytes = (uint64_t{1} << 31) - (uint64_t{64} << 20);

  explicit Graph(::onnx::GraphProto& proto) : proto_(proto) {}

  // The name itself, or one like it if it is taken.
  std::string fresh(std::string_view like);

  // Appends a node. Returns the names of its results.
  Names nodes(std::string_view op, const Names& inputs, size_t results, const Attributes& attributes = {});
  std::string node(std::string_view op, const Names& inputs, const Attributes& attributes = {}) {
    return nodes(op, inputs, 1, attributes)[0];
  }

  // An initialiser. Returns its name; adds nothing to the file if it does not fit any more, see
  // `weight_bytes`.
  std::string constant(const Tensor& value, std::string_view like = "constant");
  std::string ints(const std::vector<int64_t>& values);  // a vector of int64

  void add_input(const std::string& name, const TensorType& type);
  void add_output(const std::string& name, const TensorType& type);
  // Says what the type checker knows of a value.
  void add_type(const std::string& name, const TensorType& type);

  bool is_result(const std::string& name) const { return results_.contains(name); }  // of a node

  void drop_unused_constants();

  // Renames a result of a node wherever it stands.
  void rename_results(const std::vector<std::pair<std::string, std::string>>& from_to);

  // Of all initialisers, whether or not they fit.
  uint64_t weight_bytes() const { return weight_bytes_; }

 private:
  ::onnx::GraphProto& proto_;
  std::unordered_set<std::string> taken_, results_;
  std::unordered_map<std::string, size_t> last_number_;
  uint64_t weight_bytes_ = 0;
};

}  // namespace relay::exporter
