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
#include <algorithm>
#include <optional>

#include "kernel/schedule/contraction.h"
#include "kernel/schedule/cost.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

constexpr double kPerCycle = 2;       // operations that a core begins in a cycle, and loads
constexpr double kLatency = 4;        // of an operation, in cycles: fewer results in flight leave it waiting
constexpr double kOverhead = 1;       // of a step's loop, in cycles
constexpr double kTileOverhead = 12;  // of beginning and ending a tile

// What the operands of one step are loaded for.
struct Operand {
  std::vector<bool> along;  // each axis of the tile: does it vary there?
  bool in_lanes = false;
};

// Of the reduction, as far as memory takes to answer.
constexpr int64_t kStepsAhead = 64;

struct Plan {
  int64_t vectors = 1;             // in the lanes
  std::vector<int64_t> tile = {};  // of each axis but the last
};

class BranchRewriter {
 public:
  BranchRewriter(const Stage& s, const target::Cpu& cpu) : cpu_(cpu), width_(cpu.lanes()) {
    for (const Axis& a : s.spatial)
      extents_.push_back(a.extent->kind == ExprKind::kInt ? a.extent->int_value : 1);
    lanes_ = extents_.back();
    extents_.pop_back();
    for (const Axis& a : s.reduction)
      steps_ *= a.extent->kind == ExprKind::kInt ? static_cast<double>(a.extent->int_value) : 64;
    for_each_load(s.next, [&](const ExprNode* load) {
      Operand o;
      for (size_t a = 0; a + 1 < s.spatial.size(); ++a) o.along.push_back(mentions(load, s.spatial[a].var));
      o.in_lanes = mentions(load, s.spatial.back().var);
      operands_.push_back(o);
    });
  }

  Plan choose() {
    best_.vectors = lanes_ / width_;
    std::vector<int64_t> tile(extents_.size(), 1);
    best_.tile = tile;
    best_cost_ = cost(tile);
    enlarge(tile, 0);
    return best_;
  }

 private:
  static int64_t volume(const std::vector<int64_t>& tile) {
    int64_t n = 1;
    for (int64_t t : tile) n *= t;
    return n;
  }

  // Results, the operands that several of them share, and one that is being loaded.
  bool fits(const std::vector<int64_t>& tile) const {
    int64_t needed = volume(tile) * best_.vectors + 1, least_shared = 0;
    for (const Operand& o : operands_) {
      if (!o.in_lanes) continue;
      const int64_t loaded = loads(o, tile);
      if (loaded < volume(tile) * best_.vectors) least_shared += std::min<int64_t>(loaded, 2 * best_.vectors);
    }
    return needed + least_shared <= cpu_.vector_registers;
  }

  int64_t loads(const Operand& o, const std::vector<int64_t>& tile) const {
    int64_t n = o.in_lanes ? best_.vectors : 1;
    for (size_t a = 0; a < tile.size(); ++a) n *= o.along[a] ? tile[a] : 1;
    return n;
  }

  // Cycles for one tile.
  double tile_cost(const std::vector<int64_t>& tile) const {
    double loaded = 0;
    for (const Operand& o : operands_) loaded += static_cast<double>(loads(o, tile));
    const double operations = static_cast<double>(volume(tile) * best_.vectors);
    const double step =
        std::max({operations / kPerCycle, loaded / kPerCycle, kLatency, (operations + loaded) / 4});
    return steps_ * (step + kOverhead) + kTileOverhead + operations;
  }

  // Cycles for everything: whole tiles and what remains at the end of each axis.
  double cost(const std::vector<int64_t>& tile) const {
    double total = 0;
    std::vector<int64_t> part(tile.size());
    const auto down = [&](auto& self, size_t a, double count) -> void {
      if (a == tile.size()) {
        total += count * tile_cost(part);
        return;
      }
      const int64_t whole = extents_[a] / tile[a], rest = extents_[a] % tile[a];
      part[a] = tile[a];
      if (whole > 0) self(self, a + 1, count * static_cast<double>(whole));
      part[a] = rest;
      if (rest > 0) self(self, a + 1, count);
    };
    down(down, 0, 1);
    return total;
  }

  void enlarge(std::vector<int64_t>& tile, size_t axis) {
    if (axis == tile.size()) return;
    for (int64_t size = 1; size <= extents_[axis]; ++size) {
      tile[axis] = size;
      if (!fits(tile)) break;
      // Small differences are worth no larger code.
      if (const double c = cost(tile); c < 0.99 * best_cost_) {
        best_cost_ = c;
        best_.tile = tile;
      }
      enlarge(tile, axis + 1);
      std::fill(tile.begin() + static_cast<std::ptrdiff_t>(axis) + 1, tile.end(), 1);
    }
    tile[axis] = 1;
  }

  const target::Cpu& cpu_;
  int64_t width_, lanes_ = 1;
  double steps_ = 1;
  std::vector<int64_t> extents_;
  std::vector<Operand> operands_;
  Plan best_;
  double best_cost_ = 0;
};

