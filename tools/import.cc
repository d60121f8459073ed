// relay import: an ONNX model or a graph as a .relay text.
#include <filesystem>

#include "base/cat.h"
#include "op/operators.h"
#include "tools/model.h"
#include "tools/model_folder.h"
#include "tools/options/options.h"
#include "tools/overwriting.h"
#include "tools/session.h"

namespace relay::tools {

void add_import(Command app, Session& session) {
  struct Options {
    ModelOptions model;
    std::string output;
  };
  auto o = std::make_shared<Options>();
  Command sub = app.command("import", "turn an ONNX model or a graph into a .relay text");
  sub.option("model", &o->model.path,
             "a .onnx file, a folder with model.onnx, or a graph: its folder or .json")
      .required()
      .check({find_in_folder});
  add_known_input_options(sub, o->model);
  sub.option("-o,--output", &o->output, "the .relay file (large constants go to a .safetensors beside it)");
  sub.action([o, &session] {
    if (!o->model.path.ends_with(".onnx") && !driver::is_graph(o->model.path)) {
      session.fail(kUsage,
                   cat(o->model.path, ": only .onnx models and graphs can be imported; ",
                       o->model.path.ends_with(".relay") ? "this is a text already, which every command takes"
                                                         : "a graph is its folder or its .json"));
      return;
    }
    Result<driver::Model> model = load_model(o->model, session);
    if (!model) return;
    const std::string written[] = {o->output, driver::side_file(o->output)};
    if (!o->output.empty() && !spares_inputs(written, model->files, session)) return;
    if (!is_named_for(o->output, kText, session)) return;
    if (o->output.empty()) {
      print_module(model->module, session);
      return;
    }
    const std::string wrong = [&] {
      Progress progress(session, "writing");
      progress.step(o->output);
      return save_module(o->output, "", model->module);
    }();
    if (!wrong.empty()) {
      session.fail(kLimit, wrong);
    } else {
      session.say(cat("wrote ", o->output, "\n"));
    }
  });
}

}  // namespace relay::tools
