// Reductions along a contiguous axis: dot products, sums of rows, and products of matrices that
// share their last axis (y[n, u] = sum x[n, k] * w[u, k]).
//
// The lanes of a vector each sum every width-th term, in blocks if these are many (long_sums.h); at
// the end the lanes are added up in order. That changes the order of the sum, the same way on every
// run and for any number of threads.
#include <algorithm>
#include <optional>

#include "kernel/schedule/contraction.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

// How the elements of a result are cut into tiles that are computed together.
struct Cut {
  bool has_rows = false;
  size_t row_axis = 0;  // of the stage's axes, if there are rows
  int64_t rows = 1, columns = 1;
};

Cut choose_cut(const Stage& s, int64_t width, const ContractionView& view) {
  Cut cut;
  if (s.spatial.empty()) return cut;
  const size_t last = s.spatial.size() - 1;
  for (size_t p = 0; p < last; ++p) {
    if (!view.separates(s.spatial[p], s.spatial[last]) || s.spatial[p].extent.is_int(1)) continue;
    cut.row_axis = p;
    cut.has_rows = true;
  }
  // Elements that share no operand gain nothing from being computed together, but are
  // independent sums.
  cut.columns = std::min<int64_t>(cut.has_rows ? 4 : 8, guess(s.spatial[last].extent));
  if (cut.has_rows) cut.rows = std::min<int64_t>(width == 16 ? 4 : 2, guess(s.spatial[cut.row_axis].extent));
  return cut;
}

// The results of `rows` x `columns` elements from `first` on.
class DotTile {
 public:
  DotTile(Writer& w, const Job& job, const AnchoredStage& anchored, const Cut& cut, int64_t rows,
          int64_t columns, const std::vector<Expr>& first)
      : w_(w),
        anchored_(anchored),
        s_(anchored.stage),
        cut_(cut),
        rows_(rows),
        columns_(columns),
        first_(first) {
    width_ = job.lanes();
    // Tiles of all sizes have as many lanes, so that an element's result does not
    // depend on its place.
    const int64_t elements = cut.rows * cut.columns;
    lanes_ = width_ * (elements >= 4 ? 1 : 4);
    order_ = sum_order(job, s_, elements * lanes_ / width_);
    vectors_ = s_.buffer->dtype == kFloat32 && vectorizable(s_.next, s_.reduction.back().var, s_.bounds);
    const DType dtype = s_.buffer->dtype;
    const std::vector<Expr> shape{w_.index(rows * columns), w_.index(lanes_)};
    sums_ = w_.local(s_.name + "_lanes", dtype, shape);
    spill_ = w_.local(s_.name + "_spill", dtype, {shape[0], w_.index(width_)});
    total_ = w_.local(s_.name + "_total", dtype, {w_.index(1)});
    t_ = w_.axis("t", shape[0]);
    lane_ = w_.axis("lane", shape[1]);
    joined_ = w_.axis("lane", w_.index(width_));
    sum_ = w_.pool().load(sums_, {t_.var, lane_.var});
    whole_ = w_.pool().load(total_, {w_.index(0)});
    pieces_ = segments(s_.reduction.back().extent, lanes_ > width_ ? std::vector<int64_t>{lanes_, width_, 1}
                                                                   : std::vector<int64_t>{width_, 1});
    outer_ = term_loops({s_.reduction.begin(), s_.reduction.end() - 1});
  }

  Stmt write() {
    const Stmt init = each_lane(s_.name + "_init", lanes_, w_.store(sums_, {t_.var, lane_.var}, s_.init));
    std::vector<Stmt> updates;
    for (const Segment& piece : pieces_) {
      if (piece.size > 1) updates.push_back(add_piece(piece));
    }
    join_vectors(updates);
    const Stmt update = w_.sequence(updates);
    const Stmt store = each_lane(s_.name + "_spill", width_, w_.store(spill_, {t_.var, lane_.var}, sum_));
    const Stmt result =
        elements(ForKind::kSerial, [&](Expr e, const std::vector<Binding>& at) { return finish(e, at); });
    return w_.allocate(spill_, w_.sequence({w_.allocate(sums_, w_.sequence({init, update, store})), result}));
  }

 private:
  using Bindings = std::vector<Binding>;

  // What is written for the element of this number, where it lies in the result.
  Stmt elements(ForKind kind, const std::function<Stmt(Expr, const Bindings&)>& body) {
    return w_.loop(kind, "row", rows_, [&](Expr row) {
      return w_.loop(kind, "column", columns_, [&](Expr column) {
        std::vector<Expr> at = first_;
        if (!at.empty()) at.back() = at.back() + column;
        if (cut_.has_rows) at[cut_.row_axis] = at[cut_.row_axis] + row;
        return body(row * columns_ + column, anchored_.bind(at));
      });
    });
  }

