// Shape arithmetic: what is known of the results of a node while the model is imported.
//
// Exporters compute shapes in the model: Shape, Gather, Mul, Concat and on to a Reshape. All of
// that is evaluated here over dims, so that a dynamic axis goes through as a symbol, and what
// remains is a program with symbolic shapes.
#include <algorithm>
#include <functional>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/importer.h"

namespace relay::frontend {
namespace {

using Known = std::optional<IndexTensor>;
using Inputs = std::vector<IndexTensor>;

// Numbers that the dtype holds; others are left to the operator, which wraps.
bool fits(DType dtype, Dim d) {
  if (!d.is_const()) return true;
  const int64_t v = d.value();
  if (dtype.is_bool()) return v == 0 || v == 1;
  if (dtype.is_float()) return v >= -(int64_t{1} << 24) && v <= (int64_t{1} << 24);
  if (dtype.is_unsigned_int()) return v >= 0 && (dtype.bits >= 63 || v < (int64_t{1} << dtype.bits));
  return dtype.bits == 64 || (v >= -(int64_t{1} << (dtype.bits - 1)) && v < (int64_t{1} << (dtype.bits - 1)));
}

Known checked(IndexTensor t) {
  if (t.elements.size() > static_cast<size_t>(kMaxIndexElements)) return std::nullopt;
  for (Dim d : t.elements) {
    if (!fits(t.dtype, d)) return std::nullopt;
  }
  return t;
}

// Element by element, with numpy's broadcasting of two small tensors.
Known broadcast(const IndexTensor& a, const IndexTensor& b, DType dtype,
                const std::function<Dim(Dim, Dim)>& f) {
  const size_t rank = std::max(a.shape.size(), b.shape.size());
  const auto extent = [&](const Shape& s, size_t i) {
    return i + s.size() < rank ? 1 : s[i + s.size() - rank];
  };
  IndexTensor out{dtype, {}, {}};
  int64_t count = 1;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t x = extent(a.shape, i), y = extent(b.shape, i);
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out.shape.push_back(x == 1 ? y : x);
    count *= out.shape.back();
    if (count > kMaxIndexElements) return std::nullopt;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, at_a = 0, at_b = 0, step_a = 1, step_b = 1;
    for (size_t d = rank; d-- > 0;) {
      const int64_t index = rest % out.shape[d], x = extent(a.shape, d), y = extent(b.shape, d);
      rest /= out.shape[d];
      if (x != 1) at_a += index * step_a;
      if (y != 1) at_b += index * step_b;
      step_a *= x;
      step_b *= y;
    }
    out.elements.push_back(f(a.elements[static_cast<size_t>(at_a)], b.elements[static_cast<size_t>(at_b)]));
  }
  return checked(std::move(out));
}

// Is it never negative, whatever the extents are?
bool is_natural(Dim d) {
  return d.is_const() ? d.value() >= 0 : d.is_symbolic() && d.symbolic()->non_negative;
}

// Integer division truncates; over numbers that are never negative that is rounding down.
Dim divide(Dim a, Dim b) {
  if (!b.is_const() || b.value() == 0) return Dim::unknown();
  if (a.is_const()) return b.value() == -1 ? Dim(0) - a : Dim(a.value() / b.value());
  return b.value() > 0 && is_natural(a) ? floor_div(a, b) : Dim::unknown();
}

// Of numbers that are never negative all ways to round give one remainder.
Dim modulo(Dim a, Dim b) {
  return b.is_const() && b.value() > 0 && is_natural(a) ? floor_mod(a, b) : Dim::unknown();
}

Known arithmetic(Node& n, const Inputs& in) {
  // Before version 7 there were other rules of broadcasting.
  if (n.opset() < 7 && n.proto().attribute_size() > 0) return std::nullopt;
  if (in.size() != 2 || in[0].dtype != in[1].dtype || in[0].dtype.is_bool()) return std::nullopt;
  const std::string& op = n.proto().op_type();
  // A fraction would not be known; and symbols in floats are exact only while they are small,
  // which shapes are.
  if (in[0].dtype.is_float() && (op == "Div" || op == "Mod")) return std::nullopt;
  if (op == "Add") return broadcast(in[0], in[1], in[0].dtype, [](Dim a, Dim b) { return a + b; });
  if (op == "Sub") return broadcast(in[0], in[1], in[0].dtype, [](Dim a, Dim b) { return a - b; });
  if (op == "Mul") return broadcast(in[0], in[1], in[0].dtype, [](Dim a, Dim b) { return a * b; });
  if (op == "Div") return broadcast(in[0], in[1], in[0].dtype, divide);
  n.without_effect({"fmod"});  // of integers, the operator says the same
  if (op == "Mod") return broadcast(in[0], in[1], in[0].dtype, modulo);
  if (op == "Min") return broadcast(in[0], in[1], in[0].dtype, [](Dim a, Dim b) { return min(a, b); });
  return broadcast(in[0], in[1], in[0].dtype, [](Dim a, Dim b) { return max(a, b); });
}

// Is a < b, or a <= b, for all extents, or for none?
Dim is_less(Dim a, Dim b, bool or_equal) {
  const Dim difference = a - b;
  if (difference.is_unknown()) return Dim::unknown();
  if (difference.is_const()) return difference.value() < 0 || (or_equal && difference.value() == 0);
  const kernel::Expr zero = difference.symbolic()->pool->integer(0);
  const kernel::Expr holds =
      or_equal ? less_equal(difference.symbolic(), zero) : less(difference.symbolic(), zero);
  return holds->kind == kernel::ExprKind::kInt ? Dim(holds->int_value) : Dim::unknown();
}

Dim is_equal(Dim a, Dim b) {
  switch (prove_equal(a, b)) {
    case kernel::Proof::kProved: return 1;
    case kernel::Proof::kRefuted: return 0;
    default: return Dim::unknown();
  }
}

Known comparison(Node& n, const Inputs& in) {
  if (in.size() != 2 || (n.opset() < 7 && n.proto().attribute_size() > 0)) return std::nullopt;
  const std::string& op = n.proto().op_type();
  const auto compare = [&](Dim a, Dim b) -> Dim {
    if (op == "Equal") return is_equal(a, b);
    if (op == "Less") return is_less(a, b, false);
    if (op == "LessOrEqual") return is_less(a, b, true);
    return is_less(b, a, op == "GreaterOrEqual");
  };
  return broadcast(in[0], in[1], kBool, compare);
}

// Of bools, of which one may decide alone.
Known logic(Node& n, const Inputs& in) {
  if (in.size() != 2 || !in[0].dtype.is_bool() || !in[1].dtype.is_bool()) return std::nullopt;
  if (n.opset() < 7 && n.proto().attribute_size() > 0) return std::nullopt;
  const Dim decides = n.proto().op_type() == "Or" ? 1 : 0;
  return broadcast(in[0], in[1], kBool, [&](Dim a, Dim b) {
    if (a == decides || b == decides) return decides;
    return a.is_unknown() || b.is_unknown() ? Dim::unknown() : Dim(1) - decides;
  });
}

Known negated(Node& n, const Inputs& in) {
  if (in[0].dtype.is_float()) return std::nullopt;  // -0 is no whole number
  IndexTensor out = in[0];
  const std::string& op = n.proto().op_type();
  for (Dim& d : out.elements) {
    if (op == "Not") d = Dim(1) - d;
    if (op == "Neg" || (op == "Abs" && d.is_const() && d.value() < 0)) d = Dim(0) - d;
    if (op == "Abs" && !is_natural(d)) d = Dim::unknown();
  }
  return checked(std::move(out));
}

Known choice(Node&, const Inputs& in) {
  if (in.size() != 3) return std::nullopt;
  // Two steps, since only two tensors broadcast at a time: first the condition with one side,
  // then with the other.
  const Known first = broadcast(in[0], in[1], in[1].dtype, [](Dim, Dim b) { return b; });
  const Known second = broadcast(in[0], in[2], in[2].dtype, [](Dim, Dim b) { return b; });
  const Known chosen = broadcast(in[0], in[1], kInt64, [](Dim c, Dim) { return c; });
  if (!first || !second || !chosen || first->shape != second->shape || first->shape != chosen->shape)
    return std::nullopt;
  IndexTensor out = *first;
  for (size_t i = 0; i < out.elements.size(); ++i) {
    const Dim condition = chosen->elements[i], other = second->elements[i];
    if (condition == Dim(0)) out.elements[i] = other;
    if (condition.is_unknown() && out.elements[i] != other) out.elements[i] = Dim::unknown();
  }
  return out;
}

Known cast(Node& n, const Inputs& in) {
  if (n.opset() < 6) return std::nullopt;  // the dtype is a name
  const std::optional<DType> to = data::dtype_of_onnx(n.integer("to"));
  if (!to) return std::nullopt;
  IndexTensor out = in[0];
  out.dtype = *to;
  if (to->is_bool() && !out.constant()) return std::nullopt;
  if (to->is_float() && to->bits < 32) return std::nullopt;
  n.without_effect({"round_mode", "saturate"});  // they say how small floats are made
  if (to->is_bool()) {
    for (Dim& d : out.elements) d = d.value() != 0;
  }
  return checked(std::move(out));
}

Known same(Node&, const Inputs& in) { return in[0]; }

// Squeeze, Unsqueeze, Flatten, Reshape of what is known: the elements stay as they are.
Known reshaped(Node& n, const Inputs& in) {
  const std::string& op = n.proto().op_type();
  IndexTensor out = in[0];
  if (op == "Reshape") {
    if (in.size() != 2 || !in[1].constant() || n.integer("allowzero", 0) != 0) return std::nullopt;
    out.shape.clear();
    int64_t known = 1, hole = -1;
    for (size_t i = 0; i < in[1].elements.size(); ++i) {
      int64_t v = in[1].elements[i].value();
      if (v == 0 && i < in[0].shape.size()) v = in[0].shape[i];
      if (v == -1 && hole < 0) {
        hole = static_cast<int64_t>(i);
        v = 1;
      }
      if (v < 1 || v > kMaxIndexElements || (known *= v) > kMaxIndexElements) return std::nullopt;
      out.shape.push_back(v);
    }
    const auto count = static_cast<int64_t>(out.elements.size());
    if (hole >= 0 && count % known == 0) out.shape[static_cast<size_t>(hole)] = count / known;
    if (element_count(out.shape) != count) return std::nullopt;
    return out;
  }
  std::vector<int64_t> axes;
  if (n.opset() < 13) {
    axes = n.integers("axes");
  } else if (in.size() > 1 && in[1].constant()) {
    for (Dim d : in[1].elements) axes.push_back(d.value());
  } else if (n.has(1)) {
    return std::nullopt;
  }
  if (op == "Unsqueeze") {
    const size_t rank = out.shape.size() + axes.size();
    for (int64_t& a : axes) a = static_cast<int64_t>(n.axis(a, rank));
    std::sort(axes.begin(), axes.end());
    if (std::adjacent_find(axes.begin(), axes.end()) != axes.end()) return std::nullopt;
    for (int64_t a : axes) out.shape.insert(out.shape.begin() + a, 1);
    return out;
  }
  std::vector<bool> gone(out.shape.size(), axes.empty());
  for (int64_t a : axes) gone[n.axis(a, out.shape.size())] = true;
  Shape shape;
  for (size_t i = 0; i < out.shape.size(); ++i) {
    if (gone[i] && !axes.empty() && out.shape[i] != 1) return std::nullopt;
    if (!gone[i] || out.shape[i] != 1) shape.push_back(out.shape[i]);
  }
  out.shape = shape;
  return out;
}

Known gather(Node& n, const Inputs& in) {
  if (in.size() != 2 || in[0].shape.size() != 1 || !in[1].constant() || n.integer("axis", 0) != 0)
    return std::nullopt;
  IndexTensor out{in[0].dtype, in[1].shape, {}};
  const auto extent = static_cast<int64_t>(in[0].elements.size());
  for (Dim d : in[1].elements) {
    const int64_t i = d.value() < 0 ? d.value() + extent : d.value();
    if (i < 0 || i >= extent) return std::nullopt;
    out.elements.push_back(in[0].elements[static_cast<size_t>(i)]);
  }
  return out;
}

Known concat(Node& n, const Inputs& in) {
  if (in[0].shape.size() == 1) n.axis(n.integer("axis", 0), 1);  // there is only one
  IndexTensor out{in[0].dtype, {0}, {}};
  for (const IndexTensor& t : in) {
    if (t.shape.size() != 1 || t.dtype != out.dtype) return std::nullopt;
    out.elements.insert(out.elements.end(), t.elements.begin(), t.elements.end());
  }
  out.shape[0] = static_cast<int64_t>(out.elements.size());
  return checked(std::move(out));
}

Known slice(Node& n, const Inputs& in) {
  if (in[0].shape.size() != 1) return std::nullopt;
  const auto extent = static_cast<int64_t>(in[0].elements.size());
  int64_t begin = 0, end = 0, step = 1, axis = 0;
  const auto one = [](const std::vector<int64_t>& list, int64_t& to) {
    if (list.size() == 1) to = list[0];
    return list.size() <= 1;
  };
  if (n.opset() < 10) {
    if (!one(n.integers("starts"), begin) || !one(n.integers("ends"), end) || !one(n.integers("axes"), axis))
      return std::nullopt;
  } else {
    const auto read = [&](size_t i, int64_t& to) {
      if (!n.has(i)) return i > 2;
      const std::optional<Tensor> t = n.known(i);
      if (!t || t->size() != 1 || !t->dtype().is_int()) return false;
      to = t->get_int(0);
      return true;
    };
    if (!read(1, begin) || !read(2, end) || !read(3, axis) || !read(4, step)) return std::nullopt;
  }
  if ((axis != 0 && axis != -1) || step == 0 || step == INT64_MIN) return std::nullopt;
  const auto bound = [&](int64_t v, int64_t low, int64_t high) {
    return std::clamp(v < 0 && v >= -extent ? v + extent : v, low, high);
  };
  IndexTensor out{in[0].dtype, {0}, {}};
  if (step > 0) {
    for (int64_t i = bound(begin, 0, extent), stop = bound(end, 0, extent); i < stop;
         i += std::min(step, extent)) {
      out.elements.push_back(in[0].elements[static_cast<size_t>(i)]);
    }
  } else {
    // A start before the first element is the first element, if there is one.
    for (int64_t i = bound(begin, extent > 0 ? 0 : -1, extent - 1),
                 stop = end < -extent ? -1 : bound(end, -1, extent - 1);
         i > stop; i += std::max(step, -extent)) {
      out.elements.push_back(in[0].elements[static_cast<size_t>(i)]);
    }
  }
  out.shape[0] = static_cast<int64_t>(out.elements.size());
  return out;
}

Known constant_of_shape(Node& n, const Inputs& in) {
  if (!in[0].constant() || in[0].shape.size() != 1 || in[0].elements.size() > data::kMaxRank)
    return std::nullopt;
  const auto* a = n.attribute("value");
  if (!a || !a->has_t()) return std::nullopt;  // zeros of float32 are no index
  if (data::storage_of_onnx(a->t().data_type())) return std::nullopt;
  const Tensor value = n.importer().tensor(a->t());
  const Known one = value.size() == 1 ? index_of(value) : std::nullopt;
  if (!one) return std::nullopt;
  IndexTensor out{one->dtype, {}, {}};
  int64_t count = 1;
  for (Dim d : in[0].elements) {
    out.shape.push_back(d.value());
    if (d.value() < 0 || d.value() > kMaxIndexElements || (count *= d.value()) > kMaxIndexElements)
      return std::nullopt;
  }
  out.elements.assign(static_cast<size_t>(count), one->elements[0]);
  return out;
}

Known range(Node&, const Inputs& in) {
  if (in.size() != 3) return std::nullopt;
  for (const IndexTensor& t : in) {
    if (!t.constant() || t.elements.size() != 1 || !t.dtype.is_int()) return std::nullopt;
  }
  const int64_t begin = in[0].elements[0].value(), end = in[1].elements[0].value(),
                step = in[2].elements[0].value();
  constexpr int64_t kFar = int64_t{1} << 40;  // so that nothing overflows
  if (step == 0 || std::abs(begin) > kFar || std::abs(end) > kFar || std::abs(step) > kFar)
    return std::nullopt;
  IndexTensor out{in[0].dtype, {0}, {}};
  for (int64_t i = begin; step > 0 ? i < end : i > end; i += step) {
    if (out.elements.size() == static_cast<size_t>(kMaxIndexElements)) return std::nullopt;
    out.elements.emplace_back(i);
  }
  out.shape[0] = static_cast<int64_t>(out.elements.size());
  return checked(std::move(out));
}

// All elements of a vector.
Known reduced(Node& n, const Inputs& in) {
  if (in[0].shape.size() != 1 || in[0].dtype != kInt64 || in[0].elements.empty()) return std::nullopt;
  n.without_effect({"axes"});  // there is only one
  if (n.integer("noop_with_empty_axes", 0) != 0) return std::nullopt;
  const std::string& op = n.proto().op_type();
  const std::vector<Dim>& elements = in[0].elements;
  Dim all = elements[0];
  for (Dim d : std::span(elements).subspan(1)) {
    all = op == "ReduceProd"  ? all * d
          : op == "ReduceSum" ? all + d
          : op == "ReduceMax" ? max(all, d)
                              : min(all, d);
  }
  const Shape shape = n.integer("keepdims", 1) != 0 ? Shape{1} : Shape{};
  return checked({in[0].dtype, shape, {all}});
}

Known expand(Node&, const Inputs& in) {
  if (in.size() != 2 || !in[1].constant() || in[1].shape.size() != 1) return std::nullopt;
  IndexTensor to{kInt64, {}, {}};
  int64_t count = 1;
  for (Dim d : in[1].elements) {
    to.shape.push_back(d.value());
    if (d.value() < 1 || d.value() > kMaxIndexElements || (count *= d.value()) > kMaxIndexElements)
      return std::nullopt;
  }
  to.elements.assign(static_cast<size_t>(count), Dim(0));
  return broadcast(in[0], to, in[0].dtype, [](Dim a, Dim) { return a; });
}

struct Rule {
  std::string_view name;
  Known (*evaluate)(Node& n, const Inputs& in);
};
constexpr Rule kRules[] = {
    {"Abs", negated},
    {"Add", arithmetic},
    {"And", logic},
    {"Cast", cast},
    {"Ceil", same},
    {"Concat", concat},
    {"ConstantOfShape", constant_of_shape},
    {"Div", arithmetic},
    {"Equal", comparison},
    {"Expand", expand},
    {"Floor", same},
    {"Gather", gather},
    {"Greater", comparison},
    {"GreaterOrEqual", comparison},
    {"Identity", same},
    {"Less", comparison},
    {"LessOrEqual", comparison},
    {"Max", arithmetic},
    {"Min", arithmetic},
    {"Mod", arithmetic},
    {"Mul", arithmetic},
    {"Neg", negated},
    {"Not", negated},
    {"Or", logic},
    {"Range", range},
    {"ReduceMax", reduced},
    {"ReduceMin", reduced},
    {"ReduceProd", reduced},
    {"ReduceSum", reduced},
    {"Reshape", reshaped},
    {"Round", same},
    {"Slice", slice},
    {"Squeeze", reshaped},
    {"Sub", arithmetic},
    {"Unsqueeze", reshaped},
    {"Where", choice},
};

// The extents of an input.
Known shape_of(Node& n) {
  if (!n.has(0)) return std::nullopt;
  std::vector<Dim> dims;
  if (const Operand& x = n.operand(0); !x.expr) {
    for (int64_t extent : x.index->shape) dims.emplace_back(extent);
  } else {
    dims = dims_of(n.input(0));
  }
  if (n.proto().op_type() == "Size") {
    Dim all = 1;
    for (Dim d : dims) all = all * d;
    return IndexTensor{kInt64, {}, {all}};
  }
  const auto rank = static_cast<int64_t>(dims.size());
  const auto bound = [&](std::string_view name, int64_t otherwise) {
    const int64_t v = n.integer(name, otherwise);
    return std::clamp<int64_t>(v < 0 && v >= -rank ? v + rank : v, 0, rank);
  };
  const int64_t begin = bound("start", 0), end = std::max(begin, bound("end", rank));
  return IndexTensor{kInt64, {end - begin}, {dims.begin() + begin, dims.begin() + end}};
}

// A vector of integers of which only the length is known: others that it is joined
// with may be known.
Known unknown_numbers(Node& n, size_t i) {
  const Expr e = n.has(i) ? n.operand(i).expr : nullptr;
  const auto* t = e && e->type ? e->type->as<TensorType>() : nullptr;
  if (!t || t->rank() > 1 || t->dtype.is_float()) return std::nullopt;
  const std::optional<Shape> shape = t->static_shape();
  const std::optional<int64_t> count = shape ? element_count(*shape) : std::nullopt;
  if (!count || *count == 0 || *count > kMaxIndexElements) return std::nullopt;
  return IndexTensor{t->dtype, *shape, std::vector<Dim>(static_cast<size_t>(*count), Dim::unknown())};
}

}  // namespace

