// The reader of patterns. It recurses, but only as deeply as brackets may be nested.
#include <map>

#include "base/cat.h"
#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "ir/text/printer.h"
#include "op/absent.h"
#include "op/operators.h"
#include "op/readings.h"
#include "op/registry.h"
#include "pattern/text.h"
#include "pattern/tokens.h"

namespace relay::pattern {
namespace {

using text::Token;
using text::TokenKind;

constexpr size_t kDeepest = 200;

using Maybe = std::optional<Pattern>;  // nothing: reported

class Reader : PatternTokens {
 public:
  Reader(uint32_t file, Diagnostics& diagnostics, const ParseOptions& options)
      : PatternTokens(file, options.into.context().sources().text(file), diagnostics),
        options_(options),
        operators_(op::operators()) {}

  Maybe whole() {
    while (peek().kind == TokenKind::kGraph && lexer_.peek_second().is("=")) {
      const Token number = next();
      next();
      const Maybe p = alternatives();
      if (!p || !need(";", "after a part")) return std::nullopt;
      if (const auto [before, fresh] = places_.emplace(number.text, number.span); !fresh) {
        diagnostics_.error(number.span, "redefined-part", cat("`%", number.text, "` is defined already"))
            .label(before->second, "the other definition")
            .note("a number stands for one part; give this one another number");
        return std::nullopt;
      }
      parts_.emplace(number.text, *p);
    }
    Maybe p = alternatives();
    if (!p) return p;
    if (peek().kind != TokenKind::kEnd) return expected("the end of the pattern");
    return p;
  }

 private:
  // For what refers to types, dims and expressions of the context.
  Pattern in_context(const Pattern& p) {
    auto copy = std::make_shared<Node>(*p);
    copy->context = options_.into.shared_context();
    return Pattern(std::move(copy));
  }

  // ---- The grammar ----

  Maybe alternatives() {
    Maybe p = chain();
    while (p && take("|")) {
      const Maybe other = chain();
      p = other ? Maybe(*p | *other) : std::nullopt;
    }
    return p;
  }

  // A primary and what follows it. All recursion comes by here.
  Maybe chain() {
    if (++depth_ > kDeepest) {
      diagnostics_.error(peek().span, "nesting-too-deep",
                         cat("brackets are nested more than ", kDeepest, " deep here"));
      return std::nullopt;
    }
    Maybe p = links();
    --depth_;
    return p;
  }

  Maybe links() {
    bool may_be_named = peek().kind != TokenKind::kGraph;
    Maybe p = primary();
    while (p) {
      const Token t = peek();
      if (t.is_word("as")) {
        p = named(*p, may_be_named);
        may_be_named = false;
        continue;
      }
      if (t.is("(")) {
        p = call_of(*p);
      } else if (t.is(".")) {
        p = field_of(*p);
      } else if (t.is(":")) {
        next();
        p = typed(*p);
      } else if (t.is_word("once")) {
        next();
        p = p->used_once();
      } else if (t.is("[")) {
        next();
        Attributes attrs;
        p = attributes(attrs, "]") ? Maybe(with(*p, attrs)) : std::nullopt;
      } else {
        return p;
      }
      may_be_named = true;
    }
    return p;
  }

  Maybe named(const Pattern& p, bool may_be_named) {
    const Token as = next();
    if (peek().kind != TokenKind::kLocal) return expected("a name after `as`, like `%x`");
    const Token name = next();
    if (may_be_named && p->name.empty()) return p.named(name.name());
    diagnostics_.error(cover(as.span, name.span), "named-twice", "this part has a name or a number already")
        .note("a part is named where it is defined: `%0 = ... as %x;`");
    return std::nullopt;
  }

  Maybe primary() {
    const Token t = peek();
    switch (t.kind) {
      case TokenKind::kLocal: return wildcard().named(next().name());
      case TokenKind::kGraph: return defined();
      case TokenKind::kGlobal: return exact_expr();
      case TokenKind::kNumber: return number();
      case TokenKind::kName: return word();
      default: break;
    }
    if (t.is("-")) return number();
    if (t.is("(")) return parenthesised();
    return expected("a pattern");
  }

  Maybe defined() {
    const Token number = next();
    const auto known = parts_.find(number.text);
    if (known != parts_.end()) return known->second;
    diagnostics_.error(number.span, "unknown-part", cat("`%", number.text, "` is not defined before this"))
        .note(cat("a part is written `%", number.text, " = ...;` above its uses"));
    return std::nullopt;
  }

