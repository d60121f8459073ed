#include "kernel/llvm/description.h"

#include <bit>
#include <unordered_map>

#include "kernel/fields.h"

namespace relay::kernel::llvm {
namespace {

// A field that is not written here would let two different kernels share their code. So structs are
// taken apart by their lists of fields: a new field does not compile before it is decided on.
class Writer {
 public:
  explicit Writer(const Kernel& k) {
    // Parameters are passed by position: shape variables in the order of their names.
    for (Expr v : shape_parameters(k)) number(expressions_, v.get());
    put(expressions_.size());
    // An external kernel has no code, and what a kernel's caller reads from inputs (read_extents)
    // is no part of it.
    const auto& [name, inputs, outputs, temporaries, body, origin, batched, read_extents, external] = k;
    for (const auto* list : {&inputs, &outputs, &temporaries}) {
      put(list->size());
      for (const Buffer* b : *list) field(b);
    }
    field(body);
  }
  std::string text;

 private:
  void put(uint64_t v) {  // as few bytes as it takes
    for (; v >= 0x80; v >>= 7) text += static_cast<char>(0x80 | (v & 0x7f));
    text += static_cast<char>(v);
  }
  template <class Map, class Key>
  std::pair<uint64_t, bool> number(Map& map, const Key& key) {
    const auto [it, fresh] = map.emplace(key, map.size());
    return {it->second, fresh};
  }

  void dtype(DType d) {
    put(static_cast<uint64_t>(d.code));
    put(d.bits);
  }

  void field(ForKind how) { put(static_cast<uint64_t>(how)); }
  void field(IterKind kind) { put(static_cast<uint64_t>(kind)); }
  void field(Scope scope) { put(static_cast<uint64_t>(scope)); }
  void field(const Buffer* b) {
    const auto [n, fresh] = number(buffers_, b);
    put(n);
    if (!fresh) return;
    const auto& [id, name, type, shape, scope, strides] = *b;
    dtype(type);
    field(scope);
    field(shape);
    field(strides);
  }
  // A node is written where it is met first, and by its number from then on.
  void field(const Expr& e) { node(e.get()); }
  void node(const ExprNode* e) {
    put(e ? 1 : 0);
    if (!e) return;
    const auto [n, fresh] = number(expressions_, e);
    put(n);
    if (!fresh) return;
    const auto& [kind, type, fn, shape_variable, has_load, has_data, may_wrap, non_negative, depth, weight,
                 id, pool, int_value, float_value, name, buffer, args] = *e;
    put(static_cast<uint64_t>(kind));
    dtype(type);
    put(static_cast<uint64_t>(int_value));
    put(std::bit_cast<uint64_t>(float_value));
    put(static_cast<uint64_t>(fn));
    if (buffer) field(buffer);
    put(args.size());
    for (const ExprNode* a : args) node(a);
  }
  template <class T>
  void field(const List<T>& items) {
    put(items.size());
    for (const T& item : items) field(item);
  }
  void field(const BlockIter& i) { all_fields(i); }
  void field(const Region& r) { all_fields(r); }
  template <class T>
  void all_fields(const T& n) {
    for_each_field(n, [&](const auto& f) { field(f); });
  }

  // Kernels nest them kDeepestNest deep at most (kernel/limits.h).
  void field(Stmt s) {
    put(s ? 1 : 0);
    if (!s) return;
    put(static_cast<uint64_t>(s->kind));
    match(
        s,
        [&](const Block& b) {
          const auto& [name, iters, reads, writes, predicate, init, body, instruction] = fields(b);
          put(instruction.text().size());
          text += instruction.text();
          field(iters);
          field(reads);
          field(writes);
          field(predicate);
          field(init);
          field(body);
        },
        [&](const Require& r) {
          // Requirements with one text share a number: which ones do is part of the code.
          const auto& [condition, message] = fields(r);
          put(number(messages_, message.str()).first);
          field(condition);
        },
        [&](const auto& n) { all_fields(n); });
  }

  std::unordered_map<const ExprNode*, uint64_t> expressions_;
  std::unordered_map<const Buffer*, uint64_t> buffers_;
  std::unordered_map<std::string, uint64_t> messages_;
};

}  // namespace

std::string describe(const Kernel& k) { return Writer(k).text; }

}  // namespace relay::kernel::llvm
