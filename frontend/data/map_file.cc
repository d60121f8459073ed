#include "frontend/data/map_file.h"

namespace relay::frontend::data {

Result<InputFile::Mapping> map_file(const std::string& path, uint64_t limit, Diagnostics& diagnostics) {
  const Result<InputFile> file = InputFile::open(path, limit, diagnostics);
  if (!file) return kReported;
  return file->map(diagnostics);
}

}  // namespace relay::frontend::data
