#include "kernel/schedule/stage_list.h"

#include <algorithm>
#include <limits>

#include "kernel/fields.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Calls `f` with each buffer that blocks of the statement have in a region.
template <class F>
void for_each_accessed(Stmt s, const F& f) {
  for (const Block* b : blocks(s)) {
    for (const Region& r : b->reads) f(r.buffer);
    for (const Region& r : b->writes) f(r.buffer);
  }
}

template <class Key>
void erase(std::unordered_map<Key, StageList::Numbers>& from, const Key& key, size_t number) {
  const auto it = from.find(key);
  if (it == from.end()) return;
  it->second.erase(number);
  if (it->second.empty()) from.erase(it);
}

}  // namespace

StageList::StageList(ExprPool& pool, Stmt body) : pool_(&pool) {
  std::vector<Stmt> all{body};
  if (const auto* seq = body->as<Seq>()) all.assign(seq->body.begin(), seq->body.end());
  for (size_t i = 0; i < all.size(); ++i) {
    items_.emplace(i, Item{all[i], kNone, {}});
    enter(i);
  }
  for (auto at = items_.begin(); at != items_.end();) at = find_stage(at);
}

StageList::Numbers StageList::numbers() const {
  Numbers out;
  for (const auto& [number, item] : items_) out.insert(out.end(), number);
  return out;
}

std::vector<Stmt> StageList::statements() const {
  std::vector<Stmt> out;
  for (const auto& [number, item] : items_) out.push_back(item.statement);
  return out;
}

std::vector<const Buffer*> StageList::prefetched() const {
  std::vector<const Buffer*> out;
  for (const auto& [buffer, numbers] : prefetching_) out.push_back(buffer);
  return out;
}

const StageList::Numbers& StageList::among(const Index& index, const Buffer* buffer) {
  static const Numbers none;
  const auto it = index.find(buffer);
  return it == index.end() ? none : it->second;
}

const StageList::Numbers& StageList::with_block(std::string_view name) const {
  static const Numbers none;
  const auto it = names_.find(name);
  return it == names_.end() ? none : it->second;
}

StageList::Loads StageList::loads(size_t stage) const {
  Loads out;
  for (auto it = items_.find(stage); it != items_.end() && it->second.first == stage; ++it) {
    for (const auto& [buffer, times] : it->second.loads) out[buffer] += times;
  }
  return out;
}

void StageList::enter(size_t number) {
  Item& item = items_.at(number);
  item.loads.clear();
  visit(item.statement, [&](Stmt s) {
    for (Expr e : expressions(s)) for_each_load(e, [&](const ExprNode* n) { ++item.loads[n->buffer]; });
    if (const auto* p = s->as<Prefetch>()) prefetching_[p->buffer].insert(number);
    if (const auto* b = s->as<Block>()) names_[b->name.text()].insert(number);
  });
  for (const auto& [buffer, times] : item.loads) loading_[buffer].insert(number);
  for_each_accessed(item.statement, [&](const Buffer* b) { accessing_[b].insert(number); });
  for (const Block* b : primitives::outermost_blocks(item.statement)) {
    for (const Region& r : b->writes) writing_[r.buffer].insert(number);
  }
}

void StageList::leave(size_t number) {
  const Item& item = items_.at(number);
  for (const auto& [buffer, times] : item.loads) erase(loading_, buffer, number);
  for_each_accessed(item.statement, [&](const Buffer* b) {
    erase(accessing_, b, number);
    erase(writing_, b, number);
  });
  visit(item.statement, [&](Stmt s) {
    if (const auto* p = s->as<Prefetch>()) erase(prefetching_, p->buffer, number);
    if (const auto* b = s->as<Block>()) erase(names_, b->name.text(), number);
  });
}

void StageList::forget(size_t stage) {
  for (auto it = items_.find(stage); it != items_.end() && it->second.first == stage; ++it) {
    it->second.first = kNone;
  }
  stages_.erase(stage);
}

StageList::Items::iterator StageList::find_stage(Items::iterator at) {
  const auto next = std::next(at);
  std::vector<Stmt> both{at->second.statement};
  if (next != items_.end()) both.push_back(next->second.statement);
  Arena& arena = pool_->arena();
  Kernel part;
  part.body = make_stmt<Seq>(arena, arena.list(both));
  const std::vector<Stage> found = stages_of(part);
  const bool joined = both.size() == 2 && found.size() == 1;
  Stage stage;
  stage.statement = both[0];
  if (!found.empty()) stage = found[0];  // there is none of statements without expressions
  if (joined && next->second.first != kNone) forget(next->second.first);
  at->second.first = at->first;
  if (joined) next->second.first = at->first;
  stages_.insert_or_assign(at->first, std::move(stage));
  return joined ? std::next(next) : next;
}

StageList::Numbers StageList::replace(const std::map<size_t, Stmt>& by) {
  // Where a stage is no longer known. The one before may now go on into what was replaced.
  Numbers open, changed;
  const auto unknown = [&](size_t stage) {
    if (stage == kNone) return;
    forget(stage);
    open.insert(stage);
  };
  for (const auto& [number, statement] : by) {
    const auto it = items_.find(number);
    const auto first = items_.find(it->second.first == kNone ? number : it->second.first);
    if (first != items_.begin()) unknown(std::prev(first)->second.first);
    unknown(it->second.first);
    open.insert(number);
  }
  for (const auto& [number, statement] : by) {
    leave(number);
    if (statement->as<Nop>()) {
      items_.erase(number);
    } else {
      items_.at(number).statement = statement;
      enter(number);
    }
  }
  // Stages are found anew from there on, until one begins where one began before.
  for (const size_t from : open) {
    for (auto at = items_.lower_bound(from); at != items_.end() && at->second.first == kNone;) {
      changed.insert(at->first);
      at = find_stage(at);
    }
  }
  // One that was found may have become the second half of another.
  std::erase_if(changed, [&](size_t stage) { return !stages_.contains(stage); });
  return changed;
}

}  // namespace relay::kernel::schedule
