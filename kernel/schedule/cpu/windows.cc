// Reductions over small windows of images in blocks, each block by itself: depthwise convolutions
// and pooling with padding.
//
// What is outside of the image is a constant, and is not copied anywhere: a tile of columns is
// computed in registers, row of the window by row. Whether such a row is in the image is asked once
// for the whole tile. Whether a column is, is known when the kernel is made: tiles at the ends of a
// row are written out, those between them are all inside.
#include <algorithm>
#include <optional>
#include <unordered_map>

#include "base/integers.h"
#include "kernel/schedule/contraction.h"
#include "kernel/schedule/cost.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

constexpr int64_t kMostTaps = 64;
// More tiles with padding than this are a loop, which asks for each column.
constexpr size_t kMostWrittenOut = 4;

int64_t constant(const Axis& a) { return a.extent->kind == ExprKind::kInt ? a.extent->int_value : 0; }

// The selection between the image and what is around it; null unless there is exactly one.
const ExprNode* padding_of(Expr value, Expr lane) {
  const ExprNode* found = nullptr;
  bool other = false;
  for_each_node(value, [&](const ExprNode* n) {
    if (n->kind != ExprKind::kSelect) return true;
    other |= found != nullptr || mentions(n->args[0], lane);
    other |= n->args[0]->has_load || n->args[2]->has_load;
    found = n;
    return true;
  });
  return other ? nullptr : found;
}

// Tiles of one row that are written in the same way.
struct Run {
  int64_t first = 0, tiles = 1, columns = 1;
  bool inside = false;  // all columns of the window are, for all of them
};

class Windows {
 public:
  Windows(Writer& w, const Job& job, const AnchoredStage& anchored, const ExprNode* padding)
      : w_(w),
        job_(job),
        anchored_(anchored),
        s_(anchored.stage),
        column_(s_.spatial[s_.spatial.size() - 2]),
        lanes_(s_.spatial.back()),
        across_(s_.reduction.back()),
        width_(job.lanes()) {
    inside_ = substitute(s_.value, {{padding, padding->args[1]}});
    outside_ = substitute(s_.value, {{padding, padding->args[2]}});
    Expr truth = w_.pool().integer(1, kBool);
    row_ = column_inside_ = truth;
    for (Expr part : conjuncts(padding->args[0])) {
      Expr& of = mentions(part, column_.var) || mentions(part, across_.var) ? column_inside_ : row_;
      of = logical_and(of, part);
    }
    const int64_t vectors = constant(lanes_) / width_, columns = constant(column_);
    const int64_t most = std::max<int64_t>(job.cpu.vector_registers / 2 / vectors, 1);
    const int64_t tiles = ceil_div(columns, most);
    tile_ = ceil_div(columns, tiles);
  }

  Stmt write() {
    std::vector<Expr> rows, cost;
    for (const Axis& a : s_.spatial) cost.push_back(a.extent);
    rows.assign(cost.begin(), cost.end() - 2);
    for (const Axis& a : s_.reduction) cost.push_back(a.extent);
    const std::vector<Run> all = runs();
    return w_.fused(outer_kind(job_, cost), "row", rows, [&](const std::vector<Expr>& row) {
      std::vector<Stmt> out;
      for (const Run& run : all) {
        out.push_back(w_.loop(ForKind::kSerial, "tile", run.tiles,
                              [&](Expr i) { return write_tile(row, (i + run.first) * tile_, run); }));
      }
      return w_.sequence(out);
    });
  }

 private:
  // Are all columns of the window in the image, for each of the columns from `start`?
  bool is_inside(int64_t start, int64_t columns) {
    Bounds bounds = s_.bounds;
    bounds.set(column_.var, {start, start + columns - 1});
    return simplify(column_inside_, bounds).is_int(1);
  }

  std::vector<Run> runs() {
    std::vector<Run> out;
    const int64_t columns = constant(column_);
    for (int64_t start = 0; start < columns; start += tile_) {
      const int64_t here = std::min(tile_, columns - start);
      const Run next{start / tile_, 1, here, is_inside(start, here)};
      const bool joins = !out.empty() && next.inside && out.back().inside && out.back().columns == here;
      if (joins) {
        ++out.back().tiles;
      } else {
        out.push_back(next);
      }
    }
    size_t written_out = 0;
    for (const Run& run : out) written_out += !run.inside;
    if (written_out <= kMostWrittenOut) return out;
    out = {{0, columns / tile_, tile_, false}};
    if (columns % tile_ != 0) out.push_back({columns / tile_, 1, columns % tile_, false});
    return out;
  }

