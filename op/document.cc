#include "op/document.h"

#include <algorithm>
#include <map>

#include "base/cat.h"
#include "base/check.h"
#include "op/absent.h"
#include "op/bounds.h"
#include "op/grad.h"
#include "op/op_rules.inc"
#include "op/readings.h"
#include "op/registry.h"

namespace relay::op {
namespace {

// Calls f(line) with every line of the text.
template <class F>
void for_each_line(std::string_view text, const F& f) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    f(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

// Formula, signature, notes and constraints.
std::string describe(const OpRule& rule) {
  std::string out = cat("```\n", rule.formula, "\n");
  if (!rule.signature.empty()) out += cat(rule.signature, "\n");
  out += "```\n\n";
  for_each_line(rule.notes, [&](std::string_view note) { out += cat(note, "\n\n"); });
  for_each_line(rule.constraints, [&](std::string_view c) { out += cat("* ", c, "\n"); });
  if (!rule.constraints.empty()) out += "\n";
  return out;
}

std::string family(std::string_view name) {
  const size_t dot = name.find('.');
  return dot == std::string_view::npos ? "core" : std::string(name.substr(0, dot));
}

// Text in a cell of a table.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string_view describe(Effects e) {
  switch (e) {
    case Effects::kNone: return "none";
    case Effects::kTraps: return "may trap";
    case Effects::kEffect: break;
  }
  return "ordered";
}

std::string_view describe(Fusion f) {
  switch (f) {
    case Fusion::kElementwise: return "elementwise";
    case Fusion::kBroadcast: return "broadcast";
    case Fusion::kInjective: return "injective";
    case Fusion::kReduction: return "reduction";
    case Fusion::kOutputFusable: return "output-fusable";
    case Fusion::kOpaque: break;
  }
  return "opaque";
}

std::string tolerance_of(const OpDef& op) {
  const Tolerance& t = op.tolerance;
  if (is_rounded_once(op)) return "bitwise; 1 ULP where it is contracted with another";
  switch (t.kind) {
    case Tolerance::Kind::kExact: return "bitwise";
    case Tolerance::Kind::kUlps: return cat(t.ulps, " ULP");
    case Tolerance::Kind::kReduction: break;
  }
  return t.magnitude == Tolerance::Magnitude::kResult ? "2 (n + 2) u times the result"
                                                      : "2 (n + 2) u times the sum of |terms|";
}

std::string describe(const OpDef& op, std::string_view example) {
  std::string out = cat("### `", op.name, "`\n\n", op.doc, "\n\n", describe(rule_of(op)));
  if (!op.params.empty() || !op.attrs.empty()) out += "| | | |\n|---|---|---|\n";
  for (const Param& p : op.params) out += cat("| argument | `", p.name, "` | ", cell(p.doc), " |\n");
  for (const AttrField& a : op.attrs) {
    const std::string value =
        a.default_text.empty() ? std::string(", required") : cat(" = `", cell(a.default_text), "`");
    out += cat("| attribute | `", a.name, "`: ", cell(a.type), value, " | ", cell(a.doc), " |\n");
  }
  if (!op.params.empty() || !op.attrs.empty()) out += "\n";

  std::vector<std::string> facts;
  if (op.expand) {
    facts.push_back("Written out in other operators, from which gradient, lowering and fusion follow.");
  } else {
    facts.push_back(cat("Fusion: ", describe(op.fusion), "."));
    facts.push_back(op.differentiate ? "Differentiable."
                    : op.not_differentiable.empty()
                        ? "Differentiable, by its kernel."
                        : cat("Not differentiable: ", op.not_differentiable, "."));
  }
  facts.push_back(cat("Effects: ", describe(op.effects), "."));
  facts.push_back(cat("Tolerance: ", tolerance_of(op), "."));
  if (op.extents) facts.push_back("The extents of the result depend on data.");
  if (op.view) facts.push_back("The result has the elements of the first argument, in their order.");
  out += join(facts, " ") + "\n";
  if (!example.empty()) out += cat("\n```\n", example, "```\n");
  return out;
}

// Names that texts of the established system have, and that are no operators here.
std::string other_names() {
  std::string out =
      "\n## Names that are read as something else\n\nTexts that another compiler printed have them. A call "
      "is read "
      "as what it means on one device;\nattributes that have no meaning then may be there.\n\n"
      "| a call | why | attributes |\n|---|---|---|\n";
  for (const Reading& r : readings()) {
    const std::string attrs = join(r.attrs, ", ", [](std::string_view a) { return cat("`", a, "`"); });
    out += cat("| `", cell(r.means), "` | ", cell(r.doc), " | ", attrs, " |\n");
  }
  out +=
      "\n## Names without an operator\n\nMost of them call the machinery of another implementation. A "
      "program that "
      "has one "
      "is refused, for this reason:\n\n| name | reason |\n|---|---|\n";
  for (const Absent& a : absent_operators()) out += cat("| `", a.name, "` | ", cell(a.reason), " |\n");
  return out;
}

}  // namespace

const OpRule& rule_of(const OpDef& op) {
  // grad is in no list of operators, so its file is none of those that op_rules.py reads.
  static const OpRule kGrad{
      "grad", "grad(f) = the function that gives the value of f and the gradients of its parameters",
      "(fn (T...) -> R) -> fn (T...) -> (R, (T...))",
      "C1: f is a function that is not generic.\nC2: T... and R are tensors and tuples of them.",
      "docs/gradients.md says what is differentiated."};
  if (&op == &grad()) return kGrad;
  const auto* rule = std::find_if(std::begin(kOpRules), std::end(kOpRules),
                                  [&](const OpRule& r) { return r.name == op.name; });
  CHECK(rule != std::end(kOpRules), cat("bazel/op_rules.py did not find ", op.name));
  return *rule;
}

std::string description(const OpDef& op) {
  const OpRule& rule = rule_of(op);
  std::string out = cat(op.doc, "\n\n");
  for (const std::string_view part : {rule.formula, rule.signature, rule.constraints})
    for_each_line(part, [&](std::string_view line) { out += cat("  ", line, "\n"); });
  for_each_line(rule.notes, [&](std::string_view note) { out += cat("\n", note, "\n"); });
  out += "\n";
  for (const Param& p : op.params) out += cat("  argument  ", p.name, ": ", p.doc, "\n");
  for (const AttrField& a : op.attrs) {
    out += cat("  attribute ", a.name, ": ", a.type,
               a.default_text.empty() ? " (required)" : cat(" = ", a.default_text),
               a.doc.empty() ? "" : cat(", ", a.doc), "\n");
  }
  return out;
}

std::string markdown(const std::function<std::string_view(std::string_view)>& example_of) {
  std::map<std::string, std::vector<const OpDef*>> families;
  for (const OpDef* op : all_ops()) families[family(op->name)].push_back(op);

  std::string out =
      cat("# Operators\n\nGenerated by `./relay ops --markdown` from the operators' own files; ",
          all_ops().size(),
          " operators. Arguments are tensors, or tuples of them where they say so; how far an engine\n",
          "may be from the interpreter (the tolerance) is explained in `docs/semantics.md`.\n\n",
          "A signature has a letter for each dtype (`d`, `e`), shape (`s`, `t`) and extent; `..` stands for "
          "any number of "
          "extents.\n",
          "`C1`, `C2` and so on are what the arguments and attributes have to satisfy. The last lines are a "
          "function, a "
          "call, and its\n",
          "result (`~`: within the tolerance), which the tests check on every engine.\n");
  for (const auto& [name, ops] : families) {
    out += cat("\n## ", name, "\n\n",
               join(ops, " · ", [](const OpDef* op) { return cat("`", op->name, "`"); }), "\n");
    for (const OpDef* op : ops) out += "\n" + describe(*op, example_of(op->name));
  }
  return out + other_names();
}

}  // namespace relay::op
