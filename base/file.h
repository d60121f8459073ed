// Files: read whole, written whole or not at all.
//
// Functions return a text that says what went wrong, naming the path and the system's reason; empty
// if all went well.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/interruption.h"

namespace relay {

// Reads a regular file of at most `most_bytes`.
[[nodiscard]] std::string read_file(const std::string& path, uint64_t most_bytes, std::string& out);

// What a file is to hold: pieces of memory, one after another, or all of another file. Whoever
// names them keeps them until it is written.
class Contents {
 public:
  Contents() = default;
  template <class Text>
    requires std::is_convertible_v<const Text&, std::string_view>
  Contents(const Text& text) : pieces_{std::string_view(text)} {}
  Contents(std::vector<std::string_view> pieces) : pieces_(std::move(pieces)) {}
  static Contents of_file(std::string path) {
    Contents out;
    out.file_ = std::move(path);
    return out;
  }

  const std::vector<std::string_view>& pieces() const { return pieces_; }
  const std::string& file() const { return file_; }  // empty: there is none

 private:
  std::vector<std::string_view> pieces_;
  std::string file_;
};

struct FileContents {
  std::string path;
  Contents bytes;
};

// Writes beside the destinations and renames, in order, when all are written: on any failure
// nothing is left behind, and files that were there before are as they were. A link is followed; a
// device or a pipe is written to.
[[nodiscard]] std::string write_files_atomically(std::span<const FileContents> files);
[[nodiscard]] std::string write_file_atomically(const std::string& path, std::string_view bytes);

// What would keep a file from being written, as far as that can be known before there is
// anything to write.
[[nodiscard]] std::string cannot_write(const std::string& path);

// Is there a device, a pipe or a socket? Bytes that are written to it go through, so no other file
// belongs beside it.
bool is_stream(const std::string& path);

// Where things are kept that can be made again: $XDG_CACHE_HOME/relay, or ~/.cache/relay; empty if
// neither is known. It need not be there yet; `make_folders` makes it.
std::string cache_folder();
// Makes the folder and those around it.
[[nodiscard]] std::string make_folders(const std::string& path);

// A fresh private folder, removed with all its files at the end of the scope, or when the
// program is interrupted.
class TemporaryFolder {
 public:
  TemporaryFolder() = default;
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // Beneath $TMPDIR, or the system's folder for such files.
  [[nodiscard]] std::string make();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Fleeting fleeting_;
};

// Why temporary files cannot be written, naming the folder: it is not there, its file system is
// full, or files may not be so large. Empty if they can be. Tells a full disk from other reasons
// why a compiler failed: a file of 4 MiB is tried, and what the compiler `said` is searched for
// such a reason, because files that it removed make room again.
[[nodiscard]] std::string cannot_write_temporaries(std::string_view said);

}  // namespace relay
