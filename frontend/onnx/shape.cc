// Shapes and constants: what a tensor looks like, and tensors made of nothing.
#include <algorithm>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/computed.h"
#include "frontend/onnx/computed_axes.h"
#include "frontend/onnx/importer.h"

namespace relay::frontend {
namespace {

using namespace op;

bool any_unknown(const std::vector<Dim>& dims) {
  return std::any_of(dims.begin(), dims.end(), [](Dim d) { return d.is_unknown(); });
}

// The extent that -1 stands for: what is left of `from` when the factors it shares with
// `given` are gone.
Dim inferred(std::vector<Dim> from, const std::vector<Dim>& given) {
  const Dim exact = exact_quotient(product(from), product(given));
  if (!exact.is_unknown()) return exact;
  Dim divisor = 1;
  for (Dim d : given) {
    const auto same = std::find(from.begin(), from.end(), d);
    if (same != from.end()) {
      from.erase(same);
    } else {
      divisor = divisor * d;
    }
  }
  return divisor == Dim(1) ? product(from) : floor_div(product(from), divisor);
}

Results reshape(Node& n) {
  const bool zero_is_zero = n.integer("allowzero", 0) != 0;
  const Expr x = n.input(0);
  const std::vector<Dim> from = dims_of(x);
  std::optional<IndexTensor> wanted = n.index(1);
  if (!wanted) return {reshape_computed(n, zero_is_zero)};
  n.require(wanted->shape.size() == 1 && wanted->dtype.is_int(), "its shape must be a list of integers");
  std::vector<Dim> dims = wanted->elements;
  for (Dim d : dims) n.require(!d.is_const() || d.value() >= -1, "its shape has a negative extent");
  // A single extent that is not known can be inferred from the others.
  if (std::count_if(dims.begin(), dims.end(), [](Dim d) { return d.is_unknown() || d == Dim(-1); }) == 1) {
    std::replace(dims.begin(), dims.end(), Dim::unknown(), Dim(-1));
  }
  if (any_unknown(dims)) return {reshape_computed(n, zero_is_zero)};
  if (std::all_of(dims.begin(), dims.end(), [](Dim d) { return d.is_const(); })) {
    return {n.call(kReshape, {x}, {{"newshape", dims}, {"allowzero", zero_is_zero}})};
  }
  std::optional<size_t> hole;
  std::vector<Dim> given;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == Dim(0) && !zero_is_zero) {
      n.require(i < from.size(), "its shape has a 0 for a dimension that its input does not have");
      dims[i] = from[i];
    }
    if (dims[i] == Dim(-1)) {
      n.require(!hole, "its shape has more than one -1");
      hole = i;
    } else {
      given.push_back(dims[i]);
    }
  }
  if (any_unknown(from)) return {n.call(kReshape, {x}, {{"newshape", dims}})};
  if (hole) dims[*hole] = inferred(from, given);
  return {n.reshape(x, dims)};
}

Results flatten(Node& n) {
  const Expr x = n.input(0);
  const std::vector<Dim> dims = dims_of(x);
  const int64_t given = n.integer("axis", 1);
  const size_t axis = given == static_cast<int64_t>(dims.size()) ? dims.size() : n.axis(given, dims.size());
  if (any_unknown(dims)) {
    if (axis == 1) return {n.call(kReshape, {x}, {{"newshape", std::vector<int64_t>{0, -1}}})};
    n.unsupported("the shape of its input depends on the data");
  }
  Dim rows = 1, columns = 1;
  for (size_t i = 0; i < dims.size(); ++i)
    (i < axis ? rows : columns) = (i < axis ? rows : columns) * dims[i];
  return {n.reshape(x, {rows, columns})};
}

// The axes of Squeeze and Unsqueeze: an input from version 13 on, and an attribute before.
std::optional<std::vector<int64_t>> axes_of(Node& n) {
  if (n.opset() < 13) {
    if (!n.attribute("axes")) return std::nullopt;
    return n.integers("axes");
  }
  if (!n.has(1)) return std::nullopt;
  return n.constant_ints(1, "axes");
}

// Does only a run tell the axes?
bool computed_axes(Node& n) { return n.opset() >= 13 && n.has(1) && !n.known(1); }

