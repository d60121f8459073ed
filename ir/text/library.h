// The standard library: texts of ours that programs import by name (docs/library.md).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/source.h"

namespace relay::text {

// The text that `import "name"` stands for; nothing if there is none.
std::optional<std::string> library_text(std::string_view name);

// What can be imported, for messages: "`nat`, `prelude`, ...".
std::string library_names();
// The same one by one, but for those of a dtype.
std::vector<std::string> libraries();

// The library whose import would define the name: `@foldl` of a function, `List` of a type, `Cons`
// of a constructor. Empty if there is none.
std::string_view library_with(std::string_view name);
// Adds to a message that there is nothing of that name which import defines it; false if none does.
bool explain_import(Diagnostic& d, std::string_view name);

// The name under which a library's text is among the sources, so that its definitions are known
// for what they are.
std::string library_source(std::string_view name);

// The library that the span is in; empty for what a program says itself.
std::string_view library_of(const SourceMap& sources, Span span);

}  // namespace relay::text
