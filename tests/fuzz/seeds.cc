// The sound inputs that mutations start from: programs of the other tests, models that ship with
// the project or come with ONNX, and small files made here.
#include <zip.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/cat.h"
#include "base/check.h"
#include "base/file.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/data/params.h"
#include "frontend/data/safetensors.h"
#include "frontend/onnx/testing.h"
#include "tests/fuzz/readers.h"
#include "tools/test_files/test_file.h"

namespace relay::fuzz {
namespace {

namespace fs = std::filesystem;
using frontend::TestModel;
using frontend::data::NamedTensors;

constexpr DType kDTypes[] = {kBool,     kInt4,    kUInt4,   kInt8,       kInt16,     kInt32,
                             kInt64,    kUInt8,   kUInt16,  kUInt32,     kUInt64,    kFloat16,
                             kBFloat16, kFloat32, kFloat64, kFloat8E4M3, kFloat8E5M2};

Tensor numbers(DType dtype, const Shape& shape) {
  Tensor t(dtype, shape);
  for (int64_t i = 0; i < t.size(); ++i) t.set_int(i, i % 2);
  return t;
}

// --- models

std::string convolution() {
  return TestModel()
      .input("x", {"n", 3, 8, 8})
      .floats("w", {4, 3, 3, 3})
      .floats("b", {4})
      .node("Conv", {"x", "w", "b"}, {"y"})
      .attr("pads", std::vector<int64_t>{1, 1, 1, 1})
      .attr("kernel_shape", std::vector<int64_t>{3, 3})
      .attr("group", 1)
      .node("Relu", {"y"}, {"r"})
      .node("MaxPool", {"r"}, {"p"})
      .attr("kernel_shape", std::vector<int64_t>{2, 2})
      .attr("strides", std::vector<int64_t>{2, 2})
      .attr("ceil_mode", 1)
      .ints("s", {0, -1})
      .node("Reshape", {"p", "s"}, {"f"})
      .floats("g", {64, 5})
      .node("Gemm", {"f", "g"}, {"q"})
      .node("Softmax", {"q"}, {"z"})
      .attr("axis", -1)
      .output("z")
      .bytes();
}

std::string shape_arithmetic() {
  return TestModel()
      .input("x", {"n", "m", 8})
      .ints("zero", {0}, true)
      .ints("axes", {0})
      .ints("rest", {-1})
      .ints("one", {1})
      .node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "zero"}, {"i"})
      .node("Unsqueeze", {"i", "axes"}, {"j"})
      .node("Mul", {"j", "one"}, {"k"})
      .node("Concat", {"k", "rest"}, {"shape"})
      .attr("axis", 0)
      .node("Reshape", {"x", "shape"}, {"y"})
      .node("Slice", {"y", "axes", "rest", "one"}, {"z"})
      .node("Transpose", {"z"}, {"t"})
      .attr("perm", std::vector<int64_t>{1, 0})
      .output("t")
      .output("shape")
      .bytes();
}

std::string recurrent() {
  return TestModel()
      .input("x", {3, 1, 2})
      .floats("w", {1, 12, 2})
      .floats("r", {1, 12, 3})
      .floats("b", {1, 24})
      .node("LSTM", {"x", "w", "r", "b"}, {"y", "h", "c"})
      .attr("hidden_size", 3)
      .output("y")
      .output("c")
      .bytes();
}

::onnx::GraphProto branch(const std::string& op, const std::string& output) {
  ::onnx::GraphProto g;
  ::onnx::NodeProto& n = *g.add_node();
  n.set_op_type(op);
  n.add_input("x");
  n.add_output(output);
  g.add_output()->set_name(output);
  return g;
}

std::string control_flow() {
  ::onnx::GraphProto body;
  for (const char* name : {"i", "go", "state"}) body.add_input()->set_name(name);
  for (const auto& [op, from, to] :
       {std::tuple("Identity", "go", "again"), std::tuple("Abs", "state", "next")}) {
    ::onnx::NodeProto& n = *body.add_node();
    n.set_op_type(op);
    n.add_input(from);
    n.add_output(to);
    body.add_output()->set_name(to);
  }
  return TestModel()
      .input("x", {4})
      .input("c", {}, ::onnx::TensorProto::BOOL)
      .ints("trips", {3}, true)
      .node("If", {"c"}, {"y"})
      .attr("then_branch", branch("Relu", "t"))
      .attr("else_branch", branch("Neg", "e"))
      .node("Loop", {"trips", "c", "y"}, {"z"})
      .attr("body", body)
      .output("z")
      .bytes();
}

