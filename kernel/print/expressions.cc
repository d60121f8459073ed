#include "kernel/print/expressions.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "kernel/print/vectors.h"
#include "kernel/scalar.h"
#include "kernel/statements.h"

namespace relay::kernel::printing {
namespace {

constexpr size_t kShortText = 40;  // index arithmetic that reads better where it is used
constexpr size_t kLongText = 120;  // what gets a line of its own

bool is_small_float(DType d) { return d.is_float() && d.bits < 32; }
bool is_leaf(const ExprNode* n) {
  return n->kind == ExprKind::kInt || n->kind == ExprKind::kFloat || n->kind == ExprKind::kVar;
}
bool fits_int(int64_t v) { return v > INT32_MIN && v <= INT32_MAX; }

// relay_float_of_NAME, relay_NAME_of_float and relay_round_NAME in the prelude.
std::string small_float_name(DType d) { return d.name(); }

Level above(Level l) { return static_cast<Level>(static_cast<int>(l) + 1); }

}  // namespace

bool was_clamped_to(DType d, const ExprNode* n) {
  const auto fits = [&](double v) {
    return std::fabs(v) < 0x1p31 && v >= static_cast<double>(integer_of_real(d, -0x1p31)) &&
           v <= static_cast<double>(integer_of_real(d, 0x1p31));
  };
  bool low = false, high = false;
  for (;;) {
    if (n->kind == ExprKind::kMin || n->kind == ExprKind::kMax) {
      const int c = n->args[1]->kind == ExprKind::kFloat ? 1 : 0;
      const ExprNode* bound = n->args[static_cast<size_t>(c)];
      if (bound->kind != ExprKind::kFloat || !fits(bound->float_value)) return false;
      (n->kind == ExprKind::kMin ? high : low) = true;
      n = n->args[static_cast<size_t>(1 - c)];
    } else if (n->kind == ExprKind::kMath && n->fn >= Math::kFloor && n->fn <= Math::kRound) {
      n = n->args[0];
    } else {
      return false;
    }
    if (low && high) return true;
  }
}

Expressions::Expressions(Context& context, const std::vector<Expr>& roots) : context_(context), locals_(1) {
  for (Expr e : roots) count(e.get());
}

std::string Expressions::scalar(Expr e) { return index_operand(e.get(), Level::kChoice); }
std::string Expressions::bound(Expr e) { return index_operand(e.get(), Level::kShift); }
std::string Expressions::condition(Expr e) { return value(e.get()).text; }

// --- Shared subexpressions ---

std::vector<const ExprNode*> Expressions::children(const ExprNode* n) {
  if (n->kind != ExprKind::kLoad) return {n->args.begin(), n->args.end()};
  if (n->args.empty()) return {};
  auto [it, fresh] = offsets_.try_emplace(n);
  if (fresh) it->second = offset_of(*n->buffer, n->args, context_.bounds, *n->pool);
  return {it->second.get()};
}

void Expressions::count(const ExprNode* n) {
  if (uses_[n]++ > 0) return;
  for (const ExprNode* c : children(n)) count(c);
}

// The shared expressions that are computed whenever n is.
const std::vector<const ExprNode*>& Expressions::certain(const ExprNode* n) {
  if (auto it = certain_.find(n); it != certain_.end()) return it->second;
  const auto order = [](const ExprNode* a, const ExprNode* b) { return a->id < b->id; };
  std::vector<const ExprNode*> all;
  const auto merge = [&](const std::vector<const ExprNode*>& more) {
    std::vector<const ExprNode*> both;
    std::set_union(all.begin(), all.end(), more.begin(), more.end(), std::back_inserter(both), order);
    all = std::move(both);
  };
  if (n->kind == ExprKind::kSelect && !is_vector(n->args[0])) {
    merge(certain(n->args[0]));
    const auto &a = certain(n->args[1]), &b = certain(n->args[2]);
    std::vector<const ExprNode*> common;
    std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(common), order);
    merge(common);
  } else {
    for (const ExprNode* c : children(n)) merge(certain(c));
  }
  if (uses_[n] > 1 && !is_leaf(n)) merge({n});
  return certain_[n] = std::move(all);
}

