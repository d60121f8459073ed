// ai.onnx.ml: linear models.
#include "base/cat.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/ml.h"

namespace relay::frontend {
namespace {

using namespace op;

// (rows, results) = x (rows, features) times the coefficients, a row of them for each result, plus
// the intercepts, if there are any.
Expr products(Node& n, int64_t results, const std::vector<double>& intercepts) {
  const std::vector<double> coefficients = real_list(n, "coefficients");
  const auto count = static_cast<int64_t>(coefficients.size());
  n.require(results > 0 && count > 0 && count % results == 0,
            "its attribute `coefficients` has not as many numbers for each result");
  Expr x = rows_at(n, 0);
  if (type_of(x).dtype != kFloat64) x = n.cast(x, kFloat32);
  // ONNX Runtime reads the first numbers of the list then, which belong to other results.
  const int64_t features = count / results;
  const Dim columns = type_of(x).dims.back();
  n.require(!columns.is_const() || columns.value() == features,
            cat("its attribute `coefficients` has ", features, " numbers for each of ", results,
                " results, but its input has ", show(columns), " columns"));
  const Expr weight = float_table(n, type_of(x).dtype, {results, features}, coefficients);
  const Expr y = n.call(kMatmul, {x, weight}, {{"transpose_b", true}});
  if (intercepts.empty()) return y;
  n.require(static_cast<int64_t>(intercepts.size()) == results,
            "its attribute `intercepts` has not one number for each result");
  return n.call(kAdd, {y, float_table(n, type_of(x).dtype, {results}, intercepts)});
}

// Runtimes do not agree on what transforms make of a single score, so it is refused.
void require_several(Node& n, int64_t results, PostTransform transform) {
  if (results == 1 && transform != PostTransform::kNone && transform != PostTransform::kProbit)
    n.unsupported(
        cat("post_transform=", n.text("post_transform", ""), " of a single target is not supported"),
        "apply the function by a node behind it");
}

Results linear_regressor(Node& n) {
  const int64_t targets = n.integer("targets", 1);
  const PostTransform transform = post_transform(n);
  require_several(n, targets, transform);
  return {n.cast(transformed(n, products(n, targets, real_list(n, "intercepts")), transform), kFloat32)};
}

// One row of coefficients for each label; or one row for two labels, where a positive score means
// the second one and the scores are 1 - s and s.
Results linear_classifier(Node& n) {
  const std::vector<double> intercepts = real_list(n, "intercepts");
  const ClassLabels labels = class_labels(n, "classlabels_ints");
  const PostTransform transform = post_transform(n);
  n.without_effect({"multi_class"});
  const auto results = static_cast<int64_t>(intercepts.size());
  n.require(results > 0, "its attribute `intercepts` is empty");
  const Expr scores = n.cast(products(n, results, intercepts), kFloat32);
  if (results > 1) {
    n.require(labels.count == intercepts.size(), "it has not one label for each row of coefficients");
    return {label_at(n, labels, largest_score(n, scores)), transformed(n, scores, transform)};
  }
  n.require(labels.count == 2, "one row of coefficients needs two labels");
  if (transform != PostTransform::kNone && transform != PostTransform::kLogistic)
    n.unsupported("a post_transform other than NONE and LOGISTIC of a single score is not supported");
  const Expr positive = n.call(kGreater, {n.squeeze(scores, {1}), n.scalar(kFloat32, 0)});
  const Expr second = transform == PostTransform::kLogistic ? n.call(kSigmoid, {scores}) : scores;
  const Expr first = n.call(kSubtract, {n.scalar(kFloat32, 1), second});
  return {label_where(n, labels, positive), n.concatenate({first, second}, 1)};
}

constexpr Row kRows[] = {
    {"ai.onnx.ml.LinearClassifier", 1, linear_classifier,
     "texts as labels that are used, transforms of a single score but LOGISTIC"},
    {"ai.onnx.ml.LinearRegressor", 1, linear_regressor, "transforms of a single target but PROBIT"},
};

}  // namespace

std::span<const Row> ml_linear_rows() { return kRows; }

}  // namespace relay::frontend
