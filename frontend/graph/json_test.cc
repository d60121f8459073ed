// The format: every field is read, every injury is refused with words that name it.
#include "frontend/graph/json.h"

#include <gtest/gtest.h>

#include "base/cat.h"

namespace relay::frontend {
namespace {

// A graph as TVM writes them: a fused function with two inputs, and a reshape that
// shares its memory.
constexpr std::string_view kCompiled = R"({
  "nodes": [
    {"op": "null", "name": "data", "inputs": []},
    {"op": "null", "name": "p0", "inputs": []},
    {"op": "tvm_op", "name": "tvmgen_default_fused_nn_dense_nn_relu",
     "attrs": {"num_outputs": "1", "num_inputs": "2", "flatten_data": "0", "hash": "b4e1",
               "func_name": "tvmgen_default_fused_nn_dense_nn_relu"},
     "inputs": [[0, 0, 0], [1, 0, 0]]},
    {"op": "tvm_op", "name": "reshape_nop",
     "attrs": {"num_outputs": "1", "num_inputs": "1", "flatten_data": "0", "func_name": "__nop"},
     "inputs": [[2, 0, 0]], "control_deps": [2]}
  ],
  "arg_nodes": [0, 1],
  "heads": [[3, 0, 0]],
  "attrs": {
    "dltype": ["list_str", ["float32", "float32", "float32", "float32"]],
    "device_index": ["list_int", [1, 1, 1, 1]],
    "storage_id": ["list_int", [0, 1, 2, 2]],
    "shape": ["list_shape", [[1, 4], [8, 4], [1, 8], [8]]],
    "more": ["size_t", 4]
  },
  "node_row_ptr": [0, 1, 2, 3, 4],
  "metadata": {"signature": "of nobody"}
})";

// As NNVM saves a graph that is not compiled.
constexpr std::string_view kOperators = R"({
  "nodes": [
    {"op": "null", "name": "x", "inputs": []},
    {"op": "relu", "name": "relu0", "inputs": [[0, 0]]}
  ],
  "arg_nodes": [0],
  "heads": [[1, 0]]
})";

Result<Graph> parse(std::string_view text, Diagnostics& d, const GraphLimits& limits = {}) {
  return parse_graph(text, "g.json", limits, d);
}

Graph sound(std::string_view text) {
  Diagnostics d;
  Result<Graph> g = parse(text, d);
  EXPECT_TRUE(g.ok()) << d.render({});
  return g ? std::move(*g) : Graph{};
}

std::string refusal(std::string_view text, const GraphLimits& limits = {}) {
  Diagnostics d;
  EXPECT_FALSE(parse(text, d, limits).ok()) << text;
  EXPECT_EQ(d.errors(), 1u) << text;
  return d.render({});
}

std::string replaced(std::string_view from, std::string_view to, std::string_view text = kCompiled) {
  std::string out(text);
  const size_t at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? out : out.replace(at, from.size(), to);
}

// The compiled graph with one text in the place of another is refused with these words.
void damaged(std::string_view from, std::string_view to, std::string_view words) {
  const std::string said = refusal(replaced(from, to));
  EXPECT_NE(said.find(words), std::string::npos) << from << " -> " << to << "\n" << said;
}