const std::string* Expressions::known(const ExprNode* n) const {
  for (size_t i = locals_.size(); i-- > 0;) {
    if (auto it = locals_[i].find(n); it != locals_[i].end()) return &it->second;
  }
  return nullptr;
}

std::string Expressions::declare(const ExprNode* n, const Text& t) {
  const std::string name = context_.names.unique("t");
  const std::string type = !is_vector(n)        ? std::string(value_type(n->dtype))
                           : n->dtype.is_bool() ? "auto"
                                                : vector_type(n->dtype);
  context_.out.line("const ", type, " ", name, " = ", t.text, ";");
  return locals_.back()[n] = name;
}

Text Expressions::value(const ExprNode* n) {
  if (const std::string* name = known(n)) return {*name, Level::kPrimary};
  Text t = compute(n);
  if (const std::string* name = known(n)) return {*name, Level::kPrimary};
  if (is_leaf(n)) return t;
  const bool variable = n->kind == ExprKind::kLoad && context_.places.at(n->buffer).variables;
  const bool short_index =
      (n->kind == ExprKind::kAdd || n->kind == ExprKind::kMul) && is_index(n) && t.text.size() < kShortText;
  if ((uses_[n] > 1 && !variable && !short_index) || t.text.size() > kLongText)
    return {declare(n, t), Level::kPrimary};
  return t;
}

// --- Operands ---

std::string Expressions::operand(const ExprNode* n, Level least) { return value(n).at_least(least); }

std::string Expressions::index_operand(const ExprNode* n, Level least) {
  if (n->kind != ExprKind::kInt || n->dtype != kInt64 || !fits_int(n->int_value)) return operand(n, least);
  return Text{cat(n->int_value), n->int_value < 0 ? Level::kUnary : Level::kPrimary}.at_least(least);
}

std::string Expressions::vector_operand(const ExprNode* n, Level least) {
  if (is_vector(n)) return operand(n, least);
  return cat("relay_splat<", context_.lanes->count, ">(", operand(n, Level::kChoice), ")");
}

std::string Expressions::like(const ExprNode* n, const ExprNode* argument, Level least) {
  return is_vector(n) ? vector_operand(argument, least) : operand(argument, least);
}

bool Expressions::is_vector(const ExprNode* n) {
  if (!context_.lanes) return false;
  if (n == context_.lanes->var.get()) return true;
  if (auto it = vector_.find(n); it != vector_.end()) return it->second;
  const bool any =
      std::any_of(n->args.begin(), n->args.end(), [&](const ExprNode* a) { return is_vector(a); });
  return vector_[n] = any;
}

// Made of loop and shape variables alone, whose sums and products address memory and
// do not overflow.
bool Expressions::is_index(const ExprNode* n) {
  if (n->dtype != kInt64) return false;
  if (n->kind == ExprKind::kVar) return true;
  if (n->kind == ExprKind::kInt) return fits_int(n->int_value);
  if (n->kind == ExprKind::kLoad || n->kind == ExprKind::kCast || n->kind == ExprKind::kMath) return false;
  if (auto it = index_.find(n); it != index_.end()) return it->second;
  const auto first = n->args.begin() + (n->kind == ExprKind::kSelect ? 1 : 0);
  return index_[n] = std::all_of(first, n->args.end(), [&](const ExprNode* a) { return is_index(a); });
}

std::string Expressions::vector_type(DType d) const {
  return cat("relay_vec<", value_type(d), ", ", context_.lanes->count, ">");
}

// --- Expressions ---

