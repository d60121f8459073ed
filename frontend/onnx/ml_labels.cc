// ai.onnx.ml: LabelEncoder, a table from numbers to numbers.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/cat.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/ml.h"

namespace relay::frontend {
namespace {

using namespace op;

// The list of an encoder: `keys` or `values`, in one of its forms. Null if it has none.
std::optional<Tensor> list_of(Node& n, std::string_view what) {
  if (n.attribute(cat(what, "_strings"))) {
    n.unsupported(cat("its labels are texts: `", what, "_strings`"),
                  what == "keys" ? "encode the texts before the model runs, and begin it with the codes"
                                 : "keep the texts beside the model, and let it give their places");
  }
  if (const auto* a = n.attribute(cat(what, "_tensor"))) {
    n.require(a->has_t(), cat("its attribute `", what, "_tensor` is no tensor"));
    return n.importer().tensor(a->t());
  }
  if (n.attribute(cat(what, "_int64s"))) {
    const std::vector<int64_t> list = whole_list(n, cat(what, "_int64s"));
    Tensor t(kInt64, {static_cast<int64_t>(list.size())});
    for (size_t i = 0; i < list.size(); ++i) t.set_int(static_cast<int64_t>(i), list[i]);
    return t;
  }
  if (!n.attribute(cat(what, "_floats"))) return std::nullopt;
  const std::vector<double> list = real_list(n, cat(what, "_floats"));
  return Tensor::of<double>(kFloat32, {static_cast<int64_t>(list.size())}, list);
}

Tensor default_of(Node& n, DType dtype) {
  n.without_effect({"default_string", "default_int64", "default_float"});  // those of other dtypes
  if (const auto* a = n.attribute("default_tensor")) {
    n.require(a->has_t(), "its attribute `default_tensor` is no tensor");
    const Tensor t = n.importer().tensor(a->t());
    n.require(t.size() == 1 && t.dtype() == dtype, "its attribute `default_tensor` is no value of its table");
    return t.reshaped({});
  }
  if (dtype.is_int()) return Tensor::scalar_int(dtype, n.integer("default_int64", -1));
  return Tensor::scalar(dtype, n.real("default_float", -0.0));
}

// The keys in order, the first of equal ones alone, and the value of NaN by itself.
struct Encoding {
  std::vector<int64_t> order;  // places of keys
  std::optional<int64_t> nan;
};

Encoding encoding_of(const Tensor& keys) {
  Encoding out;
  std::vector<int64_t> places(static_cast<size_t>(keys.size()));
  std::iota(places.begin(), places.end(), 0);
  const auto less = [&](int64_t a, int64_t b) {
    return keys.dtype().is_int() ? keys.get_int(a) < keys.get_int(b) : keys.get(a) < keys.get(b);
  };
  if (!keys.dtype().is_int()) {
    const auto is_nan = [&](int64_t i) { return std::isnan(keys.get(i)); };
    const auto first = std::find_if(places.begin(), places.end(), is_nan);
    if (first != places.end()) out.nan = *first;
    std::erase_if(places, is_nan);
  }
  std::stable_sort(places.begin(), places.end(), less);
  for (const int64_t i : places) {
    if (out.order.empty() || less(out.order.back(), i)) out.order.push_back(i);
  }
  return out;
}

Tensor picked(const Tensor& from, const std::vector<int64_t>& places) {
  Tensor out(from.dtype(), {static_cast<int64_t>(places.size())});
  for (size_t i = 0; i < places.size(); ++i) {
    const auto to = static_cast<int64_t>(i);
    if (from.dtype().is_int()) {
      out.set_int(to, from.get_int(places[i]));
    } else {
      out.set(to, from.get(places[i]));
    }
  }
  return out;
}

// Binary search for each element; what is not found there has the default.
Results label_encoder(Node& n) {
  const std::optional<Tensor> keys = list_of(n, "keys"), values = list_of(n, "values");
  n.require(keys && values, "it has no list of keys, or none of values");
  n.require(keys->rank() == 1 && values->rank() == 1 && keys->size() == values->size() && keys->size() > 0,
            "it has not one value for each key");
  const Expr x = n.input(0);
  n.require(type_of(x).dtype == keys->dtype(), "its keys have another dtype than its input");
  Builder& b = n.builder();
  const Expr otherwise = b.constant(default_of(n, values->dtype()));
  const Encoding encoding = encoding_of(*keys);
  Expr y = n.call(kFullLike, {n.cast(x, values->dtype()), otherwise});
  if (!encoding.order.empty()) {
    const Expr sorted = b.constant(picked(*keys, encoding.order)),
               results = b.constant(picked(*values, encoding.order));
    const Expr place = n.call(kSearchSorted, {sorted, x}, {{"dtype", DType(kInt32)}});
    const auto at = [&](Expr table) { return n.call(kTake, {table, place}, {{"axis", int64_t{0}}}); };
    y = n.call(kWhere, {n.call(kEqual, {at(sorted), x}), at(results), otherwise});
  }
  // Before version 4 NaN is equal to no key.
  if (encoding.nan && n.opset() >= 4) {
    const Expr value = b.constant(picked(*values, {*encoding.nan}).reshaped({}));
    y = n.call(kWhere, {n.call(kIsNan, {x}), value, y});
  }
  return {y};
}

Results encoder_of_texts(Node& n) {
  n.unsupported("its labels are texts: `classes_strings`",
                "encode the texts before the model runs, and begin it with the codes");
}

constexpr Row kRows[] = {
    {"ai.onnx.ml.LabelEncoder", 1, encoder_of_texts, "texts"},
    {"ai.onnx.ml.LabelEncoder", 2, label_encoder, "texts"},
};

}  // namespace

std::span<const Row> ml_label_rows() { return kRows; }

}  // namespace relay::frontend
