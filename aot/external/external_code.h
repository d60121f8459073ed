// A module whose functions with the attribute `Compiler` are external kernels, with the text of the
// C functions behind them.
//
// A function that its generator refuses, or for whose name there is no generator, stays as it is:
// its body runs, and `kept` says why. No caller changes: a kernel has the name of its function.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/module.h"

namespace relay::aot {

// What generators made of the functions of a module. Nothing if it has none with `Compiler`.
struct ExternalCode {
  struct File {
    std::string name, text;  // "external_dnnl.cc"
  };
  std::vector<File> files = {};
  std::vector<std::string> link_flags = {};
  std::vector<std::string> needs = {};  // where the code is loaded, for people
  std::set<std::string> symbols = {};   // the C functions that the files define
  bool empty() const { return files.empty(); }
};

// Returns the module with the kernels, whose code it adds to `code`. Adds to `kept` a warning for
// each function that runs by its body. `entry` is such a function: a program begins with a body.
// The module must be type checked.
Module with_external_code(const Module& m, std::string_view entry, ExternalCode& code, Diagnostics& kept);

// For engines that run bodies: the composites of such functions are no calls any more, so that what
// they compute can be fused and planned. The module itself if it has none.
Module with_bodies(const Module& m);

}  // namespace relay::aot
