#include "aot/decisions.h"

#include <algorithm>
#include <map>

namespace relay::aot {
namespace {

using Path = std::vector<uint32_t>;

// An arm that may still fit, and what it asks of parts of the value that are not known yet.
struct Row {
  size_t arm;
  std::map<Path, Pattern> asks = {};
};

class Decider {
 public:
  Decider(const Module& module, size_t most) : module_(module), left_(most) {}

  std::optional<Decision> run(const Match& match) {
    std::vector<Row> rows;
    for (const Arm& arm : match.arms) {
      rows.push_back({rows.size()});
      ask(rows.back(), {}, arm.pattern);
    }
    Decision tree = decide(rows, 0);
    if (left_ == 0 || rows_left_ == 0) return std::nullopt;
    return tree;
  }

 private:
  const DataTypeDef& type_of(Pattern p) const { return *module_.data_type(p->ctor->data_type.text()); }

  // Adds what the pattern asks of the part at `path`: of a tuple, and of the only constructor of a
  // type, only their fields.
  void ask(Row& row, const Path& path, Pattern pattern) const {
    std::vector<std::pair<Path, Pattern>> pending{{path, pattern}};
    while (!pending.empty()) {
      const auto [at, p] = std::move(pending.back());
      pending.pop_back();
      if (p->kind == PatternKind::kWildcard || p->kind == PatternKind::kVar) continue;
      if (p->kind == PatternKind::kCtor && type_of(p).ctors.size() > 1) {
        row.asks[at] = p;
      } else {
        for (uint32_t i = 0; i < p->fields.size(); ++i) pending.emplace_back(field(at, i), p->fields[i]);
      }
    }
  }
  void ask_fields(Row& row, const Path& path, Pattern p) const {
    for (uint32_t i = 0; i < p->fields.size(); ++i) ask(row, field(path, i), p->fields[i]);
  }
  static Path field(const Path& path, uint32_t i) {
    Path out = path;
    out.push_back(i);
    return out;
  }

  Decision decide(const std::vector<Row>& rows, uint32_t questions) {
    Decision out;
    if (left_ == 0 || rows.empty()) return out;
    --left_;
    const Row& first = rows.front();
    // Without an end to what is copied, a match of some thousands of arms takes minutes.
    rows_left_ -= std::min(rows_left_, rows.size());
    if (rows_left_ == 0 || (!first.asks.empty() && questions == kMostQuestions)) {
      left_ = 0;
      return out;
    }
    if (first.asks.empty()) {
      out.arm = first.arm;
      return out;
    }
    out.path = first.asks.begin()->first;
    const DataTypeDef& type = type_of(first.asks.begin()->second);
    std::vector<Row> others;
    std::map<uint32_t, std::vector<Row>> by_tag;
    for (const Row& row : rows) {
      const auto asks = row.asks.find(out.path);
      if (asks != row.asks.end()) by_tag[asks->second->ctor->tag];
    }
    for (const Row& row : rows) {
      const auto asks = row.asks.find(out.path);
      if (asks == row.asks.end()) {
        for (auto& [tag, fitting] : by_tag) fitting.push_back(row);
        others.push_back(row);
        continue;
      }
      Row rest = row;
      rest.asks.erase(out.path);
      ask_fields(rest, out.path, asks->second);
      by_tag[asks->second->ctor->tag].push_back(std::move(rest));
    }
    for (const auto& [tag, fitting] : by_tag) out.cases.emplace_back(tag, decide(fitting, questions + 1));
    if (by_tag.size() < type.ctors.size())
      out.otherwise = std::make_unique<Decision>(decide(others, questions + 1));
    return out;
  }

  const Module& module_;
  size_t left_;                         // decisions that may still be made
  size_t rows_left_ = size_t{1} << 20;  // rows that they may still be made from
};

}  // namespace

std::optional<Decision> decide(const Match& match, const Module& module) {
  constexpr size_t kAlways = 64, kForEachArm = 8;
  return Decider(module, kAlways + kForEachArm * match.arms.size()).run(match);
}

}  // namespace relay::aot
