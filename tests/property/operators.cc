// Operator calls: a tensor of a wanted type from operands whose types are worked out backwards.
//
// Every call is shown to the operator's own relation before its operands are made, so that what
// comes out is well typed by definition and a wrong guess costs nothing.
#include <algorithm>
#include <numeric>

#include "op/apply.h"
#include "op/registry.h"
#include "op/relation.h"
#include "tests/property/generator.h"

namespace relay::property {

Expr Generator::apply(std::string_view name, const std::vector<Type>& args, const std::vector<AttrArg>& attrs,
                      Type result, int depth, std::optional<uint32_t> field) {
  const op::OpDef& def = *op::find(name);
  const Attrs interned = context_.attrs(attrs);
  try {
    op::Relation relation(context_, args);
    Type found = def.relate(relation, interned);
    // Shapes that are compared when the program runs mostly turn out to differ.
    if (!relation.checks().empty() && !in_.once_in(16)) return nullptr;
    if (field) {
      const auto* tuple = found->as<TupleType>();
      found = tuple && *field < tuple->fields.size() ? tuple->fields[*field] : nullptr;
    }
    if (found != result) return nullptr;
  } catch (const op::RelationError&) {
    return nullptr;
  }
  std::vector<Expr> operands;
  for (Type arg : args) operands.push_back(expr(arg, depth - 1));
  Expr call = b_.call(b_.op(def), operands, interned);
  return field ? b_.proj(call, *field) : call;
}

Expr Generator::operation(const TensorType& t, int depth) {
  switch (in_.below(16)) {
    case 4:
    case 5: return reduction(t, depth);
    case 6:
    case 7: return movement(t, depth);
    case 8: return product(t, depth);
    case 9:
    case 10: return joined(t, depth);
    case 11: return conversion(t, depth);
    case 12: return fill(t);
    case 13: return may_trap(t, depth);
    case 14: return about_shapes(t, depth);
    case 15:
      return apply("where", {narrower(*context_.tensor_type(t.dims, kBool)), &t, narrower(t)}, {}, &t, depth);
    default: return t.dtype.is_bool() ? truth(t, depth) : elementwise(t, depth);
  }
}

// Of a type parameter: what its relations allow.
Expr Generator::operation_on_numbers(Type t, int depth) {
  static const std::vector<std::string> kBinary{"add", "multiply", "maximum", "subtract"};
  static const std::vector<std::string> kUnary{"negative", "abs"};
  if (in_.below(3) == 2) return b_.call(b_.op(*op::find(in_.choose(kUnary))), {expr(t, depth - 1)});
  Expr first = expr(t, depth - 1);
  return b_.call(b_.op(*op::find(in_.choose(kBinary))), {first, expr(t, depth - 1)});
}

// The operator whose shape is its last argument: let %x: T = dyn.zeros(tensor([2, 3])); %x. Null if
// the shape is not known here.
Expr Generator::of_shape_argument(std::string_view name, const TensorType* data, const TensorType& t,
                                  int depth) {
  const std::optional<Shape> shape = t.static_shape();
  if (options_.dataflow || !options_.open_extents || !shape || shape->empty()) return nullptr;
  std::vector<Expr> args;
  if (data) args.push_back(expr(data, depth - 1));
  args.push_back(b_.constant(Tensor::of<int64_t>(kInt64, {static_cast<int64_t>(shape->size())}, *shape)));
  const op::OpDef& def = *op::find(name);
  const Attrs attrs = data ? Attrs() : context_.attrs({{"dtype", t.dtype}});
  const Var* whole = variable(&t);
  return b_.let(whole, b_.call(b_.op(def), args, attrs), whole);
}

Expr Generator::fill(const TensorType& t) {
  if (is_open(t)) return nullptr;
  if (in_.once_in(3)) {
    static const std::vector<std::string> kOfArgument{"dyn.zeros", "dyn.ones"};
    if (Expr e = of_shape_argument(in_.choose(kOfArgument), nullptr, t, 0)) return e;
  }
  const std::vector<Dim> shape(t.dims.begin(), t.dims.end());
  const AttrArg shape_attr{"shape", shape}, dtype_attr{"dtype", t.dtype};
  switch (in_.below(3)) {
    case 1: return apply("ones", {}, {shape_attr, dtype_attr}, &t, 0);
    case 2: return apply("full", {context_.scalar_type(t.dtype)}, {shape_attr, dtype_attr}, &t, 1);
    default: return apply("zeros", {}, {shape_attr, dtype_attr}, &t, 0);
  }
}

// A type that broadcasts to this one: leading dims left out, others 1.
const TensorType* Generator::narrower(const TensorType& t) {
  if (in_.below(3) != 2) return &t;
  std::vector<Dim> dims(t.dims.begin(), t.dims.end());
  dims.erase(dims.begin(), dims.begin() + in_.below(static_cast<uint32_t>(dims.size() + 1)));
  for (Dim& d : dims) {
    if (in_.below(3) == 2) d = 1;
  }
  return with_dims(t, dims);
}

Expr Generator::elementwise(const TensorType& t, int depth) {
  static const std::vector<std::string> kUnary{"negative", "abs", "nn.relu", "copy", "sign"};
  static const std::vector<std::string> kBinary{"add", "subtract", "multiply", "maximum", "minimum", "add"};
  switch (in_.below(5)) {
    case 3: {
      const std::string& name = in_.choose(kUnary);
      // One device: two may be more than a value can be on.
      if (name == "copy" && in_.below(4) != 0)
        return apply("on_device", {&t}, {{"virtual_device", std::string("cuda:0")}}, &t, depth);
      return apply(name, {&t}, {}, &t, depth);
    }
    case 4: return apply("clip", {&t}, {{"a_min", -2.0}, {"a_max", 3.0}}, &t, depth);
    default: {
      const TensorType* other = narrower(t);
      const std::string& name = in_.choose(kBinary);
      if (in_.below(2) == 0) return apply(name, {&t, other}, {}, &t, depth);
      return apply(name, {other, &t}, {}, &t, depth);
    }
  }
}

Expr Generator::reduction(const TensorType& t, int depth) {
  static const std::vector<std::string> kNumbers{"sum", "max", "min", "sum"};
  static const std::vector<std::string> kTruths{"all", "any"};
  const std::string& name = t.dtype.is_bool() ? in_.choose(kTruths) : in_.choose(kNumbers);
  std::vector<Dim> dims(t.dims.begin(), t.dims.end());
  const size_t axis = in_.below(static_cast<uint32_t>(dims.size() + 1));
  const bool keepdims = axis < dims.size() && dims[axis] == Dim(1) && in_.below(2) == 1;
  if (keepdims) {
    dims[axis] = dim();
  } else {
    dims.insert(dims.begin() + static_cast<ptrdiff_t>(axis), dim());
  }
  const bool everything = !keepdims && t.rank() == 0 && in_.below(2) == 1;
  const std::vector<int64_t> axes{static_cast<int64_t>(axis)};
  std::vector<AttrArg> attrs{{"keepdims", keepdims}};
  if (!everything) attrs.push_back({"axis", axes});
  // The largest of no elements is not a small integer.
  if ((name == "max" || name == "min") && !(dims[axis].is_const() && dims[axis].value() > 0)) return nullptr;
  return apply(name, {with_dims(t, dims)}, attrs, &t, depth);
}

Expr Generator::movement(const TensorType& t, int depth) {
  std::vector<Dim> dims(t.dims.begin(), t.dims.end());
  const auto rank = static_cast<uint32_t>(dims.size());
  switch (in_.below(8)) {
    case 0: {  // the same elements with other extents
      if (is_open(t)) return nullptr;
      std::rotate(dims.begin(), dims.begin() + in_.below(rank ? rank : 1), dims.end());
      if (in_.below(3) == 2) dims = {relay::product(t.dims)};
      return apply("reshape", {with_dims(t, dims)},
                   {{"newshape", std::vector<Dim>(t.dims.begin(), t.dims.end())}, {"allowzero", true}}, &t,
                   depth);
    }
    case 1: {
      std::vector<int64_t> axes(rank);
      std::iota(axes.begin(), axes.end(), 0);
      if (rank > 0) std::rotate(axes.begin(), axes.begin() + in_.below(rank), axes.end());
      for (uint32_t i = 0; i < rank; ++i) dims[static_cast<size_t>(axes[i])] = t.dims[i];
      return apply("transpose", {with_dims(t, dims)}, {{"axes", axes}}, &t, depth);
    }
    case 2:
      for (uint32_t i = 0; i < rank; ++i) {
        if (dims[i] == Dim(1)) {
          dims.erase(dims.begin() + i);
          return apply("expand_dims", {with_dims(t, dims)}, {{"axis", int64_t{i}}}, &t, depth);
        }
      }
      return nullptr;
    case 3: {
      const uint32_t at = in_.below(rank + 1);
      dims.insert(dims.begin() + at, 1);
      return apply("squeeze", {with_dims(t, dims)}, {{"axis", std::vector<int64_t>{at}}}, &t, depth);
    }
    case 4: {
      if (is_open(t)) return nullptr;
      const TensorType* from = narrower(t);
      if (in_.once_in(3)) {
        if (Expr e = of_shape_argument("dyn.broadcast_to", from, t, depth)) return e;
      }
      return apply("broadcast_to", {from}, {{"shape", std::vector<Dim>(t.dims.begin(), t.dims.end())}}, &t,
                   depth);
    }
    case 5:
      if (rank == 0) return nullptr;
      return apply("reverse", {&t}, {{"axis", int64_t{in_.below(rank)}}}, &t, depth);
    case 6: {  // a part of something longer
      if (rank == 0) return nullptr;
      const uint32_t axis = in_.below(rank);
      if (!dims[axis].is_const()) return nullptr;
      const int64_t extent = dims[axis].value(), begin = in_.below(3), stride = 1 + in_.below(2);
      const int64_t end = begin + extent * stride;
      dims[axis] = end + in_.below(2);
      return apply("strided_slice", {with_dims(t, dims)},
                   {{"begin", std::vector<int64_t>{begin}},
                    {"end", std::vector<int64_t>{end}},
                    {"strides", std::vector<int64_t>{stride}},
                    {"axes", std::vector<int64_t>{axis}}},
                   &t, depth);
    }
    default: {  // rows that are chosen by their numbers
      if (rank == 0) return nullptr;
      const TensorType* indices = with_dims(*context_.scalar_type(kInt32), {dims[0]});
      dims[0] = 1 + in_.below(3);
      return apply("take", {with_dims(t, dims), indices}, {{"axis", int64_t{0}}}, &t, depth);
    }
  }
}

Expr Generator::product(const TensorType& t, int depth) {
  const Dim inner = dim();
  if (t.rank() == 2) {
    if (in_.below(2) == 0) {
      return apply("nn.dense", {with_dims(t, {t.dims[0], inner}), with_dims(t, {t.dims[1], inner})}, {}, &t,
                   depth);
    }
    return apply("nn.matmul", {with_dims(t, {t.dims[0], inner}), with_dims(t, {inner, t.dims[1]})}, {}, &t,
                 depth);
  }
  if (t.rank() == 3) {
    return apply("nn.batch_matmul",
                 {with_dims(t, {t.dims[0], t.dims[1], inner}), with_dims(t, {t.dims[0], t.dims[2], inner})},
                 {{"transpose_b", true}}, &t, depth);
  }
  return nullptr;
}

Expr Generator::joined(const TensorType& t, int depth) {
  std::vector<Dim> dims(t.dims.begin(), t.dims.end());
  const auto rank = static_cast<uint32_t>(dims.size());
  if (rank == 0) return nullptr;
  const uint32_t axis = in_.below(rank);
  const auto at = [&](Dim d) {
    dims[axis] = d;
    return with_dims(t, dims);
  };
  switch (in_.below(3)) {
    case 1:
      if (t.dims[axis].is_const() && t.dims[axis].value() > 0 && t.dims[axis].value() <= 3) {
        std::vector<Dim> without(t.dims.begin(), t.dims.end());
        without.erase(without.begin() + axis);
        const std::vector<Type> parts(static_cast<size_t>(t.dims[axis].value()), with_dims(t, without));
        return apply("stack", {context_.tuple_type(parts)}, {{"axis", int64_t{axis}}}, &t, depth);
      }
      return nullptr;
    case 2: {
      const uint32_t sections = 1 + in_.below(3);
      return apply("split", {at(t.dims[axis] * Dim(sections))},
                   {{"indices_or_sections", int64_t{sections}}, {"axis", int64_t{axis}}}, &t, depth,
                   in_.below(sections));
    }
    default: {
      const Dim whole = t.dims[axis];
      if (whole.is_const() && whole.value() == 0) return nullptr;
      const Dim first = whole.is_const() ? Dim(1 + in_.below(static_cast<uint32_t>(whole.value()))) : Dim(1);
      const Dim rest = whole - first;
      std::vector<Type> parts{at(first)};
      // Of `n` nothing can be cut off that is surely there; of `n + 1` it can.
      if (rest.is_symbolic() && rest.symbolic()->kind != kernel::ExprKind::kVar) return nullptr;
      if (!(rest == Dim(0))) parts.push_back(at(rest));
      return apply("concatenate", {context_.tuple_type(parts)}, {{"axis", int64_t{axis}}}, &t, depth);
    }
  }
}

Expr Generator::conversion(const TensorType& t, int depth) {
  const DType from = dtype();
  if (in_.below(4) == 3) {
    return apply("cast_like", {context_.tensor_type(t.dims, from), context_.scalar_type(t.dtype)}, {}, &t,
                 depth);
  }
  return apply("cast", {context_.tensor_type(t.dims, from)}, {{"dtype", t.dtype}}, &t, depth);
}

Expr Generator::truth(const TensorType& t, int depth) {
  static const std::vector<std::string> kOrders{"less",    "equal",      "greater_equal",
                                                "greater", "less_equal", "not_equal"};
  static const std::vector<std::string> kLogic{"logical_and", "logical_or", "logical_xor"};
  switch (in_.below(5)) {
    case 3: return apply("logical_not", {&t}, {}, &t, depth);
    case 4: return apply(in_.choose(kLogic), {&t, narrower(t)}, {}, &t, depth);
    default: {
      const TensorType* operand = context_.tensor_type(t.dims, dtype());
      return apply(in_.choose(kOrders), {operand, narrower(*operand)}, {}, &t, depth);
    }
  }
}

// Division by zero, shifts by too much, indices that do not exist.
Expr Generator::may_trap(const TensorType& t, int depth) {
  static const std::vector<std::string> kIntegers{"divide",    "floor_divide", "mod",
                                                  "floor_mod", "left_shift",   "right_shift"};
  if (t.dtype.is_int()) return apply(in_.choose(kIntegers), {&t, narrower(t)}, {}, &t, depth);
  if (t.rank() == 0) return nullptr;
  std::vector<Dim> dims(t.dims.begin(), t.dims.end());
  const TensorType* indices = with_dims(*context_.scalar_type(kInt32), {dims[0]});
  dims[0] = 1 + in_.below(3);
  return apply("take", {with_dims(t, dims), indices}, {{"axis", int64_t{0}}, {"mode", std::string("fast")}},
               &t, depth);
}

// An extent that only a run tells turns out to be the wanted one, or the run traps:
// let %x: T = e; %x
Expr Generator::refined(const TensorType& t, int depth) {
  if (options_.dataflow || !options_.open_extents || t.rank() == 0) return nullptr;
  if (in_.below(2) == 1) {
    if (Expr e = of_shape_argument("dyn.reshape", &t, t, depth)) return e;
  }
  std::vector<Dim> dims(t.dims.begin(), t.dims.end());
  dims[in_.below(static_cast<uint32_t>(dims.size()))] = Dim::unknown();
  const Var* x = variable(&t);
  return b_.let(x, expr(with_dims(t, dims), depth - 1), x);
}

// Operators that look at shapes rather than at elements, and those that others define.
Expr Generator::about_shapes(const TensorType& t, int depth) {
  switch (in_.below(9)) {
    case 8: return refined(t, depth);
    case 0: return apply("zeros_like", {&t}, {}, &t, depth);
    case 1: return apply("ones_like", {&t}, {}, &t, depth);
    case 2: return apply("full_like", {&t, context_.scalar_type(t.dtype)}, {}, &t, depth);
    case 3: return apply("nn.dropout", {&t}, {}, &t, depth, 0);
    case 4: return apply("reshape_like", {tensor_type(t.rank(), t.dtype), &t}, {}, &t, depth);
    case 5: {
      if (t.rank() < 1) return apply("ndarray_size", {tensor_type()}, {{"dtype", t.dtype}}, &t, depth);
      const Dim rank = t.dims[0];
      if (!rank.is_const() || rank.value() > 3) return nullptr;
      return apply("shape_of", {tensor_type(static_cast<size_t>(rank.value()), dtype())},
                   {{"dtype", t.dtype}}, &t, depth);
    }
    case 6: {
      if (t.rank() < 2) return nullptr;
      return apply("nn.bias_add", {&t, with_dims(t, {t.dims[1]})}, {}, &t, depth);
    }
    default: {
      std::vector<Dim> dims(t.dims.begin(), t.dims.end());
      const uint32_t axis = in_.below(static_cast<uint32_t>(dims.size() + 1));
      dims.insert(dims.begin() + axis, dim());
      return apply("argmax", {context_.tensor_type(dims, dtype())}, {{"axis", std::vector<int64_t>{axis}}},
                   &t, depth);
    }
  }
}

}  // namespace relay::property
