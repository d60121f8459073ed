#include "tools/page/lineage.h"

#include <algorithm>
#include <map>
#include <set>

#include "aot/emit.h"
#include "aot/program.h"
#include "base/cat.h"
#include "base/check.h"
#include "driver/engines.h"
#include "ir/traverse.h"
#include "op/operators.h"
#include "toolchain/compiler.h"

namespace relay::tools {
namespace {

constexpr int kLevel = 2;

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

// The lines of one source text that expressions come from.
class Places {
 public:
  Places(const SourceMap& sources, uint32_t file) : sources_(sources), file_(file) {}

  std::optional<size_t> line(Span at) const {
    if (!at.known() || at.file != file_) return std::nullopt;
    return sources_.position(at.file, at.begin).line - 1;
  }
  // Of the evaluations and the folded constants in what a kernel replaced.
  void add(const Call& replaced, std::set<size_t>& out) const {
    std::vector<Expr> parts{&replaced};
    parts.insert(parts.end(), replaced.args.begin(), replaced.args.end());
    const auto* fn = replaced.callee->as<Fn>();
    const std::vector<Expr> inside = fn ? post_order(fn->body) : std::vector<Expr>();
    for (Expr e : inside) {
      if (!e->as<Var>()) parts.push_back(e);
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool is_argument = i > 0 && i <= replaced.args.size();
      if (is_argument && !parts[i]->as<Constant>()) continue;  // another kernel computes it
      if (const auto at = line(parts[i]->span)) out.insert(*at);
    }
  }

 private:
  const SourceMap& sources_;
  uint32_t file_;
};

// The text that the model was read from: the first one that an expression has a span of.
uint32_t file_of(const Module& m) {
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn->body)) {
      if (e->span.known()) return e->span.file;
    }
  }
  return 0;
}

std::vector<LinkedLine> model_lines(const SourceMap& sources, uint32_t file) {
  std::vector<LinkedLine> out;
  if (file == 0) return out;
  for (std::string& text : lines_of(sources.text(file))) out.push_back({std::move(text), {out.size()}, {}});
  return out;
}

std::vector<LinkedLine> program_lines(const Module& m, const Places& places) {
  const Operators operators = op::operators();
  NodeMap<Span> ranges;
  PrintOptions options;
  options.operators = &operators;
  options.elide = true;
  options.most_inline = 0;
  options.types = true;
  options.ranges = &ranges;
  options.header = false;
  const std::string text = print(m, options);
  std::vector<LinkedLine> out;
  std::vector<size_t> ends;
  for (std::string& line : lines_of(text)) {
    ends.push_back((ends.empty() ? 0 : ends.back() + 1) + line.size());
    out.push_back({std::move(line), {}, {}});
  }
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn->body)) {
      const Span at = ranges.get(e);
      const std::optional<size_t> node = places.line(e->span);
      if (is_leaf(e) || e->as<Let>() || at.end == 0 || !node) continue;
      const auto line = std::lower_bound(ends.begin(), ends.end(), at.begin) - ends.begin();
      out[static_cast<size_t>(line)].nodes.push_back(*node);
    }
  }
  for (LinkedLine& line : out) {
    std::sort(line.nodes.begin(), line.nodes.end());
    line.nodes.erase(std::unique(line.nodes.begin(), line.nodes.end()), line.nodes.end());
  }
  return out;
}

void link_kernels(const std::vector<LinkedKernel>& kernels, std::vector<LinkedLine>& lines) {
  for (LinkedLine& line : lines) {
    for (size_t k = 0; k < kernels.size(); ++k) {
      const std::vector<size_t>& nodes = kernels[k].nodes;
      const auto has = [&](size_t n) { return std::binary_search(nodes.begin(), nodes.end(), n); };
      if (std::any_of(line.nodes.begin(), line.nodes.end(), has)) line.kernels.push_back(k);
    }
  }
}

// What `lower` tells of a kernel.
struct Replaced {
  const Call* first = nullptr;
  std::set<size_t> nodes = {};
};

// Fills `replaced`, by the names of kernels.
class Origins : public passes::Observer {
 public:
  Origins(std::map<std::string, Replaced>& replaced, const Places& places)
      : replaced_(replaced), places_(places) {}
  void lowered(Symbol kernel, const Call& call) override {
    Replaced& r = replaced_[kernel.str()];
    if (!r.first) r.first = &call;
    places_.add(call, r.nodes);
  }

