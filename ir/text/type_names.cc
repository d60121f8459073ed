#include "ir/text/type_names.h"

#include <algorithm>
#include <cctype>

#include "base/cat.h"
#include "ir/text/lexer.h"

namespace relay::text {

void TypeNames::leave(size_t mark) {
  while (bound_.size() > mark) {
    variables_[bound_.back()].pop_back();
    bound_.pop_back();
  }
}

const TypeVar* TypeNames::declare(Symbol name, size_t outer) {
  std::vector<Bound>& bound = variables_[name];
  const bool hides = !bound.empty() && bound.back().place < outer;
  const TypeVar* v = hides ? renamed(name) : module_.context().type_var(name.text());
  bound.push_back({v, bound_.size()});
  bound_.push_back(name);
  return v;
}

const TypeVar* TypeNames::variable(Symbol name) const {
  const auto found = variables_.find(name);
  return found == variables_.end() || found->second.empty() ? nullptr : found->second.back().var;
}

const TypeVar* TypeNames::renamed(Symbol name) {
  const auto in_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)); };
  if (words_.empty()) {
    for (size_t i = 0, end = 0; i < text_.size(); i = end + 1) {
      for (end = i; end < text_.size() && in_word(text_[end]);) ++end;
      if (end > i) words_.insert(text_.substr(i, end - i));
    }
  }
  const std::string_view given = name.text();
  const bool plain = std::all_of(given.begin(), given.end(), in_word);
  for (size_t& number = renamed_[name];;) {
    const std::string fresh = cat(plain ? given : "T", "_", ++number);
    if (!words_.contains(fresh) && !module_.data_type(fresh)) return module_.context().type_var(fresh);
  }
}

// Has the text a type of that name with constructors?
bool TypeNames::defines(std::string_view name) const {
  Diagnostics ignored;
  Lexer lexer(0, text_, ignored);
  lexer.set_quiet(true);
  const auto at_end = [&] {
    return lexer.peek().kind == TokenKind::kEnd || lexer.peek().kind == TokenKind::kMetadata;
  };
  while (!at_end()) {
    if (!lexer.next().is_word("type") || lexer.peek().kind != TokenKind::kName || lexer.peek().name() != name)
      continue;
    lexer.next();
    if (lexer.peek().is("[")) {
      while (!at_end() && !lexer.next().is("]")) continue;
    }
    if (!lexer.peek().is("{")) continue;
    lexer.next();
    if (lexer.peek().kind == TokenKind::kName) return true;
  }
  return false;
}

Type TypeNames::read_as(Symbol name) {
  const Type read = operators_.type ? operators_.type(module_.context(), name.text()) : nullptr;
  const DataTypeDef* def = module_.data_type(name.text());
  if (!read || (def && !def->ctors.empty())) return nullptr;
  const auto [known, fresh] = defined_.emplace(name, false);
  if (fresh) known->second = defines(name.text());
  return known->second ? nullptr : read;
}

}  // namespace relay::text