  Maybe number() {
    const Result<Expr> e = language([&](TextPlace& at) { return read_number(at, diagnostics_, options_); });
    if (!e) return std::nullopt;
    return in_context(exactly(*e));
  }

  // @f stands for itself.
  Maybe exact_expr() {
    const Token name = next();
    if (!options_.into.function(name.name()) && !options_.into.kernel(name.name())) {
      diagnostics_.error(name.span, "unknown-global",
                         cat("there is no function or kernel `@", name.name(), "`"));
      return std::nullopt;
    }
    return in_context(exactly(Builder(options_.into.context()).global(name.name())));
  }

  Maybe word() {
    if (take_word("_")) return wildcard();
    if (take_word("const")) return constant();
    if (take_word("var")) return variable();
    if (peek().is_word("True") || peek().is_word("False")) {
      Tensor truth(kBool, {});
      truth.set_int(0, next().text == "True");
      return exactly(std::move(truth));
    }
    if (take_word("expr")) return expression();
    if (take_word("fn")) return function();
    if (take_word("if")) return conditional();
    if (take_word("let")) return binding();
    if (take_word("dominates")) return dominator();
    const bool marked = peek().is_word("op") || peek().is_word("ctor");
    if (!marked && !peek().quoted && text::keyword(peek().text)) return expected("a pattern");
    return operator_or_constructor();
  }

  Maybe variable() {
    if (!peek().is("(") || lexer_.peek_second().kind != TokenKind::kString) return var();
    next();
    const Token name = next();
    if (!need(")", "after the name of a variable")) return std::nullopt;
    return var(name.name());
  }

  Maybe expression() {
    if (!need("{", "after `expr`")) return std::nullopt;
    const Result<Expr> e =
        language([&](TextPlace& at) { return read_expr(at, diagnostics_, operators_, options_); });
    if (!e || !need("}", "after an expression")) return std::nullopt;
    return in_context(exactly(*e));
  }

  Maybe function() {
    if (!need("(", "after `fn`")) return std::nullopt;
    std::vector<Pattern> params;
    Attributes attrs;
    bool is_any = false;
    if (!described(params, attrs, is_any)) return std::nullopt;
    const Maybe body = braced();
    if (!body) return body;
    const Pattern p = is_any ? fn(any, *body) : fn(std::move(params), *body);
    return attrs.empty() ? p : with(p, attrs);
  }

  Maybe braced() {
    if (!need("{", "before a body")) return std::nullopt;
    Maybe p = alternatives();
    if (!p || !need("}", "after a body")) return std::nullopt;
    return p;
  }

  Maybe conditional() {
    if (!need("(", "before the condition")) return std::nullopt;
    const Maybe condition = alternatives();
    if (!condition || !need(")", "after the condition")) return std::nullopt;
    const Maybe then_branch = braced();
    if (!then_branch) return std::nullopt;
    if (!take_word("else")) return expected("`else`");
    const Maybe else_branch = braced();
    if (!else_branch) return std::nullopt;
    return if_(*condition, *then_branch, *else_branch);
  }

  Maybe binding() {
    const Maybe variable = chain();
    if (!variable || !need("=", "after the variable of a `let`")) return std::nullopt;
    const Maybe value = alternatives();
    if (!value || !need(";", "after the value of a `let`")) return std::nullopt;
    const Maybe body = alternatives();
    if (!body) return std::nullopt;
    return let(*variable, *value, *body);
  }

  Maybe dominator() {
    if (!need("(", "after `dominates`")) return std::nullopt;
    std::vector<Pattern> parts;
    const Span at = peek().span;
    if (!list(parts, ")")) return std::nullopt;
    if (parts.size() == 3) {
      Pattern p = dominates(parts[0], parts[1], parts[2]);
      if (p->nested_paths <= kMostNestedPaths) return p;
      diagnostics_.error(at, "nesting-too-deep",
                         cat("more than ", kMostNestedPaths, " paths of dominators lie in each other here"));
      return std::nullopt;
    }
    diagnostics_.error(
        at, "wrong-arguments",
        cat("`dominates` takes a parent, a path and a child, and here are ", parts.size(), " patterns"));
    return std::nullopt;
  }

