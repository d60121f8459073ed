// Node: one node of an ONNX graph while it is converted. This is what the operator families are
// written against.
#pragma once

#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/slug.h"
#include "frontend/onnx/operand.h"
#include "ir/builder.h"
#include "op/apply.h"
#include "op/ops.h"

namespace relay::frontend {

class Importer;

// Why a node cannot be converted; thrown by converters, caught by the importer, which goes on
// with the next node.
struct Refusal {
  Slug slug;
  std::string reason, remedy;
};
// What has more than the limit: "the steps of loops have more nodes".
Refusal too_many(std::string_view what, size_t limit);

class Node {
 public:
  Node(Importer& importer, const ::onnx::NodeProto& proto, int64_t opset, std::vector<Operand*> inputs);

  const ::onnx::NodeProto& proto() const { return proto_; }
  int64_t opset() const { return opset_; }
  Importer& importer() { return importer_; }
  Builder& builder();
  Context& context();
  size_t outputs() const { return static_cast<size_t>(proto_.output_size()); }
  // Is output i wanted by anybody?
  bool wants(size_t i) const;

  // --- Inputs. Asking for one that is absent refuses the node.
  size_t inputs() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i] != nullptr; }
  Operand& operand(size_t i);
  Expr input(size_t i);
  std::vector<Expr> all_inputs();
  const TensorType& tensor(size_t i);  // its type
  size_t rank(size_t i) { return tensor(i).rank(); }
  DType dtype(size_t i) { return tensor(i).dtype; }

  // --- Elements of a Storage. An input of such elements is refused unless the operator only moves
  // them (stored.h), or the converter asks for their carrier.
  const data::Storage* storage(size_t i) { return has(i) ? inputs_[i]->storage : nullptr; }
  Expr carrier(size_t i);
  void admit_carriers() { carriers_ = true; }
  // Says that result i is the carrier of such elements.
  void store(size_t i, const data::Storage* storage);
  const data::Storage* result_storage(size_t i) const { return i < stored_.size() ? stored_[i] : nullptr; }

  // What is known of an input while the model is imported; the second form refuses where
  // it is not known.
  std::optional<Tensor> known(size_t i);
  Tensor constant(size_t i, std::string_view what);
  std::vector<int64_t> constant_ints(size_t i, std::string_view what);  // of rank 0 or 1
  int64_t constant_int(size_t i, std::string_view what);
  // Likewise, symbolic ones too, which are never negative: what only a run tells gets names.
  std::vector<Dim> dims(size_t i, std::string_view what);
  std::optional<std::vector<Dim>> known_dims(size_t i, std::string_view what);  // nothing if one is unknown
  std::optional<IndexTensor> index(size_t i);

  // --- Attributes. One of another kind than asked for refuses the node.
  const ::onnx::AttributeProto* attribute(std::string_view name);
  // These attributes change nothing that the converter makes.
  void without_effect(std::initializer_list<std::string_view> names);
  // Refuses a node with an attribute that nothing has asked for: ignoring one that differs from its
  // default would change what is computed. Inner graphs are left to the converter.
  void require_all_asked();
  int64_t integer(std::string_view name, int64_t otherwise);
  int64_t integer(std::string_view name);  // must be there
  double real(std::string_view name, double otherwise);
  std::string text(std::string_view name, std::string_view otherwise);
  std::vector<int64_t> integers(std::string_view name, std::vector<int64_t> otherwise = {});
  std::vector<std::string> texts(std::string_view name);
  const ::onnx::GraphProto& graph(std::string_view name);
  // An axis of `rank` counted from the front.
  size_t axis(int64_t axis, size_t rank);

  // What the row of another operator makes of this node, in a version of its own set: for operators
  // of other domains that are the same.
  std::vector<Expr> convert_as(std::string_view name, int64_t opset);

  // --- Refusing.
  [[noreturn]] void unsupported(std::string reason, std::string remedy = {});
  [[noreturn]] void invalid(std::string reason, Slug slug = "onnx-invalid");
  void require(bool holds, std::string_view reason) {
    if (!holds) invalid(std::string(reason));
  }

  // --- Making expressions. Everything is typed at once.
  Expr call(const op::OpDef& op, std::initializer_list<Expr> args, const std::vector<AttrArg>& attrs = {});
  Expr call(const op::OpDef& op, std::span<const Expr> args, const std::vector<AttrArg>& attrs = {});
  Expr proj(Expr tuple, uint32_t index) { return builder().proj(tuple, index); }
  Expr scalar(DType dtype, double value) { return builder().scalar(dtype, value); }
  Expr ints(const std::vector<int64_t>& values, DType dtype = kInt64);
  // 0, 1, ... along one axis of a tensor of this shape.
  Expr places(const std::vector<Dim>& shape, int64_t axis = 0, DType dtype = kInt64);
  Expr cast(Expr e, DType dtype);  // itself if it has the dtype
  // Reshapes; the form of the attribute is chosen so that few symbolic dims are in it.
  Expr reshape(Expr e, const std::vector<Dim>& dims);
  Expr expand_dims(Expr e, int64_t axis, int64_t count = 1);
  Expr squeeze(Expr e, std::vector<int64_t> axes);
  Expr transpose(Expr e, std::vector<int64_t> axes);
  Expr concatenate(const std::vector<Expr>& parts, int64_t axis);  // one part is itself
  // e[begin : end] along one axis.
  Expr slice(Expr e, size_t axis, int64_t begin, int64_t end);

 private:
  Importer& importer_;
  const ::onnx::NodeProto& proto_;
  int64_t opset_;
  std::vector<Operand*> inputs_;
  bool carriers_ = false;
  std::vector<const data::Storage*> stored_;
  std::set<std::string_view> asked_;  // attributes
};

