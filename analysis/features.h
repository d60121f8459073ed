// Features: which parts of the language a program uses, and so what compiles it and how.
//
// Passes have such conditions too: one that moves what is shared asks that nothing is.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "ir/module.h"

namespace relay::analysis {

enum class Feature : uint8_t {
  kIf,
  kMatch,             // and so data types
  kReferences,        // made, read or written
  kFunctionValues,    // function literals, and functions that are passed on
  kRecursion,         // functions that can come back to themselves
  kGenericFunctions,  // with type parameters
  kKernels,           // of the program's own, or C functions
  kOpenExtents,       // values whose type has a shape variable
  kUnknownExtents,    // values whose type has a `?`: only the data tell
};
inline constexpr size_t kFeatures = 9;

std::string_view name_of(Feature f);

// Of the functions that `entry` reaches, itself included: how many expressions, or how many
// functions, have each.
std::array<size_t, kFeatures> features_of(const Module& m, std::string_view entry);

}  // namespace relay::analysis
