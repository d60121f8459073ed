#include "tools/debug/breakpoints.h"

#include <algorithm>
#include <set>

#include "base/cat.h"
#include "base/nearest.h"
#include "op/registry.h"
#include "tools/debug/refused.h"
#include "tools/debug/words.h"

namespace relay::tools::debug {
namespace {

constexpr std::string_view kForm =
    "say a line (12), FILE:LINE, an operator (nn.conv2d), a function (@main), a value (%3, or a tensor or a "
    "node of an ONNX model) or * for every call, then perhaps `if` and a condition";

// The file of that name, or the one whose path ends in it; 0 if there is none.
uint32_t file_named(const Program& program, std::string_view name) {
  std::set<uint32_t> files;
  for (Expr e : program.expressions()) {
    if (e->span.known()) files.insert(e->span.file);
  }
  for (uint32_t f : files) {
    if (program.sources().name(f) == name) return f;
  }
  for (uint32_t f : files) {
    if (program.sources().name(f).ends_with(cat("/", name))) return f;
  }
  return 0;
}

std::string called_operators(const Program& program) {
  std::set<std::string_view> names;
  for (Expr e : program.expressions()) {
    if (const op::OpDef* def = op::callee(e)) names.insert(def->name);
  }
  return names.empty() ? std::string("none") : join(names, ", ");
}

}  // namespace

std::string Breakpoint::text() const { return condition ? cat(where, " if ", condition->text()) : where; }

const Breakpoint& Breakpoints::add(std::string_view spec, uint32_t file) {
  auto [where, rest] = first_word(spec);
  if (where.empty()) throw Refused(cat("a breakpoint needs a place: ", kForm));
  Breakpoint b;
  b.where = where;
  if (!rest.empty()) {
    const auto [word, condition] = first_word(rest);
    if (word != "if") throw Refused(cat("`", rest, "` after `", where, "` means nothing: ", kForm));
    b.condition = Condition::parse(condition);
  }
  resolve(b, file);
  b.number = ++added_;
  all_.push_back(std::move(b));
  watch();
  return all_.back();
}

void Breakpoints::resolve(Breakpoint& b, uint32_t file) const {
  const std::string_view where = b.where;
  if (where == "*") {
    for (Expr e : program_.expressions()) {
      if (e->as<Call>()) b.expressions.insert(e);
    }
    return;
  }
  if (where.starts_with('@')) {
    const std::string_view name = where.substr(1);
    b.fn = program_.module().function(name);
    if (b.fn || program_.module().kernel(name)) {
      for (Expr e : program_.expressions()) {
        const auto* call = e->as<Call>();
        const auto* global = call ? call->callee->as<Global>() : nullptr;
        if (global && global->name == name) b.expressions.insert(e);
      }
      return;
    }
    throw Refused(no_such("function", where, function_names(program_.module())));
  }
  if (where.starts_with('%')) return resolve_name(b);
  if (whole_number(where)) return resolve_line(b, file, where);
  if (std::all_of(where.begin(), where.end(), [](char c) { return c >= '0' && c <= '9'; }))
    throw Refused(cat("line ", where, " is too large"));
  const op::OpDef* def = op::find(where);
  if (!def && !program_.names().meant(where).empty()) return resolve_name(b);
  if (const size_t colon = where.rfind(':'); colon != std::string_view::npos) {
    const std::string_view name = where.substr(0, colon), line = where.substr(colon + 1);
    if (!whole_number(line)) throw Refused(cat("`", line, "` is no line of `", name, "`: ", kForm));
    const uint32_t named = file_named(program_, name);
    if (named == 0) throw Refused(cat("the program has nothing from a file `", name, "`"));
    return resolve_line(b, named, line);
  }
  if (!def) {
    std::vector<std::string> close = op::nearest(where);
    if (std::string near = nearest(where, program_.names().all()); !near.empty())
      close.insert(close.begin(), std::move(near));
    throw Refused(cat("there is no operator and no value `", where, "`",
                      close.empty() ? "" : cat(" (did you mean ", join(close, " or "), "?)"), ": ", kForm));
  }
  for (Expr e : program_.expressions()) {
    if (op::callee(e) == def) b.expressions.insert(e);
  }
  if (b.expressions.empty())
    throw Refused(
        cat("no call in the program names `", where, "`; those that do name: ", called_operators(program_)));
}

void Breakpoints::resolve_name(Breakpoint& b) const {
  const Names& names = program_.names();
  const std::string name = names.meant(b.where);
  if (name.empty()) {
    const std::string near = did_you_mean(bare_name(b.where), names.all());
    throw Refused(
        cat("there is no value `", b.where, "` with a place to stop", near.empty() ? "" : cat("; ", near)));
  }
  for (Expr e : names.givers(name)) {
    if (!quiet(e)) b.expressions.insert(e);
  }
  b.where = name;
  if (b.expressions.empty())
    throw Refused(cat("`", name, "` is a constant or a function: nothing is evaluated there"));
}

void Breakpoints::resolve_line(Breakpoint& b, uint32_t file, std::string_view line) const {
  const uint64_t number = *whole_number(line);
  if (file == 0) throw Refused(cat("line ", line, " of which file? Here is none; say FILE:LINE"));
  for (Expr e : program_.at_line(file, number, b.condition.has_value())) {
    // On a value only who makes it stops: operands hand on what others made.
    if (!b.condition || !quiet(e)) b.expressions.insert(e);
  }
  b.where = cat(program_.sources().name(file), ":", number);
  if (!b.expressions.empty()) return;
  const uint64_t next = program_.next_line(file, number);
  throw Refused(cat(
      "nothing that is evaluated begins at ", b.where,
      next ? cat("; the next line where something does is ", next) : std::string(", nor on a later line")));
}

void Breakpoints::remove(uint64_t number) {
  const auto it =
      std::find_if(all_.begin(), all_.end(), [&](const Breakpoint& b) { return b.number == number; });
  if (it == all_.end())
    throw Refused(cat("there is no breakpoint ", number,
                      all_.empty()
                          ? std::string("; there are none")
                          : cat("; there are: ", join(all_, ", ", [](const auto& b) { return b.number; }))));
  all_.erase(it);
  watch();
}

void Breakpoints::watch() {
  watched_ = {};
  for (const Breakpoint& b : all_) {
    for (Expr e : b.expressions) watched_[e] = true;
  }
}

template <class Concerns>
const Breakpoint* Breakpoints::hit(bool conditional, const Value* v, Concerns&& concerns) {
  for (Breakpoint& b : all_) {
    if (b.condition.has_value() != conditional || !concerns(b)) continue;
    if (conditional && !b.condition->holds(*v)) continue;
    ++b.hits;
    return &b;
  }
  return nullptr;
}

const Breakpoint* Breakpoints::before(Expr e) {
  if (!watched_.get(e)) return nullptr;
  // A function stops where it is entered, whoever calls it.
  return hit(false, nullptr, [&](const Breakpoint& b) { return !b.fn && b.expressions.contains(e); });
}

const Breakpoint* Breakpoints::entered(const Fn* fn) {
  return hit(false, nullptr, [&](const Breakpoint& b) { return b.fn && b.fn == fn; });
}

const Breakpoint* Breakpoints::value_of(Expr e, const Value& v) {
  if (!watched_.get(e)) return nullptr;
  return hit(true, &v, [&](const Breakpoint& b) { return b.expressions.contains(e); });
}

const Breakpoint* Breakpoints::returned(const Fn* fn, const Value& v) {
  return hit(true, &v, [&](const Breakpoint& b) { return b.fn && b.fn == fn; });
}

}  // namespace relay::tools::debug
