// Contractions in register tiles.
//
//   t[.., row, .., column] = sum over r of  A(row, r) * B(r, column)
//
// A tile of rows x columns of t is kept in registers while r runs; A is read an element at a time,
// B a vector at a time. Where the columns of B do not lie side by side (a convolution's windows:
// they are scattered, padded and strided), the part of B that a tile needs is first packed into a
// small buffer, which all tiles of rows reuse. This is a convolution as a product of matrices
// without the large matrix. If there are so few columns that the rows have to be shared out too,
// the (then small) matrix is packed once for all of them. Each element of t is summed in one order
// (long_sums.h), so results do not depend on the tiling.
//
// The rows of a convolution in groups are the channels of one group (axis_parts.h).
#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "base/integers.h"
#include "kernel/schedule/cost.h"
#include "kernel/schedule/cpu/axis_parts.h"
#include "kernel/schedule/cpu/contraction_plan.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

class Contraction {
 public:
  // `element` of the output, in terms of the stage's axes.
  Contraction(Writer& w, const Job& job, const AnchoredStage& anchored, const ContractionPlan& plan,
              std::vector<Expr> element)
      : w_(w),
        job_(job),
        anchored_(anchored),
        s_(anchored.stage),
        plan_(plan),
        element_(std::move(element)),
        width_(job.lanes()) {
    vectors_ = s_.buffer->dtype == kFloat32 && dtype_is_float(s_.next);
    for (size_t i = 0; i < s_.spatial.size(); ++i) {
      if (i < plan_.columns && !(plan_.has_rows && i == plan_.row)) outer_.push_back(i);
    }
  }

  Stmt write() { return plan_.packed ? write_packed() : write_direct(); }

 private:
  static bool dtype_is_float(Expr e) {
    bool yes = e->dtype == kFloat32;
    for_each_load(e, [&](const ExprNode* n) { yes &= n->dtype == kFloat32; });
    return yes;
  }

  Expr rows() const { return plan_.has_rows ? s_.spatial[plan_.row].extent : w_.index(1); }

  // The coordinates of the result from the outer ones, the row and the coordinates of the column.
  std::vector<Expr> place(const std::vector<Expr>& outer, Expr row, const std::vector<Expr>& column) const {
    std::vector<Expr> at(s_.spatial.size());
    for (size_t i = 0; i < outer_.size(); ++i) at[outer_[i]] = outer[i];
    if (plan_.has_rows) at[plan_.row] = row;
    for (size_t i = 0; i < column.size(); ++i) at[plan_.columns + i] = column[i];
    return at;
  }

  // One tile: rows [row, row + t) and c columns.
  struct Tile {
    int64_t rows = 1, columns = 1;
    std::vector<Expr> outer;
    Expr row;                                       // the first one
    std::function<std::vector<Expr>(Expr)> column;  // the coordinates of column 0, 1, ...
    Expr valid = {};                                // how many columns exist; null if all
    Expr start = {}, all_columns = {};              // the first column, and how many there are in all tiles
    int64_t group = 1;                              // columns that are packed at once
    const Buffer* packed =
        nullptr;     // [first reduction axis within the chunk, others.., columns]; for all tiles:
                     // [outer.., tile of columns, first reduction axis, others.., columns]
    Expr tile = {};  // of columns; null if each tile packs for itself
    Expr chunk_start = {}, chunk_size = {};  // of the first reduction axis; null if not in chunks
    int64_t most_of_chunk = 1;
    Expr partial_row = {};  // where the tile's rows are kept between chunks
    const Buffer* partial = nullptr;
    Expr is_first = {}, is_last = {};
  };

  // Loops over the tile's columns: vectors and lanes.
  Stmt over_columns(const Tile& t, ForKind across, const std::function<Stmt(Expr)>& body) {
    const int64_t lanes = std::min(t.columns, width_);
    if (t.columns % lanes != 0) return w_.loop(ForKind::kSerial, "c", t.columns, body);
    return w_.loop(across, "v", t.columns / lanes, [&](Expr v) {
      return w_.loop(vectors_ ? ForKind::kVectorized : ForKind::kSerial, "lane", lanes,
                     [&](Expr lane) { return body(v * lanes + lane); });
    });
  }