const TensorType& type_of(Expr e);
std::vector<Dim> dims_of(Expr e);

// The results of a node in order of its outputs; fewer than outputs if the rest is not wanted.
using Results = std::vector<Expr>;

// One row of the table of operators: how a node of this full name is converted, from this version
// of the operator set on, and which forms it refuses.
struct Row {
  std::string_view name;
  int64_t since;
  Results (*convert)(Node& node);
  std::string_view refuses = {};
};

// The families, each in a file of its own.
std::span<const Row> elementwise_rows();
std::span<const Row> cast_rows();
std::span<const Row> activation_rows();
std::span<const Row> convolution_rows();
std::span<const Row> pooling_rows();
std::span<const Row> normalisation_rows();
std::span<const Row> matrix_rows();
std::span<const Row> reduction_rows();
std::span<const Row> shape_rows();
std::span<const Row> movement_rows();
std::span<const Row> indexing_rows();
std::span<const Row> resize_rows();
std::span<const Row> quantisation_rows();
std::span<const Row> linear_quantisation_rows();
std::span<const Row> quantised_rows();
std::span<const Row> quantised_attention_rows();
std::span<const Row> recurrent_rows();
std::span<const Row> signal_rows();
std::span<const Row> sorting_rows();
std::span<const Row> loss_rows();
std::span<const Row> vision_rows();
std::span<const Row> random_rows();
std::span<const Row> old_version_rows();
std::span<const Row> attention_rows();
std::span<const Row> audio_rows();
std::span<const Row> determinant_rows();
std::span<const Row> linear_attention_rows();
std::span<const Row> ngram_rows();
std::span<const Row> optimiser_rows();
std::span<const Row> placement_rows();

// The name of a node's operator, with that of its domain if it is not ONNX's own: "Conv",
// "com.microsoft.QLinearAdd".
std::string full_name(const ::onnx::NodeProto& node);
bool is_of_onnx(const ::onnx::NodeProto& node);
// The row for an operator of this full name in this version of its set; null if there is none.
const Row* find_row(std::string_view name, int64_t opset);
std::vector<Row> all_rows();  // sorted by name and version

}  // namespace relay::frontend
