// The parser of `.relay` texts (docs/grammar.ebnf).
//
// It accepts what TVM 0.18's Relay parser accepts and a superset of it: symbolic dims, tensor
// literals, constants by name, kernels, imports of the standard library. Any bytes give a module or
// diagnostics, in time and memory linear in their number, but for the race checks of kernels, which
// are limited; nothing recurses on how deeply a program is nested.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/module.h"
#include "ir/text/operators.h"

namespace relay {

struct ParseOptions {
  // Definitions are added to a copy of this module, and the text is kept in its context, also when
  // parsing fails: `options.into.context().sources()` is what diagnostics are rendered with.
  Module into = {};
  // How deeply brackets of all kinds may be nested in programs, types and patterns.
  size_t max_nesting = 20000;
  // The length of the text. Spans have room for no more than the default.
  size_t max_bytes = size_t{1} << 31;
  // Kernels are checked (kernel/validate.h), because their texts may come from anywhere.
  bool validate_kernels = true;
  // How many operations the race checks of small kernels (kernel/execute.h) may take in
  // all: some seconds.
  int64_t max_race_checked = int64_t{1} << 28;
  // The tensor that `const("name")` stands for; nothing if there is none of that name.
  std::function<std::optional<Tensor>(std::string_view name)> constants = {};
};

// A module: definitions, in any order; or one expression, which becomes the body of `@main`, and
// its free variables the parameters.
Result<Module> parse(std::string name, std::string text, Diagnostics& diagnostics, const Operators& operators,
                     const ParseOptions& options = {});

// One expression, over the types and globals of `options.into`, whose context owns it. Its free
// variables are declared with `free_var`.
Result<Expr> parse_expr(std::string name, std::string text, Diagnostics& diagnostics,
                        const Operators& operators, const ParseOptions& options);

// One type, likewise.
Result<Type> parse_type(std::string name, std::string text, Diagnostics& diagnostics,
                        const ParseOptions& options);

// For the readers of other texts that have parts in this language (pattern/text.h). The text is
// number `file` of the sources of `options.into`; a part is read from `offset` on, which is
// then where it ends.
struct TextPlace {
  uint32_t file;
  size_t offset;
};
// As in the body of a function: bindings, separated by `;`, and an expression.
Result<Expr> read_expr(TextPlace& place, Diagnostics& diagnostics, const Operators& operators,
                       const ParseOptions& options);
Result<Expr> read_number(TextPlace& place, Diagnostics& diagnostics, const ParseOptions& options);
Result<Type> read_type(TextPlace& place, Diagnostics& diagnostics, const ParseOptions& options);
Result<Dim> read_dim(TextPlace& place, Diagnostics& diagnostics, const ParseOptions& options);
Result<AttrValue> read_attr_value(TextPlace& place, Diagnostics& diagnostics, const ParseOptions& options);

}  // namespace relay
