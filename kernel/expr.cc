#include "kernel/expr.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <utility>

#include "base/cat.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/integers.h"
#include "kernel/buffer.h"
#include "kernel/limits.h"
#include "kernel/polynomial.h"
#include "kernel/walk.h"

namespace relay::kernel {
namespace {

constexpr std::string_view kMathNames[] = {
    "exp",  "expm1", "log",   "log2", "log10", "log1p", "sqrt",  "rsqrt", "sin",   "cos",     "tan",
    "asin", "acos",  "atan",  "sinh", "cosh",  "tanh",  "asinh", "acosh", "atanh", "erf",     "floor",
    "ceil", "trunc", "round", "abs",  "pow",   "fmod",  "atan2", "isnan", "isinf", "isfinite"};

// What makes two nodes the same besides their operands. Variables are not interned; the rest of a
// node follows from this. A new field does not compile before it is decided on.
struct Identity {
  ExprKind kind;
  DType dtype;
  Math fn;
  uint64_t int_value, float_bits;
  const Buffer* buffer;
  friend bool operator==(const Identity&, const Identity&) = default;
};
Identity identity(const ExprNode& n) {
  const auto& [kind, dtype, fn, shape_variable, has_load, has_data, may_wrap, non_negative, depth, weight, id,
               pool, int_value, float_value, name, buffer, args] = n;
  return {kind, dtype, fn, static_cast<uint64_t>(int_value), std::bit_cast<uint64_t>(float_value), buffer};
}

uint64_t hash_of(const Identity& i, const std::vector<const ExprNode*>& args) {
  uint64_t h = mix(static_cast<uint64_t>(i.kind), (static_cast<uint64_t>(i.dtype.code) << 8) | i.dtype.bits);
  h = mix(h, static_cast<uint64_t>(i.fn));
  h = mix(h, i.int_value);
  h = mix(h, i.float_bits);
  h = mix(h, reinterpret_cast<uintptr_t>(i.buffer));
  for (const ExprNode* a : args) h = mix(h, a->id);
  return h;
}

// The value a dtype holds after wrapping.
int64_t wrap(DType d, int64_t v) {
  if (d.is_bool()) return v != 0;
  if (d.bits >= 64) return v;
  const auto low = static_cast<uint64_t>(v) & ((uint64_t{1} << d.bits) - 1);
  const bool negative = d.is_signed_int() && ((low >> (d.bits - 1)) & 1);
  return negative ? static_cast<int64_t>(low) - (int64_t{1} << d.bits) : static_cast<int64_t>(low);
}

int64_t floor_mod_of(int64_t a, int64_t b) { return b == -1 ? 0 : a - quotient_down(a, b) * b; }

// The value of an operation on two integer constants; nothing if it has none.
std::optional<int64_t> fold(ExprKind kind, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  const bool divides = b != 0 && !(a == INT64_MIN && b == -1);
  switch (kind) {
    case ExprKind::kAdd: return static_cast<int64_t>(ua + ub);
    case ExprKind::kSub: return static_cast<int64_t>(ua - ub);
    case ExprKind::kMul: return static_cast<int64_t>(ua * ub);
    case ExprKind::kFloorDiv: return divides ? std::optional(quotient_down(a, b)) : std::nullopt;
    case ExprKind::kFloorMod: return divides ? std::optional(floor_mod_of(a, b)) : std::nullopt;
    case ExprKind::kTruncDiv: return divides ? std::optional(a / b) : std::nullopt;
    case ExprKind::kTruncMod: return divides ? std::optional(a % b) : std::nullopt;
    case ExprKind::kMin: return std::min(a, b);
    case ExprKind::kMax: return std::max(a, b);
    case ExprKind::kBroadcast: return a == 1 ? b : a;
    case ExprKind::kBitAnd: return a & b;
    case ExprKind::kBitOr: return a | b;
    case ExprKind::kBitXor: return a ^ b;
    case ExprKind::kEqual: return a == b;
    case ExprKind::kNotEqual: return a != b;
    case ExprKind::kLess: return a < b;
    case ExprKind::kLessEqual: return a <= b;
    case ExprKind::kAnd: return (a != 0) && (b != 0);
    case ExprKind::kOr: return (a != 0) || (b != 0);
    default: return std::nullopt;
  }
}

// The same of indices, whose sums and products must fit 64 bits.
std::optional<int64_t> fold_index(ExprKind kind, int64_t a, int64_t b) {
  int64_t out = 0;
  if (kind == ExprKind::kAdd) return __builtin_add_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  if (kind == ExprKind::kMul) return __builtin_mul_overflow(a, b, &out) ? std::nullopt : std::optional(out);
  return fold(kind, a, b);
}

// A number of the dtype may be anything that 64 bits hold, or more.
bool is_wide(DType d) { return !d.is_bool() && (!d.is_int() || d.bits >= 64); }

bool is_non_negative(const ExprNode& n) {
  const auto is_one = [](const ExprNode* a) { return a->non_negative; };
  const auto divides = [&] { return n.args[1]->kind == ExprKind::kInt && n.args[1]->int_value > 0; };
  switch (n.kind) {
    case ExprKind::kInt: return n.int_value >= 0;
    case ExprKind::kVar: return n.shape_variable;
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kMin:
    case ExprKind::kBroadcast: return std::all_of(n.args.begin(), n.args.end(), is_one);
    case ExprKind::kMax: return std::any_of(n.args.begin(), n.args.end(), is_one);
    case ExprKind::kFloorDiv: return n.args[0]->non_negative && divides();
    case ExprKind::kFloorMod: return divides();
    default: return false;
  }
}

bool commutative(ExprKind kind) {
  switch (kind) {
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kBitAnd:
    case ExprKind::kBitOr:
    case ExprKind::kBitXor:
    case ExprKind::kEqual:
    case ExprKind::kNotEqual:
    case ExprKind::kAnd:
    case ExprKind::kOr: return true;
    default: return false;
  }
}

Expr binary(ExprKind kind, Expr a, Expr b) {
  CHECK(a->dtype == b->dtype,
        cat("operands of a scalar expression differ in dtype: ", a->dtype.name(), " and ", b->dtype.name()));
  return a->pool->make(kind, a->dtype, {a, b});
}

// An integer in the dtype of an expression.
Expr number(Expr like, int64_t v) {
  const DType d = like->dtype;
  return d.is_float() ? like->pool->real(real_of_integer(d, kInt64, v), d) : like->pool->integer(v, d);
}

Expr comparison(ExprKind kind, Expr a, Expr b) {
  CHECK(a->dtype == b->dtype,
        cat("operands of a comparison differ in dtype: ", a->dtype.name(), " and ", b->dtype.name()));
  return a->pool->make(kind, kBool, {a, b});
}

}  // namespace

std::string_view name(Math fn) { return kMathNames[static_cast<size_t>(fn)]; }

Expr ExprPool::intern(ExprNode proto, const std::vector<const ExprNode*>& args) {
  const Identity wanted = identity(proto);
  const uint64_t h = hash_of(wanted, args);
  for (auto [it, end] = interned_.equal_range(h); it != end; ++it) {
    const ExprNode& n = *it->second;
    if (identity(n) == wanted && std::equal(n.args.begin(), n.args.end(), args.begin(), args.end()))
      return it->second;
  }
  proto.id = next_id_++;
  proto.pool = this;
  proto.args = arena_.list(args);
  proto.has_load = proto.kind == ExprKind::kLoad;
  const bool is_data = proto.has_load || proto.kind == ExprKind::kCast;
  proto.has_data = is_data;
  // What is below such a number does not say what it is.
  proto.may_wrap = is_data && is_wide(proto.dtype);
  proto.non_negative = is_non_negative(proto);
  for (const ExprNode* a : args) {
    proto.has_load |= a->has_load;
    proto.has_data |= a->has_data;
    if (!is_data) proto.may_wrap |= a->may_wrap;
    proto.depth = std::max(proto.depth, a->depth + 1);
    proto.weight = std::min(kMostWeight, proto.weight + a->weight);
  }
  const ExprNode* node = arena_.make<ExprNode>(proto);
  interned_.emplace(h, node);
  return node;
}

Expr ExprPool::as_is(ExprKind kind, DType dtype, const std::vector<const ExprNode*>& args) {
  return intern({.kind = kind, .dtype = dtype}, args);
}

Expr ExprPool::integer(int64_t value, DType dtype) {
  return intern({.kind = ExprKind::kInt, .dtype = dtype, .int_value = wrap(dtype, value)}, {});
}

Expr ExprPool::real(double value, DType dtype) {
  if (dtype == kFloat32) value = static_cast<float>(value);
  return intern({.kind = ExprKind::kFloat, .dtype = dtype, .float_value = value}, {});
}

Expr ExprPool::constant(double value, DType dtype) {
  return dtype.is_float() ? real(value, dtype) : integer(integer_of_real(kInt64, value), dtype);
}

Expr ExprPool::shape_variable(std::string_view name) {
  auto it = shape_variables_.find(name);
  if (it == shape_variables_.end()) {
    Expr v = variable(name);
    auto* made = const_cast<ExprNode*>(v.get());  // seen by nobody
    made->shape_variable = made->non_negative = true;
    it = shape_variables_.emplace(std::string(name), v.get()).first;
  }
  return it->second;
}

Expr ExprPool::variable(std::string_view name, DType dtype) {
  ExprNode proto{.kind = ExprKind::kVar, .dtype = dtype};
  proto.id = next_id_++;
  proto.pool = this;
  proto.name = symbols_.intern(name);
  return arena_.make<ExprNode>(proto);
}

Expr ExprPool::make(ExprKind kind, DType dtype, std::vector<Expr> args) {
  std::vector<const ExprNode*> nodes;
  for (Expr a : args) nodes.push_back(a.get());
  const bool index = dtype == kInt64;
  if (index && kind == ExprKind::kAdd) return polynomial::add(*this, args);
  if (index && kind == ExprKind::kSub) return polynomial::add(*this, {args[0], args[1] * -1});
  if (index && kind == ExprKind::kMul) return polynomial::multiply(*this, args);
  if (kind == ExprKind::kBroadcast) return polynomial::broadcast(*this, args[0], args[1]);

  if (nodes.size() == 2) {
    const ExprNode *a = nodes[0], *b = nodes[1];
    if (a->kind == ExprKind::kInt && b->kind == ExprKind::kInt) {
      // Unsigned 64-bit values above INT64_MAX are kept wrapped; order and division would
      // see them negative.
      const bool ordered = kind == ExprKind::kLess || kind == ExprKind::kLessEqual ||
                           kind == ExprKind::kMin || kind == ExprKind::kMax || kind >= ExprKind::kFloorDiv;
      const bool unsafe = a->dtype == kUInt64 && ordered && (a->int_value < 0 || b->int_value < 0);
      if (auto v = fold(kind, a->int_value, b->int_value); v && !unsafe) return integer(*v, dtype);
    }
    if (a->dtype == kInt64) {
      if (Expr simpler = polynomial::simplify_binary(*this, kind, a, b)) return simpler;
    }
    if (kind == ExprKind::kAnd || kind == ExprKind::kOr) {
      const int64_t neutral = kind == ExprKind::kAnd;
      if (a->kind == ExprKind::kInt) return a->int_value == neutral ? Expr(b) : Expr(a);
      if (b->kind == ExprKind::kInt) return b->int_value == neutral ? Expr(a) : Expr(b);
      if (a == b) return a;
    }
    if (a == b && (kind == ExprKind::kMin || kind == ExprKind::kMax)) return a;
    // Commuting floating min/max could change which NaN or zero comes out.
    if (commutative(kind) && !a->dtype.is_float() && compare(a, b) > 0) std::swap(nodes[0], nodes[1]);
  }
  if (kind == ExprKind::kNot && nodes[0]->kind == ExprKind::kInt) return integer(!nodes[0]->int_value, kBool);
  if (kind == ExprKind::kSelect) {
    if (nodes[0]->kind == ExprKind::kInt) return nodes[0]->int_value ? nodes[1] : nodes[2];
    if (nodes[1] == nodes[2]) return nodes[1];
  }
  return intern({.kind = kind, .dtype = dtype}, nodes);
}

Expr ExprPool::math(Math fn, std::vector<Expr> args) {
  std::vector<const ExprNode*> nodes;
  for (Expr a : args) nodes.push_back(a.get());
  const bool test = fn == Math::kIsNan || fn == Math::kIsInf || fn == Math::kIsFinite;
  return intern({.kind = ExprKind::kMath, .dtype = test ? kBool : nodes[0]->dtype, .fn = fn}, nodes);
}

Expr ExprPool::cast(DType dtype, Expr e) {
  if (e->dtype == dtype) return e;
  if (e->kind == ExprKind::kInt && !dtype.is_float()) return integer(e->int_value, dtype);
  if (e->kind == ExprKind::kInt) return real(real_of_integer(dtype, e->dtype, e->int_value), dtype);
  return intern({.kind = ExprKind::kCast, .dtype = dtype}, {e.get()});
}

Expr ExprPool::load(const Buffer* buffer, std::vector<Expr> indices) {
  CHECK(indices.size() == buffer->shape.size(),
        cat("buffer ", buffer->name.text(), " has rank ", buffer->shape.size(), " and is read with ",
            indices.size(), " indices"));
  std::vector<const ExprNode*> nodes;
  for (Expr i : indices) nodes.push_back(i.get());
  return intern({.kind = ExprKind::kLoad, .dtype = buffer->dtype, .buffer = buffer}, nodes);
}

Expr ExprPool::with_args(const ExprNode& n, const std::vector<Expr>& args) {
  switch (n.kind) {
    case ExprKind::kLoad: return load(n.buffer, args);
    case ExprKind::kMath: return math(n.fn, args);
    case ExprKind::kCast: return cast(n.dtype, args[0]);
    default: return make(n.kind, n.dtype, args);
  }
}

Expr operator+(Expr a, Expr b) { return binary(ExprKind::kAdd, a, b); }
Expr operator-(Expr a, Expr b) { return binary(ExprKind::kSub, a, b); }
Expr operator*(Expr a, Expr b) { return binary(ExprKind::kMul, a, b); }
Expr operator/(Expr a, Expr b) {
  CHECK(a->dtype.is_float(), "integers have floor_div and trunc_div");
  return binary(ExprKind::kDiv, a, b);
}
Expr operator-(Expr a) {
  if (a->dtype.is_float()) return a->pool->real(-1, a->dtype) * a;
  return a->pool->integer(-1, a->dtype) * a;
}
Expr operator+(Expr a, int64_t b) { return a + number(a, b); }
Expr operator-(Expr a, int64_t b) { return a - number(a, b); }
Expr operator*(Expr a, int64_t b) { return a * number(a, b); }
Expr floor_div(Expr a, Expr b) { return binary(ExprKind::kFloorDiv, a, b); }
Expr floor_mod(Expr a, Expr b) { return binary(ExprKind::kFloorMod, a, b); }
Expr floor_div(Expr a, int64_t b) { return floor_div(a, a->pool->integer(b, a->dtype)); }
Expr floor_mod(Expr a, int64_t b) { return floor_mod(a, a->pool->integer(b, a->dtype)); }
Expr trunc_div(Expr a, Expr b) { return binary(ExprKind::kTruncDiv, a, b); }
Expr trunc_mod(Expr a, Expr b) { return binary(ExprKind::kTruncMod, a, b); }
Expr min(Expr a, Expr b) { return binary(ExprKind::kMin, a, b); }
Expr max(Expr a, Expr b) { return binary(ExprKind::kMax, a, b); }
Expr broadcast(Expr a, Expr b) {
  CHECK(a->dtype == kInt64, "only extents broadcast");
  return binary(ExprKind::kBroadcast, a, b);
}
Expr bit_and(Expr a, Expr b) { return binary(ExprKind::kBitAnd, a, b); }
Expr bit_or(Expr a, Expr b) { return binary(ExprKind::kBitOr, a, b); }
Expr bit_xor(Expr a, Expr b) { return binary(ExprKind::kBitXor, a, b); }
Expr shift_left(Expr a, Expr b) { return binary(ExprKind::kShiftLeft, a, b); }
Expr shift_right(Expr a, Expr b) { return binary(ExprKind::kShiftRight, a, b); }
Expr equal(Expr a, Expr b) { return comparison(ExprKind::kEqual, a, b); }
Expr not_equal(Expr a, Expr b) { return comparison(ExprKind::kNotEqual, a, b); }
Expr less(Expr a, Expr b) { return comparison(ExprKind::kLess, a, b); }
Expr less_equal(Expr a, Expr b) { return comparison(ExprKind::kLessEqual, a, b); }
Expr logical_and(Expr a, Expr b) { return binary(ExprKind::kAnd, a, b); }
Expr logical_or(Expr a, Expr b) { return binary(ExprKind::kOr, a, b); }
Expr logical_not(Expr a) { return a->pool->make(ExprKind::kNot, kBool, {a}); }
Expr select(Expr condition, Expr then_value, Expr else_value) {
  CHECK(condition->dtype == kBool && then_value->dtype == else_value->dtype, "select of different dtypes");
  return condition->pool->make(ExprKind::kSelect, then_value->dtype, {condition, then_value, else_value});
}
Expr cast(DType dtype, Expr e) { return e->pool->cast(dtype, e); }
Expr math(Math fn, Expr a) { return a->pool->math(fn, {a}); }
Expr math(Math fn, Expr a, Expr b) { return a->pool->math(fn, {a, b}); }

namespace {

// As `compare`, of what the nodes are without their operands.
int compare_alone(const ExprNode* a, const ExprNode* b) {
  const auto order = [](auto x, auto y) { return x < y ? -1 : x > y ? 1 : 0; };
  if (int c = order(a->kind, b->kind)) return c;
  if (int c = order(a->dtype, b->dtype)) return c;
  switch (a->kind) {
    case ExprKind::kInt: return order(a->int_value, b->int_value);
    case ExprKind::kFloat:
      return order(std::bit_cast<uint64_t>(a->float_value), std::bit_cast<uint64_t>(b->float_value));
    case ExprKind::kVar:
      if (a->shape_variable && b->shape_variable) return order(a->name.text(), b->name.text());
      if (a->shape_variable != b->shape_variable) return a->shape_variable ? -1 : 1;
      return order(a->id, b->id);
    default: break;
  }
  if (int c = order(a->fn, b->fn)) return c;
  if (a->buffer && b->buffer) {
    if (int c = order(a->buffer->id, b->buffer->id)) return c;
  }
  return order(a->args.size(), b->args.size());
}

}  // namespace

int compare(const ExprNode* a, const ExprNode* b) {
  if (a == b) return 0;
  if (int c = compare_alone(a, b)) return c;
  std::vector<std::pair<const ExprNode*, const ExprNode*>> pending;
  std::set<std::pair<const ExprNode*, const ExprNode*>> alike;  // but for operands, which are compared
  const auto compare_operands = [&](const ExprNode* x, const ExprNode* y) {
    for (size_t i = x->args.size(); i-- > 0;) {
      if (x->args[i] != y->args[i]) pending.emplace_back(x->args[i], y->args[i]);
    }
  };
  uint32_t steps = 0;
  for (compare_operands(a, b); !pending.empty();) {
    const auto [x, y] = pending.back();
    pending.pop_back();
    if (int c = compare_alone(x, y)) return c;
    if (++steps <= kSmallWeight || alike.emplace(x, y).second) compare_operands(x, y);
  }
  return 0;
}

Proof prove_equal(Expr a, Expr b) {
  if (a == b) return Proof::kProved;
  return polynomial::never_zero(a - b) ? Proof::kRefuted : Proof::kUnknown;
}

Expr substitute(Expr e, const std::unordered_map<const ExprNode*, Expr>& by) {
  const auto given = [&](const ExprNode* n) {
    const auto it = by.find(n);
    return it == by.end() ? Expr() : it->second;
  };
  return rewrite(e, given, [](Expr n) { return n; });
}

std::vector<Expr> variables(Expr e) {
  std::vector<Expr> found;
  std::unordered_map<const ExprNode*, bool> seen;
  std::vector<const ExprNode*> pending{e.get()};
  while (!pending.empty()) {
    const ExprNode* n = pending.back();
    pending.pop_back();
    if (!seen.emplace(n, true).second) continue;
    if (n->kind == ExprKind::kVar) found.push_back(n);
    for (size_t i = n->args.size(); i-- > 0;) pending.push_back(n->args[i]);
  }
  return found;
}

namespace {

class Evaluation {
 public:
  using Values = std::unordered_map<const ExprNode*, int64_t>;
  explicit Evaluation(const Values& values) : values_(values) {}

