// Module.to_onnx: exporter/onnx/export.h.
#include <pybind11/pybind11.h>

#include <memory>
#include <optional>

#include "driver/driver.h"
#include "exporter/onnx/export.h"
#include "passes/pipeline.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model.h"
#include "python/work.h"

namespace relay::python {
namespace {

py::bytes to_onnx(const Program& given) {
  struct Done {
    Diagnostics diagnostics;
    std::optional<exporter::OnnxModel> model;
  };
  const Program program = copy_to_run(given);
  const auto done = std::make_shared<Done>();
  run_interruptibly([done, program] {
    Diagnostics& diagnostics = done->diagnostics;
    const Result<passes::Pipeline> pipeline = passes::parse_pipeline(exporter::kBeforeExport, diagnostics);
    const Result<Module> inlined =
        pipeline ? driver::optimise(program.model, *pipeline, {}, diagnostics) : Result<Module>(kReported);
    if (!inlined) return;
    const exporter::OnnxNames names{program.model.input_names, program.model.output_names};
    Result<exporter::OnnxModel> made = exporter::export_onnx(*inlined, "main", names, diagnostics);
    if (made) done->model = std::move(*made);
  });
  if (!done->model) raise_diagnostics(done->diagnostics, program.sources());
  warn(done->diagnostics, program.sources());
  return py::bytes(done->model->bytes);
}

}  // namespace

void bind_export(py::module_& m) {
  py::class_<Program>(m.attr("Module"))
      .def("to_onnx", &to_onnx,
           "The function that is run as the bytes of an ONNX model. Raises DiagnosticError for what has no\n"
           "form in ONNX.");
}

}  // namespace relay::python