  Stmt write_tile(const Tile& t) {
    const Buffer* sums =
        w_.local(s_.name + "_tile", s_.buffer->dtype, {w_.index(t.rows), w_.index(t.columns)});
    const Axis i = w_.axis("row", w_.index(t.rows)), c = w_.axis("column", w_.index(t.columns));
    const Expr sum = w_.pool().load(sums, {i.var, c.var});
    const auto elements = [&](ForKind kind, const std::function<Stmt(Expr, Expr)>& body) {
      return w_.loop(kind, "t", t.rows, [&](Expr row) {
        return over_columns(t, kind, [&](Expr column) { return body(row, column); });
      });
    };
    const auto bindings = [&](Expr row, Expr column) {
      std::vector<Binding> out{{i, IterKind::kSpatial, row}, {c, IterKind::kSpatial, column}};
      const std::vector<Expr> at = place(t.outer, t.row + row, t.column(column));
      for (const Binding& b : anchored_.bind(at)) out.push_back(b);
      return out;
    };

    const SumOrder order = sum_order(job_, s_, plan_.tile_rows * plan_.tile_vectors);
    const bool in_blocks = order.block > 0;
    Stmt init = elements(ForKind::kUnrolled, [&](Expr row, Expr column) {
      return w_.block(s_.name + "_init", bindings(row, column), w_.store(sums, {i.var, c.var}, s_.init));
    });
    Stmt result = write_results(t, bindings, i, c, sum);
    if (t.partial) {
      const Axis p = w_.axis("kept", t.partial->shape[0]);
      const auto kept = [&](Expr row, Expr column) {
        std::vector<Binding> out = bindings(row, column);
        out.push_back({p, IterKind::kSpatial, t.partial_row + row});
        return out;
      };
      const Expr before = w_.pool().load(t.partial, {p.var, c.var});
      Stmt resume = elements(ForKind::kUnrolled, [&](Expr row, Expr column) {
        return w_.block(s_.name + "_resume", kept(row, column),
                        w_.store(sums, {i.var, c.var}, in_blocks ? before + sum : before));
      });
      Stmt keep = elements(ForKind::kUnrolled, [&](Expr row, Expr column) {
        return w_.block(s_.name + "_keep", kept(row, column), w_.store(t.partial, {p.var, c.var}, sum));
      });
      result = w_.choose(t.is_last, result, keep);
      if (in_blocks) {  // what there is of the sum and the chunk's own
        result = w_.sequence({w_.choose(t.is_first, w_.sequence({}), resume), result});
      } else {
        init = w_.choose(t.is_first, init, resume);
      }
    }

    const Accumulators accumulators{s_.name, sums, {i.var, c.var}, [&](const std::string& name, Stmt body) {
                                      return elements(ForKind::kUnrolled, [&](Expr row, Expr column) {
                                        return w_.block(name, bindings(row, column), body);
                                      });
                                    }};
    std::vector<TermLoop> loops = term_loops(s_.reduction);
    if (t.chunk_size) loops[0] = {t.chunk_size, t.most_of_chunk};
    Stmt update = add_terms(w_, order, accumulators, loops, [&](std::vector<Expr> r) {
      const Expr within_chunk = r[0];
      if (t.chunk_start) r[0] = r[0] + t.chunk_start;
      return elements(ForKind::kUnrolled, [&](Expr row, Expr column) {
        std::vector<Binding> all = bindings(row, column);
        for (size_t d = 0; d < r.size(); ++d) all.push_back({s_.reduction[d], IterKind::kReduction, r[d]});
        Expr value = s_.value;
        if (t.packed) {
          const std::vector<Expr> at = packed_place(t, IterKind::kReduction, r[0], within_chunk, c.var, all);
          value = substitute(value, {{plan_.packed.get(), w_.pool().load(t.packed, at)}});
        }
        return w_.block(s_.name, all, w_.store(sums, {i.var, c.var}, replace_loads(value, s_.buffer, sum)));
      });
    });
    return w_.allocate(sums, w_.sequence({init, update, result}));
  }

