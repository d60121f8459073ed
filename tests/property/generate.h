// The generator: well-typed programs from bytes.
//
// Type-directed: an expression of a wanted type is made from the forms that can have that type, so
// nothing is thrown away. Every program ends: recursion counts a fuel argument down, cells hold no
// functions, and no data type contains functions over itself. Floats are small integers and the
// operators keep them so, which makes results exact.
//
// What @main gives is made of tensors, tuples and data values, so that results of two runs
// can be compared.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "ir/module.h"
#include "runtime/value.h"
#include "tests/property/bytes.h"

namespace relay::property {

struct GenerateOptions {
  // Only tensors, operators, tuples and lets: what engines for dataflow take.
  bool dataflow = false;
  // Such a program for some bytes, and the whole language for others.
  bool sometimes_dataflow = false;
  // A network for some bytes (networks.h).
  bool sometimes_network = false;
  // Some types have extents that are not known before the program runs (`?`).
  bool open_extents = true;
  uint32_t most_expressions = 120;
  // What @main gives is a tensor of floats, or a tuple of tensors with one: it has a gradient. A
  // parameter has the type of that tensor.
  bool float_result = false;
};

struct Program {
  Module module;            // not type checked
  std::vector<Value> args;  // of @main
  // Small changes of floats on the way are small changes of the result: there are no comparisons,
  // no conversions to integers and the like. So floats may be compared within a bound.
  bool smooth = false;
};

Program generate(std::span<const uint8_t> bytes, const GenerateOptions& options = {});

}  // namespace relay::property
