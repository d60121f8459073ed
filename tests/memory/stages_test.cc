// Each stage from a file to a result without memory for one request: it ends as out of memory, and
// can be done again.
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include "aot/emit.h"
#include "aot/program.h"
#include "base/cat.h"
#include "base/file.h"
#include "frontend/data/inputs.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/data/params.h"
#include "frontend/data/safetensors.h"
#include "frontend/graph/export.h"
#include "frontend/graph/import.h"
#include "frontend/onnx/import.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"
#include "pattern/text.h"
#include "tests/memory/programs.h"
#include "tests/memory/trials.h"
#include "tools/model.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

constexpr uint64_t kFew = 20;  // requests that any of these makes at least

Module parsed(std::string_view text) {
  Diagnostics diagnostics;
  const ParseOptions options;
  Result<Module> m = parse("m.relay", std::string(text), diagnostics, op::operators(), options);
  if (!m) throw_reported(diagnostics);
  return std::move(*m);
}

Module checked(const Module& m) {
  Diagnostics diagnostics;
  Result<Module> out = typecheck::check(m, diagnostics);
  if (!out) throw_reported(diagnostics);
  return std::move(*out);
}

Module after(const Module& m, const passes::Pipeline& pipeline) {
  Diagnostics diagnostics;
  Result<Module> out = passes::run_pipeline(m, pipeline, {}, diagnostics);
  if (!out) throw_reported(diagnostics);
  return std::move(*out);
}

std::shared_ptr<void> kept(Module m) { return std::make_shared<Module>(std::move(m)); }
const Module& module_of(void* prepared) { return *static_cast<const Module*>(prepared); }

// Up to fusion, as `relay compile --emit graph` does.
passes::Pipeline until_lower() { return passes::until(passes::default_pipeline(2), passes::kLower); }

frontend::data::NamedTensors some_tensors() {
  frontend::data::NamedTensors out;
  out.push_back({"a", Tensor(kFloat32, {2, 3})});
  out.push_back({"b", Tensor(kInt64, {4})});
  out.push_back({"c", Tensor(kBool, {})});
  for (frontend::data::NamedTensor& t : out) {
    for (int64_t i = 0; i < t.value.size(); ++i) t.value.set(i, static_cast<double>(i % 2));
  }
  return out;
}

std::string shown(const frontend::data::NamedTensors& tensors) {
  std::string out;
  for (const frontend::data::NamedTensor& t : tensors) {
    out += cat(t.name, ": ", t.value.dtype().name(), " ", show(t.value.shape()));
    for (int64_t i = 0; i < t.value.size(); ++i) out += cat(" ", t.value.get(i));
    out += "\n";
  }
  return out;
}

// Streams of the C++ library end quietly where there is no memory.
std::string bytes_of(const std::string& path) {
  std::string out;
  if (const std::string wrong = read_file(path, UINT64_MAX, out); !wrong.empty())
    throw std::runtime_error(wrong);
  return out;
}

// --- text ----------------------------------------------------------------------------------------

TEST(FailingAllocation, ReadingAProgram) {
  EXPECT_GT(refuse_each({.act = [](void*) { return op::text_of(parsed(kLanguage)); }}), kFew);
}

TEST(FailingAllocation, SayingWhatIsWrongWithAProgram) {
  EXPECT_GT(refuse_each({.act =
                             [](void*) {
                               Diagnostics diagnostics;
                               const ParseOptions options;
                               (void)parse("m.relay",
                                           "def @main(%x: Tensor[(3), flat32]) {\n  ad(%x, %y)\n}\n",
                                           diagnostics, op::operators(), options);
                               return diagnostics.render(options.into.context().sources());
                             }}),
            kFew);
}

TEST(FailingAllocation, ReadingAPattern) {
  EXPECT_GT(refuse_each({.act =
                             [](void*) {
                               Diagnostics diagnostics;
                               const ParseOptions options;
                               const Result<pattern::Pattern> p =
                                   pattern::parse("p", "nn.relu(add(nn.conv2d(_, _), _)) | tanh(add(_, _))",
                                                  diagnostics, options);
                               if (!p) throw_reported(diagnostics);
                               return pattern::print(*p);
                             }}),
            kFew);
}

TEST(FailingAllocation, CheckingTypes) {
  EXPECT_GT(refuse_each({.prepare = [] { return kept(parsed(kLanguage)); },
                         .act = [](void* m) { return op::text_of(checked(module_of(m))); }}),
            kFew);
}

