#include "tools/peers.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/file.h"
#include "frontend/data/inputs.h"
#include "toolchain/subprocess.h"
#include "tools/peers_text.inc"

namespace relay::tools {
namespace {

constexpr int kMostSeconds = 600;

std::string python() {
  const char* given = std::getenv("RELAY_PYTHON");
  return given && *given ? given : "python3";
}

}  // namespace

PeerTimes time_onnxruntime(const std::string& model, const frontend::data::NamedTensors& inputs,
                           const PeerRuns& how) {
  PeerTimes out;
  TemporaryFolder folder;
  const auto fail = [&](std::string why) {
    out.wrong = std::move(why);
    return out;
  };
  if (std::string wrong = folder.make(); !wrong.empty()) return fail(wrong);
  if (toolchain::run({python(), "-c", "import onnxruntime, numpy"}, "", kMostSeconds).exit_code != 0)
    return fail(cat(python(), " has no ONNX Runtime: ", python(),
                    " -m pip install onnxruntime numpy; RELAY_PYTHON names another Python"));
  const std::string given = folder.path() + "/inputs/";
  Diagnostics diagnostics;
  if (!frontend::data::write_tensors(given, inputs, frontend::data::Role::kInput, diagnostics))
    return fail(diagnostics.all().front().message());
  const std::string script = folder.path() + "/bench.py";
  if (std::string wrong = write_file_atomically(script, texts::kOnnxRuntimeBench); !wrong.empty())
    return fail(wrong);
  const toolchain::Finished ended = toolchain::run(
      {python(), script, model, given, cat(how.runs), cat(how.warm_up), cat(how.threads)}, "", kMostSeconds);
  // Its last line; warnings of the runtime stand before it.
  const std::string text = ended.output.substr(0, ended.output.find_last_not_of('\n') + 1);
  const nlohmann::json j =
      nlohmann::json::parse(text.substr(text.rfind('\n') + 1), nullptr, /*allow_exceptions=*/false);
  if (ended.exit_code != 0 || !j.is_object() || !j.contains("seconds"))
    return fail(cat("ONNX Runtime does not run ", model, ": ", ended.problem.empty() ? text : ended.problem));
  out.version = j.at("version").get<std::string>();
  out.seconds = j.at("seconds").get<std::vector<double>>();
  return out;
}

}  // namespace relay::tools
