#include "exporter/dot/dot.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "base/cat.h"
#include "base/escape.h"
#include "ir/traverse.h"
#include "op/registry.h"

namespace relay::exporter {
namespace {

constexpr size_t kMostText = 60;  // characters of one line of a label

// A string of Graphviz, which reads backslashes in labels: `\n` ends a line there. Control
// characters become visible first.
std::string dot_quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : harmless(text)) {
    if (c == '"' || c == '\\') out += '\\';
    c == '\n' ? out += "\\n" : out += c;
  }
  return out + "\"";
}

std::string cut(std::string text) {
  if (text.size() <= kMostText) return text;
  size_t end = kMostText - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // within a letter
  return text.substr(0, end) + "...";
}

// A callee says what its call is, and is no node of its own.
bool is_named_callee(Expr e) {
  return e->kind == ExprKind::kOpRef || e->kind == ExprKind::kCtorRef || e->kind == ExprKind::kGlobal;
}

std::string callee_name(Expr callee) {
  if (const auto* ref = callee->as<OpRef>()) return std::string(op::name(*ref->op));
  if (const auto* ctor = callee->as<CtorRef>()) return ctor->ctor->name.str();
  if (const auto* global = callee->as<Global>()) return cat("@", global->name.text());
  return "call";
}

std::string constant_text(const Constant& c) {
  constexpr int64_t kFew = 4;
  if (!c.name.empty()) return cat("constant ", c.name.text());
  return c.value->size() <= kFew ? show(*c.value, kFew) : "constant";
}

std::string title(Expr e) {
  switch (e->kind) {
    case ExprKind::kConstant: return constant_text(*e->as<Constant>());
    case ExprKind::kVar: return cat("%", e->as<Var>()->name.text());
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kGlobal: return callee_name(e);
    case ExprKind::kTuple: return "tuple";
    case ExprKind::kProj: return cat(".", e->as<Proj>()->index);
    case ExprKind::kFn: return "fn";
    case ExprKind::kCall: return callee_name(e->as<Call>()->callee);
    case ExprKind::kLet: return cat("let %", e->as<Let>()->x->name.text());
    case ExprKind::kIf: return "if";
    case ExprKind::kMatch: return "match";
    case ExprKind::kRefNew: return "ref";
    case ExprKind::kRefRead: return "ref_read";
    case ExprKind::kRefWrite: return "ref_write";
  }
  return {};
}

// The title, a line for each attribute, the type.
std::string label(Expr e) {
  std::string out = cut(title(e));
  if (const auto* call = e->as<Call>()) {
    for (const Attr& a : call->attrs) out += cat("\n", cut(cat(a.name.text(), "=", show(a.value))));
  }
  return out + cat("\n", cut(show(e->type, kMostText)));
}

std::string_view look(Expr e) {
  if (e->kind == ExprKind::kConstant) return ", style=dashed";
  return e->kind == ExprKind::kVar ? ", shape=ellipse" : "";
}

}  // namespace

Result<std::string> dot_text(const Fn& fn, std::string_view name, Diagnostics& diagnostics) {
  std::vector<Expr> drawn(fn.params.begin(), fn.params.end());
  std::unordered_map<Expr, size_t> number;
  for (Expr p : drawn) number.emplace(p, number.size());
  // A callee is drawn where it is a value, too.
  std::unordered_map<Expr, bool> is_value;
  const std::vector<Expr> order = post_order(fn.body);
  is_value[fn.body] = true;
  for (Expr e : order) {
    bool first = e->kind == ExprKind::kCall;
    for_each_child(e, [&](Expr child) {
      is_value[child] = is_value[child] || !first || !is_named_callee(child);
      first = false;
    });
  }
  for (Expr e : order) {
    if (is_value[e] && number.emplace(e, number.size()).second) drawn.push_back(e);
  }
  if (drawn.size() > kMostDrawn) {
    diagnostics
        .error(fn.span, "limit-nodes",
               cat("@", name, " has ", drawn.size(), " expressions, and a picture has at most ", kMostDrawn))
        .note(
            "`--emit onnx` writes a file for viewers of large models; `--function` draws a smaller function");
    return kReported;
  }
  std::string out = cat("digraph ", dot_quoted(name), " {\n  node [shape=box, fontname=\"monospace\"];\n");
  for (size_t i = 0; i < drawn.size(); ++i)
    out += cat("  n", i, " [label=", dot_quoted(label(drawn[i])), look(drawn[i]), "];\n");
  for (size_t i = 0; i < drawn.size(); ++i) {
    std::vector<size_t> from;
    for_each_child(drawn[i], [&](Expr child) {
      if (const auto it = number.find(child); it != number.end()) from.push_back(it->second);
    });
    for (size_t k = 0; k < from.size(); ++k)
      out += cat("  n", from[k], " -> n", i, from.size() > 1 ? cat(" [label=", k, "]") : "", ";\n");
  }
  out += cat("  result [shape=plaintext];\n  n", number.at(fn.body), " -> result;\n}\n");
  return out;
}

}  // namespace relay::exporter