std::optional<std::vector<IndexTensor>> evaluate_index(Node& n) {
  // Another domain's operator of the same name may mean something else.
  if (!is_of_onnx(n.proto())) return std::nullopt;
  const std::string& name = n.proto().op_type();
  Known result;
  bool guessed = false;
  if (name == "Shape" || name == "Size") {
    result = shape_of(n);
  } else {
    const auto* rule =
        std::find_if(std::begin(kRules), std::end(kRules), [&](const Rule& r) { return r.name == name; });
    if (rule == std::end(kRules) || n.inputs() == 0) return std::nullopt;
    Inputs in;
    for (size_t i = 0; i < n.inputs(); ++i) {
      // Slice reads its bounds itself: they may be larger than a dim can say.
      if (name == "Slice" && i > 0) break;
      Known t = n.index(i);
      if (!t) {
        t = unknown_numbers(n, i);
        guessed = true;
      }
      if (!t) return std::nullopt;
      in.push_back(std::move(*t));
    }
    result = rule->evaluate(n, in);
  }
  if (!result) return std::nullopt;
  // A model can multiply symbols with each other until a dim has millions of terms. An element that
  // is no longer a dim is not known, and the model computes it.
  for (Dim& d : result->elements) d = d.is_too_complex() ? Dim::unknown() : d;
  const bool says_nothing =
      std::all_of(result->elements.begin(), result->elements.end(), [](Dim d) { return d.is_unknown(); });
  if (guessed && says_nothing) return std::nullopt;
  return std::vector<IndexTensor>{std::move(*result)};
}

}  // namespace relay::frontend
