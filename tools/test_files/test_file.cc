#include "tools/test_files/test_file.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace relay::tools {
namespace {
constexpr std::string_view kSection = "---- ";
}

const std::string* TestFile::find(std::string_view section) const {
  for (const auto& [name, text] : sections) {
    if (name == section) return &text;
  }
  return nullptr;
}

void TestFile::set(std::string_view section, std::string text) {
  for (auto& [name, old] : sections) {
    if (name == section) {
      old = std::move(text);
      return;
    }
  }
  sections.emplace_back(section, std::move(text));
}

std::string TestFile::text() const {
  std::string out = "RUN " + command + "\n" + about;
  for (const auto& [name, text] : sections) {
    out += std::string(kSection) + name + "\n" + text;
    if (!text.empty() && text.back() != '\n') out += "\n";
  }
  return out;
}

bool is_exec(std::string_view command) { return command == "exec" || command.starts_with("exec "); }

TestFile read_test_file(const std::string& path) {
  std::ifstream in(path);
  if (!in) throw Malformed(path + ": cannot be read");
  TestFile file;
  file.path = path;
  std::string line;
  if (!std::getline(in, line) || !line.starts_with("RUN ")) {
    throw Malformed(path + ": the first line must be `RUN` and a command");
  }
  file.command = line.substr(4);
  while (std::getline(in, line)) {
    if (line.starts_with(kSection)) {
      file.sections.emplace_back(line.substr(kSection.size()), "");
    } else if (file.sections.empty()) {
      file.about += line + "\n";
    } else {
      file.sections.back().second += line + "\n";
    }
  }
  return file;
}

std::vector<std::string> test_files_beneath(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, error)) {
    if (entry.path().extension() == ".relay") found.push_back(entry.path().string());
  }
  // A suite that has lost its files would pass.
  if (found.empty())
    throw Malformed(folder + ": there are no .relay files" + (error ? ": " + error.message() : ""));
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> call_lines(const TestFile& file) {
  std::vector<std::string> out;
  const std::string* calls = file.find("calls");
  std::istringstream in(calls ? *calls : "");
  for (std::string line; std::getline(in, line);) {
    if (const size_t comment = line.find("//"); comment != std::string::npos) line.resize(comment);
    if (line.find_first_not_of(" \t\r") != std::string::npos) out.push_back(line);
  }
  return out;
}

}  // namespace relay::tools
