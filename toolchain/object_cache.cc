#include "toolchain/object_cache.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "base/cat.h"
#include "base/file.h"
#include "toolchain/fingerprint.h"

namespace relay::toolchain {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHead = "relay object 1\n";  // then the fingerprint of the rest, and the rest
constexpr size_t kFingerprint = 64;

// Is it a folder that this user owns, and that no other one may write to?
bool is_own_folder(const std::string& path) {
  struct stat found = {};
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

}  // namespace

ObjectCache::ObjectCache(std::string folder, uint64_t most_bytes) : most_bytes_(most_bytes) {
  if (folder.empty()) return;
  std::error_code wrong;
  fs::create_directories(folder, wrong);
  folder += "/objects";
  // What is in it is run: it is nobody else's.
  if (!wrong && (mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) && is_own_folder(folder))
    folder_ = std::move(folder);
}

std::string ObjectCache::folder_of_environment() {
  const char* given = std::getenv("RELAY_CACHE");
  const std::string chosen = given ? given : "";
  return chosen.empty() ? cache_folder() : chosen == "off" ? "" : chosen;
}

bool ObjectCache::load(const std::string& key, std::string& object) const {
  if (folder_.empty()) return false;
  const std::string file = path(key);
  std::string bytes;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return false;
  const size_t head = kHead.size() + kFingerprint;
  if (!read_file(file, most_bytes_, bytes).empty() || bytes.size() < head || !bytes.starts_with(kHead) ||
      fingerprint(bytes.substr(head)) != bytes.substr(kHead.size(), kFingerprint)) {
    fs::remove(file, ignored);
    return false;
  }
  object = bytes.substr(head);
  fs::last_write_time(file, fs::file_time_type::clock::now(), ignored);  // used now: the last to be removed
  return true;
}

void ObjectCache::store(const std::string& key, const std::string& object) const {
  if (folder_.empty()) return;
  // What cannot be kept is compiled again.
  (void)write_file_atomically(path(key), cat(kHead, fingerprint(object), object));
}

void ObjectCache::trim() const {
  if (folder_.empty()) return;
  struct File {
    fs::file_time_type used;
    uint64_t bytes;
    fs::path path;
  };
  std::vector<File> files;
  uint64_t total = 0;
  std::error_code wrong;
  for (fs::directory_iterator it(folder_, wrong), end; !wrong && it != end; it.increment(wrong)) {
    std::error_code gone;  // by another process
    const File f{it->last_write_time(gone), it->file_size(gone), it->path()};
    if (gone) continue;
    total += f.bytes;
    files.push_back(f);
  }
  if (total <= most_bytes_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& f : files) {
    if (total <= most_bytes_ / 4 * 3) return;
    if (fs::remove(f.path, wrong)) total -= f.bytes;
  }
}

}  // namespace relay::toolchain
