// Products of matrices whose second operand lies in panels.
//
//   t[.., row, .., column] = sum over k of  A(row, k) * B(k, column)
//
// A panel holds a few columns of B, two vectors wide, row after row: B[column / c, k, column % c].
// It is read from beginning to end, once for each tile of rows, and stays in the second level of
// cache meanwhile; the sums of a tile stay in registers while all of k runs, and what follows the
// product is applied when they are done. While the tiles of one panel are computed the next panel
// is fetched, so that memory works as long as the arithmetic does. A long reduction is cut into
// pieces, so that the rows of A stay in the cache from panel to panel; between pieces the sums wait
// where the results will be. (K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix
// Multiplication", 2008.)
//
// An operand that does not lie in panels is put there first, if enough rows share the work. Every
// element is summed in one order (long_sums.h), so results do not depend on the tiles.
#include <algorithm>
#include <array>

#include "base/integers.h"
#include "kernel/schedule/cost.h"
#include "kernel/schedule/cpu/product_plan.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

constexpr int64_t kLongest = 1024;     // terms that are summed in one go
constexpr int64_t kPiece = 768;        // terms of a piece of a longer sum: its rows of A stay in the cache
constexpr int64_t kUnrolledSteps = 4;  // of the reduction

class Product {
 public:
  Product(Writer& w, const Job& job, const AnchoredStage& anchored, const ProductPlan& plan)
      : w_(w), job_(job), anchored_(anchored), s_(anchored.stage), plan_(plan), cpu_(job.cpu) {
    for (size_t a : plan_.outer) outer_extents_.push_back(s_.spatial[a].extent);
    for (size_t a : plan_.rows) row_extents_.push_back(s_.spatial[a].extent);
    panels_ = divide_up(columns(), plan_.columns);
    light_ = !anchored_.epilogue || is_light(anchored_.epilogue->value);
    piece_ = {w_.index(0), length(), {}, {}};
    order_ = sum_order(job, s_, most_tile_rows(job.cpu) * kPanelVectors);
  }

  PackedProduct packed() {
    if (plan_.in_panels) return {w_.sequence({}), s_};
    PackedProduct out{pack(), s_};
    const Expr element =
        in_panel(plan_.panels().index(std::array{s_.spatial.back().var, s_.reduction[0].var}));
    out.stage.value = substitute(s_.value, {{plan_.operand, element}});
    out.stage.next = substitute(s_.next, {{plan_.operand, element}});
    return out;
  }

  Stmt write() {
    std::vector<Stmt> parts;
    if (!plan_.in_panels) parts.push_back(pack());
    const Expr rows = kernel::schedule::product(w_.pool(), row_extents_);
    const ProductTile tile = product_tile(cpu_, guess(rows), guess(panels_));
    if (rows->kind != ExprKind::kInt) {
      parts.push_back(over({panels_}, rows, [&](const std::vector<Expr>& at) {
        return all_rows(at, w_.index(0), rows, most_tile_rows(cpu_));
      }));
    } else if (rows->int_value <= tile.rows) {
      for (const Segment& p : segments(panels_, {tile.panels, 1})) {
        parts.push_back(over({p.tiles}, rows, [&](std::vector<Expr> at) {
          at.back() = p.start + at.back() * p.size;
          return all_rows(at, w_.index(0), rows, tile.rows, p.size);
        }));
      }
    } else {
      parts.push_back(over_pieces(rows, tile));
    }
    return w_.sequence(parts);
  }

 private:
  Expr columns() const { return s_.spatial.back().extent; }
  Expr length() const { return s_.reduction[0].extent; }

  // The part of the reduction that is at work.
  struct Piece {
    Expr start, length;
    Expr is_first, is_last;  // null: it is the whole
  };

