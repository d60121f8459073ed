// Packages: an artifact as people want it who build with CMake or Make, in a folder that may be
// moved as a whole.
//
//   include/NAME.h, lib/libNAME.so, lib/NAME.safetensors where the weights are a file
//   lib/cmake/NAME/NAMEConfig.cmake, NAMEConfigVersion.cmake
//                                    find_package(NAME CONFIG), the target NAME::NAME
//   lib/pkgconfig/NAME.pc            pkg-config --cflags --libs NAME
//   share/licenses/NAME/LICENCE      where the model has one
//
// Several packages may share a folder. The files depend on the package's name and version and on
// the artifact alone.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "aot/emit.h"
#include "base/diagnostics.h"
#include "base/file.h"
#include "base/result.h"

namespace relay::aot {

struct Package {
  std::string folder;
  std::string name;     // of which is_package_name holds; the artifact's name is the same
  std::string version;  // of which is_package_version holds
  std::string licence;  // the text; empty: none
  Weights weights = Weights::kEmbedded;

  // What programs that were linked with the library look for.
  std::string soname() const { return "lib" + name + ".so"; }
};

// A C identifier: it is part of file names, of CMake's targets and of -lNAME.
bool is_package_name(std::string_view name);
// One to four numbers with points between them.
// The text with a value in the place of each mark, such as @NAME@.
std::string filled(std::string_view text,
                   const std::vector<std::pair<std::string_view, std::string>>& values);
bool is_package_version(std::string_view version);
// The version of a package that was given none: that of the interface.
std::string default_package_version();

// The paths of its files.
std::vector<std::string> files_of(const Package& package);

// What would keep the package from being written, as far as that can be known before there is a
// library; empty if nothing.
[[nodiscard]] std::string cannot_write(const Package& package);

// Writes the package around the library, which has its soname: all files whole, or
// none. Makes folders that are not there. Returns the paths of the files. Reports
// "file-unwritable".
Result<std::vector<std::string>> write_package(const Package& package, const Sources& sources,
                                               const Contents& library, Diagnostics& diagnostics);

}  // namespace relay::aot
