#include "tests/exec/skips.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>

#include "base/cat.h"
#include "driver/engines.h"

namespace relay::tests {
namespace {

constexpr const char* kFile = "tests/exec/skips.txt";
constexpr int kOrdinaryLevel = 2;

struct Key {
  std::string engine, path;
  std::optional<int> level;

  auto operator<=>(const Key&) const = default;
};

struct List {
  std::map<Key, size_t> counts;
  std::string faults;
};

// "-O0" to "-O3".
std::optional<int> level_of(std::string_view word) {
  if (word.size() != 3 || !word.starts_with("-O") || word[2] < '0' || word[2] > '3') return std::nullopt;
  return word[2] - '0';
}

const List& list() {
  static const List all = [] {
    List out;
    std::ifstream in(kFile);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      Key key;
      size_t count = 0;
      std::string level, rest;
      bool ok = static_cast<bool>(words >> key.engine >> key.path >> count);
      if (ok && words >> level) {
        key.level = level_of(level);
        ok = key.level && !(words >> rest);
      }
      if (!ok)
        out.faults += cat(kFile, " has a line that is none: ", line, "\n");
      else if (!out.counts.emplace(key, count).second)
        out.faults += cat(kFile, " says it twice: ", line, "\n");
    }
    return out;
  }();
  return all;
}

size_t count_at(const Key& key) {
  const auto it = list().counts.find(key);
  return it == list().counts.end() ? 0 : it->second;
}

}  // namespace

size_t listed_skips(const std::string& engine, const std::string& path, std::optional<int> level) {
  const Key own{engine, path, level};
  return list().counts.contains(own) ? count_at(own) : count_at({engine, path, std::nullopt});
}

std::string skips_line(const std::string& engine, const std::string& path, std::optional<int> level,
                       size_t count) {
  const bool at_every_level = !level || *level == kOrdinaryLevel;
  return at_every_level ? cat(engine, " ", path, " ", count)
                        : cat(engine, " ", path, " ", count, " -O", *level);
}

std::string faults_of_skips() {
  std::string out = list().faults;
  if (list().counts.empty()) out += cat(kFile, " has no line\n");
  for (const auto& [key, count] : list().counts) {
    const std::string line =
        cat(key.engine, " ", key.path, " ", count, key.level ? cat(" -O", *key.level) : "");
    const driver::Engine* engine = driver::find_engine(key.engine);
    if (!engine) out += cat(kFile, " names an engine that does not exist: ", line, "\n");
    if (!std::filesystem::exists(key.path))
      out += cat(kFile, " names a file that does not exist: ", line, "\n");
    const size_t otherwise = key.level ? count_at({key.engine, key.path, std::nullopt}) : 0;
    if (count == otherwise) out += cat(kFile, " has a line that says nothing: ", line, "\n");
  }
  return out;
}

}  // namespace relay::tests