  // Where an element of the packed operand lies, and the bindings that this needs besides those of
  // the stage's axes.
  std::vector<Expr> packed_place(const Tile& t, IterKind kind, Expr first, Expr within, Expr column,
                                 std::vector<Binding>& all) {
    std::vector<Expr> at;
    if (t.tile) {
      for (size_t a : outer_) at.push_back(s_.spatial[a].var);
      const Axis tile = w_.axis("tile", t.packed->shape[outer_.size()]);
      all.push_back({tile, IterKind::kSpatial, t.tile});
      at.push_back(tile.var);
    }
    const Axis k = w_.axis("k", t.packed->shape[at.size()]);
    all.push_back({k, kind, t.tile ? first : within});
    at.push_back(k.var);
    for (size_t d = 1; d < s_.reduction.size(); ++d) at.push_back(s_.reduction[d].var);
    at.push_back(column);
    return at;
  }

  // Where only some of the columns exist, the tile goes through memory first: an index into the
  // tile that is not a constant would keep all of it out of registers.
  Stmt write_results(const Tile& t, const std::function<std::vector<Binding>(Expr, Expr)>& bindings,
                     const Axis& i, const Axis& c, Expr sum) {
    const std::string name = s_.name + "_result";
    const auto over_tile = [&](const std::function<Stmt(Expr, Expr)>& body) {
      return w_.loop(ForKind::kUnrolled, "t", t.rows, [&](Expr row) {
        return over_columns(t, ForKind::kUnrolled, [&](Expr column) { return body(row, column); });
      });
    };
    Stmt full = over_tile([&](Expr row, Expr column) {
      return w_.block(name, bindings(row, column), anchored_.write_back(w_, element_, sum));
    });
    if (!t.valid) return full;
    const Buffer* edge =
        w_.local(s_.name + "_edge", s_.buffer->dtype, {w_.index(t.rows), w_.index(t.columns)});
    Stmt spill = over_tile([&](Expr row, Expr column) {
      return w_.block(s_.name + "_spill", bindings(row, column), w_.store(edge, {i.var, c.var}, sum));
    });
    const Expr spilled = w_.pool().load(edge, {i.var, c.var});
    Stmt part = w_.loop(ForKind::kSerial, "t", t.rows, [&](Expr row) {
      return w_.loop(ForKind::kSerial, "c", t.valid, [&](Expr column) {
        return w_.block(name, bindings(row, column), anchored_.write_back(w_, element_, spilled));
      });
    });
    return w_.choose(less_equal(t.start + t.columns, t.all_columns), full,
                     w_.allocate(edge, w_.sequence({spill, part})));
  }

  // The operand lies as it is needed: tiles of columns as wide as they fit, then narrower ones.
  Stmt write_direct() {
    const Expr columns = s_.spatial.back().extent;
    std::vector<Stmt> parts;
    std::vector<int64_t> sizes{plan_.tile_vectors * width_, width_};
    // Shorter vectors for what a known number of columns leaves, but for a few.
    for (int64_t lanes = width_ / 2; lanes >= 4 && columns->kind == ExprKind::kInt; lanes /= 2)
      sizes.push_back(lanes);
    sizes.push_back(1);
    for (const Segment& c : segments(columns, sizes)) {
      for (const Segment& r : segments(rows(), row_sizes())) parts.push_back(write_tiles_of(r, c));
      if (rows()->kind == ExprKind::kInt) continue;
      // One tile for the rows that are left.
      parts.push_back(write_rest(w_, rows(), plan_.tile_rows, [&](Expr start, int64_t size) {
        return write_tiles_of({start, w_.index(1), size}, c);
      }));
    }
    return w_.sequence(parts);
  }

  Stmt write_tiles_of(const Segment& r, const Segment& c) {
    std::vector<Expr> space;
    for (size_t a : outer_) space.push_back(s_.spatial[a].extent);
    // Row tiles last: tiles that run one after the other share a panel of columns, which
    // stays in the cache.
    space.push_back(c.tiles);
    space.push_back(r.tiles);
    std::vector<Expr> cost = space;
    for (const Axis& a : s_.reduction) cost.push_back(a.extent);
    cost.push_back(w_.index(r.size * c.size));
    return w_.fused(outer_kind(job_, cost), "tile", space, [&](const std::vector<Expr>& at) {
      Tile t;
      t.rows = r.size;
      t.columns = c.size;
      t.outer.assign(at.begin(), at.end() - 2);
      t.row = r.start + at.back() * r.size;
      const Expr first = c.start + at[at.size() - 2] * c.size;
      t.column = [=](Expr column) { return std::vector<Expr>{first + column}; };
      return write_tile(t);
    });
  }

