#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/ml.h"
#include "frontend/onnx/names.h"

namespace relay::frontend {

using namespace op;
using ::onnx::AttributeProto;

std::vector<int64_t> whole_list(Node& n, std::string_view name) {
  const AttributeProto* a = n.attribute(name);
  if (!a) return {};
  if (a->type() != AttributeProto::INTS && a->type() != AttributeProto::UNDEFINED)
    n.invalid(cat("its attribute `", name, "` is no list of integers"), "onnx-wrong-attribute-kind");
  return {a->ints().begin(), a->ints().end()};
}

std::vector<double> real_list(Node& n, std::string_view name) {
  const AttributeProto* a = n.attribute(name);
  if (!a) return {};
  if (a->type() != AttributeProto::FLOATS && a->type() != AttributeProto::UNDEFINED)
    n.invalid(cat("its attribute `", name, "` is no list of floats"), "onnx-wrong-attribute-kind");
  return {a->floats().begin(), a->floats().end()};
}

std::vector<double> real_list_or_tensor(Node& n, std::string_view name) {
  const std::string tensor = cat(name, "_as_tensor");
  const AttributeProto* a = n.attribute(tensor);
  if (!a) return real_list(n, name);
  n.require(a->has_t(), cat("its attribute `", tensor, "` is no tensor"));
  n.require(!n.attribute(name), cat("it has both attributes `", name, "` and `", tensor, "`"));
  return n.importer().tensor(a->t()).doubles();
}

Expr float_table(Node& n, DType dtype, Shape shape, const std::vector<double>& values) {
  return n.builder().constant(Tensor::of<double>(dtype, std::move(shape), values));
}

Expr index_table(Node& n, const std::vector<int64_t>& values) {
  Tensor t(kInt32, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    n.require(values[i] >= INT32_MIN && values[i] <= INT32_MAX, "one of its numbers is out of range");
    t.set_int(static_cast<int64_t>(i), values[i]);
  }
  return n.builder().constant(std::move(t));
}

Expr rows_at(Node& n, size_t i) {
  const Expr x = n.input(i);
  const size_t rank = type_of(x).rank();
  n.require(rank == 1 || rank == 2, "its input must have rows and features, or features alone");
  return rank == 1 ? n.expand_dims(x, 0) : x;
}

Expr by_feature(Node& n, Expr x, const std::vector<double>& values, std::string_view name) {
  const TensorType& t = type_of(x);
  const auto count = static_cast<int64_t>(values.size());
  if (count == 1) return n.scalar(t.dtype, values[0]);
  n.require(t.rank() > 0 && count > 0, cat("its attribute `", name, "` is empty"));
  const Dim features = t.dims[t.rank() - 1];
  n.require(!features.is_const() || features == Dim(count),
            cat("its attribute `", name, "` has ", count, " numbers for ", show(features), " features"));
  return float_table(n, t.dtype, {count}, values);
}

PostTransform post_transform(Node& n) {
  const std::string name = n.text("post_transform", "NONE");
  constexpr std::string_view kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<PostTransform>(i);
  }
  n.invalid("its attribute `post_transform` is none of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT");
}

// ONNX Runtime 1.32 exchanges 1 and 2, against the standard, which is followed here.
PostTransform post_transform(int64_t code, Node& n) {
  n.require(code >= 0 && code <= 4, "its attribute `post_transform` is none of 0 to 4");
  return static_cast<PostTransform>(code);
}

