// structural_hash: equal for alpha-equal expressions, and the same in every run, so
// made of no address.
#include <bit>
#include <cstring>

#include "ir/analysis.h"

namespace relay {
namespace op {
// Weak here: programs without operators need not link any.
[[gnu::weak]] std::string_view name(const OpDef& op);
}  // namespace op

namespace {

// What is mixed in twice does not cancel itself.
uint64_t mix(uint64_t h, uint64_t v) {
  h = (std::rotl(h, 25) + 0x632be59bd9b4e019ull) ^ v;
  h *= 0x9e3779b97f4a7c15ull;
  return h ^ (h >> 29);
}

uint64_t hash_of(std::string_view text) {
  uint64_t h = mix(0, text.size());
  while (!text.empty()) {
    uint64_t word = 0;
    const size_t n = std::min<size_t>(text.size(), sizeof word);
    std::memcpy(&word, text.data(), n);
    h = mix(h, word);
    text.remove_prefix(n);
  }
  return h;
}

uint64_t hash_of(DType d) { return (uint64_t{static_cast<uint8_t>(d.code)} << 8) | d.bits; }

// Symbolic dims by their text: it is canonical, and the same in every context.
uint64_t hash_of(Dim d) { return d.is_const() ? mix(1, static_cast<uint64_t>(d.value())) : hash_of(show(d)); }

uint64_t hash_of(Symbol s) { return hash_of(s.text()); }
uint64_t hash_of(double d) { return std::bit_cast<uint64_t>(d); }
uint64_t hash_of(AttrKind kind) { return static_cast<uint64_t>(kind); }
uint64_t hash_of(PatternKind kind) { return static_cast<uint64_t>(kind); }
template <OneOf<bool, uint32_t, int64_t> T>
uint64_t hash_of(T n) {
  return static_cast<uint64_t>(n);
}
uint64_t hash_of(const op::OpDef* op) { return op::name ? hash_of(op::name(*op)) : 0; }
uint64_t hash_of(const Constructor* ctor) { return ctor ? hash_of(ctor->name) : 0; }

uint64_t hash_of(const AttrValue& root) {
  uint64_t h = 0;
  std::vector<const AttrValue*> pending{&root};
  const Overload field{
      [&](const List<AttrValue>& list) {
        for (const AttrValue& item : list) pending.push_back(&item);
        return uint64_t{list.size()};
      },
      [](const auto& other) { return hash_of(other); },
  };
  while (!pending.empty()) {
    const AttrValue& v = *pending.back();
    pending.pop_back();
    for_each_field(v, [&](const auto& f) { h = mix(h, field(f)); });
  }
  return h;
}

uint64_t hash_of(const Attrs& attrs) {
  uint64_t h = attrs.size();
  for (const Attr& a : attrs) for_each_field(a, [&](const auto& field) { h = mix(h, hash_of(field)); });
  return h;
}

uint64_t hash_of(const Tensor* t) {
  uint64_t h = mix(hash_of(t->dtype()), t->rank());
  for (int64_t d : t->shape()) h = mix(h, static_cast<uint64_t>(d));
  return mix(h, hash_of(std::string_view(static_cast<const char*>(t->data()), t->bytes())));
}

uint64_t hash_of(const List<Dim>& dims) {
  uint64_t h = dims.size();
  for (Dim d : dims) h = mix(h, hash_of(d));
  return h;
}

// A type's outermost part. Alpha-equal annotations have the same, whatever their type
// variables are called.
uint64_t hash_of(Type t) {
  if (!t) return 0;
  uint64_t h = mix(1, static_cast<uint64_t>(t->kind));
  const Overload field{
      [](Type) { return uint64_t{0}; },
      [](const List<Type>& parts) { return uint64_t{parts.size()}; },
      [](const List<const TypeVar*>& params) { return uint64_t{params.size()}; },
      [](const auto& other) { return hash_of(other); },
  };
  match(
      t, [](const TypeVar&) {},
      [&](const auto& n) { for_each_field(n, [&](const auto& f) { h = mix(h, field(f)); }); });
  return h;
}

class Hasher {
 public:
  uint64_t operator()(Expr root) {
    number_binders(root);
    for (Expr e : post_order(root)) hash_[e] = node(e);
    return hash_[root];
  }

 private:
  // Bound variables count by the order in which their binders are met, which names do not change.
  void number_binders(Expr root) {
    walk(
        root,
        [&](Expr e) {
          for_each_binder(e, [&](const Var* v) { number_[v] = ++bound_; });
          return true;
        },
        [](Expr) {});
  }

  // Hashes all fields of a struct. The children of a node have their hashes already.
  template <class T>
  uint64_t fields(const T& n) {
    uint64_t h = 0;
    const auto add = [&](auto field) {
      if (is_compared(field)) h = mix(h, of(n.*field));
    };
    T::kFields([&](auto... field) { (add(field), ...); });
    return h;
  }
  // Hashes a bound variable with its number instead of its name.
  uint64_t fields(const Var& v) {
    const uint64_t number = number_.get(&v);
    uint64_t h = 0;
    Var::kFields([&](auto... field) {
      ((h = mix(h, number && is_variable_name(field) ? number : hash_of(v.*field))), ...);
    });
    return h;
  }

  // A field, by its type.

  template <OneOf<Symbol, Type, Attrs, const Tensor*, const op::OpDef*, const Constructor*, uint32_t, bool,
                  PatternKind>
                Field>
  uint64_t of(const Field& field) {
    return hash_of(field);
  }
  uint64_t of(const Span&) { return 0; }  // where it was written is not compared
  uint64_t of(const List<const TypeVar*>& params) { return params.size(); }
  uint64_t of(Expr child) { return hash_[child]; }
  uint64_t of(const Var* v) { return v ? fields(*v) : 0; }
  template <OneOf<Type, Expr, const Var*> Item>
  uint64_t of(const List<Item>& list) {
    uint64_t h = list.size();
    for (Item item : list) h = mix(h, of(item));
    return h;
  }
  uint64_t of(const List<Arm>& arms) {
    uint64_t h = arms.size();
    for (const Arm& arm : arms) h = mix(h, fields(arm));
    return h;
  }
  uint64_t of(Pattern root) {
    uint64_t h = 0;
    for_each_pattern(root, [&](Pattern p) { h = mix(h, fields(*p)); });
    return h;
  }
  uint64_t of(const List<Pattern>& fields) { return fields.size(); }  // each follows by itself

  uint64_t node(Expr e) {
    return mix(static_cast<uint64_t>(e->kind), match(e, [&](const auto& n) { return fields(n); }));
  }

  NodeMap<uint64_t> hash_;
  NodeMap<uint64_t> number_;
  uint64_t bound_ = 0;
};

}  // namespace

uint64_t structural_hash(Expr e) { return Hasher()(e); }

}  // namespace relay