Text Expressions::compute(const ExprNode* n) {
  if (is_vector(n) && n->dtype.is_bool() && n->kind != ExprKind::kLoad) return mask_operation(n);
  switch (n->kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat: return constant(n);
    case ExprKind::kVar: {
      if (is_vector(n))
        return {cat("relay_iota<", context_.lanes->count, ">((int64_t)", context_.lanes->base, ")"),
                Level::kPrimary};
      auto it = context_.variables.find(n);
      CHECK(it != context_.variables.end(), cat("variable ", n->name.text(), " of a kernel is not bound"));
      return {it->second, Level::kPrimary};
    }
    case ExprKind::kAdd:
    case ExprKind::kSub:
    case ExprKind::kMul: return sum_or_product(n);
    case ExprKind::kDiv: return rounded(n, infix(n, "/", Level::kProduct));
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod:
    case ExprKind::kTruncDiv:
    case ExprKind::kTruncMod: return division(n);
    case ExprKind::kMin:
    case ExprKind::kMax: return minimum_or_maximum(n);
    case ExprKind::kBitAnd:
    case ExprKind::kBitOr:
    case ExprKind::kBitXor: {
      const Text t = infix(n,
                           n->kind == ExprKind::kBitAnd  ? "&"
                           : n->kind == ExprKind::kBitOr ? "|"
                                                         : "^",
                           Level::kBits);
      if (is_vector(n) || n->dtype.bits >= 32) return t;
      return {cat("(", value_type(n->dtype), ")(", t.text, ")"),
              Level::kUnary};  // undoes the promotion to int
    }
    case ExprKind::kShiftLeft: return rounded(n, call("relay_shift_left", n));
    case ExprKind::kShiftRight: return call("relay_shift_right", n);
    case ExprKind::kEqual:
    case ExprKind::kNotEqual:
    case ExprKind::kLess:
    case ExprKind::kLessEqual: return comparison(n);
    case ExprKind::kAnd:
    case ExprKind::kOr:
    case ExprKind::kNot: return logic(n);
    case ExprKind::kSelect: return is_vector(n->args[0]) ? vector_select(n) : select(n);
    case ExprKind::kCast: return is_vector(n) ? vector_cast(n) : cast(n);
    case ExprKind::kLoad: return load(n);
    case ExprKind::kMath: return math(n);
  }
  return {};
}

Text Expressions::constant(const ExprNode* n) const {
  const DType d = n->dtype;
  if (d.is_bool()) return {n->int_value ? "true" : "false", Level::kPrimary};
  if (d.is_float()) {
    const double v = scalar::round_to(d, n->float_value);
    const std::string type = d == kFloat64 ? "(double)" : "";
    if (std::isnan(v)) return {cat(type, context_.dialect.nan), Level::kUnary};
    if (std::isinf(v)) return {cat(v < 0 ? "-" : "", type, context_.dialect.infinity), Level::kUnary};
    std::string text = d == kFloat64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v));
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    if (d != kFloat64) text += "f";
    return {text, text[0] == '-' ? Level::kUnary : Level::kPrimary};
  }
  const int64_t v = n->int_value;
  if (d == kUInt64) return {fmt::format("UINT64_C({})", static_cast<uint64_t>(v)), Level::kPrimary};
  if (d == kInt64) return {v == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", v), Level::kPrimary};
  if (d == kUInt32) return {cat(v, "u"), Level::kPrimary};
  if (d == kInt32) {
    return {v == INT32_MIN ? "INT32_MIN" : cat(v), v < 0 ? Level::kUnary : Level::kPrimary};
  }
  return {cat("(", value_type(d), ")", v < 0 ? "(" : "", v, v < 0 ? ")" : ""), Level::kUnary};
}

Text Expressions::infix(const ExprNode* n, std::string_view sign, Level level) {
  std::string left = like(n, n->args[0], level), right = like(n, n->args[1], above(level));
  return {cat(left, " ", sign, " ", right), level};
}