TEST(FailingAllocation, PrintingAProgram) {
  EXPECT_GT(refuse_each({.prepare = [] { return kept(checked(parsed(kLanguage))); },
                         .act = [](void* m) { return op::text_of(module_of(m)); }}),
            kFew);
}

// --- passes and runs -----------------------------------------------------------------------------

TEST(FailingAllocation, PassesOfANetwork) {
  EXPECT_GT(
      refuse_each(
          {.prepare = [] { return kept(checked(parsed(kNetwork))); },
           .act = [](void* m) { return op::text_of(after(module_of(m), passes::default_pipeline(2))); }}),
      kFew);
}

TEST(FailingAllocation, PassesOfTheLanguage) {
  EXPECT_GT(
      refuse_each(
          {.prepare = [] { return kept(checked(parsed(kLanguage))); },
           .act = [](void* m) { return op::text_of(after(module_of(m), passes::default_pipeline(2))); }}),
      kFew);
}

TEST(FailingAllocation, AnInterpretedRun) {
  EXPECT_GT(
      refuse_each({.prepare = [] { return kept(checked(parsed(kLanguage))); },
                   .act =
                       [](void* m) {
                         Tensor x(kFloat32, {3});
                         for (int64_t i = 0; i < 3; ++i) x.set(i, static_cast<double>(i));
                         std::vector<Value> args{Value(x), Value(Tensor::scalar_int(kInt32, 5))};
                         return interp::show(interp::Machine(module_of(m)).call("main", std::move(args)));
                       }}),
      kFew);
}

// --- code ----------------------------------------------------------------------------------------

// What the ahead-of-time compiler writes, before a C++ compiler has it.
TEST(FailingAllocation, GeneratingCode) {
  for (const std::string_view program : {kNetwork, kLanguage}) {
    EXPECT_GT(
        refuse_each(
            {.prepare = [&] { return kept(after(checked(parsed(program)), passes::default_pipeline(2))); },
             .act =
                 [](void* m) {
                   Diagnostics diagnostics;
                   const Result<aot::Program> made = aot::make_program(module_of(m), "main", diagnostics);
                   if (!made) throw_reported(diagnostics);
                   aot::Variant variant{&*made, target::target_of("sse2")};
                   std::string out;
                   for (const aot::SourceFile& f : aot::emit({&variant, 1}, {}).files)
                     out += cat(f.name, "\n", f.text);
                   return out;
                 },
             .may_lose = kLostByJson}),
        kFew);
  }
}

// --- files ---------------------------------------------------------------------------------------

TEST(FailingAllocation, ReadingAndWritingTensors) {
  for (const std::string form : {"npz", "safetensors", "params"}) {
    const int64_t lost = form == "npz" ? kLostByZip : form == "safetensors" ? kLostByJson : 0;
    struct Files {
      TemporaryFolder folder;
      frontend::data::NamedTensors tensors = some_tensors();
    };
    const auto path = [&](const Files& files, const std::string& name) {
      return files.folder.path() + "/" + name + "." + form;
    };
    const auto write = [&](const std::string& to, const frontend::data::NamedTensors& tensors) {
      Diagnostics diagnostics;
      if (!frontend::data::write_tensors(to, tensors, frontend::data::Role::kOutput, diagnostics))
        throw_reported(diagnostics);
    };
    const auto prepare = [&]() -> std::shared_ptr<void> {
      auto files = std::make_shared<Files>();
      if (!files->folder.make().empty()) throw std::runtime_error("there is no folder");
      write(path(*files, "there"), files->tensors);
      return files;
    };
    EXPECT_GT(refuse_each({.prepare = prepare,
                           .act =
                               [&](void* prepared) {
                                 Diagnostics diagnostics;
                                 const Result<frontend::data::NamedTensors> read =
                                     frontend::data::read_tensors(
                                         path(*static_cast<Files*>(prepared), "there"),
                                         frontend::data::Role::kInput, {}, diagnostics);
                                 if (!read) throw_reported(diagnostics);
                                 return shown(*read);
                               },
                           .may_lose = lost}),
              kFew)
        << "reading " << form;
    EXPECT_GT(refuse_each({.prepare = prepare,
                           .act =
                               [&](void* prepared) {
                                 const Files& files = *static_cast<Files*>(prepared);
                                 write(path(files, "new"), files.tensors);
                                 return bytes_of(path(files, "new"));
                               },
                           .may_lose = lost}),
              kFew)
        << "writing " << form;
  }
}

