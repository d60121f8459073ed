// Graphs in the format of TVM's graph executor: JSON, to a structure and back (docs/graphs.md).
//
// Nodes stand in the order in which they run: each reads results of nodes before it. The results of
// all nodes, one after the other, are the entries of the graph; what is known of each (dtype,
// shape, storage) stands in lists over the entries.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "runtime/tensor.h"

namespace relay::frontend {

// A result of a node.
struct GraphEntry {
  uint32_t node = 0, index = 0, version = 0;
};

struct GraphNode {
  std::string op;    // "null": an input or a parameter; "tvm_op": calls a function; otherwise an operator
  std::string name;  // of a null node: distinct from those of all others
  std::map<std::string, std::string> attrs = {};
  std::vector<GraphEntry> inputs = {};
  std::vector<uint32_t> control_deps = {};  // nodes that must have run

  bool is_input() const { return op == "null"; }
  bool is_call() const { return op == "tvm_op"; }
  const std::string* find(const std::string& attr) const {
    const auto it = attrs.find(attr);
    return it == attrs.end() ? nullptr : &it->second;
  }
};

struct Graph {
  std::vector<GraphNode> nodes;
  std::vector<uint32_t> arg_nodes;  // the null nodes, in an order of their own
  std::vector<GraphEntry> heads;    // the results
  std::vector<uint32_t>
      node_row_ptr;  // first entry of each node, and their number; graphs of operators may lack it
  // One for each entry. Graphs with calls have the first three; each may be empty otherwise.
  std::vector<std::string> dltype;  // "float32"
  std::vector<Shape> shape;
  std::vector<int64_t> storage_id;  // entries of one number share memory; -1: none
  std::vector<int64_t> device_index;
  std::vector<std::string> storage_scope;
  // The null nodes whose values stand in the file of parameters; the other ones are inputs. Graphs
  // that Relay writes say it, so that a lost file is noticed. In other graphs it is empty, and that
  // file alone tells them apart.
  std::vector<uint32_t> parameters;

  // Where what is known of a result stands in the lists. The graph must have node_row_ptr.
  size_t entry(const GraphEntry& e) const { return node_row_ptr[e.node] + e.index; }
};

struct GraphLimits {
  size_t nodes = 1'000'000;
  size_t edges = 10'000'000;  // inputs of all nodes
};

// Everything that the format allows is read, `metadata` and attributes of no meaning to us
// are skipped, and nothing else: what a number refers to is there, lists have one element for
// each entry, shapes have a size. Reports "graph-invalid" or "limit-nodes". `source` names
// the file in messages.
Result<Graph> parse_graph(std::string_view json, std::string_view source, const GraphLimits& limits,
                          Diagnostics& diagnostics);

// The same text for the same graph, one node a line. Reports "graph-unwritable" if a
// name is not UTF-8.
Result<std::string> graph_text(const Graph& graph, Diagnostics& diagnostics);

}  // namespace relay::frontend