  // `used` lanes of all elements, in vectors.
  Stmt in_vectors(int64_t used, const std::function<Stmt(Expr, const Bindings&, Expr)>& body) {
    return elements(ForKind::kUnrolled, [&](Expr e, const Bindings& at) {
      return w_.loop(ForKind::kUnrolled, "v", used / width_, [&](Expr v) {
        return w_.loop(vectors_ ? ForKind::kVectorized : ForKind::kSerial, "lane", width_,
                       [&](Expr lane) { return body(e, at, v * width_ + lane); });
      });
    });
  }
  Stmt each_lane(const std::string& name, int64_t used, Stmt body) {
    return in_vectors(used, [&](Expr e, const Bindings&, Expr lane) {
      return w_.block(name, {{t_, IterKind::kSpatial, e}, {lane_, IterKind::kSpatial, lane}}, body);
    });
  }

  // The terms of a piece, onto the lanes.
  Stmt add_piece(const Segment& piece) {
    const Accumulators accumulators{
        s_.name, sums_, {t_.var, lane_.var}, [&](const std::string& name, Stmt body) {
          return each_lane(name, lanes_, body);
        }};
    return add_terms(w_, order_, accumulators, loops_of(piece), [&](const std::vector<Expr>& r) {
      return in_vectors(piece.size, [&](Expr e, const Bindings& at, Expr lane) {
        Bindings all = at;
        all.insert(all.end(), {{t_, IterKind::kSpatial, e}, {lane_, IterKind::kSpatial, lane}});
        bind_terms(all, r, piece.start + r.back() * piece.size + lane);
        return w_.block(s_.name, all,
                        w_.store(sums_, {t_.var, lane_.var}, replace_loads(s_.value, s_.buffer, sum_)));
      });
    });
  }

  // Vectors of lanes become one, two by two.
  void join_vectors(std::vector<Stmt>& to) {
    for (int64_t v = lanes_ / width_ / 2; v >= 1; v /= 2) {
      to.push_back(in_vectors(v * width_, [&](Expr e, const Bindings&, Expr lane) {
        const Expr other = w_.pool().load(sums_, {t_.var, lane_.var + v * width_});
        return w_.block(s_.name + "_join", {{t_, IterKind::kSpatial, e}, {lane_, IterKind::kSpatial, lane}},
                        w_.store(sums_, {t_.var, lane_.var}, s_.combine->of(w_.pool(), sum_, other)));
      }));
    }
  }

  // Adds up an element's lanes and the terms that fill no vector, and puts it into the result.
  Stmt finish(Expr e, const Bindings& at) {
    const Stmt start = w_.block(s_.name + "_start", at, w_.store(total_, {w_.index(0)}, s_.init));
    const Stmt add = w_.loop(ForKind::kSerial, "lane", width_, [&](Expr lane) {
      const Expr next = w_.pool().load(spill_, {t_.var, joined_.var});
      return w_.block(s_.name + "_add", {{t_, IterKind::kSpatial, e}, {joined_, IterKind::kReduction, lane}},
                      w_.store(total_, {w_.index(0)}, s_.combine->of(w_.pool(), whole_, next)));
    });
    std::vector<Stmt> parts{start, add};
    if (pieces_.back().size == 1) {
      // Many terms of the rest are joined before the lanes, which are larger.
      parts.insert(outer_.empty() ? parts.end() : parts.begin() + 1, add_rest(pieces_.back(), at));
    }
    parts.push_back(
        w_.block(s_.name + "_result", at, anchored_.write_back(w_, anchored_.variables(), whole_)));
    return w_.allocate(total_, w_.sequence(parts));
  }

  Stmt add_rest(const Segment& rest, const Bindings& at) {
    return add_terms(w_, order_, scalar_sum(w_, s_.name + "_rest", total_), loops_of(rest),
                     [&](const std::vector<Expr>& r) {
                       Bindings all = at;
                       bind_terms(all, r, rest.start + r.back());
                       return w_.block(
                           s_.name + "_rest", all,
                           w_.store(total_, {w_.index(0)}, replace_loads(s_.value, s_.buffer, whole_)));
                     });
  }