// The node tests of ONNX, where they are installed: each of its operators in its own words.
void add_models_beneath(const std::string& folder, size_t most_bytes, Seeds& out) {
  std::error_code error;
  std::vector<std::string> paths;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().filename() == "model.onnx" && it->file_size() <= most_bytes)
      paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  for (const std::string& path : paths) {
    if (read_file(path, most_bytes, out.emplace_back()).empty()) continue;
    out.pop_back();
  }
}

// --- texts

constexpr std::string_view kKernels[] = {
    R"(kernel @`odd name`(x: float32[n, 8], `x y`: int8[]) -> (y: float32[n, 8]) {
  origin "a \"test\"";
  shape k;
  temporary t: float32[n];
  parallel i in n {
    vectorized j in 8 {
      let a = x[i, j] * 2f;
      if (a < 0f) { y[i, j] = a; } else { y[i, j] = a + a; }
    }
    unrolled j in 8 { require (j < 8 + k, "never"); }
    local l: float32[8] {
      for j in 8 { l[j] = 1f; }
      shared s: float32[] { s[] = float32(`x y`[]); sequence { nothing; } sequence { } t[i] = s[]; }
    }
  }
}
def @main(%x: float32) { @`odd name`(%x) }
)",
    R"(kernel @layer(x: float32[n, 8], w: float32[4, 8]) -> (y: float32[n, 4]) {
  origin "nn.dense + nn.relu";
  temporary dense: float32[n, 4];
  for i0 in n {
    for i1 in 4 {
      for r0 in 8 {
        block dense {
          spatial vi0 in n = i0;
          spatial vi1 in 4 = i1;
          reduction vr0 in 8 = r0;
          reads dense[vi0, vi1], x[vi0, vr0], w[vi1, vr0];
          writes dense[vi0, vi1];
          init { dense[vi0, vi1] = 0f; }
          dense[vi0, vi1] = dense[vi0, vi1] + x[vi0, vr0] * w[vi1, vr0];
        }
      }
    }
  }
  parallel i0 in n {
    vectorized i1 in 4 {
      block y {
        spatial vi0 in n = i0;
        spatial vi1 in 4 = i1;
        reads dense[vi0, vi1];
        writes y[vi0, vi1];
        y[vi0, vi1] = max(dense[vi0, vi1], 0f);
      }
    }
  }
}
)",
    R"(kernel @scalars(x: float32[8], y: float32[m]) -> (z: float32[8]) {
  for i in 8 {
    block z {
      spatial v in 8 = i;
      where i < 8;
      reads x[v], y[0 : m];
      writes z[v];
      let a = float32(trunc_div(int32(x[v]), 2i32) // 3i32 % 4i32);
      if (v < 3 && (m == 0 || v >= m)) { z[v] = select(isnan(x[v]), 0f, a); } else { z[v] = exp(-x[v]) * 0.25f; }
    }
  }
}
)",
    R"(kernel @shifts(x: int8[4]) -> (z: uint64[4]) {
  for i in 4 {
    block z {
      spatial v in 4 = i;
      reads x[v];
      writes z[v];
      z[v] = bit_xor(uint64(shift_left(bit_and(x[v], 7i8), 1i8)), 18446744073709551615u64);
    }
  }
}
)"};

constexpr std::string_view kMetadata = R"(#[version = "0.0.5"]
def @main(%x: Tensor[(meta[IntImm][0], meta[tir.Var][0], meta[tir.Any][0]), float32]) {
  add(add(%x, meta[relay.Constant][0]), meta[relay.Constant][2])
}
def @f() { (meta[relay.Constant][0], meta[relay.Constant][1]) }
def @g(%x: Tensor[(2), float32]) { reshape(%x, newshape=[meta[IntImm][0], 1]) }
#[metadata]
{
  "root": 1,
  "nodes": [
    {"type_key": ""},
    {"type_key": "Map", "keys": ["IntImm", "relay.Constant", "tir.Var", "tir.Any", "relay.attrs.X", "runtime.String"],
     "data": [2, 3, 4, 5, 12, 13]},
    {"type_key": "Array", "data": [6]},
    {"type_key": "Array", "data": [7, 8, 7]},
    {"type_key": "Array", "data": [9]},
    {"type_key": "Array", "data": [10]},
    {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "2"}},
    {"type_key": "relay.Constant", "attrs": {"data": "0"}},
    {"type_key": "relay.Constant", "attrs": {"data": "1"}},
    {"type_key": "tir.Var", "attrs": {"name": "11"}},
    {"type_key": "tir.Any", "attrs": {"dtype": "int32"}},
    {"type_key": "runtime.String", "repr_str": "batch"},
    {"type_key": "Array", "data": [14]},
    {"type_key": "Array", "data": [11]},
    {"type_key": "relay.attrs.X", "attrs": {"a": "1"}}
  ],
  "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA=",
                  "P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAEBAQABAAAAAAAAAAE="],
  "attrs": {"tvm_version": "0.18.0"}
}
)";