TEST(FailingAllocation, ImportingAnOnnxModel) {
  struct Model {
    std::string bytes;
  };
  EXPECT_GT(
      refuse_each({.prepare = []() -> std::shared_ptr<void> {
                     ::onnx::ModelProto proto;
                     if (!google::protobuf::TextFormat::ParseFromString(std::string(kOnnxModel), &proto))
                       throw std::runtime_error("the model is not protobuf's text");
                     return std::make_shared<std::string>(proto.SerializeAsString());
                   },
                   .act =
                       [](void* bytes) {
                         Diagnostics diagnostics;
                         const Result<Module> m = frontend::import_onnx(
                             *static_cast<std::string*>(bytes), "m.onnx", nullptr, Module(), {}, diagnostics);
                         if (!m) throw_reported(diagnostics);
                         return op::text_of(checked(*m));
                       },
                   .may_lose = kLostByProtobuf}),
      kFew);
}

TEST(FailingAllocation, WritingAndImportingAGraph) {
  const auto written = [](const Module& m) {
    Diagnostics diagnostics;
    Result<frontend::GraphContents> graph =
        frontend::export_graph(m, "main", {{"x"}, {"y", "s"}}, diagnostics);
    if (!graph) throw_reported(diagnostics);
    return std::move(*graph);
  };
  const auto text_of = [](const frontend::GraphContents& graph) {
    Diagnostics diagnostics;
    Result<std::string> text = frontend::graph_text(graph.graph, diagnostics);
    if (!text) throw_reported(diagnostics);
    return std::move(*text);
  };
  const auto fused = [] { return after(checked(parsed(kNetwork)), until_lower()); };
  EXPECT_GT(refuse_each({.prepare = [&] { return kept(fused()); },
                         .act = [&](void* m) { return text_of(written(module_of(m))); },
                         .may_lose = kLostByJson}),
            kFew);
  struct Files {
    std::string json;
    frontend::data::NamedTensors params;
  };
  EXPECT_GT(refuse_each({.prepare = [&]() -> std::shared_ptr<void> {
                           const frontend::GraphContents graph = written(fused());
                           return std::make_shared<Files>(Files{text_of(graph), graph.params});
                         },
                         .act =
                             [](void* prepared) {
                               const Files& files = *static_cast<Files*>(prepared);
                               Diagnostics diagnostics;
                               const Result<frontend::Graph> graph =
                                   frontend::parse_graph(files.json, "g.json", {}, diagnostics);
                               if (!graph) throw_reported(diagnostics);
                               const Result<Module> m =
                                   frontend::import_graph(frontend::GraphContents{*graph, files.params},
                                                          "g.json", Module(), {}, diagnostics);
                               if (!m) throw_reported(diagnostics);
                               return op::text_of(checked(*m));
                             },
                         .may_lose = kLostByJson}),
            kFew);
}

// A text and its side file of large constants: both, or neither.
TEST(FailingAllocation, SavingAProgram) {
  struct Saved {
    TemporaryFolder folder;
    Module module;
  };
  EXPECT_GT(
      refuse_each({.prepare = []() -> std::shared_ptr<void> {
                     auto out = std::make_shared<Saved>();
                     if (!out->folder.make().empty()) throw std::runtime_error("there is no folder");
                     out->module = after(
                         checked(parsed("def @main(%x: Tensor[(64), float32]) { add(%x, "
                                        "cumsum(full(0.5f, shape=[64], dtype=\"float32\"), axis=0)) }")),
                         passes::Pipeline{passes::step(passes::kFoldConstants)});
                     return out;
                   },
                   .act =
                       [](void* prepared) {
                         const Saved& saved = *static_cast<Saved*>(prepared);
                         const std::string path = saved.folder.path() + "/m.relay";
                         if (const std::string wrong = tools::save_module(path, "", saved.module);
                             !wrong.empty())
                           throw std::runtime_error(wrong);
                         return bytes_of(path) + bytes_of(driver::side_file(path));
                       },
                   .may_lose = kLostByJson}),
      kFew);
}

}  // namespace
}  // namespace relay::tests
