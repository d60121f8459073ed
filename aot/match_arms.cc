#include "aot/match_arms.h"

#include <algorithm>
#include <map>

#include "aot/decisions.h"
#include "base/cat.h"
#include "base/escape.h"
#include "base/failure.h"

namespace relay::aot {
namespace {

std::string no_arm() { return cat("return run.trap(", c_string(kNoArm), ");"); }

// How many leaves of the tree lead to the arm that most of them lead to.
size_t most_ways(const Decision& tree) {
  std::map<size_t, size_t> ways;
  const auto count = [&](const auto& self, const Decision& d) -> void {
    if (d.arm) ++ways[*d.arm];
    for (const auto& [tag, next] : d.cases) self(self, next);
    if (d.otherwise) self(self, *d.otherwise);
  };
  count(count, tree);
  size_t most = 0;
  for (const auto& [arm, number] : ways) most = std::max(most, number);
  return most;
}

class ArmPrinter {
 public:
  ArmPrinter(FunctionText& text, Arenas& arenas, const Module& module, const Match& match,
             const std::string& value, const std::function<void(size_t)>& take)
      : text_(text), arenas_(arenas), module_(module), match_(match), value_(value), take_(take) {}

  void print() {
    const std::optional<Decision> tree = decide(match_, module_);
    if (!tree) return in_turn();
    // An arm that several ways lead to is written once, after the decision.
    if (most_ways(*tree) <= 1) return decision(*tree, [&](size_t arm) { take(arm); });
    const std::string chosen = cat("arm_", text_.number());
    text_.line(cat("uint32_t ", chosen, " = 0;"));
    decision(*tree, [&](size_t arm) { text_.line(cat(chosen, " = ", arm, ";")); });
    take_chosen(chosen);
  }

 private:
  void take(size_t arm) {
    const size_t before = text_.mark();
    bind_pattern(match_.arms[arm].pattern, value_);
    take_(arm);
    text_.forget(before);
  }
  // The variables that the pattern binds of a value which it fits.
  void bind_pattern(Pattern p, const std::string& value) {
    if (p->kind == PatternKind::kVar) text_.set_name(p->var, value);
    for (uint32_t i = 0; i < p->fields.size(); ++i)
      bind_pattern(p->fields[i], cat("field(", value, ", ", i, ")"));
  }

  void take_chosen(const std::string& chosen) {
    text_.open(cat("switch (", chosen, ") {"));
    arenas_.fork();
    for (size_t i = 0; i < match_.arms.size(); ++i) {
      if (i > 0) arenas_.next_way();
      // The value is one of these: the last one needs no test.
      text_.open(i + 1 < match_.arms.size() ? cat("case ", i, ": {") : "default: {");
      take(i);
      text_.line("break;");
      text_.close("}");
    }
    arenas_.end_fork();
    text_.close("}");
  }

  // At each leaf, `leaf` prints what follows for its arm.
  void decision(const Decision& d, const std::function<void(size_t)>& leaf) {
    if (d.arm) return leaf(*d.arm);
    if (d.is_leaf()) return text_.line(no_arm());
    std::string part = value_;
    for (uint32_t i : d.path) part = cat("field(", part, ", ", i, ")");
    // The last way needs no test: nothing else is left.
    std::vector<std::pair<std::string, const Decision*>> ways;
    for (const auto& [tag, next] : d.cases) ways.emplace_back(cat(tag), &next);
    if (d.otherwise) ways.emplace_back("", d.otherwise.get());
    const bool is_switch = ways.size() > 2;
    if (is_switch) text_.open(cat("switch (tag(", part, ")) {"));
    arenas_.fork();
    for (size_t i = 0; i < ways.size(); ++i) {
      const bool last = i + 1 == ways.size();
      if (i > 0) arenas_.next_way();
      if (is_switch) {
        text_.open(last ? "default: {" : cat("case ", ways[i].first, ": {"));
      } else if (i == 0) {
        text_.open(cat("if (tag(", part, ") == ", ways[i].first, ") {"));
      } else {
        text_.reopen("} else {");
      }
      decision(*ways[i].second, leaf);
      if (is_switch) text_.line("break;");
      if (is_switch || last) text_.close("}");
    }
    arenas_.end_fork();
    if (is_switch) text_.close("}");
  }

  // What the pattern of an arm asks of the value.
  std::vector<std::string> conditions(size_t arm) const {
    std::vector<std::string> out;
    add_conditions(match_.arms[arm].pattern, value_, out);
    return out;
  }
  void add_conditions(Pattern p, const std::string& value, std::vector<std::string>& out) const {
    if (p->kind == PatternKind::kCtor && module_.data_type(p->ctor->data_type.text())->ctors.size() > 1)
      out.push_back(cat("tag(", value, ") == ", p->ctor->tag));
    for (uint32_t i = 0; i < p->fields.size(); ++i)
      add_conditions(p->fields[i], cat("field(", value, ", ", i, ")"), out);
  }

  // One arm after the other. Compilers end, or take minutes, at some thousands of `else if`: clang
  // 14 and 19 at 20000.
  void in_turn() {
    constexpr size_t kMostElseIfs = 256;
    const size_t none = match_.arms.size();
    if (none <= kMostElseIfs) return else_ifs();
    const std::string chosen = cat("arm_", text_.number());
    text_.line(cat("uint32_t ", chosen, " = ", none, ";"));
    for (size_t i = 0; i < none; ++i) {
      std::vector<std::string> all = conditions(i);
      all.insert(all.begin(), cat(chosen, " == ", none));
      text_.line(cat("if (", join(all, " && "), ") ", chosen, " = ", i, ";"));
    }
    if (!match_.total) text_.line(cat("if (", chosen, " == ", none, ") ", no_arm()));
    take_chosen(chosen);
  }

  void else_ifs() {
    bool open_else = false, always = false;
    const auto begin_way = [&](const std::string& head) {
      if (open_else) {
        arenas_.next_way();
        text_.reopen(cat("} else ", head));
      } else {
        text_.open(head);
      }
      open_else = true;
    };
    arenas_.fork();
    for (size_t i = 0; i < match_.arms.size() && !always; ++i) {
      const std::vector<std::string> all = conditions(i);
      // Of a match that covers everything, the last arm fits if the others do not.
      always = all.empty() || (match_.total && i + 1 == match_.arms.size());
      begin_way(always ? "{" : cat("if (", join(all, " && "), ") {"));
      take(i);
    }
    if (!always) {
      begin_way("{");
      text_.line(no_arm());
    }
    text_.close("}");
    arenas_.end_fork();
  }

  FunctionText& text_;
  Arenas& arenas_;
  const Module& module_;
  const Match& match_;
  const std::string& value_;
  const std::function<void(size_t)>& take_;
};

}  // namespace

void print_arms(FunctionText& text, Arenas& arenas, const Module& module, const Match& match,
                const std::string& value, const std::function<void(size_t)>& take) {
  ArmPrinter(text, arenas, module, match, value, take).print();
}

}  // namespace relay::aot
