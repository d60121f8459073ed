// Graphs as modules, and modules as graphs: what is written is read back and
// computes the same bits.
#include <filesystem>

#include "base/file.h"
#include "driver/graph_testing.h"
#include "frontend/data/params.h"
#include "frontend/graph/export.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"

namespace relay::driver {
namespace {

using testing::floats;
using testing::Import;
using testing::import;
using testing::one;
using testing::run;

Module parsed(std::string_view text) {
  Diagnostics d;
  ParseOptions options;
  const Result<Module> m = parse("test.relay", std::string(text), d, op::operators(), options);
  const Result<Module> checked = m ? typecheck::check(*m, d) : Result<Module>(kReported);
  EXPECT_TRUE(checked.ok()) << d.render(options.into.context().sources());
  return checked ? *checked : Module();
}

// Up to fusion, as `relay compile --emit graph` does.
Module fused(const Module& m, int level) {
  const passes::Pipeline pipeline = passes::until(passes::default_pipeline(level), passes::kLower);
  Diagnostics d;
  const Result<Module> out = passes::run_pipeline(m, pipeline, {}, d);
  EXPECT_TRUE(out.ok()) << d.render(m.context().sources());
  return out ? *out : m;
}

Tensor counting(DType dtype, const Shape& shape) {
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < t.size(); ++i) t.set(i, static_cast<double>(i % 13) / 4 - 1);
  return t;
}

std::vector<Tensor> inputs_of(const Module& m) {
  std::vector<Tensor> out;
  for (const Var* p : m.function("main")->params) {
    const auto& type = *p->type->as<TensorType>();
    out.push_back(counting(type.dtype, *type.static_shape()));
  }
  return out;
}

// As an importer left them.
frontend::GraphNames names_of(const Module& m) {
  frontend::GraphNames out;
  const Attrs& attrs = m.function("main")->attrs;
  for (const AttrValue& v : attrs.find("input_names")->list) out.inputs.push_back(v.string.str());
  for (const AttrValue& v : attrs.find("output_names")->list) out.outputs.push_back(v.string.str());
  return out;
}

constexpr std::string_view kNet = R"(
def @main(%x: Tensor[(1, 4, 8, 8), float32], %w: Tensor[(4, 4, 3, 3), float32]) {
  %0 = nn.relu(nn.conv2d(%x, %w, padding=[1, 1]));
  %1 = nn.max_pool2d(%0, pool_size=[2, 2], strides=[2, 2]);
  %2 = split(%1, indices_or_sections=2, axis=1);
  let %y = nn.dense(nn.batch_flatten(%1), ones(shape=[10, 64], dtype="float32") * 0.125f);
  (nn.softmax(%y + 1f), %2.0, reshape(%2.1, newshape=[32]), concatenate(%2, axis=1), %x)
}
)";

TEST(GraphRoundTrip, GivesTheSameBitsAtEveryLevel) {
  for (int level = 0; level <= 3; ++level) {
    const Module m = fused(parsed(kNet), level);
    Diagnostics d;
    const Result<frontend::GraphContents> out = frontend::export_graph(m, "main", {}, d);
    ASSERT_TRUE(out.ok()) << d.render({});
    const Result<std::string> text = frontend::graph_text(out->graph, d);
    const Result<std::string> params = frontend::data::params_bytes(out->params, d);
    ASSERT_TRUE(text && params) << d.render({});
    const Result<frontend::Graph> again = frontend::parse_graph(*text, "g.json", {}, d);
    ASSERT_TRUE(again.ok()) << d.render({});
    const Import back = import(*again, *frontend::data::parse_params(*params, "g.params", {}, d));
    ASSERT_TRUE(back.module.ok()) << back.said();
    const std::vector<Tensor> inputs = inputs_of(m), want = run(m, inputs), got = run(*back.module, inputs);
    ASSERT_EQ(want.size(), got.size());
    for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(identical(want[i], got[i])) << level << " " << i;

    // What was read is written as it was.
    const Result<frontend::GraphContents> twice =
        frontend::export_graph(*back.module, "main", names_of(*back.module), d);
    ASSERT_TRUE(twice.ok()) << d.render({});
    EXPECT_EQ(*frontend::graph_text(twice->graph, d), *text) << level;
    EXPECT_EQ(*frontend::data::params_bytes(twice->params, d), *params) << level;
  }
}

