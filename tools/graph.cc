// relay graph: what a graph of the graph runtime says, also one whose functions are in a library
// that is not here.
#include "tools/graph.h"

#include <fmt/format.h>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "aot/new_folders.h"
#include "base/cat.h"
#include "base/counted.h"
#include "base/escape.h"
#include "driver/engines.h"
#include "frontend/data/params.h"
#include "frontend/graph/export.h"
#include "frontend/graph/import.h"
#include "frontend/graph/operators.h"
#include "tools/options/options.h"

namespace relay::tools {
namespace {

using frontend::Graph;
using frontend::GraphEntry;
using frontend::GraphNode;

std::string function_of(const GraphNode& n) {
  if (n.is_input()) return "input";
  const std::string* function = n.find("func_name");
  return n.is_call() && function ? *function : n.op;
}

// Does the graph, or the program that reads it, know what the node computes?
bool is_defined(const GraphNode& n) {
  if (n.is_input()) return true;
  if (!n.is_call()) return frontend::is_graph_operator(n.op);
  const std::string function = function_of(n);
  return n.find(frontend::kDefinition) || function == frontend::kReshapeFunction ||
         function == frontend::kCopyFunction;
}

uint64_t bytes_of(const Graph& g, size_t entry) {
  const std::optional<DType> dtype = frontend::dtype_of_graph(g.dltype[entry]);
  return dtype ? static_cast<uint64_t>(*element_count(g.shape[entry])) * dtype->bytes() : 0;
}

// What the executor of the format allocates: each storage number once, as large as
// its largest entry.
uint64_t storage_of(const Graph& g) {
  std::map<int64_t, uint64_t> blocks;
  for (size_t e = 0; e < g.storage_id.size() && e < g.dltype.size() && e < g.shape.size(); ++e) {
    uint64_t& block = blocks[g.storage_id[e]];
    block = std::max(block, bytes_of(g, e));
  }
  uint64_t sum = 0;
  for (const auto& [number, bytes] : blocks) sum += bytes;
  return sum;
}

// "conv[1]": the second result of the node
std::string show(const Graph& g, const GraphEntry& e) {
  return cat(g.nodes[e.node].name, e.index ? cat("[", e.index, "]") : "");
}

std::string line_of(const Graph& g, size_t at, bool is_parameter) {
  const GraphNode& n = g.nodes[at];
  std::string out =
      fmt::format("{:>4} {:<32} {:<24}", at, harmless(is_parameter ? "parameter" : function_of(n), ""),
                  harmless(n.name, ""));
  out += cat(" (", harmless(join(n.inputs, ", ", [&](const GraphEntry& e) { return show(g, e); }), ""), ")");
  for (size_t e = g.shape.empty() ? 0 : g.node_row_ptr[at]; !g.shape.empty() && e < g.node_row_ptr[at + 1];
       ++e) {
    out += cat(e == g.node_row_ptr[at] ? " -> " : ", ",
               g.dltype.empty() ? "" : cat(harmless(g.dltype[e], ""), " "), relay::show(g.shape[e]));
    if (!g.storage_id.empty()) out += cat(" in ", g.storage_id[e]);
  }
  return out + (is_defined(n) ? "\n" : "  (not defined)\n");
}

void run(const std::string& path, Session& s) {
  if (path.ends_with(".onnx") || path.ends_with(".relay")) {
    s.fail(kUsage,
           cat(path, ": only a graph has nodes to list, its folder or .json; `relay compile MODEL ",
               "--emit graph -o DIR` makes one of a model, and `relay check MODEL` lists its operators"));
    return;
  }
  Diagnostics diagnostics;
  const Result<frontend::GraphFiles> files = frontend::graph_files(path, diagnostics);
  const Result<frontend::GraphContents> read =
      files ? frontend::read_graph(*files, {}, diagnostics) : kReported;
  s.fail(diagnostics, {});
  if (!read) return;
  const Graph& g = read->graph;
  std::map<std::string_view, const Tensor*> params;
  uint64_t param_bytes = 0;
  for (const frontend::data::NamedTensor& p : read->params) {
    params.emplace(p.name, &p.value);
    param_bytes += p.value.bytes();
  }
  nlohmann::ordered_json inputs = nlohmann::ordered_json::array(), undefined = inputs, heads = inputs;
  for (const GraphNode& n : g.nodes) {
    if (n.is_input() && !params.contains(n.name)) inputs.push_back(n.name);
    if (!is_defined(n)) undefined.push_back({{"node", n.name}, {"function", function_of(n)}});
  }
  for (const GraphEntry& e : g.heads) heads.push_back(show(g, e));
  if (s.json) {
    s.print_json({{"nodes", g.nodes.size()},
                  {"inputs", inputs},
                  {"outputs", heads},
                  {"parameters", read->params.size()},
                  {"parameter_bytes", param_bytes},
                  {"storage_bytes", storage_of(g)},
                  {"undefined", undefined}});
    return;
  }
  std::string out;
  for (size_t i = 0; i < g.nodes.size(); ++i)
    out += line_of(g, i, g.nodes[i].is_input() && params.contains(g.nodes[i].name));
  const auto names = [](const nlohmann::ordered_json& list) {
    return harmless(join(list, ", ", [](const auto& name) { return name.template get<std::string>(); }), "");
  };
  out += cat("inputs: ", names(inputs), "\noutputs: ", names(heads), "\nparameters: ", read->params.size(),
             " of ", param_bytes, " bytes\nstorage: ", storage_of(g), " bytes\n");
  if (!undefined.empty())
    out += cat("not defined: ", counted(undefined.size(), "node"), ", which a library defines\n");
  s.print(out);
}

struct GraphPaths {
  std::string graph, params;
};
GraphPaths paths_in(const std::string& folder) {
  const std::filesystem::path in(folder);
  return {(in / "graph.json").string(), (in / "graph.params").string()};
}

}  // namespace

std::vector<std::string> files_of_graph(const std::string& folder) {
  const GraphPaths to = paths_in(folder);
  return {to.graph, to.params};
}

std::string cannot_write_graph(const std::string& folder) {
  for (const std::string& file : files_of_graph(folder)) {
    if (std::string wrong = aot::cannot_write_in_folders(file); !wrong.empty()) return wrong;
  }
  return {};
}

void emit_graph(const driver::Model& model, const passes::Pipeline& pipeline, const driver::Options& options,
                const std::string& folder, Session& s) {
  Diagnostics diagnostics;
  const SourceMap& sources = model.module.context().sources();
  const Result<Module> fused = driver::optimise(model.module, model.function, pipeline, options, diagnostics);
  const Result<frontend::GraphContents> graph =
      fused ? frontend::export_graph(*fused, "main", {model.input_names, model.output_names}, diagnostics)
            : kReported;
  const Result<std::string> text = graph ? frontend::graph_text(graph->graph, diagnostics) : kReported;
  const Result<std::string> params =
      text ? frontend::data::params_bytes(graph->params, diagnostics) : kReported;
  s.fail(diagnostics, sources);
  if (!params) return;
  if (folder.empty()) {
    s.print(*text);
    return;
  }
  const GraphPaths to = paths_in(folder);
  const FileContents files[] = {{to.params, *params}, {to.graph, *text}};
  if (std::string wrong = aot::write_files_in_folders(files); !wrong.empty()) {
    s.fail(kLimit, wrong);
    return;
  }
  if (s.json) {
    s.print_json({{"graph", to.graph},
                  {"params", to.params},
                  {"nodes", graph->graph.nodes.size()},
                  {"parameters", graph->params.size()}});
  }
  s.say(cat("wrote ", to.graph, " and ", to.params, ": ", counted(graph->graph.nodes.size(), "node"), ", ",
            counted(graph->params.size(), "parameter"), "\n"));
}

void add_graph(Command app, Session& session) {
  auto path = std::make_shared<std::string>();
  Command sub = app.command("graph", "list the nodes of a graph and what is not known of them");
  sub.option("graph", path.get(), "a graph: its folder or .json").required();
  sub.action([path, &session] { run(*path, session); });
}

}  // namespace relay::tools
