#include "base/nearest_file.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/nearest.h"

namespace relay {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostEntries = 2000;

// Sorted, so that of two names that are equally near always the same is found.
std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> out;
  std::error_code wrong;
  for (fs::directory_iterator at(folder, wrong), end; !wrong && at != end && out.size() < kMostEntries;
       at.increment(wrong)) {
    out.push_back(at->path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

void suggest_file(Diagnostic& d, const std::string& path) {
  const fs::path wanted(path), folder = wanted.parent_path();
  std::error_code unknown;
  if (fs::exists(wanted, unknown) || unknown) return;
  const std::string near =
      nearest(wanted.filename().string(), names_in(folder.empty() ? fs::path(".") : folder));
  if (!near.empty()) d.note("did you mean `" + (folder / near).string() + "`?");
}

}  // namespace relay
