// Kernels that go along rows: softmax, normalisation, sums of what was computed element by element.
//
//   m[row] = max over i of x[row, i];  e[row, i] = exp(x[row, i] - m[row]);  s[row] = sum of e[row, i];  ...
//
// All stages are computed for one row before the next row begins, so that the row stays in the
// first level of cache, and what only later stages need never leaves it. Short rows go a few at a
// time, so that the steps of one fill the time that those of another wait for their operands. A row
// is reduced in the lanes of vectors, which are then joined pairwise: the order is the same on
// every run, for every row and for any number of threads.
#include <algorithm>
#include <optional>

#include "kernel/schedule/cost.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

constexpr int64_t kAccumulators = 4;  // vectors that rows are reduced in, to hide the latency of an addition
constexpr int64_t kLongestOnStack = 4096;  // floats of a row that is kept on the stack

class Rows {
 public:
  Rows(Writer& w, const Job& job, std::span<const Buffer* const> kept, std::span<const Stage> stages,
       int64_t longest)
      : w_(w), job_(job), kept_(kept), stages_(stages), longest_(longest), width_(job.lanes()) {}

  // How many of the stages go along rows, from the first one on.
  size_t count() {
    if (!find_rows()) return 0;
    bool elements = false, reduces = false;  // of a row: either by itself has rules of its own
    for (const Stage& s : stages_) {
      if (!fits(s)) break;
      written_.push_back(s.buffer);
      elements |= is_row(s);
      reduces |= s.kind == StageKind::kReduce;
    }
    return elements && reduces ? written_.size() : 0;
  }

  // Null if some stage does not go along rows.
  Stmt write() {
    if (count() != stages_.size()) return nullptr;
    std::vector<Expr> extents, cost;
    for (const Axis& a : rows_) extents.push_back(a.extent);
    cost = extents;
    cost.push_back(length_);
    const ForKind outer = outer_kind(job_, cost);
    if (extents.empty() || guess(extents.back()) < kAccumulators) return one_by_one(outer, extents);
    if (length_->kind == ExprKind::kInt)
      return length_->int_value <= short_ ? several(outer, extents) : one_by_one(outer, extents);
    // How long rows are is known when the kernel runs. Room for short ones is of one size.
    Stmt several_rows = several(outer, extents);
    if (longest_ <= short_) return several_rows;
    return w_.choose(less_equal(length_, w_.index(short_)), several_rows, one_by_one(outer, extents));
  }

 private:
  Stmt one_by_one(ForKind outer, const std::vector<Expr>& extents) {
    vectors_of_row_ = kAccumulators;
    most_on_stack_ = std::min(kLongestOnStack, longest_);
    known_to_fit_ = longest_ <= kLongestOnStack;
    Stmt rows =
        w_.fused(outer, "row", extents, [&](const std::vector<Expr>& at) { return write_rows(at, 1); });
    known_to_fit_ = false;
    return rows;
  }

  Stmt several(ForKind outer, std::vector<Expr> extents) {
    vectors_of_row_ = 1;
    most_on_stack_ = std::min(short_, longest_);
    known_to_fit_ = true;
    const Expr last = extents.back();
    std::vector<Stmt> parts;
    for (const Segment& piece : segments(last, {kAccumulators, 1})) {
      extents.back() = piece.tiles;
      parts.push_back(w_.fused(outer, "row", extents, [&](std::vector<Expr> at) {
        at.back() = piece.start + at.back() * piece.size;
        return write_rows(at, piece.size);
      }));
    }
    known_to_fit_ = false;
    return w_.sequence(parts);
  }

  // All stages of the rows from `at` on.
  Stmt write_rows(const std::vector<Expr>& at, int64_t count) {
    first_ = at;
    row_ = w_.axis("row", w_.index(count));
    local_.clear();
    std::vector<const Buffer*> locals;
    for (const Stage& s : stages_) {
      if (std::find(kept_.begin(), kept_.end(), s.buffer) != kept_.end()) continue;
      const bool scalar = !is_row(s);
      const bool is_constant = length_->kind == ExprKind::kInt;
      if (!scalar && !known_to_fit_ && (!is_constant || length_->int_value > most_on_stack_)) continue;
      std::vector<Expr> shape{row_.extent};
      if (!scalar) shape.push_back(is_constant ? length_ : w_.index(most_on_stack_));
      locals.push_back(w_.local(s.name + "_row", kFloat32, shape));
      local_[s.buffer] = locals.back();
    }
    std::vector<Stmt> parts;
    for (const Stage& s : stages_) parts.push_back(s.kind == StageKind::kReduce ? reduce(s) : compute(s));
    Stmt body = w_.sequence(parts);
    for (const Buffer* b : locals) body = w_.allocate(b, body);
    return body;
  }