  Maybe parenthesised() {
    next();
    if (ellipsis()) {
      if (!need(")", "after `...`")) return std::nullopt;
      return tuple(any);
    }
    if (take(")")) return tuple(std::vector<Pattern>{});
    Maybe first = alternatives();
    if (!first) return first;
    if (take(")")) return first;
    if (!need(",", "or `)` after a pattern")) return std::nullopt;
    std::vector<Pattern> fields{*first};
    if (!list(fields, ")")) return std::nullopt;
    return tuple(std::move(fields));
  }

  Maybe operator_or_constructor() {
    const bool only_op = peek().is_word("op"), only_ctor = peek().is_word("ctor");
    if (only_op || only_ctor) next();
    if (peek().kind != TokenKind::kName) return expected("a name");
    const Token first = next();
    std::string name = first.name();
    Span span = first.span;
    const Constructor* ctor = only_op ? nullptr : options_.into.constructor(name);
    if (ctor) {
      const Pattern p = in_context(exactly(Builder(options_.into.context()).ctor(*ctor)));
      // As in programs, a constructor without fields is called by its name alone.
      return ctor->fields.empty() && !only_ctor && !peek().is("(") ? call(p) : p;
    }
    while (peek().is(".") && lexer_.peek_second().kind == TokenKind::kName &&
           !lexer_.peek_second().is_word("_")) {
      next();
      const Token part = next();
      name += cat(".", part.name());
      span = cover(span, part.span);
    }
    if (const op::OpDef* def = only_ctor ? nullptr : op::find(name)) return op(*def);
    Diagnostic& d =
        diagnostics_.error(span, "unknown-operator", cat("there is no operator or constructor `", name, "`"));
    const std::string_view why = op::why_absent(name);
    const std::vector<std::string> near = op::nearest(name, 1);
    if (const op::Reading* reading = op::find_reading(name)) {
      d.note(cat("no program has it: `", reading->means, "`"));
    } else if (!why.empty()) {
      d.note(cat("there is none on purpose: ", why));
    } else if (!near.empty()) {
      d.note(cat("did you mean `", near.front(), "`?"));
    }
    return std::nullopt;
  }

  // ---- What follows a primary ----

  Maybe call_of(const Pattern& callee) {
    next();
    std::vector<Pattern> args;
    Attributes attrs;
    bool is_any = false;
    if (!described(args, attrs, is_any)) return std::nullopt;
    const Pattern p = is_any ? call(callee, any) : call(callee, std::move(args));
    return attrs.empty() ? p : with(p, attrs);
  }

  Maybe field_of(const Pattern& of) {
    next();
    if (take_word("_")) return proj(of, any);
    Token digits;
    if (!lexer_.digits(digits)) return expected("the number of a field, or `_`, after `.`");
    const std::optional<text::Number> n = text::split_number(digits.text, false);
    const std::optional<int64_t> index = n ? text::to_int64(*n) : std::nullopt;
    if (index && *index <= INT32_MAX) return proj(of, static_cast<uint32_t>(*index));
    diagnostics_.error(digits.span, "literal-out-of-range", "no tuple has that many fields");
    return std::nullopt;
  }

  // After the colon: a type, or a tensor type of which the shape or the dtype is `_`.
  Maybe typed(const Pattern& p) {
    if (!peek().is_word("Tensor")) {
      const Result<Type> t = language([&](TextPlace& at) { return read_type(at, diagnostics_, options_); });
      if (!t) return std::nullopt;
      return in_context(p.with_type(*t));
    }
    next();
    if (!need("[", "after `Tensor`")) return std::nullopt;
    std::optional<std::vector<std::optional<Dim>>> dims;
    if (!take_word("_") && !read_dims(dims.emplace())) return std::nullopt;
    if (!need(",", "between the dims and the dtype of a tensor type")) return std::nullopt;
    std::optional<DType> dtype;
    if (!take_word("_")) {
      const Token name = peek();
      dtype = name.kind == TokenKind::kName ? DType::parse(name.text) : std::nullopt;
      if (!dtype) return expected("a dtype, like `float32`, or `_`");
      next();
    }
    if (!dims && !dtype) return expected("dims or a dtype; a tensor type cannot be `_` in both");
    if (!need("]", "after the dtype of a tensor type")) return std::nullopt;
    return constrained(p, dims, dtype);
  }

  Maybe constrained(const Pattern& p, const std::optional<std::vector<std::optional<Dim>>>& dims,
                    std::optional<DType> dtype) {
    if (!dims) return p.with_dtype(*dtype);
    std::vector<Dim> known;
    for (const std::optional<Dim>& d : *dims) {
      if (d) known.push_back(*d);
    }
    if (dtype && known.size() == dims->size())
      return in_context(p.with_type(options_.into.context().tensor_type(known, *dtype)));
    const Pattern shaped = in_context(p.with_shape(*dims));
    return dtype ? shaped.with_dtype(*dtype) : shaped;
  }