std::optional<Plan> find_plan(const Stage& s, const Job& job) {
  const std::optional<ContractionView> view = contraction_view(s);
  if (!view || !view->starts_constant() || s.spatial.size() < 2) return std::nullopt;
  const Axis& lanes = s.spatial.back();
  if (!has_whole_vectors(lanes, job.lanes())) return std::nullopt;
  if (s.buffer->dtype != kFloat32 || !vectorizable(s.next, lanes.var, s.bounds)) return std::nullopt;
  return BranchRewriter(s, job.cpu).choose();
}

class Tiles {
 public:
  Tiles(Writer& w, const Job& job, const AnchoredStage& anchored, Plan plan)
      : w_(w),
        job_(job),
        anchored_(anchored),
        s_(anchored.stage),
        plan_(std::move(plan)),
        cpu_(job.cpu),
        width_(job.lanes()) {}

  // The last axis that is tiled runs inside one thread; all before it are shared out.
  Stmt write() {
    std::vector<Expr> space;
    for (size_t a = 0; a < plan_.tile.size(); ++a)
      space.push_back(divide_up(s_.spatial[a].extent, plan_.tile[a]));
    std::vector<Expr> cost{w_.index(plan_.vectors * width_)};
    for (size_t a = 0; a < plan_.tile.size(); ++a) cost.push_back(s_.spatial[a].extent);
    for (const Axis& a : s_.reduction) cost.push_back(a.extent);
    const Expr last = space.back();
    space.pop_back();
    return w_.fused(outer_kind(job_, cost), "tile", space, [&](const std::vector<Expr>& outer) {
      return w_.loop(ForKind::kSerial, "run", last, [&](Expr inner) {
        std::vector<Expr> at = outer;
        at.push_back(inner);
        return choose_size(at, {});
      });
    });
  }

 private:
  // Of the axes in order: is the tile whole, or the rest at the end?
  Stmt choose_size(const std::vector<Expr>& at, std::vector<int64_t> size) {
    const size_t a = size.size();
    if (a == plan_.tile.size()) return write_tile(at, size);
    const int64_t whole = plan_.tile[a];
    size.push_back(whole);
    if (whole == 1) return choose_size(at, size);
    const int64_t extent = s_.spatial[a].extent->int_value, rest = extent % whole;
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
    for (Expr extent : shape) axes.push_back(w_.axis("in_tile", extent));
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
            std::vector<Expr> within(order.size()), place(order.size());
            for (size_t i = 0; i < order.size(); ++i) within[order[i]] = t[i];
            for (size_t a = 0; a < within.size(); ++a) place[a] = at[a] * plan_.tile[a] + within[a];
            within.push_back(v * width_ + lane);
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
      return w_.block(s_.name + "_result", bindings, anchored_.write_back(w_, anchored_.variables(), result));
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
      std::vector<size_t> axes;
      std::vector<Expr> streams;
      for (size_t a = 0; a < size.size(); ++a) {
        here[s_.spatial[a].var.get()] = at[a] * plan_.tile[a];
        if (!mentions(n, s_.spatial[a].var)) continue;
        axes.push_back(a);
        streams.push_back(w_.index(size[a]));
      }
      out.push_back(w_.loops(ForKind::kUnrolled, "stream", streams, [&](const std::vector<Expr>& t) {
        for (size_t i = 0; i < axes.size(); ++i)
          here[s_.spatial[axes[i]].var.get()] = at[axes[i]] * plan_.tile[axes[i]] + t[i];
        return w_.loop(ForKind::kUnrolled, "v", plan_.vectors, [&](Expr v) {
          here[lane.get()] = v * width_;
          const Expr load = substitute(n, here);
          std::vector<Expr> place(load->args.begin(), load->args.end());
          place.back() = place.back() + kStepsAhead * plan_.vectors * width_;
          return make_prefetch(w_.pool().arena(), n->buffer, place);
        });
      }));
    });
    return out;
  }

  // Does it have to come through the second-level cache each time?
  bool is_large(const Buffer& b) const {
    int64_t bytes = 4;
    for (Expr extent : b.shape) bytes *= extent->kind == ExprKind::kInt ? extent->int_value : 1;
    return bytes > cpu_.l2.bytes / 2 && b.scope != Scope::kLocal;
  }

  // Does an operand that is loaded as vectors vary along the axis?
  bool varies_in_lanes(size_t axis) const {
    bool yes = false;
    for_each_load(s_.next, [&](const ExprNode* n) {
      yes |= mentions(n, s_.spatial[axis].var) && mentions(n, s_.spatial.back().var);
    });
    return yes;
  }

  Writer& w_;
  const Job& job_;
  const AnchoredStage& anchored_;
  const Stage& s_;
  Plan plan_;
  const target::Cpu& cpu_;
  int64_t width_;
};

}  // namespace

Stmt write_tiles(Writer& w, const Job& job, const AnchoredStage& anchored) {
  std::optional<Plan> plan = find_plan(anchored.stage, job);
  return plan ? Tiles(w, job, anchored, std::move(*plan)).write() : nullptr;
}

}  // namespace relay::kernel::schedule::cpu
