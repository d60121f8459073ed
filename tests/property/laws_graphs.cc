// A law about graphs: what is written is read back as a program that computes the same bits, and
// written alike again.
#include "base/cat.h"
#include "frontend/data/params.h"
#include "frontend/graph/export.h"
#include "frontend/graph/import.h"
#include "passes/reference.h"
#include "passes/runner.h"
#include "tests/property/law_list.h"
#include "tests/property/run.h"

namespace relay::property {
namespace {

using frontend::GraphContents;

// The files of a graph.
struct Written {
  std::string graph, params;
};

Result<Written> write(const Module& m, const frontend::GraphNames& names, Diagnostics& diagnostics) {
  const Result<GraphContents> graph = frontend::export_graph(m, "main", names, diagnostics);
  if (!graph) return kReported;
  const Result<std::string> text = frontend::graph_text(graph->graph, diagnostics);
  const Result<std::string> params = frontend::data::params_bytes(graph->params, diagnostics);
  if (!text || !params) return kReported;
  return Written{*text, *params};
}

Result<Module> read(const Written& files, const Module& empty, Diagnostics& diagnostics) {
  const Result<frontend::Graph> graph = frontend::parse_graph(files.graph, "graph.json", {}, diagnostics);
  const Result<frontend::data::NamedTensors> params =
      frontend::data::parse_params(files.params, "graph.params", {}, diagnostics);
  if (!graph || !params) return kReported;
  return frontend::import_graph({*graph, *params}, "graph.json", empty, {}, diagnostics);
}

// Tuples are taken apart in a graph.
Run flattened(Run run) {
  if (run.kind != Run::Kind::kValue) return run;
  std::vector<Value> all;
  for (const Tensor& t : passes::tensors_of(run.value)) all.push_back(Value(t));
  run.value = Value::tuple(std::move(all));
  return run;
}

}  // namespace

std::string broken_written_graph(const Program& p, ByteSource choices, Tally& tally) {
  std::string wrong;
  const Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  const Run want = flattened(interpret(*m, p.args));
  // Nodes that nothing needs are not run, so that what traps in them does not.
  if (want.kind != Run::Kind::kValue || !want.exact) return {};
  const passes::Pipeline pipeline =
      passes::until(passes::default_pipeline(static_cast<int>(choices.below(4))), passes::kLower);
  Diagnostics diagnostics;
  const Result<Module> fused = passes::run_pipeline(*m, pipeline, {}, diagnostics);
  if (!fused) return diagnostics.render(m->context().sources());
  const Result<Written> files = write(*fused, {}, diagnostics);
  if (!files) {
    ++tally[cat("refused: ", diagnostics.all().front().slug().name())];
    return {};
  }
  const Module empty;
  const Result<Module> back = read(*files, empty, diagnostics);
  const Result<Module> typed = back ? checked(*back, wrong) : Result<Module>(kReported);
  if (!typed)
    return cat("the graph cannot be read: ", diagnostics.render(empty.context().sources()), wrong,
               files->graph);
  ++tally["read back"];
  if (const std::string differs = difference(flattened(interpret(*typed, p.args)), want); !differs.empty())
    return cat("after ", passes::show(pipeline), ", read from its graph: ", differs, "\n", files->graph,
               text_of(*typed));

  frontend::GraphNames names;
  for (const AttrValue& v : typed->function("main")->attrs.find("input_names")->list)
    names.inputs.push_back(v.string.str());
  for (const AttrValue& v : typed->function("main")->attrs.find("output_names")->list)
    names.outputs.push_back(v.string.str());
  const Result<Written> once = write(*typed, names, diagnostics);
  const Module other;
  const Result<Module> again = once ? read(*once, other, diagnostics) : Result<Module>(kReported);
  const Result<Module> retyped = again ? checked(*again, wrong) : Result<Module>(kReported);
  const Result<Written> twice = retyped ? write(*retyped, names, diagnostics) : Result<Written>(kReported);
  if (!twice) return cat("written again: ", diagnostics.render(other.context().sources()), wrong);
  if (twice->graph != once->graph || twice->params != once->params)
    return cat("written, read and written again:\n", twice->graph, "instead of:\n", once->graph);
  return {};
}

}  // namespace relay::property