template <class Make>
const Seeds& made_once(const Make& make) {
  static const Seeds seeds = make();
  CHECK(!seeds.empty(), "a reader has no seeds: are the files of the tests not there?");
  return seeds;
}

}  // namespace

const Seeds& program_seeds() {
  return made_once([] {
    Seeds out;
    for (const char* folder : {"tests/golden", "tests/exec"}) {
      for (const std::string& path : tools::test_files_beneath(folder)) {
        const tools::TestFile file = tools::read_test_file(path);
        const std::string* input = file.find("input");
        if (!input) continue;
        // Programs that must fail are many, and what starts from one seldom gets
        // past where it fails.
        const bool sound = path.find("/fail_") == std::string::npos;
        out.insert(out.end(), sound ? 6 : 1, *input);
      }
    }
    return out;
  });
}

const Seeds& kernel_seeds() {
  return made_once([] { return Seeds(std::begin(kKernels), std::end(kKernels)); });
}

const Seeds& metadata_seeds() {
  return made_once([] {
    const std::string text(kMetadata);
    const std::string constants = "def @f() { (meta[relay.Constant][0], meta[relay.Constant][1]) }\n";
    return Seeds{text, constants + text.substr(text.find("#[metadata]"))};
  });
}

const Seeds& pattern_seeds() {
  return made_once([] {
    Seeds out;
    for (const std::string& path : tools::test_files_beneath("tests/golden/pattern")) {
      const tools::TestFile file = tools::read_test_file(path);
      if (const std::string* pattern = file.find("pattern")) out.push_back(*pattern);
    }
    return out;
  });
}

const Seeds& npy_seeds() {
  return made_once([] {
    Seeds out;
    for (DType dtype : kDTypes) {
      for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 0, 3}, Shape{2, 3}})
        out.push_back(frontend::data::npy_bytes(numbers(dtype, shape)));
    }
    // Turned around: big-endian, column-major.
    for (const auto& [from, to] : {std::pair("'<", "'>"), std::pair("False", "True ")}) {
      std::string bytes = frontend::data::npy_bytes(numbers(kInt32, {2, 3}));
      bytes.replace(bytes.find(from), std::string_view(from).size(), to);
      out.push_back(bytes);
    }
    return out;
  });
}

std::string archive_of(const std::vector<std::pair<std::string, std::string>>& entries, bool compressed) {
  if (entries.empty()) return std::string("PK\x05\x06", 4) + std::string(18, '\0');  // libzip writes nothing
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* buffer = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_source_keep(buffer);
  zip_t* zip = zip_open_from_source(buffer, ZIP_TRUNCATE, &error);
  CHECK(zip != nullptr, "no archive can be made");
  for (const auto& [name, text] : entries) {
    zip_source_t* part = zip_source_buffer(zip, text.data(), text.size(), 0);
    const zip_int64_t i = zip_file_add(zip, name.c_str(), part, ZIP_FL_ENC_UTF_8);
    if (i < 0) {  // the name is there already
      zip_source_free(part);
      continue;
    }
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(i), compressed ? ZIP_CM_DEFLATE : ZIP_CM_STORE,
                             0);
    zip_file_set_dostime(zip, static_cast<zip_uint64_t>(i), 12 << 11, 1 << 5 | 1, 0);
  }
  CHECK(zip_close(zip) == 0, "the archive cannot be closed");
  zip_stat_t facts;
  zip_stat_init(&facts);
  zip_source_open(buffer);
  zip_source_stat(buffer, &facts);
  std::string out(facts.size, '\0');
  zip_source_read(buffer, out.data(), out.size());
  zip_source_close(buffer);
  zip_source_free(buffer);
  return out;
}

const Seeds& npz_seeds() {
  return made_once([] {
    const Seeds& npy = npy_seeds();
    return Seeds{
        archive_of({{"x.npy", npy[0]}, {"y.npy", npy[5]}}, false),
        archive_of({{"x.npy", frontend::data::npy_bytes(numbers(kInt8, {300}))}, {"a/b:0.npy", npy[9]}},
                   true),
        archive_of({}, false)};
  });
}

