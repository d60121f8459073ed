// Programs that nest ten thousand deep, one for each place where an expression can stand in another
// one, and chains of a hundred thousand.
#pragma once

#include <string>
#include <vector>

#include "ir/builder.h"
#include "ir/module.h"
#include "runtime/value.h"

namespace relay::property {

inline constexpr int kDeep = 10'000, kLong = 100'000;

struct Nest {
  const char* name;
  Expr (*start)(Builder& b, Module& m);
  Expr (*wrap)(Builder& b, Module& m, Expr e);
  int times = kDeep;
  bool has_code = true;   // ahead of time, at -O0; else that ends with a limit (aot/limits.h)
  bool is_graph = false;  // static dataflow, whatever passes do
};

std::vector<Nest> nests();

// The program with its form so many times around its start.
Module program_of(const Nest& nest, int times);

// What the program gives, its layers taken off: all of them end in the number 1, True, a
// function or Zero.
std::string inside(Value v);

}  // namespace relay::property
