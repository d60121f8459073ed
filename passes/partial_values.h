// Partially static values: what partial evaluation knows of a value before the program runs.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/analysis.h"

namespace relay::passes {

struct Known;

// A value: its name in the residual program, a leaf, and what is known of it. A name that is a
// constant, a global or an operator says all there is to know.
struct Partial {
  Expr name = nullptr;
  const Known* known = nullptr;  // null: nothing
};

// The variables and shared nodes of one activation of a function, within those around the function.
struct Frame {
  const Scopes* scopes;
  Frame* around;  // null for global functions
  std::unordered_map<Expr, Partial> values = {};

  const Partial* find(Expr e) const {
    for (const Frame* f = this; f; f = f->around) {
      if (const auto it = f->values.find(e); it != f->values.end()) return &it->second;
    }
    return nullptr;
  }
};

struct Known {
  enum class Kind : uint8_t { kTuple, kData, kClosure, kCallable, kCell } kind;
  const Constructor* ctor = nullptr;  // kData
  std::vector<Partial> fields = {};   // kTuple, kData
  size_t weight = 1;                  // constructors in it, those that are known
  const Fn* fn = nullptr;             // kClosure
  Frame* frame = nullptr;             // kClosure
  Expr callable = nullptr;            // kCallable: a global or an operator
  size_t cell = 0;                    // kCell
};

// The cells of the program, simulated: what each one holds now, as far as that is known.
class Store {
 public:
  size_t add(Partial contents) {
    contents_.emplace_back(contents);
    live_.push_back(contents_.size() - 1);
    return contents_.size() - 1;
  }
  const std::optional<Partial>& read(size_t cell) const { return contents_[cell]; }
  void set(size_t cell, std::optional<Partial> contents) {
    log_.emplace_back(cell, contents_[cell]);
    contents_[cell] = contents;
    live_.push_back(cell);
  }
  // Unknown code ran, which may have written to any cell. Amortised constant.
  void forget_all() {
    std::vector<size_t> cells;
    std::swap(cells, live_);
    for (size_t cell : cells) {
      if (!contents_[cell]) continue;
      log_.emplace_back(cell, contents_[cell]);
      contents_[cell].reset();
    }
  }
  size_t mark() const { return log_.size(); }
  // Takes back what was written since, and returns the cells.
  std::vector<size_t> go_back(size_t mark) {
    std::vector<size_t> cells;
    for (; log_.size() > mark; log_.pop_back()) {
      const auto& [cell, before] = log_.back();
      contents_[cell] = before;
      cells.push_back(cell);
      live_.push_back(cell);
    }
    return cells;
  }

 private:
  std::vector<std::optional<Partial>> contents_;
  std::vector<size_t> live_;  // those whose contents may be known
  std::vector<std::pair<size_t, std::optional<Partial>>> log_;
};

// Does the value fit the pattern?
enum class Fit : uint8_t { kNo, kUnknown, kYes };
inline Fit fit(Pattern pattern, Partial value) {
  std::vector<std::pair<Pattern, const Known*>> pending{{pattern, value.known}};
  Fit out = Fit::kYes;
  while (!pending.empty()) {
    const auto [p, known] = pending.back();
    pending.pop_back();
    const bool is_made = known && (known->kind == Known::Kind::kData || known->kind == Known::Kind::kTuple);
    if (p->kind == PatternKind::kCtor && (!is_made || known->ctor != p->ctor)) {
      if (is_made) return Fit::kNo;
      out = Fit::kUnknown;
    }
    for (size_t i = 0; i < p->fields.size(); ++i)
      pending.emplace_back(p->fields[i],
                           is_made && known->ctor == p->ctor ? known->fields[i].known : nullptr);
  }
  return out;
}

}  // namespace relay::passes
