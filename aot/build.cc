#include "aot/build.h"

#include "base/cat.h"
#include "base/file.h"

namespace relay::aot {
namespace {

constexpr uint64_t kMostLibraryBytes = uint64_t{64} << 30;

}  // namespace

std::string build(const Sources& sources, Weights weights, const kernel::native::CompileOptions& options,
                  const std::string& library, std::vector<std::string>& written) {
  TemporaryFolder folder;
  if (std::string wrong = folder.make(); !wrong.empty()) return wrong;
  if (weights == Weights::kEmbedded) {
    if (std::string wrong = write_file_atomically(folder.path() + "/weights.bin", sources.weights);
        !wrong.empty())
      return wrong;
  }
  std::vector<kernel::native::Source> texts;
  for (const SourceFile& f : sources.files) texts.push_back({f.name, f.text});
  const std::string made = folder.path() + "/model.so";
  if (std::string wrong = kernel::native::build_library(texts, options, folder.path(), made); !wrong.empty())
    return wrong;
  std::string bytes;
  if (std::string wrong = read_file(made, kMostLibraryBytes, bytes); !wrong.empty()) return wrong;

  const std::string stem = library.ends_with(".so") ? library.substr(0, library.size() - 3) : library;
  std::vector<std::pair<std::string, const std::string*>> results;
  if (weights == Weights::kFile) results.emplace_back(stem + ".safetensors", &sources.weights);
  results.emplace_back(stem + ".h", &sources.header);
  results.emplace_back(library, &bytes);  // last: where it is, the others are
  for (const auto& [path, contents] : results) {
    if (std::string wrong = write_file_atomically(path, *contents); !wrong.empty()) return wrong;
    written.push_back(path);
  }
  return {};
}

}  // namespace relay::aot