Text Expressions::call(std::string_view function, const ExprNode* n) {
  std::string text = cat(function, "(");
  for (size_t i = 0; i < n->args.size(); ++i) text += cat(i ? ", " : "", like(n, n->args[i], Level::kChoice));
  return {text + ")", Level::kPrimary};
}

Text Expressions::sum_or_product(const ExprNode* n) {
  const bool sum = n->kind == ExprKind::kAdd;
  if (n->dtype.is_float()) {
    const char* sign = sum ? "+" : n->kind == ExprKind::kSub ? "-" : "*";
    return rounded(n, infix(n, sign, n->kind == ExprKind::kMul ? Level::kProduct : Level::kSum));
  }
  if (!is_vector(n) && is_index(n)) return sum ? index_sum(n) : index_product(n);
  const char* function = sum ? "relay_add" : n->kind == ExprKind::kSub ? "relay_sub" : "relay_mul";
  // Sums and products of int64 have any number of operands.
  std::string text = like(n, n->args[0], Level::kChoice);
  for (size_t i = 1; i < n->args.size(); ++i)
    text = cat(function, "(", text, ", ", like(n, n->args[i], Level::kChoice), ")");
  return rounded(n, {text, Level::kPrimary});
}

Text Expressions::index_sum(const ExprNode* n) {
  std::string text;
  for (const ExprNode* a : n->args) {
    std::string part = index_operand(a, Level::kProduct);
    if (text.empty()) {
      text = part;
    } else if (part[0] == '-') {
      text += cat(" - ", part.substr(1));
    } else {
      text += cat(" + ", part);
    }
  }
  return {text, Level::kSum};
}

Text Expressions::index_product(const ExprNode* n) {
  const ExprNode* last = n->args.back();
  if (n->args.size() == 2 && last->kind == ExprKind::kInt && last->int_value == -1)
    return {"-" + operand(n->args[0], Level::kUnary), Level::kUnary};
  std::string text = index_operand(n->args[0], Level::kProduct);
  for (size_t i = 1; i < n->args.size(); ++i) text += cat(" * ", index_operand(n->args[i], Level::kUnary));
  return {text, Level::kProduct};
}

Text Expressions::division(const ExprNode* n) {
  const bool quotient = n->kind == ExprKind::kFloorDiv || n->kind == ExprKind::kTruncDiv;
  if (is_index(n)) {
    const Interval a = context_.bounds.of(n->args[0]), b = context_.bounds.of(n->args[1]);
    if (a.low && *a.low >= 0 && b.low && *b.low >= 1) {
      std::string left = index_operand(n->args[0], Level::kProduct),
                  right = index_operand(n->args[1], Level::kUnary);
      return {cat(left, quotient ? " / " : " % ", right), Level::kProduct};
    }
  }
  const bool floor = n->kind == ExprKind::kFloorDiv || n->kind == ExprKind::kFloorMod;
  return rounded(n, call(floor ? (quotient ? "relay_floor_div" : "relay_floor_mod")
                               : (quotient ? "relay_trunc_div" : "relay_trunc_mod"),
                         n));
}

Text Expressions::minimum_or_maximum(const ExprNode* n) {
  std::string function = n->kind == ExprKind::kMin ? "relay_min" : "relay_max";
  const auto number = [](const ExprNode* a) {
    return a->kind == ExprKind::kFloat && !std::isnan(a->float_value);
  };
  if (number(n->args[1])) {
    function += "_right_number";
  } else if (number(n->args[0])) {
    function += "_left_number";
  }
  return call(function, n);
}

Text Expressions::comparison(const ExprNode* n) {
  const char* sign = n->kind == ExprKind::kEqual      ? "=="
                     : n->kind == ExprKind::kNotEqual ? "!="
                     : n->kind == ExprKind::kLess     ? "<"
                                                      : "<=";
  const Level level =
      n->kind == ExprKind::kEqual || n->kind == ExprKind::kNotEqual ? Level::kEquality : Level::kOrder;
  std::string left = index_operand(n->args[0], Level::kSum), right = index_operand(n->args[1], Level::kSum);
  return {cat(left, " ", sign, " ", right), level};
}

