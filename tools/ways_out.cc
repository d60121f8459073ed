#include "tools/ways_out.h"

#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/counted.h"
#include "base/file.h"
#include "driver/driver.h"
#include "exporter/dot/dot.h"
#include "exporter/onnx/export.h"
#include "passes/pipeline.h"
#include "tools/overwriting.h"
#include "tools/pass_output.h"

namespace relay::tools {
namespace {

void check_options(const CompileRequest& o, Session& s) {
  const CompileRequest plain;
  if (o.targets != plain.targets) s.fail(kUsage, cat("--target: --emit ", o.emit, " is for no machine"));
  if (o.threads != plain.threads)
    s.fail(kUsage, cat("--threads: what --emit ", o.emit, " writes does not run"));
  if (o.denormals != plain.denormals)
    s.fail(kUsage, cat("--denormals: what --emit ", o.emit, " writes does not run"));
  if (!o.bounds.empty()) s.fail(kUsage, cat("--bounds: --emit ", o.emit, " has no place for them"));
  if (!o.link.empty()) s.fail(kUsage, cat("--link: --emit ", o.emit, " links nothing"));
  if (o.weights_file || !o.licence.empty())
    s.fail(kUsage, cat("--weights-file and --licence: --emit ", o.emit, " has no place for them"));
  if (o.emit == "onnx" && o.output.empty()) s.fail(kUsage, "--emit onnx: name the file: -o model.onnx");
}

Result<Module> inlined(const CompileRequest& o, const driver::Model& model, Session& s,
                       Diagnostics& diagnostics) {
  PassOutput output({}, o.time, s);
  driver::Options options;
  options.observers = {&output};
  const Result<passes::Pipeline> pipeline =
      passes::parse_pipeline(o.passes.empty() ? exporter::kBeforeExport : o.passes, diagnostics);
  return pipeline ? driver::optimise(model, *pipeline, options, diagnostics) : kReported;
}

void write_onnx(const CompileRequest& o, const driver::Model& model, const Module& m, Session& s,
                Diagnostics& diagnostics) {
  const Result<exporter::OnnxModel> onnx =
      exporter::export_onnx(m, "main", {model.input_names, model.output_names}, diagnostics);
  if (!onnx) return;
  if (std::string wrong = write_file_atomically(o.output, onnx->bytes); !wrong.empty()) {
    s.fail(kLimit, wrong);
    return;
  }
  if (s.json)
    s.print_json({{"onnx", o.output}, {"nodes", onnx->nodes}, {"initialisers", onnx->initialisers}});
  s.say(cat("wrote ", o.output, ": ", counted(onnx->nodes, "node"), ", ",
            counted(onnx->initialisers, "initialiser"), "\n"));
}

}  // namespace

bool is_way_out(const CompileRequest& o) { return o.emit == "onnx" || o.emit == "dot"; }

void write_way_out(const CompileRequest& o, Session& s) {
  check_options(o, s);
  const Product product = product_of(o, "", s);
  if (s.exit_code != kOk) return;
  const Result<driver::Model> model = load_specialised(o.model, s);
  if (!model || !spares_inputs(outputs_of(o, product), files_read(o, *model), s)) return;
  if (o.emit == "onnx" && !is_named_for(o.output, kOnnxModel, s)) return;
  Diagnostics diagnostics;
  const Result<Module> m = inlined(o, *model, s, diagnostics);
  if (m && o.emit == "onnx") write_onnx(o, *model, *m, s, diagnostics);
  if (m && o.emit == "dot") {
    if (const Result<std::string> text = exporter::dot_text(*m->function("main"), "main", diagnostics))
      deliver(*text, o, s);
  }
  s.fail(diagnostics, model->module.context().sources());
}

}  // namespace relay::tools
