// Stages whose elements along some axes are given by different formulas, as the results of a small
// fixed matrix are.
//
//   t[i, .., lanes] = select(i = 0, f0, select(i = 1, f1, ..))       also with h mod 4 in place of i
//
// Such an axis is written out (of h, four elements at a time), so that each element has its own
// formula, and what several formulas have in common is computed once: it waits in registers.
#include <algorithm>
#include <map>
#include <optional>

#include "base/integers.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

constexpr int64_t kMostFormulas = 64;

// Axis -> how many elements in a row have formulas of their own.
using Cycles = std::map<size_t, int64_t>;

// What the conditions of selections compare with constants: an axis, or an axis modulo a constant.
// Nothing if there is none, or if something else decides between formulas too.
std::optional<Cycles> find_cycles(const Stage& s) {
  Cycles cycles;
  for_each_node(s.value, [&](const ExprNode* n) {
    if (n->kind != ExprKind::kSelect) return true;
    const ExprNode* c = n->args[0];
    if (c->kind != ExprKind::kEqual || c->args[0]->dtype != kInt64) return true;
    for (const auto& [index, value] :
         {std::pair(c->args[0], c->args[1]), std::pair(c->args[1], c->args[0])}) {
      if (value->kind != ExprKind::kInt) continue;
      for (size_t a = 0; a + 1 < s.spatial.size(); ++a) {
        const Axis& axis = s.spatial[a];
        if (axis.extent->kind != ExprKind::kInt) continue;
        if (Expr(index) == axis.var) cycles[a] = std::max(cycles[a], axis.extent->int_value);
        const bool modulo = index->kind == ExprKind::kFloorMod && Expr(index->args[0]) == axis.var &&
                            index->args[1]->kind == ExprKind::kInt;
        if (modulo) cycles[a] = std::max(cycles[a], index->args[1]->int_value);
      }
    }
    return true;
  });
  int64_t formulas = 1;
  for (const auto& [axis, length] : cycles) {
    if (length > kMostFormulas) return std::nullopt;
    formulas *= length;
  }
  if (cycles.empty() || formulas > kMostFormulas) return std::nullopt;
  return cycles;
}

class Formulas {
 public:
  Formulas(Writer& w, const Job& job, const Stage& s, const Cycles& cycles)
      : w_(w), job_(job), s_(s), cycles_(cycles), width_(job.lanes()) {
    find_elements();
  }

  bool vectorizable() const {
    return std::all_of(elements_.begin(), elements_.end(), [&](const Element& e) {
      return cpu::vectorizable(e.value, s_.spatial.back().var, s_.bounds);
    });
  }

  Stmt write() {
    std::vector<Expr> outer, cost;
    for (size_t a = 0; a < s_.spatial.size(); ++a) cost.push_back(s_.spatial[a].extent);
    for (size_t a = 0; a + 1 < s_.spatial.size(); ++a)
      outer.push_back(cycles_.contains(a) ? divide_up(s_.spatial[a].extent, cycles_.at(a))
                                          : s_.spatial[a].extent);
    const Expr last = outer.back();
    outer.pop_back();
    return w_.fused(outer_kind(job_, cost), "row", outer, [&](const std::vector<Expr>& row) {
      return w_.loop(ForKind::kSerial, "column", last, [&](Expr column) {
        std::vector<Expr> at = row;
        at.push_back(column);
        return w_.loop(ForKind::kSerial, "v", s_.spatial.back().extent->int_value / width_,
                       [&](Expr v) { return write_cycle(at, v); });
      });
    });
  }

 private:
  // One of those that have a formula each. Inside of blocks, axes that go in cycles are named by
  // the number of the cycle.
  struct Element {
    std::vector<int64_t> offset;  // within the cycle, of each axis but the lanes; 0 for others
    Expr value;
  };

  void find_elements() {
    std::vector<int64_t> offset(s_.spatial.size() - 1, 0);
    for (size_t a = 0; a < s_.spatial.size(); ++a) {
      if (!cycles_.contains(a)) {
        bounds_.bind(s_.spatial[a].var, s_.spatial[a].extent);
        continue;
      }
      const Axis axis = w_.axis("cycle", divide_up(s_.spatial[a].extent, cycles_.at(a)));
      bounds_.bind(axis.var, axis.extent);
      cycle_axes_.emplace(a, axis);
    }
    const auto enumerate = [&](auto& self, Cycles::const_iterator axis) -> void {
      if (axis == cycles_.end()) {
        std::unordered_map<const ExprNode*, Expr> by;
        for (const auto& [a, length] : cycles_)
          by[s_.spatial[a].var.get()] = cycle_axes_.at(a).var * length + offset[a];
        elements_.push_back({offset, simplify(substitute(s_.value, by), bounds_)});
        return;
      }
      // Later elements of the cycle are behind the end of a short axis.
      const int64_t extent = s_.spatial[axis->first].extent->int_value;
      for (int64_t i = 0; i < std::min(axis->second, extent); ++i) {
        offset[axis->first] = i;
        self(self, std::next(axis));
      }
    };
    enumerate(enumerate, cycles_.begin());
  }

  // The cycles of an axis that have this element: the last one may end before it.
  Axis cycles_with(const Element& e, size_t a) const {
    const int64_t extent = s_.spatial[a].extent->int_value;
    return {cycle_axes_.at(a).var, w_.index(ceil_div(extent - e.offset[a], cycles_.at(a)))};
  }

