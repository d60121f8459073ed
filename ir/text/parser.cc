// Definitions, and what all parts of the parser share: tokens, messages, names.
#include "ir/text/parser.h"

#include <algorithm>
#include <set>
#include <utility>

#include "base/cat.h"
#include "base/nearest.h"
#include "ir/text/names.h"
#include "ir/text/parser_impl.h"
#include "kernel/batched.h"

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

bool Parser::need(std::string_view punctuation, std::string_view why) {
  if (take(punctuation)) return true;
  const std::string what = cat("`", punctuation, "` ", why);
  if (punctuation == ";") return expected(what, "missing-semicolon");
  if (punctuation != ")" && punctuation != "]" && punctuation != "}") return expected(what);
  const Token& t = peek();
  return expected_in_bracket(
      what, t.is(")") || t.is("]") || t.is("}") ? Slug("mismatched-bracket") : Slug("unclosed-bracket"));
}

bool Parser::expected(std::string_view what, Slug slug, std::string_view remedy) {
  const Token& found = peek();
  if (found.kind == TokenKind::kBad || diagnostics_.errors() > errors_at_item_) return false;
  Diagnostic& d = error(found.span, slug, cat("expected ", what, ", found ", found.show()));
  if (!remedy.empty()) d.note(std::string(remedy));
  return false;
}

bool Parser::keyword_as_name(std::string_view what) {
  const Token& t = peek();
  if (t.kind != TokenKind::kName || t.quoted || !keyword(t.text)) return false;
  error(t.span, "keyword-as-name", cat("expected ", what, ", found keyword `", t.text, "`"))
      .note(cat("a name that is a keyword too is written in backquotes: `` `", t.text, "` ``"));
  return true;
}

bool Parser::expected_name(std::string_view what, std::string_view sigil) {
  const Token t = peek();
  if (t.kind != TokenKind::kName || (keyword(t.text) && !t.quoted)) return expected(what, "expected-name");
  const size_t before = diagnostics_.errors();
  expected(what, "missing-sigil");
  if (diagnostics_.errors() > before) diagnostics_.last().note(cat("did you mean `", sigil, t.text, "`?"));
  return false;
}

