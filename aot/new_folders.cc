#include "aot/new_folders.h"

#include <algorithm>
#include <filesystem>
#include <vector>

namespace relay::aot {
namespace {

namespace fs = std::filesystem;

// The folders on the way to a file that are not there, the outermost first.
std::vector<fs::path> missing_folders(const fs::path& file) {
  std::vector<fs::path> out;
  std::error_code ignored;
  for (fs::path at = file.parent_path(); !at.empty() && !fs::exists(at, ignored); at = at.parent_path()) {
    out.push_back(at);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

// Folders that are taken away again unless they are kept: they are empty then.
class NewFolders {
 public:
  NewFolders() = default;
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;
  ~NewFolders() {
    std::error_code ignored;
    for (size_t i = made_.size(); i-- > 0;) fs::remove(made_[i], ignored);
  }
  [[nodiscard]] std::string make_for(const std::string& file) {
    const std::vector<fs::path> missing = missing_folders(file);
    made_.insert(made_.end(), missing.begin(), missing.end());
    return missing.empty() ? std::string() : make_folders(missing.back().string());
  }
  void keep() { made_.clear(); }

 private:
  std::vector<fs::path> made_;
};

}  // namespace

std::string write_files_in_folders(std::span<const FileContents> files) {
  NewFolders folders;
  for (const FileContents& f : files) {
    if (std::string wrong = folders.make_for(f.path); !wrong.empty()) return wrong;
  }
  std::string wrong = write_files_atomically(files);
  if (wrong.empty()) folders.keep();
  return wrong;
}

std::string cannot_write_in_folders(const std::string& path) {
  // Where a folder has to be made, that is as much as can be known.
  const std::vector<fs::path> missing = missing_folders(path);
  return relay::cannot_write(missing.empty() ? path : missing[0].string());
}

}  // namespace relay::aot
