// A small function as Graphviz text: `dot -Tsvg` draws it.
//
// Deterministic: nodes are numbered in evaluation order. What a program says is escaped.
#pragma once

#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/result.h"
#include "ir/expr.h"

namespace relay::exporter {

// More expressions than this make a picture that nobody reads, and that Graphviz
// lays out for hours.
inline constexpr size_t kMostDrawn = 500;

// The function is type checked. Reports "limit-nodes" for one of more expressions.
Result<std::string> dot_text(const Fn& fn, std::string_view name, Diagnostics& diagnostics);

}  // namespace relay::exporter