namespace {

// exp(x - largest) where x is not 0, and as good as nothing where it is; then shares of the sum.
Expr softmax_without_zeros(Node& n, Expr x) {
  const std::vector<AttrArg> row{{"axis", std::vector<int64_t>{-1}}, {"keepdims", true}};
  const auto number = [&](double v) { return n.scalar(type_of(x).dtype, v); };
  const Expr largest = n.call(kMax, {x}, row);
  const Expr counts = n.call(kGreater, {n.call(kAbs, {x}), number(1e-7F)});
  const Expr power = n.call(kExp, {n.call(kSubtract, {x, largest})});
  const Expr sum = n.call(kSum, {n.call(kWhere, {counts, power, number(0)})}, row);
  const Expr tiny = n.call(kMultiply, {x, n.call(kExp, {n.call(kNegative, {largest})})});
  return n.call(kDivide, {n.call(kWhere, {counts, power, tiny}), sum});
}

// The inverse of the normal distribution as ONNX Runtime has it: sqrt(2) * erfinv(2 * x - 1), with
// the closed approximation of Winitzki (2008), whose error is 2e-3.
Expr probit(Node& n, Expr score) {
  const auto number = [&](double v) { return n.scalar(type_of(score).dtype, v); };
  const auto times = [&](Expr a, double v) { return n.call(kMultiply, {a, number(v)}); };
  const auto plus = [&](Expr a, double v) { return n.call(kAdd, {a, number(v)}); };
  const Expr x = plus(times(score, 2), -1);
  const Expr sign = n.call(kWhere, {n.call(kLess, {x, number(0)}), number(-1), number(1)});
  const Expr product = n.call(kMultiply, {n.call(kSubtract, {number(1), x}), plus(x, 1)});
  const Expr log = n.call(kLog, {product});
  const Expr v = plus(times(log, 0.5), 2 / (3.14159F * 0.147F)), w = times(log, 1 / 0.147F);
  const Expr root = n.call(kSqrt, {n.call(kSubtract, {n.call(kMultiply, {v, v}), w})});
  const Expr size = n.call(kSqrt, {n.call(kSubtract, {root, v})});
  return times(n.call(kMultiply, {sign, size}), 1.41421356F);
}

}  // namespace

Expr transformed(Node& n, Expr scores, PostTransform transform) {
  switch (transform) {
    case PostTransform::kNone: return scores;
    case PostTransform::kSoftmax: return n.call(kSoftmax, {scores}, {{"axis", int64_t{-1}}});
    case PostTransform::kLogistic: return n.call(kSigmoid, {scores});
    case PostTransform::kSoftmaxZero: return softmax_without_zeros(n, scores);
    case PostTransform::kProbit: return probit(n, scores);
  }
  return scores;
}

bool is_label_used(Node& n) { return n.wants(0) && n.importer().uses(n.proto().output(0)); }

ClassLabels class_labels(Node& n, std::string_view numbers) {
  ClassLabels out;
  out.numbers = whole_list(n, numbers);
  const std::vector<std::string> texts = n.texts("classlabels_strings");
  n.require(texts.empty() || out.numbers.empty(), "its labels are both numbers and texts");
  out.texts = !texts.empty();
  out.count = out.texts ? texts.size() : out.numbers.size();
  n.require(out.count > 0, "it has no labels");
  if (out.texts && is_label_used(n))
    n.unsupported(cat("its labels are texts, such as `", printable(texts[0]), "`, which the output `",
                      printable(n.proto().output(0)), "` would hold"),
                  "use numbers for labels, or drop this output: the largest score says which label it is");
  return out;
}

namespace {

Expr label_table(Node& n, const ClassLabels& labels) {
  // Nobody reads labels that are texts: they stand for their positions.
  std::vector<int64_t> values = labels.numbers;
  for (size_t i = values.size(); i < labels.count; ++i) values.push_back(static_cast<int64_t>(i));
  return n.ints(values);
}

}  // namespace

Expr label_at(Node& n, const ClassLabels& labels, Expr positions) {
  return n.call(kTake, {label_table(n, labels), positions}, {{"axis", int64_t{0}}});
}

Expr label_where(Node& n, const ClassLabels& labels, Expr second) {
  const Expr table = label_table(n, labels);
  const auto label = [&](int64_t i) { return n.reshape(n.slice(table, 0, i, i + 1), {}); };
  return n.call(kWhere, {second, label(1), label(0)});
}

Expr largest_score(Node& n, Expr scores) {
  return n.call(kArgmax, {scores}, {{"axis", std::vector<int64_t>{-1}}});
}

}  // namespace relay::frontend
