#include "kernel/print/expressions.h"

#include <fmt/format.h>
#include <cmath>

#include "base/check.h"
#include "kernel/codegen/operations.h"
#include "kernel/scalar.h"
#include "kernel/statements.h"

namespace relay::kernel::print {
namespace {

constexpr size_t kShortText = 40;  // index arithmetic that reads better where it is used
constexpr size_t kLongText = 120;  // what gets a line of its own
// Blocks inside each other. Compilers refuse more than 256 brackets, and a kernel has loops, too.
constexpr int kMostNested = 64;

bool is_small_float(DType d) { return d.is_float() && d.bits < 32; }
bool fits_int(int64_t v) { return v > INT32_MIN && v <= INT32_MAX; }

// relay_float_of_NAME, relay_NAME_of_float and relay_round_NAME in the prelude.
std::string small_float_name(DType d) { return d.name(); }

Level above(Level l) { return static_cast<Level>(static_cast<int>(l) + 1); }

}  // namespace

Expressions::Expressions(Context& context, const std::vector<Expr>& roots)
    : context_(context), sharing_(context.bounds, context.lanes, roots), locals_(1) {}

std::string Expressions::scalar(Expr e) { return index_operand(e.get(), Level::kChoice); }
std::string Expressions::bound(Expr e) { return index_operand(e.get(), Level::kShift); }
std::string Expressions::condition(Expr e) { return value(e.get()).text; }

// --- Local constants ---

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
  if (codegen::is_leaf(n)) return t;
  const bool variable = n->kind == ExprKind::kLoad && context_.places.at(n->buffer).variables;
  const bool short_index =
      (n->kind == ExprKind::kAdd || n->kind == ExprKind::kMul) && is_index(n) && t.text.size() < kShortText;
  if ((sharing_.is_shared(n) && !variable && !short_index) || t.text.size() > kLongText)
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
    case ExprKind::kBroadcast: return call("relay_broadcast", n);
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
  const bool quotient = codegen::is_quotient(n);
  if (is_index(n) && codegen::divides_naturals(n, context_.bounds)) {
    std::string left = index_operand(n->args[0], Level::kProduct),
                right = index_operand(n->args[1], Level::kUnary);
    return {cat(left, quotient ? " / " : " % ", right), Level::kProduct};
  }
  const bool floor = n->kind == ExprKind::kFloorDiv || n->kind == ExprKind::kFloorMod;
  return rounded(n, call(floor ? (quotient ? "relay_floor_div" : "relay_floor_mod")
                               : (quotient ? "relay_trunc_div" : "relay_trunc_mod"),
                         n));
}

Text Expressions::minimum_or_maximum(const ExprNode* n) {
  std::string function = n->kind == ExprKind::kMin ? "relay_min" : "relay_max";
  const codegen::Number number = codegen::number_operand(n);
  if (number == codegen::Number::kRight) function += "_right_number";
  if (number == codegen::Number::kLeft) function += "_left_number";
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
  for (const ExprNode* s : sharing_.on_both_sides(n)) {
    if (!known(s)) value(s);
  }

  const bool outermost = locals_.size() == 1;
  if (outermost) depth_ = context_.out.depth();
  std::string sides[2], texts[2];
  for (size_t i = 0; i < 2; ++i) {
    Writer outer = std::exchange(context_.out, Writer(context_.out.depth() + 1));
    texts[i] = side(n, n->args[i + 1]);
    sides[i] = std::exchange(context_.out, outer).text();
  }
  if (outermost) context_.out.raw(std::exchange(parts_, {}));
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

std::string Expressions::side(const ExprNode* selection, const ExprNode* n) {
  if (nested_ >= kMostNested && static_cast<int>(n->depth) > kMostNested) return part(selection, n);
  ++nested_;
  locals_.emplace_back();
  std::string text = like(selection, n, Level::kOr);
  locals_.pop_back();
  --nested_;
  return text;
}

// It knows only names in front of the outermost choice, and computes others anew.
std::string Expressions::part(const ExprNode* selection, const ExprNode* n) {
  const std::string name = context_.names.unique("part");
  auto scopes = std::exchange(locals_, {locals_[0], {}});
  const int nested = std::exchange(nested_, 0);
  const Writer outer = std::exchange(context_.out, Writer(depth_ + 1));
  const std::string result = like(selection, n, Level::kChoice);
  const Writer body = std::exchange(context_.out, outer);
  nested_ = nested;
  locals_ = std::move(scopes);

  const std::string type = is_vector(selection) ? vector_type(n->dtype) : std::string(value_type(n->dtype));
  Writer function(depth_);
  function.open("const auto ", name, " = [&]() -> ", type, " {");
  function.raw(body.text());
  function.line("return ", result, ";");
  function.close("};");
  parts_ += function.text();
  return name + "()";
}

std::string Expressions::integer_of(DType to, const ExprNode* a, bool is_vector) {
  const std::string_view each = is_vector ? "_each<" : "<", type = value_type(to);
  if (codegen::was_clamped_to(to, a)) return cat("relay_small_int_of", each, type, ">");
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
  const Expr offset = sharing_.offset(n);
  std::string text;
  if (!is_vector(n)) {
    text = element(place, offset);
    if (d.is_bool() && place.as_stored) return {cat(text, " != 0"), Level::kEquality};
  } else {
    const Expr first = codegen::at_first_lane(offset, context_.lanes);
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
  if (small && !sharing_.is_shared(n)) unrounded_ = n;
  std::string text;
  if (vector && buffer.dtype.is_bool()) {
    text = cat("relay_convert<uint8_t>(-", mask(n, is_vector(n) ? mask_bits(n) : 8), ")");
  } else {
    text = vector ? vector_operand(n, Level::kChoice) : operand(n, Level::kChoice);
  }
  unrounded_ = nullptr;
  if (small) text = cat("relay_", small_float_name(buffer.dtype), "_of_float(", text, ")");
  const Expr first = vector ? codegen::at_first_lane(offset, context_.lanes) : offset;
  if (vector && !place.variables) {
    context_.out.line("relay_store(", pointer(place, first), ", ", text, ");");
  } else {
    const std::string where = element(place, first);
    context_.out.line(where, " = ", text, ";");
  }
}

}  // namespace relay::kernel::print