Text Expressions::logic(const ExprNode* n) {
  if (n->kind == ExprKind::kNot) return {"!" + operand(n->args[0], Level::kUnary), Level::kUnary};
  const bool both = n->kind == ExprKind::kAnd;
  std::string left = operand(n->args[0], Level::kEquality), right = operand(n->args[1], Level::kEquality);
  return {cat(left, both ? " && " : " || ", right), both ? Level::kAnd : Level::kOr};
}

// Exactly one side is computed, with all that only it needs.
Text Expressions::select(const ExprNode* n) {
  const std::string condition = operand(n->args[0], Level::kOr);
  const auto &a = certain(n->args[1]), &b = certain(n->args[2]);
  std::vector<const ExprNode*> both;
  for (const ExprNode* s : a) {
    if (std::find(b.begin(), b.end(), s) != b.end() && !known(s)) both.push_back(s);
  }
  for (const ExprNode* s : both) value(s);

  std::string sides[2], texts[2];
  for (size_t i = 0; i < 2; ++i) {
    Writer outer = std::exchange(context_.out, Writer(context_.out.depth() + 1));
    locals_.emplace_back();
    texts[i] = like(n, n->args[i + 1], Level::kOr);
    locals_.pop_back();
    sides[i] = std::exchange(context_.out, outer).text();
  }
  if (sides[0].empty() && sides[1].empty())
    return {cat(condition, " ? ", texts[0], " : ", texts[1]), Level::kChoice};

  const std::string name = context_.names.unique("t");
  context_.out.line(is_vector(n) ? vector_type(n->dtype) : std::string(value_type(n->dtype)), " ", name, ";");
  context_.out.open("if (", condition, ") {");
  context_.out.raw(sides[0]);
  context_.out.line(name, " = ", texts[0], ";");
  context_.out.reopen("} else {");
  context_.out.raw(sides[1]);
  context_.out.line(name, " = ", texts[1], ";");
  context_.out.close();
  locals_.back()[n] = name;
  return {name, Level::kPrimary};
}

std::string Expressions::integer_of(DType to, const ExprNode* a, bool is_vector) {
  const std::string_view each = is_vector ? "_each<" : "<", type = value_type(to);
  if (was_clamped_to(to, a)) return cat("relay_small_int_of", each, type, ">");
  return cat("relay_int_of", each, type, to.bits < 8 ? cat(", ", int{to.bits}) : "", ">");
}

Text Expressions::cast(const ExprNode* n) {
  const ExprNode* a = n->args[0];
  const DType to = n->dtype, from = a->dtype;
  const std::string type(value_type(to));
  const auto converted = [&](std::string_view t) {
    return Text{cat("(", t, ")", operand(a, Level::kUnary)), Level::kUnary};
  };
  if (to.is_bool()) return {cat(operand(a, Level::kSum), " != 0"), Level::kEquality};
  if (to.is_float()) {
    if (!is_small_float(to)) return value_type(from) == type ? value(a) : converted(type);
    // Straight from what does not fit a float, with one rounding.
    if (from == kFloat64)
      return rounded(n, {cat("relay_odd_float_of(", operand(a, Level::kChoice), ")"), Level::kPrimary});
    if (from.is_int() && from.bits == 64)
      return rounded(n, {cat("relay_odd_float_of(relay_odd_double_of(", operand(a, Level::kChoice), "))"),
                         Level::kPrimary});
    if (from.is_int() && from.bits > 16)
      return rounded(n,
                     {cat("relay_odd_float_of((double)", operand(a, Level::kUnary), ")"), Level::kPrimary});
    return rounded(n, from.is_float() ? value(a) : converted("float"));
  }
  if (!from.is_float()) return rounded(n, converted(type));
  return {cat(integer_of(to, a, false), "(", operand(a, Level::kChoice), ")"), Level::kPrimary};
}

