#include "aot/function_text.h"

#include "base/cat.h"

namespace relay::aot {

void FunctionText::begin(std::string indent) {
  text_.clear();
  names_.clear();
  renamed_.clear();
  indent_ = std::move(indent);
}

void FunctionText::line(std::string_view text) { text_ += cat(indent_, text, "\n"); }

void FunctionText::open(std::string_view text) {
  line(text);
  indent_ += "  ";
  arenas_.begin_block();
}

void FunctionText::close(std::string_view text) {
  arenas_.end_block();
  indent_.resize(indent_.size() - 2);
  line(text);
}

void FunctionText::reopen(std::string_view text) {
  close(text);
  indent_ += "  ";
  arenas_.begin_block();
}

std::string FunctionText::variable(std::string_view value, std::string_view name) {
  return named(cat(name, "_", number()), value);
}

std::string FunctionText::named(std::string name, std::string_view value) {
  line(cat("Value ", name, " = ", value, ";"));
  line(cat("if (!", name, ") return {};"));
  return name;
}

const std::string* FunctionText::name(Expr e) const {
  const auto it = names_.find(e);
  return it == names_.end() ? nullptr : &it->second;
}

void FunctionText::set_name(Expr e, std::string value) {
  std::string& name = names_[e];
  renamed_.emplace_back(e, std::exchange(name, std::move(value)));
}

void FunctionText::forget(size_t mark) {
  for (; renamed_.size() > mark; renamed_.pop_back()) {
    auto& [e, before] = renamed_.back();
    if (before.empty()) {
      names_.erase(e);
    } else {
      names_[e] = std::move(before);
    }
  }
}

}  // namespace relay::aot
