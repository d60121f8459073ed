#include "tests/golden/command.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <stdexcept>

#include "base/cat.h"

namespace relay::tests {
namespace {

// What may follow a command, and what it is about. Every test may have the section `output`.
struct Known {
  std::string_view command;
  std::set<std::string_view> options, sections;
  bool takes_path = false;
};

const std::vector<Known>& known_commands() {
  static const std::vector<Known> all = {
      {"parse", {"max-nesting", "max-bytes"}, {"input", "repeated"}},
      {"check", {"max-nesting", "max-bytes"}, {"input", "repeated"}},
      {"opt", {"passes", "target", "dump", "reproducer", "broken", "verify"}, {"input", "repeated"}},
      {"lower", {"O", "verify"}, {"input", "repeated"}},
      {"plan", {"O", "verify", "function", "passes", "target"}, {"input", "repeated"}},
      {"functions", {"O", "verify", "function"}, {"input", "repeated"}},
      {"export", {"O", "verify"}, {"input", "repeated"}},
      {"cuda", {"O", "verify"}, {"input", "repeated"}},
      {"match", {}, {"input", "pattern"}},
      {"partition", {}, {"input", "pattern"}},
      {"pattern", {}, {"pattern"}},
      {"expression", {}, {"expression"}},
      {"build", {"cxx"}, {"input"}},
      {"import",
       {"shape", "nodes", "graph-depth", "unrolled-steps", "data", "fix"},
       {"model", "bytes", "files"},
       true},
      {"read",
       {"names", "file-bytes", "total-bytes", "tensors", "header-bytes", "archive-ratio",
        "small-archive-bytes"},
       {"files"},
       true},
      {"write", {"names"}, {}, true},
      {"simulate", {"operations"}, {"assembly", "config", "host"}},
      {"layer", {"threads"}, {"layer", "config"}},
  };
  return all;
}

const std::set<std::string_view> kNumbers = {
    "O",          "max-nesting", "max-bytes", "nodes",        "graph-depth",   "unrolled-steps",
    "file-bytes", "total-bytes", "tensors",   "header-bytes", "archive-ratio", "small-archive-bytes",
    "operations", "threads"};
const std::map<std::string_view, std::set<std::string_view>> kWords = {
    {"verify", {"types", "semantics"}},
    {"broken", {"breaks-types", "breaks-parameters", "breaks-module", "breaks-answer"}},
};

bool is_number(const std::string& text) {
  return !text.empty() && text.size() < 19 && text.find_first_not_of("0123456789") == std::string::npos;
}

}  // namespace

Command::Command(const std::string& line) {
  std::istringstream words(line);
  words >> name;
  for (std::string w; words >> w;) {
    if (w.starts_with("-O")) {
      options["O"] = w.substr(2);
    } else if (w.starts_with("--")) {
      const size_t equal = w.find('=');
      options[w.substr(2, equal - 2)] = equal == std::string::npos ? "" : w.substr(equal + 1);
    } else {
      arguments.push_back(w);
    }
  }
}

std::string Command::option(const std::string& key, const std::string& otherwise) const {
  const auto it = options.find(key);
  return it == options.end() ? otherwise : it->second;
}

size_t Command::number(const std::string& key, size_t otherwise) const {
  const auto it = options.find(key);
  return it == options.end() ? otherwise : std::stoull(it->second);
}

std::vector<std::string> Command::list(const std::string& key) const {
  std::istringstream items(option(key));
  std::vector<std::string> out;
  for (std::string item; std::getline(items, item, ',');) out.push_back(item);
  return out;
}

std::string misuse(const Command& c, const tools::TestFile& file) {
  const auto& all = known_commands();
  const auto known =
      std::find_if(all.begin(), all.end(), [&](const Known& k) { return k.command == c.name; });
  if (known == all.end()) return cat("there is no command `", c.name, "`");
  for (const auto& [option, value] : c.options) {
    if (!known->options.contains(option)) return cat("`", c.name, "` has no option `", option, "`");
    const auto words = kWords.find(option);
    if ((kNumbers.contains(option) && !is_number(value)) ||
        (words != kWords.end() && !words->second.contains(value)))
      return cat("the option `", option, "` has no value `", value, "`");
  }
  if (!c.arguments.empty() && !known->takes_path)
    return cat("`", c.name, "` takes no `", c.arguments[0], "`");
  if (c.arguments.size() > 1) return cat("`", c.name, "` takes one path");
  for (const auto& [name, text] : file.sections) {
    if (name != "output" && !known->sections.contains(name))
      return cat("`", c.name, "` has no section `", name, "`");
  }
  return {};
}

}  // namespace relay::tests
