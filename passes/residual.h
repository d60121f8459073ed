// Residual program: what partial evaluation leaves to be evaluated when the program runs.
//
// It is in A-normal form: blocks of entries, each of which gives a name to one evaluation.
// Branches, arms and functions are blocks inside. What nobody needs is left out in the end: each
// entry says whether it can be noticed.
#pragma once

#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "ir/traverse.h"

namespace relay::passes {

// What of an entry can be noticed besides its value.
enum class Noticed : uint8_t {
  kNothing,
  kAlways,      // it may trap, runs unknown code or touches an unknown cell
  kThroughCell  // it writes to the cell of another entry: noticed if that is needed
};

class Residual {
 public:
  // What an entry evaluates.
  struct Form {
    Expr value;                      // without blocks, an expression over names; else the form with blocks
    Expr operand = nullptr;          // of an `if` or a match
    std::vector<Pattern> patterns;   // of a match, one a block
    std::vector<const Var*> params;  // of a function
    std::vector<size_t> blocks;
    Form(Expr value) : value(value) {}  // NOLINT: an expression is a form
    Form(Expr value, Expr operand) : value(value), operand(operand) {}
  };
  struct Entry {
    const Var* x;
    Form form;
    Noticed noticed;
    const Var* cell;  // that it writes to, if it is noticed through one
    size_t block;
    bool needed = false;
    Entry(const Var* x, Form form, Noticed noticed, const Var* cell, size_t block)
        : x(x), form(std::move(form)), noticed(noticed), cell(cell), block(block) {}
  };
  // A moment to which one can go back.
  struct Mark {
    size_t entries, blocks, open, in_block;
  };

  explicit Residual(Context& context) : b_(context) {}

  Builder& builder() { return b_; }
  Entry& entry(size_t i) { return entries_[i]; }
  size_t size() const { return entries_.size(); }

  // How many entries can be noticed in any case.
  size_t always_noticed() const { return always_noticed_; }
  // How many blocks are open.
  size_t depth() const { return open_.size(); }

  // Opens a block inside of the one that is open, and closes it with its result.
  void open();
  size_t close(Expr result);

  // Appends an entry to the open block and returns its name, a variable of this type.
  const Var* emit(Form form, Type type, std::string_view name, Noticed noticed = Noticed::kNothing,
                  const Var* cell = nullptr);
  // The same with a name that is made already.
  const Var* emit_as(const Var* x, Form form, Type type, Noticed noticed = Noticed::kNothing,
                     const Var* cell = nullptr);
  // The entry of this name, if it is one.
  std::optional<size_t> entry_of(Expr name) const;
  // Can something in the blocks be noticed in any case?
  bool noticed(const std::vector<size_t>& blocks) const;

  Mark mark() const { return {entries_.size(), blocks_.size(), open_.size(), in_open_block()}; }
  void go_back(const Mark& mark);

  // Decides which entries the block needs. `make_body` makes the block of a function that turns out
  // to be needed. Linear in what is needed.
  void find_needed(size_t block, const std::function<void(size_t entry)>& make_body);
  // The block as an expression, without what is not needed. Its last evaluation gets no name, so
  // that a call there is a tail call.
  Expr expression(size_t block);

 private:
  struct Block {
    std::vector<size_t> entries = {};
    Expr result = nullptr;
    std::optional<size_t> owner = {};  // the entry that it belongs to
  };
  size_t in_open_block() const { return open_.empty() ? 0 : blocks_[open_.back()].entries.size(); }
  void need(size_t entry);
  void need_value(Expr e);
  void need_block(size_t block);
  Expr with_blocks(const Entry& e, const std::vector<Expr>& bodies);

  Builder b_;
  std::vector<Entry> entries_;
  std::vector<Block> blocks_;
  std::vector<size_t> open_;
  size_t always_noticed_ = 0;
  NodeMap<size_t> number_;                // of the entry by its name, from 1
  std::unordered_map<Type, bool> clear_;  // types that an expression says alone
  NodeMap<std::vector<size_t>> writes_;   // to the cell of this name
  std::vector<size_t> pending_;           // entries that are needed and have not been looked at
};

}  // namespace relay::passes
