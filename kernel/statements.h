// Statements: making them, and questions about those of a kernel. Walking is in kernel/walk.h.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "kernel/kernel.h"
#include "kernel/walk.h"

namespace relay::kernel {

class Bounds;

// Makers. Operands of a sequence that are sequences are flattened, those that do nothing left out.
Stmt make_for(Arena& arena, Expr var, Expr extent, ForKind how, Stmt body);
Stmt make_store(Arena& arena, const Buffer* buffer, const std::vector<Expr>& indices, Expr value);
Stmt make_sequence(Arena& arena, const std::vector<Stmt>& body);
Stmt make_if(Arena& arena, Expr condition, Stmt then_branch, Stmt else_branch = nullptr);
Stmt make_allocate(Arena& arena, const Buffer* buffer, Stmt body);
Stmt make_require(Arena& arena, Expr condition, Symbol message);
Stmt make_prefetch(Arena& arena, const Buffer* buffer, const std::vector<Expr>& indices);
Stmt make_nop(Arena& arena);
// The regions are derived from `init` and `body`.
Stmt make_block(ExprPool& pool, std::string_view name, const std::vector<BlockIter>& iters, Expr predicate,
                Stmt init, Stmt body, Symbol instruction = {});

// The values [min, min + extent) that an index takes while the loop variables run over [0, their
// extents), if it rises with each of them and loads nothing.
struct Range {
  Expr min, extent;
};
std::optional<Range> range_over(Expr index, const std::vector<std::pair<Expr, Expr>>& loops);

// What `init` and `body` read and write when the iteration variables are in their ranges: one
// region for each distinct access, without those to buffers that exist only inside. An index that
// is loaded itself, or takes no range of values in the loops inside, stands for its whole dim; one
// that only a condition keeps inside the buffer is clamped to it.
struct Regions {
  std::vector<Region> reads, writes;
};
Regions derive_regions(ExprPool& pool, const std::vector<BlockIter>& iters, Stmt init, Stmt body);

// May the selection keep an element from being loaded that does not exist? Not if its condition
// loads it anyway.
bool protects_loads(const ExprNode* selection, const Bounds& bounds);
// Loads and stores of an element become those of the one that `f` gives, after indices were
// rewritten; nothing keeps them.
struct Element {
  const Buffer* buffer;
  std::vector<Expr> indices;
};
using MovedElement = std::function<std::optional<Element>(const Buffer*, const std::vector<Expr>& indices)>;
Stmt move_elements(ExprPool& pool, Stmt s, const MovedElement& f);

// The blocks of a statement, in the order in which they run first.
std::vector<const Block*> blocks(Stmt s);
const Block* find_block(Stmt s, std::string_view name);  // null if there is none

// All buffers: parameters and allocated ones, by order of appearance.
std::vector<const Buffer*> all_buffers(const Kernel& k);
// The first number above those of its buffers.
uint32_t next_buffer_id(const Kernel& k);
// A buffer with an id that no other buffer of the kernel has.
const Buffer* new_buffer(ExprPool& pool, const Kernel& k, std::string_view name, DType dtype,
                         const std::vector<Expr>& shape, Scope scope);
// `wanted`, or with a number appended if a block of `s` has that name.
std::string unused_block_name(Stmt s, std::string_view wanted);
// The pool that the kernel's expressions live in; null if it has none.
ExprPool* pool_of(const Kernel& k);

}  // namespace relay::kernel