Text Expressions::math(const ExprNode* n) {
  const DType from = n->args[0]->dtype;
  if (!from.is_float()) {
    if (n->fn == Math::kIsFinite) return {"true", Level::kPrimary};
    if (n->fn == Math::kIsNan || n->fn == Math::kIsInf) return {"false", Level::kPrimary};
    if (n->fn == Math::kAbs && from.is_signed_int()) return rounded(n, call("relay_abs_of_int", n));
    return value(n->args[0]);  // integers are whole
  }
  const MathNames& names = context_.dialect.math[static_cast<size_t>(n->fn)];
  return rounded(n, call(from == kFloat64 ? names.float64 : names.float32, n));
}

Text Expressions::rounded(const ExprNode* n, Text t) const {
  const DType d = n->dtype;
  if (n == unrounded_) return t;
  if (is_small_float(d)) return {cat("relay_round_", small_float_name(d), "(", t.text, ")"), Level::kPrimary};
  if (d == kInt4 || d == kUInt4) return {cat("relay_wrap_", d.name(), "(", t.text, ")"), Level::kPrimary};
  return t;
}

// --- Memory ---

Expr Expressions::at_base(Expr offset) const {
  if (!context_.lanes) return offset;
  return substitute(offset, {{context_.lanes->var.get(), offset->pool->integer(context_.lanes->base)}});
}

std::string Expressions::element(const Place& place, Expr offset) {
  if (!place.variables) return cat(place.name, "[", index_operand(offset.get(), Level::kChoice), "]");
  CHECK(offset->kind == ExprKind::kInt, "the offset into a buffer that is a set of variables is not known");
  return place.variable_names.at(offset->int_value);
}

std::string Expressions::pointer(const Place& place, Expr offset) {
  return offset.is_int(0) ? place.name : cat(place.name, " + ", index_operand(offset.get(), Level::kSum));
}

Text Expressions::load(const ExprNode* n) {
  const Place& place = context_.places.at(n->buffer);
  const DType d = n->dtype;
  const std::vector<const ExprNode*> c = children(n);
  const Expr offset = c.empty() ? n->pool->integer(0) : Expr(c[0]);
  std::string text;
  if (!is_vector(n)) {
    text = element(place, offset);
    if (d.is_bool() && place.as_stored) return {cat(text, " != 0"), Level::kEquality};
  } else {
    const Expr first = at_base(offset);
    text = place.variables ? element(place, first)
                           : cat("relay_load<", context_.lanes->count, ">(", pointer(place, first), ")");
    if (d.is_bool()) return {cat(text, " != 0"), Level::kEquality};
  }
  if (is_small_float(d) && place.as_stored)
    text = cat("relay_float_of_", small_float_name(d), "(", text, ")");
  return {text, Level::kPrimary};
}

void Expressions::store(const Buffer& buffer, Expr offset, Expr stored) {
  const Place& place = context_.places.at(&buffer);
  const bool vector = context_.lanes && mentions(offset, context_.lanes->var);
  const ExprNode* n = stored.get();
  const bool small = is_small_float(buffer.dtype) && place.as_stored;
  if (small && uses_[n] == 1) unrounded_ = n;
  std::string text;
  if (vector && buffer.dtype.is_bool()) {
    text = cat("relay_convert<uint8_t>(-", mask(n, is_vector(n) ? mask_bits(n) : 8), ")");
  } else {
    text = vector ? vector_operand(n, Level::kChoice) : operand(n, Level::kChoice);
  }
  unrounded_ = nullptr;
  if (small) text = cat("relay_", small_float_name(buffer.dtype), "_of_float(", text, ")");
  const Expr first = vector ? at_base(offset) : offset;
  if (vector && !place.variables) {
    context_.out.line("relay_store(", pointer(place, first), ", ", text, ");");
  } else {
    const std::string where = element(place, first);
    context_.out.line(where, " = ", text, ";");
  }
}

}  // namespace relay::kernel::printing
