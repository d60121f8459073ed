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

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9e3779b97f4a7c15ull;
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

uint64_t hash_of(const AttrValue& root) {
  uint64_t h = 0;
  std::vector<const AttrValue*> pending{&root};
  while (!pending.empty()) {
    const AttrValue& v = *pending.back();
    pending.pop_back();
    h = mix(h, static_cast<uint64_t>(v.kind));
    h = mix(h, v.kind == AttrKind::kBool ? v.boolean : static_cast<uint64_t>(v.integer));
    h = mix(h, std::bit_cast<uint64_t>(v.real));
    h = mix(h, hash_of(v.string.text()));
    h = mix(h, v.kind == AttrKind::kDim ? hash_of(v.dim) : 0);
    h = mix(h, v.list.size());
    for (const AttrValue& item : v.list) pending.push_back(&item);
  }
  return h;
}

uint64_t hash_of(const Attrs& attrs) {
  uint64_t h = attrs.size();
  for (const Attr& a : attrs) h = mix(mix(h, hash_of(a.name.text())), hash_of(a.value));
  return h;
}

uint64_t hash_of(const Tensor& t) {
  uint64_t h = mix(hash_of(t.dtype()), t.rank());
  for (int64_t d : t.shape()) h = mix(h, static_cast<uint64_t>(d));
  return mix(h, hash_of(std::string_view(static_cast<const char*>(t.data()), t.bytes())));
}

// A type's outermost part. Alpha-equal annotations have the same, whatever their type
// variables are called.
uint64_t hash_of(Type t) {
  if (!t) return 0;
  uint64_t h = mix(1, static_cast<uint64_t>(t->kind));
  if (const auto* tensor = t->as<TensorType>()) {
    h = mix(h, hash_of(tensor->dtype));
    for (Dim d : tensor->dims) h = mix(h, hash_of(d));
  } else if (const auto* tuple = t->as<TupleType>()) {
    h = mix(h, tuple->fields.size());
  } else if (const auto* fn = t->as<FnType>()) {
    h = mix(h, fn->args.size());
  } else if (const auto* data = t->as<DataType>()) {
    h = mix(h, hash_of(data->name.text()));
  }
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

  uint64_t variable(const Var* v) {
    const uint64_t number = number_.get(v);
    return mix(number ? number : hash_of(v->name.text()), hash_of(v->annotation));
  }

  uint64_t patterns(const Match& m) {
    uint64_t h = m.total;
    for (const Arm& arm : m.arms) {
      std::vector<Pattern> pending{arm.pattern};
      while (!pending.empty()) {
        const Pattern p = pending.back();
        pending.pop_back();
        h = mix(h, static_cast<uint64_t>(p->kind));
        if (p->var) h = mix(h, variable(p->var));
        if (p->ctor) h = mix(h, hash_of(p->ctor->name.text()));
        for (Pattern field : p->fields) pending.push_back(field);
      }
    }
    return h;
  }

  uint64_t head(Expr e) {
    return match(
        e, [&](const Constant& n) { return hash_of(*n.value); }, [&](const Var& n) { return variable(&n); },
        [&](const Global& n) { return hash_of(n.name.text()); },
        [&](const OpRef& n) { return op::name ? hash_of(op::name(*n.op)) : 0; },
        [&](const CtorRef& n) { return hash_of(n.ctor->name.text()); },
        [&](const Proj& n) { return uint64_t{n.index}; },
        [&](const Fn& n) {
          uint64_t h = mix(hash_of(n.attrs), mix(n.type_params.size(), hash_of(n.result)));
          h = mix(h, n.where.size());
          for (const Var* p : n.params) h = mix(h, variable(p));
          return h;
        },
        [&](const Call& n) { return hash_of(n.attrs); }, [&](const Let& n) { return variable(n.x); },
        [&](const Match& n) { return patterns(n); }, [](const auto&) { return uint64_t{0}; });
  }

  uint64_t node(Expr e) {
    uint64_t h = mix(static_cast<uint64_t>(e->kind), head(e));
    for_each_child(e, [&](Expr child) { h = mix(h, hash_[child]); });
    return h;
  }

  NodeMap<uint64_t> hash_;
  NodeMap<uint64_t> number_;
  uint64_t bound_ = 0;
};

}  // namespace

uint64_t structural_hash(Expr e) { return Hasher()(e); }

}  // namespace relay
