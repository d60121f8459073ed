// Runs tests/golden: the text of an input against the text that is expected of it. `--update`
// rewrites expectations.
//
// Commands (the RUN line), with what they are about in a section:
//   input      parse [--max-nesting=N] [--max-bytes=N], check,
//              opt --passes=.. [--target=T] [--dump=FOLDER] [--reproducer=FILE] [--broken=PASS],
//              lower [-ON], plan [-ON] [--passes=..] [--target=T], functions [-ON], export [-ON], cuda [-ON],
//              and with a section `pattern` too: match, partition
//   repeated   the same of an input in which <<N|text>> stands for N times the text
//   pattern    pattern
//   expression expression, and build --cxx=COMPILER, which compiles a program of nothing
//   model, bytes, files    import, read, write: see readers.h
//   assembly, layer        simulate, layer: see vta.h
// --verify=semantics runs @main before and after each pass. An option or a section that a command
// does not know fails the test. What is compared is the printed module, or the diagnostics if there
// are errors; names of inputs that must fail begin with fail_. A list of all passes in diagnostics
// is <all passes>.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "aot/build.h"
#include "aot/cuda/device_library.h"
#include "aot/program.h"
#include "base/cat.h"
#include "base/diagnostics.h"
#include "frontend/graph/export.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "kernel/print/print.h"
#include "op/operators.h"
#include "op/registry.h"
#include "passes/dumps.h"
#include "passes/plan_memory.h"
#include "passes/runner.h"
#include "pattern/partition.h"
#include "pattern/text.h"
#include "tests/golden/readers.h"
#include "tests/golden/vta.h"
#include "tools/test_files/test_file.h"
#include "typecheck/check.h"
#include "typecheck/read.h"