  std::vector<int64_t> row_sizes() const {
    const Expr n = rows();
    if (n->kind != ExprKind::kInt) return {plan_.tile_rows};
    const int64_t rest = n->int_value % plan_.tile_rows;
    return rest > 1 ? std::vector<int64_t>{plan_.tile_rows, rest, 1}
                    : std::vector<int64_t>{plan_.tile_rows, 1};
  }

  // How the packed operand and the rows are divided.
  struct Packing {
    int64_t c;  // columns of a tile
    std::vector<Expr> column_extents;
    Expr columns, tiles;  // all of them, and tiles of them
    Expr first;           // the extent of the first reduction axis
    int64_t chunk;        // of that extent: its packed operand fits the cache
    bool in_chunks;
    int64_t share, shares;    // rows of a task, and tasks that share a tile of columns
    int64_t group;            // columns that are packed at once
    std::vector<Expr> shape;  // of the operand of one tile and chunk
  };

  Packing packing() const {
    Packing p;
    p.c = plan_.tile_vectors * width_;
    for (size_t i = plan_.columns; i < s_.spatial.size(); ++i)
      p.column_extents.push_back(s_.spatial[i].extent);
    p.columns = product(w_.pool(), p.column_extents);
    p.tiles = divide_up(p.columns, p.c);
    int64_t tasks = guess(p.tiles);
    for (size_t a : outer_) tasks *= guess(s_.spatial[a].extent);

    int64_t others = p.c * static_cast<int64_t>(plan_.packed->dtype.bytes());
    for (size_t i = 1; i < s_.reduction.size(); ++i) others *= s_.reduction[i].extent->int_value;
    p.first = s_.reduction[0].extent;
    p.chunk = std::max<int64_t>(1, packed_bytes(job_.cpu) / std::max<int64_t>(others, 1));
    p.in_chunks = p.first->kind != ExprKind::kInt || p.first->int_value > p.chunk;
    if (!p.in_chunks) p.chunk = p.first->int_value;
    if (p.in_chunks && p.first->kind == ExprKind::kInt) {  // of equal size
      const int64_t pieces = ceil_div(p.first->int_value, p.chunk);
      p.chunk = ceil_div(p.first->int_value, pieces);
    }

    // Few tiles: the rows are shared out too, each share packing for itself. Sums that wait between
    // chunks stay small.
    const int64_t all_rows = rows()->int_value;
    p.share = all_rows;
    while (tasks * ceil_div(all_rows, p.share) < kEnoughTasks && p.share > 64) p.share = (p.share + 1) / 2;
    if (p.in_chunks) p.share = std::min<int64_t>(p.share, 128);
    p.share = std::min(all_rows, ceil_div(p.share, plan_.tile_rows) * plan_.tile_rows);
    p.shares = ceil_div(all_rows, p.share);
    p.group = contiguous_columns(p.columns, p.column_extents);

    p.shape = {w_.index(p.chunk)};
    for (size_t i = 1; i < s_.reduction.size(); ++i) p.shape.push_back(s_.reduction[i].extent);
    p.shape.push_back(w_.index(p.c));
    return p;
  }

  // The tile of columns at the end of `at`, whose last element is something else.
  Tile start_tile(const Packing& p, const std::vector<Expr>& at) const {
    const int64_t c = p.c;
    Tile t;
    t.columns = c;
    t.outer.assign(at.begin(), at.end() - 2);
    const Expr start = at[at.size() - 2] * c;
    t.start = start;
    t.all_columns = p.columns;
    t.group = p.group;
    t.column = [start, extents = p.column_extents](Expr column) {
      return unflatten(start + column, extents);
    };
    if (!floor_mod(p.columns, c).is_int(0)) t.valid = kernel::min(p.columns - start, w_.index(c));
    return t;
  }

  Stmt write_packed() {
    const Packing p = packing();
    const Buffer* everything = nullptr;
    Stmt pack_everything = nullptr;
    if (p.shares > 1) pack_everything = pack_all(p, everything);
    std::vector<Expr> space;
    for (size_t a : outer_) space.push_back(s_.spatial[a].extent);
    space.push_back(p.tiles);
    space.push_back(w_.index(p.shares));
    std::vector<Expr> cost = space;
    for (const Axis& a : s_.reduction) cost.push_back(a.extent);
    cost.push_back(w_.index(p.share * p.c));
    Stmt tile_by_tile = w_.fused(outer_kind(job_, cost), "tile", space,
                                 [&](const std::vector<Expr>& at) { return write_share(p, at, everything); });
    return pack_everything ? w_.sequence({pack_everything, tile_by_tile}) : tile_by_tile;
  }

