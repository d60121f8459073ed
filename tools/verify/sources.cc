#include "tools/verify/sources.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>

#include "base/cat.h"
#include "tools/test_files/test_file.h"

namespace relay::tools {
namespace {

namespace fs = std::filesystem;

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool is_file(const fs::path& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// What a folder holds, sorted; hidden entries and what is no file or folder are left out.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (!it->path().filename().string().starts_with('.')) out.push_back(it->path().lexically_normal());
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool has_file(const fs::path& folder, std::string_view ending) {
  const std::vector<fs::path> entries = entries_of(folder);
  return std::any_of(entries.begin(), entries.end(),
                     [&](const fs::path& p) { return p.extension() == ending && is_file(p); });
}

// Which command a test file is a test of, by its first line: "exec", "opt --passes=fuse";
// empty for a text.
std::string tested_command(const fs::path& path) {
  if (path.extension() != ".relay" || !is_file(path)) return "";
  char head[64] = {};
  std::ifstream(path).read(head, sizeof head - 1);
  const std::string_view line = std::string_view(head).substr(0, std::string_view(head).find('\n'));
  return line.starts_with("RUN ") ? std::string(line.substr(4)) : std::string();
}

// A folder that is one model: with its data, or a graph.
std::optional<VerifySource> model_in(const fs::path& folder) {
  VerifySource out;
  out.name = folder.string();
  for (const char* file : {"model.onnx", "model.relay"}) {
    if (out.model.empty() && is_file(folder / file)) out.model = (folder / file).string();
  }
  if (out.model.empty()) {
    // Other programs keep things in .json files too.
    const bool graph =
        is_file(folder / "graph.json") || (has_file(folder, ".json") && has_file(folder, ".params"));
    if (!graph) return std::nullopt;
    out.model = folder.string();
  }
  const std::string set = (folder / "test_data_set_0").string();
  const std::string inputs = (folder / "inputs").string(), outputs = (folder / "outputs").string();
  if (is_folder(inputs)) {
    out.inputs = inputs;
    if (is_folder(outputs)) out.outputs = outputs;
  } else if (is_folder(set)) {
    out.inputs = out.outputs = set;
  }
  return out;
}

// All beneath a folder; `others` counts tests of other commands.
std::vector<VerifySource> sources_beneath(const fs::path& folder, size_t& others) {
  std::vector<VerifySource> out;
  std::vector<fs::path> pending{folder};
  while (!pending.empty()) {
    const fs::path path = pending.back();
    pending.pop_back();
    if (is_folder(path)) {
      if (std::optional<VerifySource> model = model_in(path)) {
        out.push_back(std::move(*model));
        continue;
      }
      std::vector<fs::path> entries = entries_of(path);
      // A link to a folder may lead back to where it stands.
      std::erase_if(entries, [](const fs::path& p) {
        std::error_code error;
        return is_folder(p) && fs::is_symlink(p, error);
      });
      pending.insert(pending.end(), entries.rbegin(), entries.rend());
      continue;
    }
    const std::string command = tested_command(path);
    const bool text = path.extension() == ".relay" && command.empty();
    if (is_exec(command)) {
      out.push_back({.name = path.string(), .is_exec = true});
    } else if ((text || path.extension() == ".onnx") && is_file(path)) {
      out.push_back({.name = path.string(), .model = path.string()});
    } else {
      others += !command.empty();
    }
  }
  return out;
}

}  // namespace

Result<std::vector<VerifySource>> find_sources(const std::vector<std::string>& paths, Session& session) {
  std::vector<VerifySource> out;
  for (const std::string& path : paths) {
    const bool named_as_model =
        path.ends_with(".onnx") || path.ends_with(".relay") || path.ends_with(".json");
    if (named_as_model || !is_folder(path)) {
      const std::string command = tested_command(path);
      if (!command.empty() && !is_exec(command)) {
        session.fail(kUsage, cat(path, ": it is a test of `", command,
                                 "`; of the test files those of `exec` can be verified"));
        return kReported;
      }
      std::error_code error;
      if (!named_as_model && !fs::exists(path, error)) {
        session.fail(
            kUsage,
            cat(path,
                ": there is no such file or folder; a model is a .onnx, .relay or .json file, or a folder"));
        return kReported;
      }
      // That a file is no model is said by who reads it.
      out.push_back({.name = path, .model = path, .is_exec = is_exec(command)});
      continue;
    }
    size_t others = 0;
    std::vector<VerifySource> found = sources_beneath(path, others);
    if (found.empty() && has_file(path, ".json")) found.push_back({.name = path, .model = path});
    if (found.empty()) {
      session.fail(kUsage, cat(path, ": there is no model and no exec test in this folder or beneath it"));
      return kReported;
    }
    if (others > 0)
      session.say(cat("relay: ", path, ": ", others, " tests of other commands are left out\n"));
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

}  // namespace relay::tools
