// Kernel: a loop-level program over buffers.
//
// Statements are immutable plain structs in an arena, a tree. A computation stands in a Block:
// iteration variables marked spatial or reduction, the regions it reads and writes, an optional
// initial value. What a schedule may do to a block follows from that signature alone, without
// looking at how it is computed.
//
// Walkers, equality, texts and copies are derived from each struct's kFields (kernel/fields.h); a
// field that is not listed, or a statement that is left out, does not compile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/fields.h"
#include "kernel/buffer.h"
#include "kernel/expr.h"

namespace relay::kernel {

enum class StmtKind : uint8_t { kFor, kBlock, kStore, kSeq, kIf, kAllocate, kRequire, kNop, kPrefetch };

struct StmtNode {
  StmtKind kind;
  template <class T>
  const T* as() const {
    return kind == T::kKind ? static_cast<const T*>(this) : nullptr;
  }
};
using Stmt = const StmtNode*;

enum class ForKind : uint8_t {
  kSerial,
  kParallel,    // iterations are independent and may run in any order on any thread
  kVectorized,  // iterations are independent; the extent is a constant
  kUnrolled,
  kBlockX,
  kBlockY,
  kBlockZ,
  kThreadX,
  kThreadY,
  kThreadZ,  // bound to an index of a GPU's grid
};

// A variable that a statement binds. It is a place in the program and no operand.
struct Binder : Expr {
  Binder() = default;
  Binder(Expr variable) : Expr(variable) {}
};

// for (var = 0; var < extent; ++var) body
struct For : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kFor;
  Binder var;
  Expr extent;
  ForKind how;
  Stmt body;
  static constexpr auto kFields = FieldList<&For::var, &For::extent, &For::how, &For::body>{};
};

enum class IterKind : uint8_t { kSpatial, kReduction };

// One iteration variable of a block. `var` is used inside the block only; `binding` is its value in
// terms of the loops around the block. It ranges over [0, extent).
struct BlockIter {
  Binder var;
  Expr extent;
  IterKind kind;
  Expr binding;
  static constexpr auto kFields =
      FieldList<&BlockIter::var, &BlockIter::extent, &BlockIter::kind, &BlockIter::binding>{};
};

// buffer[min_0 : min_0 + extent_0, ...] in terms of the block's own iteration variables.
struct Region {
  const Buffer* buffer;
  List<Expr> min, extent;
  static constexpr auto kFields = FieldList<&Region::buffer, &Region::min, &Region::extent>{};
};

struct Block : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kBlock;
  Symbol name;
  List<BlockIter> iters;
  List<Region> reads, writes;
  Expr predicate;  // over the loops around; the block runs only where it holds; null is "always"
  Stmt init;       // runs before the first iteration of the reduction; null if there is none
  Stmt body;
  // The machine instruction that does the same as the body (instructions.h); empty if there is
  // none. What does not know it, or has no such instruction, runs the body.
  Symbol instruction = {};
  static constexpr auto kFields =
      FieldList<&Block::name, &Block::iters, &Block::reads, &Block::writes, &Block::predicate, &Block::init,
                &Block::body, &Block::instruction>{};
};

// What addresses memory should use `flat_offset` (kernel/simplify.h): accesses that look scattered
// because their loops were fused, like x[q // 7, q % 7], are contiguous there.
struct Store : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kStore;
  const Buffer* buffer;
  List<Expr> indices;
  Expr value;
  static constexpr auto kFields = FieldList<&Store::buffer, &Store::indices, &Store::value>{};
};

struct Seq : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kSeq;
  List<Stmt> body;
  static constexpr auto kFields = FieldList<&Seq::body>{};
};

struct If : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kIf;
  Expr condition;
  Stmt then_branch;
  Stmt else_branch;  // may be null
  static constexpr auto kFields = FieldList<&If::condition, &If::then_branch, &If::else_branch>{};
};

// A buffer of scope kLocal or kShared that exists during `body`.
struct Allocate : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kAllocate;
  const Buffer* buffer;
  Stmt body;
  static constexpr auto kFields = FieldList<&Allocate::buffer, &Allocate::body>{};
};

// The kernel fails with `message` (a trap of the program) where the condition does not hold.
struct Require : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kRequire;
  static constexpr std::string_view kWord = "require";
  Expr condition;
  Symbol message;
  static constexpr auto kFields = FieldList<&Require::condition, &Require::message>{};
};

// The element is going to be read: a hint to fetch its cache line, which computes nothing and may
// be left out. The indices may lie outside of the buffer, and count as no access of a block.
struct Prefetch : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kPrefetch;
  const Buffer* buffer;  // not a local one, which has no memory of its own
  List<Expr> indices;
  static constexpr auto kFields = FieldList<&Prefetch::buffer, &Prefetch::indices>{};
};

struct Nop : StmtNode {
  static constexpr StmtKind kKind = StmtKind::kNop;
  static constexpr std::string_view kWord = "nothing";
  static constexpr auto kFields = FieldList<>{};
};

using AllStmts = TypeList<For, Block, Store, Seq, If, Allocate, Require, Nop, Prefetch>;

// A shape variable whose value is an element of an input: how large a result is may depend on data.
// The input is a vector of int64 of constant length, and no input has the variable in its shape.
struct ReadExtent {
  Expr variable;
  uint32_t input;
  int64_t element;
};

// A C function in the place of a body (docs/semantics.md):
//
//   int32_t symbol(const T* input, ..., T* output, ..., int64_t extent, ...)
//
// It gives 0, or the code of a failure, which is a trap. By contract it is pure: it writes its
// outputs and nothing else, and what it writes follows from what it is given.
struct External {
  Symbol symbol;
  List<Expr> extents;  // over the shape variables
  // Where this process has it. Empty and null unless a library was named (driver/libraries.h); no
  // part of what the program means.
  Symbol library = {};  // a path
  void* function = nullptr;
};

// Parameters in order: inputs, outputs, temporaries. Temporaries are allocated by the caller, so
// that they are part of its memory plan; their contents mean nothing before and after. Outputs
// overlap with nothing, but for an input that may_share allows (in_place.h). The free shape
// variables of the buffers' shapes are further parameters, see `shape_parameters`: who calls the
// kernel works them out from the shapes of the inputs, and from
// their elements where `read_extents` says so.
struct Kernel {
  Symbol name;
  List<const Buffer*> inputs, outputs, temporaries;
  Stmt body;
  Symbol origin;  // what it computes, for people: "nn.conv2d + add + nn.relu"
  // The kernel of the same module that does many calls of this one at once (batched.h); empty
  // if there is none.
  Symbol batched = {};
  List<ReadExtent> read_extents = {};
  const External* external = nullptr;  // if there is one, the body does nothing
};

// The shape variables that the kernel's buffers and loops mention, each once, by name.
std::vector<Expr> shape_parameters(const Kernel& k);

// Text for people and goldens (kernel/show.cc). What is nested beyond the limits (kernel/limits.h)
// is `...` there.
std::string show(const Kernel& k);
std::string show(Stmt s, int indent = 0);

}  // namespace relay::kernel