TEST(GraphJson, ReadsEveryField) {
  const Graph g = sound(kCompiled);
  ASSERT_EQ(g.nodes.size(), 4u);
  EXPECT_TRUE(g.nodes[0].is_input());
  EXPECT_EQ(g.nodes[1].name, "p0");
  const GraphNode& call = g.nodes[2];
  EXPECT_TRUE(call.is_call());
  EXPECT_EQ(*call.find("func_name"), "tvmgen_default_fused_nn_dense_nn_relu");
  EXPECT_EQ(*call.find("hash"), "b4e1");
  ASSERT_EQ(call.inputs.size(), 2u);
  EXPECT_EQ(call.inputs[1].node, 1u);
  EXPECT_EQ(g.nodes[3].control_deps, (std::vector<uint32_t>{2}));
  EXPECT_EQ(g.arg_nodes, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(g.heads[0].node, 3u);
  EXPECT_EQ(g.dltype[2], "float32");
  EXPECT_EQ(g.device_index, (std::vector<int64_t>{1, 1, 1, 1}));
  EXPECT_EQ(g.storage_id, (std::vector<int64_t>{0, 1, 2, 2}));
  EXPECT_EQ(g.shape[1], (Shape{8, 4}));
  EXPECT_EQ(g.node_row_ptr, (std::vector<uint32_t>{0, 1, 2, 3, 4}));
  EXPECT_EQ(g.entry({3, 0, 0}), 3u);
}

TEST(GraphJson, OperatorsNeedNoAttributes) {
  const Graph g = sound(kOperators);
  EXPECT_EQ(g.nodes[1].op, "relu");
  EXPECT_TRUE(g.shape.empty());
  // The key of old files.
  const std::string old =
      replaced("\"inputs\": [[0, 0]]", "\"attr\": {\"a\": \"1\"}, \"inputs\": [[0, 0]]", kOperators);
  EXPECT_EQ(*sound(old).nodes[1].find("a"), "1");
}

TEST(GraphJson, WhatIsWrittenIsReadAndWrittenAlike) {
  for (std::string_view text : {kCompiled, kOperators}) {
    Diagnostics d;
    const Result<std::string> once = graph_text(sound(text), d);
    ASSERT_TRUE(once.ok()) << d.render({});
    const Result<std::string> twice = graph_text(sound(*once), d);
    ASSERT_TRUE(twice.ok());
    EXPECT_EQ(*once, *twice);
  }
}

TEST(GraphJson, IsTextOfOneObject) {
  for (const char* text : {"", "{", "[]", "null", "3", "\"\"", "{}", "{} {}", "\xff", "{\"nodes\": []}"})
    EXPECT_NE(refusal(text).find("[graph-invalid]"), std::string::npos) << text;
}

TEST(GraphJson, EachFieldIsChecked) {
  damaged("\"arg_nodes\"", "\"argnodes\"", "unknown key `argnodes`");
  damaged("\"heads\": [[3, 0, 0]],", "", "it has no `heads`");
  damaged("\"heads\": [[3, 0, 0]]", "\"heads\": []", "no heads");
  damaged("[[3, 0, 0]]", "[[4, 0, 0]]",
          "an entry of `heads` is a result of node 4, and only those before node 4 are known there");
  damaged("[[3, 0, 0]]", "[[3, 1, 0]]", "result 1 of node 3");
  damaged("[[3, 0, 0]]", "[[3]]", "not a list of a node, an index and a version");
  damaged("[[3, 0, 0]]", "[[3, 0, 0, 0]]", "not a list of a node, an index and a version");
  damaged("[[3, 0, 0]]", "[[3, 0, -1]]", "the version of an entry of `heads`");
  damaged("\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0]", "lacks node 1 (`p0`)");
  damaged("\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0, 0, 1]", "has node 0 (`data`) twice");
  damaged("\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0, 1, 2]", "which is no input");
  damaged("\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0, 1.5]", "not an integer of 0 to 3");
  damaged("\"arg_nodes\": [0, 1]", "\"arg_nodes\": [0, 99999999999999999999]", "not an integer of 0 to 3");
  damaged("\"name\": \"p0\"", "\"name\": \"data\"", "two inputs are called `data`");
  damaged("\"name\": \"p0\"", "\"name\": 7", "`name` of node 1 is not a text");
  damaged("\"name\": \"p0\", ", "", "node 1 has no `name`");
  damaged("\"name\": \"p0\"", "\"named\": \"p0\"", "node 1 has no `name`");
  damaged("\"op\": \"null\"", "\"op\": \"null\", \"op\": \"null\"", "the key `op` twice");
  damaged("\"hash\": \"b4e1\"", "\"hash\": 5", "attribute `hash` of node 2 is not a text");
  damaged("[2]}", "[3]}", "a control dependency of node 3");
  damaged("[[2, 0, 0]]", "[[3, 0, 0]]", "an input of node 3 (`reshape_nop`) is a result of node 3");
  damaged("[[2, 0, 0]]", "[[2, 5, 0]]", "result 5 of node 2");
  damaged("\"num_inputs\": \"2\"", "\"num_inputs\": \"3\"", "has 2 inputs and says 3");
  damaged("\"num_inputs\": \"2\"", "\"num_inputs\": \"two\"", "`two` and not a number");
  damaged("\"num_outputs\": \"1\"", "\"num_outputs\": \"2\"", "says 2 results");
  damaged("\"flatten_data\": \"0\"", "\"flatten_data\": \"2\"", "neither 0 nor 1");
  damaged("\"flatten_data\": \"0\", ", "", "no attribute `flatten_data`");
  damaged("\"num_inputs\": \"1\", ", "", "no attribute `num_inputs`");
  damaged("\"func_name\": \"__nop\"", "\"function\": \"__nop\"", "no attribute `func_name`");
  damaged("[0, 1, 2, 3, 4]", "[0, 1, 2, 3]", "has 4 elements");
  damaged("[0, 1, 2, 3, 4]", "[1, 1, 2, 3, 4]", "does not start at 0");
  damaged("[0, 1, 2, 3, 4]", "[0, 1, 1, 3, 4]", "gives node 1 (`p0`) no result");
  damaged("[0, 1, 2, 3, 4]", "[0, 2, 3, 4, 5]", "gives the input node 0 (`data`) several results");
  damaged(",\n  \"node_row_ptr\": [0, 1, 2, 3, 4]", "", "has no `node_row_ptr`");
  damaged("\"list_str\"", "\"list_int\"", "has type `list_int` and not `list_str`");
  damaged("[1, 1, 1, 1]", "[1, 1, 1]", "has 3 elements for 4 results");
  damaged("[1, 1, 1, 1]", "[1, 1, 1, -2]", "not an integer of -1 to 2147483647");
  damaged("[0, 1, 2, 2]", "[0, 1, 2, 4294967296]", "not an integer of -1 to 2147483647");
  damaged("[8, 4]", "[8, -4]", "an extent of a shape is not an integer");
  damaged("[8, 4]", "[4294967296, 4294967296]", "too large");
  damaged("[8, 4]", "[9223372036854775807]", "too large");
  damaged("[8, 4]", "7", "an element of attribute `shape` is not a list");
  damaged("\"storage_id\": [\"list_int\", [0, 1, 2, 2]],", "", "lack `dltype`, `shape` or `storage_id`");
  damaged("[\"size_t\", 4]", "4", "not a list of its type and its value");
  std::string rank = "[";
  for (int i = 0; i < 65; ++i) rank += i ? ", 1" : "1";
  damaged("[8, 4]", rank + "]", "more than 64 dimensions");
}

TEST(GraphJson, NothingRunsInCircles) {
  const std::string said = refusal(replaced("[[0, 0, 0], [1, 0, 0]]", "[[0, 0, 0], [3, 0, 0]]"));
  EXPECT_NE(said.find("an input of node 2"), std::string::npos) << said;
}

TEST(GraphJson, DepthIsRefusedAtOnce) {
  EXPECT_NE(refusal(std::string(1 << 20, '[')).find("nested too deeply"), std::string::npos);
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += "{\"a\":";
  EXPECT_NE(refusal(objects).find("nested too deeply"), std::string::npos);
}

TEST(GraphJson, LimitsHold) {
  EXPECT_NE(refusal(kCompiled, {.nodes = 3}).find("[limit-nodes]"), std::string::npos);
  EXPECT_NE(refusal(kCompiled, {.edges = 2}).find("[limit-nodes]"), std::string::npos);
}

TEST(GraphJson, NamesThatAreNoTextCannotBeWritten) {
  Graph g = sound(kOperators);
  g.nodes[0].name = "\xff";
  Diagnostics d;
  EXPECT_FALSE(graph_text(g, d).ok());
  EXPECT_NE(d.render({}).find("[graph-unwritable]"), std::string::npos);
}

}  // namespace
}  // namespace relay::frontend
