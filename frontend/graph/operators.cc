#include "frontend/graph/operators.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/cat.h"
#include "base/escape.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/tensor/attributes.h"

namespace relay::frontend {
namespace {

using op::OpDef;
using Inputs = std::vector<Expr>;
using Results = std::vector<Expr>;

// --- attributes, which are texts -----------------------------------------------------------------

GraphRefusal bad_attribute(std::string_view name, std::string_view text, std::string_view wanted) {
  return {"graph-attribute", cat("its attribute `", harmless(name.substr(0, 80), ""), "` is `",
                                 harmless(text.substr(0, 80), ""), "` and not ", wanted)};
}

template <class T>
std::optional<T> number_of(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The numbers of "(1, 2)", "[1,2]", "(3,)", "4" or "((0, 0), (1, 1))", without its brackets.
std::optional<std::vector<int64_t>> numbers_of(std::string_view text) {
  std::vector<int64_t> out;
  std::string word;
  const auto finish = [&] {
    if (word.empty()) return true;
    const std::optional<int64_t> value = number_of<int64_t>(word);
    word.clear();
    if (value) out.push_back(*value);
    return value.has_value();
  };
  for (char c : text) {
    const bool divides = std::string_view("()[], ").find(c) != std::string_view::npos;
    if (!divides) {
      word += c;
    } else if (!finish()) {
      return std::nullopt;
    }
  }
  if (!finish()) return std::nullopt;
  return out;
}

bool is_list(std::string_view text) { return text.starts_with('(') || text.starts_with('['); }

// The attributes of one node; each is read once, and what nobody reads is refused.
class Attributes {
 public:
  explicit Attributes(const GraphNode& node) : node_(node) {}

  const std::string* text(const std::string& name) {
    read_.push_back(name);
    return node_.find(name);
  }
  std::string text(const std::string& name, const std::string& otherwise) {
    const std::string* t = text(name);
    return t ? *t : otherwise;
  }
  bool flag(const std::string& name, bool otherwise) {
    const std::string* t = text(name);
    if (!t) return otherwise;
    if (*t == "True" || *t == "true" || *t == "1") return true;
    if (*t == "False" || *t == "false" || *t == "0") return false;
    throw bad_attribute(name, *t, "True or False");
  }
  std::optional<int64_t> integer(const std::string& name) {
    const std::string* t = text(name);
    if (!t || *t == "None") return std::nullopt;
    const std::optional<int64_t> value = number_of<int64_t>(*t);
    if (!value) throw bad_attribute(name, *t, "an integer");
    return value;
  }
  int64_t integer(const std::string& name, int64_t otherwise) { return integer(name).value_or(otherwise); }
  std::optional<double> real(const std::string& name) {
    const std::string* t = text(name);
    if (!t) return std::nullopt;
    const std::optional<double> value = number_of<double>(*t);
    if (!value || !std::isfinite(*value)) throw bad_attribute(name, *t, "a number");
    return value;
  }
  std::optional<std::vector<int64_t>> integers(const std::string& name) {
    const std::string* t = text(name);
    if (!t || *t == "None") return std::nullopt;
    std::optional<std::vector<int64_t>> value = numbers_of(*t);
    if (!value) throw bad_attribute(name, *t, "a list of integers");
    return value;
  }
  // Refuses what was not read.
  void finish() const {
    for (const auto& [name, value] : node_.attrs) {
      if (std::find(read_.begin(), read_.end(), name) == read_.end())
        throw GraphRefusal{"graph-attribute",
                           cat("its attribute `", harmless(name.substr(0, 80), ""), "` is unknown")};
    }
  }
  GraphRefusal missing(const std::string& name) const {
    return {"graph-attribute", cat("its attribute `", name, "` is missing")};
  }

 private:
  const GraphNode& node_;
  std::vector<std::string> read_;
};

// Everything that a rule needs of a node.
struct Node {
  Builder& b;
  const GraphNode& graph;
  const Inputs& inputs;
  Attributes attrs;

  Expr input(size_t i) const {
    if (i < inputs.size()) return inputs[i];
    throw GraphRefusal{"graph-type-error", cat("it has ", inputs.size(), " inputs and needs more")};
  }
  void takes(size_t count) const {
    if (inputs.size() != count)
      throw GraphRefusal{"graph-type-error", cat("it has ", inputs.size(), " inputs and needs ", count)};
  }
  Expr call(const OpDef& op, const Inputs& args, const std::vector<AttrArg>& attributes = {}) const {
    return op::call(b, op, args, attributes);
  }
  DType dtype(size_t i) const { return tensor(i).dtype; }
  const TensorType& tensor(size_t i) const { return *input(i)->type->as<TensorType>(); }
};

// An attribute of ours from a text, by the type that the operator's definition names.
AttrArg argument(const std::string& name, std::string_view type, const std::string& text) {
  if (type.ends_with('?')) type.remove_suffix(1);
  if (text == "None") return {name, {}};
  if (type == "bool") {
    if (text == "True" || text == "true" || text == "1") return {name, true};
    if (text == "False" || text == "false" || text == "0") return {name, false};
    throw bad_attribute(name, text, "True or False");
  }
  if (type == "string" || type == "dtype") return {name, text};
  if (type == "float") {
    const std::optional<double> value = number_of<double>(text);
    if (!value) throw bad_attribute(name, text, "a number");
    return {name, *value};
  }
  if (!is_list(text)) {
    const std::optional<int64_t> value = number_of<int64_t>(text);
    if (!value) throw bad_attribute(name, text, "an integer");
    return {name, *value};
  }
  const std::optional<std::vector<int64_t>> values = numbers_of(text);
  if (!values) throw bad_attribute(name, text, "a list of integers");
  return {name, *values};
}

// One of our operators, with attributes of ours.
Results call_ours(Node& n, const OpDef& op) {
  std::vector<AttrArg> attrs;
  for (const op::AttrField& field : op.attrs) {
    if (const std::string* text = n.attrs.text(field.name))
      attrs.push_back(argument(field.name, field.type, *text));
  }
  n.attrs.finish();
  n.takes(op.params.size());
  return parts_of(n.b, n.call(op, n.inputs, attrs));
}

// --- NNVM's operators ----------------------------------------------------------------------------

// One of ours with other letters: attributes, their defaults and the order of inputs are the same.
template <const OpDef& kOp>
Results renamed(Node& n) {
  return call_ours(n, kOp);
}

// An attribute that NNVM has and that says nothing of the result.
void ignore(Node& n, std::initializer_list<const char*> names) {
  for (const char* name : names) n.attrs.text(name);
}

int64_t channel_axis(const std::string& layout) {
  const size_t at = layout.find('C');
  return at == std::string::npos ? 1 : static_cast<int64_t>(at);
}

Results dense(Node& n) {
  const bool bias = n.attrs.flag("use_bias", true);
  std::vector<AttrArg> attrs;
  if (const auto units = n.attrs.integer("units")) attrs.push_back({"units", *units});
  n.attrs.finish();
  n.takes(bias ? 3 : 2);
  const Expr y = n.call(op::kDense, {n.input(0), n.input(1)}, attrs);
  return {bias ? n.call(op::kBiasAdd, {y, n.input(2)}, {{"axis", int64_t{-1}}}) : y};
}

Results conv2d(Node& n) {
  const bool bias = n.attrs.flag("use_bias", true);
  const std::string layout = n.attrs.text("layout", "NCHW"), out = n.attrs.text("out_layout", "__undef__");
  const std::string dtype = n.attrs.text("out_dtype", "same");
  std::vector<AttrArg> attrs{{"data_layout", layout},
                             {"kernel_layout", n.attrs.text("kernel_layout", "OIHW")},
                             {"groups", n.attrs.integer("groups", 1)}};
  if (out != "__undef__") attrs.push_back({"out_layout", out});
  if (dtype != "same" && dtype != "-1") attrs.push_back({"out_dtype", dtype});
  if (const auto channels = n.attrs.integer("channels")) attrs.push_back({"channels", *channels});
  for (const char* name : {"kernel_size", "strides", "padding", "dilation"}) {
    if (const auto values = n.attrs.integers(name)) attrs.push_back({name, *values});
  }
  n.attrs.finish();
  n.takes(bias ? 3 : 2);
  const Expr y = n.call(op::kConv2d, {n.input(0), n.input(1)}, attrs);
  if (!bias) return {y};
  const int64_t axis = channel_axis(out == "__undef__" ? layout : out);
  return {n.call(op::kBiasAdd, {y, n.input(2)}, {{"axis", axis}})};
}

Results batch_norm(Node& n) {
  ignore(n, {"momentum"});
  return call_ours(n, op::kBatchNorm);
}

// The second result is the mask of training.
Results dropout(Node& n) {
  const double rate = n.attrs.real("rate").value_or(0.5);
  n.attrs.finish();
  n.takes(1);
  return {n.call(op::kDropout, {n.input(0)}, {{"rate", rate}})};
}

Results concatenate(Node& n) {
  const int64_t axis = n.attrs.integer("axis", 1);
  n.attrs.finish();
  (void)n.input(0);
  return {n.call(op::kConcatenate, {n.b.tuple(n.inputs)}, {{"axis", axis}})};
}

Results split(Node& n) {
  const std::string* text = n.attrs.text("indices_or_sections");
  if (!text) throw n.attrs.missing("indices_or_sections");
  ignore(n, {"equal_split"});
  std::vector<AttrArg> attrs{argument("indices_or_sections", "ints", *text),
                             {"axis", n.attrs.integer("axis", 1)}};
  n.attrs.finish();
  n.takes(1);
  return parts_of(n.b, n.call(op::kSplit, {n.input(0)}, attrs));
}

Results reshape(Node& n) {
  const auto shape = n.attrs.integers("shape");
  if (!shape) throw n.attrs.missing("shape");
  n.attrs.finish();
  n.takes(1);
  return {n.call(op::kReshape, {n.input(0)}, {{"newshape", *shape}})};
}

// No axes (of transpose, squeeze): those that the operator takes by itself.
template <const OpDef& kOp>
Results over_axes(Node& n) {
  const char* name = &kOp == &op::kTranspose ? "axes" : "axis";
  const auto axes = n.attrs.integers(name);
  n.attrs.finish();
  n.takes(1);
  std::vector<AttrArg> attrs;
  if (axes && !axes->empty()) attrs.push_back({name, *axes});
  return {n.call(kOp, {n.input(0)}, attrs)};
}

// A reduction of everything gives one element of rank 1 there.
template <const OpDef& kOp>
Results reduction(Node& n) {
  ignore(n, {"dtype"});
  const auto axes = n.attrs.integers("axis");
  const bool keep = n.attrs.flag("keepdims", false), exclude = n.attrs.flag("exclude", false);
  n.attrs.finish();
  n.takes(1);
  std::vector<AttrArg> attrs{{"keepdims", keep}};
  const bool some = axes && !axes->empty();
  if (some) attrs.push_back({"axis", *axes});
  if (some) attrs.push_back({"exclude", exclude});
  const Expr y = n.call(kOp, {n.input(0)}, attrs);
  const bool scalar = y->type->as<TensorType>()->rank() == 0;
  return {scalar ? n.call(op::kReshape, {y}, {{"newshape", std::vector<int64_t>{1}}}) : y};
}

Results strided_slice(Node& n) {
  std::vector<AttrArg> attrs;
  for (const char* name : {"begin", "end"}) {
    const auto values = n.attrs.integers(name);
    if (!values) throw n.attrs.missing(name);
    attrs.push_back({name, *values});
  }
  if (const auto stride = n.attrs.integers("stride"); stride && !stride->empty())
    attrs.push_back({"strides", *stride});
  n.attrs.finish();
  n.takes(1);
  return {n.call(op::kStridedSlice, {n.input(0)}, attrs)};
}

Results pad(Node& n) {
  const auto width = n.attrs.integers("pad_width");
  if (!width) throw n.attrs.missing("pad_width");
  const double value = n.attrs.real("pad_value").value_or(0);
  n.attrs.finish();
  n.takes(1);
  if (width->size() != 2 * n.tensor(0).rank())
    throw GraphRefusal{"graph-attribute", "its attribute `pad_width` needs two numbers for each axis"};
  std::vector<std::pair<Dim, Dim>> axes;
  for (size_t i = 0; i < width->size(); i += 2) axes.emplace_back(Dim((*width)[i]), Dim((*width)[i + 1]));
  return {n.call(op::kPad, {n.input(0), n.b.scalar(n.dtype(0), value)},
                 {{"pad_width", op::pad_width(n.b.context(), axes)}})};
}

// ((x0 + x1) + x2) + ...
Results sum_of_all(Node& n) {
  ignore(n, {"num_args"});
  n.attrs.finish();
  Expr sum = n.input(0);
  for (size_t i = 1; i < n.inputs.size(); ++i) sum = n.call(op::kAdd, {sum, n.inputs[i]});
  return {sum};
}

template <const OpDef& kOp, bool kScalarFirst = false>
Results with_scalar(Node& n) {
  const auto scalar = n.attrs.real("scalar");
  if (!scalar) throw n.attrs.missing("scalar");
  n.attrs.finish();
  n.takes(1);
  const Expr c = n.b.scalar(n.dtype(0), *scalar);
  return {kScalarFirst ? n.call(kOp, {c, n.input(0)}) : n.call(kOp, {n.input(0), c})};
}

Results upsampling(Node& n) {
  const auto scale = n.attrs.integer("scale");
  if (!scale) throw n.attrs.missing("scale");
  const std::string layout = n.attrs.text("layout", "NCHW");
  const std::string method = n.attrs.text("method", "NEAREST_NEIGHBOR");
  // How corners are aligned is not said for the other method.
  if (method != "NEAREST_NEIGHBOR")
    throw GraphRefusal{"unsupported-operator-form", "only the method NEAREST_NEIGHBOR is supported, not " +
                                                        harmless(method.substr(0, 80), "")};
  n.attrs.finish();
  n.takes(1);
  const auto by = static_cast<double>(*scale);
  return {n.call(op::kUpsampling, {n.input(0)}, {{"scale_h", by}, {"scale_w", by}, {"layout", layout}})};
}

using Rule = Results (*)(Node&);

const std::map<std::string_view, Rule>& nnvm_rules() {
  static const std::map<std::string_view, Rule> rules{
      {"__add_scalar__", with_scalar<op::kAdd>},
      {"__div_scalar__", with_scalar<op::kDivide>},
      {"__mul_scalar__", with_scalar<op::kMultiply>},
      {"__pow_scalar__", with_scalar<op::kPower>},
      {"__rdiv_scalar__", with_scalar<op::kDivide, true>},
      {"__rpow_scalar__", with_scalar<op::kPower, true>},
      {"__rsub_scalar__", with_scalar<op::kSubtract, true>},
      {"__sub_scalar__", with_scalar<op::kSubtract>},
      {"abs", renamed<op::kAbs>},
      {"avg_pool2d", renamed<op::kAvgPool2d>},
      {"batch_norm", batch_norm},
      {"broadcast_add", renamed<op::kAdd>},
      {"broadcast_div", renamed<op::kDivide>},
      {"broadcast_mul", renamed<op::kMultiply>},
      {"broadcast_sub", renamed<op::kSubtract>},
      {"cast", renamed<op::kCast>},
      {"ceil", renamed<op::kCeil>},
      {"clip", renamed<op::kClip>},
      {"concatenate", concatenate},
      {"conv2d", conv2d},
      {"copy", renamed<op::kCopy>},
      {"dense", dense},
      {"dropout", dropout},
      {"elemwise_add", renamed<op::kAdd>},
      {"elemwise_div", renamed<op::kDivide>},
      {"elemwise_mul", renamed<op::kMultiply>},
      {"elemwise_sub", renamed<op::kSubtract>},
      {"elemwise_sum", sum_of_all},
      {"exp", renamed<op::kExp>},
      {"expand_dims", renamed<op::kExpandDims>},
      {"flatten", renamed<op::kBatchFlatten>},
      {"floor", renamed<op::kFloor>},
      {"global_avg_pool2d", renamed<op::kGlobalAvgPool2d>},
      {"global_max_pool2d", renamed<op::kGlobalMaxPool2d>},
      {"leaky_relu", renamed<op::kLeakyRelu>},
      {"log", renamed<op::kLog>},
      {"log_softmax", renamed<op::kLogSoftmax>},
      {"lrn", renamed<op::kLrn>},
      {"matmul", renamed<op::kMatmul>},
      {"max", reduction<op::kMax>},
      {"max_pool2d", renamed<op::kMaxPool2d>},
      {"mean", reduction<op::kMean>},
      {"min", reduction<op::kMin>},
      {"negative", renamed<op::kNegative>},
      {"pad", pad},
      {"prelu", renamed<op::kPRelu>},
      {"relu", renamed<op::kRelu>},
      {"reshape", reshape},
      {"sigmoid", renamed<op::kSigmoid>},
      {"softmax", renamed<op::kSoftmax>},
      {"split", split},
      {"sqrt", renamed<op::kSqrt>},
      {"squeeze", over_axes<op::kSqueeze>},
      {"strided_slice", strided_slice},
      {"sum", reduction<op::kSum>},
      {"tanh", renamed<op::kTanh>},
      {"transpose", over_axes<op::kTranspose>},
      {"upsampling", upsampling},
  };
  return rules;
}

// Ours have a dot in their names where NNVM's do not: the two never mean different
// things by one name.
const OpDef* ours(std::string_view name) {
  return name.find('.') == std::string_view::npos ? nullptr : op::find(name);
}

}  // namespace

std::optional<DType> dtype_of_graph(std::string_view name) {
  return name == "uint1" ? std::optional(kBool) : DType::parse(name);
}

bool is_graph_operator(std::string_view name) { return nnvm_rules().contains(name) || ours(name); }

std::vector<Expr> call_operator(Builder& b, const GraphNode& node, const std::vector<Expr>& inputs) {
  Node n{b, node, inputs, Attributes(node)};
  if (const auto rule = nnvm_rules().find(node.op); rule != nnvm_rules().end()) return rule->second(n);
  return call_ours(n, *ours(node.op));
}

std::vector<Expr> parts_of(Builder& b, Expr e) {
  const auto* tuple = e->type->as<TupleType>();
  if (!tuple) return {e};
  std::vector<Expr> out;
  for (uint32_t i = 0; i < tuple->fields.size(); ++i) out.push_back(b.proj(e, i));
  return out;
}

std::vector<std::string> nnvm_operators() {
  std::vector<std::string> out;
  for (const auto& [name, rule] : nnvm_rules()) out.emplace_back(name);
  return out;
}

}  // namespace relay::frontend