Results squeeze(Node& n) {
  const Expr x = n.input(0);
  if (computed_axes(n)) return {squeeze_computed(n, x)};
  const std::vector<Dim> dims = dims_of(x);
  std::optional<std::vector<int64_t>> axes = axes_of(n);
  if (!axes) return {squeeze_ones(n, x)};
  for (int64_t& a : *axes) a = static_cast<int64_t>(n.axis(a, dims.size()));
  return {axes->empty() ? x : n.squeeze(x, *axes)};
}

Results unsqueeze(Node& n) {
  if (computed_axes(n)) return {unsqueeze_computed(n)};
  std::optional<std::vector<int64_t>> axes = axes_of(n);
  if (!axes) n.invalid("its axes are missing");
  Expr x = n.input(0);
  const size_t rank = type_of(x).rank() + axes->size();
  n.require(rank <= data::kMaxRank, "its result has too many dimensions");
  for (int64_t& a : *axes) a = static_cast<int64_t>(n.axis(a, rank));
  std::sort(axes->begin(), axes->end());
  n.require(std::adjacent_find(axes->begin(), axes->end()) == axes->end(), "its axes name one twice");
  for (int64_t a : *axes) x = n.expand_dims(x, a);
  return {x};
}

Results shape(Node& n) {
  const Expr whole = n.call(kShapeOf, {n.input(0)}, {{"dtype", kInt64}});
  if (!n.attribute("start") && !n.attribute("end")) return {whole};
  const auto rank = static_cast<int64_t>(n.rank(0));
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    const int64_t v = n.integer(name, otherwise);
    return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank);
  };
  const int64_t begin = bound("start", 0);
  return {n.slice(whole, 0, begin, std::max(begin, bound("end", rank)))};
}

Results size(Node& n) { return {n.call(kNdarraySize, {n.input(0)}, {{"dtype", kInt64}})}; }

Results identity(Node& n) { return {n.input(0)}; }

Results constant(Node& n) {
  const auto list = [&](DType dtype, Shape shape, const auto& values) {
    Tensor t(dtype, std::move(shape));
    int64_t i = 0;
    for (auto v : values) {
      if (dtype.is_float()) {
        t.set(i++, static_cast<double>(v));
      } else {
        t.set_int(i++, static_cast<int64_t>(v));
      }
    }
    return Results{n.builder().constant(std::move(t))};
  };
  if (const auto* a = n.attribute("value")) {
    n.require(a->has_t(), "its attribute `value` is not a tensor");
    n.store(0, data::storage_of_onnx(a->t().data_type()));
    return {n.builder().constant(n.importer().carrier(a->t()))};
  }
  if (n.attribute("value_float")) return list(kFloat32, {}, std::vector<double>{n.real("value_float", 0)});
  if (n.attribute("value_int")) return list(kInt64, {}, std::vector<int64_t>{n.integer("value_int", 0)});
  if (const auto* a = n.attribute("value_floats")) return list(kFloat32, {a->floats_size()}, a->floats());
  if (const auto* a = n.attribute("value_ints")) return list(kInt64, {a->ints_size()}, a->ints());
  for (const char* name : {"value_string", "value_strings"}) {
    if (n.attribute(name))
      n.unsupported("its value is a tensor of strings, which is not supported",
                    "keep the texts beside the model, and begin it where numbers are made of them");
  }
  if (n.attribute("sparse_value"))
    n.unsupported("its attribute `sparse_value` is not supported", "only dense tensors of numbers are");
  n.invalid("it has no value");
}

Tensor value_of(Node& n) {
  const auto* a = n.attribute("value");
  if (!a) return Tensor::scalar(kFloat32, 0);
  n.require(a->has_t(), "its attribute `value` is not a tensor");
  const Tensor t = n.importer().carrier(a->t());
  n.store(0, data::storage_of_onnx(a->t().data_type()));
  n.require(t.size() == 1, "its attribute `value` must have one element");
  return t.reshaped({});
}

Results constant_of_shape(Node& n) {
  const Tensor value = value_of(n);
  const std::optional<std::vector<Dim>> known = n.known_dims(0, "shape");
  if (!known) return {fill_computed(n, value)};
  const std::vector<Dim>& dims = *known;
  return {n.call(kFull, {n.builder().constant(value)}, {{"shape", dims}, {"dtype", value.dtype()}})};
}

