// The calls of exec tests: `@main([[0, 0], [1, 3]], (1, Nil)) ~ [[0.5, 0.5], [0.119, 0.881]]`.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "runtime/value.h"
#include "tools/test_files/malformed.h"

namespace relay::tools {

// A value as it is written, before a type says what it is.
struct Literal {
  enum class Kind { kNumber, kList, kTuple, kName, kRandom };
  Kind kind = Kind::kNumber;
  std::string text;            // of a number ("1.5", "nan", "-inf", "True") or the name of a constructor
  std::vector<Literal> items;  // of a list, a tuple, or the arguments of a constructor
  uint64_t seed = 0;  // kRandom: random(seed=1, n=5) fills a tensor of the declared shape, n times anew
  uint64_t repeats = 1;
};

struct CallLine {
  std::string function;  // without the @
  std::vector<Literal> args;
  std::string assertion;  // "==", "~", "agrees", "traps", "rejected", "exhausts"
  Literal expected;       // of == and ~
  std::string message;    // of traps, rejected and exhausts: a part of the text
  double tolerance = 0;   // "~ [...] within 1e-3": relative to the largest magnitude; 0 is the default
};

// Throws Malformed with the line and the place.
CallLine parse_call(std::string_view line);

// A value of the type. Throws Malformed if the literal does not fit the type.
Value value_of(const Literal& literal, Type type, const Module& m);

}  // namespace relay::tools
