// A function of C++ while it is printed: its lines and blocks, and what its values are called.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "aot/arenas.h"
#include "ir/expr.h"

namespace relay::aot {

class FunctionText {
 public:
  // Blocks are told to `arenas`, which lives longer.
  explicit FunctionText(Arenas& arenas) : arenas_(arenas) {}

  // Begins a function, whose lines are indented so far. Numbers go on.
  void begin(std::string indent);
  const std::string& text() const { return text_; }

  // --- Lines and blocks ---
  void line(std::string_view text);
  // Lines that are indented already.
  void add(std::string_view lines) { text_ += lines; }
  const std::string& indent() const { return indent_; }
  void open(std::string_view text);
  void close(std::string_view text);
  // Closes a block and opens the next one on the same line.
  void reopen(std::string_view text);

  // --- Variables ---
  // A new variable with this value, which ends the function if there is none.
  std::string variable(std::string_view value, std::string_view name = "v");
  std::string named(std::string name, std::string_view value);
  // A number that no other name of the program ends with.
  size_t number() { return next_number_++; }
  // What `number` gives next; a function that is printed again begins with the same one.
  size_t next_number() const { return next_number_; }
  void set_next_number(size_t number) { next_number_ = number; }

  // --- What expressions are called ---
  // Null if the expression has no value here.
  const std::string* name(Expr e) const;
  bool has_name(Expr e) const { return name(e) != nullptr; }
  // The expression has this value from here on, until `forget`.
  void set_name(Expr e, std::string value);
  size_t mark() const { return renamed_.size(); }
  // Expressions have the values that they had at this mark.
  void forget(size_t mark);

 private:
  Arenas& arenas_;
  std::string text_, indent_;
  size_t next_number_ = 0;
  std::unordered_map<Expr, std::string> names_;
  std::vector<std::pair<Expr, std::string>> renamed_;  // and what its name was before; empty if it had none
};

}  // namespace relay::aot