Results range(Node& n) {
  const DType dtype = n.dtype(0);
  const std::optional<IndexTensor> first = n.index(0), last = n.index(1), step = n.index(2);
  const auto whole = [&](const std::optional<IndexTensor>& t) {
    return t && t->elements.size() == 1 && t->complete();
  };
  if (dtype.is_int() && whole(first) && whole(last) && whole(step) && step->constant() &&
      step->elements[0].value() > 0) {
    // As many elements as the dims say, so that the type says how many.
    const Dim by = step->elements[0], begin = first->elements[0];
    const Dim count = max(ceil_div(last->elements[0] - begin, by), Dim(0));
    Expr e = n.places({count}, 0, dtype);
    if (by != Dim(1)) e = n.call(kMultiply, {e, n.reshape(n.input(2), {})});
    if (begin != Dim(0)) e = n.call(kAdd, {e, n.reshape(n.input(0), {})});
    return {e};
  }
  return {n.call(kArange, {n.reshape(n.input(0), {}), n.reshape(n.input(1), {}), n.reshape(n.input(2), {})},
                 {{"dtype", dtype}})};
}

Results expand(Node& n) {
  const Expr x = n.input(0);
  std::optional<std::vector<Dim>> known = n.known_dims(1, "shape");
  if (!known) return {expand_computed(n)};
  std::vector<Dim> from = dims_of(x), to = std::move(*known);
  if (from.size() < to.size()) from.insert(from.begin(), to.size() - from.size(), Dim(1));
  if (to.size() < from.size()) to.insert(to.begin(), from.size() - to.size(), Dim(1));
  for (size_t i = 0; i < to.size(); ++i) to[i] = expanded(n, from[i], to[i]);
  if (to == dims_of(x)) return {x};
  if (any_unknown(to)) return {expand_computed(n)};
  return {n.call(kBroadcastTo, {x}, {{"shape", to}})};
}

// Row and column numbers of the matrices that the last two axes are.
std::pair<Expr, Expr> positions(Node& n, Dim rows, Dim columns) {
  if (rows.is_unknown() || columns.is_unknown()) n.unsupported("the shape of its input depends on the data");
  const std::vector<Dim> shape{rows, columns};
  return {n.places(shape, 0), n.places(shape, 1)};
}

Results triangle(Node& n) {
  const Expr x = n.input(0);
  const TensorType& t = type_of(x);
  n.require(t.rank() >= 2, "its input must have at least two dimensions");
  const Expr diagonal = n.has(1) ? n.reshape(n.input(1), {}) : n.scalar(kInt64, 0);
  return {n.call(kTrilu, {x, diagonal}, {{"upper", n.integer("upper", 1) != 0}})};
}

Results eye_like(Node& n) {
  const TensorType& t = n.tensor(0);
  n.require(t.rank() == 2, "its input must be a matrix");
  const auto [row, column] = positions(n, t.dims[0], t.dims[1]);
  DType dtype = t.dtype;
  if (n.attribute("dtype")) {
    const std::optional<DType> asked = data::dtype_of_onnx(n.integer("dtype", 0));
    if (!asked) n.unsupported("its dtype is not supported");
    dtype = *asked;
  }
  const int64_t k = n.integer("k", 0);
  const Expr diagonal = n.call(kAdd, {row, n.builder().constant(Tensor::scalar_int(kInt64, k))});
  return {n.cast(n.call(kEqual, {column, diagonal}), dtype)};
}

constexpr Row kRows[] = {
    {"Constant", 1, constant, "strings, sparse tensors"},
    {"ConstantOfShape", 9, constant_of_shape},
    {"Expand", 8, expand},
    {"EyeLike", 9, eye_like},
    {"Flatten", 1, flatten},
    {"Identity", 1, identity},
    {"Range", 11, range},
    {"Reshape", 5, reshape},
    {"Shape", 1, shape},
    {"Size", 1, size},
    {"Squeeze", 1, squeeze},
    {"Trilu", 14, triangle},
    {"Unsqueeze", 1, unsqueeze},
};

}  // namespace

std::span<const Row> shape_rows() { return kRows; }

}  // namespace relay::frontend