  // Many rows, block by block, panel by panel.
  Stmt over_pieces(Expr rows, const ProductTile& tile) {
    const auto whole_blocks = [&] {
      std::vector<Stmt> parts;
      const int64_t kept = rows_kept(cpu_, guess(piece_.length));
      const int64_t block = std::max<int64_t>(1, kept / tile.rows) * tile.rows;
      const int64_t rest = rows->int_value % block;
      for (const Segment& r :
           segments(rows, {std::min(block, rows->int_value), std::max<int64_t>(rest, 1), 1})) {
        parts.push_back(over({r.tiles, panels_}, w_.index(r.size), [&](std::vector<Expr> at) {
          const Expr first = r.start + at[at.size() - 2] * r.size;
          at.erase(at.end() - 2);
          return all_rows(at, first, w_.index(r.size), tile.rows);
        }));
      }
      return w_.sequence(parts);
    };
    // Sums wait in the place of results only where these are floats.
    const bool may_wait = anchored_.output()->dtype == kFloat32;
    const Expr all = length();
    if (!may_wait || all->kind != ExprKind::kInt || all->int_value <= kLongest) return whole_blocks();
    const int64_t least = ceil_div(all->int_value, kPiece);
    const int64_t size = ceil_div(all->int_value / least, kUnrolledSteps) * kUnrolledSteps;
    // The pieces that are of one size, and what is left.
    std::vector<Stmt> parts;
    const std::vector<Segment> sizes = segments(all, {size, std::max<int64_t>(all->int_value % size, 1), 1});
    for (size_t i = 0; i < sizes.size(); ++i) {
      const Segment& p = sizes[i];
      parts.push_back(w_.loop(ForKind::kSerial, "piece", p.tiles, [&](Expr at) {
        const Expr yes = w_.pool().integer(1, kBool), no = w_.pool().integer(0, kBool);
        piece_ = {p.start + at * p.size, w_.index(p.size), i == 0 ? equal(at, w_.index(0)) : no,
                  i + 1 == sizes.size() ? equal(at, p.tiles - 1) : no};
        if (i == 0 && p.tiles.is_int(1)) piece_.is_first = yes;
        return whole_blocks();
      }));
    }
    return w_.sequence(parts);
  }

  // One parallel loop over the axes of the operand and the space given; `rows` rows are the
  // work of a point.
  Stmt over(const std::vector<Expr>& space, Expr rows, const std::function<Stmt(std::vector<Expr>)>& body) {
    std::vector<Expr> all = outer_extents_;
    all.insert(all.end(), space.begin(), space.end());
    std::vector<Expr> cost = all;
    cost.insert(cost.end(), {rows, length(), w_.index(plan_.columns)});
    return w_.fused(outer_kind(job_, cost), "panel", all, body);
  }

  // One tile: some rows of some panels.
  struct Tile {
    std::vector<Expr> outer;
    Expr panel;  // the first one
    Expr row;    // the first one
    int64_t rows = 1, panels = 1;
    Expr number = {};  // among the tiles of the panel; null if none of them fetches ahead
    FetchAhead fetch = {};
  };

  // The rows [first, first + count) of the panels from at.back() on.
  Stmt all_rows(const std::vector<Expr>& at, Expr first, Expr count, int64_t most, int64_t panels = 1) {
    Tile t;
    t.outer.assign(at.begin(), at.end() - 1);
    t.panel = at.back();
    t.panels = panels;
    std::vector<Segment> sizes;
    if (count->kind == ExprKind::kInt) {
      // Evenly: so many tiles of `size` rows, and the others of one less.
      const int64_t n = count->int_value, tiles = ceil_div(n, most), size = ceil_div(n, tiles),
                    smaller = tiles * size - n;
      if (smaller < tiles) sizes.push_back({w_.index(0), w_.index(tiles - smaller), size});
      if (smaller > 0) sizes.push_back({w_.index(size * (tiles - smaller)), w_.index(smaller), size - 1});
      if (plan_.in_order && panels == 1) t.fetch = fetch_ahead(cpu_, tiles, plan_.columns);
    } else {
      // So many tiles of the most rows, and one for what is left: each reads the whole panel.
      sizes.push_back({w_.index(0), floor_div(count, most), most});
    }
    std::vector<Stmt> parts;
    Expr before = w_.index(0);
    for (const Segment& r : sizes) {
      parts.push_back(w_.loop(ForKind::kSerial, "rows", r.tiles, [&](Expr tile) {
        t.rows = r.size;
        t.row = first + r.start + tile * r.size;
        t.number = before + tile;
        return write_tile(t);
      }));
      before = before + r.tiles;
    }
    if (count->kind != ExprKind::kInt) {
      parts.push_back(write_rest(w_, count, most, [&](Expr start, int64_t rows) {
        t.row = first + start;
        t.rows = rows;
        return write_tile(t);
      }));
    }
    return w_.sequence(parts);
  }

  // The bindings of a row and a column within the tile.
  using TileBindings = std::function<std::vector<Binding>(Expr, Expr)>;

