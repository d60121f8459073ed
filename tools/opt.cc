// relay opt: runs passes on a model and prints what they make of it.
#include <fmt/format.h>
#include <filesystem>
#include <optional>

#include "base/cat.h"
#include "base/file.h"
#include "driver/engines.h"
#include "kernel/llvm/compile.h"
#include "op/operators.h"
#include "passes/dumps.h"
#include "passes/plan_memory.h"
#include "passes/runner.h"
#include "toolchain/compiler.h"
#include "tools/memory_limit.h"
#include "tools/model.h"
#include "tools/model_folder.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include "tools/overwriting.h"
#include "tools/pass_output.h"
#include "tools/pass_report.h"
#include "tools/session.h"
#include "tools/targets.h"

namespace relay::tools {
namespace {

struct Options {
  ModelOptions model;
  InputOptions inputs;
  std::string passes, emit = "relay", output, dump_dir, verify = "none", target = "native", reproducer;
  std::vector<std::string> print_after;
  int opt_level = -1;
  uint64_t memory_limit = 0;
  bool time = false, list = false, report = false, verbose = false;
};

void list_passes(const Session& s) {
  for (const passes::Pass* p : passes::all_passes()) {
    s.print(fmt::format("{:<32} {}\n", p->name, p->doc));
    for (const passes::Parameter& q : p->parameters) {
      s.print(fmt::format("{:<32}   {{{}={}}} {}\n", "", q.name, q.default_value, q.doc));
    }
  }
}

std::string kernels_of(const Module& m) {
  std::string out;
  for (const auto& [name, kernel] : m.kernels()) out += show(*kernel) + "\n";
  return out;
}

// The kernels in LLVM's notation. Returns what went wrong, or an empty text.
std::string instructions_of(const Module& m, const toolchain::CompileOptions& options, std::string& out) {
  for (const auto& [name, kernel] : m.kernels()) {
    std::string text;
    if (std::string wrong = kernel::llvm::show_instructions(*kernel, options, text); !wrong.empty())
      return wrong;
    out += text + "\n";
  }
  return {};
}

// The pipeline that a reproducer file names in its first line; empty for any other file.
std::string pipeline_in(const std::string& path) {
  std::string text;
  if (!path.ends_with(".relay") || !read_file(path, uint64_t{1} << 30, text).empty()) return {};
  return passes::pipeline_of_reproducer(text);
}

std::string wrong_print_after(const std::string& name) {
  if (name == "all" || name == "changed" || passes::find_pass(name)) return {};
  return passes::no_such_pass(name, {"all", "changed"});
}

// Is all that the model was read from still there when the output is written? A text that is
// replaced by what becomes of it has its side file replaced with it.
bool spares_inputs(const Options& o, const driver::Model& model, const passes::Pipeline& steps, Session& s) {
  const auto plain = [](const std::string& path) { return std::filesystem::path(path).lexically_normal(); };
  const bool in_place = o.emit == "relay" && !model.is_listed && plain(o.output) == plain(o.model.path);
  std::vector<std::string> written;
  const auto writes_text = [&](const std::string& path) {
    written.insert(written.end(), {path, driver::side_file(path)});
  };
  if (!o.output.empty() && !in_place) {
    if (o.emit == "relay") {
      writes_text(o.output);
    } else {
      written.push_back(o.output);
    }
  }
  if (!o.dump_dir.empty()) {
    for (size_t i = 0; i <= steps.size(); ++i) writes_text(passes::dump_path(o.dump_dir, steps, i));
  }
  if (!o.reproducer.empty()) writes_text(o.reproducer);
  return tools::spares_inputs(written, model.files, s);
}

// The option that looks at passes, if none runs; else an empty text.
std::string_view watches_nothing(const Options& o, const passes::Pipeline& steps) {
  if (!steps.empty()) return {};
  if (o.verify != "none") return "--verify";
  if (!o.print_after.empty()) return "--print-after";
  if (!o.reproducer.empty()) return "--reproducer";
  if (o.time) return "--time";
  return o.verbose ? "--verbose" : "";
}

// Has the module kernels when the steps have run? They are all that the other forms of --emit show.
bool ends_in_kernels(const Module& m, const passes::Pipeline& steps) {
  return !m.kernels().empty() || passes::until(steps, passes::kLower).size() < steps.size();
}

// Do the options ask for something that the steps give? Otherwise reports wrong use.
bool fits_pipeline(const Options& o, const Module& m, const passes::Pipeline& steps, Session& s) {
  if (const std::string_view option = watches_nothing(o, steps); !option.empty())
    return s.fail(kUsage, cat(option, " looks at passes, and none runs: say -O2, or --passes"));
  if (o.emit == "relay" || ends_in_kernels(m, steps)) return true;
  return s.fail(kUsage,
                cat("--emit ", o.emit, " shows kernels, which the pass `lower` makes: say -O2, or --passes ",
                    "that end in fuse,lower"));
}

// The other forms of --emit; nothing, with a report, if the module has none.
std::optional<std::string> emitted(const Options& o, const Module& m, const std::string& function,
                                   const target::Target& target, int opt_level, Session& s) {
  if (o.emit == "kernel") return kernels_of(m);
  if (o.emit == "llvm") {
    std::string text;
    const toolchain::CompileOptions compile{.target = target, .opt_level = opt_level};
    if (std::string wrong = instructions_of(m, compile, text); !wrong.empty()) {
      s.fail(kUnsupported, wrong);
      return std::nullopt;
    }
    return text;
  }
  // As `relay compile` plans: for a GPU there are constant shapes alone.
  Diagnostics diagnostics;
  const passes::Shapes shapes = target.gpu ? passes::Shapes::kConstant : passes::Shapes::kSymbolic;
  const Result<passes::Plan> plan = passes::plan_memory(m, function, diagnostics, shapes);
  if (!plan) {
    s.fail(diagnostics, m.context().sources());
    return std::nullopt;
  }
  return passes::show(*plan);
}

void run(const Options& o, Session& s) {
  ModelOptions options = with_examples(o.model, o.inputs);
  options.runs = o.verify == "semantics";
  options.chooses_extents &= options.runs;
  Result<driver::Model> model = load_model(options, s);
  if (!model) return;
  if (model->function != "main") {
    model->module = driver::with_entry(model->module, model->function);
    model->function = "main";
  }
  const target::Target target = target::target_of(o.target);
  if (std::string wrong = accelerator(target); !wrong.empty()) {
    s.fail(kUnsupported, wrong);
    return;
  }
  Diagnostics diagnostics;
  const Result<passes::Pipeline> asked =
      o.passes.empty() && o.opt_level >= 0
          ? passes::default_pipeline(o.opt_level, target)
          : passes::parse_pipeline(o.passes.empty() ? pipeline_in(o.model.path) : o.passes, diagnostics);
  if (!asked) {
    s.fail(diagnostics, {});
    return;
  }
  const passes::Pipeline steps = limited(*asked, o.memory_limit);
  if (!fits_pipeline(o, model->module, steps, s)) return;
  if (!spares_inputs(o, *model, steps, s)) return;
  if (o.emit == "relay" && !is_named_for(o.output, kText, s)) return;
  PassOutput output({o.print_after.begin(), o.print_after.end()}, o.time, s);
  const auto save = [](const std::string& path, const std::string& head, const Module& m) {
    return save_module(path, head, m);
  };
  passes::Dumps dumps({.folder = o.dump_dir, .reproducer = o.reproducer, .save = save});
  PassReport report(s);
  driver::Options driven{.target = target, .observers = {&output, &dumps}};
  if (o.report) driven.observers.push_back(&report);
  if (o.opt_level >= 0) driven.opt_level = o.opt_level;
  passes::RunnerOptions run = driver::runner_options(driven);
  if (target.gpu && o.emit == "llvm") {
    s.fail(kUnsupported, "there is no LLVM code for GPUs: `relay compile --emit cuda` prints the source");
    return;
  }
  if (o.verbose) {
    run.on_reason = [&s](const passes::Pass& pass, std::string_view reason) {
      s.say(cat("note: `", pass.name, "` leaves the program as it is: ", reason, "\n"));
    };
  }
  if (o.verify == "types") run.verify = passes::Verify::kTypes;
  if (o.verify == "semantics") {
    run.verify = passes::Verify::kSemantics;
    Result<std::vector<Value>> args = make_inputs(*model, o.inputs, s);
    if (!args) return;
    run.sample_inputs = *args;
  }
  Result<Module> done = passes::run_pipeline(model->module, steps, run, diagnostics);
  s.fail(diagnostics, model->module.context().sources());
  if (!done) return;
  if (o.report) {
    report.print(*done);
    if (o.output.empty()) return;
  }
  if (o.emit == "relay") {
    if (o.output.empty()) {
      print_module(*done, s);
    } else if (std::string wrong = save_module(o.output, "", *done); !wrong.empty()) {
      s.fail(kLimit, wrong);
    }
    return;
  }
  const std::optional<std::string> text =
      emitted(o, *done, model->function, target, run.schedule.opt_level, s);
  if (!text) return;
  if (o.output.empty()) {
    s.print(*text);
  } else if (std::string wrong = write_file_atomically(o.output, *text); !wrong.empty()) {
    s.fail(kLimit, wrong);
  }
}

}  // namespace

void add_opt(Command app, Session& session) {
  auto o = std::make_shared<Options>();
  Command sub = app.command("opt", "run passes on a model and print the result");
  sub.option("model", &o->model.path,
             "a model: .onnx, .relay, a folder with model.onnx, or a graph: its folder or .json; a "
             "reproducer runs the passes that it names")
      .check({find_in_folder});
  add_known_input_options(sub, o->model);
  sub.option("--function", &o->model.function,
             "the function that is @main to the passes; others that it needs stay")
      .shows_default();
  sub.option("--passes", &o->passes,
             "a pipeline: fold-constants,fuse{max-ops=8}; without it and -O no pass runs")
      .kind("PASSES");
  add_opt_level_option(sub, o->opt_level);
  add_memory_limit_option(sub, o->memory_limit);
  sub.option("--print-after", &o->print_after, "a pass, all, or changed")
      .separated_by_commas()
      .one_at_a_time()
      .check({wrong_print_after})
      .kind("PASSES");
  sub.option("--dump-dir", &o->dump_dir, "write a numbered .relay file after each pass");
  sub.option("--verify", &o->verify, "none, types, or semantics (interpret before and after each pass)")
      .check(one_of("check", {"none", "types", "semantics"}));
  sub.option("--reproducer", &o->reproducer, "where to write a reproducer if a pass fails");
  sub.option("--emit", &o->emit, "relay, kernel, llvm or plan")
      .check(one_of("form", {"relay", "kernel", "llvm", "plan"}));
  sub.option("--target", &o->target,
             "what the code is for: native, avx2 and the like, aarch64, or a GPU: cuda:sm_90 and the like")
      .check({target::wrong_target})
      .kind("TARGET")
      .shows_default();
  sub.option("-o,--output", &o->output, "a file instead of standard output");
  sub.flag("--time", &o->time, "print how long each pass took");
  sub.flag("-v,--verbose", &o->verbose, "say why passes leave a program as it is");
  sub.flag(
      "--report", &o->report,
      "print what the program uses, what each pass made of it, and the work of its kernels; not the program");
  sub.flag("--list-passes", &o->list, "list the passes there are");
  add_input_options(sub, o->inputs);
  add_library_option(sub, o->model);
  sub.action([o, &session] {
    if (o->list) {
      list_passes(session);
    } else if (o->model.path.empty()) {
      session.fail(kUsage, "opt needs a model: relay opt MODEL --passes=fold-constants");
    } else if (o->report && o->emit != "relay" && o->output.empty()) {
      session.fail(kUsage, "--report takes the place of what --emit prints: write that to a file, -o FILE");
    } else {
      run(*o, session);
    }
  });
}

}  // namespace relay::tools
