// Equality up to the names of bound things, in lockstep over both sides.
//
// Types, dims, attributes and scalar expressions of both sides are imported into one scratch
// context, where being equal is being the same pointer.
#include <deque>

#include "ir/analysis.h"
#include "ir/import.h"
#include "kernel/fields.h"
#include "kernel/walk.h"

namespace relay {
namespace {

using kernel::Kernel;
using kernel::Stmt;

class Comparison {
 public:
  Comparison() : a_(scratch_, true), b_(scratch_, true) {}

  bool expressions(Expr a, Expr b) {
    pending_.push_back({a, b, nullptr, nullptr});
    while (!pending_.empty()) {
      const Pair p = pending_.back();
      pending_.pop_back();
      if (!p.a || !p.b) {
        if (p.a != p.b) return false;
        continue;
      }
      if (p.a->kind != p.b->kind) return false;
      if (p.a->kind == ExprKind::kVar ? !variables(p) : !nodes(p)) return false;
    }
    return true;
  }

  bool types(Type a, Type b, const TypeScope* in_a = nullptr, const TypeScope* in_b = nullptr) {
    if (!a || !b) return a == b;
    if (a == b && !a->has_type_var) return true;
    return a_.type(a, in_a) == b_.type(b, in_b);
  }

  bool data_types(const DataTypeDef& a, const DataTypeDef& b) {
    if (!(a.name == b.name) || a.is_extern != b.is_extern || a.params.size() != b.params.size() ||
        a.ctors.size() != b.ctors.size()) {
      return false;
    }
    const TypeScope *in_a = scope(nullptr, a.params), *in_b = scope(nullptr, b.params);
    for (size_t i = 0; i < a.ctors.size(); ++i) {
      const Constructor &x = *a.ctors[i], &y = *b.ctors[i];
      if (!(x.name == y.name) || x.tag != y.tag || x.fields.size() != y.fields.size()) return false;
      for (size_t j = 0; j < x.fields.size(); ++j) {
        if (!types(x.fields[j], y.fields[j], in_a, in_b)) return false;
      }
    }
    return true;
  }

  bool kernels(const Kernel& a, const Kernel& b) {
    const auto& [name_a, in_a, out_a, temporaries_a, body_a, origin_a, batched_a, read_a, external_a] = a;
    const auto& [name_b, in_b, out_b, temporaries_b, body_b, origin_b, batched_b, read_b, external_b] = b;
    return batched_a.text() == batched_b.text() && declarations(in_a, in_b) && declarations(out_a, out_b) &&
           declarations(temporaries_a, temporaries_b) && same(read_a, read_b) && statements(body_a, body_b) &&
           externals(external_a, external_b);
  }

 private:
  struct Pair {
    Expr a, b;
    const TypeScope *in_a, *in_b;  // the type parameters around each
  };

  const TypeScope* scope(const TypeScope* outer, const List<const TypeVar*>& params) {
    if (params.empty()) return outer;
    return &scopes_.emplace_back(TypeScope{outer, params, outer ? outer->level + 1 : 0});
  }

  // Bound variables correspond; free ones must have the same name and annotation. Each
  // has one partner.
  bool variables(const Pair& p) {
    const Expr partner = to_b_.get(p.a), back = to_a_.get(p.b);
    if (partner || back) return partner == p.b && back == p.a;
    const auto *x = p.a->as<Var>(), *y = p.b->as<Var>();
    if (!(x->name == y->name) || !types(x->annotation, y->annotation, p.in_a, p.in_b)) return false;
    pair_up(p.a, p.b);
    return true;
  }

  void pair_up(Expr a, Expr b) {
    to_b_[a] = b;
    to_a_[b] = a;
  }

  bool bind(const Var* a, const Var* b, const Pair& at) {
    if (!types(a->annotation, b->annotation, at.in_a, at.in_b)) return false;
    pair_up(a, b);
    return true;
  }

  // Leaves are values: how often one node stands for them does not matter.
  bool nodes(Pair p) {
    if (p.a->kind == ExprKind::kConstant) {
      const auto *x = p.a->as<Constant>(), *y = p.b->as<Constant>();
      return x->value == y->value || identical(*x->value, *y->value);
    }
    if (const auto* x = p.a->as<Global>()) return x->name == p.b->as<Global>()->name;
    if (const auto* x = p.a->as<OpRef>()) return x->op == p.b->as<OpRef>()->op;
    if (const auto* x = p.a->as<CtorRef>()) return constructors(x->ctor, p.b->as<CtorRef>()->ctor);

    const Expr partner = to_b_.get(p.a), back = to_a_.get(p.b);
    if (partner || back) return partner == p.b && back == p.a;  // compared before
    pair_up(p.a, p.b);
    if (!heads(p)) return false;
    return children(p);
  }

