// Pass: a transformation of modules, as a value.
//
// The directory is the registry: every `const Pass k...` of passes/*.cc is in kAllPasses. A pass
// that changes nothing returns the module it was given (Module::same).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/module.h"
#include "kernel/schedule/settings.h"
#include "passes/all_passes.inc"
#include "target/target.h"

namespace relay::passes {

// A number that a pipeline may set: "fuse{max-ops=64}". Others than `least` to `most` are refused
// when a pipeline is read.
struct Parameter {
  std::string_view name;
  int64_t default_value;
  std::string_view doc;
  int64_t least = 0, most = int64_t{1} << 40;
};

// `lower` calls it for each kernel and each call that the kernel replaces: of a primitive function,
// or of a kernel of the program. Equal functions share a kernel, which then comes several times.
using OnKernel = std::function<void(Symbol kernel, const Call& replaced)>;

// A pass of rules (passes/rules) calls it for each rule that it has applied so often.
using OnRule = std::function<void(const std::string& rule, size_t times)>;
// A pass says why a program that is in its way stays as it is; whoever asked with `-v` reads it.
using OnReason = std::function<void(std::string_view reason)>;

// What a pass may know besides the module.
struct PassContext {
  Diagnostics& diagnostics;               // an error here stops the pipeline
  std::map<std::string, int64_t> values;  // of the pass's parameters, all of them
  const target::Target& target;           // what the code is for
  kernel::schedule::Settings schedule;    // of the kernels that `lower` makes
  OnKernel on_kernel = {};                // null: nobody asks
  OnRule on_rule = {};                    // the same
  OnReason on_reason = {};                // null: nobody asks
  void stays(std::string_view reason) const {
    if (on_reason) on_reason(reason);
  }
  int64_t value(std::string_view name) const { return values.at(std::string(name)); }
};

struct Pass {
  std::string_view name, doc;
  std::vector<Parameter> parameters = {};
  // Results afterwards may be farther away than an engine's (docs/semantics.md): no answer after
  // the pass is compared with one before it.
  bool approximates = false;
  // It looks for expressions where they are used, and at no value behind the variable of a let:
  // `inline-lets` goes before it.
  bool skips_lets = false;
  std::string_view former_name = {};  // that users may still write; it is refused
  Module (*run)(const Module& m, const PassContext& context) = nullptr;
};

std::span<const Pass* const> all_passes();  // sorted by name
const Pass* find_pass(std::string_view name);
// Says that no pass has this name. Gives the new name of a renamed pass, or lists `others` and the
// passes.
std::string no_such_pass(std::string_view name, std::vector<std::string> others = {});

}  // namespace relay::passes