  std::optional<int64_t> of(const ExprNode* e) {
    if (e->weight <= kSmallWeight) return compute(e);
    if (const auto it = done_.find(e); it != done_.end()) return it->second;
    const std::optional<int64_t> value = compute(e);
    done_.emplace(e, value);
    return value;
  }

 private:
  std::optional<int64_t> compute(const ExprNode* e) {
    switch (e->kind) {
      case ExprKind::kInt: return e->int_value;
      case ExprKind::kVar: {
        auto it = values_.find(e);
        return it == values_.end() ? std::nullopt : std::optional(it->second);
      }
      case ExprKind::kSelect: {
        auto c = of(e->args[0]);
        return c ? of(*c ? e->args[1] : e->args[2]) : std::nullopt;
      }
      case ExprKind::kNot: {
        auto a = of(e->args[0]);
        return a ? std::optional<int64_t>(!*a) : std::nullopt;
      }
      case ExprKind::kCast: {
        auto a = of(e->args[0]);
        return a ? std::optional(wrap(e->dtype, *a)) : std::nullopt;
      }
      case ExprKind::kFloat:
      case ExprKind::kLoad:
      case ExprKind::kMath: return std::nullopt;
      default: return arithmetic(e);
    }
  }

  std::optional<int64_t> arithmetic(const ExprNode* e) {
    const bool is_index = e->dtype == kInt64, multiplies = is_index && e->kind == ExprKind::kMul;
    bool has_value = true, has_zero = false;
    int64_t result = 0;
    for (size_t i = 0; i < e->args.size(); ++i) {
      const std::optional<int64_t> next = of(e->args[i]);
      has_zero = has_zero || next == 0;
      if (!has_value || !next) {
        has_value = false;
        continue;
      }
      const std::optional<int64_t> so_far = i == 0     ? next
                                            : is_index ? fold_index(e->kind, result, *next)
                                                       : fold(e->kind, result, *next);
      has_value = so_far.has_value();
      result = so_far.value_or(0);
    }
    if (multiplies && has_zero) return 0;
    return has_value ? std::optional(wrap(e->dtype, result)) : std::nullopt;
  }

  const Values& values_;
  std::unordered_map<const ExprNode*, std::optional<int64_t>> done_;  // of what is not small
};

}  // namespace

std::optional<int64_t> evaluate(Expr e, const std::unordered_map<const ExprNode*, int64_t>& values) {
  return e->depth > kDeepestExpr ? std::nullopt : Evaluation(values).of(e.get());
}

}  // namespace relay::kernel
