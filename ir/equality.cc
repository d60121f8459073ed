// Equality up to the names of bound things, in lockstep over both sides.
//
// Types, dims, attributes and scalar expressions of both sides are imported into one scratch
// context, where being equal is being the same pointer.
#include <algorithm>
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
    pending_.push_back({a, b});
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
    Pair at;
    return fields(a, b, at);
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
    Expr a = nullptr, b = nullptr;
    const TypeScope *in_a = nullptr, *in_b = nullptr;  // the type parameters around each
  };

  const TypeScope* scope(const TypeScope* outer, const List<const TypeVar*>& params) {
    if (params.empty()) return outer;
    return &scopes_.emplace_back(TypeScope{outer, params, outer ? outer->level + 1 : 0});
  }

  // Bound variables correspond; free ones must have the same name and annotation. Each
  // has one partner.
  bool variables(Pair p) {
    const Expr partner = to_b_.get(p.a), back = to_a_.get(p.b);
    if (partner || back) return partner == p.b && back == p.a;
    if (!fields(*p.a->as<Var>(), *p.b->as<Var>(), p)) return false;
    pair_up(p.a, p.b);
    return true;
  }

  void pair_up(Expr a, Expr b) {
    to_b_[a] = b;
    to_a_[b] = a;
  }

  // Bound variables are alike but for their names.
  bool bind(const Var* a, const Var* b, Pair& at) {
    if (!a || !b) return a == b;
    if (!fields(*a, *b, at, [](auto field) { return !is_variable_name(field); })) return false;
    pair_up(a, b);
    return true;
  }

  // Leaves are values: how often one node stands for them does not matter.
  bool nodes(Pair p) {
    if (!is_leaf(p.a)) {
      const Expr partner = to_b_.get(p.a), back = to_a_.get(p.b);
      if (partner || back) return partner == p.b && back == p.a;  // compared before
      pair_up(p.a, p.b);
    }
    return match(p.a, [&](const auto& a) { return fields(a, static_cast<decltype(a)>(*p.b), p); });
  }

  // Compares all fields of two structs. Children of nodes are put off: what the node binds is
  // paired up by then. A field that declares type parameters adds them to `at`, for the fields
  // after it.
  template <class T, class Filter>
  bool fields(const T& a, const T& b, Pair& at, Filter&& counts) {
    return T::kFields([&](auto... field) {
      return ((!is_compared(field) || !counts(field) || same(a.*field, b.*field, at)) && ...);
    });
  }
  template <class T>
  bool fields(const T& a, const T& b, Pair& at) {
    return fields(a, b, at, [](auto) { return true; });
  }

  // A field, by its type.

  template <OneOf<Symbol, uint32_t, bool, PatternKind, const op::OpDef*> Plain>
  bool same(const Plain& a, const Plain& b, Pair&) {
    return a == b;
  }
  bool same(const Span&, const Span&, Pair&) { return true; }  // where it was written is not compared
  bool same(const Tensor* a, const Tensor* b, Pair&) { return a == b || identical(*a, *b); }
  // A reference to a constructor. Its data type is compared elsewhere.
  bool same(const Constructor* a, const Constructor* b, Pair&) {
    return a == b || (a && b && a->name == b->name && a->data_type == b->data_type);
  }
  bool same(const Attrs& a, const Attrs& b, Pair&) { return a == b || a_.attrs(a) == b_.attrs(b); }

  bool same(Type a, Type b, Pair& at) { return types(a, b, at.in_a, at.in_b); }
  bool same(const List<Type>& a, const List<Type>& b, Pair& at) {
    return each(a, b, [&](Type x, Type y) { return same(x, y, at); });
  }
  bool same(const List<const TypeVar*>& a, const List<const TypeVar*>& b, Pair& at) {
    if (a.size() != b.size()) return false;
    at.in_a = scope(at.in_a, a);
    at.in_b = scope(at.in_b, b);
    return true;
  }

  bool same(const Var* a, const Var* b, Pair& at) { return bind(a, b, at); }
  bool same(const List<const Var*>& a, const List<const Var*>& b, Pair& at) {
    return each(a, b, [&](const Var* x, const Var* y) { return bind(x, y, at); });
  }
  bool same(Expr a, Expr b, Pair& at) {
    pending_.push_back({a, b, at.in_a, at.in_b});
    return true;
  }
  bool same(const List<Expr>& a, const List<Expr>& b, Pair& at) {
    return each(a, b, [&](Expr x, Expr y) { return same(x, y, at); });
  }

  bool same(const List<Arm>& a, const List<Arm>& b, Pair& at) {
    return each(a, b, [&](const Arm& x, const Arm& y) { return fields(x, y, at); });
  }
  bool same(Pattern a, Pattern b, Pair& at) {
    patterns_.assign(1, {a, b});
    while (!patterns_.empty()) {
      const auto [x, y] = patterns_.back();
      patterns_.pop_back();
      if (!fields(*x, *y, at)) return false;
    }
    return true;
  }
  bool same(const List<Pattern>& a, const List<Pattern>& b, Pair&) {
    return each(a, b, [&](Pattern x, Pattern y) {
      patterns_.emplace_back(x, y);
      return true;
    });
  }
  // The constructors that a data type declares.
  bool same(const List<const Constructor*>& a, const List<const Constructor*>& b, Pair& at) {
    return each(a, b, [&](const Constructor* x, const Constructor* y) { return fields(*x, *y, at); });
  }

  template <class T, class Same>
  static bool each(const List<T>& a, const List<T>& b, Same&& same) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
  }

  // Kernels: field by field, without what has no meaning.

  bool same(kernel::Expr a, kernel::Expr b) { return a_.kernels().expr(a) == b_.kernels().expr(b); }
  bool same(const kernel::Binder& a, const kernel::Binder& b) {
    if (a->dtype != b->dtype) return false;
    const kernel::Expr both = scratch_.pool().variable(a->name.text(), a->dtype);
    a_.kernels().bind(a, both);
    b_.kernels().bind(b, both);
    return true;
  }
  bool same(const kernel::Buffer* a, const kernel::Buffer* b) {
    return a_.kernels().buffer(a) == b_.kernels().buffer(b);
  }
  bool same(Symbol a, Symbol b) { return a == b; }
  bool same(kernel::ForKind a, kernel::ForKind b) { return a == b; }
  bool same(kernel::IterKind a, kernel::IterKind b) { return a == b; }
  // What is below is compared by itself.
  bool same(Stmt a, Stmt b) { return !a == !b; }
  bool same(const kernel::BlockIter& a, const kernel::BlockIter& b) { return same_fields(a, b); }
  bool same(const kernel::Region& a, const kernel::Region& b) { return same_fields(a, b); }
  bool same(const kernel::ReadExtent& a, const kernel::ReadExtent& b) {
    const auto& [variable_a, input_a, element_a] = a;
    const auto& [variable_b, input_b, element_b] = b;
    return same(variable_a, variable_b) && input_a == input_b && element_a == element_b;
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
    return T::kFields([&](auto... field) { return (same(a.*field, b.*field) && ...); });
  }

  // The places where buffers are declared correspond.
  bool declarations(const kernel::Buffer* a, const kernel::Buffer* b) {
    const auto& [id_a, name_a, dtype_a, shape_a, scope_a, strides_a] = *a;
    const auto& [id_b, name_b, dtype_b, shape_b, scope_b, strides_b] = *b;
    if (dtype_a != dtype_b || scope_a != scope_b || !same(shape_a, shape_b) || !same(strides_a, strides_b))
      return false;
    b_.kernels().bind(b, a_.kernels().buffer(a));
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
          const auto& [buffer_a, body_a] = relay::fields(x);
          const auto& [buffer_b, body_b] = relay::fields(*b->as<kernel::Allocate>());
          return declarations(buffer_a, buffer_b);
        },
        [&]<class T>(const T& x) { return same_fields(x, *b->as<T>()); });
  }

  Context scratch_;
  Importer a_, b_;
  std::deque<TypeScope> scopes_;
  std::vector<Pair> pending_;
  std::vector<std::pair<Pattern, Pattern>> patterns_;  // of one arm, still to be compared
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
