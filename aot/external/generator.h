// Code generators of others: for a function with the attribute `Compiler`, C++ text that computes
// what the function does, by a library or a machine that Relay knows nothing of.
//
// A generator is a value with a row in generators.cc. It is given one function at a time, and gives
// the text of one C function, which is called as an external kernel is (kernel/kernel.h):
//
//   extern "C" int32_t symbol(const T* input, ..., T* output)
//
// in the order of the parameters. All tensors are dense and row-major. It returns 0, or the code of
// a failure, which is a trap of the run. It writes its output and nothing else, and what it writes
// follows from its inputs. Several threads may call it at once.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/context.h"
#include "ir/expr.h"

namespace relay::aot {

// What a generator makes of a function.
struct Generated {
  std::string text = {};     // the C function; C++17 without exceptions and run-time types
  std::string refused = {};  // else why not, as the end of a sentence: "adds two products"
};

struct CodeGenerator {
  std::string_view name;  // in the attribute `Compiler`
  std::string_view doc;
  // Stands once before the functions: headers, and what the functions share. It is the generator's
  // run time, and says by `#error` what to install where a header is missing.
  std::string_view prelude;
  std::vector<std::string_view> link_flags;  // "-ldnnl"
  // What an artifact needs where it is loaded, for people: "libdnnl.so.2, from Debian's libdnnl2".
  std::string_view needs;
  // The function is typed. Its parameters and its result are tensors of constant shapes.
  Generated (*generate)(Context& context, const Fn& fn, std::string_view symbol);
};

std::span<const CodeGenerator* const> code_generators();
const CodeGenerator* find_code_generator(std::string_view name);  // null if there is none

}  // namespace relay::aot
