// Why runs fail, where programs may ask for the name of it: base/failure_names.h.
//
// Those that throw a Trap or an Exhausted and the table of names use the same constants. Arrays,
// because some need a text of C, others a std::string.
#pragma once

namespace relay {

// Whole reasons of traps. What stands before is the operator: "`take`: index out of range". In a
// kernel of the user the first three go on with the place, as in " in `x[i] // y`".
inline constexpr char kDivisionByZero[] = "integer division by zero";
inline constexpr char kQuotientTooLarge[] = "integer quotient does not fit";
inline constexpr char kShiftTooWide[] = "shift by at least the width";
inline constexpr char kIndexOutOfRange[] = "index out of range";
inline constexpr char kShiftOutOfRange[] = "a shift is not in [0, 31]";
inline constexpr char kBoxOutOfRange[] = "box index out of range";
inline constexpr char kRegionOutOfRange[] = "the batch index of a region is out of range";

// How messages about a kernel of the user begin: "kernel `@f`: ". A user's own texts have no such
// beginning. Next is the reason and its place, or an index and that it is out of range.
inline constexpr char kOfKernel[] = "kernel `@";
inline constexpr char kEndOfPlace[] = "`: ";  // of an operator's name, too
inline constexpr char kInPlace[] = " in ";
inline constexpr char kOutOfRangeOfDim[] = " is out of range of dim ";
inline constexpr char kAnIndex[] = "index";  // one that is too long to show; others stand in backquotes

// How messages of limits begin.
inline constexpr char kFuelReached[] = "the program took more than ";
inline constexpr char kDepthReached[] = "evaluation is nested more than ";
inline constexpr char kTimeReached[] = "the program ran for more than ";
inline constexpr char kMemoryReached[] = "the program needs more than ";
inline constexpr char kNotEnoughMemory[] = "not enough memory for ";
inline constexpr char kRangeTooLong[] = "a range has more elements than any memory holds";
inline constexpr char kTooManyRows[] = "a sparse tensor has more rows than any memory holds";
inline constexpr char kShapeTooLarge[] = "the shape has more elements than any memory holds";
// Of compiled libraries, which include no header: aot/support.
inline constexpr char kThereIsNotEnoughMemory[] = "there is not enough memory";
inline constexpr char kThereIsNoMemory[] = "there is no memory ";

}  // namespace relay
