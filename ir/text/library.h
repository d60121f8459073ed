// The standard library: texts of ours that programs import by name (docs/library.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/source.h"

namespace relay::text {

// The text that `import "name"` stands for; nothing if there is none.
std::optional<std::string> library_text(std::string_view name);

// What can be imported, for messages: "`nat`, `prelude`, ...".
std::string library_names();

// The name under which a library's text is among the sources, so that its definitions are known
// for what they are.
std::string library_source(std::string_view name);

// The library that the span is in; empty for what a program says itself.
std::string_view library_of(const SourceMap& sources, Span span);

}  // namespace relay::text