  // The rows are what the first reduction leaves; axes of extent 1 at the end are what it reduced.
  bool find_rows() {
    const auto first = std::find_if(stages_.begin(), stages_.end(),
                                    [](const Stage& s) { return s.kind == StageKind::kReduce; });
    if (first == stages_.end() || stages_.size() < 2 || first->reduction.size() != 1) return false;
    rows_ = first->spatial;
    if (!rows_.empty() && rows_.back().extent.is_int(1)) rows_.pop_back();
    length_ = first->reduction[0].extent;
    return length_->kind != ExprKind::kInt || length_->int_value >= width_;
  }

  // Does the stage compute elements of the row, rather than one value for all of it?
  bool is_row(const Stage& s) const {
    return s.kind == StageKind::kCompute && s.spatial.size() == rows_.size() + 1 &&
           s.spatial.back().extent == length_;
  }

  bool fits(const Stage& s) const {
    if (s.kind == StageKind::kSequential || !s.requirements.empty() || s.buffer->dtype != kFloat32)
      return false;
    if (s.spatial.size() < rows_.size()) return false;
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (s.spatial[i].extent != rows_[i].extent) return false;
    }
    const bool alone = s.spatial.size() == rows_.size() ||
                       (s.spatial.size() == rows_.size() + 1 && s.spatial.back().extent.is_int(1));
    Expr along = {};
    if (s.kind == StageKind::kReduce) {
      if (!alone || s.reduction.size() != 1 || s.reduction[0].extent != length_ || !s.combine) return false;
      const ExprKind how = s.combine->kind;
      if (how != ExprKind::kAdd && how != ExprKind::kMax && how != ExprKind::kMin) return false;
      if (!s.init.is_const() || (how == ExprKind::kAdd && s.init->float_value != 0)) return false;
      along = s.reduction[0].var;
      if (!vectorizable(s.next, along, s.bounds)) return false;
    } else if (is_row(s)) {
      along = s.spatial.back().var;
      if (!vectorizable(s.value, along, s.bounds)) return false;
    } else if (!alone) {
      return false;
    }
    // Of what other stages wrote, a row may read its own part only, element by element.
    bool own = true;
    for_each_load(s.kind == StageKind::kReduce ? s.next : s.value, [&](const ExprNode* n) {
      if (std::find(written_.begin(), written_.end(), n->buffer) == written_.end()) return;
      for (size_t d = 0; d < n->args.size(); ++d) {
        const bool in_row = d < rows_.size()
                                ? is_place(n->args[d], s.spatial[d])
                                : Expr(n->args[d]).is_int(0) || (along && Expr(n->args[d]) == along);
        own = own && in_row;
      }
    });
    return own;
  }

  // The value with what lies in local buffers read from there.
  Expr from_locals(Expr e) const {
    return rewrite_loads(e, [&](const ExprNode* n) -> Expr {
      const auto it = local_.find(n->buffer);
      if (it == local_.end()) return {};
      std::vector<Expr> at{row_.var};
      if (it->second->shape.size() > 1) at.push_back(Expr(n->args.back()));
      return w_.pool().load(it->second, at);
    });
  }

  // body(which) for each of the rows that are written together.
  Stmt each_row(const std::function<Stmt(Expr)>& body) const {
    return w_.loop(ForKind::kUnrolled, "row", row_.extent, body);
  }

  std::vector<Binding> in_row(const Stage& s, Expr which) const {
    std::vector<Binding> out{{row_, IterKind::kSpatial, which}};
    for (size_t i = 0; i < s.spatial.size(); ++i) {
      Expr at = i < first_.size() ? first_[i] : w_.index(0);
      if (i + 1 == first_.size()) at = at + which;
      out.push_back({s.spatial[i], IterKind::kSpatial, at});
    }
    return out;
  }

  Stmt store(const Stage& s, Expr value) const {
    const auto it = local_.find(s.buffer);
    std::vector<Expr> to;
    if (it == local_.end()) {
      for (const Axis& a : s.spatial) to.push_back(a.var);
    } else {
      to.push_back(row_.var);
      if (is_row(s)) to.push_back(s.spatial.back().var);
    }
    return w_.store(it == local_.end() ? s.buffer : it->second, to, value);
  }

  Stmt compute(const Stage& s) const {
    const Stmt body = store(s, from_locals(s.value));
    if (!is_row(s)) return each_row([&](Expr which) { return w_.block(s.name, in_row(s, which), body); });
    std::vector<Stmt> parts;
    for (const Segment& piece : segments(length_, {width_, 1})) {
      parts.push_back(w_.loop(ForKind::kSerial, "v", piece.tiles, [&](Expr v) {
        return each_row([&](Expr which) {
          return w_.loop(ForKind::kVectorized, "lane", piece.size, [&](Expr lane) {
            std::vector<Binding> all = in_row(s, which);
            all.back().value = piece.start + v * piece.size + lane;
            return w_.block(s.name, all, body);
          });
        });
      }));
    }
    return w_.sequence(parts);
  }

  // A reduction on its way: first in many lanes, then in one vector, whose first element becomes
  // the result.
  struct Partial {
    const Stage& stage;
    int64_t lanes;
    const Buffer *sums, *joined;
    Axis lane, in_joined;
  };

  Partial partial_of(const Stage& s) const {
    const int64_t most = length_->kind == ExprKind::kInt ? length_->int_value / width_ : vectors_of_row_;
    const int64_t lanes = width_ * std::clamp<int64_t>(most, 1, vectors_of_row_);
    const Buffer* sums = w_.local(s.name + "_lanes", kFloat32, {row_.extent, w_.index(lanes)});
    const Buffer* joined = w_.local(s.name + "_joined", kFloat32, {row_.extent, w_.index(width_)});
    return {s, lanes, sums, joined, w_.axis("lane", w_.index(lanes)), w_.axis("lane", w_.index(width_))};
  }

  Expr combine(const Partial& p, Expr a, Expr b) const { return p.stage.combine->of(w_.pool(), a, b); }
  Expr sum(const Partial& p, Expr lane) const { return w_.pool().load(p.sums, {row_.var, lane}); }
  Expr half(const Partial& p, Expr lane) const { return w_.pool().load(p.joined, {row_.var, lane}); }
  Stmt store_sum(const Partial& p, Expr value) const {
    return w_.store(p.sums, {row_.var, p.lane.var}, value);
  }
  std::vector<Binding> lane_of(const Partial& p, Expr which, Expr lane) const {
    return {{row_, IterKind::kSpatial, which}, {p.lane, IterKind::kSpatial, lane}};
  }
  // body(which, lane) for so many lanes of each row.
  Stmt in_vectors(int64_t count, const std::function<Stmt(Expr, Expr)>& body) const {
    return each_row([&](Expr which) {
      return w_.loop(ForKind::kUnrolled, "v", count / width_, [&](Expr v) {
        return w_.loop(ForKind::kVectorized, "lane", width_,
                       [&](Expr lane) { return body(which, v * width_ + lane); });
      });
    });
  }

  Stmt reduce(const Stage& s) const {
    const Partial p = partial_of(s);
    std::vector<Stmt> parts{in_vectors(p.lanes, [&](Expr which, Expr lane) {
      return w_.block(s.name + "_init", lane_of(p, which, lane), store_sum(p, s.init));
    })};
    const Expr next = from_locals(s.next);
    const Segment rest = add_vectors(p, next, parts);
    join_vectors(p, parts);
    halve(p, parts);
    if (!rest.tiles.is_int(0)) {
      parts.push_back(w_.loop(ForKind::kSerial, "k", rest.tiles, [&](Expr k) {
        return each_row([&](Expr which) {
          std::vector<Binding> all = in_row(s, which);
          all.push_back({s.reduction[0], IterKind::kReduction, rest.start + k});
          return w_.block(
              s.name + "_rest", all,
              w_.store(p.joined, {row_.var, w_.index(0)}, combine(p, half(p, w_.index(0)), next)));
        });
      }));
    }
    parts.push_back(each_row([&](Expr which) {
      return w_.block(s.name + "_result", in_row(s, which), store(s, half(p, w_.index(0))));
    }));
    return w_.allocate(p.sums, w_.allocate(p.joined, w_.sequence(parts)));
  }

  // The row in vectors, each into lanes of its own. Returns the elements that are left.
  Segment add_vectors(const Partial& p, Expr next, std::vector<Stmt>& parts) const {
    const Stage& s = p.stage;
    std::vector<int64_t> sizes{p.lanes};
    if (p.lanes > width_) sizes.push_back(width_);
    sizes.push_back(1);
    const Accumulators accumulators{
        s.name, p.sums, {row_.var, p.lane.var}, [&](const std::string& name, Stmt body) {
          return in_vectors(
              p.lanes, [&](Expr which, Expr lane) { return w_.block(name, lane_of(p, which, lane), body); });
        }};
    for (const Segment& piece : segments(length_, sizes)) {
      if (piece.size == 1) return piece;
      const auto add = [&](const std::vector<Expr>& k) {
        return in_vectors(piece.size, [&](Expr which, Expr lane) {
          std::vector<Binding> all = in_row(s, which);
          all.push_back({p.lane, IterKind::kSpatial, lane});
          all.push_back({s.reduction[0], IterKind::kReduction, piece.start + k[0] * piece.size + lane});
          return w_.block(s.name, all, store_sum(p, combine(p, sum(p, p.lane.var), next)));
        });
      };
      TermLoop tiles = piece.loop();
      if (tiles.most == 0 && known_to_fit_) tiles.most = std::max<int64_t>(1, most_on_stack_ / piece.size);
      const SumOrder order = sum_order(job_, s, row_.extent->int_value * p.lanes / width_);
      parts.push_back(add_terms(w_, order, accumulators, {tiles}, add));
    }
    return {{}, w_.index(0), 1};
  }

  // All vectors into the first one, which goes to `joined`.
  void join_vectors(const Partial& p, std::vector<Stmt>& parts) const {
    const std::string& name = p.stage.name;
    const auto join = [&](int64_t lanes, int64_t distance) {
      parts.push_back(in_vectors(lanes, [&](Expr which, Expr lane) {
        return w_.block(name + "_join", lane_of(p, which, lane),
                        store_sum(p, combine(p, sum(p, p.lane.var), sum(p, p.lane.var + distance))));
      }));
    };
    for (int64_t v = p.lanes / width_ / 2; v >= 1; v /= 2) join(v * width_, v * width_);
    if (p.lanes == 3 * width_) join(width_, 2 * width_);  // the loop above joined the first two of three
    parts.push_back(in_vectors(width_, [&](Expr which, Expr lane) {
      std::vector<Binding> all = lane_of(p, which, lane);
      all.push_back({p.in_joined, IterKind::kSpatial, lane});
      return w_.block(name + "_spill", all,
                      w_.store(p.joined, {row_.var, p.in_joined.var}, sum(p, p.lane.var)));
    }));
  }

  // The halves of the vector into one element.
  void halve(const Partial& p, std::vector<Stmt>& parts) const {
    const Axis& j = p.in_joined;
    for (int64_t h = width_ / 2; h >= 1; h /= 2) {
      parts.push_back(each_row([&](Expr which) {
        return w_.loop(ForKind::kVectorized, "lane", h, [&](Expr lane) {
          return w_.block(
              p.stage.name + "_halve", {{row_, IterKind::kSpatial, which}, {j, IterKind::kSpatial, lane}},
              w_.store(p.joined, {row_.var, j.var}, combine(p, half(p, j.var), half(p, j.var + h))));
        });
      }));
    }
  }

  Writer& w_;
  const Job& job_;
  std::span<const Buffer* const> kept_;
  std::span<const Stage> stages_;
  int64_t longest_;  // that a row may be
  int64_t width_;
  const int64_t short_ = short_row(job_.cpu);  // floats of a row that others may go beside
  std::vector<Axis> rows_;
  Expr length_;
  std::vector<const Buffer*> written_;  // by the stages looked at so far
  int64_t vectors_of_row_ = 1;          // that it is reduced in
  int64_t most_on_stack_ = 0;           // floats of a row that is kept there
  bool known_to_fit_ = false;           // though the length of rows is not known
  // The rows that are written together.
  std::vector<Expr> first_;  // coordinates
  Axis row_;                 // which of them
  std::unordered_map<const Buffer*, const Buffer*> local_;
};

}  // namespace

Stmt write_rows(Writer& w, const Job& job, std::span<const Buffer* const> kept, std::span<const Stage> stages,
                int64_t longest) {
  if (job.settings.in_order) return nullptr;  // rows are reduced in lanes
  return Rows(w, job, kept, stages, longest).write();
}

size_t stages_along_rows(Writer& w, const Job& job, std::span<const Stage> stages) {
  return job.settings.in_order ? 0 : Rows(w, job, {}, stages, INT64_MAX).count();
}

}  // namespace relay::kernel::schedule::cpu
