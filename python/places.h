// Places in source texts: relay.Span, and the line of Python that makes an expression.
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/source.h"

namespace relay::python {

namespace py = pybind11;

// A range of a source text, by lines and columns from 1.
struct Place {
  std::string file;
  size_t line, column, end_line, end_column;
};
// Nullopt for what the compiler made.
std::optional<Place> place_of(Span at, const SourceMap& sources);

// The text with U+FFFD for bytes that are not UTF-8: messages quote files, which may have any.
std::string utf8(const std::string& text);
// The bytes of a path that Python has as a text, and the text of such bytes. Linux gives no meaning
// to them, so they need not be UTF-8.
std::string path_bytes(py::handle path);
py::str path_text(const std::string& bytes);

// The files of Python that expressions of one context were made in. A file is read once, when the
// first expression is made in it.
class PythonFiles {
 public:
  // The expression of the innermost Python function, which called this module. Unknown if Python
  // does not know the text of the file, as of lines that are typed in.
  Span caller(SourceMap& sources);

 private:
  struct File {
    uint32_t number = 0;  // 0: there is no text
    std::vector<uint32_t> line_starts;
  };
  const File& file(py::handle name, SourceMap& sources);

  std::unordered_map<std::string, File> files_;
};

}  // namespace relay::python
