#include "aot/build.h"

#include "base/cat.h"
#include "base/file.h"

namespace relay::aot {
namespace {

constexpr uint64_t kMostLibraryBytes = uint64_t{64} << 30;

}  // namespace

Result<std::vector<std::string>> build(const Sources& sources, Weights weights,
                                       const kernel::native::CompileOptions& options,
                                       const std::string& library, Diagnostics& diagnostics) {
  const auto uncompiled = [&](std::string wrong) -> Reported {
    diagnostics.error(Span::none(), "cannot-compile", std::move(wrong))
        .note(
            "`relay doctor` says what this machine lacks; the engines `interp`, `jit` and `graph` need no "
            "compiler");
    return kReported;
  };
  TemporaryFolder folder;
  if (std::string wrong = folder.make(); !wrong.empty()) return uncompiled(std::move(wrong));
  if (weights == Weights::kEmbedded) {
    std::string wrong = write_file_atomically(folder.path() + "/weights.bin", sources.weights);
    if (!wrong.empty()) return uncompiled(std::move(wrong));
  }
  std::vector<kernel::native::Source> texts;
  for (const SourceFile& f : sources.files) texts.push_back({f.name, f.text, f.target});
  const std::string made = folder.path() + "/model.so";
  std::string bytes;
  std::string wrong = kernel::native::build_library(texts, options, folder.path(), made);
  if (wrong.empty()) wrong = read_file(made, kMostLibraryBytes, bytes);
  if (!wrong.empty()) return uncompiled(std::move(wrong));

  const std::string stem = library.ends_with(".so") ? library.substr(0, library.size() - 3) : library;
  std::vector<FileContents> results;
  if (weights == Weights::kFile) results.push_back({stem + ".safetensors", sources.weights});
  results.push_back({stem + ".h", sources.header});
  results.push_back({library, bytes});  // last: where it is, the others are
  if (std::string problem = write_files_atomically(results); !problem.empty()) {
    diagnostics.error(Span::none(), "file-unwritable", std::move(problem));
    return kReported;
  }
  std::vector<std::string> written;
  for (const FileContents& f : results) written.push_back(f.path);
  return written;
}

}  // namespace relay::aot
