#include "toolchain/kept_objects.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "base/cat.h"
#include "base/file.h"
#include "toolchain/fingerprint.h"

namespace relay::toolchain {
namespace {

namespace fs = std::filesystem;

// A text for all files of the folder; empty if they are too many bytes or cannot be read.
std::string contents_of(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code wrong;
  for (fs::directory_iterator it(folder, wrong), end; !wrong && it != end; it.increment(wrong))
    paths.push_back(it->path().string());
  std::sort(paths.begin(), paths.end());
  std::string out = "files\n", bytes;
  uint64_t left = KeptObjects::kMostBytes;
  for (const std::string& path : paths) {
    if (!read_file(path, left, bytes).empty()) return {};
    left -= bytes.size();
    out += cat(fs::path(path).filename().string(), '\0', fingerprint(bytes));
  }
  return wrong ? "" : out;
}

// The program's file: one that stands in the place of a compiler may change without
// another version.
std::string file_of(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(program.find('/') != std::string::npos || !path ? "" : path);
  fs::path file = program;
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code none;
    if (!fs::exists(fs::path(folder) / program, none)) continue;
    file = fs::path(folder) / program;
    break;
  }
  std::error_code wrong;
  const auto bytes = fs::file_size(file, wrong);
  return cat(file.string(), ' ', bytes, ' ', fs::last_write_time(file, wrong).time_since_epoch().count());
}

std::string identity(const Compiler& compiler) {
  std::string out = cat(compiler.version, '\0', file_of(compiler.command.front()));
  for (const char* variable : {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"}) {
    const char* value = std::getenv(variable);
    out += cat('\0', value ? value : "");
  }
  return out;
}

}  // namespace

KeptObjects::KeptObjects(const Compiler& compiler, const std::string& folder) : folder_(folder) {
  if (!cache_.keeps()) return;
  const std::string contents = contents_of(folder);
  if (!contents.empty()) inputs_ = cat(identity(compiler), '\0', contents);
}

std::string KeptObjects::key(const std::vector<std::string>& command) const {
  std::string words;
  for (const std::string& word : command) words += cat(word, '\0');
  return fingerprint(words + inputs_);
}

bool KeptObjects::take(const std::vector<std::string>& command, const std::string& object) const {
  std::string bytes;
  return !inputs_.empty() && cache_.load(key(command), bytes) &&
         write_file_atomically(cat(folder_, "/", object), bytes).empty();
}

void KeptObjects::keep(const std::vector<std::string>& command, const std::string& object) const {
  std::string bytes;
  if (!inputs_.empty() && read_file(cat(folder_, "/", object), ObjectCache::kMostBytes, bytes).empty())
    cache_.store(key(command), bytes);
}

}  // namespace relay::toolchain
