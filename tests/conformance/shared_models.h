// Where the real models are that are not part of the repository.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/cat.h"

namespace relay::tests {

// $RELAY_SHARED/models, or shared/models beside the checkout or above it. The folder may be absent.
inline std::string shared_models() {
  namespace fs = std::filesystem;
  if (const char* given = std::getenv("RELAY_SHARED")) return cat(given, "/models");
  // From the sources: the link in the test's folder leads there.
  std::error_code ignored;
  const fs::path here = fs::canonical("examples/models/mnist_8/model.onnx", ignored);
  for (fs::path at = here; at.has_relative_path(); at = at.parent_path()) {
    if (fs::exists(at.parent_path() / "shared/models", ignored))
      return (at.parent_path() / "shared/models").string();
  }
  return "../shared/models";
}

}  // namespace relay::tests
