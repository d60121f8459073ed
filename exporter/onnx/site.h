// Site: one operator call that becomes nodes. A row of the table writes it; see rows.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exporter/onnx/extents.h"
#include "exporter/onnx/graph.h"
#include "ir/context.h"
#include "ir/expr.h"
#include "op/op_def.h"

namespace relay::exporter {

// The attributes of a call; those that it leaves out have the defaults of the operator's
// documentation, which `define` makes of its attribute struct. So defaults stand in one place.
class CallAttrs {
 public:
  CallAttrs(Context& context, const op::OpDef& def, Attrs attrs)
      : context_(context), def_(def), attrs_(attrs) {}

  bool is_none(std::string_view name) const { return value(name).kind == AttrKind::kNone; }
  bool flag(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  double real(std::string_view name) const;
  std::string text(std::string_view name) const;
  std::vector<int64_t> ints(std::string_view name) const;  // a lone number is a list of one
  std::vector<Dim> dims(std::string_view name) const;
  AttrValue value(std::string_view name) const;

 private:
  Context& context_;
  const op::OpDef& def_;
  Attrs attrs_;
};

class Site {
 public:
  // `args`: the names of each argument's tensors, in order.
  Site(Context& context, Graph& graph, Extents& extents, const Call& call, std::vector<Names> args);

  Graph& graph() { return graph_; }
  Extents& extents() { return extents_; }
  const CallAttrs& attrs() const { return attrs_; }

  const std::string& arg(size_t i) const { return args_[i].at(0); }
  const Names& fields(size_t i) const { return args_[i]; }  // of a tuple
  const TensorType& type(size_t i) const;                   // of an argument that is a tensor
  const TensorType& result(size_t i = 0) const;             // of the call, or of a field of it
  size_t results() const;                                   // fields of a result that is a tuple
  // The value of an argument that is a constant, or a cast of one.
  std::optional<Tensor> constant(size_t i) const;

  std::string node(std::string_view op, const Names& inputs, const Attributes& attributes = {}) {
    return graph_.node(op, inputs, attributes);
  }
  std::string scalar(DType dtype, double value) { return graph_.constant(Tensor::scalar(dtype, value)); }
  std::string cast(const std::string& x, DType from, DType to);
  std::string transpose(const std::string& x, const std::vector<int64_t>& axes);
  // The value with other extents: as few of them computed as possible.
  std::string reshape(const std::string& x, std::span<const Dim> from, std::span<const Dim> to);
  // A vector along one axis of values of this rank, so that it broadcasts to them.
  std::string along(const std::string& vector, int64_t axis, size_t rank);

  int64_t axis(std::string_view attribute, size_t rank) const;  // not negative
  [[noreturn]] void refuse(std::string why) const { throw Refusal{std::move(why)}; }
  void require(bool holds, std::string_view why) const {
    if (!holds) throw Refusal{std::string(why)};
  }

 private:
  Graph& graph_;
  Extents& extents_;
  const Call& call_;
  CallAttrs attrs_;
  std::vector<Names> args_;
};

inline int64_t from_front(int64_t axis, size_t rank) {
  return axis < 0 ? axis + static_cast<int64_t>(rank) : axis;
}
inline std::span<const Dim> dims_of(const TensorType& t) { return {t.dims.begin(), t.dims.size()}; }

}  // namespace relay::exporter
