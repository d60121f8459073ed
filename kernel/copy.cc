#include "kernel/copy.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "kernel/fields.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

void add(const List<Expr>& more, std::vector<Expr>& to) { to.insert(to.end(), more.begin(), more.end()); }

// Every expression that the kernel's statements hold themselves, those of regions and the variables
// that are bound among them.
std::vector<Expr> own_expressions(const Kernel& k) {
  std::vector<Expr> out;
  visit(k.body, [&](Stmt s) {
    for (const std::vector<Expr>& more : {expressions(s), binders(s)})
      out.insert(out.end(), more.begin(), more.end());
    const auto* block = s->as<Block>();
    if (block == nullptr) return;
    for (const auto& list : {block->reads, block->writes}) {
      for (const Region& r : list) add(r.min, out), add(r.extent, out);
    }
  });
  return out;
}

}  // namespace

template <class T>
void Copier::bring(List<T>& list) {
  std::vector<T> out(list.begin(), list.end());
  for (T& item : out) bring(item);
  list = to_.arena().list(out);
}

template <class T>
  requires requires { T::kFields; }
void Copier::bring(T& n) {
  for_each_field(n, [&](auto& field) { bring(field); });
}

void Copier::bring(const External*& e) {
  if (e == nullptr) return;
  auto [name, extents, library, function] = *e;
  bring(name), bring(extents), bring(library);
  e = to_.arena().make<External>(name, extents, library, function);
}

// A node is younger than its operands, and a load than the shape of its buffer.
void Copier::copy_all(std::vector<Expr> pending) {
  std::vector<const ExprNode*> missing;
  std::unordered_set<const ExprNode*> seen;
  while (!pending.empty()) {
    const ExprNode* n = pending.back().get();
    pending.pop_back();
    if (exprs_.contains(n) || !seen.insert(n).second) continue;
    missing.push_back(n);
    pending.insert(pending.end(), n->args.begin(), n->args.end());
    if (n->buffer && !buffers_.contains(n->buffer))
      add(n->buffer->shape, pending), add(n->buffer->strides, pending);
  }
  std::sort(missing.begin(), missing.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  for (const ExprNode* n : missing) exprs_.emplace(n, copy_of(*n));
}

Expr Copier::copy_of(const ExprNode& n) {
  std::vector<Expr> args;
  for (const ExprNode* a : n.args) args.push_back(exprs_.at(a));
  switch (n.kind) {
    case ExprKind::kInt: return to_.integer(n.int_value, n.dtype);
    case ExprKind::kFloat: return to_.real(n.float_value, dtype(n.dtype));
    case ExprKind::kVar:
      return n.shape_variable ? to_.shape_variable(n.name.text())
                              : to_.variable(n.name.text(), dtype(n.dtype));
    case ExprKind::kLoad: return to_.load(buffer(n.buffer), std::move(args));
    case ExprKind::kMath: return to_.math(n.fn, std::move(args));
    case ExprKind::kCast: return to_.cast(dtype(n.dtype), args[0]);
    default: return to_.make(n.kind, dtype(n.dtype), std::move(args));
  }
}

Expr Copier::expr(Expr e) {
  if (!e) return {};
  if (const auto it = exprs_.find(e.get()); it != exprs_.end()) return it->second;
  copy_all({e});
  return exprs_.at(e.get());
}

List<Expr> Copier::exprs(const List<Expr>& list) {
  List<Expr> out = list;
  bring(out);
  return out;
}

// The shape of a buffer holds no loads, so this and `expr` do not call each other deeply.
const Buffer* Copier::buffer(const Buffer* b) {
  if (auto it = buffers_.find(b); it != buffers_.end()) return it->second;
  auto [id, name, type, shape, scope, strides] = *b;
  if (const auto given = ids_.find(b); given != ids_.end()) {
    id = given->second;
  } else if (new_id_) {
    id = new_id_();
  }
  bring(name), bring(shape), bring(strides);
  return buffers_[b] = to_.arena().make<Buffer>(id, name, dtype(type), shape, scope, strides);
}

Stmt Copier::statement(Stmt root) {
  statements_.clear();
  std::vector<std::pair<Stmt, bool>> stack{{root, false}};
  while (!stack.empty()) {
    const auto [s, closing] = stack.back();
    stack.pop_back();
    if (statements_.contains(s)) continue;
    if (!closing) {
      stack.emplace_back(s, true);
      for (Stmt part : children(s)) stack.emplace_back(part, false);
      continue;
    }
    statements_[s] = match(s, [&](const auto& n) -> Stmt {
      return changed_copy(to_.arena(), n, [&](auto& copy) {
        bring(copy);
        if constexpr (requires { copy.instruction; }) {
          if (dtype_) copy.instruction = {};
        }
      });
    });
  }
  return statements_.at(root);
}

const Kernel* Copier::kernel(const Kernel& k) {
  std::vector<const Buffer*> oldest = all_buffers(k);
  std::sort(oldest.begin(), oldest.end(), [](const auto* a, const auto* b) { return a->id < b->id; });
  std::vector<Expr> all = own_expressions(k);
  for (const Buffer* b : oldest) {
    if (buffers_.contains(b)) continue;
    if (new_id_) ids_.emplace(b, new_id_());
    add(b->shape, all), add(b->strides, all);
  }
  copy_all(std::move(all));
  for (const Buffer* b : oldest) buffer(b);
  ids_.clear();

  auto [name, inputs, outputs, temporaries, body, origin, batched, read_extents, external] = k;
  body = statement(body);
  bring(name), bring(inputs), bring(outputs), bring(temporaries), bring(origin), bring(batched);
  bring(read_extents), bring(external);
  return to_.arena().make<Kernel>(name, inputs, outputs, temporaries, body, origin, batched, read_extents,
                                  external);
}

}  // namespace relay::kernel
