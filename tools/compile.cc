// relay compile: a model to a library that needs nothing of ours.
#include <fmt/format.h>
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "aot/build.h"
#include "aot/cuda/build.h"
#include "aot/cuda/emit.h"
#include "aot/listing.h"
#include "aot/package.h"
#include "base/cat.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/nearest.h"
#include "base/parallel.h"
#include "driver/engines.h"
#include "driver/libraries.h"
#include "driver/target_program.h"
#include "op/operators.h"
#include "tools/graph.h"
#include "tools/memory_limit.h"
#include "tools/model.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include "tools/overwriting.h"
#include "tools/pass_output.h"
#include "tools/product.h"
#include "tools/session.h"
#include "tools/stages.h"
#include "tools/targets.h"
#include "tools/vta_layers.h"
#include "tools/ways_out.h"

namespace relay::tools {
namespace {

using Options = CompileRequest;

std::string licence_text(const Options& o, Session& s) {
  std::string text;
  if (o.licence.empty()) return text;
  if (std::string wrong = read_file(o.licence, 1 << 20, text); !wrong.empty()) s.fail(kUsage, wrong);
  return text;
}

// The largest values of shape variables. Fails for what is none of the program's.
std::map<std::string, int64_t> bounds_of(const Options& o, const aot::Program& program, Session& s) {
  std::set<std::string> names;
  for (const passes::PlanPort& port : program.plan.inputs) {
    std::vector<kernel::Expr> extents;
    aot::add_extents(port.type, extents);
    for (kernel::Expr e : extents) {
      for (kernel::Expr v : kernel::variables(e)) names.insert(show(v));
    }
  }
  std::map<std::string, int64_t> bounds;
  for (const std::string& text : o.bounds) {
    const size_t colon = std::min(text.find(':'), text.size());
    const std::string name = text.substr(0, colon), number = text.substr(std::min(colon + 1, text.size()));
    const uint64_t most = parse_count(number).value_or(0);
    if (name.empty() || most < 1 || most > INT64_MAX) {
      s.fail(kUsage, cat("--bounds: `", text, "` is not NAME:EXTENT, such as n:2048"));
    } else if (!names.contains(name)) {
      const std::vector<std::string> all(names.begin(), names.end());
      s.fail(kUsage, cat("--bounds: no input has the shape variable `", name, "`; ", choices(name, all)));
    }
    const auto [known, is_new] = bounds.emplace(name, static_cast<int64_t>(most));
    if (!is_new)
      s.fail(kUsage, cat("--bounds: `", name, "` is given twice, as ", known->second, " and ", most));
  }
  return bounds;
}

// Why a program of its own or a module of Python cannot take and give NumPy's arrays; empty if it
// can, and for all other products.
std::string no_arrays(const Options& o, const aot::Program& program) {
  if (o.emit != "exe" && o.emit != "python") return {};
  if (!program.interface.tensors_only)
    return cat("--emit ", o.emit,
               ": the model takes or gives values of data types, which are no arrays: use --emit so");
  for (const auto* ports : {&program.plan.inputs, &program.plan.outputs}) {
    for (const passes::PlanPort& p : *ports) {
      const DType d = p.type->dtype;
      if (d.bits < 8 || d.code >= DTypeCode::kBFloat)
        return cat("--emit ", o.emit, ": `", p.name, "` is ", d.name(),
                   ", which NumPy does not have: cast it in the model, or use --emit so");
    }
  }
  return {};
}

// Is all that was read still there when the files are written?
bool spares_inputs(const Options& o, const Product& product, const driver::Model& model, Session& s) {
  return tools::spares_inputs(outputs_of(o, product), files_read(o, model), s);
}

driver::Options driver_options(const Options& o, const target::Target& target, PassOutput& output) {
  driver::Options out;
  out.opt_level = o.opt_level;
  out.target = target;
  out.denormals = denormals_of(o.denormals);
  out.observers = {&output};
  return out;
}

// Says what was compiled.
void report(const Options& o, const aot::Program& program, const aot::Sources& sources,
            const std::vector<std::string>& written, Stages& stages, Session& s) {
  const double seconds = stages.total();
  if (o.time) s.say(stages.table());
  if (o.time && !program.not_planned.empty())
    s.say(cat("the program is functions and no plan of static dataflow: ", program.not_planned, "\n"));
  if (s.json) return s.print(sources.description + "\n");
  s.say(fmt::format("wrote {} in {:.1f} s: {}, {} bytes of weights, {} bytes of workspace{}\n",
                    join(written, ", "), seconds, counted(sources.kernels, "kernel"), sources.weights_bytes,
                    sources.workspace_bytes, sources.workspace_grows ? " at first" : ""));
}

// What --passes says, or the level's, within --memory-limit.
Result<passes::Pipeline> pipeline_of(const Options& o, const target::Target& target,
                                     Diagnostics& diagnostics) {
  const Result<passes::Pipeline> all =
      o.passes.empty() ? passes::default_pipeline(o.opt_level, target, denormals_of(o.denormals))
                       : passes::parse_pipeline(o.passes, diagnostics);
  return all ? limited(*all, o.memory_limit) : all;
}

// The model with its operators as kernels for one target.
Result<Module> lower(const Options& o, const driver::Model& model, const target::Target& target, Session& s,
                     Diagnostics& diagnostics) {
  PassOutput output({}, o.time, s);
  const Result<passes::Pipeline> pipeline = pipeline_of(o, target, diagnostics);
  return pipeline ? driver::optimise(model.module, model.function, *pipeline,
                                     driver_options(o, target, output), diagnostics)
                  : kReported;
}

// The program as it runs on one target.
std::optional<driver::TargetProgram> program_for(const Options& o, Module module, const std::string& function,
                                                 const target::Target& target, const SourceMap& sources,
                                                 Session& s) {
  Diagnostics diagnostics;
  PassOutput output({}, o.time, s);
  const Result<passes::Pipeline> pipeline = pipeline_of(o, target::host_of(target), diagnostics);
  Result<driver::TargetProgram> program =
      pipeline ? driver::program_for_target(std::move(module), function, *pipeline,
                                            driver_options(o, target, output), diagnostics)
               : Result<driver::TargetProgram>(kReported);
  if (!program) {
    s.fail(diagnostics, sources);
    return std::nullopt;
  }
  for (const Diagnostic& d : program->kept.all()) s.say(cat("relay: ", d.message(), "\n"));
  if (program->vta && program->vta->layers.empty())
    s.say("relay: no layer of the model runs on the VTA; `--emit vta` says why\n");
  return std::move(*program);
}

// What of the options means nothing for a GPU; empty if there is no such thing.
std::string wrong_for_gpu(const Options& o, size_t targets) {
  if (targets > 1) return "--target: a library for a GPU holds code for no other target";
  if (o.threads != 1) return "--threads: a run on a GPU uses one thread of the host";
  if (!o.link.empty()) return "--link: what runs on a GPU calls no C functions";
  if (o.emit == "cpp") return "--emit cpp: the source for a GPU is CUDA: --emit cuda";
  if (o.emit == "exe" || o.emit == "header")
    return cat("--emit ", o.emit,
               ": for a GPU there are so, package and cuda; the header stands beside the library");
  return {};
}

void run_for_gpu(const Options& o, const std::vector<target::Target>& targets, Session& s) {
  Stages stages;
  if (std::string wrong = wrong_for_gpu(o, targets.size()); !wrong.empty()) s.fail(kUsage, wrong);
  const target::Target& target = targets[0];
  aot::cuda::EmitOptions emit;
  emit.licence = licence_text(o, s);
  emit.weights = o.weights_file ? aot::Weights::kFile : aot::Weights::kEmbedded;
  if (is_archive(o))
    s.fail(kUsage, cat("-o ", o.output, ": for a GPU there are shared libraries, such as model.so"));
  const Product product = product_of(o, emit.licence, s);
  if (s.exit_code != kOk) return;
  stages.next("read and check");
  Result<driver::Model> model = load_specialised(o.model, s);
  if (!model || !spares_inputs(o, product, *model, s)) return;
  stages.next("passes and plan");
  std::optional<Progress> progress(std::in_place, s, "compile");
  progress->step("optimising");
  Diagnostics diagnostics;
  const Result<Module> lowered = lower(o, *model, target, s, diagnostics);
  const Result<aot::Program> program =
      lowered ? aot::make_program(*lowered, "main", diagnostics, passes::Shapes::kConstant)
              : Result<aot::Program>(kReported);
  stages.next("print CUDA");
  emit.model_name = product.name;
  emit.opt_level = o.opt_level;
  if (program) emit.bounds = bounds_of(o, *program, s);
  if (s.exit_code != kOk) return;
  // Of one text, what stands before kernels may stand there once.
  emit.kernel_files = o.emit == "cuda" ? 1 : usable_cores();
  const Result<aot::Sources> sources =
      program ? aot::cuda::emit(*program, target, emit, diagnostics) : Result<aot::Sources>(kReported);
  if (!sources) {
    s.fail(diagnostics, model->module.context().sources());
    return;
  }
  if (o.emit == "cuda") progress.reset();
  if (o.emit == "cuda") return deliver(aot::listing(*sources), o, s);
  progress->step("compiling CUDA");
  stages.next("compile CUDA and link");
  aot::cuda::CompileOptions compile{.opt_level = o.opt_level, .weights = emit.weights};
  if (product.package) compile.soname = product.package->soname();
  const Result<aot::CompiledFile> library = aot::cuda::compile(*sources, target, compile, diagnostics);
  const Result<std::vector<std::string>> written =
      library ? write(product, *sources, library->contents(), diagnostics)
              : Result<std::vector<std::string>>(kReported);
  progress.reset();
  if (!written) {
    s.fail(diagnostics, model->module.context().sources());
    return;
  }
  report(o, *program, *sources, *written, stages, s);
}

bool links(const Options& o) { return makes_library(o) || o.emit == "package" || o.emit == "exe"; }

// What of the options means nothing for a VTA; empty if there is no such thing.
std::string wrong_for_vta(const Options& o, const std::vector<target::Target>& targets) {
  const auto vta =
      std::find_if(targets.begin(), targets.end(), [](const auto& t) { return t.vta.has_value(); });
  if (vta == targets.end()) return {};
  if (targets.size() > 1) return "--target: a library for a VTA holds code for no other target";
  if (o.emit == "exe" || o.emit == "python")
    return cat(
        "--emit ", o.emit,
        ": a VTA needs a driver, which programs of yours give through the C interface: ", "use --emit so");
  if (o.emit == "graph")
    return cat("--emit graph: a graph runs on no VTA: --target ", target::host_of(*vta).text,
               " is its processor");
  return {};
}

// Reports options that mean nothing for these processors or with each other.
void check_options(const Options& o, const std::vector<target::Target>& targets, Session& s) {
  if (std::string wrong = never_chosen(targets); !wrong.empty()) s.fail(kUsage, wrong);
  if (o.emit == "graph" && targets.size() > 1) s.fail(kUsage, "--target: a graph is for one target");
  if (o.emit == "cpp" && targets.size() > 1)
    s.fail(kUsage, "--target: a text is compiled for one target; print one for each of them");
  if (o.emit == "graph" && (o.weights_file || !o.licence.empty()))
    s.fail(kUsage,
           "--weights-file and --licence: a graph has its weights in a file, and no place for a licence");
  if (o.emit == "graph" && !o.bounds.empty())
    s.fail(kUsage, "--bounds: a graph has constant shapes: give them by --input-shapes");
  if (o.emit == "graph" && o.threads != 1)
    s.fail(kUsage, "--threads: who runs a graph says how many: relay run --threads");
  if (o.emit == "graph" && o.memory_limit != 0)
    s.fail(kUsage, "--memory-limit: who runs a graph plans its memory: relay run --memory-limit");
  if (std::string wrong = wrong_for_vta(o, targets); !wrong.empty()) s.fail(kUsage, wrong);
  if (!links(o) && !o.link.empty()) s.fail(kUsage, cat("--link: --emit ", o.emit, " links nothing"));
}

void run_for_graph(const Options& o, const driver::Model& model, const target::Target& target, Session& s) {
  Diagnostics diagnostics;
  const Result<passes::Pipeline> pipeline = pipeline_of(o, target, diagnostics);
  if (!pipeline) {
    s.fail(diagnostics, {});
    return;
  }
  PassOutput output({}, o.time, s);
  emit_graph(model, o.passes.empty() ? passes::until(*pipeline, passes::kLower) : *pipeline,
             driver_options(o, target, output), o.output, s);
}

// The program for each of the processors. Reports why there is none, and gives none then. Takes the
// model's module away: the weights that the last program replaces are in memory once.
std::vector<driver::TargetProgram> programs_for(const Options& o, driver::Model& model,
                                                const std::vector<target::Target>& targets,
                                                const SourceMap& sources, Session& s) {
  std::vector<driver::TargetProgram> programs;
  for (const target::Target& target : targets) {
    Module module = &target == &targets.back() ? std::exchange(model.module, {}) : model.module;
    std::optional<driver::TargetProgram> one =
        program_for(o, std::move(module), model.function, target, sources, s);
    if (!one) return {};
    programs.push_back(std::move(*one));
  }
  if (std::string wrong = no_arrays(o, programs[0].program); !wrong.empty()) {
    s.fail(kUnsupported, wrong);
    return {};
  }
  Diagnostics diagnostics;
  if (links(o) && o.link.empty() &&
      driver::report_unresolved(programs[0].program, programs[0].external.symbols, "", diagnostics)) {
    s.fail(diagnostics, sources);
    return {};
  }
  return programs;
}

aot::EmitOptions emit_options(const Options& o, const Product& product, const std::string& licence,
                              const aot::Program& program, Session& s) {
  aot::EmitOptions emit;
  emit.model_name = product.name;
  emit.program = o.emit == "exe";
  emit.opt_level = o.opt_level;
  emit.threads = o.threads;
  emit.denormals = denormals_of(o.denormals);
  emit.weights = o.weights_file ? aot::Weights::kFile : aot::Weights::kEmbedded;
  emit.licence = licence;
  emit.bounds = bounds_of(o, program, s);
  emit.kernel_files = 2 * usable_cores();
  if (o.emit == "cpp") {
    emit.kernel_files = 1;  // what stands before kernels may stand there once
    emit.weights_source = weights_source(o, product.name);
  }
  return emit;
}

// Compiles the sources and writes the product. Returns the paths, and none if it failed, which it
// reports.
std::vector<std::string> compile_and_write(const Product& product, const SourceMap& texts,
                                           const driver::TargetProgram& program, const aot::Sources& sources,
                                           aot::Weights weights, const toolchain::CompileOptions& compile,
                                           Session& s) {
  Diagnostics diagnostics;
  const Result<aot::CompiledFile> made = aot::compile(sources, weights, compile, diagnostics);
  const Result<std::vector<std::string>> written =
      made ? write(product, sources, made->contents(), diagnostics)
           : Result<std::vector<std::string>>(kReported);
  if (written) return *written;
  Diagnostics linking;
  const bool missed = !made && driver::report_unresolved(program.program, program.external.symbols,
                                                         diagnostics.all().front().message(), linking);
  s.fail(missed ? linking : diagnostics, texts);
  return {};
}

void run(const Options& o, Session& s) {
  if (is_way_out(o)) return write_way_out(o, s);
  const std::vector<target::Target> targets = targets_of(o.targets);
  if (o.emit == "vta" || o.emit == "vta-stream") return compile_to_layers(o, targets, s);
  const auto is_gpu = [](const target::Target& t) { return t.gpu.has_value(); };
  if (std::any_of(targets.begin(), targets.end(), is_gpu)) return run_for_gpu(o, targets, s);
  if (o.emit == "cuda") {
    s.fail(kUsage, "--emit cuda: name the GPU, as in --target cuda:sm_90");
    return;
  }
  Stages stages;
  if (std::string wrong = several_machines(targets); !wrong.empty()) {
    s.fail(kUsage, wrong);
    return;
  }
  check_options(o, targets, s);
  toolchain::CompileOptions compile;
  if (std::string wrong = driver::link_with(o.link, compile); !wrong.empty())
    s.fail(kUsage, cat("--link: ", wrong));
  const std::string licence = licence_text(o, s);
  const Product product = product_of(o, licence, s);
  if (s.exit_code != kOk) return;
  stages.next("read and check");
  Result<driver::Model> model = load_specialised(o.model, s);
  if (!model || !spares_inputs(o, product, *model, s)) return;
  stages.next("passes and plan");
  std::optional<Progress> progress(std::in_place, s, "compile");
  progress->step("optimising");
  if (o.emit == "graph") progress.reset();
  if (o.emit == "graph") return run_for_graph(o, *model, targets[0], s);
  const SourceMap texts = model->module.context().sources();
  const std::vector<driver::TargetProgram> programs = programs_for(o, *model, targets, texts, s);
  if (programs.empty()) return;
  stages.next("print C++");
  std::vector<aot::Variant> variants;
  for (const driver::TargetProgram& program : programs) variants.push_back(program.variant());
  const aot::Program& first = programs[0].program;
  const aot::EmitOptions emit = emit_options(o, product, licence, first, s);
  if (s.exit_code != kOk) return;
  const aot::Sources sources = aot::emit(variants, emit);
  if (o.emit == "cpp" || o.emit == "header") progress.reset();
  if (o.emit == "cpp") return deliver_source(sources, emit, o, s);
  if (o.emit == "header") return deliver(sources.header, o, s);
  progress->step("compiling C++");
  stages.next("compile C++ and link");
  compile.opt_level = o.opt_level;
  compile.program = emit.program;
  compile.archive = is_archive(o);
  if (compile.archive && !compile.link_flags.empty()) {
    s.fail(kUsage, "--link: a static library holds no shared ones: link them with the program");
    return;
  }
  compile.target = target::baseline(targets[0].cpu.isa);
  if (product.package) compile.link_flags.push_back("-Wl,-soname," + product.package->soname());
  const std::vector<std::string> written =
      compile_and_write(product, texts, programs[0], sources, emit.weights, compile, s);
  progress.reset();
  if (written.empty()) return;
  report(o, first, sources, written, stages, s);
  for (const std::string& name : driver::needed_at_run_time(o.link))
    s.say(cat(name, " must be there when it is loaded: beside it, or where the system looks\n"));
  for (const std::string& need : sources.needs)
    s.say(compile.archive ? cat("link programs with ", join(sources.link_flags, " "), ": ", need, "\n")
                          : cat(need, ", must be there when it is loaded\n"));
}

// --extents: examples for what is refused with open axes. A graph never has any.
bool takes_extents(Options& o, Session& s) {
  constexpr std::string_view kFrom = "from:";
  if (o.extents.empty()) return true;
  if (!o.extents.starts_with(kFrom) || o.extents.size() == kFrom.size())
    return s.fail(kUsage,
                  cat("--extents ", o.extents, ": expected from:DIR, with a folder or file of inputs"));
  if (!o.model.examples.empty())
    return s.fail(kUsage, "--inputs takes the extents of its files in any case: leave --extents out");
  o.model.examples = o.extents.substr(kFrom.size());
  o.model.keeps_open = o.emit != "graph";
  return true;
}

}  // namespace

void add_compile(Command app, Session& session) {
  auto o = std::make_shared<Options>();
  Command sub = app.command("compile", "compile a model to a library and a header, or to a program");
  add_model_options(sub, o->model);
  sub.option("-o,--output", &o->output,
             "the library, model.so unless said otherwise; the header stands beside it. The program or the "
             "package's folder: model");
  sub.option(
         "--emit", &o->emit,
         "so: a shared library, or a static one if -o ends in .a; python: the module -o X.py, which takes "
         "and "
         "gives NumPy arrays, and its library libX.so; package: a folder with the library and the "
         "header for CMake's find_package and for pkg-config; "
         "exe: a program that reads and writes .npy files; header: what stands beside a "
         "library; cpp, cuda: the generated source as one text; that of cpp compiles by itself, with the "
         "weights beside it; graph: the folder -o with graph.json and graph.params; vta: the instructions of "
         "layers on a VTA; vta-stream: the folder -o with files of them for another simulator; onnx: an ONNX "
         "model for viewers and other runtimes; dot: a picture of a small model for Graphviz. "
         "Without -o, "
         "texts are printed")
      .check(one_of("form", {"so", "python", "package", "exe", "header", "cpp", "cuda", "graph", "vta",
                             "vta-stream", "onnx", "dot"}))
      .shows_default();
  sub.option(
         "--target", &o->targets,
         cat("what the code is for: ", join(target::all_names(), ", "),
             "; several processors, with commas between them and the best first: the library has code for "
             "each and "
             "runs the first that the processor can; or one GPU; or one VTA, whose driver the opening "
             "program gives. `cpu:avx2{l2=512K}` overrides a number: "
             "line, l1, l2, l3, l1-rate, l2-rate, l3-rate"))
      .check({wrong_targets})
      .kind("TARGET")
      .shows_default();
  add_opt_level_option(sub, o->opt_level).shows_default();
  sub.option("--threads", &o->threads,
             "threads of a run, unless the opening program says otherwise; 0: one for each core that it may "
             "run on")
      .check(count(0, 1024))
      .shows_default();
  add_denormals_option(sub, o->denormals);
  sub.option("-i,--inputs", &o->model.examples,
             "examples of the inputs: what the model leaves open has their extents");
  sub.option(
         "--extents", &o->extents,
         "from:DIR: where the model is refused because of an open axis, and only then, it is compiled for "
         "the extents of the inputs in DIR, and the artifact refuses others")
      .kind("from:DIR");
  sub.option("--passes", &o->passes, "a pipeline in the place of the level's").kind("PASSES");
  add_memory_limit_option(sub, o->memory_limit);
  sub.option(
         "--bounds", &o->bounds,
         "NAME:EXTENT, the largest value of a shape variable: larger inputs are refused, and where each has "
         "one, a context of static dataflow has all its workspace from the beginning")
      .separated_by_commas();
  sub.option("--link", &o->link,
             "a file with C functions that the program's external kernels name: .o and .a become part of the "
             "artifact, .c and .cc are compiled into it, a .so is looked for beside it; may be repeated")
      .one_at_a_time();
  sub.option("--licence", &o->licence, "a file with the model's licence, kept in the library's description");
  sub.option("--package-name", &o->package_name,
             "of the package, a C identifier; the name of its folder unless said otherwise");
  sub.option(
      "--package-version", &o->package_version,
      "of the package: one number to four, such as 1.2.0; that of the C interface unless said otherwise");
  sub.flag("--weights-file", &o->weights_file, "put the weights into a .safetensors beside the library");
  sub.flag("--time", &o->time,
           "print how long each pass and each stage took, and its share, and why a program is no plan");
  sub.action([o, &session] {
    if (takes_extents(*o, session)) run(*o, session);
  });
}

}  // namespace relay::tools
