// The arms of a match as a decision tree, built left to right over a matrix of patterns: a row an
// arm, a column a part of the value that is still undecided. A branch without rows is a value that
// no arm fits; a row that is never first with nothing left to decide is an arm that nothing reaches
// (Maranget, "Warnings for pattern matching", 2007).
//
// What was decided on the way is the value's pattern in prefix order, so a witness is read off
// without backtracking.
#include "typecheck/exhaustive.h"

#include <algorithm>
#include <deque>

#include "base/arena.h"
#include "base/cat.h"

namespace relay::typecheck {
namespace {

constexpr size_t kMostWork = 2'000'000;  // rows looked at
constexpr size_t kMostMissing = 3;
constexpr size_t kMostText = 200;

// The patterns of a row that are still undecided, first column first. Null patterns are wildcards.
struct Columns {
  Pattern head;
  const Columns* rest;
  bool refutable;  // may anything in it fail to fit?
};

struct Row {
  size_t arm;
  const Columns* columns;
};

// One decision, linked to the ones before.
struct Decision {
  const Decision* before;
  const Constructor* ctor;  // null: a tuple, or a wildcard
  size_t fields;
  bool wildcard;
};

struct Problem {
  std::vector<Row> rows;
  size_t columns;
  const Decision* path;
};

bool is_wild(Pattern p) { return !p || p->kind == PatternKind::kWildcard || p->kind == PatternKind::kVar; }

class Tree {
 public:
  Tree(const Module& m, const Match& match) : module_(m), reached_(match.arms.size(), false) {
    Problem root{{}, 1, nullptr};
    for (size_t i = 0; i < match.arms.size(); ++i)
      root.rows.push_back({i, push(match.arms[i].pattern, nullptr)});
    pending_.push_back(std::move(root));
  }

  Coverage run() {
    Coverage out;
    while (!pending_.empty()) {
      Problem p = std::move(pending_.back());
      pending_.pop_back();
      work_ += p.rows.size() + 1;
      if (p.rows.empty()) {
        if (out.missing.size() < kMostMissing) out.missing.push_back(text(p));
      } else if (!p.rows[0].columns || !p.rows[0].columns->refutable) {
        reached_[p.rows[0].arm] = true;
      } else {
        decide(p);
      }
      if (work_ > kMostWork) {
        out.too_complex = true;
        return out;
      }
    }
    for (size_t i = 0; i < reached_.size(); ++i) {
      if (!reached_[i]) out.unreachable.push_back(i);
    }
    return out;
  }

 private:
  const Columns* push(Pattern p, const Columns* rest) {
    return arena_.make<Columns>(Columns{p, rest, !is_wild(p) || (rest && rest->refutable)});
  }
  const Decision* decided(const Decision* before, const Constructor* ctor, size_t fields, bool wildcard) {
    return arena_.make<Decision>(Decision{before, ctor, fields, wildcard});
  }

  // The row with its first column replaced by the fields of the pattern there.
  Row expand(const Row& row, size_t fields) {
    const Pattern head = row.columns->head;
    const Columns* columns = row.columns->rest;
    for (size_t i = fields; i-- > 0;) columns = push(is_wild(head) ? nullptr : head->fields[i], columns);
    return {row.arm, columns};
  }

  // Splits a problem by its first column.
  void decide(Problem& p) {
    Pattern first = nullptr;
    for (const Row& row : p.rows) {
      if (!is_wild(row.columns->head)) {
        first = row.columns->head;
        break;
      }
    }
    if (!first) {
      for (Row& row : p.rows) row.columns = row.columns->rest;
      pending_.push_back({std::move(p.rows), p.columns - 1, decided(p.path, nullptr, 0, true)});
      return;
    }
    if (first->kind == PatternKind::kTuple) {
      const size_t fields = first->fields.size();
      for (Row& row : p.rows) row = expand(row, fields);
      pending_.push_back(
          {std::move(p.rows), p.columns - 1 + fields, decided(p.path, nullptr, fields, false)});
      return;
    }
    by_constructor(p, *first->ctor);
  }

  void by_constructor(const Problem& p, const Constructor& first) {
    const DataTypeDef* def = module_.data_type(first.data_type.text());
    const size_t count = def ? def->ctors.size() : 0;
    // Rows of each constructor, in order; a wildcard is a row of each that some arm names.
    std::vector<std::vector<Row>> rows(count);
    std::vector<bool> named(count, false);
    std::vector<Row> others;
    for (const Row& row : p.rows) {
      if (!is_wild(row.columns->head)) named[row.columns->head->ctor->tag] = true;
    }
    std::vector<size_t> used;
    for (size_t tag = 0; tag < count; ++tag) {
      if (named[tag]) used.push_back(tag);
    }
    for (const Row& row : p.rows) {
      if (is_wild(row.columns->head)) {
        for (size_t tag : used) rows[tag].push_back(expand(row, def->ctors[tag]->fields.size()));
        work_ += used.size();
        others.push_back({row.arm, row.columns->rest});
      } else {
        const Constructor& ctor = *row.columns->head->ctor;
        rows[ctor.tag].push_back(expand(row, ctor.fields.size()));
      }
      if (work_ > kMostWork) return;
    }
    // Pushed so that the first constructor comes first.
    for (size_t tag = count; tag-- > 0;) {
      if (named[tag]) continue;
      // One of the constructors that no arm names stands for all of them.
      const size_t missing =
          static_cast<size_t>(std::find(named.begin(), named.end(), false) - named.begin());
      const Constructor* ctor = def->ctors[missing];
      const Decision* path = decided(p.path, ctor, ctor->fields.size(), false);
      for (size_t i = 0; i < ctor->fields.size(); ++i) path = decided(path, nullptr, 0, true);
      pending_.push_back({std::move(others), p.columns - 1, path});
      break;
    }
    for (size_t i = used.size(); i-- > 0;) {
      const Constructor* ctor = def->ctors[used[i]];
      const size_t fields = ctor->fields.size();
      pending_.push_back(
          {std::move(rows[used[i]]), p.columns - 1 + fields, decided(p.path, ctor, fields, false)});
    }
  }

  // The decisions in prefix order; columns that are still open are wildcards.
  std::string text(const Problem& p) {
    std::vector<const Decision*> order;  // last one first
    for (const Decision* d = p.path; d; d = d->before) order.push_back(d);
    std::string out;
    std::vector<size_t> open;  // of each bracket: fields still to be written
    do {
      if (out.size() > kMostText) return out + "...";
      const Decision* d = order.empty() ? nullptr : order.back();
      if (d) order.pop_back();
      if (!d || d->wildcard) {
        out += "_";
      } else {
        if (d->ctor) out += d->ctor->name.text();
        if (d->fields > 0) {
          out += "(";
          open.push_back(d->fields);
          continue;
        }
        if (!d->ctor) out += "()";
      }
      while (!open.empty() && --open.back() == 0) {
        out += ")";
        open.pop_back();
      }
      if (!open.empty()) out += ", ";
    } while (!open.empty());
    return out;
  }

  const Module& module_;
  Arena arena_;
  std::vector<Problem> pending_;
  std::vector<bool> reached_;
  size_t work_ = 0;
};

}  // namespace

Coverage coverage(const Module& m, const Match& match) { return Tree(m, match).run(); }

}  // namespace relay::typecheck
