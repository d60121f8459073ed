// The stages of a kernel, kept up to date while its statements are replaced.
//
// `stages_of` takes a whole kernel apart. A rule that changes one tensor after the other would do
// that once for each of them. This list looks again only at the statements that were replaced and
// at those next to them, and it knows which statements load, write or access a buffer.
#pragma once

#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel/schedule/stage.h"

namespace relay::kernel::schedule {

class StageList {
 public:
  // A top-level statement is known by its number. Numbers rise in the order in which statements
  // run, and stay as they are when others are replaced. A stage is known by its first statement.
  using Numbers = std::set<size_t>;

  // The top-level statements of a kernel's body.
  StageList(ExprPool& pool, Stmt body);

  const std::map<size_t, Stage>& stages() const { return stages_; }
  // The first statement of the stage that the statement belongs to.
  size_t stage_with(size_t number) const { return items_.at(number).first; }
  Stmt statement(size_t number) const { return items_.at(number).statement; }
  Numbers numbers() const;
  std::vector<Stmt> statements() const;

  // The statements that load the buffer anywhere.
  const Numbers& loading(const Buffer* buffer) const { return among(loading_, buffer); }
  // The statements in which an outermost block declares that it writes the buffer.
  const Numbers& writing(const Buffer* buffer) const { return among(writing_, buffer); }
  // The statements in which any block declares that it reads or writes the buffer.
  const Numbers& accessing(const Buffer* buffer) const { return among(accessing_, buffer); }
  std::vector<const Buffer*> prefetched() const;
  // The statements in which a block of this name stands.
  const Numbers& with_block(std::string_view name) const;
  // How often the stage loads each buffer.
  using Loads = std::unordered_map<const Buffer*, size_t>;
  Loads loads(size_t stage) const;

  // Replaces statements; what does nothing goes. Returns the stages that are new or have changed.
  // No statement may become a sequence.
  Numbers replace(const std::map<size_t, Stmt>& by);

 private:
  using Index = std::unordered_map<const Buffer*, Numbers>;
  struct Item {
    Stmt statement;
    size_t first;  // of its stage
    Loads loads;
  };
  using Items = std::map<size_t, Item>;

  static const Numbers& among(const Index& index, const Buffer* buffer);
  // Enters the statement into all indexes, or takes it out.
  void enter(size_t number);
  void leave(size_t number);
  // Forgets the stage, whose statements then belong to none.
  void forget(size_t stage);
  // Finds the stage that begins here. Returns the first statement after it.
  Items::iterator find_stage(Items::iterator at);

  ExprPool* pool_;
  Items items_;
  std::map<size_t, Stage> stages_;
  Index loading_, writing_, accessing_, prefetching_;
  std::unordered_map<std::string_view, Numbers> names_;
};

}  // namespace relay::kernel::schedule
