// Reductions along a contiguous axis: dot products, sums of rows, and products of matrices that
// share their last axis (y[n, u] = sum x[n, k] * w[u, k]).
//
// The lanes of a vector each sum every width-th term, in blocks if these are many (long_sums.h); at
// the end the lanes are added up in order. That changes the order of the sum, the same way on every
// run and for any number of threads.
#include <algorithm>
#include <optional>

#include "kernel/schedule/contraction.h"
#include "kernel/schedule/cpu_rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

class Dot {
 public:
  Dot(Writer& w, const CpuJob& job, const Work& work, const ContractionView& view)
      : w_(w), job_(job), work_(work), s_(work.stage) {
    width_ = job.lanes();
    const size_t last = s_.spatial.empty() ? 0 : s_.spatial.size() - 1;
    bool has_rows = false;
    for (size_t p = 0; p < last; ++p) {
      if (view.separates(s_.spatial[p], s_.spatial[last]) && !s_.spatial[p].extent.is_int(1)) {
        row_axis_ = p;
        has_rows = true;
      }
    }
    if (!s_.spatial.empty()) {
      column_tile_ = has_rows ? 4 : 8;
      row_tile_ = has_rows ? (width_ == 16 ? 4 : 2) : 1;
      if (!has_rows) row_axis_ = s_.spatial.size();
      // Elements that share no operand gain nothing from being computed together, but are
      // independent sums.
      column_tile_ = std::min(column_tile_, guess(s_.spatial[last].extent));
      if (has_rows) row_tile_ = std::min(row_tile_, guess(s_.spatial[row_axis_].extent));
    }
  }

  Stmt write() {
    if (s_.spatial.empty()) return tile(1, 1, {});
    std::vector<Stmt> parts;
    for (const Segment& c : segments(s_.spatial.back().extent, {column_tile_, 1})) {
      if (!has_rows()) {
        parts.push_back(tiles({w_.index(0), w_.index(1), 1}, c));
        continue;
      }
      const Expr rows = s_.spatial[row_axis_].extent;
      if (rows->kind == ExprKind::kInt) {
        for (const Segment& r : segments(rows, {row_tile_, 1})) parts.push_back(tiles(r, c));
        continue;
      }
      // One tile for the rows that are left.
      parts.push_back(tiles({w_.index(0), floor_div(rows, row_tile_), row_tile_}, c));
      parts.push_back(write_rest(w_, rows, row_tile_, [&](Expr start, int64_t size) {
        return tiles({start, w_.index(1), size}, c);
      }));
    }
    return w_.sequence(parts);
  }

 private:
  bool has_rows() const { return row_axis_ < s_.spatial.size(); }

  // Tiles of rows last: those that run one after the other share what varies along the columns.
  Stmt tiles(const Segment& r, const Segment& c) {
    const size_t last = s_.spatial.size() - 1;
    std::vector<Expr> space, cost;
    std::vector<size_t> axes;
    for (size_t i = 0; i < s_.spatial.size(); ++i) {
      if (i != row_axis_) axes.push_back(i);
    }
    if (has_rows()) axes.push_back(row_axis_);
    for (size_t i : axes)
      space.push_back(i == last ? c.tiles : i == row_axis_ ? r.tiles : s_.spatial[i].extent);
    cost = space;
    for (const Axis& a : s_.reduction) cost.push_back(a.extent);
    cost.push_back(w_.index(r.size * c.size));
    return w_.fused(outer_kind(job_, cost), "tile", space, [&](const std::vector<Expr>& point) {
      std::vector<Expr> at(point.size());
      for (size_t i = 0; i < axes.size(); ++i) at[axes[i]] = point[i];
      at[last] = c.start + at[last] * c.size;
      if (has_rows()) at[row_axis_] = r.start + at[row_axis_] * r.size;
      return tile(r.size, c.size, at);
    });
  }

