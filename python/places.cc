#include "python/places.h"

#include <algorithm>

#include "base/cat.h"
#include "python/bindings.h"

namespace relay::python {
namespace {

// Beyond this, offsets of a source do not fit a Span.
constexpr size_t kMostBytes = size_t{1} << 31;

}  // namespace

std::optional<Place> place_of(Span at, const SourceMap& sources) {
  if (!at.known()) return std::nullopt;
  const SourceMap::Position begin = sources.position(at.file, at.begin);
  const SourceMap::Position end = sources.position(at.file, at.end);
  return Place{utf8(std::string(sources.name(at.file))), begin.line, begin.column, end.line, end.column};
}

std::string utf8(const std::string& text) {
  const auto decoded = py::reinterpret_steal<py::object>(
      PyUnicode_DecodeUTF8(text.data(), static_cast<py::ssize_t>(text.size()), "replace"));
  if (!decoded) throw py::error_already_set();
  return py::cast<std::string>(decoded);
}

std::string path_bytes(py::handle path) {
  const auto bytes = py::reinterpret_steal<py::bytes>(PyUnicode_EncodeFSDefault(path.ptr()));
  if (!bytes) throw py::error_already_set();
  return bytes;
}

py::str path_text(const std::string& bytes) {
  const auto text = py::reinterpret_steal<py::str>(
      PyUnicode_DecodeFSDefaultAndSize(bytes.data(), static_cast<py::ssize_t>(bytes.size())));
  if (!text) throw py::error_already_set();
  return text;
}

const PythonFiles::File& PythonFiles::file(py::handle name, SourceMap& sources) {
  const auto [found, is_new] = files_.try_emplace(path_bytes(name));
  File& file = found->second;
  if (!is_new) return file;
  const py::object lines = py::module_::import("linecache").attr("getlines")(name);
  auto text = py::cast<std::string>(py::str("").attr("join")(lines));
  if (text.empty() || text.size() >= kMostBytes) return file;
  file.line_starts.push_back(0);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') file.line_starts.push_back(static_cast<uint32_t>(i + 1));
  }
  file.number = sources.add(found->first, std::move(text));
  return file;
}

Span PythonFiles::caller(SourceMap& sources) {
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return Span::none();
  const auto code = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
  auto* raw = reinterpret_cast<PyCodeObject*>(code.ptr());
  int line = 0, column = 0, end_line = 0, end_column = 0;
  PyCode_Addr2Location(raw, PyFrame_GetLasti(frame), &line, &column, &end_line, &end_column);
  if (line < 1) return Span::none();
  const File& in = file(code.attr("co_filename"), sources);
  const size_t lines = in.line_starts.size();
  const auto row = static_cast<size_t>(line), end_row = static_cast<size_t>(std::max(end_line, line));
  if (in.number == 0 || end_row > lines) return Span::none();
  const auto size = static_cast<uint32_t>(sources.text(in.number).size());
  const auto end_of = [&](size_t r) { return r < lines ? in.line_starts[r] - 1 : size; };
  const uint32_t begin = in.line_starts[row - 1] + static_cast<uint32_t>(std::max(column, 0));
  const uint32_t end =
      end_column < 0 ? end_of(row) : in.line_starts[end_row - 1] + static_cast<uint32_t>(end_column);
  // The file may have changed since Python read it.
  if (begin > size || end > size || begin >= end) return Span::none();
  return {in.number, begin, end};
}

void bind_places(py::module_& m) {
  py::class_<Place>(m, "Span", "A range of a source text. Lines and columns begin with 1.")
      .def_readonly("file", &Place::file)
      .def_readonly("line", &Place::line)
      .def_readonly("column", &Place::column)
      .def_readonly("end_line", &Place::end_line)
      .def_readonly("end_column", &Place::end_column)
      .def("__repr__", [](const Place& p) { return cat(p.file, ":", p.line, ":", p.column); })
      .def(py::pickle(
          [](const Place& p) { return py::make_tuple(p.file, p.line, p.column, p.end_line, p.end_column); },
          [](const py::tuple& t) {
            return Place{t[0].cast<std::string>(), t[1].cast<size_t>(), t[2].cast<size_t>(),
                         t[3].cast<size_t>(), t[4].cast<size_t>()};
          }));
}

}  // namespace relay::python
