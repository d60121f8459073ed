// Attention: a product, what goes along its rows (a softmax), and a product with the result.
//
//   s[b, i, j] = sum over k of q[b, i, k] * k[b, k, j];  p[b, i, :] = softmax of s[b, i, :];
//   y[b, i, d] = sum over j of p[b, i, j] * v[b, j, d]
//
// A few rows at a time go through all stages while they are in the cache, so that the scores, which
// grow with the square of the sequence's length, never exist as a whole. Rows are whole, so that
// each is computed as it is without this rule. The operands of both products are put into panels
// once for all rows. Where the run says how long rows are, there is room for rows up to some
// length, and what is longer is computed without this rule.
// (Cf. M. Rabe, C. Staats, "Self-attention Does Not Need O(n^2) Memory", 2021.)
#include <algorithm>
#include <unordered_map>

#include "base/integers.h"
#include "kernel/schedule/contraction.h"
#include "kernel/schedule/cost.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

constexpr int64_t kLongestOpenRow = 1024;  // of those whose length only the run knows
constexpr int64_t kOpenRows = 32;          // of them are at work together
constexpr int64_t kBetweenOpenRows = 16;   // floats
constexpr int64_t kFewestRows = 32;        // that are worth a task of their own

bool is_product(const Stage& s) {
  const std::optional<ContractionView> view = contraction_view(s);
  return view && view->is_sum() && view->starts_constant() && s.spatial.size() >= 2 &&
         s.reduction.size() == 1 && s.buffer->dtype == kFloat32;
}

// Where the rows at work lie in a tensor: the axes of rows and columns, and the places
// along the others.
struct Place {
  static constexpr size_t kNone = SIZE_MAX;
  size_t row = kNone, column = kNone;  // without a column there is one element a row
  std::vector<Expr> at;                // in terms of the last stage's axes; null for those two

  bool operator==(const Place&) const = default;
};

class Attention {
 public:
  Attention(Writer& w, const Job& job, const Kernel& k, const std::vector<Stage>& stages)
      : w_(w), job_(job), kernel_(k), stages_(stages) {}

  // Null if the kernel is something else.
  std::optional<AttentionLoops> write() {
    if (!find()) return std::nullopt;
    const std::optional<PackedProduct> scores = pack_product(w_, job_, stages_.front()),
                                       values = pack_product(w_, job_, stages_.back());
    if (!scores || !values) return std::nullopt;
    scores_ = scores->stage;
    values_ = values->stage;
    std::vector<Stmt> parts{scores->pack, values->pack};
    const int64_t count = rows_at_work();
    const Expr blocks = floor_div(rows_, count), rest = floor_mod(rows_, count);
    // As many rows at a time as are at work, and what is left of them.
    add_rows(parts, w_.index(0), blocks, w_.index(count), count);
    if (!rest.is_int(0)) add_rows(parts, blocks * count, w_.index(1), rest, count);
    return AttentionLoops{w_.sequence(parts), worth_it()};
  }

 private:
  // When the run has as many rows as are worth the panels, and no longer ones than there is room
  // for; null: always.
  Expr worth_it() const {
    Expr holds;
    const auto add = [&](Expr condition) { holds = holds ? logical_and(holds, condition) : condition; };
    if (rows_->kind != ExprKind::kInt) add(less_equal(w_.index(kFewestScoreRows), rows_));
    if (length_->kind != ExprKind::kInt) add(less_equal(length_, w_.index(longest_)));
    return holds;
  }

  // `tiles` times `size` rows, of each matrix in the batch.
  void add_rows(std::vector<Stmt>& parts, Expr start, Expr tiles, Expr size, int64_t most) {
    if (tiles.is_int(0)) return;
    std::vector<Expr> space;
    for (size_t d = 0; d + 2 < values_.spatial.size(); ++d) space.push_back(values_.spatial[d].extent);
    space.push_back(tiles);
    std::vector<Expr> cost = space;
    cost.insert(cost.end(), {size, length_});
    start_ = w_.axis("first", rows_ - size + 1);
    parts.push_back(w_.fused(outer_kind(job_, cost), "rows", space, [&](const std::vector<Expr>& at) {
      std::vector<Binding> places;
      for (size_t d = 0; d + 1 < at.size(); ++d)
        places.push_back({values_.spatial[d], IterKind::kSpatial, at[d]});
      places.push_back({start_, IterKind::kSpatial, start + at.back() * size});
      return w_.around(places, [&] { return write_rows_at_work(size, most); });
    }));
  }

