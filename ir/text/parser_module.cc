// Modules: the definitions of a text, and the names that they use.
#include <set>
#include <utility>

#include "base/cat.h"
#include "base/nearest.h"
#include "ir/text/library.h"
#include "ir/text/parser_impl.h"
#include "kernel/batched.h"

namespace relay::text {

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
      ok = expected_at(Place::kDefinition,
                       "a definition: `def`, `type`, `extern type`, `kernel`, `extern kernel` or `import`",
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
  if (!need("{", "before the body of the function", Place::kBody)) return false;
  Expr body = run_expression();
  if (!body) return false;
  if (!need_after("}", "after the body of the function")) return false;
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
    Diagnostic& d = error(span, "unknown-type", cat("there is no type `", name.text(), "`"));
    if (explain_import(d, name.text())) continue;
    suggest(d, name.text(), "", [&] {
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
    Diagnostic& d = error(span, "unknown-global", cat("there is no function or kernel `@", name.text(), "`"));
    if (explain_import(d, cat("@", name.text()))) continue;
    suggest(d, name.text(), "@", [&] {
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

}  // namespace relay::text