  bool read_dims(std::vector<std::optional<Dim>>& out) {
    if (!need("(", "or `_` before the dims of a tensor type")) return false;
    while (!take(")")) {
      if (take_word("_")) {
        out.emplace_back();
      } else {
        const Result<Dim> d = language([&](TextPlace& at) { return read_dim(at, diagnostics_, options_); });
        if (!d) return false;
        out.emplace_back(*d);
      }
      if (!take(",") && !peek().is(")")) return need(")", "or `,` after a dim");
    }
    return true;
  }

  // ---- Lists ----

  using Attributes = std::map<std::string, std::string>;  // values as texts

  bool ellipsis() {
    if (!peek().is(".")) return false;
    next();
    return need(".", "in `...`") && need(".", "in `...`");
  }

  bool list(std::vector<Pattern>& out, std::string_view closer) {
    while (!take(closer)) {
      const Maybe p = alternatives();
      if (!p) return false;
      out.push_back(*p);
      if (!take(",") && !peek().is(closer)) return need(closer, "or `,` after a pattern");
    }
    return true;
  }

  // Arguments or parameters, or `...`, and then attributes; after the bracket.
  bool described(std::vector<Pattern>& out, Attributes& attrs, bool& is_any) {
    if (peek().is(".")) {
      is_any = ellipsis();
      if (!is_any) return false;
      if (!take(",") && !peek().is(")")) return need(")", "or `,` after `...`");
    }
    while (!peek().is(")") && !at_attribute()) {
      if (is_any) return need(")", "or an attribute after `...`");
      const Maybe p = alternatives();
      if (!p) return false;
      out.push_back(*p);
      if (!take(",") && !peek().is(")")) return need(")", "or `,` after a pattern");
    }
    return attributes(attrs, ")");
  }

  bool at_attribute() {
    if (peek().kind != TokenKind::kName) return false;
    const size_t start = lexer_.position();
    next();
    while (peek().is(".") && lexer_.peek_second().kind == TokenKind::kName) {
      next();
      next();
    }
    const bool found = peek().is("=");
    lexer_.seek(start);
    return found;
  }

  bool attributes(Attributes& out, std::string_view closer) {
    std::map<std::string, Span> places;
    while (!take(closer)) {
      if (!at_attribute()) {
        expected(cat("an attribute, like `axis=1`, or `", closer, "`"));
        return false;
      }
      const Span begin = peek().span;
      std::string key = next().name();
      while (take(".")) key += "." + next().name();
      const Span place = cover(begin, next().span);  // with the `=`
      if (const auto [before, fresh] = places.emplace(key, place); !fresh) {
        diagnostics_.error(place, "duplicate-attribute", cat("attribute `", key, "` is given twice"))
            .label(before->second, "the other one");
        return false;
      }
      const Result<AttrValue> v =
          language([&](TextPlace& at) { return read_attr_value(at, diagnostics_, options_); });
      if (!v) return false;
      out[key] = print(*v);
      if (!take(",") && !peek().is(closer)) return need(closer, "or `,` after an attribute");
    }
    return true;
  }

  static Pattern with(const Pattern& p, const Attributes& attrs) {
    auto node = std::make_shared<Node>(Kind::kAttr, std::vector<Pattern>{p});
    node->attrs.assign(attrs.begin(), attrs.end());
    return Pattern(std::move(node));
  }

  const ParseOptions& options_;
  const Operators operators_;
  std::map<std::string, Pattern, std::less<>> parts_;
  std::map<std::string, Span, std::less<>> places_;  // of their numbers
  size_t depth_ = 0;
};

}  // namespace

Result<Pattern> parse(std::string name, std::string text, Diagnostics& diagnostics,
                      const ParseOptions& options) {
  if (text.size() > options.max_bytes) {
    diagnostics.error(
        {}, "input-too-large",
        cat("`", name, "` has ", text.size(), " bytes; at most ", options.max_bytes, " are read"));
    return kReported;
  }
  const size_t errors = diagnostics.errors();
  const uint32_t file = options.into.context().sources().add(std::move(name), std::move(text));
  const Maybe p = Reader(file, diagnostics, options).whole();
  if (!p || diagnostics.errors() != errors) return kReported;
  return *p;
}

}  // namespace relay::pattern
