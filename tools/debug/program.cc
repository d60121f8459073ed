#include "tools/debug/program.h"

#include <fmt/format.h>
#include <algorithm>
#include <unordered_set>

#include "base/cat.h"
#include "base/nearest.h"
#include "interp/machine.h"
#include "ir/fields.h"
#include "tools/debug/statistics.h"

namespace relay::tools::debug {
namespace {

// Lines of a text may be as long as a constant.
constexpr size_t kWidest = 120;
constexpr size_t kShort = 100;
constexpr int64_t kFewElements = 16;

// At most `most` bytes of a text on one line.
std::string cut(std::string text, size_t most) {
  if (text.size() <= most) return text;
  text.resize(most);
  return text + " ...";
}

}  // namespace

bool quiet(Expr e) {
  switch (e->kind) {
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kFn:
    case ExprKind::kLet: return true;
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kCall:
    case ExprKind::kIf:
    case ExprKind::kMatch:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return false;
  }
  return false;
}

bool decides(Expr e) {
  switch (e->kind) {
    case ExprKind::kLet:
    case ExprKind::kIf:
    case ExprKind::kMatch: return true;
    case ExprKind::kConstant:
    case ExprKind::kVar:
    case ExprKind::kGlobal:
    case ExprKind::kOpRef:
    case ExprKind::kCtorRef:
    case ExprKind::kTuple:
    case ExprKind::kProj:
    case ExprKind::kFn:
    case ExprKind::kCall:
    case ExprKind::kRefNew:
    case ExprKind::kRefRead:
    case ExprKind::kRefWrite: return false;
  }
  return false;
}

std::vector<std::string> function_names(const Module& m) {
  return names_of(m.functions(), [](const auto& f) { return cat("@", f.first.text()); });
}

Program::Program(Module m, bool is_listed) : module_(std::move(m)), names_(module_, is_listed) {
  std::vector<Expr> roots;
  for (const auto& [name, fn] : module_.functions()) {
    roots.push_back(fn);
    function_names_.emplace(fn, cat("@", name.text()));
  }
  all_ = post_order(roots);
  for (Expr e : all_) {
    for_each_child(e, [&](Expr child) {
      if (Expr& first = parent_[child]; !first) first = e;
    });
    const auto* let = e->as<Let>();
    if (const Fn* fn = let ? let->value->as<Fn>() : nullptr)
      function_names_.emplace(fn, cat("%", let->x->name.text()));
  }
}

std::string Program::name_of(const Fn* fn) const {
  if (!fn) return "an expression";
  const auto it = function_names_.find(fn);
  if (it != function_names_.end()) return it->second;
  if (!fn->span.known()) return "fn";
  return cat("fn at line ", sources().position(fn->span.file, fn->span.begin).line);
}

std::vector<const Var*> Program::variables_around(Expr e) const {
  std::vector<const Var*> inside_out;
  for (Expr child = e, around = parent_.get(e); around; child = around, around = parent_.get(around)) {
    std::vector<const Var*> bound;
    const auto add_all = [&] { for_each_binder(around, [&](const Var* x) { bound.push_back(x); }); };
    match(
        around, [&](const Fn&) { add_all(); },
        [&](const Let& let) {
          if (child == let.body || let.value->kind == ExprKind::kFn) bound.push_back(let.x);
        },
        [&](const Match& m) {
          if (child != m.value) add_all();
        },
        [](const auto& n) {
          static_assert(!binds_variables<std::decay_t<decltype(n)>>, "where are its variables known?");
        });
    inside_out.insert(inside_out.end(), bound.rbegin(), bound.rend());
  }
  std::reverse(inside_out.begin(), inside_out.end());
  return inside_out;
}

bool Program::begins_on(Expr e, uint32_t file, uint64_t line) const {
  return e->span.file == file && sources().position(file, e->span.begin).line == line;
}

std::vector<Expr> Program::at_line(uint32_t file, uint64_t line, bool within) const {
  // Functions of the module are not evaluated where they stand, and a variable's place
  // is its binder's.
  std::unordered_set<Expr> there;
  std::vector<Expr> in_order;
  for (Expr e : all_) {
    if (e->kind == ExprKind::kVar || !parent_.get(e) || !begins_on(e, file, line)) continue;
    there.insert(e);
    in_order.push_back(e);
  }
  if (within) return in_order;
  std::vector<Expr> out;
  for (Expr e : in_order) {
    const Expr around = parent_.get(e);
    if (!there.contains(around) || around->kind == ExprKind::kFn) out.push_back(first_on(e, file, line));
  }
  return out;
}

// What is evaluated first of e, of that which begins on the line: its first operand's first
// operand, and so on.
Expr Program::first_on(Expr e, uint32_t file, uint64_t line) const {
  for (;;) {
    if (quiet(e) || decides(e)) return e;
    Expr first = nullptr;
    for_each_child(e, [&](Expr operand) {
      if (!first && !quiet(operand) && begins_on(operand, file, line)) first = operand;
    });
    if (!first) return e;
    e = first;
  }
}

uint64_t Program::next_line(uint32_t file, uint64_t line) const {
  uint64_t next = 0;
  for (Expr e : all_) {
    if (e->span.file != file || e->kind == ExprKind::kVar || !parent_.get(e)) continue;
    const uint64_t at = sources().position(file, e->span.begin).line;
    if (at > line && (next == 0 || at < next)) next = at;
  }
  return next;
}

std::string Program::describe(Expr e) const {
  return match(
      e, [](const Constant&) { return std::string("constant"); },
      [](const Var& n) { return cat("%", n.name.text()); },
      [](const Global& n) { return cat("@", n.name.text()); },
      [](const OpRef& n) { return cat("`", op::name(*n.op), "`"); },
      [](const CtorRef& n) { return cat("`", n.ctor->name.text(), "`"); },
      [](const Tuple&) { return std::string("tuple"); }, [](const Proj& n) { return cat("field ", n.index); },
      [](const Fn&) { return std::string("fn"); },
      [&](const Call& n) {
        const std::string called = n.callee->kind == ExprKind::kCall || n.callee->kind == ExprKind::kFn
                                       ? std::string("a function")
                                       : describe(n.callee);
        return n.callee->kind == ExprKind::kOpRef ? called : cat("call of ", called);
      },
      [](const Let& n) { return cat("let %", n.x->name.text()); },
      [](const If&) { return std::string("if"); }, [](const Match&) { return std::string("match"); },
      [](const RefNew&) { return std::string("ref"); },
      [](const RefRead&) { return std::string("ref_read"); },
      [](const RefWrite&) { return std::string("ref_write"); });
}

std::string Program::place(Expr e, const Fn* fn) const {
  std::string out = describe(e);
  // A variable's place is where it is bound, which is not where it is used.
  if (e->span.known() && e->kind != ExprKind::kVar) {
    const auto at = sources().position(e->span.file, e->span.begin);
    out += cat(" at ", sources().name(e->span.file), ":", at.line, ":", at.column);
  }
  return cat(out, " in ", name_of(fn), "\n", source(e));
}

std::string Program::start(const Fn* fn) const {
  std::string out = cat("start of ", name_of(fn));
  if (!fn || !fn->span.known()) return out + "\n";
  const auto at = sources().position(fn->span.file, fn->span.begin);
  return cat(out, " at ", sources().name(fn->span.file), ":", at.line, ":", at.column, "\n", source(fn));
}

std::string Program::source(Expr e) const {
  if (!e->span.known() || e->kind == ExprKind::kVar) return "";
  const auto at = sources().position(e->span.file, e->span.begin);
  // The part of a long line that begins a little before the expression.
  const size_t column = at.column - 1;
  const size_t from = column < kWidest / 2 ? 0 : column - kWidest / 3;
  const std::string_view shown = at.text.substr(from, kWidest);
  const size_t end = std::min<size_t>(column - from + (e->span.end - e->span.begin), shown.size());
  std::string carets(column - from, ' ');
  for (size_t i = 0; i < carets.size(); ++i) {
    if (shown[i] == '\t') carets[i] = '\t';
  }
  carets += cat("^", end > column - from + 1 ? std::string(end - (column - from) - 1, '~') : "");
  return fmt::format("  {:>5} | {}\n        | {}\n", at.line, shown, carets);
}

std::string Program::value(const Value& v) const {
  if (!v.is_tensor()) return cat("  ", short_value(v), "\n");
  const Tensor& t = v.tensor();
  std::string out = cat("  ", relay::show(t, kFewElements), "\n");
  if (t.size() > 1) out += cat("  ", show(statistics_of(t)), "\n");
  return out;
}

std::string Program::short_value(const Value& v) const {
  if (v.is_tensor()) return cut(relay::show(v.tensor(), kFewElements / 2), kShort);
  if (v && v.kind() == ValueKind::kClosure)
    return cat("<closure of ", name_of(static_cast<const Fn*>(v.code())), ">");
  if (v && v.kind() == ValueKind::kCallable) {
    const auto e = static_cast<Expr>(v.code());
    return cat("<", describe(e), ">");
  }
  return cut(interp::show(v, kShort), 2 * kShort);
}

std::string Program::listing(uint32_t file, uint64_t middle, uint64_t around, uint64_t current) const {
  const std::string_view text = sources().text(file);
  const uint64_t first = middle > around ? middle - around : 1;
  std::string out;
  uint64_t line = 1;
  for (size_t begin = 0; begin < text.size() && line <= middle + around; ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (line >= first)
      out += fmt::format("{} {:>5} | {}\n", line == current ? '>' : ' ', line,
                         text.substr(begin, std::min(end - begin, kWidest)));
    begin = end + 1;
  }
  return out;
}

}  // namespace relay::tools::debug
