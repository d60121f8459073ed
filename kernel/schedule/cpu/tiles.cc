// Register tiles over several axes at once.
//
//   t[a.., lanes] = combination over r of f(a.., lanes, r)      where lanes are a whole number of vectors
//
// The axis of the lanes is the last one of a tensor in blocks, like NCHW16c. A tile is a box of the
// other axes: some pixels by some blocks of channels, whose results are kept in registers while r
// runs. What one step of r costs follows from the operands: one that does not vary along an axis of
// the tile is loaded once for all of it. The tile that costs least is taken, its remainders at the
// ends of the axes included. Each element is combined in one order (long_sums.h), so results do not
// depend on the tiling.
//
// Where only parts of the lanes share an operand, vectors are as long as a part (axis_parts.h).
#include <algorithm>
#include <optional>

#include "base/cat.h"
#include "base/integers.h"
#include "kernel/schedule/cpu/axis_parts.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/schedule/cpu/tile_order.h"
#include "kernel/schedule/cpu/tile_plan.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

// Of the reduction, as far as memory takes to answer.
constexpr int64_t kStepsAhead = 64;

class Tiles {
 public:
  // `element` of the output, in terms of the stage's axes.
  Tiles(Writer& w, const Job& job, const AnchoredStage& anchored, TilePlan plan, std::vector<Expr> element)
      : w_(w),
        job_(job),
        anchored_(anchored),
        s_(anchored.stage),
        plan_(std::move(plan)),
        element_(std::move(element)),
        cpu_(job.cpu),
        width_(plan_.width) {}

  // The last axis that is tiled runs inside one thread, unless too few tiles are before it; all
  // before it are shared out.
  Stmt write() {
    std::vector<Expr> tiles, cost{w_.index(plan_.vectors * width_)};
    for (size_t a = 0; a < plan_.tile.size(); ++a) {
      tiles.push_back(divide_up(plan_.axes[a].extent, plan_.tile[a]));
      cost.push_back(plan_.axes[a].extent);
    }
    for (const Axis& a : s_.reduction) cost.push_back(a.extent);
    const size_t run = tiles.size() - 1;
    size_t split = splits_run() ? run : run - 1;
    TileOrder order = order_of(tiles, split);
    if (order.together == 0) split = run;
    if (split == run) order = with_run_shared_out(order, tiles);
    const Expr together = w_.index(order.together);
    std::vector<Expr> space(tiles.begin(), tiles.end() - 1);
    if (order.together > 0) {
      if (split < run) space.back() = together;
      space.insert(space.begin() + order.before, divide_up(tiles[split], order.together));
    }
    return w_.fused(outer_kind(job_, cost), "tile", space, [&](std::vector<Expr> at) {
      Expr first = w_.index(0), runs = tiles[run];
      if (order.together > 0) {
        first = at[static_cast<size_t>(order.before)] * together;
        at.erase(at.begin() + order.before);
        if (split < run) {
          at.back() = first + at.back();
          first = w_.index(0);
        } else {
          runs = min(together, runs - first);
        }
      }
      return w_.loop(ForKind::kSerial, "run", runs, [&](Expr i) {
        at.push_back(first + i);
        return choose_size(at, {});
      });
    });
  }

 private:
  // The pixels of an image are one axis, or there are no rows: the run itself may be split.
  bool splits_run() const {
    return plan_.axes.size() < 2 || plan_.axes.back().first != plan_.axes.back().last;
  }

  // The operands that tiles share decide. Extents that only the run knows stay in the order of the
  // axes.
  TileOrder order_of(const std::vector<Expr>& tiles, size_t split) const {
    std::vector<int64_t> counts;
    for (const Expr& n : tiles) {
      if (n->kind != ExprKind::kInt) return {};
      counts.push_back(n->int_value);
    }
    std::vector<TileOperand> operands;
    for_each_load(s_.next, [&](const ExprNode* n) {
      TileOperand o{{}, bytes_of(*n->buffer)};
      for (const TileAxis& a : plan_.axes) o.along.push_back(goes_along(n, s_, a));
      operands.push_back(o);
    });
    return tile_order(cpu_, counts, operands, split);
  }

  // The order with the run in pieces that are shared out, where other tiles keep too few threads
  // busy. Tiles that follow each other still do.
  TileOrder with_run_shared_out(const TileOrder& order, const std::vector<Expr>& tiles) const {
    const size_t run = tiles.size() - 1;
    if (tiles[run]->kind != ExprKind::kInt) return order;
    int64_t others = 1;
    for (size_t a = 0; a < run; ++a)
      others = std::min(kEnoughTasks, others * std::min(kEnoughTasks, guess(tiles[a])));
    const int64_t runs = tiles[run]->int_value;
    const int64_t pieces = std::min(runs, ceil_div(kEnoughTasks, std::max<int64_t>(others, 1)));
    if (pieces < 2 || (order.together > 0 && ceil_div(runs, order.together) >= pieces)) return order;
    const auto last = static_cast<std::ptrdiff_t>(run);
    return {order.together > 0 ? order.before : last, ceil_div(runs, pieces)};
  }

