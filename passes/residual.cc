#include "passes/residual.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/type_parts.h"

namespace relay::passes {
namespace {

// An expression alone does not always say what the parameters of a data type or of a generic
// function are. Entries nest in one another, and so do their types: what is known
// of a part is kept.
bool is_clear(Type root, std::unordered_map<Type, bool>& known) {
  std::vector<Type> pending{root};
  while (!pending.empty()) {
    const Type t = pending.back();
    const auto* data = t->as<DataType>();
    bool clear =
        data ? data->args.empty()
             : t->kind == TypeKind::kTensor || t->kind == TypeKind::kTuple || t->kind == TypeKind::kRef;
    const size_t before = pending.size();
    for_each_part(t, [&](Type part) {
      const auto it = known.find(part);
      if (!clear) return;
      if (it == known.end())
        pending.push_back(part);
      else
        clear = it->second;
    });
    if (clear && pending.size() > before) continue;
    pending.resize(before);
    pending.pop_back();
    known[t] = clear;
  }
  return known.at(root);
}

// A call may be in tail position only without a name, and so without a type that is written.
bool may_call_last(Expr e) {
  const auto* call = e->as<Call>();
  return call ? call->callee->kind != ExprKind::kCtorRef
              : e->kind == ExprKind::kIf || e->kind == ExprKind::kMatch;
}

}  // namespace

void Residual::open() {
  open_.push_back(blocks_.size());
  blocks_.emplace_back();
}

size_t Residual::close(Expr result) {
  const size_t block = open_.back();
  open_.pop_back();
  blocks_[block].result = result;
  return block;
}

const Var* Residual::emit(Form form, Type type, std::string_view name, Noticed noticed, const Var* cell) {
  const bool annotated = type && !is_clear(type, clear_) && form.value->kind != ExprKind::kFn;
  const SpanScope at(b_, form.value->span);
  const Var* x =
      b_.var(name.empty() ? cat("v", entries_.size()) : std::string(name), annotated ? type : nullptr);
  return emit_as(x, std::move(form), type, noticed, cell);
}

const Var* Residual::emit_as(const Var* name, Form form, Type type, Noticed noticed, const Var* cell) {
  const Var* x = b_.with_type(name, type)->as<Var>();
  const size_t number = entries_.size();
  number_[x] = number + 1;
  if (cell) writes_[cell].push_back(number);
  for (size_t block : form.blocks) blocks_[block].owner = number;
  always_noticed_ += noticed == Noticed::kAlways ? 1 : 0;
  entries_.emplace_back(x, std::move(form), noticed, cell, open_.back());
  blocks_[open_.back()].entries.push_back(number);
  return x;
}

std::optional<size_t> Residual::entry_of(Expr name) const {
  const size_t number = number_.get(name);
  return number == 0 ? std::nullopt : std::optional(number - 1);
}

bool Residual::noticed(const std::vector<size_t>& blocks) const {
  for (size_t block : blocks) {
    for (size_t entry : blocks_[block].entries) {
      if (entries_[entry].noticed == Noticed::kAlways) return true;
    }
  }
  return false;
}

void Residual::go_back(const Mark& mark) {
  for (size_t i = entries_.size(); i-- > mark.entries;) {
    if (entries_[i].cell) writes_[entries_[i].cell].pop_back();
    always_noticed_ -= entries_[i].noticed == Noticed::kAlways ? 1 : 0;
  }
  entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(mark.entries), entries_.end());
  blocks_.resize(mark.blocks);
  open_.resize(mark.open);
  blocks_[open_.back()].entries.resize(mark.in_block);
}

// --- What is needed ------------------------------------------------------------------------------

void Residual::need(size_t entry) {
  if (std::exchange(entries_[entry].needed, true)) return;
  pending_.push_back(entry);
}

void Residual::need_value(Expr e) {
  if (const std::optional<size_t> entry = entry_of(e)) need(*entry);
}

void Residual::need_block(size_t block) {
  for (size_t i : blocks_[block].entries) {
    const Entry& e = entries_[i];
    if (e.noticed == Noticed::kAlways) need(i);
    if (e.noticed == Noticed::kThroughCell && entries_[*entry_of(e.cell)].needed) need(i);
  }
  need_value(blocks_[block].result);
}

void Residual::find_needed(size_t block, const std::function<void(size_t entry)>& make_body) {
  need_block(block);
  while (!pending_.empty()) {
    const size_t i = pending_.back();
    pending_.pop_back();
    if (const std::optional<size_t> owner = blocks_[entries_[i].block].owner) need(*owner);
    for (size_t write : writes_.get(entries_[i].x)) need(write);
    if (entries_[i].form.value->kind == ExprKind::kFn && entries_[i].form.blocks.empty()) {
      make_body(i);
      for (size_t body : entries_[i].form.blocks) blocks_[body].owner = i;
    }
    const Form& form = entries_[i].form;
    if (form.operand) need_value(form.operand);
    if (form.blocks.empty() && is_leaf(form.value)) {
      need_value(form.value);
    } else if (form.blocks.empty()) {
      for (const Var* x : free_vars(form.value)) need_value(x);
    }
    for (size_t inside : form.blocks) need_block(inside);
  }
}

// --- The expression ------------------------------------------------------------------------------

Expr Residual::with_blocks(const Entry& e, const std::vector<Expr>& bodies) {
  const SpanScope at(b_, e.form.value->span);
  std::vector<Expr> own;
  for (size_t block : e.form.blocks) own.push_back(bodies[block]);
  if (e.form.value->kind == ExprKind::kIf) return b_.if_(e.form.operand, own[0], own[1]);
  if (const auto* match = e.form.value->as<Match>()) {
    std::vector<Arm> arms;
    for (size_t i = 0; i < own.size(); ++i) arms.push_back({e.form.patterns[i], own[i]});
    return b_.match(e.form.operand, arms, match->total);
  }
  const auto& fn = *e.form.value->as<Fn>();
  return b_.fn(e.form.params, own[0], fn.result, fn.attrs, {fn.type_params.begin(), fn.type_params.end()},
               {fn.where.begin(), fn.where.end()});
}

Expr Residual::expression(size_t root) {
  // Blocks before those inside of them.
  std::vector<size_t> order{root};
  for (size_t i = 0; i < order.size(); ++i) {
    for (size_t entry : blocks_[order[i]].entries) {
      const Entry& e = entries_[entry];
      if (e.needed) order.insert(order.end(), e.form.blocks.begin(), e.form.blocks.end());
    }
  }
  std::vector<Expr> bodies(blocks_.size());
  for (size_t i = order.size(); i-- > 0;) {
    const Block& block = blocks_[order[i]];
    Expr out = block.result;
    bool last = true;
    for (size_t j = block.entries.size(); j-- > 0;) {
      const Entry& e = entries_[block.entries[j]];
      if (!e.needed) continue;
      const Expr value = e.form.blocks.empty() ? e.form.value : with_blocks(e, bodies);
      const SpanScope at(b_, value->span);
      // Functions keep their names: they may call themselves by them.
      const bool is_result =
          last && out == e.x && value->kind != ExprKind::kFn && (!e.x->annotation || may_call_last(value));
      out = is_result ? value : b_.let(e.x, value, out);
      last = false;
    }
    bodies[order[i]] = out;
  }
  return bodies[root];
}

}  // namespace relay::passes