const Seeds& safetensors_seeds() {
  return made_once([] {
    Seeds out;
    frontend::data::Safetensors all;
    for (DType dtype : kDTypes) {
      const std::string name = cat("t.", dtype.name());
      all.tensors.push_back({name, numbers(dtype, {3, 2})});
      Diagnostics d;
      frontend::data::Safetensors one;
      one.tensors.push_back({name, numbers(dtype, {})});
      one.tensors.push_back({"none", numbers(dtype, {0, 2})});
      out.push_back(*frontend::data::safetensors_bytes(one, d));
    }
    all.metadata["format"] = "relay";
    Diagnostics d;
    out.push_back(*frontend::data::safetensors_bytes(all, d));
    return out;
  });
}

const Seeds& tensor_seeds() {
  return made_once([] {
    Seeds out;
    for (DType dtype : kDTypes)
      out.push_back(frontend::data::onnx_tensor_bytes({"w", numbers(dtype, {2, 3})}));
    // The same in fields instead of bytes.
    TestModel m;
    m.ints("i", {1, -2, 3}).floats("f", {2, 2}, 1.5f);
    for (const ::onnx::TensorProto& t : m.graph->initializer()) out.push_back(t.SerializeAsString());
    ::onnx::TensorProto elsewhere;
    elsewhere.set_name("w");
    elsewhere.set_data_type(::onnx::TensorProto::INT32);
    for (int i = 0; i < 3; ++i) elsewhere.add_int32_data(i);
    elsewhere.add_dims(3);
    out.push_back(elsewhere.SerializeAsString());
    elsewhere.clear_int32_data();
    elsewhere.set_data_location(::onnx::TensorProto::EXTERNAL);
    ::onnx::StringStringEntryProto& e = *elsewhere.add_external_data();
    e.set_key("location");
    e.set_value("../w.bin");
    out.push_back(elsewhere.SerializeAsString());
    return out;
  });
}

const Seeds& model_seeds() {
  return made_once([] {
    Seeds out{convolution(), shape_arithmetic(), recurrent(), control_flow()};
    add_models_beneath("examples/models", size_t{64} << 10, out);
    add_models_beneath("/usr/share/libonnx-testdata/data/node", size_t{2} << 10, out);
    add_models_beneath("/usr/share/libonnx-testdata/data/simple", size_t{2} << 10, out);
    return out;
  });
}

// Each operator on its own, and what this project makes of them: without the models that are large.
const Seeds& runnable_model_seeds() {
  return made_once([] {
    Seeds out{convolution(), shape_arithmetic(), recurrent(), control_flow()};
    add_models_beneath("examples/models", size_t{32} << 10, out);
    add_models_beneath("/usr/share/libonnx-testdata/data/node", size_t{4} << 10, out);
    return out;
  });
}

const Seeds& params_seeds() {
  return made_once([] {
    Seeds out;
    NamedTensors all;
    for (DType dtype : kDTypes) {
      if (dtype.code == DTypeCode::kFloat8E4M3 || dtype.code == DTypeCode::kFloat8E5M2) continue;
      Diagnostics d;
      out.push_back(
          *frontend::data::params_bytes({{"w", numbers(dtype, {3, 2})}, {"none", numbers(dtype, {0})}}, d));
      all.push_back({cat("t.", dtype.name()), numbers(dtype, {})});
    }
    Diagnostics d;
    out.push_back(*frontend::data::params_bytes(all, d));
    return out;
  });
}

// Graphs without parameters, so that a reader has all there is in one text: what the golden tests
// of writing one show, and what those of reading one read.
const Seeds& graph_seeds() {
  return made_once([] {
    Seeds out;
    for (const std::string& path : tools::test_files_beneath("tests/golden/graph")) {
      const tools::TestFile file = tools::read_test_file(path);
      if (path.find("/fail_") != std::string::npos) continue;
      if (const std::string* text = file.find("output"); text && text->starts_with('{')) out.push_back(*text);
      const std::string* files = file.find("files");
      constexpr std::string_view kName = "graph.json: ";
      if (files && files->starts_with(kName)) {
        const size_t end = files->find("graph.params: ");
        const size_t length = end == std::string::npos ? end : end - kName.size();
        out.push_back(files->substr(kName.size(), length));
      }
    }
    return out;
  });
}

}  // namespace relay::fuzz