  // The axes of the reduction but the last, then what a piece has of that.
  std::vector<TermLoop> loops_of(const Segment& piece) const {
    std::vector<TermLoop> loops = outer_;
    loops.push_back(piece.loop());
    return loops;
  }
  void bind_terms(Bindings& all, const std::vector<Expr>& r, Expr last) const {
    for (size_t i = 0; i + 1 < s_.reduction.size(); ++i)
      all.push_back({s_.reduction[i], IterKind::kReduction, r[i]});
    all.push_back({s_.reduction.back(), IterKind::kReduction, last});
  }

  Writer& w_;
  const AnchoredStage& anchored_;
  const Stage& s_;
  const Cut& cut_;
  int64_t rows_, columns_, width_ = 0, lanes_ = 0;
  const std::vector<Expr>& first_;
  bool vectors_ = false;
  SumOrder order_ = kAsWritten;
  std::vector<Segment> pieces_;  // of the last axis of the reduction
  std::vector<TermLoop> outer_;  // the axes before it
  const Buffer *sums_ = nullptr, *spill_ = nullptr, *total_ = nullptr;
  Axis t_, lane_, joined_;
  Expr sum_, whole_;
};

class Dot {
 public:
  Dot(Writer& w, const Job& job, const AnchoredStage& anchored, const ContractionView& view)
      : w_(w), job_(job), anchored_(anchored), s_(anchored.stage), cut_(choose_cut(s_, job.lanes(), view)) {}

  Stmt write() {
    if (s_.spatial.empty()) return DotTile(w_, job_, anchored_, cut_, 1, 1, {}).write();
    std::vector<Stmt> parts;
    for (const Segment& c : segments(s_.spatial.back().extent, {cut_.columns, 1})) {
      if (!cut_.has_rows) {
        parts.push_back(tiles({w_.index(0), w_.index(1), 1}, c));
        continue;
      }
      const Expr rows = s_.spatial[cut_.row_axis].extent;
      if (rows->kind == ExprKind::kInt) {
        for (const Segment& r : segments(rows, {cut_.rows, 1})) parts.push_back(tiles(r, c));
        continue;
      }
      // One tile for the rows that are left.
      parts.push_back(tiles({w_.index(0), floor_div(rows, cut_.rows), cut_.rows}, c));
      parts.push_back(write_rest(w_, rows, cut_.rows, [&](Expr start, int64_t size) {
        return tiles({start, w_.index(1), size}, c);
      }));
    }
    return w_.sequence(parts);
  }

 private:
  // Tiles of rows last: those that run one after the other share what varies along the columns.
  Stmt tiles(const Segment& r, const Segment& c) {
    const size_t last = s_.spatial.size() - 1;
    const auto is_row = [&](size_t i) { return cut_.has_rows && i == cut_.row_axis; };
    std::vector<Expr> space, cost;
    std::vector<size_t> axes;
    for (size_t i = 0; i < s_.spatial.size(); ++i) {
      if (!is_row(i)) axes.push_back(i);
    }
    if (cut_.has_rows) axes.push_back(cut_.row_axis);
    for (size_t i : axes) space.push_back(i == last ? c.tiles : is_row(i) ? r.tiles : s_.spatial[i].extent);
    cost = space;
    for (const Axis& a : s_.reduction) cost.push_back(a.extent);
    cost.push_back(w_.index(r.size * c.size));
    return w_.fused(outer_kind(job_, cost), "tile", space, [&](const std::vector<Expr>& point) {
      std::vector<Expr> at(point.size());
      for (size_t i = 0; i < axes.size(); ++i) at[axes[i]] = point[i];
      at[last] = c.start + at[last] * c.size;
      if (cut_.has_rows) at[cut_.row_axis] = r.start + at[cut_.row_axis] * r.size;
      return DotTile(w_, job_, anchored_, cut_, r.size, c.size, at).write();
    });
  }

  Writer& w_;
  const Job& job_;
  const AnchoredStage& anchored_;
  const Stage& s_;
  Cut cut_;
};

}  // namespace

Stmt write_dot(Writer& w, const Job& job, const AnchoredStage& anchored) {
  const Stage& s = anchored.stage;
  // Each lane begins as the whole does.
  const std::optional<ContractionView> view = contraction_view(s);
  if (!view || !view->starts_neutral()) return nullptr;
  const Axis& along = s.reduction.back();
  if (guess(along.extent) < job.lanes() || worst_stride(s.next, along.var, s.bounds) == Stride::kOther)
    return nullptr;
  bool moves = false;
  for_each_load(s.next, [&](const ExprNode* n) { moves |= stride_along(n, along.var) == Stride::kOne; });
  if (!moves) return nullptr;
  return Dot(w, job, anchored, *view).write();
}

}  // namespace relay::kernel::schedule::cpu