  // The results of `rows` x `columns` elements from `first` on.
  Stmt tile(int64_t rows, int64_t columns, const std::vector<Expr>& first) {
    // Tiles of all sizes have as many lanes, so that an element's result does not
    // depend on its place.
    const int64_t count = rows * columns, lanes = width_ * (row_tile_ * column_tile_ >= 4 ? 1 : 4);
    const bool vectors =
        s_.buffer->dtype == kFloat32 && vectorizable(s_.next, s_.reduction.back().var, s_.bounds);
    const std::vector<Expr> shape{w_.index(count), w_.index(lanes)};
    const Buffer* sums = w_.local(s_.name + "_lanes", s_.buffer->dtype, shape);
    const Buffer* spill = w_.local(s_.name + "_spill", s_.buffer->dtype, {shape[0], w_.index(width_)});
    const Buffer* total = w_.local(s_.name + "_total", s_.buffer->dtype, {w_.index(1)});
    const Axis t = w_.axis("t", shape[0]), l = w_.axis("lane", shape[1]),
               joined = w_.axis("lane", w_.index(width_));
    const Expr sum = w_.pool().load(sums, {t.var, l.var}), whole = w_.pool().load(total, {w_.index(0)});

    const auto place = [&](Expr row, Expr column) {
      std::vector<Expr> at = first;
      if (!at.empty()) at.back() = at.back() + column;
      if (row_axis_ + 1 < at.size()) at[row_axis_] = at[row_axis_] + row;
      return at;
    };
    const auto elements = [&](ForKind kind,
                              const std::function<Stmt(Expr, const std::vector<Binding>&)>& body) {
      return w_.loop(kind, "row", rows, [&](Expr row) {
        return w_.loop(kind, "column", columns, [&](Expr column) {
          return body(row * columns + column, work_.bind(place(row, column)));
        });
      });
    };
    const auto with = [](std::vector<Binding> base, std::initializer_list<Binding> more) {
      base.insert(base.end(), more);
      return base;
    };
    // All lanes of all elements, in vectors.
    const auto in_vectors = [&](int64_t used,
                                const std::function<Stmt(Expr, const std::vector<Binding>&, Expr)>& body) {
      return elements(ForKind::kUnrolled, [&](Expr e, const std::vector<Binding>& at) {
        return w_.loop(ForKind::kUnrolled, "v", used / width_, [&](Expr v) {
          return w_.loop(vectors ? ForKind::kVectorized : ForKind::kSerial, "lane", width_,
                         [&](Expr lane) { return body(e, at, v * width_ + lane); });
        });
      });
    };

    Stmt init = in_vectors(lanes, [&](Expr e, const std::vector<Binding>&, Expr lane) {
      return w_.block(s_.name + "_init", {{t, IterKind::kSpatial, e}, {l, IterKind::kSpatial, lane}},
                      w_.store(sums, {t.var, l.var}, s_.init));
    });
    const std::vector<Segment> pieces =
        segments(s_.reduction.back().extent,
                 lanes > width_ ? std::vector<int64_t>{lanes, width_, 1} : std::vector<int64_t>{width_, 1});
    const Accumulators accumulators{
        s_.name, sums, {t.var, l.var}, [&](const std::string& name, Stmt body) {
          return in_vectors(lanes, [&](Expr e, const std::vector<Binding>&, Expr lane) {
            return w_.block(name, {{t, IterKind::kSpatial, e}, {l, IterKind::kSpatial, lane}}, body);
          });
        }};
    const std::vector<TermLoop> outer = outer_loops();
    const SumOrder order = sum_order(job_, s_, row_tile_ * column_tile_ * lanes / width_);
    std::vector<Stmt> updates;
    for (const Segment& s : pieces) {
      if (s.size == 1) continue;
      std::vector<TermLoop> loops = outer;
      loops.push_back(s.loop());
      updates.push_back(add_terms(w_, order, accumulators, loops, [&](const std::vector<Expr>& r) {
        return in_vectors(s.size, [&](Expr e, const std::vector<Binding>& at, Expr lane) {
          std::vector<Binding> all = with(at, {{t, IterKind::kSpatial, e}, {l, IterKind::kSpatial, lane}});
          bind_terms(all, r, s.start + r.back() * s.size + lane);
          return w_.block(s_.name, all,
                          w_.store(sums, {t.var, l.var}, replace_loads(s_.value, s_.buffer, sum)));
        });
      }));
    }
    // Vectors of lanes become one, two by two.
    for (int64_t v = lanes / width_ / 2; v >= 1; v /= 2) {
      updates.push_back(in_vectors(v * width_, [&](Expr e, const std::vector<Binding>&, Expr lane) {
        const Expr other = w_.pool().load(sums, {t.var, l.var + v * width_});
        return w_.block(s_.name + "_join", {{t, IterKind::kSpatial, e}, {l, IterKind::kSpatial, lane}},
                        w_.store(sums, {t.var, l.var}, s_.combine->of(w_.pool(), sum, other)));
      }));
    }
    Stmt update = w_.sequence(updates);
    Stmt store = in_vectors(width_, [&](Expr e, const std::vector<Binding>&, Expr lane) {
      return w_.block(s_.name + "_spill", {{t, IterKind::kSpatial, e}, {l, IterKind::kSpatial, lane}},
                      w_.store(spill, {t.var, l.var}, sum));
    });
    Stmt result = elements(ForKind::kSerial, [&](Expr e, const std::vector<Binding>& at) {
      Stmt start = w_.block(s_.name + "_start", at, w_.store(total, {w_.index(0)}, s_.init));
      Stmt add = w_.loop(ForKind::kSerial, "lane", width_, [&](Expr lane) {
        const Expr next = w_.pool().load(spill, {t.var, joined.var});
        return w_.block(s_.name + "_add", {{t, IterKind::kSpatial, e}, {joined, IterKind::kReduction, lane}},
                        w_.store(total, {w_.index(0)}, s_.combine->of(w_.pool(), whole, next)));
      });
      std::vector<Stmt> parts{start, add};
      if (const Segment& s = pieces.back(); s.size == 1) {
        std::vector<TermLoop> loops = outer;
        loops.push_back(s.loop());
        const Stmt rest = add_terms(
            w_, order, scalar_sum(w_, s_.name + "_rest", total), loops, [&](const std::vector<Expr>& r) {
              std::vector<Binding> all = at;
              bind_terms(all, r, s.start + r.back());
              return w_.block(s_.name + "_rest", all,
                              w_.store(total, {w_.index(0)}, replace_loads(s_.value, s_.buffer, whole)));
            });
        // Many terms of the rest are joined before the lanes, which are larger.
        parts.insert(outer.empty() ? parts.end() : parts.begin() + 1, rest);
      }
      parts.push_back(w_.block(s_.name + "_result", at, work_.write_back(w_, work_.variables(), whole)));
      return w_.allocate(total, w_.sequence(parts));
    });
    return w_.allocate(spill, w_.sequence({w_.allocate(sums, w_.sequence({init, update, store})), result}));
  }

