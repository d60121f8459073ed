// Compiled artifacts in the place of models: what `relay run`, `bench` and `check` do with X.so.
//
// An artifact is code: opening it runs it. What is no artifact is refused before it is loaded.
#pragma once

#include <nlohmann/json.hpp>

#include <functional>
#include <string>

#include "driver/engines.h"
#include "tools/model.h"

namespace relay::tools {

// An artifact that is open.
struct ArtifactModel {
  driver::Model model;  // its inputs and outputs; the body of its function is empty
  driver::Prepared prepared;
  nlohmann::ordered_json description;  // docs/artifacts.md
};

// How an artifact is run: what is not given is as `relay compile` said.
struct ArtifactRun {
  unsigned threads = 0;
  std::optional<Denormals> denormals = {};
};
// As the options say that were given to the command.
ArtifactRun artifact_run(Command sub, const TargetOptions& options);

// Opens the artifact at options.path. Reports what cannot be run: a static library, a file that is
// no artifact, missing weights.
Result<ArtifactModel> open_artifact(const ModelOptions& options, const ArtifactRun& run, Session& session);

// Hands over the description alone: also that of an artifact that takes values of data types.
void describe_artifact(const std::string& path, Session& session,
                       const std::function<void(const nlohmann::ordered_json&)>& report);

// The type of an input or output of a description: "Tensor[(n, 4), float32]".
std::string type_of_port(const nlohmann::ordered_json& port);

// The inputs of an artifact: it does not say which extents fit each other, so nobody chooses any.
InputOptions of_artifact(InputOptions inputs);

// Reports the first option given to the command that means nothing for an artifact, with a remedy.
bool fits_artifact(Command sub, const std::string& path, Session& session);

}  // namespace relay::tools
