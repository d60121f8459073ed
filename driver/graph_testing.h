// For tests of graphs as modules.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/cat.h"
#include "frontend/graph/import.h"
#include "interp/machine.h"
#include "typecheck/check.h"

namespace relay::driver::testing {

// A graph as a typed module, or why it is none.
struct Import {
  Module empty;
  Diagnostics diagnostics;
  Result<Module> module = kReported;

  std::string said() const { return diagnostics.render(empty.context().sources()); }
};

inline Import import(const frontend::Graph& graph, const frontend::data::NamedTensors& params = {},
                     const frontend::GraphImportOptions& options = {}) {
  Import out;
  const Result<Module> m = frontend::import_graph(frontend::GraphContents{graph, params}, "g.json", out.empty,
                                                  options, out.diagnostics);
  if (m) out.module = typecheck::check(*m, out.diagnostics);
  return out;
}

inline Import import(std::string_view json, const frontend::data::NamedTensors& params = {},
                     const frontend::GraphImportOptions& options = {}) {
  Diagnostics d;
  const Result<frontend::Graph> graph = frontend::parse_graph(json, "g.json", {}, d);
  EXPECT_TRUE(graph.ok()) << d.render({});
  return graph ? import(*graph, params, options) : Import{};
}

inline std::vector<Tensor> run(const Module& m, const std::vector<Tensor>& inputs) {
  std::vector<Value> args;
  for (const Tensor& t : inputs) args.push_back(Value(t));
  const Value v = interp::Machine(m).call("main", args);
  if (v.is_tensor()) return {v.tensor()};
  std::vector<Tensor> out;
  for (const Value& f : v.fields()) out.push_back(f.tensor());
  return out;
}

// A graph of one operator on these inputs; texts in its attributes stand in single quotes here.
inline std::string one(const std::string& op, const std::vector<std::string>& inputs,
                       const std::string& attrs) {
  std::string nodes, ids, edges;
  for (size_t i = 0; i < inputs.size(); ++i) {
    nodes += cat("{\"op\": \"null\", \"name\": \"", inputs[i], "\", \"inputs\": []}, ");
    ids += cat(i ? ", " : "", i);
    edges += cat(i ? ", " : "", "[", i, ", 0, 0]");
  }
  std::string quoted = attrs;
  std::replace(quoted.begin(), quoted.end(), '\'', '"');
  return cat("{\"nodes\": [", nodes, "{\"op\": \"", op, "\", \"name\": \"y\", \"attrs\": {", quoted,
             "}, \"inputs\": [", edges, "]}], \"arg_nodes\": [", ids, "], \"heads\": [[", inputs.size(),
             ", 0, 0]]}");
}

inline Tensor floats(const Shape& shape, const std::vector<double>& values) {
  return Tensor::of<double>(kFloat32, shape, values);
}

}  // namespace relay::driver::testing