  bool find() {
    if (stages_.size() < 3 || !is_product(stages_.front()) || !is_product(stages_.back())) return false;
    for (size_t i = 0; i + 1 < stages_.size(); ++i) {
      if (primitives::is_output(kernel_, stages_[i].buffer) || stages_[i].buffer->dtype != kFloat32)
        return false;
      written_[stages_[i].buffer] = i;
    }
    const Stage& last = stages_.back();
    const Axis &row = last.spatial[last.spatial.size() - 2], &column = last.reduction[0];
    rows_ = row.extent;
    length_ = column.extent;
    longest_ = length_->kind == ExprKind::kInt ? length_->int_value : kLongestOpenRow;
    if (last.spatial.back().extent->kind != ExprKind::kInt) return false;
    if (rows_.is_int(0) || longest_ < job_.lanes() || longest_ > kLongestScoreRow) return false;
    for (const Axis& a : last.spatial) bounds_.bind(a.var, a.extent);
    // The batch's axes stand for themselves.
    if (!find_places(last.next, row.var, column.var, {})) return false;
    if (places_.size() != 1) return false;
    for (size_t i = stages_.size() - 1; i-- > 0;) {
      if (!fits(stages_[i], i == 0)) return false;
    }
    return places_.size() == stages_.size() - 1;
  }

  // Does the stage compute its rows at work from theirs of the stages before it?
  bool fits(const Stage& s, bool first) {
    const auto it = places_.find(s.buffer);
    if (it == places_.end() || s.kind == StageKind::kSequential || !s.requirements.empty()) return false;
    const Place place = it->second;
    if (s.spatial[place.row].extent != rows_) return false;
    const bool has_column = place.column != Place::kNone;
    if (has_column && s.spatial[place.column].extent != length_) return false;
    if (first) return has_column && !reads_written(s.next);
    const bool reduces = s.kind == StageKind::kReduce;
    if (reduces && (has_column || s.reduction.size() != 1 || s.reduction[0].extent != length_)) return false;
    Expr along;
    if (reduces || has_column) along = reduces ? s.reduction[0].var : s.spatial[place.column].var;
    return find_places(reduces ? s.next : s.value, s.spatial[place.row].var, along, batch_of(s, place));
  }

  bool reads_written(Expr e) const {
    bool found = false;
    for_each_load(e, [&](const ExprNode* n) { found |= written_.contains(n->buffer); });
    return found;
  }

  // The axes of the stage other than rows and columns, where they are.
  static std::unordered_map<const ExprNode*, Expr> batch_of(const Stage& s, const Place& place) {
    std::unordered_map<const ExprNode*, Expr> by;
    for (size_t d = 0; d < s.spatial.size(); ++d) {
      if (place.at[d]) by[s.spatial[d].var.get()] = place.at[d];
    }
    return by;
  }

  // Where the expression reads what stages wrote; false if that is not the same rows everywhere.
  bool find_places(Expr e, Expr row, Expr column, const std::unordered_map<const ExprNode*, Expr>& batch) {
    bool good = true;
    for_each_load(e, [&](const ExprNode* n) {
      if (!written_.contains(n->buffer)) return;
      Place place;
      place.at.resize(n->args.size());
      for (size_t d = 0; d < n->args.size(); ++d) {
        const Expr at = n->args[d];
        if (at == row && place.row == Place::kNone) {
          place.row = d;
        } else if (column && at == column && place.column == Place::kNone) {
          place.column = d;
        } else {
          good = good && !mentions(at, row) && !(column && mentions(at, column));
          place.at[d] = simplify(substitute(at, batch), bounds_);
        }
      }
      good = good && place.row != Place::kNone;
      const auto [it, fresh] = places_.emplace(n->buffer, place);
      good = good && it->second == place;
    });
    return good;
  }

  int64_t rows_at_work() const {
    // Of one tensor: two of these and their operands stay in the cache.
    const int64_t floats = row_at_work(job_.cpu);
    const int64_t length =
        length_->kind == ExprKind::kInt ? longest_ : std::max<int64_t>(floats / kOpenRows, 1);
    if (rows_->kind != ExprKind::kInt) return std::clamp<int64_t>(floats / length, 1, kOpenRows);
    const int64_t rows = rows_->int_value;
    int64_t count = std::clamp<int64_t>(floats / length, 1, rows);
    int64_t batch = 1;
    for (size_t d = 0; d + 2 < values_.spatial.size(); ++d) batch *= guess(values_.spatial[d].extent);
    while (batch * ceil_div(rows, count) < kEnoughTasks && count >= 2 * kFewestRows) count /= 2;
    return ceil_div(rows, ceil_div(rows, count));  // evenly
  }

