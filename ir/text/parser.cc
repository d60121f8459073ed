// What all parts of the parser share: tokens and messages; and what reads a text or a part of one.
#include "ir/text/parser.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "base/nearest.h"
#include "ir/text/names.h"
#include "ir/text/parse_open.h"
#include "ir/text/parser_impl.h"

namespace relay {
namespace text {
namespace {

// "Did you mean" compares with every candidate: only so many times for one text.
constexpr size_t kMostSuggestions = 50;

}  // namespace

Parser::Parser(uint32_t file, std::string_view text, Diagnostics& diagnostics, const Operators& operators,
               const ParseOptions& options, std::set<std::string>* imported)
    : lexer_(file, text, diagnostics),
      diagnostics_(diagnostics),
      operators_(operators),
      options_(options),
      module_(options.into),
      builder_(module_.context()),
      imported_(imported),
      errors_before_(diagnostics.errors()),
      errors_at_item_(diagnostics.errors()),
      types_(module_, text, operators) {
  poison_ = builder_.var("unread");
}

Token Parser::next() {
  const Token t = lexer_.next();
  if (t.kind != TokenKind::kPunctuation) return t;
  if (t.is("(") || t.is("[") || t.is("{")) brackets_.push_back(t.span);
  if ((t.is(")") || t.is("]") || t.is("}")) && !brackets_.empty()) brackets_.pop_back();
  return t;
}

bool Parser::take(std::string_view punctuation) {
  if (!peek().is(punctuation)) return false;
  next();
  return true;
}

bool Parser::take_word(std::string_view word) {
  if (!peek().is_word(word)) return false;
  next();
  return true;
}

bool Parser::need(std::string_view punctuation, std::string_view why, Place place) {
  if (take(punctuation)) return true;
  const std::string what = cat("`", punctuation, "` ", why);
  if (punctuation == ";") return expected_at(place, what, "missing-semicolon");
  if (punctuation != ")" && punctuation != "]" && punctuation != "}") return expected_at(place, what);
  const Token& t = peek();
  return expected_in_bracket(
      place, what,
      t.is(")") || t.is("]") || t.is("}") ? Slug("mismatched-bracket") : Slug("unclosed-bracket"));
}

bool Parser::need_after(std::string_view punctuation, std::string_view why) {
  return need(punctuation, why, Place::kAfterOperand);
}

bool Parser::expected(std::string_view what, Slug slug, std::string_view remedy) {
  const Token& found = peek();
  if (found.kind == TokenKind::kBad || diagnostics_.errors() > errors_at_item_) return false;
  Diagnostic& d = error(found.span, slug, cat("expected ", what, ", found ", found.show()));
  if (!remedy.empty()) d.note(std::string(remedy));
  return false;
}

bool Parser::expected_at(Place place, std::string_view what, Slug slug) {
  return expected(what, slug, habit(place, peek()));
}

bool Parser::keyword_as_name(std::string_view what) {
  const Token& t = peek();
  if (t.kind != TokenKind::kName || t.quoted || !keyword(t.text)) return false;
  error(t.span, "keyword-as-name", cat("expected ", what, ", found keyword `", t.text, "`"))
      .note(cat("a name that is a keyword too is written in backquotes: `` `", t.text, "` ``"));
  return true;
}

bool Parser::expected_name(std::string_view what, std::string_view sigil, Place place) {
  const Token t = peek();
  if (t.kind != TokenKind::kName || (keyword(t.text) && !t.quoted))
    return expected_at(place, what, "expected-name");
  const size_t before = diagnostics_.errors();
  expected(what, "missing-sigil");
  if (diagnostics_.errors() == before) return false;
  diagnostics_.last().note(cat("did you mean `", sigil, t.text, "`?"));
  return false;
}

// A bracket that was forgotten on an earlier line is what is wrong: what was said of the lines
// between follows from it. A habit of other languages is wrong by itself.
bool Parser::expected_in_bracket(Place place, std::string_view what, Slug slug) {
  const Token& found = peek();
  if (brackets_.empty() || found.kind == TokenKind::kBad) return expected(what, slug);
  const Span at = brackets_.back();
  const std::string_view text = lexer_.text();
  const std::string bracket(text.substr(at.begin, 1));
  const size_t line_end = text.find('\n', at.begin);
  const Span between{at.file, static_cast<uint32_t>(line_end), found.span.begin};
  const auto follows = [&](const Diagnostic& d) {
    const Span there = d.span();
    const bool within = there.file == at.file && there.begin >= between.begin && there.end <= between.end;
    return !within || d.severity() != Severity::kError || d.slug() == Slug("unknown-variable");
  };
  const std::string_view remedy = habit(place, found);
  if (remedy.empty() && line_end < found.span.begin &&
      std::all_of(diagnostics_.all().begin(), diagnostics_.all().end(), follows)) {
    diagnostics_.withdraw(between);
    if (diagnostics_.errors() > errors_at_item_) return false;
    error(
        at, slug,
        cat("this `", bracket, "` is not closed: expected ", what, ", found ", found.show(), " further down"))
        .label(found.span, "it is not closed before this");
    return false;
  }
  const size_t before = diagnostics_.errors();
  expected(what, slug, remedy);
  if (diagnostics_.errors() > before)
    diagnostics_.last().label(at, cat("the `", bracket, "` that is open here"));
  return false;
}

Diagnostic& Parser::error(Span span, Slug slug, std::string message) {
  return diagnostics_.error(span, slug, std::move(message));
}

void Parser::suggest(Diagnostic& d, std::string_view name, std::string_view sigil,
                     const std::function<std::vector<std::string>()>& candidates) {
  if (++suggestions_ > kMostSuggestions) return;
  relay::suggest(d, name, candidates(), sigil);
}

bool Parser::open(Span at) {
  if (++depth_ <= options_.max_nesting) return true;
  error(at, "nesting-too-deep", cat("brackets are nested more than ", options_.max_nesting, " deep here"));
  return false;
}

bool Parser::comma_or(std::string_view closer, size_t count, Place place) {
  if (take(",")) return true;
  if (take(closer)) return false;
  // The established parser needs a comma after the first element only.
  const TokenKind kind = peek().kind;
  if (count > 1 && kind != TokenKind::kPunctuation && kind != TokenKind::kEnd && kind != TokenKind::kBad &&
      !at_definition()) {
    warn_of_missing_comma();
    return true;
  }
  failed_ = true;
  const Token& t = peek();
  const bool other = (t.is(")") || t.is("]") || t.is("}")) && !t.is(closer);
  expected_in_bracket(place, cat("`,` or `", closer, "`"),
                      other ? Slug("mismatched-bracket") : Slug("unfinished-list"));
  return false;
}

void Parser::warn_of_missing_comma() {
  diagnostics_.warning(peek().span, "missing-comma", cat("a `,` is missing before ", peek().show()));
}

bool Parser::at_definition() {
  const Token& t = peek();
  if (t.kind == TokenKind::kEnd || t.kind == TokenKind::kMetadata) return true;
  if (t.is_word("def")) return true;
  if (t.is_word("kernel")) return lexer_.peek_second().kind == TokenKind::kGlobal;
  if (t.is_word("type")) return lexer_.peek_second().kind == TokenKind::kName;
  if (t.is_word("import")) return lexer_.peek_second().kind == TokenKind::kString;
  return t.is_word("extern") &&
         (lexer_.peek_second().is_word("type") || lexer_.peek_second().is_word("kernel"));
}

void Parser::skip_to_definition() {
  lexer_.set_quiet(true);
  lexer_.set_arithmetic(false);
  while (!at_definition()) next();
  lexer_.set_quiet(false);
}

Result<Expr> Parser::expression() {
  if (!read_header()) return kReported;
  Expr e = run_expression();
  if (e && peek().kind != TokenKind::kEnd && peek().kind != TokenKind::kMetadata)
    expected("the end of the expression", "trailing-text");
  check_names();
  if (!e || diagnostics_.errors() != errors_before_) return kReported;
  if (used_graph_) {
    // As the body of a function whose parameters are the free variables.
    check_scopes(builder_.fn({}, e));
    if (diagnostics_.errors() != errors_before_) return kReported;
  }
  return e;
}

Result<Type> Parser::whole_type() {
  Type t = type();
  if (t && peek().kind != TokenKind::kEnd) expected("the end of the type", "trailing-text");
  if (!t || diagnostics_.errors() != errors_before_) return kReported;
  return t;
}

// `read` gives something that is false after a mistake.
template <class T, class Read>
Result<T> Parser::part(size_t& offset, Read&& read) {
  lexer_.seek(offset);
  const auto out = read();
  check_names();
  if (!out || diagnostics_.errors() != errors_before_) return kReported;
  offset = lexer_.position();
  if constexpr (std::is_convertible_v<decltype(out), T>) {
    return T(out);
  } else {
    return *out;
  }
}

Result<Expr> Parser::part_expr(size_t& offset) {
  return part<Expr>(offset, [&] {
    const Expr e = run_expression();
    if (e && used_graph_) check_scopes(builder_.fn({}, e));
    return e;
  });
}

Result<Expr> Parser::part_number(size_t& offset) {
  return part<Expr>(offset, [&] { return number_operand() == State::kValue ? value_ : nullptr; });
}

Result<Type> Parser::part_type(size_t& offset) {
  return part<Type>(offset, [&] { return type(); });
}

Result<Dim> Parser::part_dim(size_t& offset) {
  lexer_.set_arithmetic(true);
  return part<Dim>(offset, [&] { return dim(); });
}

Result<AttrValue> Parser::part_attr_value(size_t& offset) {
  return part<AttrValue>(offset, [&] { return attr_value(0); });
}

}  // namespace text

namespace {

// Adds the text to the sources of the context; nothing if it is too large.
std::optional<uint32_t> add_source(std::string name, std::string text, Diagnostics& diagnostics,
                                   const ParseOptions& options) {
  if (text.size() > options.max_bytes) {
    diagnostics
        .error({}, "input-too-large",
               cat("`", name, "` has ", text.size(), " bytes; at most ", options.max_bytes, " are read"))
        .note("large constants belong into a .safetensors file beside the text, as `const(\"name\")`");
    return std::nullopt;
  }
  return options.into.context().sources().add(std::move(name), std::move(text));
}

}  // namespace

Result<Module> parse(std::string name, std::string text, Diagnostics& diagnostics, const Operators& operators,
                     const ParseOptions& options) {
  std::optional<Partial> ignored;
  return parse_partial(std::move(name), std::move(text), diagnostics, operators, options, ignored);
}

Result<Module> parse_partial(std::string name, std::string text, Diagnostics& diagnostics,
                             const Operators& operators, const ParseOptions& options,
                             std::optional<Partial>& partial) {
  Context& context = options.into.context();
  const auto file = add_source(std::move(name), std::move(text), diagnostics, options);
  if (!file) return kReported;
  text::Parser parser(*file, context.sources().text(*file), diagnostics, operators, options);
  Result<Module> out = parser.module();
  if (!out) partial = parser.partial();
  return out;
}

Result<Expr> parse_expr(std::string name, std::string text, Diagnostics& diagnostics,
                        const Operators& operators, const ParseOptions& options) {
  return parse_open_expr(std::move(name), std::move(text), {}, diagnostics, operators, options);
}

Result<Expr> parse_open_expr(std::string name, std::string text, std::span<const std::string> free_variables,
                             Diagnostics& diagnostics, const Operators& operators,
                             const ParseOptions& options) {
  Context& context = options.into.context();
  const auto file = add_source(std::move(name), std::move(text), diagnostics, options);
  if (!file) return kReported;
  text::Parser parser(*file, context.sources().text(*file), diagnostics, operators, options);
  for (const std::string& variable : free_variables) parser.declare(variable);
  return parser.expression();
}

Result<Type> parse_type(std::string name, std::string text, Diagnostics& diagnostics,
                        const ParseOptions& options) {
  Context& context = options.into.context();
  const auto file = add_source(std::move(name), std::move(text), diagnostics, options);
  if (!file) return kReported;
  const Operators none;
  return text::Parser(*file, context.sources().text(*file), diagnostics, none, options).whole_type();
}

namespace {

const Operators kNoOperators = {};

text::Parser parser_at(const TextPlace& place, Diagnostics& diagnostics, const Operators& operators,
                       const ParseOptions& options) {
  const std::string_view text = options.into.context().sources().text(place.file);
  return text::Parser(place.file, text, diagnostics, operators, options);
}

}  // namespace

Result<Expr> read_expr(TextPlace& place, Diagnostics& diagnostics, const Operators& operators,
                       const ParseOptions& options) {
  return parser_at(place, diagnostics, operators, options).part_expr(place.offset);
}

Result<Expr> read_number(TextPlace& place, Diagnostics& diagnostics, const ParseOptions& options) {
  return parser_at(place, diagnostics, kNoOperators, options).part_number(place.offset);
}

Result<Type> read_type(TextPlace& place, Diagnostics& diagnostics, const ParseOptions& options) {
  return parser_at(place, diagnostics, kNoOperators, options).part_type(place.offset);
}

Result<Dim> read_dim(TextPlace& place, Diagnostics& diagnostics, const ParseOptions& options) {
  return parser_at(place, diagnostics, kNoOperators, options).part_dim(place.offset);
}

Result<AttrValue> read_attr_value(TextPlace& place, Diagnostics& diagnostics, const ParseOptions& options) {
  return parser_at(place, diagnostics, kNoOperators, options).part_attr_value(place.offset);
}

}  // namespace relay