  Stmt write_cycle(const std::vector<Expr>& at, Expr v) {
    const auto place_of = [&](const Element& e) {
      std::vector<Expr> place = at;
      for (const auto& [a, length] : cycles_) place[a] = at[a] * length + e.offset[a];
      return place;
    };
    const auto bindings = [&](const Element& e, const std::vector<Expr>& place, Expr lane) {
      std::vector<Binding> out;
      for (size_t a = 0; a < at.size(); ++a) {
        if (cycles_.contains(a)) out.push_back({cycles_with(e, a), IterKind::kSpatial, at[a]});
        out.push_back({s_.spatial[a], IterKind::kSpatial, place[a]});
      }
      out.push_back({s_.spatial.back(), IterKind::kSpatial, v * width_ + lane});
      return out;
    };
    // What is in common, in the order in which it is needed.
    const std::vector<Expr> common = shared();
    const Axis part = w_.axis("part", w_.index(static_cast<int64_t>(common.size())));
    const Axis in_part = w_.axis("lane", w_.index(width_));
    const Buffer* parts =
        common.empty() ? nullptr : w_.local(s_.name + "_parts", kFloat32, {part.extent, in_part.extent});
    std::unordered_map<const ExprNode*, Expr> known;
    std::vector<Stmt> body;
    const auto over_lanes = [&](const Element& e, const std::vector<Expr>& place,
                                const std::function<Stmt(const std::vector<Binding>&)>& f) {
      return w_.loop(ForKind::kVectorized, "lane", width_, [&](Expr lane) {
        std::vector<Binding> all = bindings(e, place, lane);
        all.push_back({in_part, IterKind::kSpatial, lane});
        return f(all);
      });
    };
    for (size_t i = 0; i < common.size(); ++i) {
      const Expr slot = w_.index(static_cast<int64_t>(i));
      const Expr value = substitute(common[i], known);
      body.push_back(over_lanes(elements_[0], place_of(elements_[0]), [&](const std::vector<Binding>& all) {
        return w_.block(s_.name + "_part", all, w_.store(parts, {slot, in_part.var}, value));
      }));
      known[common[i].get()] = w_.pool().load(parts, {slot, in_part.var});
    }
    for (const Element& e : elements_) {
      const std::vector<Expr> place = place_of(e);
      const Stmt store = over_lanes(e, place, [&](const std::vector<Binding>& all) {
        const AnchoredStage anchored{s_};
        return w_.block(s_.name, all, w_.store(s_.buffer, anchored.variables(), substitute(e.value, known)));
      });
      Expr exists = w_.pool().constant(1, kBool);
      for (const auto& [a, length] : cycles_) {
        if (s_.spatial[a].extent->int_value % length != 0)
          exists = logical_and(exists, less(place[a], s_.spatial[a].extent));
      }
      body.push_back(w_.choose(exists, store, nullptr));
    }
    const Stmt all = w_.sequence(body);
    return parts ? w_.allocate(parts, all) : all;
  }

  // Parts of values that stand in several elements, or twice in one, each after its own parts. Only
  // what can be computed at every place: at the end of an axis some elements do not exist.
  std::vector<Expr> shared() const {
    std::unordered_map<const ExprNode*, int> uses;
    std::unordered_map<const ExprNode*, bool> everywhere;
    std::vector<const ExprNode*> order;
    const auto visit = [&](auto& self, const ExprNode* n) -> bool {
      if (n->dtype != kFloat32) return false;
      if (++uses[n] > 1) return everywhere.at(n);
      bool good = n->kind != ExprKind::kSelect;
      if (n->kind == ExprKind::kLoad) {
        for (size_t d = 0; d < n->args.size(); ++d) {
          good = good && bounds_.proves_less_equal(w_.index(0), n->args[d]) &&
                 bounds_.proves_less(n->args[d], n->buffer->shape[d]);
        }
      } else {
        for (const ExprNode* a : n->args) good = self(self, a) && good;
      }
      everywhere[n] = good;
      order.push_back(n);
      return good;
    };
    for (const Element& e : elements_) visit(visit, e.value.get());
    std::vector<Expr> out;
    for (const ExprNode* n : order) {
      if (uses.at(n) > 1 && everywhere.at(n) && !Expr(n).is_const()) out.push_back(n);
    }
    return out;
  }

  Writer& w_;
  const Job& job_;
  const Stage& s_;
  const Cycles& cycles_;
  int64_t width_;
  std::map<size_t, Axis> cycle_axes_;
  Bounds bounds_;
  std::vector<Element> elements_;
};

}  // namespace

Stmt write_formulas(Writer& w, const Job& job, const Stage& stage) {
  if (stage.spatial.size() < 3 || !stage.requirements.empty() || stage.buffer->dtype != kFloat32)
    return nullptr;
  const std::optional<Cycles> cycles = find_cycles(stage);
  if (!cycles || !has_whole_vectors(stage.spatial.back(), job.lanes())) return nullptr;
  Formulas formulas(w, job, stage, *cycles);
  return formulas.vectorizable() ? formulas.write() : nullptr;
}

}  // namespace relay::kernel::schedule::cpu