namespace relay::tests {
namespace {

bool update = false;

// Kernels as CUDA, each launch with its grid, and what calls them unless that is a plan.
std::string cuda_of(const Module& m, Diagnostics& diagnostics) {
  std::string out;
  std::map<Symbol, kernel::print::Printed> all;
  for (const auto& [name, kernel] : m.kernels()) {
    const kernel::print::Printed& printed = all[name] =
        kernel::print::print(*kernel, kernel::print::kCudaDialect);
    out += printed.text;
    for (const kernel::print::Launch& l : printed.launches) {
      const auto shown = [](kernel::Expr e) { return e ? kernel::show(e) : std::string("1"); };
      out += cat("// launch ", l.function, " on ", join(std::span(l.extents).first(3), " x ", shown),
                 " blocks of ", join(std::span(l.extents).last(3), " x ", shown), " threads\n");
    }
    out += "\n";
  }
  const Result<aot::Program> program = aot::make_program(m, "main", diagnostics, passes::Shapes::kConstant);
  if (!program || program->functions.empty()) return out;
  aot::cuda::CudaDeviceLibrary device_library(all);
  return out + aot::print_functions(*program, "", device_library, [](size_t i) { return 64 * i; });
}

std::string kernels_of(const Module& m) {
  std::string out;
  for (const auto& [name, kernel] : m.kernels()) out += show(*kernel) + "\n";
  return out;
}

// The expressions of @main that match, by their texts in the source, and what each
// name is bound to.
std::string matches_of(const Module& m, const pattern::Pattern& p) {
  const SourceMap& sources = m.context().sources();
  const auto source = [&](Expr e) {
    return std::string(sources.text(e->span.file).substr(e->span.begin, e->span.end - e->span.begin));
  };
  std::string out;
  const pattern::Graph graph(m.function("main"));
  pattern::Matcher matcher(p, graph);
  for (Expr e : graph.order()) {
    const std::optional<pattern::Match> found = matcher.match(e);
    if (!found) continue;
    out += source(e) + "\n";
    for (const pattern::Match::Binding& b : found->bindings()) {
      if (!b.part->name.empty()) out += "  %" + b.part->name + ": " + source(b.e) + "\n";
    }
  }
  return out;
}

// The commands about patterns, on a module that was checked.
std::string run_pattern(const Command& c, const Module& m, const std::string& text,
                        Diagnostics& diagnostics) {
  ParseOptions options;
  options.into = m;
  const Result<pattern::Pattern> p = pattern::parse("pattern", text, diagnostics, options);
  if (!p) return "";
  return c.name == "match" ? matches_of(m, *p) : op::text_of(pattern::partition(m, *p));
}

std::string reprinted(const std::string& name, const std::string& text, const ParseOptions& options,
                      Diagnostics& diagnostics) {
  const Result<pattern::Pattern> p = pattern::parse(name, text, diagnostics, options);
  if (!p) return "";
  const std::string printed = pattern::print(*p);
  Diagnostics none;
  const Result<pattern::Pattern> again = pattern::parse("printed", printed, none, options);
  EXPECT_TRUE(again && pattern::print(*again) == printed) << name << ": does not survive printing:\n"
                                                          << printed;
  return printed + "\n";
}

// Passes with the bugs that the runner finds: what a pass leaves must be typed, well formed
// and mean the same.
Module with_main(const Module& m, Expr body) {
  const Fn* fn = m.function("main");
  Module out = m;
  Builder builder(out.context());
  out.set_function("main", builder.fn(fn->params, body, fn->result, fn->attrs, fn->type_params, fn->where));
  return out;
}
const passes::Pass kBreaksTypes = {
    .name = "breaks-types", .doc = "", .run = [](const Module& m, const passes::PassContext&) {
      return with_main(m, Builder(m.context()).var("lost"));
    }};
const passes::Pass kBreaksParameters = {
    .name = "breaks-parameters", .doc = "", .run = [](const Module& m, const passes::PassContext&) {
      Builder builder(m.context());
      const Var* x = builder.var("x", m.context().type_var("A"));
      return with_main(m, builder.let(x, m.function("main")->body, x));
    }};
const passes::Pass kBreaksModule = {
    .name = "breaks-module", .doc = "", .run = [](const Module& m, const passes::PassContext&) {
      Builder builder(m.context());
      const Fn* main = m.function("main");
      const Var* x = builder.var("x", main->result);
      return with_main(m, builder.let(x, main->body, builder.let(x, main->body, x)));
    }};
const passes::Pass kBreaksAnswer = {
    .name = "breaks-answer", .doc = "", .run = [](const Module& m, const passes::PassContext&) {
      const Expr body = m.function("main")->body;
      return with_main(m, Builder(m.context()).call(Builder(m.context()).op(*op::find("negative")), {body}));
    }};

// Arguments for @main: different elements between -1 and 1.
std::vector<Value> samples_for(const Module& m) {
  std::vector<Value> out;
  for (const Var* p : m.function("main")->params) {
    const auto* type = p->annotation ? p->annotation->as<TensorType>() : nullptr;
    const std::optional<Shape> shape = type ? type->static_shape() : std::nullopt;
    if (!shape) {
      ADD_FAILURE() << "--verify=semantics: parameter %" << p->name.text() << " has no constant shape";
      return out;
    }
    Tensor t(type->dtype, *shape);
    for (int64_t i = 0; i < t.size(); ++i) t.set(i, std::sin(static_cast<double>(i + 1)));
    out.push_back(Value(t));
  }
  return out;
}

Result<Module> optimised(const Command& c, const Module& m, Diagnostics& diagnostics) {
  passes::RunnerOptions options;
  options.verify = passes::Verify::kTypes;
  if (c.option("verify") == "semantics") {
    options.verify = passes::Verify::kSemantics;
    options.sample_inputs = samples_for(m);
  }
  options.schedule.parallel = false;
  const int level = std::stoi(c.option("O", "2"));
  options.schedule.opt_level = level;
  if (const std::string text = c.option("target"); !text.empty()) {
    const Result<target::Target> target = target::parse_target(text, diagnostics);
    if (!target) return kReported;
    options.target = *target;
  }
  passes::Dumps dumps({.folder = c.option("dump"), .reproducer = c.option("reproducer")});
  options.observers = {&dumps};
  const ScratchFolder folder;
  const std::string broken = c.option("broken");
  for (const passes::Pass* p : {&kBreaksTypes, &kBreaksParameters, &kBreaksModule, &kBreaksAnswer}) {
    if (p->name != broken) continue;
    if (p == &kBreaksAnswer) options.verify = passes::Verify::kSemantics;
    return passes::run_pipeline(m, passes::Pipeline{{p, {}}}, options, diagnostics);
  }
  if (c.name == "cuda") {
    options.target = target::target_of("cuda");
    return passes::run_pipeline(m, passes::default_pipeline(level, options.target), options, diagnostics);
  }
  if (c.name == "opt" || !c.option("passes").empty())
    return passes::run_pipeline(m, c.option("passes"), options, diagnostics);
  const passes::Pipeline whole = passes::default_pipeline(level);
  return passes::run_pipeline(m, c.name == "export" ? passes::until(whole, passes::kLower) : whole, options,
                              diagnostics);
}

// What the command prints of the program, if it is one that compiles.
std::optional<std::string> run_compiler(const Command& c, const Module& m, Diagnostics& diagnostics) {
  if (c.name == "build") {
    setenv("RELAY_CXX", c.option("cxx").c_str(), 1);
    (void)aot::build({}, aot::Weights::kEmbedded, {}, "model.so", diagnostics);
    unsetenv("RELAY_CXX");
    return "";
  }
  const Result<Module> done = optimised(c, m, diagnostics);
  if (!done) return "";
  if (c.name == "opt") return op::text_of(*done);
  if (c.name == "lower") return kernels_of(*done);
  if (c.name == "cuda") return cuda_of(*done, diagnostics);
  if (c.name == "plan") {
    Result<passes::Plan> plan = passes::plan_memory(*done, c.option("function", "main"), diagnostics);
    return plan ? passes::show(*plan) : "";
  }
  if (c.name == "export") {
    const Result<frontend::GraphContents> graph = frontend::export_graph(*done, "main", {}, diagnostics);
    const Result<std::string> text =
        graph ? frontend::graph_text(graph->graph, diagnostics) : Result<std::string>(kReported);
    return text ? *text : "";
  }
  if (c.name == "functions") {
    const Result<aot::Program> program = aot::make_program(*done, c.option("function", "main"), diagnostics);
    if (!program) return "";
    if (program->functions.empty()) return passes::show(program->plan);
    const target::Target target = target::default_target();
    aot::CpuDeviceLibrary device_library([](const kernel::Kernel& k) { return k.name.str(); }, target.cpu);
    return aot::print_functions(*program, "", device_library, [](size_t i) { return 64 * i; });
  }
  return std::nullopt;
}

// The text that the command prints; errors go to `diagnostics`.
std::string run(const Command& c, const tools::TestFile& file, Diagnostics& diagnostics,
                const SourceMap*& sources) {
  const std::string& path = file.path;
  ParseOptions options;
  sources = &options.into.context().sources();
  static std::vector<Module> keep;  // the sources that diagnostics point into must outlive them
  keep.push_back(options.into);
  const std::string name = std::filesystem::path(path).filename();
  options.max_nesting = c.number("max-nesting", options.max_nesting);
  options.max_bytes = c.number("max-bytes", options.max_bytes);
  const auto section = [&](std::string_view wanted) -> const std::string& {
    static const std::string none;
    const std::string* found = file.find(wanted);
    EXPECT_TRUE(found) << path << ": has no section `" << wanted << "`";
    return found ? *found : none;
  };
  if (c.name == "pattern") return reprinted(name, section("pattern"), options, diagnostics);
  if (c.name == "import" && file.find("bytes"))
    return import_escaped(c, repeated(section("bytes")), options.into, diagnostics);
  if (c.name == "import" && file.find("files"))
    return import_graph_text(c, repeated(section("files")), options.into, diagnostics);
  if (c.name == "import") return import_text(c, repeated(section("model")), options.into, diagnostics);
  if (c.name == "read") return read_text(c, section("files"), diagnostics);
  if (c.name == "write") return write_text(c, diagnostics);
  if (c.name == "simulate") return simulate_text(c, file, options.into.context().sources(), diagnostics);
  if (c.name == "layer") return layer_text(c, file, options.into.context().sources(), diagnostics);
  if (c.name == "expression") {
    const Result<Expr> e = parse_expr(name, section("expression"), diagnostics, op::operators(), options);
    const Operators operators = op::operators();
    PrintOptions print_options;
    print_options.operators = &operators;
    return e ? print(*e, print_options) + "\n" : "";
  }
  const std::string input = file.find("repeated") ? repeated(section("repeated")) : section("input");
  const auto read = c.name == "check" ? typecheck::read : parse;
  Result<Module> m = read(name, input, diagnostics, op::operators(), options);
  if (!m) return "";
  if (c.name == "parse") {
    const std::string printed = op::text_of(*m, {});
    Diagnostics again;
    Result<Module> reparsed = parse("printed", printed, again, op::operators(), {});
    EXPECT_TRUE(reparsed && alpha_equal(*m, *reparsed)) << path << ": does not survive printing:\n"
                                                        << printed;
    return printed;
  }
  if (c.name == "check") {
    Result<Module> checked = typecheck::check(*m, diagnostics);
    return checked ? op::text_of(*checked) : "";
  }
  if (c.name == "match" || c.name == "partition") {
    const Result<Module> checked = typecheck::check(*m, diagnostics);
    return checked ? run_pattern(c, *checked, section("pattern"), diagnostics) : "";
  }
  if (const std::optional<std::string> text = run_compiler(c, *m, diagnostics)) return *text;
  ADD_FAILURE() << path << ": there is no command `" << c.name << "`";
  return "";
}

// A list of all passes is expected as `<all passes>`, so that a new pass changes no expected text.
std::string without_lists(std::string text) {
  const std::string passes = join(passes::all_passes(), ", ", [](const passes::Pass* p) { return p->name; });
  for (size_t at = 0; (at = text.find(passes, at)) != std::string::npos;)
    text.replace(at, passes.size(), "<all passes>");
  return text;
}

class GoldenTest : public testing::Test {
 public:
  explicit GoldenTest(std::string path) : path_(std::move(path)) {}

