// relay fmt: a text in its printed form.
#include <CLI/CLI.hpp>

#include "base/cat.h"
#include "op/operators.h"
#include "tools/model.h"
#include "tools/session.h"

namespace relay::tools {

void add_fmt(CLI::App& app, Session& session) {
  struct Options {
    ModelOptions model;
    bool in_place = false;
  };
  auto o = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("fmt", "print a .relay text in its standard form");
  sub->add_option("file", o->model.path, "a .relay file")->required();
  sub->add_flag("-w,--write", o->in_place, "replace the file");
  sub->callback([o, &session] {
    if (!o->model.path.ends_with(".relay")) {
      session.fail(kUsage, cat(o->model.path, ": only .relay texts have a standard form"));
      return;
    }
    Result<Module> m = read_module(o->model, session);
    if (!m) return;
    if (!o->in_place) {
      session.print(op::text_of(*m));
    } else if (std::string wrong = save_module(o->model.path, "", *m); !wrong.empty()) {
      session.fail(kLimit, wrong);
    }
  });
}

}  // namespace relay::tools
