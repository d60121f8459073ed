// What the printers of statements and of expressions share: text under construction, and what
// names stand for.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/cat.h"
#include "kernel/codegen/sharing.h"
#include "kernel/kernel.h"
#include "kernel/print/dialect.h"
#include "kernel/print/names.h"
#include "kernel/simplify.h"

namespace relay::kernel::print {

// Lines of text, indented.
class Writer {
 public:
  explicit Writer(int depth = 0) : depth_(depth) {}

  template <class... Args>
  void line(const Args&... args) {
    text_.append(static_cast<size_t>(depth_) * 2, ' ');
    text_ += cat(args...);
    text_ += '\n';
  }
  template <class... Args>
  void open(const Args&... args) {  // a line that ends in {
    line(args...);
    ++depth_;
  }
  void close(std::string_view text = "}") {
    --depth_;
    line(text);
  }
  void reopen(std::string_view text) {  // "} else {"
    close(text);
    ++depth_;
  }
  void raw(std::string_view text) { text_ += text; }
  bool empty() const { return text_.empty(); }
  int depth() const { return depth_; }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  int depth_;
};

// Where a buffer's elements are.
struct Place {
  std::string name;       // of the array; variables have names of their own
  bool as_stored = true;  // small floats are bits; in local arrays and variables they are floats
  std::optional<std::map<int64_t, int>> variables = {};  // offset -> lanes, see as_variables
  std::map<int64_t, std::string> variable_names = {};
};

struct Context {
  const Dialect& dialect;
  Names names = {};
  std::unordered_map<const ExprNode*, std::string> variables = {};
  std::unordered_map<const Buffer*, Place> places = {};
  Bounds bounds = {};
  std::optional<codegen::Lanes> lanes = {};
  Writer out = Writer(1);
};

}  // namespace relay::kernel::print