  // The coordinates of the result.
  std::vector<Expr> place(const Tile& t, Expr row, Expr column) const {
    std::vector<Expr> at(s_.spatial.size());
    for (size_t i = 0; i < t.outer.size(); ++i) at[plan_.outer[i]] = t.outer[i];
    const std::vector<Expr> rows = unflatten(row, row_extents_);
    for (size_t i = 0; i < rows.size(); ++i) at[plan_.rows[i]] = rows[i];
    at.back() = column;
    return at;
  }

  // Over the vectors of the tile, row by row: body(row, column within the tile).
  Stmt over_tile(const Tile& t, ForKind across_rows, const std::function<Stmt(Expr, Expr)>& body) {
    return w_.loop(across_rows, "t", t.rows, [&](Expr row) {
      return w_.loop(ForKind::kUnrolled, "v", t.panels * plan_.columns / cpu_.lanes(), [&](Expr v) {
        return w_.loop(ForKind::kVectorized, "lane", cpu_.lanes(),
                       [&](Expr lane) { return body(row, v * cpu_.lanes() + lane); });
      });
    });
  }

  Stmt write_tile(const Tile& t) {
    const std::vector<Expr> shape{w_.index(t.rows), w_.index(t.panels * plan_.columns)};
    const Buffer* sums = w_.local(s_.name + "_tile", kFloat32, shape);
    const Axis i = w_.axis("row", shape[0]), c = w_.axis("column", shape[1]);
    const Expr sum = w_.pool().load(sums, {i.var, c.var});
    const auto in_tile = [&](Expr row, Expr column) {
      return std::vector<Binding>{{i, IterKind::kSpatial, row}, {c, IterKind::kSpatial, column}};
    };
    const auto start = [&] {
      return over_tile(t, ForKind::kUnrolled, [&](Expr row, Expr column) {
        return w_.block(s_.name + "_init", in_tile(row, column), w_.store(sums, {i.var, c.var}, s_.init));
      });
    };
    const auto go_on = [&] { return resume(t, in_tile, i, c, sums); };
    Stmt init = in_blocks() ? start() : either(piece_.is_first, start, go_on);
    // A panel's columns that do not exist are computed as well, from what lies in their place.
    const Axis panel = w_.axis("panel", panels_), lane = w_.axis("lane", w_.index(plan_.columns));
    const auto step = [&](Expr k) {
      return over_tile(t, ForKind::kUnrolled, [&](Expr row, Expr column) {
        std::vector<Binding> all = in_tile(row, column);
        for (const Binding& b : anchored_.bind(place(t, t.row + row, w_.index(0)))) all.push_back(b);
        all.push_back({s_.reduction[0], IterKind::kReduction, k});
        all.push_back({panel, IterKind::kSpatial, t.panel + floor_div(column, plan_.columns)});
        all.push_back({lane, IterKind::kSpatial, floor_mod(column, plan_.columns)});
        const Expr element = in_panel({panel.var, s_.reduction[0].var, lane.var});
        return w_.block(
            s_.name, all,
            w_.store(sums, {i.var, c.var},
                     replace_loads(substitute(s_.value, {{plan_.operand, element}}), s_.buffer, sum)));
      });
    };
    const Accumulators accumulators{s_.name, sums, {i.var, c.var}, [&](const std::string& name, Stmt body) {
                                      return over_tile(t, ForKind::kUnrolled, [&](Expr row, Expr column) {
                                        return w_.block(name, in_tile(row, column), body);
                                      });
                                    }};
    std::vector<Stmt> update;
    for (const Segment& k : segments(piece_.length, {kUnrolledSteps, 1})) {
      update.push_back(
          add_terms(w_, order_.by(k.size), accumulators, {k.loop()}, [&](const std::vector<Expr>& tile) {
            Stmt steps = w_.loop(ForKind::kUnrolled, "step", k.size,
                                 [&](Expr u) { return step(piece_.start + k.start + tile[0] * k.size + u); });
            return w_.sequence({k.size > 1 ? fetch(t, tile[0]) : w_.sequence({}), steps});
          }));
    }
    if (in_blocks()) {
      update.push_back(either(piece_.is_first, [&] { return w_.sequence({}); }, go_on));
    }
    Stmt result = either(
        piece_.is_last, [&] { return results(t, in_tile, i, c, sum); },
        [&] { return results(t, in_tile, i, c, sum, /*final=*/false); });
    return w_.allocate(sums, w_.sequence({init, w_.sequence(update), result}));
  }

