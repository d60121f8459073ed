// Dialect: how a language spells what kernels say. C++ and CUDA differ by this table and
// by nothing else.
#pragma once

#include <array>
#include <string_view>

#include "kernel/expr.h"

namespace relay::kernel::print {

inline constexpr size_t kMathFunctions = static_cast<size_t>(Math::kIsFinite) + 1;
inline constexpr int64_t kCopyBytes = 16;  // that a thread of a grid loads or stores at once
inline constexpr size_t kGridIndices = 6;  // block x, y, z, thread x, y, z: in the order of ForKind

// How one function of kernel/expr.h is called on float32 and on float64.
struct MathNames {
  std::string_view float32, float64;
};

struct Dialect {
  std::string_view name;  // "C++"
  std::array<const std::string_view*, 7>
      prelude;                  // its parts, see prelude.h; null from the first that is not used
  std::string_view function;    // before a kernel's return type
  std::string_view result;      // the kernel's return type
  std::string_view restricted;  // after a pointer that nothing else points into
  std::string_view noinline;    // before a function whose pointers stay restricted only if it is not inlined
  std::string_view shared;      // declares an array that a block of threads shares: (type, name, elements)
  std::string_view copy;     // copies kCopyBytes that are aligned: (to, from); empty: there is no such thing
  std::string_view shuffle;  // the value that the thread so far behind in its warp gives: (value, distance)
  std::string_view unroll;   // before a loop that should be written out
  std::string_view
      rolled;  // before a loop that should not be: a compiler's own unrolling makes register tiles spill
  std::string_view independent;  // before a loop whose iterations are independent
  std::string_view prefetch;     // a function of a pointer and an offset; empty: there is none
  std::string_view barrier;      // a statement: all threads of the block wait for each other
  std::array<std::string_view, kGridIndices>
      grid_index;                  // the current block's or thread's; empty: there is no grid
  bool parallel;                   // kParallel loops are handed to a relay_parallel
  bool vectors;                    // the compilers' vector types exist
  bool instructions;               // the prelude has those of kernel/instructions.h that the machine has
  std::string_view infinity, nan;  // as floats
  std::array<MathNames, kMathFunctions> math;

  bool has_grid() const { return !grid_index[0].empty(); }
};

extern const Dialect kCppDialect;
extern const Dialect kCudaDialect;

// The type of an element in memory, and of a value in an expression: small floats
// are held as float.
std::string_view memory_type(DType d);
std::string_view value_type(DType d);

}  // namespace relay::kernel::print
