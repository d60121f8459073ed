#include "frontend/graph/files.h"

#include <algorithm>
#include <filesystem>
#include <span>

#include "base/cat.h"
#include "frontend/data/map_file.h"
#include "frontend/data/params.h"

namespace relay::frontend {
namespace {

namespace fs = std::filesystem;

// Names of the regular files of the folder with this ending, sorted.
std::vector<std::string> files_ending(const fs::path& folder, std::string_view ending) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with(ending) && it->is_regular_file(error)) out.push_back(name);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace

Result<GraphFiles> graph_files(const std::string& path, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string why, std::string remedy) -> Reported {
    diagnostics.error(Span::none(), "graph-files", std::move(why)).note(std::move(remedy));
    return kReported;
  };
  const auto listed = [](const std::vector<std::string>& names) {
    const std::span few(names.data(), std::min(names.size(), size_t{8}));
    return cat(join(few, ", ", [](const std::string& n) { return cat("`", n, "`"); }),
               few.size() < names.size() ? ", ..." : "");
  };
  GraphFiles out;
  std::error_code error;
  fs::path graph(path);
  if (fs::is_directory(graph, error)) {
    const std::vector<std::string> graphs = files_ending(graph, ".json");
    const bool standard = std::find(graphs.begin(), graphs.end(), "graph.json") != graphs.end();
    if (graphs.empty())
      return refuse(cat("the folder `", path, "` has no graph"),
                    "a graph folder holds graph.json and graph.params");
    if (!standard && graphs.size() > 1)
      return refuse(cat("the folder `", path, "` has several graphs: ", listed(graphs)),
                    "name the file, as in DIR/net.json");
    graph /= standard ? "graph.json" : graphs[0];
    out.is_folder = true;
  }
  out.graph = graph.string();
  const fs::path folder = graph.has_parent_path() ? graph.parent_path() : fs::path(".");
  const std::vector<std::string> params = files_ending(folder, ".params");
  const std::string same = fs::path(graph).filename().replace_extension(".params").string();
  if (std::find(params.begin(), params.end(), same) != params.end()) {
    out.params = fs::path(graph).replace_extension(".params").string();
  } else if (params.size() == 1) {
    out.params = (graph.parent_path() / params[0]).string();
  } else if (params.size() > 1) {
    return refuse(cat("there are several files of parameters beside `", out.graph, "`: ", listed(params)),
                  cat("rename the one that belongs to the graph to ", same));
  } else {
    out.missing = fs::path(graph).replace_extension(".params").string();
  }
  return out;
}

Result<GraphContents> read_graph(const GraphFiles& files, const GraphReadLimits& limits,
                                 Diagnostics& diagnostics) {
  const auto json = data::map_file(files.graph, limits.files.file_bytes, diagnostics);
  if (!json) return kReported;
  Result<Graph> graph = parse_graph(json->bytes, files.graph, limits.graph, diagnostics);
  if (!graph) return kReported;
  GraphContents out{std::move(*graph), {}, files.params.empty() ? files.missing : files.params};
  if (files.params.empty()) return out;
  const auto bytes = data::map_file(files.params, limits.files.file_bytes, diagnostics);
  if (!bytes) return kReported;
  Result<data::NamedTensors> params =
      data::parse_params(bytes->bytes, files.params, limits.files, diagnostics);
  if (!params) return kReported;
  out.params = std::move(*params);
  return out;
}

}  // namespace relay::frontend