  // The one or the other, as the condition says when it runs; without one, the first.
  Stmt either(Expr condition, const std::function<Stmt()>& a, const std::function<Stmt()>& b) {
    if (!condition || condition.is_int(1)) return a();
    return condition.is_int(0) ? b() : w_.choose(condition, a(), b());
  }

  bool in_blocks() const { return order_.block > 0; }

  // Between pieces the sums of columns that exist wait in the place of their results. In blocks a
  // piece's own sum is added to them, else it begins with them.
  Stmt resume(const Tile& t, const TileBindings& in_tile, const Axis& i, const Axis& c, const Buffer* sums) {
    const Expr start = t.panel * plan_.columns, columns_here = w_.index(t.panels * plan_.columns);
    const Expr own = w_.pool().load(sums, {i.var, c.var});
    const auto from_here = [&](Expr before) { return in_blocks() ? before + own : before; };
    const auto read = [&](const Buffer* to, Expr row, Expr column, const char* what) {
      std::vector<Binding> all = in_tile(row, column);
      for (const Binding& b : anchored_.bind(place(t, t.row + row, start + column))) all.push_back(b);
      const Expr before = w_.pool().load(anchored_.output(), anchored_.variables());
      return w_.block(s_.name + what, all,
                      w_.store(to, {i.var, c.var}, to == sums ? from_here(before) : before));
    };
    Stmt full = over_tile(t, ForKind::kUnrolled,
                          [&](Expr row, Expr column) { return read(sums, row, column, "_resume"); });
    if (floor_mod(columns(), plan_.columns).is_int(0)) return full;
    // By way of memory, as results go there; what stands for columns that do not exist is
    // never looked at.
    const Buffer* aside = w_.local(s_.name + "_aside", kFloat32, {i.extent, c.extent});
    Stmt clear = over_tile(t, ForKind::kUnrolled, [&](Expr row, Expr column) {
      return w_.block(s_.name + "_clear", in_tile(row, column), w_.store(aside, {i.var, c.var}, s_.init));
    });
    Stmt some = w_.loop(ForKind::kSerial, "t", t.rows, [&](Expr row) {
      return w_.loop(ForKind::kSerial, "c", kernel::min(columns() - start, columns_here),
                     [&](Expr column) { return read(aside, row, column, "_fetch"); });
    });
    Stmt from = over_tile(t, ForKind::kUnrolled, [&](Expr row, Expr column) {
      return w_.block(s_.name + "_return", in_tile(row, column),
                      w_.store(sums, {i.var, c.var}, from_here(w_.pool().load(aside, {i.var, c.var}))));
    });
    return w_.choose(less_equal(start + columns_here, columns()), full,
                     w_.allocate(aside, w_.sequence({clear, some, from})));
  }

  // The element of the operand, by its index in the layout of panels.
  Expr in_panel(const std::vector<Expr>& index) {
    const Layout panels = plan_.panels();
    if (packed_ == nullptr) {
      const Expr column = s_.spatial.back().var, panel = index[panels.place(kPanelColumns)],
                 lane = index[panels.block_place(kPanelColumns)];
      return rewrite_loads(plan_.operand, [&](const ExprNode* n) {
        std::vector<Expr> at(n->args.begin(), n->args.end());
        for (Expr& e : at) {
          if (mentions(e, column)) e = &e == &at.back() ? lane : panel;
        }
        return w_.pool().load(n->buffer, at);
      });
    }
    return w_.pool().load(packed_, packed_place(index));
  }
  // The place of an element in what is packed.
  std::vector<Expr> packed_place(const std::vector<Expr>& index) const {
    std::vector<Expr> at;
    for (size_t a : plan_.outer) at.push_back(s_.spatial[a].var);
    at.insert(at.end(), index.begin(), index.end());
    return at;
  }