  // Packs the operand for all tiles, before any of them, as several tasks read each of its parts.
  Stmt pack_all(const Packing& p, const Buffer*& everything) {
    std::vector<Expr> whole;
    for (size_t a : outer_) whole.push_back(s_.spatial[a].extent);
    whole.push_back(p.tiles);
    whole.push_back(p.first);
    const std::vector<Expr> pieces = whole;
    whole.insert(whole.end(), p.shape.begin() + 1, p.shape.end());
    everything = w_.temporary(s_.name + "_packed", plan_.packed->dtype, whole);
    return w_.fused(outer_kind(job_, whole), "piece", pieces, [&](const std::vector<Expr>& at) {
      Tile t = start_tile(p, at);
      t.packed = everything;
      t.tile = at[at.size() - 2];
      t.chunk_start = at.back();
      t.chunk_size = w_.index(1);
      return pack(t);
    });
  }

  // One share of rows with one tile of columns, which are packed here unless `everything` is.
  Stmt write_share(const Packing& p, const std::vector<Expr>& at, const Buffer* everything) {
    Tile t = start_tile(p, at);
    const Expr first_row = at.back() * p.share;
    const auto finish = [&](Stmt body) {
      if (t.partial) body = w_.allocate(t.partial, body);
      return everything ? body : w_.allocate(t.packed, body);
    };
    t.packed = everything ? everything : w_.local(s_.name + "_packed", plan_.packed->dtype, p.shape);
    if (everything) t.tile = at[at.size() - 2];
    const auto pack_part = [&] { return everything ? w_.sequence({}) : pack(t); };
    if (!p.in_chunks) return finish(w_.sequence({pack_part(), write_rows(t, first_row, p.share)}));

    t.partial = w_.local(s_.name + "_partial", s_.buffer->dtype, {w_.index(p.share), w_.index(p.c)});
    const Expr pieces = divide_up(p.first, p.chunk);
    // An empty reduction has one empty chunk, which stores the initial values.
    const Expr at_least_one = kernel::max(pieces, w_.index(1));
    return finish(w_.loop(ForKind::kSerial, "piece", at_least_one, [&](Expr piece) {
      t.chunk_start = piece * p.chunk;
      t.chunk_size = kernel::min(p.first - t.chunk_start, w_.index(p.chunk));
      t.most_of_chunk = p.chunk;
      t.is_first = equal(piece, w_.index(0));
      t.is_last = equal(piece, at_least_one - 1);
      return w_.sequence({pack_part(), write_rows(t, first_row, p.share)});
    }));
  }

  // All tiles of the rows [first, first + share), as far as there are so many.
  Stmt write_rows(Tile& t, Expr first, int64_t share) {
    const int64_t all = rows()->int_value, rest = all % share;
    const auto tiles = [&](int64_t count) {
      std::vector<Stmt> parts;
      std::vector<int64_t> sizes{plan_.tile_rows};
      if (count % plan_.tile_rows > 1) sizes.push_back(count % plan_.tile_rows);
      sizes.push_back(1);
      for (const Segment& r : segments(w_.index(count), sizes)) {
        parts.push_back(w_.loop(ForKind::kSerial, "rows", r.tiles, [&](Expr tile) {
          t.rows = r.size;
          t.partial_row = r.start + tile * r.size;
          t.row = first + t.partial_row;
          return write_tile(t);
        }));
      }
      return w_.sequence(parts);
    };
    if (rest == 0) return tiles(share);
    return w_.choose(less_equal(first + share, w_.index(all)), tiles(share), tiles(rest));
  }

