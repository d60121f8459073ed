// Limits of code ahead of time, on what only the interpreter's machine can take in any size.
//
// Each branch of an `if` and each arm of a `match` is printed as a block inside the one around it,
// by a function that calls itself. Tuples in the types of parameters and results are taken apart.
// C++ compilers allow so many brackets inside each other, and a type whose parts are shared can be
// exponentially larger than the program that has it. So depths and sizes are measured before any
// code is made. Linear in the program.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "base/diagnostics.h"
#include "ir/module.h"

namespace relay::aot {

// Measured with chains of `if` and of `match`: g++ 12 compiles some thousands of blocks inside each
// other. clang 14 and 19 end at 256 brackets unless -fbracket-depth says more, which artifacts,
// whose source is there to be read, do not rely on.
inline constexpr uint32_t kMostBrackets = 240;
// Depth of patterns, and of the decisions that a match makes: each part is a call inside a call, or
// a block inside a block.
inline constexpr uint32_t kMostPatternDepth = 64;
// Depth of tuples and data types that functions take and that the program gives.
inline constexpr uint32_t kMostTypeDepth = 200;
// Their parts, counting what is shared each time: as many as a memory plan takes.
inline constexpr uint64_t kMostTypeParts = 65536;

// Values that one function computes. Compilers take time and memory that grow with their square, as
// each value ends its life wherever the function may end. With 6000 of them, clang 19 at -O1 takes
// 8 s and 0.8 GB, and g++ 12 more than a minute.
inline constexpr uint32_t kMostValues = 20'000;

// Is the function within the limits, and are all that it reaches? Else reports "nesting-too-deep",
// "function-too-large" or "value-too-large", with the place.
bool within_limits(const Module& m, const Fn& function, Diagnostics& diagnostics);

// How many parts the type has, at most UINT64_MAX; its depth, 1 for a tensor. Parts of tuples and
// of data types' arguments count, those of functions and references do not.
struct TypeSize {
  uint64_t parts = 1;
  uint32_t depth = 1;
};
class TypeSizes {
 public:
  TypeSize of(Type t);

 private:
  std::unordered_map<Type, TypeSize> known_;
};

}  // namespace relay::aot