 private:
  std::map<std::string, Replaced>& replaced_;
  const Places& places_;
};

// Adds the C++ of each kernel, and its assembly. Each is compiled by itself, so all of the assembly
// is the kernel's. Returns false, and reports, if the program cannot be printed.
bool add_texts(const Module& lowered, const target::Target& target, Lineage& out, Diagnostics& diagnostics) {
  const Result<aot::Program> program = aot::make_program(lowered, "main", diagnostics);
  if (!program) return false;
  aot::EmitOptions emit;
  emit.opt_level = kLevel;
  const aot::Sources sources = aot::emit({&*program, target}, emit);
  std::map<std::string_view, const std::string*> texts;
  for (const aot::KernelText& k : sources.kernel_texts) texts[k.kernel.text()] = &k.text;
  std::vector<toolchain::Source> compiled;
  for (const aot::SourceFile& f : sources.files) {
    if (f.name.ends_with(".h")) compiled.push_back({f.name, f.text});
  }
  const auto file_name = [](size_t i) { return cat("kernel_", i, ".cc"); };
  for (size_t i = 0; i < out.kernels.size(); ++i) {
    out.kernels[i].cpp = *texts.at(out.kernels[i].name);
    compiled.push_back({file_name(i), sources.kernels_head + out.kernels[i].cpp});
  }
  const auto head =
      static_cast<size_t>(std::count(sources.kernels_head.begin(), sources.kernels_head.end(), '\n'));
  toolchain::Compiler compiler;
  std::vector<std::string> assembly;
  out.no_assembly = toolchain::find_compiler(compiler);
  if (out.no_assembly.empty())
    out.no_assembly = toolchain::assembly_of(compiled, {.target = target, .opt_level = kLevel}, assembly);
  out.compiler = compiler.version;
  for (size_t i = 0; i < assembly.size(); ++i) {
    out.kernels[i].assembly = parse_assembly(assembly[i], file_name(i));
    // Lines of the helpers that stand before a kernel are none of its own.
    for (AssemblyLine& l : out.kernels[i].assembly) l.source_line -= std::min(l.source_line, head);
  }
  return true;
}

}  // namespace

Result<Lineage> lineage_of(const driver::Model& model, Session& session) {
  Progress progress(session, "page");
  const SourceMap& sources = model.module.context().sources();
  const auto refuse = [&](const Diagnostics& why) {
    session.fail(why, sources);
    return kReported;
  };
  const target::Target target = target::target_of("native");
  const uint32_t file = file_of(model.module);
  const Places places(sources, file);

  progress.step("the passes");
  std::map<std::string, Replaced> replaced;
  Origins origins(replaced, places);
  Diagnostics diagnostics;
  const Result<Module> lowered =
      driver::optimise(model.module, model.function,
                       {.opt_level = kLevel, .target = target, .observers = {&origins}}, diagnostics);
  if (!lowered) return refuse(diagnostics);
  Result<passes::Plan> plan = passes::plan_memory(*lowered, "main", diagnostics);
  if (!plan) return refuse(diagnostics);

  Lineage out;
  out.context = lowered->shared_context();
  out.model_name = sources.name(file);
  out.model = model_lines(sources, file);
  out.program = program_lines(model.module, places);
  std::set<const kernel::Kernel*> seen;
  for (const passes::PlanStep& s : plan->steps) {
    if (!s.kernel || !seen.insert(s.kernel).second) continue;
    const Replaced& from = replaced.at(s.kernel->name.str());
    out.kernels.push_back({s.kernel->name.str(),
                           s.kernel->origin.str(),
                           std::vector<size_t>(from.nodes.begin(), from.nodes.end()),
                           from.first,
                           kernel::show(*s.kernel),
                           {},
                           {}});
  }
  out.plan = std::move(*plan);
  link_kernels(out.kernels, out.model);
  link_kernels(out.kernels, out.program);
  progress.step("C++ and assembly");
  if (!add_texts(*lowered, target, out, diagnostics)) return refuse(diagnostics);
  return out;
}

}  // namespace relay::tools
