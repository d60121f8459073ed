#include "kernel/llvm/fingerprint.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/SHA256.h>

#include <bit>
#include <unordered_map>

#include "kernel/statements.h"

namespace relay::kernel::jit {
namespace {

// A field that is not written here would let two different kernels share their code. So each struct
// is taken apart by name where the language can do that, and measured where it cannot: a new field
// does not compile until it is decided on.
constexpr size_t kNode = sizeof(void*);  // StmtNode, padded
static_assert(sizeof(For) == kNode + 4 * sizeof(void*));
static_assert(sizeof(Block) == kNode + 5 * sizeof(void*) + 3 * sizeof(List<BlockIter>));
static_assert(sizeof(BlockIter) == 4 * sizeof(void*));
static_assert(sizeof(Region) == sizeof(void*) + 2 * sizeof(List<Expr>));
static_assert(sizeof(Store) == kNode + 2 * sizeof(void*) + sizeof(List<Expr>));
static_assert(sizeof(Seq) == kNode + sizeof(List<Stmt>));
static_assert(sizeof(If) == kNode + 3 * sizeof(void*));
static_assert(sizeof(Allocate) == kNode + 2 * sizeof(void*));
static_assert(sizeof(Require) == kNode + 2 * sizeof(void*));
static_assert(sizeof(Prefetch) == kNode + sizeof(void*) + sizeof(List<Expr>));
// An external kernel has no code, and what a kernel's caller reads from inputs (read_extents)
// is no part of it.
static_assert(sizeof(Kernel) ==
              5 * sizeof(void*) + 3 * sizeof(List<const Buffer*>) + sizeof(List<ReadExtent>));

class Writer {
 public:
  explicit Writer(const Kernel& k) {
    // Parameters are passed by position: shape variables in the order of their names.
    for (Expr v : shape_parameters(k)) number(expressions_, v.get());
    put(expressions_.size());
    for (const auto* list : {&k.inputs, &k.outputs, &k.temporaries}) {
      put(list->size());
      for (const Buffer* b : *list) buffer(b);
    }
    statement(k.body);
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
  void buffer(const Buffer* b) {
    const auto [n, fresh] = number(buffers_, b);
    put(n);
    if (!fresh) return;
    const auto& [id, name, type, shape, scope, strides] = *b;
    dtype(type);
    put(static_cast<uint64_t>(scope));
    expressions(shape);
    expressions(strides);
  }
  // A node is written where it is met first, and by its number from then on.
  void expression(const ExprNode* e) {
    put(e ? 1 : 0);
    if (!e) return;
    const auto [n, fresh] = number(expressions_, e);
    put(n);
    if (!fresh) return;
    const auto& [kind, type, fn, shape_variable, id, pool, int_value, float_value, name, loaded, args] = *e;
    put(static_cast<uint64_t>(kind));
    dtype(type);
    put(static_cast<uint64_t>(int_value));
    put(std::bit_cast<uint64_t>(float_value));
    put(static_cast<uint64_t>(fn));
    if (loaded) buffer(loaded);
    put(args.size());
    for (const ExprNode* a : args) expression(a);
  }
  template <class Items>
  void expressions(const Items& items) {
    put(items.size());
    for (Expr e : items) expression(e.get());
  }
  void regions(const List<Region>& list) {
    put(list.size());
    for (const Region& r : list) {
      buffer(r.buffer);
      expressions(r.min);
      expressions(r.extent);
    }
  }

  void statement(Stmt s) {
    put(s ? 1 : 0);
    if (!s) return;
    put(static_cast<uint64_t>(s->kind));
    switch (s->kind) {
      case StmtKind::kFor: {
        const auto* n = s->as<For>();
        put(static_cast<uint64_t>(n->how));
        expression(n->var.get());
        expression(n->extent.get());
        return statement(n->body);
      }
      case StmtKind::kBlock: {
        const auto* n = s->as<Block>();
        put(n->instruction.text().size());
        text += n->instruction.text();
        put(n->iters.size());
        for (const BlockIter& i : n->iters) {
          put(static_cast<uint64_t>(i.kind));
          expression(i.var.get());
          expression(i.extent.get());
          expression(i.binding.get());
        }
        regions(n->reads);
        regions(n->writes);
        expression(n->predicate.get());
        statement(n->init);
        return statement(n->body);
      }
      case StmtKind::kStore: {
        const auto* n = s->as<Store>();
        buffer(n->buffer);
        expressions(n->indices);
        return expression(n->value.get());
      }
      case StmtKind::kSeq: {
        const auto* n = s->as<Seq>();
        put(n->body.size());
        for (Stmt c : n->body) statement(c);
        return;
      }
      case StmtKind::kIf: {
        const auto* n = s->as<If>();
        expression(n->condition.get());
        statement(n->then_branch);
        return statement(n->else_branch);
      }
      case StmtKind::kAllocate: {
        const auto* n = s->as<Allocate>();
        buffer(n->buffer);
        return statement(n->body);
      }
      case StmtKind::kRequire: {
        // Requirements with one text share a number: which ones do is part of the code.
        const auto* n = s->as<Require>();
        put(number(messages_, n->message.str()).first);
        return expression(n->condition.get());
      }
      case StmtKind::kPrefetch: {
        const auto* n = s->as<Prefetch>();
        buffer(n->buffer);
        return expressions(n->indices);
      }
      case StmtKind::kNop: return;
    }
  }

  std::unordered_map<const ExprNode*, uint64_t> expressions_;
  std::unordered_map<const Buffer*, uint64_t> buffers_;
  std::unordered_map<std::string, uint64_t> messages_;
};

}  // namespace

std::string describe(const Kernel& k) { return Writer(k).text; }

std::string fingerprint(const std::string& text) {
  ::llvm::SHA256 hash;
  hash.update(text);
  return ::llvm::toHex(hash.final(), /*LowerCase=*/true);
}

}  // namespace relay::kernel::jit