  // Hints to fetch this tile's share of the next panel.
  Stmt fetch(const Tile& t, Expr steps) {
    std::vector<Stmt> out;
    const Expr element = in_panel({t.panel + 1, piece_.start, w_.index(0)});
    std::unordered_map<const ExprNode*, Expr> here{{s_.reduction[0].var.get(), piece_.start}};
    for (size_t i = 0; i < t.outer.size(); ++i) here[s_.spatial[plan_.outer[i]].var.get()] = t.outer[i];
    const Expr load = w_.here(substitute(element, here));
    // The last tiles have nothing left to fetch, and stay at the end.
    const Expr end = floor_div(piece_.length * plan_.columns, line_floats(cpu_)) - 1;
    for (int64_t l = 0; l < t.fetch.lines; ++l) {
      std::vector<Expr> at(load->args.begin(), load->args.end());
      const Expr line = (t.number * floor_div(piece_.length, t.fetch.steps) + steps) * t.fetch.lines + l;
      at.back() = at.back() + kernel::min(line, end) * line_floats(cpu_);
      out.push_back(make_prefetch(w_.pool().arena(), load->buffer, at));
    }
    return w_.sequence(out);
  }

  // What follows is applied to the sums in registers. Much of it would make for long code, and is
  // applied to the tile row by row, when the sums have gone to a small buffer. So have those of a
  // panel in which not all columns exist: an index into the tile that is not a constant would keep
  // all of it out of registers.
  Stmt results(const Tile& t, const TileBindings& in_tile, const Axis& i, const Axis& c, Expr sum,
               bool final = true) {
    const std::string name = s_.name + (final ? "_result" : "_wait");
    const bool light = light_ || !final;
    const Expr start = t.panel * plan_.columns;
    const auto bindings = [&](Expr row, Expr column) {
      std::vector<Binding> all = in_tile(row, column);
      for (const Binding& b : anchored_.bind(place(t, t.row + row, start + column))) all.push_back(b);
      return all;
    };
    const auto write = [&](Expr row, Expr column, Expr value) {
      return w_.block(name, bindings(row, column),
                      final ? anchored_.write_back(w_, anchored_.variables(), value)
                            : w_.store(anchored_.output(), anchored_.variables(), value));
    };
    const bool whole = floor_mod(columns(), plan_.columns).is_int(0);
    Stmt direct =
        over_tile(t, ForKind::kUnrolled, [&](Expr row, Expr column) { return write(row, column, sum); });
    if (whole && light) return direct;

    const Buffer* aside = w_.local(s_.name + "_aside", kFloat32, {i.extent, c.extent});
    const Expr kept = w_.pool().load(aside, {i.var, c.var});
    Stmt spill = over_tile(t, ForKind::kUnrolled, [&](Expr row, Expr column) {
      return w_.block(s_.name + "_spill", in_tile(row, column), w_.store(aside, {i.var, c.var}, sum));
    });
    Stmt full =
        over_tile(t, ForKind::kSerial, [&](Expr row, Expr column) { return write(row, column, kept); });
    const Expr tile_columns = w_.index(t.panels * plan_.columns);
    Stmt part = w_.loop(ForKind::kSerial, "t", t.rows, [&](Expr row) {
      return w_.loop(ForKind::kSerial, "c", kernel::min(columns() - start, tile_columns),
                     [&](Expr column) { return write(row, column, kept); });
    });
    const auto from_aside = [&](Stmt body) { return w_.allocate(aside, w_.sequence({spill, body})); };
    if (whole) return from_aside(full);
    const Expr all_exist = less_equal(start + tile_columns, columns());
    return light ? w_.choose(all_exist, direct, from_aside(part))
                 : from_aside(w_.choose(all_exist, full, part));
  }