  static bool constructors(const Constructor* a, const Constructor* b) {
    return a == b || (a && b && a->name == b->name && a->data_type == b->data_type);
  }

  bool attributes(const Attrs& a, const Attrs& b) { return a == b || a_.attrs(a) == b_.attrs(b); }

  // What a node says besides its children. May open a scope of type parameters for them.
  bool heads(Pair& p) {
    switch (p.a->kind) {
      case ExprKind::kProj: return p.a->as<Proj>()->index == p.b->as<Proj>()->index;
      case ExprKind::kCall: return attributes(p.a->as<Call>()->attrs, p.b->as<Call>()->attrs);
      case ExprKind::kLet: return bind(p.a->as<Let>()->x, p.b->as<Let>()->x, p);
      case ExprKind::kFn: {
        const auto *x = p.a->as<Fn>(), *y = p.b->as<Fn>();
        if (x->type_params.size() != y->type_params.size() || x->params.size() != y->params.size())
          return false;
        p.in_a = scope(p.in_a, x->type_params);
        p.in_b = scope(p.in_b, y->type_params);
        for (size_t i = 0; i < x->params.size(); ++i) {
          if (!bind(x->params[i], y->params[i], p)) return false;
        }
        if (x->where.size() != y->where.size()) return false;
        for (size_t i = 0; i < x->where.size(); ++i) {
          if (!types(x->where[i], y->where[i], p.in_a, p.in_b)) return false;
        }
        return types(x->result, y->result, p.in_a, p.in_b) && attributes(x->attrs, y->attrs);
      }
      case ExprKind::kMatch: {
        const auto *x = p.a->as<Match>(), *y = p.b->as<Match>();
        if (x->total != y->total || x->arms.size() != y->arms.size()) return false;
        for (size_t i = 0; i < x->arms.size(); ++i) {
          if (!patterns(x->arms[i].pattern, y->arms[i].pattern, p)) return false;
        }
        return true;
      }
      default: return true;
    }
  }

  bool patterns(Pattern a, Pattern b, const Pair& at) {
    std::vector<std::pair<Pattern, Pattern>> todo{{a, b}};
    while (!todo.empty()) {
      const auto [x, y] = todo.back();
      todo.pop_back();
      if (x->kind != y->kind || !constructors(x->ctor, y->ctor) || x->fields.size() != y->fields.size())
        return false;
      if (x->var && !bind(x->var, y->var, at)) return false;
      for (size_t i = 0; i < x->fields.size(); ++i) todo.emplace_back(x->fields[i], y->fields[i]);
    }
    return true;
  }

  bool children(const Pair& p) {
    const size_t start = pending_.size();
    for_each_child(p.a, [&](Expr child) { pending_.push_back({child, nullptr, p.in_a, p.in_b}); });
    size_t i = start;
    bool same_number = true;
    for_each_child(p.b, [&](Expr child) {
      if (i < pending_.size()) {
        pending_[i].b = child;
      } else {
        same_number = false;
      }
      ++i;
    });
    return same_number && i == pending_.size();
  }

  // Kernels: field by field, without what has no meaning.

  bool same(kernel::Expr a, kernel::Expr b) { return a_.expr(a) == b_.expr(b); }
  bool same(const kernel::Binder& a, const kernel::Binder& b) {
    if (a->dtype != b->dtype) return false;
    const kernel::Expr both = scratch_.pool().variable(a->name.text(), a->dtype);
    a_.bind(a, both);
    b_.bind(b, both);
    return true;
  }
  bool same(const kernel::Buffer* a, const kernel::Buffer* b) { return a_.buffer(a) == b_.buffer(b); }
  bool same(Symbol a, Symbol b) { return a == b; }
  bool same(kernel::ForKind a, kernel::ForKind b) { return a == b; }
  bool same(kernel::IterKind a, kernel::IterKind b) { return a == b; }
  // What is below is compared by itself.
  bool same(Stmt a, Stmt b) { return !a == !b; }
  bool same(const kernel::BlockIter& a, const kernel::BlockIter& b) { return same_fields(a, b); }
  bool same(const kernel::Region& a, const kernel::Region& b) { return same_fields(a, b); }
  bool same(const kernel::ReadExtent& a, const kernel::ReadExtent& b) {
    return same(a.variable, b.variable) && a.input == b.input && a.element == b.element;
  }
  template <class T>
  bool same(const List<T>& a, const List<T>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!same(a[i], b[i])) return false;
    }
    return true;
  }
  template <class T>
  bool same_fields(const T& a, const T& b) {
    return std::apply([&](auto... field) { return (same(a.*field, b.*field) && ...); }, T::kFields);
  }