  void TestBody() override {
    tools::TestFile file = tools::read_test_file(path_);
    ASSERT_EQ(misuse(Command(file.command), file), "") << path_;
    Diagnostics diagnostics;
    const SourceMap* sources = nullptr;
    std::string got = run(Command(file.command), file, diagnostics, sources);
    const bool must_fail = std::filesystem::path(path_).filename().string().starts_with("fail_");
    EXPECT_EQ(diagnostics.has_errors(), must_fail) << path_ << ":\n" << diagnostics.render(*sources);
    if (!diagnostics.all().empty()) got = without_lists(diagnostics.render(*sources)) + got;
    const std::string* want = file.find("output");
    if (want && *want == got) return;
    if (update) {
      file.set("output", got);
      std::ofstream(path_) << file.text();
      return;
    }
    EXPECT_EQ(got, want ? *want : "") << path_ << ": run `./dev update` and read the difference";
  }

 private:
  std::string path_;
};

}  // namespace
}  // namespace relay::tests

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) relay::tests::update |= std::string_view(argv[i]) == "--update";
  // Under `bazel run` the files to rewrite are those of the checkout.
  if (const char* workspace = std::getenv("BUILD_WORKSPACE_DIRECTORY"))
    std::filesystem::current_path(workspace);
  for (const std::string& path : relay::tools::test_files_beneath("tests/golden")) {
    const std::filesystem::path p(path);
    testing::RegisterTest(p.parent_path().filename().c_str(), p.stem().c_str(), nullptr, nullptr, __FILE__,
                          __LINE__,
                          [path]() -> testing::Test* { return new relay::tests::GoldenTest(path); });
  }
  return RUN_ALL_TESTS();
}
