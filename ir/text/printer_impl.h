// The printer of expressions and modules: what its files share.
//
// A scope is written as its bindings and then its value. What is still to be written lies on an
// explicit stack, and text is only ever appended, so that time and memory are linear in the text,
// however deeply the program is nested.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis.h"
#include "ir/text/layout.h"
#include "ir/text/names.h"
#include "ir/text/printer.h"

namespace relay::text {

// `None` is a value of attributes too, but no constructor stands among those; and Option
// is read elsewhere.
inline std::string ctor_name(const Constructor& c) {
  return c.name == "None" ? "None" : quoted_word(c.name.text());
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options, const Module* module) : options_(options), module_(module) {}

  std::string module();
  std::string expression(Expr e);

 private:
  enum class Task : uint8_t {
    kText,
    kPart,
    kBinding,
    kStatement,
    kOperand,
    kScope,
    kLetItem,
    kMatchShapeItem,
    kLine,
    kIn,
    kOut,
    kEnd,
    kBound,
    kComment,
    kLeaveTypes
  };
  struct Pending {
    Task task;
    Expr e = nullptr;
    uint32_t number = 0;  // kScope: the scope around it; kEnd: where the text of e begins; kBound: its number
    std::string_view text = {};  // of something that outlives the printer
  };

  void function(Symbol name, const Fn& fn);
  void data_type(const DataTypeDef& def);
  void begin(Expr root);
  void run();

  // Appended at once.
  void fn_header(const Fn& fn);
  void leaf(Expr e);
  void pattern(Pattern p);
  void var(const Var* v);
  void annotated(const Var* v);
  void type(Type t);
  void attrs_after(bool first, const Attrs& attrs);
  std::string callee_name(Expr e);
  std::string constant(const Constant& c);
  std::string side_name(const Constant& c);
  void line();

  // Put on the stack, last first.
  void later(Task task, Expr e = nullptr, uint32_t number = 0) { pending_.push_back({task, e, number, {}}); }
  void later(std::string_view text) { pending_.push_back({Task::kText, nullptr, 0, text}); }
  void statement(Expr e);
  void operand(Expr e);
  void scope(Expr body, uint32_t around);
  void let_item(const Let& let);
  void match_shape_item(const Call& call);
  void call(const Call& c);
  void match_arms(const Match& m);
  void braces(Expr body, uint32_t around, bool one_line);
  bool simple(Expr body, uint32_t around) const { return layout_->simple(body, around); }
  uint32_t scope_of(Expr e) const { return layout_->scoped().scope_of.get(e); }

  const PrintOptions& options_;
  const Module* module_;
  std::string out_;
  int indent_ = 0;
  uint32_t next_graph_ = 0;
  std::vector<Pending> pending_;
  std::optional<Layout> layout_;
  NodeMap<uint32_t> graph_;  // number + 1 of what is bound by `%n =`

  std::unordered_map<const Var*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, uint32_t> suffix_;
  std::unordered_map<Symbol, int> type_params_;

  std::map<std::string, Tensor> elided_;
  uint32_t next_constant_ = 0;
};

}  // namespace relay::text