  // The most columns that start at a multiple of their number and lie side by side in
  // the packed operand.
  int64_t contiguous_columns(Expr columns, const std::vector<Expr>& extents) const {
    if (plan_.packed->kind != ExprKind::kLoad || plan_.packed->dtype != kFloat32) return 1;
    for (int64_t g = width_; g > 1; g /= 2) {
      if (!floor_mod(columns, g).is_int(0)) continue;
      const Expr group = w_.variable("group"), lane = w_.variable("lane");
      Bounds bounds;
      bounds.set(group, {0, {}});
      bounds.bind(lane, w_.index(g));
      const std::vector<Expr> at = unflatten(group * g + lane, extents);
      std::unordered_map<const ExprNode*, Expr> by;
      for (size_t i = 0; i < at.size(); ++i) by[s_.spatial[plan_.columns + i].var.get()] = at[i];
      const Expr load = substitute(plan_.packed, by);
      const Expr offset = flat_offset(*load->buffer, {load->args.begin(), load->args.end()}, bounds);
      if (!mentions(simplify(offset - lane, bounds), lane)) return g;
    }
    return 1;
  }

  // Group of columns by group, so that the coordinates of a column are taken apart once for a line
  // along the last reduction axes. All columns are packed for one line before the next, as their
  // places there are side by side: the first cache holds them.
  Stmt pack(const Tile& t) {
    constexpr int64_t kLongLine = 16;  // elements that are worth taking a column apart
    const Axis c = w_.axis("column", w_.index(t.columns));
    const auto& axes = s_.reduction;
    size_t line = axes.size();  // the first axis along it
    for (int64_t n = 1; line > 0 && n < kLongLine; n *= std::min(guess(axes[line].extent), kLongLine)) --line;
    std::vector<Expr> before, within;
    for (size_t d = 0; d < axes.size(); ++d)
      (d < line ? before : within).push_back(d == 0 && t.chunk_size ? t.chunk_size : axes[d].extent);
    const auto copy = [&](const std::vector<Expr>& at, Expr column, bool real) {
      std::vector<Binding> all = anchored_.bind(place(t.outer, w_.index(0), t.column(column)));
      all.push_back({c, IterKind::kSpatial, column});
      std::vector<Expr> r = at;
      if (t.chunk_start) r[0] = r[0] + t.chunk_start;
      for (size_t d = 0; d < r.size(); ++d) all.push_back({axes[d], IterKind::kSpatial, r[d]});
      const std::vector<Expr> to = packed_place(t, IterKind::kSpatial, r[0], at[0], c.var, all);
      const Expr value = real ? plan_.packed : w_.pool().constant(0, plan_.packed->dtype);
      return w_.block(s_.name + (real ? "_pack" : "_fill"), all, w_.store(t.packed, to, value));
    };
    return w_.loops(ForKind::kSerial, "r", before, [&](const std::vector<Expr>& outer) {
      return w_.loop(ForKind::kSerial, "c", t.columns / t.group, [&](Expr first) {
        const auto lines = [&](bool real) {
          return w_.loops(ForKind::kSerial, "r", within, [&](const std::vector<Expr>& inner) {
            std::vector<Expr> at = outer;
            at.insert(at.end(), inner.begin(), inner.end());
            return w_.loop(ForKind::kVectorized, "lane", t.group,
                           [&](Expr lane) { return copy(at, first * t.group + lane, real); });
          });
        };
        return t.valid ? w_.choose(less(t.start + first * t.group, t.all_columns), lines(true), lines(false))
                       : lines(true);
      });
    });
  }

  Writer& w_;
  const Job& job_;
  const AnchoredStage& anchored_;
  const Stage& s_;
  ContractionPlan plan_;
  std::vector<Expr> element_;
  int64_t width_;
  bool vectors_ = false;
  std::vector<size_t> outer_;  // axes that are neither rows nor columns
};

}  // namespace

Stmt write_contraction(Writer& w, const Job& job, const AnchoredStage& anchored) {
  const std::optional<ContractionPlan> plan = find_contraction_plan(anchored.stage, job.cpu);
  if (!plan || !plan->has_rows) {
    const std::optional<AxisParts> parts = row_parts(anchored);
    const auto by_parts = parts ? find_contraction_plan(parts->anchored.stage, job.cpu) : std::nullopt;
    if (by_parts && by_parts->has_rows)
      return Contraction(w, job, parts->anchored, *by_parts, parts->element).write();
  }
  return plan ? Contraction(w, job, anchored, *plan, anchored.variables()).write() : nullptr;
}

}  // namespace relay::kernel::schedule::cpu