TEST(GraphExport, LooksAsOtherExecutorsExpect) {
  Diagnostics d;
  const Result<frontend::GraphContents> out = frontend::export_graph(fused(parsed(kNet), 1), "main", {}, d);
  ASSERT_TRUE(out.ok()) << d.render({});
  const frontend::Graph& g = out->graph;
  std::vector<std::string> functions;
  for (const frontend::GraphNode& n : g.nodes) {
    if (!n.is_call()) continue;
    functions.push_back(*n.find("func_name"));
    EXPECT_EQ(*n.find("num_inputs"), cat(n.inputs.size()));
    EXPECT_EQ(*n.find("flatten_data"), "0");
  }
  EXPECT_EQ(std::count(functions.begin(), functions.end(), "fused_nn_conv2d_nn_relu"), 1);
  EXPECT_EQ(std::count(functions.begin(), functions.end(), "__nop"), 2);
  ASSERT_EQ(out->params.size(), 1u);
  EXPECT_EQ(out->params[0].name, "p0");
  EXPECT_EQ(g.heads.size(), 5u);
  EXPECT_EQ(g.heads[4].node, 0u) << "an input may be a result";
}

// Entries that are alive at once never share memory; what is dead is used again.
TEST(GraphExport, MemoryIsSharedWhereNothingLives) {
  std::string text = "def @main(%x: Tensor[(4, 4), float32]) {\n";
  for (int i = 0; i < 12; ++i)
    text +=
        cat("  %", i, " = nn.softmax(", i ? cat("%", i - 1) : std::string("%x"), ", axis=", i % 2, ");\n");
  Diagnostics d;
  const Result<frontend::GraphContents> out =
      frontend::export_graph(fused(parsed(text + "  add(%11, %0)\n}"), 0), "main", {}, d);
  ASSERT_TRUE(out.ok()) << d.render({});
  const frontend::Graph& g = out->graph;
  std::vector<size_t> last(g.dltype.size(), 0);
  for (size_t at = 0; at < g.nodes.size(); ++at) {
    for (const frontend::GraphEntry& e : g.nodes[at].inputs) last[g.entry(e)] = at;
  }
  for (const frontend::GraphEntry& e : g.heads) last[g.entry(e)] = g.nodes.size();
  for (size_t a = 0; a < g.nodes.size(); ++a) {
    for (size_t b = a + 1; b < g.nodes.size(); ++b) {
      if (g.storage_id[a] == g.storage_id[b]) {
        EXPECT_LT(last[a], b) << a << " " << b;
      }
    }
  }
  EXPECT_LE(*std::max_element(g.storage_id.begin(), g.storage_id.end()), 4);
}

TEST(GraphExport, ConstantsInsideOfFunctionsBecomeParameters) {
  const Module m = parsed(R"(
def @main(%x: Tensor[(3), float32]) {
  %0 = fn (%p: Tensor[(3), float32], Primitive=True) -> Tensor[(3), float32] { multiply(add(%p, tensor([1, 2, 3], float32)), 2f) };
  %0(%x)
})");
  Diagnostics d;
  const Result<frontend::GraphContents> out = frontend::export_graph(m, "main", {}, d);
  ASSERT_TRUE(out.ok()) << d.render({});
  ASSERT_EQ(out->params.size(), 1u);
  const Import back = import(out->graph, out->params);
  ASSERT_TRUE(back.module.ok()) << back.said();
  EXPECT_EQ(run(*back.module, inputs_of(m))[0].doubles(), (std::vector<double>{0, 2.5, 5}));
}

TEST(GraphExport, AConstantMayBeAResult) {
  for (const char* text : {"def @main() { 2f }", "def @main() { let %x = 2f; %x }",
                           "def @main(%x: float32) { let %y = %x; let %z = (%y, 2f); (%z, 2f) }"}) {
    const Module m = parsed(text);
    Diagnostics d;
    const Result<frontend::GraphContents> out = frontend::export_graph(m, "main", {}, d);
    ASSERT_TRUE(out.ok()) << d.render({});
    const Import back = import(out->graph, out->params);
    ASSERT_TRUE(back.module.ok()) << back.said();
    EXPECT_EQ(run(*back.module, inputs_of(m)).back().doubles(), (std::vector<double>{2}));
  }
}

TEST(GraphExport, RefusesWhatIsNoStaticDataflow) {
  const auto refusal = [](std::string_view text) {
    const Module m = parsed(text);
    Diagnostics d;
    EXPECT_FALSE(frontend::export_graph(m, "main", {}, d).ok());
    return d.render(m.context().sources());
  };
  EXPECT_NE(
      refusal("def @main(%x: Tensor[(), bool]) { if (%x) { 1f } else { 2f } }").find("`if` is not static"),
      std::string::npos);
  EXPECT_NE(refusal("def @main(%x: Tensor[(n), float32]) { nn.relu(%x) }").find("[dynamic-shape]"),
            std::string::npos);
  EXPECT_NE(refusal("def @f(%x: float32) { %x } def @main(%x: float32) { @f(%x) }").find("another function"),
            std::string::npos);
  EXPECT_NE(refusal("def @main(%x: float32) { ref_read(ref(%x)) }").find("a reference"), std::string::npos);
  EXPECT_NE(
      refusal(
          "def @main(%x: float32) { %0 = fn (%p: float32, Primitive=True) { (%p, (abs(%p), %p)) }; %0(%x) }")
          .find("a tuple of tuples"),
      std::string::npos);
  Diagnostics d;
  EXPECT_FALSE(frontend::export_graph(parsed("def @main() { 1f }"), "none", {}, d).ok());
}

