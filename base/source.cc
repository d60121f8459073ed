#include "base/source.h"

#include <algorithm>
#include <mutex>

#include "base/cat.h"
#include "base/check.h"

namespace relay {

uint32_t SourceMap::add(std::string name, std::string text) {
  files_.push_back({std::move(name), std::move(text), {}});
  return static_cast<uint32_t>(files_.size());
}

std::string_view SourceMap::name(uint32_t file) const {
  CHECK(file >= 1 && file <= files_.size());
  return files_[file - 1].name;
}

std::string_view SourceMap::text(uint32_t file) const {
  CHECK(file >= 1 && file <= files_.size());
  return files_[file - 1].text;
}

SourceMap::Position SourceMap::position(uint32_t file, uint32_t offset) const {
  CHECK(file >= 1 && file <= files_.size());
  const File& f = files_[file - 1];
  {
    // Threads that report about one program fill the table once.
    static std::mutex filling;
    const std::lock_guard lock(filling);
    if (f.line_starts.empty()) {
      f.line_starts.push_back(0);
      for (size_t i = 0; i < f.text.size(); ++i) {
        if (f.text[i] == '\n') f.line_starts.push_back(static_cast<uint32_t>(i + 1));
      }
    }
  }
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(f.text.size()));
  auto next = std::upper_bound(f.line_starts.begin(), f.line_starts.end(), offset);
  const size_t line = static_cast<size_t>(next - f.line_starts.begin());
  const uint32_t start = f.line_starts[line - 1];
  size_t stop = f.text.find('\n', start);
  if (stop == std::string::npos) stop = f.text.size();
  return {line, offset - start + 1, std::string_view(f.text).substr(start, stop - start)};
}

std::string SourceMap::place(Span at) const {
  if (!at.known()) return {};
  const Position p = position(at.file, at.begin);
  return cat(name(at.file), ":", p.line, ":", p.column);
}

}  // namespace relay