  Stmt write_tile(const std::vector<Expr>& row, Expr start, const Run& run) {
    const Axis i = w_.axis("in_tile", w_.index(run.columns)), l = w_.axis("in_lanes", lanes_.extent);
    const Buffer* results = w_.local(s_.name + "_tile", s_.buffer->dtype, {i.extent, l.extent});
    const Expr result = w_.pool().load(results, {i.var, l.var});
    // The block for one column, all lanes.
    const auto element = [&](Expr column, const std::vector<Expr>& r, std::string_view name,
                             const std::function<Stmt()>& body) {
      return w_.loop(ForKind::kUnrolled, "v", constant(lanes_) / width_, [&](Expr v) {
        return w_.loop(ForKind::kVectorized, "lane", width_, [&](Expr lane) {
          std::vector<Expr> place = row;
          place.push_back(start + column);
          place.push_back(v * width_ + lane);
          std::vector<Binding> bindings = anchored_.bind(place);
          bindings.push_back({i, IterKind::kSpatial, column});
          bindings.push_back({l, IterKind::kSpatial, place.back()});
          for (size_t d = 0; d < r.size(); ++d)
            bindings.push_back({s_.reduction[d], IterKind::kReduction, r[d]});
          return w_.block(s_.name + std::string(name), bindings, body());
        });
      });
    };
    const auto columns = [&](const std::function<Stmt(Expr)>& body) {
      return w_.loop(ForKind::kUnrolled, "t", run.columns, body);
    };
    const auto step = [&](Expr value) {
      return w_.store(results, {i.var, l.var}, replace_loads(value, s_.buffer, result));
    };

    const Stmt init = columns([&](Expr t) {
      return element(t, {}, "_init", [&] { return w_.store(results, {i.var, l.var}, s_.init); });
    });
    // The products of one row of the window, in the image or not. `here` are the axes that the
    // conditions may mention: if columns of the image do not lie along the last axis of the window,
    // whether one exists depends on other axes too.
    const auto products = [&](std::vector<Expr> r, std::unordered_map<const ExprNode*, Expr> here,
                              bool in_image) {
      r.push_back({});
      if (!in_image || run.inside) {
        return w_.loop(ForKind::kUnrolled, "u", across_.extent, [&](Expr u) {
          r.back() = u;
          return columns(
              [&](Expr t) { return element(t, r, "", [&] { return step(in_image ? inside_ : outside_); }); });
        });
      }
      std::vector<Stmt> out;
      for (int64_t u = 0; u < constant(across_); ++u) {
        r.back() = w_.index(u);
        here[across_.var.get()] = r.back();
        for (int64_t t = 0; t < run.columns; ++t) {
          here[column_.var.get()] = start + t;
          out.push_back(w_.choose(simplify(substitute(column_inside_, here), {}),
                                  element(w_.index(t), r, "", [&] { return step(inside_); }),
                                  element(w_.index(t), r, "_outside", [&] { return step(outside_); })));
        }
      }
      return w_.sequence(out);
    };
    std::vector<Expr> down;
    for (size_t d = 0; d + 1 < s_.reduction.size(); ++d) down.push_back(s_.reduction[d].extent);
    const Stmt update = w_.loops(ForKind::kSerial, "r", down, [&](const std::vector<Expr>& r) {
      std::unordered_map<const ExprNode*, Expr> here;
      for (size_t a = 0; a < row.size(); ++a) here[s_.spatial[a].var.get()] = row[a];
      for (size_t d = 0; d < r.size(); ++d) here[s_.reduction[d].var.get()] = r[d];
      if (row_.is_int(1)) return products(r, here, true);
      return w_.choose(substitute(row_, here), products(r, here, true), products(r, here, false));
    });
    const Stmt write = columns([&](Expr t) {
      return element(t, {}, "_result",
                     [&] { return anchored_.write_back(w_, anchored_.variables(), result); });
    });
    return w_.allocate(results, w_.sequence({init, update, write}));
  }

  Writer& w_;
  const Job& job_;
  const AnchoredStage& anchored_;
  const Stage& s_;
  const Axis column_, lanes_, across_;
  int64_t width_, tile_ = 1;
  Expr inside_, outside_;     // the value, in the image and around it
  Expr row_, column_inside_;  // when it is which: what depends on columns, and what does not
};

}  // namespace

bool is_window(const Job& job, const Stage& s) {
  const std::optional<ContractionView> view = contraction_view(s);
  if (!view || !view->starts_constant()) return false;
  if (s.spatial.size() < 3 || s.buffer->dtype != kFloat32) return false;
  const Axis &column = s.spatial[s.spatial.size() - 2], &lanes = s.spatial.back();
  if (!has_whole_vectors(lanes, job.lanes()) || constant(column) == 0) return false;
  int64_t taps = 1;
  for (const Axis& a : s.reduction) taps *= std::min(constant(a), kMostTaps + 1);
  bool by_lanes = taps > 0 && taps <= kMostTaps && vectorizable(s.next, lanes.var, s.bounds);
  for_each_load(s.next, [&](const ExprNode* n) { by_lanes &= mentions(n, lanes.var); });
  for_each_node(s.next, [&](const ExprNode* n) {
    by_lanes &= n->kind != ExprKind::kSelect;
    return true;
  });
  return by_lanes;
}

bool is_padding(const Stage& s) {
  if (s.kind != StageKind::kCompute || s.spatial.empty() || s.value->kind != ExprKind::kSelect) return false;
  return padding_of(s.value, s.spatial.back().var) == s.value.get();
}

Stmt write_windows(Writer& w, const Job& job, const AnchoredStage& anchored) {
  const Stage& s = anchored.stage;
  if (s.kind != StageKind::kReduce || !s.combine || s.spatial.empty()) return nullptr;
  const ExprNode* padding = padding_of(s.next, s.spatial.back().var);
  if (!padding) return nullptr;
  Stage without = s;
  without.next = substitute(s.next, {{padding, padding->args[1]}});
  return is_window(job, without) ? Windows(w, job, anchored, padding).write() : nullptr;
}

}  // namespace relay::kernel::schedule::cpu