  // All stages of `count` rows, of which there are at most `most`, from start_ on.
  Stmt write_rows_at_work(Expr count, int64_t most) {
    row_ = w_.axis("row", count);
    const Expr room = count->kind == ExprKind::kInt ? count : w_.index(most);
    // Rows that lie a power of two apart would share a few sets of the cache.
    const bool is_open = length_->kind != ExprKind::kInt;
    const Expr row_room = w_.index(is_open ? longest_ + kBetweenOpenRows : longest_);
    local_.clear();
    for (size_t i = 0; i + 1 < stages_.size(); ++i) {
      std::vector<Expr> shape{room};
      if (places_.at(stages_[i].buffer).column != Place::kNone) shape.push_back(row_room);
      local_[stages_[i].buffer] = w_.local(stages_[i].name + "_rows", kFloat32, shape);
    }
    const Axis d = values_.spatial.back();
    const Buffer* result = w_.local(values_.name + "_rows", kFloat32, {room, d.extent});
    local_[values_.buffer] = result;
    Job serial = job_;
    serial.settings.parallel = false;

    std::vector<Stage> between;
    for (size_t i = 1; i + 1 < stages_.size(); ++i) between.push_back(at_work(stages_[i]));
    const Stage first = at_work(scores_), last = at_work(values_);
    const std::vector<const Buffer*> kept{local_.at(stages_[stages_.size() - 2].buffer)};
    std::vector<const Buffer*> allocated{first.buffer, result};
    Stmt rows = write_rows(w_, serial, kept, between, longest_);
    if (rows) {
      allocated.push_back(kept[0]);
    } else {  // one after the other
      std::vector<Stmt> parts;
      for (const Stage& s : between) {
        parts.push_back(s.kind == StageKind::kReduce ? write_reduction(w_, serial, {s})
                                                     : write_elementwise(w_, serial, s));
        allocated.push_back(s.buffer);
      }
      rows = w_.sequence(parts);
    }
    // A block of rows is a part of the result, to which the last product's own rule cannot write.
    const Stmt copy = w_.loop(ForKind::kSerial, "row", row_.extent, [&](Expr row) {
      std::vector<Stmt> parts;
      for (const Segment& piece : segments(d.extent, {job_.lanes(), 1})) {
        parts.push_back(w_.loop(ForKind::kSerial, "v", piece.tiles, [&](Expr v) {
          return w_.loop(ForKind::kVectorized, "lane", piece.size, [&](Expr lane) {
            const Expr column = piece.start + v * piece.size + lane;
            std::vector<Expr> to;
            for (size_t i = 0; i + 2 < values_.spatial.size(); ++i) to.push_back(values_.spatial[i].var);
            to.insert(to.end(), {start_.var + row_.var, d.var});
            return w_.block(values_.name + "_place",
                            {{row_, IterKind::kSpatial, row}, {d, IterKind::kSpatial, column}},
                            w_.store(values_.buffer, to, w_.pool().load(result, {row_.var, d.var})));
          });
        }));
      }
      return w_.sequence(parts);
    });
    Stmt body = w_.sequence({write_stage(serial, first), rows, write_stage(serial, last), copy});
    for (const Buffer* b : allocated) body = w_.allocate(b, body);
    return body;
  }

  Stmt write_stage(const Job& serial, const Stage& s) {
    if (Stmt product = write_product(w_, serial, {s})) return product;
    return write_contraction(w_, serial, {s});
  }

  // The stage for the rows at work, in their local tensors.
  Stage at_work(const Stage& s) const {
    const bool last = s.buffer == values_.buffer;
    Place place;
    if (last) {
      place.row = s.spatial.size() - 2;
      place.column = s.spatial.size() - 1;
      place.at.resize(s.spatial.size());
    } else {
      place = places_.at(s.buffer);
    }
    std::unordered_map<const ExprNode*, Expr> by = batch_of(s, place);
    by[s.spatial[place.row].var.get()] = start_.var + row_.var;
    // Whole rows are read: what stands for a column, of the stage or of what it
    // reduces, keeps its name.
    const Expr along = s.kind == StageKind::kReduce && (last || place.column == Place::kNone)
                           ? s.reduction[0].var
                       : place.column != Place::kNone ? s.spatial[place.column].var
                                                      : Expr();
    const auto moved = [&](Expr e) {
      if (!e) return e;
      return rewrite_loads(substitute(e, by), [&](const ExprNode* n) -> Expr {
        const auto it = local_.find(n->buffer);
        if (it == local_.end()) return {};
        if (n->buffer == s.buffer) {
          std::vector<Expr> own{row_.var};
          if (place.column != Place::kNone) own.push_back(s.spatial[place.column].var);
          return w_.pool().load(it->second, own);
        }
        std::vector<Expr> at{row_.var};
        if (it->second->shape.size() > 1) at.push_back(along);
        return w_.pool().load(it->second, at);
      });
    };
    Stage out = s;
    for (const Axis& a : {start_, row_}) out.bounds.bind(a.var, a.extent);
    out.buffer = local_.at(s.buffer);
    out.spatial = {row_};
    if (place.column != Place::kNone) out.spatial.push_back(s.spatial[place.column]);
    out.init = moved(s.init);
    out.value = moved(s.value);
    out.next = moved(s.next);
    out.statement = nullptr;
    return out;
  }

  Writer& w_;
  const Job& job_;
  const Kernel& kernel_;
  const std::vector<Stage>& stages_;
  Stage scores_, values_;                              // the products, with operands in panels
  Expr rows_, length_;                                 // of one matrix of scores
  int64_t longest_ = 0;                                // rows that there is room for
  std::unordered_map<const Buffer*, size_t> written_;  // by all stages but the last
  std::unordered_map<const Buffer*, Place> places_;
  Bounds bounds_;  // of the last stage's axes
  // The rows at work.
  Axis start_, row_;
  std::unordered_map<const Buffer*, const Buffer*> local_;
};

}  // namespace

std::optional<AttentionLoops> write_attention(Writer& w, const Job& job, const Kernel& k,
                                              const std::vector<Stage>& stages) {
  return Attention(w, job, k, stages).write();
}

}  // namespace relay::kernel::schedule::cpu