  // The axes of the reduction but the last.
  std::vector<TermLoop> outer_loops() const {
    return term_loops({s_.reduction.begin(), s_.reduction.end() - 1});
  }
  void bind_terms(std::vector<Binding>& all, const std::vector<Expr>& r, Expr last) const {
    for (size_t i = 0; i + 1 < s_.reduction.size(); ++i)
      all.push_back({s_.reduction[i], IterKind::kReduction, r[i]});
    all.push_back({s_.reduction.back(), IterKind::kReduction, last});
  }

  Writer& w_;
  const CpuJob& job_;
  const Work& work_;
  const Stage& s_;
  int64_t width_ = 8;
  size_t row_axis_ = 0;  // the number of axes if there are no rows
  int64_t row_tile_ = 1, column_tile_ = 1;
};

}  // namespace

Stmt write_dot(Writer& w, const CpuJob& job, const Work& work) {
  const Stage& s = work.stage;
  // Each lane begins as the whole does.
  const std::optional<ContractionView> view = contraction_view(s);
  if (!view || !view->starts_neutral()) return nullptr;
  const Axis& along = s.reduction.back();
  if (guess(along.extent) < job.lanes() || worst_stride(s.next, along.var, s.bounds) == Stride::kOther)
    return nullptr;
  bool moves = false;
  for_each_load(s.next, [&](const ExprNode* n) { moves |= stride_along(n, along.var) == Stride::kOne; });
  if (!moves) return nullptr;
  return Dot(w, job, work, *view).write();
}

}  // namespace relay::kernel::schedule
