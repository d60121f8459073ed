// relay fmt: a text in its printed form.
#include <algorithm>
#include <set>

#include "base/cat.h"
#include "base/escape.h"
#include "frontend/data/safetensors.h"
#include "op/operators.h"
#include "tools/model.h"
#include "tools/options/options.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

// Constants stay where they are: in the file beside the text, or in the text.
std::string standard_text(const Module& m, const std::string& path) {
  std::map<std::string, Tensor> named;
  const std::string text = op::text_of(m, {.constants = &named, .most_elements = INT64_MAX, .imports = true});
  std::set<std::string> beside;
  Diagnostics ignored;
  if (!named.empty()) {
    if (Result<frontend::data::Safetensors> side =
            frontend::data::map_safetensors(driver::side_file(path), {}, ignored)) {
      for (const frontend::data::NamedTensor& t : side->tensors) beside.insert(t.name);
    }
  }
  const bool all_beside =
      std::all_of(named.begin(), named.end(), [&](const auto& c) { return beside.contains(c.first); });
  return all_beside ? text : op::text_of(m, {.imports = true});
}

}  // namespace

void add_fmt(Command app, Session& session) {
  struct Options {
    ModelOptions model;
    bool in_place = false;
  };
  auto o = std::make_shared<Options>();
  Command sub = app.command("fmt", "print a .relay text in its standard form");
  sub.option("file", &o->model.path, "a .relay file").required();
  sub.flag("-w,--write", &o->in_place, "replace the file");
  sub.action([o, &session] {
    if (!o->model.path.ends_with(".relay")) {
      session.fail(kUsage, cat(o->model.path, ": only .relay texts have a standard form; `relay import ",
                               shell_word(o->model.path), " -o model.relay` makes one of a model"));
      return;
    }
    Result<Module> m = read_module(o->model, session);
    if (!m) return;
    if (!o->in_place) {
      session.print(standard_text(*m, o->model.path));
    } else if (std::string wrong = save_module(o->model.path, "", *m, {.imports = true}); !wrong.empty()) {
      session.fail(kLimit, wrong);
    }
  });
}

}  // namespace relay::tools