  // The places of the stage's axes, but for that of the lanes, which these of the tiles' axes are.
  std::vector<Expr> places(const std::vector<Expr>& of_tiles) const {
    std::vector<Expr> out;
    for (size_t a = 0; a < of_tiles.size(); ++a) {
      const TileAxis& axis = plan_.axes[a];
      if (axis.first == axis.last) {
        out.push_back(of_tiles[a]);
      } else {
        const Expr inner = s_.spatial[axis.last].extent;
        out.push_back(floor_div(of_tiles[a], inner));
        out.push_back(floor_mod(of_tiles[a], inner));
      }
    }
    return out;
  }

  // Of the axes in order: is the tile whole, or the rest at the end?
  Stmt choose_size(const std::vector<Expr>& at, std::vector<int64_t> size) {
    const size_t a = size.size();
    if (a == plan_.tile.size()) return write_tile(at, size);
    const int64_t whole = plan_.tile[a];
    size.push_back(whole);
    if (whole == 1) return choose_size(at, size);
    const int64_t extent = plan_.axes[a].extent->int_value, rest = extent % whole;
    Stmt full = choose_size(at, size);
    if (rest == 0) return full;
    size.back() = rest;
    return w_.choose(less(at[a], w_.index(extent / whole)), full, choose_size(at, size));
  }

  Stmt write_tile(const std::vector<Expr>& at, const std::vector<int64_t>& size) {
    const int64_t lanes = plan_.vectors * width_;
    std::vector<Expr> shape;
    std::vector<Axis> axes;
    for (int64_t n : size) shape.push_back(w_.index(n));
    shape.push_back(w_.index(lanes));
    // The names differ because people read them: `relay opt --emit kernel`, the page of the demo.
    for (Expr extent : shape) axes.push_back(w_.axis(cat("in_tile", axes.size()), extent));
    std::vector<Expr> variables;
    for (const Axis& a : axes) variables.push_back(a.var);
    const Buffer* results = w_.local(s_.name + "_tile", s_.buffer->dtype, shape);
    const Expr result = w_.pool().load(results, variables);

    using Element = std::function<Stmt(const std::vector<Binding>&)>;
    // What only broadcasts vary along runs outermost: each of them is loaded once and used
    // for all vectors.
    std::vector<size_t> order;
    for (const bool shared : {true, false}) {
      for (size_t a = 0; a < size.size(); ++a) {
        if (varies_in_lanes(a) != shared) order.push_back(a);
      }
    }
    std::vector<Expr> boxes;
    for (size_t a : order) boxes.push_back(shape[a]);
    const auto elements = [&](const Element& element) {
      return w_.loops(ForKind::kUnrolled, "t", boxes, [&](const std::vector<Expr>& t) {
        return w_.loop(ForKind::kUnrolled, "v", plan_.vectors, [&](Expr v) {
          return w_.loop(ForKind::kVectorized, "lane", width_, [&](Expr lane) {
            std::vector<Expr> within(order.size()), of_tiles(order.size());
            for (size_t i = 0; i < order.size(); ++i) within[order[i]] = t[i];
            for (size_t a = 0; a < within.size(); ++a) of_tiles[a] = at[a] * plan_.tile[a] + within[a];
            within.push_back(v * width_ + lane);
            std::vector<Expr> place = places(of_tiles);
            place.push_back(within.back());
            std::vector<Binding> bindings = anchored_.bind(place);
            for (size_t a = 0; a < axes.size(); ++a)
              bindings.push_back({axes[a], IterKind::kSpatial, within[a]});
            return element(bindings);
          });
        });
      });
    };
    const Stmt init = elements([&](const std::vector<Binding>& bindings) {
      return w_.block(s_.name + "_init", bindings, w_.store(results, variables, s_.init));
    });
    const Accumulators sums{s_.name, results, variables, [&](const std::string& name, Stmt body) {
                              return elements([&](const std::vector<Binding>& bindings) {
                                return w_.block(name, bindings, body);
                              });
                            }};
    int64_t vectors = plan_.vectors;
    for (int64_t n : plan_.tile) vectors *= n;
    const SumOrder in = sum_order(job_, s_, vectors);
    const Stmt update = add_terms(w_, in, sums, term_loops(s_.reduction), [&](const std::vector<Expr>& r) {
      std::vector<Stmt> step = fetch_ahead(at, size, r);
      step.push_back(elements([&](std::vector<Binding> bindings) {
        for (size_t d = 0; d < r.size(); ++d)
          bindings.push_back({s_.reduction[d], IterKind::kReduction, r[d]});
        const Expr next = replace_loads(s_.value, s_.buffer, result);
        return w_.block(s_.name, bindings, w_.store(results, variables, next));
      }));
      return w_.sequence(step);
    });
    const Stmt write = elements([&](const std::vector<Binding>& bindings) {
      return w_.block(s_.name + "_result", bindings, anchored_.write_back(w_, element_, result));
    });
    return w_.allocate(results, w_.sequence({init, update, write}));
  }

