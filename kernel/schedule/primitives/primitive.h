// What all schedule primitives share.
//
// A primitive takes a kernel and gives a new one that computes the same, or the reason why it
// refuses; the old kernel is never changed. Loops are named by a block and a depth, counted from
// the outermost loop around it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/kernel.h"

namespace relay::kernel::schedule::primitives {

class [[nodiscard]] Outcome {
 public:
  Outcome(Kernel kernel) : kernel_(kernel) {}
  static Outcome refused(std::string reason) {
    Outcome o;
    o.reason_ = std::move(reason);
    return o;
  }

  explicit operator bool() const { return kernel_.has_value(); }
  const Kernel& operator*() const { return *kernel_; }
  const Kernel* operator->() const { return &*kernel_; }
  const std::string& reason() const { return reason_; }  // empty if it was done

 private:
  Outcome() = default;
  std::optional<Kernel> kernel_;
  std::string reason_;
};

// A loop: the `depth`-th around the block, from outside.
struct LoopName {
  std::string block;
  size_t depth = 0;
};

// What stands around a block, outermost first.
std::vector<Stmt> path_to(Stmt root, const Block* block);
// Loops outside of a block do not count for the blocks that stand in it: its
// iteration variables do.
std::vector<const For*> loops_around(Stmt root, const Block* block);
// The loop of that name; if there is none, null and the reason.
const For* find_loop(const Kernel& k, const LoopName& name, std::string& reason);
// The loops from there inwards, if they stand directly one in the other and around nothing but the
// block; else none, and the reason.
std::vector<const For*> perfect_nest(const Kernel& k, const LoopName& name, std::string& reason);
// The buffer of that name, of whatever scope; null if there is none.
const Buffer* find_buffer(const Kernel& k, std::string_view name);

// The blocks that stand in no other block of `s`, and `s` with f(b) in the place of each of them.
std::vector<const Block*> outermost_blocks(Stmt s);
Stmt rewrite_outermost_blocks(Arena& arena, Stmt s, const std::function<Stmt(const Block&)>& f);

// `root` with the statement `old` (by identity) replaced.
Stmt replace(Arena& arena, Stmt root, Stmt old, Stmt by);
// `root` without the nest that contains only the block: loops that are left empty go too.
Stmt remove_block(Arena& arena, Stmt root, const Block* block);
// The kernel with this body; temporaries that no block accesses any more are dropped, and are not
// prefetched either.
Kernel with_body(const Kernel& k, Stmt body);
// The kernel with another buffer in the place of `old`, at index f(i) where it was accessed
// at i; null: at i. The regions of blocks that access it are worked out anew. Local buffers
// are not prefetched.
Kernel with_buffer(const Kernel& k, const Buffer* old, const Buffer* by,
                   const std::function<std::vector<Expr>(const std::vector<Expr>&)>& f = nullptr);

// The one Store that the block's body consists of, or null.
const Store* single_store(const Block& b);
// Is the block's value at each point of its buffer written exactly once, by indices that are its
// iteration variables in order, over the whole buffer, unconditionally and without a reduction?
bool is_plain(const Block& b);
// The block itself, or the only one that stands in it, however deep.
const Block& innermost(const Block& b);
// Does the block (or the one in it) go on from the element it writes by an operation whose order of
// operands does not matter (sum, product, min, max, and, or)?
bool is_commutative_reduction(const Block& b);
// Blocks that read, or write, the buffer; what stands in another block does so as a part of that.
std::vector<const Block*> readers(Stmt root, const Buffer* buffer);
std::vector<const Block*> writers(Stmt root, const Buffer* buffer);
bool is_output(const Kernel& k, const Buffer* buffer);
bool is_temporary(const Kernel& k, const Buffer* buffer);

// a / b rounded up.
Expr divide_up(Expr a, int64_t b);

}  // namespace relay::kernel::schedule::primitives
