#include "aot/package.h"

#include <algorithm>
#include <filesystem>

#include "aot/build.h"
#include "aot/embedded.h"
#include "aot/new_folders.h"
#include "base/cat.h"
#include "base/check.h"
#include "runtime/relay.h"

namespace relay::aot {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostVersionNumbers = 4, kMostVersionDigits = 9;  // that CMake compares

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

struct Places {
  std::string header, library, weights, config, config_version, pc, licence;
};
Places places_of(const Package& p) {
  const fs::path folder(p.folder), lib = folder / "lib", cmake = lib / "cmake" / p.name;
  return {
      .header = folder / "include" / (p.name + ".h"),
      .library = lib / p.soname(),
      .weights = p.weights == Weights::kFile ? lib / (p.name + ".safetensors") : "",
      .config = cmake / (p.name + "Config.cmake"),
      .config_version = cmake / (p.name + "ConfigVersion.cmake"),
      .pc = lib / "pkgconfig" / (p.name + ".pc"),
      .licence = p.licence.empty() ? "" : folder / "share" / "licenses" / p.name / "LICENCE",
  };
}

}  // namespace

std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& values) {
  std::string out(text);
  for (const auto& [mark, value] : values) {
    for (size_t at = out.find(mark); at != std::string::npos; at = out.find(mark, at + value.size()))
      out.replace(at, mark.size(), value);
  }
  return out;
}

namespace {

// The text with the package's values in the place of @NAME@, @VERSION@ and @MAJOR@.
std::string with_values_of(std::string_view text, const Package& p) {
  return filled(
      text,
      {{"@NAME@", p.name}, {"@VERSION@", p.version}, {"@MAJOR@", p.version.substr(0, p.version.find('.'))}});
}

}  // namespace

bool is_package_name(std::string_view name) {
  return !name.empty() && is_letter(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_package_version(std::string_view version) {
  size_t numbers = 1, digits = 0;
  for (char c : version) {
    if (is_digit(c)) {
      if (++digits > kMostVersionDigits) return false;
    } else {
      if (c != '.' || digits == 0 || ++numbers > kMostVersionNumbers) return false;
      digits = 0;
    }
  }
  return digits > 0;
}

std::string default_package_version() { return cat(RELAY_ABI_VERSION); }

std::vector<std::string> files_of(const Package& package) {
  const Places to = places_of(package);
  std::vector<std::string> files{to.header,         to.library, to.weights, to.config,
                                 to.config_version, to.pc,      to.licence};
  std::erase(files, "");
  return files;
}

std::string cannot_write(const Package& package) {
  for (const std::string& file : files_of(package)) {
    if (std::string wrong = cannot_write_in_folders(file); !wrong.empty()) return wrong;
  }
  return {};
}

Result<std::vector<std::string>> write_package(const Package& package, const Sources& sources,
                                               const Contents& library, Diagnostics& diagnostics) {
  CHECK(is_package_name(package.name) && is_package_version(package.version),
        "CMake and pkg-config would read more than a name and a version");
  const Places to = places_of(package);
  const std::string config = with_values_of(kPackageConfig, package),
                    pc = with_values_of(kPackagePc, package),
                    config_version = with_values_of(kPackageConfigVersion, package);
  std::vector<FileContents> files{{to.header, sources.header}};
  if (!to.weights.empty()) files.push_back({to.weights, sources.weights.pieces()});
  if (!to.licence.empty()) files.push_back({to.licence, package.licence});
  files.insert(files.end(), {{to.config_version, config_version}, {to.pc, pc}, {to.library, library}});
  files.push_back({to.config, config});  // last: where it is found, the others are
  return paths_of(files, write_files_in_folders(files), diagnostics);
}

}  // namespace relay::aot
