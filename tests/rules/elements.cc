#include "tests/rules/elements.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/text/literal.h"
#include "op/define.h"
#include "op/math/convert.h"
#include "op/registry.h"
#include "op/tensor/slice.h"
#include "op/tensor/transpose.h"
#include "passes/rules/values.h"

namespace relay::passes::rules::testing {
namespace {

const TensorType& type_of(Expr e) {
  const TensorType* t = e->type ? e->type->as<TensorType>() : nullptr;
  if (!t) throw Outside("a value that is no tensor");
  return *t;
}

bool is_elementwise(const op::OpDef* def) {
  return def && (def->fusion == op::Fusion::kElementwise || def->fusion == op::Fusion::kBroadcast);
}

std::string name_of(const TensorType& t) { return std::string(t.dtype.name()); }

}  // namespace

z3::expr Elements::runs() { return std::exchange(runs_, z_.bool_val(true)); }

z3::sort Elements::sort(DType d) {
  if (d.is_bool()) return z_.bool_sort();
  if (d.is_int()) return z_.bv_sort(d.bits);
  return z_.uninterpreted_sort(cat("float_", d.name()).c_str());
}

// Extents are sums and products of shape variables, which are not negative.
z3::expr Elements::extent(Dim d) {
  if (d.is_const()) return z_.int_val(d.value());
  if (!d.is_symbolic()) throw Outside("an unknown extent");
  const std::function<z3::expr(kernel::Expr)> of = [&](kernel::Expr e) {
    switch (e->kind) {
      case kernel::ExprKind::kInt: return z_.int_val(e->int_value);
      case kernel::ExprKind::kVar: {
        const z3::expr v = z_.int_const(show(Dim(e)).c_str());
        known_.push_back(v >= 0);
        return v;
      }
      case kernel::ExprKind::kAdd:
      case kernel::ExprKind::kMul: {
        z3::expr all = of(e->args[0]);
        for (size_t i = 1; i < e->args.size(); ++i) {
          all = e->kind == kernel::ExprKind::kAdd ? all + of(e->args[i]) : all * of(e->args[i]);
        }
        return all;
      }
      default: throw Outside(cat("the extent ", show(Dim(e))));
    }
  };
  return of(d.symbolic());
}

z3::expr Elements::number(DType d, const Tensor& t, int64_t i) {
  if (d.is_bool()) return z_.bool_val(t.get_int(i) != 0);
  if (d.is_int()) return z_.bv_val(static_cast<int64_t>(t.get_int(i)), d.bits);
  return uninterpreted(text::show_element(t, i, false), {}, d);
}

z3::expr Elements::uninterpreted(const std::string& name, const std::vector<z3::expr>& args, DType result) {
  z3::sort_vector domain(z_);
  z3::expr_vector values(z_);
  std::string full = name;
  for (const z3::expr& arg : args) {
    domain.push_back(arg.get_sort());
    values.push_back(arg);
    full += cat("_", arg.get_sort().to_string());
  }
  full += cat("_", result.name());
  return z_.function(full.c_str(), domain, sort(result))(values);
}

// The place of an index in row-major order.
z3::expr Elements::position(Expr e, const Index& i) {
  const TensorType& t = type_of(e);
  z3::expr out = z_.int_val(0);
  for (size_t axis = 0; axis < t.rank(); ++axis) out = out * extent(t.dims[axis]) + i[axis];
  return out;
}

// The index of an operand, of the index of the result of an elementwise operator.
Index Elements::broadcast(Expr e, const Index& i) {
  const TensorType& t = type_of(e);
  Index out;
  for (size_t axis = 0; axis < t.rank(); ++axis) {
    const bool one = t.dims[axis] == Dim(1);
    out.push_back(one ? z_.int_val(0) : i[i.size() - t.rank() + axis]);
  }
  return out;
}

// The element of a variable or a constant at a place in row-major order.
z3::expr Elements::leaf(Expr e, const z3::expr& at) {
  const TensorType& t = type_of(e);
  const auto* constant = e->as<Constant>();
  const auto facts = facts_.find(e);
  if (constant && facts == facts_.end()) {
    if (constant->value->size() == 0) throw Outside("a constant without elements");
    z3::expr out = number(t.dtype, *constant->value, 0);
    for (int64_t n = 1; n < constant->value->size(); ++n) {
      out = z3::ite(at == z_.int_val(n), number(t.dtype, *constant->value, n), out);
    }
    return out;
  }
  const std::string name = cat(constant ? "constant" : e->as<Var>()->name.text(), "#", e->id);
  const z3::expr out = z_.function(name.c_str(), z_.int_sort(), sort(t.dtype))(at);
  if (constant) {
    for (const Fact& fact : facts->second) known_.push_back(fact(out, t.dtype));
  }
  return out;
}

z3::expr Elements::at(Expr e, const Index& i) {
  if (e->as<Var>() || e->as<Constant>()) return leaf(e, position(e, i));
  if (const auto* proj = e->as<Proj>()) {
    const auto* call = proj->tuple->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (def && def->name == "split") return part_of_split(*call, proj->index, i);
    if (def && def->name == "nn.dropout" && proj->index == 0) return at(call->args[0], i);
  }
  const auto* c = e->as<Call>();
  const op::OpDef* def = c ? op::callee(*c) : nullptr;
  if (!def) throw Outside("a form of the language");
  return call(*c, *def, i);
}

z3::expr Elements::call(const Call& c, const op::OpDef& def, const Index& i) {
  static const char* const kMoves[] = {"transpose", "reshape", "expand_dims",   "squeeze", "nn.batch_flatten",
                                       "reverse",   "tile",    "strided_slice", "repeat",  "broadcast_to"};
  for (const char* name : kMoves) {
    if (def.name == name) return moved(c, def.name, i);
  }
  if (def.name == "concatenate") return joined(c, i);
  const TensorType& t = type_of(&c);
  if (def.name == "zeros_like" || def.name == "zeros") return number(t.dtype, Tensor::scalar(t.dtype, 0), 0);
  if (def.name == "ones_like" || def.name == "ones") return number(t.dtype, Tensor::scalar(t.dtype, 1), 0);
  if (def.name == "nn.bias_add") {
    const size_t axis = *axis_of(&c);
    const z3::expr x = at(c.args[0], i), y = at(c.args[1], {i[axis]});
    if (!t.dtype.is_int()) throw Outside("a sum of floating point");
    return x + y;
  }
  if (is_elementwise(&def)) return elementwise(c, def, [&](Expr arg) { return at(arg, broadcast(arg, i)); });
  throw Outside(cat("`", def.name, "`"));
}

z3::expr Elements::at_position(Expr e, const z3::expr& place) {
  if (e->as<Var>() || e->as<Constant>()) return leaf(e, place);
  const auto* c = e->as<Call>();
  const op::OpDef* def = c ? op::callee(*c) : nullptr;
  if (def && def->view) return at_position(c->args[0], place);
  const TensorType& t = type_of(e);
  if (is_elementwise(def) &&
      std::all_of(c->args.begin(), c->args.end(), [&](Expr arg) { return type_of(arg).dims == t.dims; }))
    return elementwise(*c, *def, [&](Expr arg) { return at_position(arg, place); });
  // The index that has this place. There is one, as the place is in the tensor.
  Index i;
  for (size_t axis = 0; axis < t.rank(); ++axis) {
    i.push_back(z_.int_const(cat("place", ++places_).c_str()));
    known_.push_back(i.back() >= 0 && i.back() < extent(t.dims[axis]));
  }
  known_.push_back(position(e, i) == place);
  return at(e, i);
}

z3::expr Elements::moved(const Call& c, const std::string& name, const Index& i) {
  const Expr x = c.args[0];
  const TensorType &from = type_of(x), &to = type_of(&c);
  Index j;
  if (name == "transpose") {
    const std::vector<int64_t> axes = *axes_of(&c);
    j.assign(axes.size(), z_.int_val(0));
    for (size_t axis = 0; axis < axes.size(); ++axis) j[static_cast<size_t>(axes[axis])] = i[axis];
  } else if (name == "broadcast_to") {
    j = broadcast(x, i);
  } else if (name == "strided_slice") {
    j = i;
    const auto attrs = op::read_attrs<op::StridedSliceAttrs>(c.attrs);
    for (const op::SliceRange& r : op::slice_ranges(attrs, from.dims)) {
      j[r.axis] = extent(r.begin) + i[r.axis] * z_.int_val(r.stride);
    }
  } else if (name == "reverse") {
    j = i;
    const size_t axis = *axis_of(&c);
    j[axis] = extent(from.dims[axis]) - 1 - i[axis];
  } else if (name == "tile") {
    for (size_t axis = 0; axis < from.rank(); ++axis) {
      const size_t own = to.rank() - from.rank() + axis;
      const bool once = from.dims[axis] == to.dims[own];
      j.push_back(once ? i[own] : z3::mod(i[own], extent(from.dims[axis])));
    }
  } else if (name == "repeat") {
    const AttrValue* axis = c.attrs.find("axis");
    const AttrValue* repeats = c.attrs.find("repeats");
    if (!axis || axis->kind != AttrKind::kInt) throw Outside("`repeat` without an axis");
    j = i;
    j[*axis_of(&c)] = i[*axis_of(&c)] / z_.int_val(repeats->integer);
  } else {
    return at_position(x, position(&c, i));
  }
  return at(x, j);
}

z3::expr Elements::joined(const Call& c, const Index& i) {
  const auto* parts = c.args[0]->as<Tuple>();
  if (!parts) throw Outside("`concatenate` of a tuple that is not written out");
  const size_t axis = *axis_of(&c);
  std::vector<z3::expr> values;
  std::vector<z3::expr> ends;
  z3::expr before = z_.int_val(0);
  for (Expr part : parts->fields) {
    Index j = i;
    j[axis] = i[axis] - before;
    values.push_back(at(part, j));
    before = before + extent(type_of(part).dims[axis]);
    ends.push_back(before);
  }
  z3::expr out = values.back();
  for (size_t n = values.size() - 1; n-- > 0;) out = z3::ite(i[axis] < ends[n], values[n], out);
  return out;
}

z3::expr Elements::part_of_split(const Call& split, uint32_t part, const Index& i) {
  const size_t axis = *axis_of(&split);
  const auto& parts = *split.type->as<TupleType>();
  Index j = i;
  for (uint32_t n = 0; n < part; ++n)
    j[axis] = j[axis] + extent(parts.fields[n]->as<TensorType>()->dims[axis]);
  return at(split.args[0], j);
}

z3::expr Elements::cast(const z3::expr& x, DType from, DType to) {
  if (from == to) return x;
  if (from.is_float() || to.is_float()) return uninterpreted(cat("cast_", to.name()), {x}, to);
  if (from.is_bool()) return z3::ite(x, z_.bv_val(1, to.bits), z_.bv_val(0, to.bits));
  if (to.is_bool()) return x != z_.bv_val(0, from.bits);
  if (to.bits <= from.bits) return x.extract(to.bits - 1, 0);
  const unsigned more = to.bits - from.bits;
  return from.is_signed_int() ? z3::sext(x, more) : z3::zext(x, more);
}

// Divisions trap for a divisor of zero, and for the least number divided by -1.
z3::expr Elements::divided(const std::string& name, DType d, const z3::expr& a, const z3::expr& b) {
  const z3::expr zero = z_.bv_val(0, d.bits);
  need(b != zero);
  const bool remainder = name.ends_with("mod");
  if (!d.is_signed_int()) return remainder ? z3::urem(a, b) : z3::udiv(a, b);
  const z3::expr least = z_.bv_val(static_cast<int64_t>(INT64_MIN >> (64 - d.bits)), d.bits);
  need(!(a == least && b == z_.bv_val(-1, d.bits)));
  // The remainder by magnitudes, as it is defined: solvers know how to divide those
  // by powers of two.
  const z3::expr above = z3::ite(a < zero, -a, a), by = z3::ite(b < zero, -b, b).simplify();
  const z3::expr part = z3::urem(above, by);
  const z3::expr quotient = a / b, rest = z3::ite(a < zero, -part, part);
  const z3::expr rounds = rest != zero && (rest < zero) != (b < zero);
  if (name == "floor_divide") return z3::ite(rounds, quotient - 1, quotient);
  if (name == "floor_mod") return z3::ite(rounds, rest + b, rest);
  return remainder ? rest : quotient;
}

z3::expr Elements::elementwise(const Call& c, const op::OpDef& def,
                               const std::function<z3::expr(Expr arg)>& element) {
  const TensorType& t = type_of(&c);
  std::vector<z3::expr> x;
  for (Expr arg : c.args) x.push_back(element(arg));
  const DType d = type_of(c.args[0]).dtype;
  const std::string& n = def.name;
  if (n == "copy") return x[0];
  if (n == "where") return z3::ite(x[0], x[1], x[2]);
  if (n == "cast") return cast(x[0], d, t.dtype);
  if (n == "logical_and" || (d.is_bool() && n == "bitwise_and")) return x[0] && x[1];
  if (n == "logical_or" || (d.is_bool() && n == "bitwise_or")) return x[0] || x[1];
  if (n == "logical_xor" || (d.is_bool() && (n == "bitwise_xor" || n == "not_equal"))) return x[0] != x[1];
  if (n == "logical_not" || (d.is_bool() && n == "bitwise_not")) return !x[0];
  if (d.is_bool() && n == "equal") return x[0] == x[1];
  if (!d.is_int()) {
    // Attributes make another function.
    std::string name = n;
    for (const Attr& a : c.attrs) name += cat("_", a.name.text(), "=", show(a.value));
    return uninterpreted(name, x, t.dtype);
  }
  const bool is_signed = d.is_signed_int();
  const z3::expr zero = z_.bv_val(0, d.bits);
  const auto less = [&](const z3::expr& a, const z3::expr& b) { return is_signed ? a < b : z3::ult(a, b); };
  if (n == "add") return x[0] + x[1];
  if (n == "subtract") return x[0] - x[1];
  if (n == "multiply") return x[0] * x[1];
  if (n == "negative") return -x[0];
  if (n == "bitwise_and") return x[0] & x[1];
  if (n == "bitwise_or") return x[0] | x[1];
  if (n == "bitwise_xor") return x[0] ^ x[1];
  if (n == "bitwise_not") return ~x[0];
  if (n == "equal") return x[0] == x[1];
  if (n == "not_equal") return x[0] != x[1];
  if (n == "less") return less(x[0], x[1]);
  if (n == "greater") return less(x[1], x[0]);
  if (n == "less_equal") return !less(x[1], x[0]);
  if (n == "greater_equal") return !less(x[0], x[1]);
  if (n == "maximum") return z3::ite(less(x[0], x[1]), x[1], x[0]);
  if (n == "minimum") return z3::ite(less(x[1], x[0]), x[1], x[0]);
  if (n == "abs") return is_signed ? z3::ite(x[0] < zero, -x[0], x[0]) : x[0];
  if (n == "nn.relu") return is_signed ? z3::ite(x[0] < zero, zero, x[0]) : x[0];
  if (n == "sign") {
    const z3::expr above = z3::ite(x[0] == zero, zero, z_.bv_val(1, d.bits));
    return is_signed ? z3::ite(x[0] < zero, z_.bv_val(-1, d.bits), above) : above;
  }
  if (n == "clip") {
    const auto attrs = op::read_attrs<op::ClipAttrs>(c.attrs);
    const z3::expr low = number(d, Tensor::scalar(d, attrs.a_min), 0),
                   high = number(d, Tensor::scalar(d, attrs.a_max), 0);
    const z3::expr up = z3::ite(less(x[0], low), low, x[0]);
    return z3::ite(less(high, up), high, up);
  }
  if (n == "left_shift" || n == "right_shift") {
    need(z3::ult(x[1], z_.bv_val(d.bits, d.bits)));
    if (n == "left_shift") return z3::shl(x[0], x[1]);
    return is_signed ? z3::ashr(x[0], x[1]) : z3::lshr(x[0], x[1]);
  }
  if (n == "divide" || n == "mod" || n.starts_with("floor_") || n.starts_with("trunc_"))
    return divided(n, d, x[0], x[1]);
  throw Outside(cat("`", n, "` of ", name_of(t)));
}

}  // namespace relay::passes::rules::testing
