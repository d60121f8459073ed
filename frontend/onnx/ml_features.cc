// ai.onnx.ml: numbers of features, one by one.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/cat.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/ml.h"

namespace relay::frontend {
namespace {

using namespace op;

// Columns of the last axis. A position out of range traps.
Results array_feature_extractor(Node& n) {
  Expr x = n.input(0);
  if (type_of(x).rank() == 1) x = n.expand_dims(x, 0);
  n.require(type_of(x).rank() > 0, "its input must have at least one dimension");
  const Expr places = n.call(kReshape, {n.input(1)}, {{"newshape", std::vector<int64_t>{-1}}});
  const int64_t last = static_cast<int64_t>(type_of(x).rank()) - 1;
  return {n.call(kTake, {x, places}, {{"axis", last}, {"mode", std::string("fast")}})};
}

Results binarizer(Node& n) {
  const Expr x = n.input(0);
  const DType dtype = type_of(x).dtype;
  if (!dtype.is_float()) n.unsupported("its input has no floats", "cast it to float32");
  return {n.cast(n.call(kGreater, {x, n.scalar(dtype, n.real("threshold", 0))}), dtype)};
}

// Tensors side by side, each cut or filled with zeros to the width that the attribute says.
Results feature_vectorizer(Node& n) {
  const std::vector<int64_t> widths = n.integers("inputdimensions");
  n.require(widths.size() == n.inputs() && !widths.empty(),
            "its attribute `inputdimensions` has not one number for each input");
  std::vector<Expr> parts;
  for (size_t i = 0; i < n.inputs(); ++i) {
    Expr x = n.cast(rows_at(n, i), kFloat32);
    const Dim own = type_of(x).dims[1];
    n.require(widths[i] >= 0 && widths[i] < (int64_t{1} << 31),
              "its attribute `inputdimensions` is out of range");
    if (!own.is_const())
      n.unsupported("the number of its features must be known", "fix the dynamic axis with --input-shapes");
    if (own.value() > widths[i]) x = n.slice(x, 1, 0, widths[i]);
    parts.push_back(x);
    if (own.value() < widths[i]) {
      const std::vector<Dim> rest{type_of(x).dims[0], Dim(widths[i] - own.value())};
      parts.push_back(n.call(kZeros, std::span<const Expr>(), {{"shape", rest}, {"dtype", DType(kFloat32)}}));
    }
  }
  return {n.concatenate(parts, 1)};
}

// One value, or NaN, replaced by a number for all features or one for each.
Results imputer(Node& n) {
  const Expr x = n.input(0);
  const DType dtype = type_of(x).dtype;
  std::vector<double> values;
  Expr replaced;
  n.without_effect({"imputed_value_floats", "replaced_value_float", "imputed_value_int64s",
                    "replaced_value_int64"});  // those of the other dtype
  if (dtype.is_float()) {
    values = real_list(n, "imputed_value_floats");
    const double value = n.real("replaced_value_float", 0);
    replaced = std::isnan(value) ? n.call(kIsNan, {x}) : n.call(kEqual, {x, n.scalar(dtype, value)});
    return {n.call(kWhere, {replaced, by_feature(n, x, values, "imputed_value_floats"), x})};
  }
  const std::vector<int64_t> numbers = whole_list(n, "imputed_value_int64s");
  const TensorType& t = type_of(x);
  const auto count = static_cast<int64_t>(numbers.size());
  n.require(count > 0 && t.rank() > 0 && dtype.is_int(),
            "its input and its attribute `imputed_value_int64s` do not fit");
  const Dim features = t.dims[t.rank() - 1];
  n.require(count == 1 || !features.is_const() || features == Dim(count),
            "its attribute `imputed_value_int64s` has not one number for each feature");
  const Expr value = n.builder().constant(Tensor::scalar_int(dtype, n.integer("replaced_value_int64", 0)));
  const Expr table = n.ints(numbers, dtype);
  return {n.call(kWhere, {n.call(kEqual, {x, value}), count == 1 ? n.reshape(table, {}) : table, x})};
}

// max, |x| or x^2 over the features; a row of zeros stays one.
Results normalizer(Node& n) {
  const Expr x = n.cast(n.input(0), kFloat32);
  n.require(type_of(x).rank() == 1 || type_of(x).rank() == 2, "its input must have one or two dimensions");
  const std::string norm = n.text("norm", "MAX");
  n.require(norm == "MAX" || norm == "L1" || norm == "L2", "its attribute `norm` is none of MAX, L1 and L2");
  const std::vector<AttrArg> row{{"axis", std::vector<int64_t>{-1}}, {"keepdims", true}};
  const Expr by = norm == "MAX"  ? n.call(kMax, {x}, row)
                  : norm == "L1" ? n.call(kSum, {n.call(kAbs, {x})}, row)
                                 : n.call(kSqrt, {n.call(kSum, {n.call(kMultiply, {x, x})}, row)});
  const Expr none = n.call(kEqual, {by, n.scalar(kFloat32, 0)});
  return {n.call(kWhere, {none, x, n.call(kDivide, {x, by})})};
}

// (x - offset) * scale
Results scaler(Node& n) {
  const Expr x = n.cast(n.input(0), kFloat32);
  const std::vector<double> offset = real_list(n, "offset"), scale = real_list(n, "scale");
  n.require(offset.size() == scale.size(), "its attributes `offset` and `scale` have different lengths");
  const Expr moved = n.call(kSubtract, {x, by_feature(n, x, offset, "offset")});
  return {n.call(kMultiply, {moved, by_feature(n, x, scale, "scale")})};
}

// A new last axis with 1 at the category's place. With zeros=0 an unknown category traps.
Results one_hot_encoder(Node& n) {
  if (n.attribute("cats_strings")) n.unsupported("its categories are texts", "encode them as integers");
  const std::vector<int64_t> categories = whole_list(n, "cats_int64s");
  n.require(!categories.empty(), "it has no categories");
  if (std::set(categories.begin(), categories.end()).size() != categories.size())
    n.unsupported("it has a category twice");
  const int64_t rank = static_cast<int64_t>(n.rank(0));
  const Expr x = n.expand_dims(n.cast(n.input(0), kInt64), rank);
  const Expr is = n.call(kEqual, {x, n.ints(categories)});
  if (n.integer("zeros", 1) != 0) return {n.cast(is, kFloat32)};
  const Expr known = n.call(kAny, {is}, {{"axis", std::vector<int64_t>{-1}}});
  const Expr place = n.call(kWhere, {known, n.scalar(kInt32, 0), n.scalar(kInt32, 1)});
  const std::vector<AttrArg> trapping{{"axis", int64_t{0}}, {"mode", std::string("fast")}};
  const Expr one = n.call(kTake, {float_table(n, kFloat32, {1}, {1}), place}, trapping);
  return {n.call(kMultiply, {n.cast(is, kFloat32), n.expand_dims(one, rank)})};
}

// Rows that a label names are a map outside of graphs; here they stay the tensor that they are.
Results zip_map(Node& n) {
  n.without_effect({"classlabels_int64s", "classlabels_strings"});
  n.importer()
      .diagnostics()
      .warning(n.importer().span_of(n.proto()), "unsupported-operator-form",
               "the maps of `ZipMap` are imported as the tensor of their values")
      .note("column i holds the values of label i");
  return {n.input(0)};
}

constexpr auto kRemedy = "convert texts and maps to tensors of numbers before the model";
Results maps(Node& n) { n.unsupported("maps are not supported", kRemedy); }
Results texts(Node& n) { n.unsupported("texts are not supported", kRemedy); }

constexpr Row kRows[] = {
    {"ai.onnx.ml.ArrayFeatureExtractor", 1, array_feature_extractor},
    {"ai.onnx.ml.Binarizer", 1, binarizer},
    {"ai.onnx.ml.CastMap", 1, maps, "all forms: maps"},
    {"ai.onnx.ml.CategoryMapper", 1, texts, "all forms: texts"},
    {"ai.onnx.ml.DictVectorizer", 1, maps, "all forms: maps"},
    {"ai.onnx.ml.FeatureVectorizer", 1, feature_vectorizer},
    {"ai.onnx.ml.Imputer", 1, imputer},
    {"ai.onnx.ml.Normalizer", 1, normalizer},
    {"ai.onnx.ml.OneHotEncoder", 1, one_hot_encoder, "texts"},
    {"ai.onnx.ml.Scaler", 1, scaler},
    {"ai.onnx.ml.ZipMap", 1, zip_map},
};

}  // namespace

std::span<const Row> ml_feature_rows() { return kRows; }

}  // namespace relay::frontend
