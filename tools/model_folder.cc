#include "tools/model_folder.h"

#include <filesystem>

namespace relay::tools {

std::string find_in_folder(std::string& path) {
  namespace fs = std::filesystem;
  std::error_code none;
  if (!fs::is_directory(path, none)) return {};
  for (const char* name : {"model.onnx", "model.relay"}) {
    if (const fs::path model = fs::path(path) / name; fs::is_regular_file(model, none)) {
      path = model.string();
      break;
    }
  }
  return {};
}

}  // namespace relay::tools
