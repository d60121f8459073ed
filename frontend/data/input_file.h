// InputFile: a file that is read from, opened with the care that files of strangers need.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/diagnostics.h"
#include "base/result.h"

namespace relay::frontend::data {

// The remedy where `open_beneath` refuses.
inline constexpr std::string_view kWhatAModelMayName =
    "a model may name only regular files beneath its own folder, without links";

class InputFile {
 public:
  // A regular file of at most `limit` bytes. Symbolic links are followed: the user named this file.
  static Result<InputFile> open(const std::string& path, uint64_t limit, Diagnostics& diagnostics);

  // A file that a model names: `location` is relative to `folder` and must stay beneath it. No
  // component may be a symbolic link, the file must be regular and have no second name (a hard link
  // could lead anywhere). The path is walked component by component from an open folder, so that
  // nothing can be exchanged between check and use.
  static Result<InputFile> open_beneath(const std::string& folder, std::string_view location,
                                        Diagnostics& diagnostics);

  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&& other) noexcept;
  ~InputFile();

  const std::string& name() const { return name_; }
  uint64_t size() const { return size_; }

  // All of it.
  Result<std::string> read(Diagnostics& diagnostics) const;
  // Exactly `length` bytes from `offset`, which must lie within the file.
  Result<bool> read_at(uint64_t offset, void* to, uint64_t length, Diagnostics& diagnostics) const;

  // The contents, mapped read-only for as long as `owner` lives. Nobody may shorten
  // the file meanwhile.
  struct Mapping {
    std::string_view bytes;
    std::shared_ptr<const void> owner;
  };
  Result<Mapping> map(Diagnostics& diagnostics) const;

 private:
  InputFile(int descriptor, std::string name, uint64_t size)
      : descriptor_(descriptor), name_(std::move(name)), size_(size) {}

  int descriptor_ = -1;
  std::string name_;
  uint64_t size_ = 0;
};

// open().read()
Result<std::string> read_file(const std::string& path, uint64_t limit, Diagnostics& diagnostics);

}  // namespace relay::frontend::data