// --- what a graph says of itself -----------------------------------------------------------------

// A call of a function with a definition, on an input of four elements.
std::string defined(const std::string& definition, const std::string& shape = "[4]",
                    const std::string& function = "f") {
  return cat(R"({"nodes": [{"op": "null", "name": "x", "inputs": []},
    {"op": "tvm_op", "name": "y", "attrs": {"func_name": ")",
             function, R"(", "num_inputs": "1", "num_outputs": "1", "flatten_data": "0")",
             definition.empty() ? "" : cat(", \"relay\": \"", definition, "\""),
             R"(}, "inputs": [[0, 0, 0]]}],
    "arg_nodes": [0], "heads": [[1, 0, 0]],
    "attrs": {"dltype": ["list_str", ["float32", "float32"]], "shape": ["list_shape", [[4], )",
             shape, R"(]], "storage_id": ["list_int", [0, 1]]}, "node_row_ptr": [0, 1, 2]})");
}

std::string refused(const std::string& json, const frontend::data::NamedTensors& params = {},
                    const frontend::GraphImportOptions& options = {}) {
  const Import in = import(json, params, options);
  EXPECT_FALSE(in.module.ok()) << json;
  return in.said();
}

constexpr const char* kDouble =
    "fn (%p: Tensor[(4), float32], Primitive=True) -> Tensor[(4), float32] { add(%p, %p) }";

TEST(GraphImport, RunsItsDefinitions) {
  const Import in = import(defined(kDouble));
  ASSERT_TRUE(in.module.ok()) << in.said();
  EXPECT_EQ(run(*in.module, {floats({4}, {1, 2, 3, 4})})[0].doubles(), (std::vector<double>{2, 4, 6, 8}));
  const Fn& main = *in.module->function("main");
  EXPECT_EQ(main.attrs.find("output_names")->list[0].string.text(), "y");
}

TEST(GraphImport, KnowsTheFunctionsOfEveryExecutor) {
  const Import nop = import(defined("", "[2, 2]", "__nop"));
  ASSERT_TRUE(nop.module.ok()) << nop.said();
  EXPECT_EQ(run(*nop.module, {floats({4}, {1, 2, 3, 4})})[0].shape(), (Shape{2, 2}));
  const Import none = import(R"({"nodes": [{"op": "null", "name": "x", "inputs": []},
    {"op": "tvm_op", "name": "y", "attrs": {"func_name": "__nop", "num_inputs": "1", "num_outputs": "1",
     "flatten_data": "0"}, "inputs": [[0, 0, 0]]}], "arg_nodes": [0], "heads": [[1, 0, 0]], "node_row_ptr": [0, 1, 2],
    "attrs": {"dltype": ["list_str", ["float32", "float32"]], "shape": ["list_shape", [[3, 0], [0, 5]]],
              "storage_id": ["list_int", [0, 0]]}})");
  EXPECT_TRUE(none.module.ok()) << "extents of 0 are extents: " << none.said();
  const Import copy = import(defined("", "[4]", "__copy"));
  ASSERT_TRUE(copy.module.ok()) << copy.said();
  EXPECT_NE(refused(defined("", "[3]", "__nop")).find("[graph-type-error]"), std::string::npos);
}

TEST(GraphImport, DefinitionsAreChecked) {
  const auto said = [](const std::string& text, const char* words) {
    EXPECT_NE(text.find(words), std::string::npos) << text;
  };
  said(refused(defined("fn (")), "g.json: `f`:1:");
  said(refused(defined("3f")), "[graph-definition]");
  said(refused(defined("fn (%p) { %p }")), "[graph-definition]");
  said(refused(defined("fn (%p: Tensor[(4), float32], Primitive=True) { %p }")), "[graph-definition]");
  said(refused(defined("fn (%p: Tensor[(4), float32]) -> Tensor[(4), float32] { %p }")),
       "[graph-definition]");
  said(refused(defined("fn (%p: Tensor[(5), float32], Primitive=True) -> Tensor[(5), float32] { %p }")),
       "[graph-type-error]");
  said(
      refused(defined("fn (%p: Tensor[(4), float32], Primitive=True) -> Tensor[(2), float32] { %p }", "[2]")),
      "error");
  said(refused(defined(kDouble, "[5]")), "its result 0 is Tensor[(4), float32], and the graph says");
  said(refused(
           defined("fn (Primitive=True) -> Tensor[(4), float32] { ones(shape=[4], dtype=\\\"float32\\\") }")),
       "[graph-type-error]");
}

TEST(GraphImport, AllUnknownFunctionsAreNamedAtOnce) {
  const std::string said = refused(R"({"nodes": [
    {"op": "null", "name": "x", "inputs": []},
    {"op": "tvm_op", "name": "a", "attrs": {"func_name": "fused_nn_conv2d_add", "num_inputs": "1",
     "num_outputs": "1", "flatten_data": "0"}, "inputs": [[0, 0, 0]]},
    {"op": "tvm_op", "name": "b", "attrs": {"func_name": "fused_nn_conv2d_add", "num_inputs": "1",
     "num_outputs": "1", "flatten_data": "0"}, "inputs": [[1, 0, 0]]},
    {"op": "tvm_op", "name": "c", "attrs": {"func_name": "fused_nn_softmax", "num_inputs": "1",
     "num_outputs": "1", "flatten_data": "0"}, "inputs": [[2, 0, 0]]}],
    "arg_nodes": [0], "heads": [[3, 0, 0]], "node_row_ptr": [0, 1, 2, 3, 4],
    "attrs": {"dltype": ["list_str", ["float32", "float32", "float32", "float32"]],
              "shape": ["list_shape", [[4], [4], [4], [4]]], "storage_id": ["list_int", [0, 1, 2, 3]]}})");
  for (const char* words :
       {"3 nodes call functions", "[unsupported-function]", "`fused_nn_conv2d_add`: nodes `a`, `b`",
        "`fused_nn_softmax`: node `c`", "relay compile --emit graph"})
    EXPECT_NE(said.find(words), std::string::npos) << said;
}