// A bracket that was forgotten on an earlier line is what is wrong: what was said of the lines
// between follows from it.
bool Parser::expected_in_bracket(std::string_view what, Slug slug) {
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
  if (line_end < found.span.begin &&
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
  expected(what, slug);
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

bool Parser::comma_or(std::string_view closer, size_t count) {
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
  expected_in_bracket(cat("`,` or `", closer, "`"),
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

// ---- Modules ----

bool Parser::read_header() {
  if (peek().kind != TokenKind::kVersion) return true;
  const Token version = next();
  if (version.text == "0.0.5") return true;
  error(version.span, "unsupported-version",
        cat("version `", version.text, "` of the text format is not known; this is 0.0.5"))
      .note("begin the text with `#[version = \"0.0.5\"]`, or leave the line out");
  return false;
}

// Calls `take` at each definition, and leaves the lexer where it was.
template <class Take>
void Parser::look_ahead(Take&& take) {
  const size_t start = lexer_.position();
  for (;;) {
    skip_to_definition();
    if (peek().kind == TokenKind::kEnd || peek().kind == TokenKind::kMetadata) break;
    if (!take()) next();
  }
  lexer_.seek(start);
}

// `type` or `extern type`; false if something else is next.
bool Parser::take_data_type() {
  const bool is_extern = take_word("extern");
  if (!take_word("type")) return false;
  depth_ = 0;
  brackets_.clear();
  errors_at_item_ = diagnostics_.errors();
  // The first pass may have read it already; where it did not, a `//` that divides looked like
  // a comment to it.
  const auto [known, fresh] = data_types_read_.emplace(peek().span.begin, 0);
  if (fresh && data_type(is_extern)) {
    known->second = lexer_.position();
    return true;
  }
  if (known->second > 0) {
    lexer_.seek(known->second);
    return true;
  }
  next();
  skip_to_definition();
  return true;
}

bool Parser::data_type(bool is_extern) {
  if (keyword_as_name("the name of a type")) return false;
  const Token name = next();
  DataTypeDef def;
  def.name = module_.context().symbol(name.name());
  def.span = name.span;
  def.is_extern = is_extern;
  std::vector<const TypeVar*> params;
  const size_t mark = types_.mark();
  bool ok = type_params(params);
  std::vector<const Constructor*> ctors;
  ctors_here_.clear();
  const DataTypeDef* before = module_.data_type(def.name.text());
  redefining_ = before != nullptr;
  if (ok && !is_extern && take("{")) ok = list("}", [&] { return constructor(def.name, ctors); });
  if (ok) take(";");
  types_.leave(mark);
  if (before) {
    const std::string what = cat("type `", def.name.text(), "`");
    const Twice by = defined_by(def.span, before->span, "redefined-type", what);
    if (by == Twice::kProgram) {
      error(def.span, "redefined-type", cat(what, " is defined already"))
          .label(before->span, "defined here first");
    }
    // After a clash the later one stands, so that what follows it finds its own constructors.
    if (by != Twice::kClash) return true;
  }
  def.params = module_.context().arena().list(params);
  def.ctors = module_.context().arena().list(ctors);
  module_.set_data_type(module_.context().arena().make<DataTypeDef>(def));
  broken_types_ |= !ok;
  return ok;
}

bool Parser::constructor(Symbol data_type, std::vector<const Constructor*>& ctors) {
  if (peek().kind != TokenKind::kName) return expected("the name of a constructor", "expected-name");
  if (keyword_as_name("the name of a constructor")) return false;
  const Token name = next();
  Constructor c{};
  c.name = module_.context().symbol(name.name());
  c.data_type = data_type;
  c.tag = static_cast<uint32_t>(ctors.size());
  c.span = name.span;
  std::vector<Type> fields;
  if (take("(") && !list(")", [&] {
        fields.push_back(type());
        return fields.back() != nullptr;
      })) {
    return false;
  }
  const Constructor* before = redefining_ ? nullptr : module_.constructor(c.name.text());
  if (const auto here = ctors_here_.find(c.name); here != ctors_here_.end()) before = here->second;
  if (before) {
    const std::string what = cat("constructor `", c.name.text(), "`");
    if (defined_by(c.span, before->span, "redefined-constructor", what) != Twice::kClash) {
      error(c.span, "redefined-constructor",
            cat(what, " exists already; constructors of all types share one name space"))
          .label(before->span, cat("the one of type `", before->data_type.text(), "`"));
      return true;
    }
  }
  c.fields = module_.context().arena().list(fields);
  ctors.push_back(module_.context().arena().make<Constructor>(c));
  ctors_here_.emplace(c.name, ctors.back());
  return true;
}

Result<Module> Parser::module() {
  module_mode_ = true;
  std::set<std::string> imported;
  const bool is_library = imported_ != nullptr;
  if (!is_library) imported_ = &imported;
  if (!read_header()) return kReported;
  // So that definitions may stand in any order. Imports come first: a name that is theirs is the
  // program's mistake.
  if (lexer_.text().find("import") != std::string_view::npos) look_ahead([&] { return take_import(); });
  look_ahead([&] { return take_data_type(); });
  only_functions_fail_ = diagnostics_.errors() == errors_before_;
  if (!is_library && at_lone_expression()) {
    lone_expression();
  } else {
    read_definitions();
  }
  check_names();
  if (diagnostics_.errors() != errors_before_) return kReported;
  if (!is_library && !imported.empty()) keep_mentioned();
  return module_;
}

std::optional<Partial> Parser::partial() const {
  if (!only_functions_fail_) return std::nullopt;
  return Partial{module_, poison_};
}

void Parser::read_definitions() {
  for (;;) {
    depth_ = 0;
    frames_.clear();
    operands_.clear();
    items_.clear();
    headers_.clear();
    matches_.clear();
    pending_lets_.clear();
    leave_scope(0);
    types_.leave(0);
    brackets_.clear();
    const bool after_mistake = diagnostics_.errors() > errors_at_item_;
    const bool repairable = std::exchange(in_function_, false);
    errors_at_item_ = diagnostics_.errors();
    lexer_.set_arithmetic(false);
    const Token& t = peek();
    if (after_mistake && !repairable) only_functions_fail_ = false;
    if (t.kind == TokenKind::kEnd) return;
    if (t.kind == TokenKind::kMetadata) {
      use_metadata();  // so that mistakes in it are reported even if nothing refers to it
      return;
    }
    bool ok = true;
    if (t.is_word("def")) {
      in_function_ = true;
      next();
      ok = function_definition();
    } else if (at_definition() && t.is_word("kernel")) {
      in_function_ = true;
      next();
      ok = kernel_definition(/*is_external=*/false);
    } else if (t.is_word("extern") && lexer_.peek_second().is_word("kernel")) {
      in_function_ = true;
      next();
      next();
      ok = kernel_definition(/*is_external=*/true);
    } else if (at_definition()) {
      if (!take_import()) take_data_type();
    } else if (t.kind == TokenKind::kBad) {
      next();
      ok = false;
    } else if (t.kind == TokenKind::kVersion) {
      error(t.span, "misplaced-version", "the version of the text format stands before all definitions");
      ok = false;
    } else if (after_mistake) {
      ok = false;  // what is left of a definition that was given up
    } else {
      ok = expected("a definition: `def`, `type`, `extern type`, `kernel`, `extern kernel` or `import`",
                    "expected-definition");
    }
    if (!ok) skip_to_definition();
  }
}

bool Parser::function_definition() {
  if (peek().kind != TokenKind::kGlobal) return expected_name("the name of a function, like `@main`", "@");
  const Token name = next();
  const bool ok = function_named(name);
  if (!ok) broken_.insert(name.name());
  return ok;
}

bool Parser::function_named(const Token& name) {
  graph_.clear();
  used_graph_ = false;
  FnHeader header;
  header.begin = name.span.begin;
  if (!fn_header(header)) return false;
  if (!need("{", "before the body of the function")) return false;
  Expr body = run_expression();
  if (!body) return false;
  if (!need("}", "after the body of the function")) return false;
  leave_scope(header.scope);
  types_.leave(header.types);
  SpanScope span(builder_, name.span);
  const Fn* fn =
      builder_.fn(header.params, body, header.result, header.attrs, header.type_params, header.where);
  if (used_graph_) check_scopes(fn);
  if (module_.kernel(name.name())) {
    error(name.span, "redefined-global", cat("`@", name.name(), "` is the name of a kernel already"))
        .note("functions and kernels share one name space");
    return true;
  }
  if (const Fn* before = module_.function(name.name())) {
    const std::string what = cat("`@", name.name(), "`");
    if (defined_by(name.span, before->span, "redefined-global", what) == Twice::kProgram) {
      diagnostics_
          .warning(name.span, "replaced-global",
                   cat(what, " is defined already; this definition replaces the other"))
          .label(before->span, "the other definition")
          .note("rename one of the two, or remove it");
    }
  }
  module_.set_function(name.name(), fn);
  return true;
}

void Parser::check_names() {
  std::set<std::pair<Symbol, uint32_t>> seen;
  const size_t before = diagnostics_.errors();
  for (const auto& [name, span] : used_types_) {
    if (module_.data_type(name.text()) || !seen.emplace(name, span.begin).second) continue;
    if (broken_.contains(name.str())) continue;
    suggest(error(span, "unknown-type", cat("there is no type `", name.text(), "`")), name.text(), "", [&] {
      std::vector<std::string> names{"Tensor"};
      for (const auto& [known, def] : module_.data_types()) names.push_back(known.str());
      for (std::string_view dtype : {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
                                     "uint64", "float16", "float32", "float64", "bfloat16"}) {
        names.emplace_back(dtype);
      }
      return names;
    });
  }
  if (diagnostics_.errors() > before) only_functions_fail_ = false;
  if (!module_mode_) return;
  for (const auto& [name, span] : batched_kernels_) {
    const kernel::Kernel& one = *module_.kernel(name.text());
    const std::string_view many = one.batched.text();
    if (module_.function(many)) {
      error(span, "wrong-batched-kernel", cat("`@", many, "` is a function, not a kernel"));
    } else if (const kernel::Kernel* k = module_.kernel(many)) {
      if (std::string why = kernel::cannot_batch(one, *k); !why.empty()) {
        error(span, "wrong-batched-kernel",
              cat("`@", many, "` does not do many calls of `@", name.text(), "` at once: ", why))
            .note(
                "its outputs, and the inputs that differ from call to call, have the number of calls as a "
                "dim "
                "before the others");
      }
    }
  }
  for (const auto& [name, span] : used_globals_) {
    if (module_.function(name.text()) || module_.kernel(name.text()) || broken_.contains(name.str()))
      continue;
    suggest(error(span, "unknown-global", cat("there is no function or kernel `@", name.text(), "`")),
            name.text(), "@", [&] {
              std::vector<std::string> names;
              for (const auto& [known, fn] : module_.functions()) names.push_back(known.str());
              for (const auto& [known, kernel] : module_.kernels()) names.push_back(known.str());
              return names;
            });
  }
}

void Parser::use_metadata() {
  if (metadata_read_) return;
  metadata_read_ = true;
  const bool arithmetic = lexer_.arithmetic();
  const size_t start = lexer_.position();
  const uint32_t end_of_last = lexer_.end_of_last();
  lexer_.set_arithmetic(false);
  lexer_.set_quiet(true);
  while (peek().kind != TokenKind::kEnd && peek().kind != TokenKind::kMetadata) lexer_.next();
  lexer_.set_quiet(false);
  const Token found = peek();
  lexer_.seek(start);
  lexer_.set_end_of_last(end_of_last);
  lexer_.set_arithmetic(arithmetic);
  if (found.kind == TokenKind::kMetadata) {
    metadata_.read(lexer_.text().substr(found.span.end), found.span, diagnostics_);
  }
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
  Context& context = options.into.context();
  const auto file = add_source(std::move(name), std::move(text), diagnostics, options);
  if (!file) return kReported;
  return text::Parser(*file, context.sources().text(*file), diagnostics, operators, options).expression();
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
