// Prints kernels as functions of a C-like language.
//
// On the CPU, kernel K becomes
//
//   int32_t K(const relay_parallel* parallel, const float* x, ..., float* y, ..., float* temporary, ...,
//             int64_t n, ...)
//
// with inputs, outputs, temporaries and then shape variables, in the kernel's order
// (`shape_parameters`). It returns 0, or the 1-based index of the message of the Require that
// failed: the first one in the order of a serial run, whatever the number of threads. Arrays are
// dense, restricted (but for PrintOptions::shared) and aligned for their element; bool is a byte
// that is 0 or not, small floats are their bits. Every text is self-contained after
// `prelude(dialect)` (kernel/print/prelude.h), the same for the same input, and free of warnings at
// -Wall -Wextra as C++17.
//
// An external kernel becomes a function that calls the C function, which the text declares, and
// gives what that gives: its result is no number of a message. There is none with a grid.
//
// With a grid (CUDA) each outermost statement becomes a function of its own, to be launched in
// order: no barrier spans blocks. It takes the same arrays and shape variables, and
// `int32_t* failure` in place of the result: a word that is 0, or kNoFailure - i for the smallest
// number i that a thread failed with. Arrays are then aligned for 16 bytes.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/codegen/working_copy.h"
#include "kernel/kernel.h"
#include "kernel/print/dialect.h"
#include "kernel/print/prelude.h"

namespace relay::kernel::print {

inline constexpr int32_t kNoFailure = 0x7fffffff;

struct PrintOptions {
  // The function's name, which must be an identifier that no other kernel of the text has.
  // "": c_identifier() of the kernel's name, which is the name itself if that is an identifier.
  std::string function = {};
  bool is_static = false;
  // The most bytes of one vector; a vectorised loop that is longer is cut into pieces. 0: no vector
  // types are used. Give it the width of the machine's registers: wider vectors work, but GCC makes
  // slow code and notes (-Wpsabi) of them.
  int64_t vector_bytes = 64;
  // Parameters that may be the same memory as each other, by their numbers: inputs, then outputs.
  // They are not restricted.
  std::set<size_t> shared = {};
};

// A launch of a function on a grid of blocks of threads; extents are expressions over the
// shape variables.
struct Launch {
  std::string function;
  std::vector<Expr> extents;  // of block x, y, z and thread x, y, z
};

struct Printed {
  std::string text;      // the function, and what it alone needs before it
  std::string function;  // its name; with a grid, the first part of the names of its launches
  std::vector<std::string> messages = {};  // a result of i > 0 means messages[i - 1]
  std::vector<Launch> launches = {};       // with a grid only
  // What the launches' extents live in. Their variables are of no other pool: they have the names
  // of shape_parameters(k).
  std::shared_ptr<const codegen::WorkingCopy> code = {};
};

// codegen::cannot_compile(k) is empty.
Printed print(const Kernel& k, const Dialect& dialect, const PrintOptions& options = {});

// The head of the function as `print` writes it, without a semicolon. Not for dialects with a grid.
std::string declaration(const Kernel& k, const Dialect& dialect, const PrintOptions& options = {});

}  // namespace relay::kernel::print