  // Puts the operand into panels, those columns that do not exist as zeros.
  Stmt pack() {
    std::vector<Expr> shape = plan_.panels().shape(std::array{columns(), length()});
    shape.insert(shape.begin(), outer_extents_.begin(), outer_extents_.end());
    packed_ = w_.temporary(s_.name + "_panels", kFloat32, shape);
    plan_.in_order = true;
    const Axis panel = w_.axis("panel", panels_), lane = w_.axis("lane", w_.index(plan_.columns));
    const Expr k = s_.reduction[0].var, column = s_.spatial.back().var;
    const auto element = [&](const std::vector<Expr>& at, Expr row, Expr lane_at, bool exists) {
      std::vector<Binding> all{{panel, IterKind::kSpatial, at.back()},
                               {lane, IterKind::kSpatial, lane_at},
                               {s_.reduction[0], IterKind::kSpatial, row}};
      for (size_t i = 0; i < plan_.outer.size(); ++i)
        all.push_back({s_.spatial[plan_.outer[i]], IterKind::kSpatial, at[i]});
      all.push_back({s_.spatial.back(), IterKind::kSpatial, at.back() * plan_.columns + lane_at});
      const std::vector<Expr> to = packed_place({panel.var, k, lane.var});
      const Expr value = exists ? Expr(plan_.operand) : w_.pool().real(0, kFloat32);
      return w_.block(s_.name + (exists ? "_pack" : "_fill"), all, w_.store(packed_, to, value));
    };
    // As many columns as there are, then the zeros.
    const auto lanes = [&](const std::vector<Expr>& at,
                           const std::function<Stmt(int64_t, bool, Expr)>& copy) {
      const Expr start = at.back() * plan_.columns;
      const Expr rest = floor_mod(columns(), plan_.columns);
      Stmt all = copy(plan_.columns, true, w_.index(0));
      if (rest.is_int(0)) return all;
      std::vector<Stmt> some;
      if (rest->kind == ExprKind::kInt) {
        some = {copy(rest->int_value, true, w_.index(0)), copy(plan_.columns - rest->int_value, false, rest)};
      } else {
        some = {w_.loop(ForKind::kSerial, "c", plan_.columns, [&](Expr c) {
          return w_.choose(less(start + c, columns()), copy(1, true, c), copy(1, false, c));
        })};
      }
      return w_.choose(less_equal(start + plan_.columns, columns()), all, w_.sequence(some));
    };
    std::vector<Expr> space = outer_extents_;
    space.push_back(panels_);
    std::vector<Expr> cost = space;
    cost.insert(cost.end(), {length(), w_.index(plan_.columns)});
    const bool by_rows = worst_stride(plan_.operand, column, s_.bounds) != Stride::kOther;
    return w_.fused(outer_kind(job_, cost), "panel", space, [&](const std::vector<Expr>& at) {
      if (by_rows) {
        return w_.loop(ForKind::kSerial, "k", length(), [&](Expr row) {
          return lanes(at, [&](int64_t count, bool exists, Expr from) {
            return w_.loop(ForKind::kVectorized, "lane", count,
                           [&](Expr l) { return element(at, row, from + l, exists); });
          });
        });
      }
      // A line of the cache from each column at a time.
      std::vector<Stmt> parts;
      for (const Segment& piece : segments(length(), {line_floats(cpu_), 1})) {
        parts.push_back(w_.loop(ForKind::kSerial, "piece", piece.tiles, [&](Expr p) {
          return lanes(at, [&](int64_t count, bool exists, Expr from) {
            return w_.loop(ForKind::kSerial, "lane", count, [&](Expr l) {
              return w_.loop(ForKind::kUnrolled, "k", piece.size, [&](Expr row) {
                return element(at, piece.start + p * piece.size + row, from + l, exists);
              });
            });
          });
        }));
      }
      return w_.sequence(parts);
    });
  }

  Writer& w_;
  const Job& job_;
  const AnchoredStage& anchored_;
  const Stage& s_;
  ProductPlan plan_;
  const target::Cpu& cpu_;
  std::vector<Expr> outer_extents_, row_extents_;
  Expr panels_;
  Piece piece_;
  SumOrder order_;  // the same for tiles of all sizes
  bool light_ = true;
  const Buffer* packed_ = nullptr;  // where the operand was put; null if it lies in panels already
};

}  // namespace

Stmt write_product(Writer& w, const Job& job, const AnchoredStage& anchored) {
  const std::optional<ProductPlan> plan = find_product_plan(anchored.stage, job.cpu);
  return plan ? Product(w, job, anchored, *plan).write() : nullptr;
}

std::optional<ProductRows> rows_of_product(const Job& job, const AnchoredStage& anchored) {
  const std::optional<ProductPlan> plan = find_product_plan(anchored.stage, job.cpu);
  if (!plan) return std::nullopt;
  ProductRows out{anchored.stage.init->pool->integer(1), plan->few_rows};
  for (size_t a : plan->rows) out.count = out.count * anchored.stage.spatial[a].extent;
  return out;
}

std::optional<PackedProduct> pack_product(Writer& w, const Job& job, const Stage& stage) {
  const std::optional<ProductPlan> plan = find_product_plan(stage, job.cpu, /*only_if_worth_it=*/false);
  if (!plan) return std::nullopt;
  const AnchoredStage anchored{stage};
  return Product(w, job, anchored, *plan).packed();
}

}  // namespace relay::kernel::schedule::cpu
