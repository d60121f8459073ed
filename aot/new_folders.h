// Files in folders that need not be there yet (see file.h for files alone).
#pragma once

#include <span>
#include <string>

#include "base/file.h"

namespace relay::aot {

// Writes the files as write_files_atomically does, and before that makes the folders they stand in.
// On any failure those that it made are gone again.
[[nodiscard]] std::string write_files_in_folders(std::span<const FileContents> files);

// What would keep such a file from being written, as far as that can be known before there is
// anything to write. Makes nothing.
[[nodiscard]] std::string cannot_write_in_folders(const std::string& path);

}  // namespace relay::aot
