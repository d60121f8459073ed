// Attributes, and the arithmetic of dims.
//
// Both recurse, but only to a depth that is limited to less than a hundred.
#include <unordered_map>

#include "base/cat.h"
#include "ir/text/names.h"
#include "ir/text/parser_impl.h"

namespace relay::text {
namespace {

constexpr size_t kDeepestValue = 64;
// Sums are kept in a canonical form, which takes time quadratic in the number of their operators.
constexpr size_t kMostOperators = 128;
constexpr size_t kHighest = 64;  // the height of the expression as a tree

int precedence(std::string_view op) {
  if (op == "+" || op == "-") return 1;
  if (op == "*" || op == "//" || op == "%") return 2;
  return 0;
}

}  // namespace

// Is `key =` or `a.b.key =` next?
bool Parser::at_attribute() {
  if (peek().kind != TokenKind::kName) return false;
  if (lexer_.peek_second().is("=")) return true;
  if (!lexer_.peek_second().is(".")) return false;
  const size_t start = lexer_.position();
  const uint32_t end_of_last = lexer_.end_of_last();
  next();
  while (peek().is(".") && lexer_.peek_second().kind == TokenKind::kName) {
    next();
    next();
  }
  const bool found = peek().is("=");
  lexer_.seek(start);
  lexer_.set_end_of_last(end_of_last);
  return found;
}

// key=value, ...; up to `closer`, which is left.
bool Parser::attributes(std::vector<Attr>& out, std::string_view closer) {
  std::unordered_map<Symbol, Span> places;
  while (!peek().is(closer)) {
    if (!at_attribute()) {
      const bool first = out.empty();
      return expected(cat("an attribute, like `axis=1`, or `", closer, "`"),
                      first ? Slug("expected-token") : Slug("argument-after-attribute"),
                      first ? "" : "attributes are the last in a list");
    }
    Token first = next();
    std::string key = first.name();
    while (take(".")) key += "." + next().name();
    next();  // =
    const std::optional<AttrValue> v = attr_value(0);
    if (!v) return false;
    const Symbol name = module_.context().symbol(key);
    const Span place = here_from(first.span.begin);
    if (const auto [before, fresh] = places.emplace(name, place); !fresh) {
      diagnostics_.warning(place, "duplicate-attribute", cat("attribute `", key, "` is given more than once"))
          .label(before->second, "the first one")
          .note("the last one counts");
    }
    out.push_back({name, *v});
    if (take(",") || peek().is(closer)) continue;
    if (!at_attribute())
      return expected_in_bracket(Place::kNone, cat("`,` or `", closer, "`"), "unfinished-list");
    warn_of_missing_comma();
  }
  return true;
}

std::optional<AttrValue> Parser::attr_value(size_t depth) {
  const Span at = peek().span;
  std::optional<AttrValue> v = attr_primary(depth);
  if (!v || (v->kind != AttrKind::kInt && v->kind != AttrKind::kDim)) return v;
  // An integer or a dim may be the left operand of arithmetic.
  const Operand left{v->kind == AttrKind::kInt ? Dim(v->integer) : v->dim, 1};
  Arithmetic limits;
  limits.attribute = true;
  if (v->kind == AttrKind::kInt && v->integer == INT64_MIN) return v;  // no dim has this value
  const std::optional<Operand> all = arithmetic(limits, 1, depth, &left);
  if (!all) return std::nullopt;
  if (limits.operators == 0) return v;
  if (all->dim.is_unknown()) {
    error(here_from(at.begin), "dim-overflow", "the value of this does not fit 64 bits");
    return std::nullopt;
  }
  return module_.context().attr_value(all->dim);
}

std::optional<AttrValue> Parser::attr_primary(size_t depth) {
  Context& context = module_.context();
  const Token t = peek();
  if (depth > kDeepestValue) {
    error(t.span, "nesting-too-deep",
          cat("attribute values are nested more than ", kDeepestValue, " deep here"));
    return std::nullopt;
  }
  if (t.kind == TokenKind::kString) return context.attr_value(next().name());
  if (t.kind == TokenKind::kMeta) return meta_attr(next());
  if (t.is("?")) {
    next();
    return context.attr_value(Dim::unknown());
  }
  if (t.is("[") || t.is("(")) return attr_in_brackets(depth);
  bool negative = false;
  const uint32_t begin = t.span.begin;
  while (peek().is("-")) {
    next();
    negative = !negative;
  }
  const Token v = peek();
  const bool unsigned_name = v.kind == TokenKind::kName;
  if (unsigned_name && !negative && begin == v.span.begin) {
    if (v.is_word("True") || v.is_word("False")) return context.attr_value(next().text == "True");
    if (v.is_word("None") || v.is_word("nullptr")) {
      next();
      return AttrValue{};
    }
  }
  std::optional<Number> n;
  if (v.kind == TokenKind::kNumber || (unsigned_name && !v.quoted)) n = split_number(v.text, negative);
  const std::optional<DType> suffix = n ? dtype_of_suffix(n->suffix) : std::nullopt;
  if (n && (v.kind == TokenKind::kNumber || suffix)) {
    next();
    return attr_number(*n, begin);
  }
  if (v.kind == TokenKind::kNumber) {
    error(v.span, "malformed-number", cat("`", v.text, "` is not a number"));
    return std::nullopt;
  }
  if (unsigned_name && (v.quoted || !keyword(v.text))) {
    Arithmetic limits;
    limits.attribute = true;
    const std::optional<Operand> name = arithmetic_operand(limits, depth + 1);
    if (!name) return std::nullopt;
    return context.attr_value(negative ? Dim(0) - name->dim : name->dim);
  }
  if (negative && v.is("(")) {
    const std::optional<AttrValue> inside = attr_primary(depth + 1);
    if (!inside) return std::nullopt;
    if (inside->kind == AttrKind::kInt && inside->integer != INT64_MIN)
      return context.attr_value(-inside->integer);
    if (inside->kind == AttrKind::kDim) return context.attr_value(Dim(0) - inside->dim);
    error(here_from(begin), "expected-attribute-value", "only numbers and dims have a negative");
    return std::nullopt;
  }
  expected("the value of an attribute", "expected-attribute-value");
  return std::nullopt;
}

// A value in parentheses is itself; with a comma it is a list.
std::optional<AttrValue> Parser::attr_in_brackets(size_t depth) {
  const Token bracket = next();
  std::vector<AttrValue> items;
  bool is_list = bracket.is("[");
  const std::string_view closer = is_list ? "]" : ")";
  while (!take(closer)) {
    const std::optional<AttrValue> item = attr_value(depth + 1);
    if (!item) return std::nullopt;
    items.push_back(*item);
    failed_ = false;
    if (!comma_or(closer, items.size())) {
      if (failed_) return std::nullopt;
      break;
    }
    is_list = true;
  }
  if (!is_list && items.size() == 1) return items[0];
  return module_.context().attr_list(items);
}

// The number whose text, with signs, begins there and has been read.
std::optional<AttrValue> Parser::attr_number(const Number& n, uint32_t begin) {
  const std::optional<DType> suffix = dtype_of_suffix(n.suffix);
  const Span span = here_from(begin);
  if (!n.suffix.empty() && !suffix) {
    error(span, "unknown-suffix", cat("`", n.suffix, "` is not the suffix of a number"))
        .note("attributes need none: `2`, `2.5`");
    return std::nullopt;
  }
  Context& context = module_.context();
  if (n.floating || (suffix && suffix->is_float())) {
    if (const std::optional<double> real = to_double(n)) return context.attr_value(*real);
  } else if (const std::optional<int64_t> integer = to_int64(n)) {
    return context.attr_value(*integer);
  }
  error(span, "literal-out-of-range",
        cat("`", lexer_.text().substr(begin, span.end - begin), "` does not fit 64 bits"));
  return std::nullopt;
}

// The key and index of meta[key][index].
std::optional<std::pair<std::string, size_t>> Parser::meta_key(const Token& token) {
  use_metadata();
  const size_t bracket = token.text.find(']');
  const std::string key(token.text.substr(5, bracket - 5));
  const std::string_view digits = token.text.substr(bracket + 2, token.text.size() - bracket - 3);
  const std::optional<Number> n = split_number(digits, false);
  const std::optional<int64_t> index = n ? to_int64(*n) : std::nullopt;
  if (!index) {
    error(token.span, "literal-out-of-range", "the index is too large");
    return std::nullopt;
  }
  return std::pair(key, static_cast<size_t>(*index));
}

void Parser::report_metadata(Span span, const MetaError& wrong) {
  Diagnostic& d = error(span, wrong.slug, wrong.message);
  if (wrong.slug == "missing-metadata") d.note("the section `#[metadata]` stands at the end of the text");
}

std::optional<AttrValue> Parser::meta_attr(const Token& token) {
  Context& context = module_.context();
  const auto key = meta_key(token);
  if (!key) return std::nullopt;
  const auto found = metadata_.find(key->first, key->second);
  // What we do not understand stays as it was written: some tool may.
  const AttrValue opaque = context.attr_value(std::string(token.text));
  if (std::get_if<MetaError>(&found)) return opaque;
  const MetaValue& v = std::get<MetaValue>(found);
  if (const auto* i = std::get_if<MetaInt>(&v)) return context.attr_value(i->value);
  if (const auto* f = std::get_if<MetaFloat>(&v)) return context.attr_value(f->value);
  if (const auto* s = std::get_if<MetaString>(&v)) return context.attr_value(s->value);
  if (const auto* d = std::get_if<MetaVariable>(&v))
    return context.attr_value(context.shape_variable(d->name));
  if (std::get_if<MetaAny>(&v)) return context.attr_value(Dim::unknown());
  return opaque;
}

// ---- Dims ----

std::optional<Dim> Parser::dim() {
  const Token t = peek();
  if (t.is("?")) {
    next();
    return Dim::unknown();
  }
  if (t.kind == TokenKind::kMeta) {
    next();
    const auto key = meta_key(t);
    if (!key) return std::nullopt;
    const auto found = metadata_.find(key->first, key->second);
    if (const auto* wrong = std::get_if<MetaError>(&found)) {
      report_metadata(t.span, *wrong);
      return std::nullopt;
    }
    const MetaValue& v = std::get<MetaValue>(found);
    if (const auto* i = std::get_if<MetaInt>(&v); i && i->value != INT64_MIN) return Dim(i->value);
    if (const auto* d = std::get_if<MetaVariable>(&v)) return module_.context().shape_variable(d->name);
    if (std::get_if<MetaAny>(&v)) return Dim::unknown();
    error(t.span, "wrong-metadata-kind", cat("`", t.text, "` is not a dim"))
        .note("of metadata integers, variables and `tir.Any` are dims");
    return std::nullopt;
  }
  Arithmetic limits;
  const std::optional<Operand> all = arithmetic(limits, 1, 0, nullptr);
  if (!all) return std::nullopt;
  if (all->dim.is_unknown()) {
    error(here_from(t.span.begin), "dim-overflow", "the value of this dim does not fit 64 bits");
    return std::nullopt;
  }
  return all->dim;
}

// The operator that is next; "" if there is none. In attributes, where comments are possible, it is
// `//` only after an operand that is symbolic; so `n * 2 // 3` ends before the comment.
std::string_view Parser::arithmetic_operator(Arithmetic& limits, const Operand& left) {
  if (limits.attribute) {
    lexer_.set_arithmetic(false);
    if (!left.dim.is_symbolic()) limits.comment_at = lexer_.position();
    lexer_.set_arithmetic(limits.comment_at != lexer_.position());
  }
  const Token& t = peek();
  return t.kind == TokenKind::kPunctuation && precedence(t.text) > 0 ? t.text : std::string_view();
}

std::optional<Parser::Operand> Parser::arithmetic(Arithmetic& limits, int least, size_t depth,
                                                  const Operand* left) {
  std::optional<Operand> so_far;
  const uint32_t begin = left ? lexer_.end_of_last() : peek().span.begin;
  if (left) {
    so_far = *left;
  } else {
    so_far = arithmetic_operand(limits, depth);
    if (!so_far) return std::nullopt;
  }
  for (;;) {
    const std::string_view op = arithmetic_operator(limits, *so_far);
    const int level = precedence(op);
    if (level < least) {
      if (limits.attribute) lexer_.set_arithmetic(false);
      return so_far;
    }
    next();
    if (limits.attribute) lexer_.set_arithmetic(false);
    const std::optional<Operand> right = arithmetic(limits, level + 1, depth, nullptr);
    if (!right) return std::nullopt;
    so_far = combined(limits, op, *so_far, *right, here_from(begin));
    if (!so_far) return std::nullopt;
  }
}

std::optional<Parser::Operand> Parser::combined(Arithmetic& limits, std::string_view op, const Operand& a,
                                                const Operand& b, Span span) {
  Operand out{Dim(0), std::max(a.height, b.height) + 1};
  // Sums of sums stay flat.
  const bool flat = op == "+" || op == "-";
  if (flat) out.height = std::max(a.height, b.height + 1);
  if (++limits.operators > kMostOperators || out.height > kHighest) {
    error(span, "dim-too-complex",
          cat("this has more than ", kMostOperators, " operators, or they are nested more than ", kHighest,
              " deep"));
    return std::nullopt;
  }
  if ((op == "//" || op == "floor_div" || op == "%" || op == "floor_mod") && b.dim.is_const() &&
      b.dim.value() == 0) {
    error(span, "division-by-zero", "this divides by zero");
    return std::nullopt;
  }
  if (op == "+") out.dim = a.dim + b.dim;
  if (op == "-") out.dim = a.dim - b.dim;
  if (op == "*") out.dim = a.dim * b.dim;
  if (op == "//" || op == "floor_div") out.dim = floor_div(a.dim, b.dim);
  if (op == "%" || op == "floor_mod") out.dim = floor_mod(a.dim, b.dim);
  if (op == "ceil_div") out.dim = ceil_div(a.dim, b.dim);
  if (op == "min") out.dim = min(a.dim, b.dim);
  if (op == "max") out.dim = max(a.dim, b.dim);
  if (op == "broadcast") out.dim = broadcast(a.dim, b.dim);
  if (out.dim.is_unknown()) {
    error(span, "dim-overflow", "the value of this does not fit 64 bits");
    return std::nullopt;
  }
  return out;
}

// A number, a shape variable, a function of two operands, or something in parentheses; with a sign.
std::optional<Parser::Operand> Parser::arithmetic_operand(Arithmetic& limits, size_t depth) {
  const Token t = peek();
  if (depth > kDeepestValue) {
    error(t.span, "nesting-too-deep", cat("arithmetic is nested more than ", kDeepestValue, " deep here"));
    return std::nullopt;
  }
  bool negative = false;
  while (take("-")) negative = !negative;
  const Token v = peek();
  std::optional<Operand> out;
  if (v.kind == TokenKind::kNumber) {
    next();
    const std::optional<Number> n = split_number(v.text, negative);
    const std::optional<int64_t> value = n ? to_int64(*n) : std::nullopt;
    if (!n || n->floating || n->hex || !n->suffix.empty()) {
      error(v.span, "dim-not-integer", cat("a dim is an integer, and this is `", v.text, "`"))
          .note("dims are divided by `//`, and rounded up by `ceil_div(n, 2)`");
      return std::nullopt;
    }
    if (!value || *value == INT64_MIN) {
      error(v.span, "literal-out-of-range", cat("`", v.text, "` does not fit 64 bits"));
      return std::nullopt;
    }
    return Operand{Dim(*value), 1};
  }
  if (v.is("(")) {
    next();
    out = arithmetic(limits, 1, depth + 1, nullptr);
    if (!out || !need(")", "after an expression in parentheses")) return std::nullopt;
  } else if (v.kind == TokenKind::kName && (v.quoted || !keyword(v.text))) {
    next();
    if (peek().is("(") && !v.quoted) {
      out = arithmetic_call(limits, depth, v);
      if (!out) return std::nullopt;
    } else {
      out = Operand{module_.context().shape_variable(v.name()), 1};
    }
  } else {
    expected("a dim: a number, a shape variable or `?`", "expected-dim");
    return std::nullopt;
  }
  if (negative) out->dim = Dim(0) - out->dim;
  return out;
}

std::optional<Parser::Operand> Parser::arithmetic_call(Arithmetic& limits, size_t depth, const Token& name) {
  const std::string_view op = name.text;
  static const std::vector<std::string> kFunctions = {"min",       "max",       "broadcast",
                                                      "floor_div", "floor_mod", "ceil_div"};
  if (std::find(kFunctions.begin(), kFunctions.end(), op) == kFunctions.end()) {
    suggest(error(name.span, "unknown-function", cat("there is no function `", op, "` of dims")), op, "",
            [] { return kFunctions; });
    return std::nullopt;
  }
  next();  // (
  std::vector<Operand> args;
  const bool ok = list(")", [&] {
    const std::optional<Operand> a = arithmetic(limits, 1, depth + 1, nullptr);
    if (a) args.push_back(*a);
    return a.has_value();
  });
  if (!ok) return std::nullopt;
  if (args.size() != 2) {
    error(here_from(name.span.begin), "wrong-arguments",
          cat("`", op, "` takes 2 operands, and here are ", args.size()));
    return std::nullopt;
  }
  return combined(limits, op, args[0], args[1], here_from(name.span.begin));
}

}  // namespace relay::text