  // The places where buffers are declared correspond.
  bool declarations(const kernel::Buffer* a, const kernel::Buffer* b) {
    const auto& [id_a, name_a, dtype_a, shape_a, scope_a, strides_a] = *a;
    const auto& [id_b, name_b, dtype_b, shape_b, scope_b, strides_b] = *b;
    if (dtype_a != dtype_b || scope_a != scope_b || !same(shape_a, shape_b) || !same(strides_a, strides_b))
      return false;
    b_.bind(b, a_.buffer(a));
    return true;
  }
  bool declarations(const List<const kernel::Buffer*>& a, const List<const kernel::Buffer*>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!declarations(a[i], b[i])) return false;
    }
    return true;
  }

  // Where a function is found is no part of the program.
  bool externals(const kernel::External* a, const kernel::External* b) {
    if (a == nullptr || b == nullptr) return a == b;
    const auto& [symbol_a, extents_a, library_a, function_a] = *a;
    const auto& [symbol_b, extents_b, library_b, function_b] = *b;
    return symbol_a == symbol_b && same(extents_a, extents_b);
  }

  bool statements(Stmt root_a, Stmt root_b) {
    std::vector<std::pair<Stmt, Stmt>> todo{{root_a, root_b}};
    while (!todo.empty()) {
      const auto [a, b] = todo.back();
      todo.pop_back();
      if (a->kind != b->kind || !statement_heads(a, b)) return false;
      const std::vector<Stmt> below_a = kernel::children(a), below_b = kernel::children(b);
      if (below_a.size() != below_b.size()) return false;
      for (size_t i = below_a.size(); i-- > 0;) todo.emplace_back(below_a[i], below_b[i]);
    }
    return true;
  }

  bool statement_heads(Stmt a, Stmt b) {
    return kernel::match(
        a,
        [&](const kernel::Allocate& x) {
          const auto& [buffer_a, body_a] = fields(x);
          const auto& [buffer_b, body_b] = fields(*b->as<kernel::Allocate>());
          return declarations(buffer_a, buffer_b);
        },
        [&]<class T>(const T& x) { return same_fields(x, *b->as<T>()); });
  }

  Context scratch_;
  Importer a_, b_;
  std::deque<TypeScope> scopes_;
  std::vector<Pair> pending_;
  NodeMap<Expr> to_b_, to_a_;
};

// Compares what two sorted maps hold, entry by entry.
template <class Map, class Same>
bool same_entries(const Map& a, const Map& b, Same&& same) {
  if (a.size() != b.size()) return false;
  for (auto i = a.begin(), j = b.begin(); i != a.end(); ++i, ++j) {
    if (!(i->first == j->first)) return false;
    if (i->second != j->second && !same(i->second, j->second)) return false;
  }
  return true;
}

}  // namespace

bool alpha_equal(Expr a, Expr b) { return a == b || Comparison().expressions(a, b); }
bool alpha_equal(Type a, Type b) { return Comparison().types(a, b); }
bool structurally_equal(const Kernel& a, const Kernel& b) { return &a == &b || Comparison().kernels(a, b); }

bool alpha_equal(const Module& a, const Module& b) {
  return same_entries(a.functions(), b.functions(),
                      [](const Fn* x, const Fn* y) { return alpha_equal(x, y); }) &&
         same_entries(a.kernels(), b.kernels(),
                      [](const Kernel* x, const Kernel* y) { return structurally_equal(*x, *y); }) &&
         same_entries(a.data_types(), b.data_types(), [](const DataTypeDef* x, const DataTypeDef* y) {
           return Comparison().data_types(*x, *y);
         });
}

}  // namespace relay
