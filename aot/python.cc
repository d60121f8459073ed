#include "aot/python.h"

#include <algorithm>
#include <array>

#include "aot/embedded.h"
#include "aot/package.h"
#include "base/cat.h"
#include "base/check.h"
#include "runtime/relay.h"

namespace relay::aot {

bool is_module_name(std::string_view name) {
  // docs.python.org/3/reference/lexical_analysis.html#keywords
  static constexpr std::array<std::string_view, 35> kKeywords = {
      "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
      "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
      "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
      "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"};
  return is_package_name(name) && std::find(kKeywords.begin(), kKeywords.end(), name) == kKeywords.end();
}

bool is_used_by_module(std::string_view name) {
  for (const std::string_view word : {"import ", "from "}) {
    if (kPythonModule.find(cat("\n", word, name, " ")) != std::string_view::npos ||
        kPythonModule.find(cat("\n", word, name, "\n")) != std::string_view::npos)
      return true;
  }
  return false;
}

std::string library_of_module(std::string_view name) { return cat("lib", name, ".so"); }

std::string module_of_library(std::string_view library) {
  CHECK(library.starts_with("lib"), std::string(library));
  return std::string(library.substr(3));
}

std::string python_module(std::string_view name) {
  CHECK(is_module_name(name), std::string(name));
  return filled(kPythonModule, {{"@NAME@", std::string(name)},
                                {"@LIBRARY@", library_of_module(name)},
                                {"@ABI@", cat(RELAY_ABI_VERSION)}});
}

}  // namespace relay::aot
