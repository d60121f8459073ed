#include "tools/artifact_model.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/cat.h"
#include "base/escape.h"
#include "base/failure.h"
#include "driver/artifact.h"
#include "frontend/graph/unique_names.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "tools/options/options.h"
#include "tools/shared_library.h"
#include "typecheck/check.h"

namespace relay::tools {
namespace {

using Json = nlohmann::ordered_json;

// A description that this program cannot read.
struct BadDescription : std::runtime_error {
  explicit BadDescription(const std::string& what) : std::runtime_error(what) {}
};

// The numbers of relay_status are those of exit codes where they overlap.
int exit_code_of(relay_status status) {
  return status >= RELAY_USAGE && status <= RELAY_INTERNAL ? static_cast<int>(status) : kBadModel;
}

// Null if it cannot be opened, which is reported.
std::shared_ptr<driver::Artifact> open(const std::string& path, const ArtifactRun& run, Session& session) {
  if (path.ends_with(".a")) {
    session.fail(kUsage, cat(path, " is a static library, which a program links: `relay compile MODEL -o ",
                             shell_word(std::filesystem::path(path).replace_extension(".so").string()),
                             "` makes a library that can be run"));
    return nullptr;
  }
  if (std::string wrong = wrong_library(path, "relay_get_api"); !wrong.empty()) {
    session.fail(std::filesystem::is_regular_file(path) ? kBadModel : kUsage, wrong);
    return nullptr;
  }
  const auto artifact = std::make_shared<driver::Artifact>();
  std::string wrong;
  int code = kLimit;
  try {
    // A name without a slash would be looked for among the system's libraries.
    wrong =
        artifact->open(std::filesystem::absolute(path).string(), run.threads, "relay_get_api", run.denormals);
    if (wrong.empty()) return artifact;
    code = exit_code_of(artifact->opened());
  } catch (const Exhausted& limit) {
    wrong = limit.what();
  }
  session.fail(code, wrong.find(path) == std::string::npos ? cat(path, ": ", wrong) : wrong);
  return nullptr;
}

std::vector<std::string> names_of(const Json& ports) {
  std::vector<std::string> out;
  for (const Json& p : ports) out.push_back(p.at("name"));
  return out;
}

// The first type in the program's interface that is no tensor and no tuple; empty if there is none.
std::string data_type_in(const Json& description) {
  if (!description.contains("types")) return {};
  for (const Json& t : description.at("types")) {
    if (t.at("kind") == "data") return t.at("type");
  }
  return {};
}

// A function with the inputs of the artifact, as a text: their extents are bound like any model's.
std::string interface_text(const Json& description) {
  frontend::UniqueNames unique;
  std::string params;
  for (const Json& p : description.at("inputs"))
    params +=
        cat("%", unique.take(c_identifier(p.at("name").get<std::string>())), ": ", type_of_port(p), ", ");
  const auto quoted = [](const std::string& name) { return relay_quoted(name, '"'); };
  return cat("def @main(", params, "input_names=[", join(names_of(description.at("inputs")), ", ", quoted),
             "]) { () }\n");
}

std::vector<driver::Artifact::Output> outputs_of(const Json& description) {
  std::vector<driver::Artifact::Output> out;
  for (const Json& p : description.at("outputs")) {
    const std::optional<DType> dtype = DType::parse(p.at("dtype").get<std::string>());
    if (!dtype) throw BadDescription(cat("there is no dtype ", p.at("dtype").get<std::string>()));
    driver::Artifact::Output o{*dtype, Shape()};
    for (const Json& d : p.at("dims")) {
      if (!d.is_number_integer()) {
        o.shape.reset();
        break;
      }
      o.shape->push_back(d.get<int64_t>());
    }
    out.push_back(std::move(o));
  }
  return out;
}

Result<driver::Model> model_of_description(const Json& description, const ModelOptions& options,
                                           Session& session) {
  Diagnostics diagnostics;
  const ParseOptions parsing;
  const Result<Module> parsed =
      parse(options.path, interface_text(description), diagnostics, op::operators(), parsing);
  const Result<Module> checked = parsed ? typecheck::check(*parsed, diagnostics) : Result<Module>(kReported);
  if (!checked) {
    session.fail(diagnostics, parsing.into.context().sources());
    return kReported;
  }
  std::vector<std::string> files{options.path};
  if (const std::string weights = description.at("weights"); weights != "embedded")
    files.push_back((std::filesystem::path(options.path).parent_path() / weights).string());
  const std::optional<driver::LoadOptions> load = load_options(options, session);
  if (!load) return kReported;
  Result<driver::Model> model =
      driver::model_of(*checked, options.path, *load, std::move(files), diagnostics);
  session.fail(diagnostics, parsing.into.context().sources());
  if (model) model->output_names = names_of(description.at("outputs"));
  return model;
}

Result<ArtifactModel> model_of_artifact(const std::shared_ptr<driver::Artifact>& artifact,
                                        const Json& description, const ModelOptions& options,
                                        Session& session) {
  if (const std::string type = data_type_in(description); !type.empty()) {
    session.fail(
        kUnsupported,
        cat(options.path, ": the program takes or gives ", type,
            ", and files hold tensors only: compile a function that takes and gives tensors and calls "
            "it, or call it through relay_call, as examples/deploy/sums.c does"));
    return kReported;
  }
  Result<driver::Model> model = model_of_description(description, options, session);
  if (!model) return kReported;
  const bool one = description.at("outputs").size() == 1 && !description.at("tuple_result").get<bool>();
  driver::Prepared prepared;
  prepared.run = [artifact, outputs = outputs_of(description), one](const std::vector<Value>& args) {
    return driver::outcome_of([&] {
      const std::vector<Tensor> results = artifact->run(driver::tensors_of_args(args), outputs);
      return one ? Value(results[0]) : Value::tuple(std::vector<Value>(results.begin(), results.end()));
    });
  };
  return ArtifactModel{std::move(*model), std::move(prepared), description};
}

// Does what needs the description. Reports one that lacks something: another program made it.
void with_description(const driver::Artifact& artifact, const std::string& path, Session& session,
                      const std::function<void(const Json&)>& use) {
  std::string wrong;
  try {
    return use(Json::parse(artifact.description()));
  } catch (const Json::exception& e) {
    wrong = e.what();
  } catch (const BadDescription& e) {
    wrong = e.what();
  }
  session.fail(kBadModel,
               cat(path, ": its description cannot be read (", wrong, "): compile the model again"));
}

}  // namespace

std::string type_of_port(const Json& port) {
  std::vector<std::string> dims;
  for (const Json& d : port.at("dims"))
    dims.push_back(d.is_null() ? "?" : d.is_string() ? d.get<std::string>() : cat(d.get<int64_t>()));
  return cat("Tensor[(", join(dims, ", "), "), ", port.at("dtype").get<std::string>(), "]");
}

Result<ArtifactModel> open_artifact(const ModelOptions& options, const ArtifactRun& run, Session& session) {
  Result<ArtifactModel> out = kReported;
  if (const std::shared_ptr<driver::Artifact> artifact = open(options.path, run, session)) {
    with_description(*artifact, options.path, session, [&](const Json& description) {
      out = model_of_artifact(artifact, description, options, session);
    });
  }
  return out;
}

void describe_artifact(const std::string& path, Session& session,
                       const std::function<void(const Json&)>& report) {
  if (const std::shared_ptr<driver::Artifact> artifact = open(path, {.threads = 1}, session))
    with_description(*artifact, path, session, report);
}

InputOptions of_artifact(InputOptions inputs) {
  inputs.chooses_extents = false;
  return inputs;
}

bool fits_artifact(Command sub, const std::string& path, Session& session) {
  constexpr const char* kCompiled = "it was decided when the model was compiled: `relay compile ";
  constexpr const char* kInside =
      "an artifact shows nothing of what is inside it: give the model that it was "
      "compiled from, with `--engine graph`";
  constexpr const char* kBound =
      "it bounds the engines interp, jit and vta: give the model that it was compiled from";
  constexpr const char* kOnVta =
      "an artifact knows no layers: give the model that it was compiled from, with `--engine vta`";
  const struct {
    const char* option;
    std::string remedy;
  } kWithout[] = {
      {"--engine", "an artifact is run by itself: give the model that it was compiled from"},
      {"--target", cat(kCompiled, "--target`")},
      {"-O", cat(kCompiled, "-O`")},
      {"--function", cat(kCompiled, "--function`")},
      {"--fix-input", cat(kCompiled, "--fix-input`")},
      {"--library", cat(kCompiled, "--link`")},
      {"--memory-limit", cat(kCompiled, "--memory-limit`")},
      {"--to", kInside},
      {"--dump", kInside},
      {"--profile", sub.name() == "run" ? kOnVta : kInside},
      {"--plot", kOnVta},
      {"--trace", kInside},
      {"--top", kInside},
      {"--nan-trap",
       "an artifact does not stop at a NaN: give the model that it was compiled from, with "
       "`--engine jit`"},
      {"--opt-levels", "it has one level: give the model that it was compiled from"},
      {"--compare", "it needs the ONNX model that the artifact was compiled from"},
      {"--fuel", kBound},
      {"--max-depth", kBound},
      {"--max-time", kBound},
      {"--max-memory", kBound},
  };
  for (const auto& [option, remedy] : kWithout) {
    if (!sub.given(option)) continue;
    return session.fail(kUsage, cat(option, " means nothing for ", path, "; ", remedy));
  }
  return true;
}

ArtifactRun artifact_run(Command sub, const TargetOptions& options) {
  ArtifactRun out;
  if (sub.given("--threads")) out.threads = static_cast<unsigned>(options.threads);
  if (sub.given("--denormals")) out.denormals = denormals_of(options.denormals);
  return out;
}

}  // namespace relay::tools