  // Hints to fetch what large operands that are loaded as vectors have some steps ahead: each block
  // of results goes through a stream of its own, which the processor does not fetch ahead far
  // enough (it stops at the end of a page).
  std::vector<Stmt> fetch_ahead(const std::vector<Expr>& at, const std::vector<int64_t>& size,
                                const std::vector<Expr>& r) {
    std::vector<Stmt> out;
    const Expr lane = s_.spatial.back().var;
    for_each_load(s_.next, [&](const ExprNode* n) {
      if (!mentions(n, lane) || !is_large(*n->buffer)) return;
      std::unordered_map<const ExprNode*, Expr> here;
      for (size_t d = 0; d < r.size(); ++d) here[s_.reduction[d].var.get()] = r[d];
      std::vector<Expr> streams, of_tiles;
      std::vector<size_t> axes;
      for (size_t a = 0; a < size.size(); ++a) {
        of_tiles.push_back(at[a] * plan_.tile[a]);
        if (!goes_along(n, s_, plan_.axes[a])) continue;
        axes.push_back(a);
        streams.push_back(w_.index(size[a]));
      }
      out.push_back(w_.loops(ForKind::kUnrolled, "stream", streams, [&](const std::vector<Expr>& t) {
        for (size_t i = 0; i < axes.size(); ++i) of_tiles[axes[i]] = at[axes[i]] * plan_.tile[axes[i]] + t[i];
        const std::vector<Expr> real = places(of_tiles);
        for (size_t a = 0; a < real.size(); ++a) here[s_.spatial[a].var.get()] = real[a];
        return w_.loop(ForKind::kUnrolled, "v", plan_.vectors, [&](Expr v) {
          here[lane.get()] = v * width_;
          const Expr load = substitute(n, here);
          std::vector<Expr> place(load->args.begin(), load->args.end());
          place.back() = place.back() + kStepsAhead * guess(s_.buffer->shape.back());
          return make_prefetch(w_.pool().arena(), n->buffer, place);
        });
      }));
    });
    return out;
  }

  static double bytes_of(const Buffer& b) {
    double bytes = 4;
    for (Expr extent : b.shape)
      bytes *= extent->kind == ExprKind::kInt ? static_cast<double>(extent->int_value) : 1;
    return bytes;
  }

  // Does it have to come through the second-level cache each time?
  bool is_large(const Buffer& b) const {
    return bytes_of(b) > static_cast<double>(cpu_.l2.bytes / 2) && b.scope != Scope::kLocal;
  }

  // Does an operand that is loaded as vectors vary along the axis?
  bool varies_in_lanes(size_t axis) const {
    bool yes = false;
    for_each_load(s_.next, [&](const ExprNode* n) {
      yes |= goes_along(n, s_, plan_.axes[axis]) && mentions(n, s_.spatial.back().var);
    });
    return yes;
  }

  Writer& w_;
  const Job& job_;
  const AnchoredStage& anchored_;
  const Stage& s_;
  TilePlan plan_;
  std::vector<Expr> element_;
  const target::Cpu& cpu_;
  int64_t width_;
};

}  // namespace

Stmt write_tiles(Writer& w, const Job& job, const AnchoredStage& anchored) {
  if (std::optional<TilePlan> plan = tile_plan(anchored, job.cpu, job.lanes()))
    return Tiles(w, job, anchored, std::move(*plan), anchored.variables()).write();
  const std::optional<AxisParts> parts = lane_parts(anchored, job.lanes());
  if (!parts) return nullptr;
  std::optional<TilePlan> plan = tile_plan(parts->anchored, job.cpu, parts->width);
  return plan ? Tiles(w, job, parts->anchored, std::move(*plan), parts->element).write() : nullptr;
}

}  // namespace relay::kernel::schedule::cpu