TEST(GraphImport, ParametersMustFit) {
  const Tensor four = floats({4}, {1, 2, 3, 4});
  const Import in = import(defined(kDouble), {{"x", four}});
  ASSERT_TRUE(in.module.ok()) << in.said();
  EXPECT_TRUE(in.module->function("main")->params.empty());
  EXPECT_EQ(run(*in.module, {})[0].doubles(), (std::vector<double>{2, 4, 6, 8}));
  EXPECT_NE(refused(defined(kDouble), {{"x", floats({1}, {1})}}).find("[graph-parameter]"),
            std::string::npos);
  const Import more = import(defined(kDouble), {{"x", four}, {"z", four}});
  EXPECT_TRUE(more.module.ok());
  EXPECT_NE(more.said().find("`z` [graph-unused-parameter]"), std::string::npos) << more.said();
}

TEST(GraphImport, ShapesAreGivenOnce) {
  frontend::GraphImportOptions options;
  options.input_shapes["x"] = {5};
  EXPECT_NE(refused(defined(kDouble), {}, options).find("[input-shape-mismatch]"), std::string::npos);
  options.input_shapes = {{"z", {4}}};
  EXPECT_NE(refused(defined(kDouble), {}, options).find("[input-unknown]"), std::string::npos);
  EXPECT_NE(refused(one("relu", {"x"}, "")).find("[graph-input-shape]"), std::string::npos);
}

// --- files ---------------------------------------------------------------------------------------

class GraphFolder : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(folder_.make(), ""); }
  void touch(const std::string& name) const {
    ASSERT_EQ(write_file_atomically(folder_.path() + "/" + name, "x"), "");
  }
  std::string found(const std::string& path = "") const {
    Diagnostics d;
    const Result<frontend::GraphFiles> files = frontend::graph_files(folder_.path() + path, d);
    if (!files) return d.all().front().message();
    const auto name = [](const std::string& p) { return std::filesystem::path(p).filename().string(); };
    return cat(name(files->graph), " ", name(files->params));
  }

  TemporaryFolder folder_;
};

TEST_F(GraphFolder, FilesGoByTheirNames) {
  EXPECT_NE(found().find("has no graph"), std::string::npos);
  touch("deploy_graph.json");
  EXPECT_EQ(found(), "deploy_graph.json ");
  touch("deploy_param.params");
  EXPECT_EQ(found(), "deploy_graph.json deploy_param.params") << "the only one";
  touch("other.json");
  EXPECT_NE(found().find("several graphs: `deploy_graph.json`, `other.json`"), std::string::npos);
  EXPECT_EQ(found("/other.json"), "other.json deploy_param.params");
  touch("graph.json");
  touch("other.params");
  EXPECT_EQ(found("/other.json"), "other.json other.params");
  EXPECT_NE(found().find("several files of parameters"), std::string::npos);
  touch("graph.params");
  EXPECT_EQ(found(), "graph.json graph.params");
}

}  // namespace
}  // namespace relay::driver
