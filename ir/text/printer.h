// The printer of `.relay` texts.
//
// Total: every module has a text. `parse(print(m))` is alpha-equal to m, and printing it again
// gives the same text. A node with several uses is bound by `%n = ...;` in the lowest scope that
// contains all of them; so is an operand that is too large to stand inside another.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/module.h"
#include "ir/text/operators.h"
#include "ir/traverse.h"

namespace relay {

struct PrintOptions {
  // Gives operators their names; without it they cannot be read back.
  const Operators* operators = nullptr;
  // Where tensors of more than `most_elements` elements go; the text then says `const("name")`. If
  // null, all tensors stand in the text, unless `elide` is set: then large ones are `const("name")`
  // and their values are lost.
  std::map<std::string, Tensor>* constants = nullptr;
  int64_t most_elements = 16;
  bool elide = false;
  // An operand stands inside another expression if it consists of at most this many parts (0:
  // only leaves do).
  uint32_t most_inline = 4;
  // Adds the types that the check found, as comments.
  bool types = false;
  // Receives where each node stands in the text (of file 1: set the number after adding the text
  // to a SourceMap).
  NodeMap<Span>* ranges = nullptr;
  // Definitions that come from a library are not printed; the text imports it. For modules that are
  // as they were read: a definition that a pass has changed would be printed as it was.
  bool imports = false;
  // The first line `#[version = "0.0.5"]`.
  bool header = true;
};

std::string print(const Module& m, const PrintOptions& options = {});

// An expression by itself; its free variables are declared before it. There is no header.
std::string print(Expr e, const PrintOptions& options = {});

// A type or an attribute's value as in a text, quoting names where needed.
std::string print(Type t);
std::string print(const AttrValue& v);

}  // namespace relay
