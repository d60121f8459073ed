// A text that is one expression: what `@main` of a module computes.
#include <algorithm>

#include "ir/text/names.h"
#include "ir/text/parser_impl.h"

namespace relay::text {
namespace {

// Keywords that an expression may begin with.
constexpr std::string_view kBeginners[] = {"let",      "match_shape", "fn",       "if",        "match",
                                           "free_var", "ref",         "ref_read", "ref_write", "True",
                                           "False",    "tensor",      "const",    "ctor",      "op"};

bool begins(const Token& t) {
  switch (t.kind) {
    case TokenKind::kName:
      return t.quoted || !keyword(t.text) ||
             std::find(std::begin(kBeginners), std::end(kBeginners), t.text) != std::end(kBeginners);
    case TokenKind::kNumber:
    case TokenKind::kLocal:
    case TokenKind::kGraph:
    case TokenKind::kGlobal:
    case TokenKind::kMeta: return true;
    case TokenKind::kPunctuation: return t.is("(") || t.is("{") || t.is("-");
    default: return false;
  }
}

}  // namespace

// Is the text no list of definitions? What looks like one of which a word is missing or misspelt,
// as `define @f(...) {...}` and `@f(...) {...}` do, is a mistake in a definition.
bool Parser::at_lone_expression() {
  const Token first = peek();
  if (at_definition() || !begins(first)) return false;
  const bool global = first.kind == TokenKind::kGlobal;
  if (!global && (first.kind != TokenKind::kName || (keyword(first.text) && !first.quoted))) return true;
  const size_t start = lexer_.position();
  const uint32_t end_of_last = lexer_.end_of_last();
  lexer_.set_quiet(true);
  lexer_.next();
  size_t open = 0;
  while (global && (open > 0 || peek().is("(")) && peek().kind != TokenKind::kEnd) {
    const Token t = lexer_.next();
    if (t.is("(") || t.is("[") || t.is("{")) ++open;
    if (t.is(")") || t.is("]") || t.is("}")) --open;
  }
  const Token after = peek();
  lexer_.set_quiet(false);
  lexer_.seek(start);
  lexer_.set_end_of_last(end_of_last);
  if (global) return !after.is("{") && !after.is("[") && !after.is("->");
  return after.kind == TokenKind::kPunctuation || after.kind == TokenKind::kEnd ||
         after.kind == TokenKind::kMetadata;
}

// free_var %x: T; f(%x)   is   def @main(%x: T) { f(%x) }, and a function is @main itself.
void Parser::lone_expression() {
  lone_ = true;
  brackets_.clear();
  errors_at_item_ = diagnostics_.errors();
  const uint32_t begin = peek().span.begin;
  const Expr e = run_expression();
  if (e && peek().kind != TokenKind::kEnd && peek().kind != TokenKind::kMetadata)
    expected("the end of the expression", "trailing-text");
  if (peek().kind == TokenKind::kMetadata) use_metadata();
  if (!e || diagnostics_.errors() != errors_before_) return;
  SpanScope span(builder_, here_from(begin));
  const Fn* literal = free_variables_.empty() ? e->as<Fn>() : nullptr;
  const Fn* fn = literal ? literal : builder_.fn(free_variables_, e);
  if (used_graph_) check_scopes(fn);
  module_.set_function("main", fn);
}

}  // namespace relay::text
