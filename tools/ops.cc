// relay ops: the operators there are.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/nearest.h"
#include "frontend/onnx/import.h"
#include "op/absent.h"
#include "op/document.h"
#include "op/readings.h"
#include "op/registry.h"
#include "tools/operator_examples.h"
#include "tools/options/options.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

std::string_view first_line(std::string_view doc) { return doc.substr(0, doc.find('\n')); }

std::vector<std::string> lines(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

// A name that is no operator's, but whose calls are read as something else.
void describe(const Session& s, const op::Reading& r) {
  if (s.json) {
    s.print_json({{"name", r.name}, {"doc", r.doc}, {"read_as", r.means}});
    return;
  }
  std::string out =
      cat(r.name, ": is no operator; a call is read as something else.\n\n  ", r.means, "\n\n", r.doc, "\n");
  if (!r.attrs.empty()) out += cat("\n  attributes without a meaning here: ", join(r.attrs, ", "), "\n");
  s.print(out);
}

// Is `name` the ONNX operator, with or without its domain?
bool is_called(const frontend::ImportableOperator& op, std::string_view name) {
  return op.name == name || op.name.ends_with(cat(".", name));
}

bool is_onnx(const std::string& name) {
  const std::vector<frontend::ImportableOperator> all = frontend::importable_operators();
  return std::any_of(all.begin(), all.end(), [&](const auto& op) { return is_called(op, name); });
}

bool describe(Session& s, const std::string& name) {
  const op::OpDef* op = op::find(name);
  if (const op::Reading* reading = op ? nullptr : op::find_reading(name)) {
    describe(s, *reading);
    return true;
  }
  if (!op) {
    if (const std::string_view why = op::why_absent(name); !why.empty())
      return s.fail(kUsage, cat("there is no operator `", name, "` on purpose: ", why));
    const std::vector<std::string> close = op::nearest(name);
    return s.fail(kUsage, cat("there is no operator `", name, "`; ",
                              close.empty() ? "" : cat("did you mean ", join(close, " or "), "? "),
                              is_onnx(name) ? cat("`relay ops --onnx ", name, "` has that of ONNX; ") : "",
                              "`relay ops` lists those that there are"));
  }
  const op::OpRule& rule = op::rule_of(*op);
  if (s.json) {
    s.print_json({{"name", op->name},
                  {"doc", op->doc},
                  {"formula", rule.formula},
                  {"signature", rule.signature},
                  {"constraints", lines(rule.constraints)},
                  {"notes", lines(rule.notes)},
                  {"example", example_of(op->name)}});
    return true;
  }
  std::string out = cat(op->name, ": ", op::description(*op));
  if (const std::string_view example = example_of(op->name); !example.empty())
    out += cat("\nexample:\n", example);
  s.print(out);
  return true;
}

void list(const Session& s) {
  if (s.json) {
    nlohmann::ordered_json all = nlohmann::ordered_json::array();
    for (const op::OpDef* op : op::all_ops()) {
      all.push_back({{"name", op->name},
                     {"doc", op->doc},
                     {"lowers", static_cast<bool>(op->lower) || static_cast<bool>(op->expand)},
                     {"differentiates", op->not_differentiable.empty()}});
    }
    s.print_json(all);
    return;
  }
  for (const op::OpDef* op : op::all_ops())
    s.print(fmt::format("{:<28} {}\n", op->name, first_line(op->doc)));
}

// Name, versions of the operator set, and what is refused: of all, or of those of a name.
void list_onnx(Session& s, const std::string& name) {
  if (!name.empty() && !is_onnx(name)) {
    const auto names = names_of(frontend::importable_operators(), [](const auto& op) { return op.name; });
    const std::string near = did_you_mean(name, names);
    s.fail(kUsage, cat("no ONNX operator `", name, "` is known; ", near.empty() ? "" : near + " ",
                       "`relay ops --onnx` lists those that are"));
    return;
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const frontend::ImportableOperator& op : frontend::importable_operators()) {
    if (!name.empty() && !is_called(op, name)) continue;
    if (s.json) {
      all.push_back({{"name", op.name},
                     {"since", op.since},
                     {"until", op.until},
                     {"refuses", op.refuses},
                     {"refused", op.refused}});
      continue;
    }
    const bool is_one = op.until == 0 || op.since == op.until;
    const std::string versions = is_one ? cat(op.since) : cat(op.since, " to ", op.until);
    s.print(op.refuses.empty() ? fmt::format("{:<28} {}\n", op.name, versions)
                               : fmt::format("{:<28} {:<8}  refused: {}\n", op.name, versions, op.refuses));
  }
  if (s.json) s.print_json(all);
}

}  // namespace

void add_ops(Command app, Session& session) {
  struct Options {
    std::string name;
    bool markdown = false, onnx = false;
  };
  auto o = std::make_shared<Options>();
  Command sub = app.command("ops", "list the operators, or describe one");
  sub.option("name", &o->name, "an operator, as nn.conv2d; with --onnx one of ONNX, as Conv")
      .kind("OPERATOR");
  sub.flag("--markdown", &o->markdown, "print docs/operators.md");
  sub.flag("--onnx", &o->onnx, "list the ONNX operators that are known, and what is refused of each");
  sub.action([o, &session] {
    if (o->onnx) {
      list_onnx(session, o->name);
    } else if (o->markdown) {
      session.print(op::markdown(example_of));
    } else if (!o->name.empty()) {
      describe(session, o->name);
    } else {
      list(session);
    }
  });
}

}  // namespace relay::tools
