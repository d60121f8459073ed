#include "kernel/schedule/work.h"

#include <algorithm>
#include <unordered_map>

#include "kernel/schedule/primitive.h"
#include "kernel/schedule/primitives.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// Chains in which each tensor is used twice double with every link; this ends them.
constexpr double kLargestTree = 100000;

// What it costs to compute an expression again.
struct Cost {
  int operations = 0, loads = 0;
  bool expensive = false;  // a transcendental function or a division
};

Cost cost_of(Expr e) {
  Cost cost;
  std::unordered_map<const ExprNode*, bool> seen;
  const auto visit = [&](auto& self, const ExprNode* n) -> void {
    if (!seen.emplace(n, true).second) return;
    switch (n->kind) {
      case ExprKind::kInt:
      case ExprKind::kFloat:
      case ExprKind::kVar: return;
      case ExprKind::kLoad: ++cost.loads; break;
      case ExprKind::kMath: {
        const bool light = n->fn == Math::kAbs || n->fn == Math::kFloor || n->fn == Math::kCeil ||
                           n->fn == Math::kTrunc || n->fn == Math::kIsNan || n->fn == Math::kIsInf ||
                           n->fn == Math::kIsFinite;
        cost.expensive |= !light;
        ++cost.operations;
        break;
      }
      default:
        cost.expensive |= n->kind == ExprKind::kDiv;
        // The arithmetic of coordinates is not counted: most of it is done outside the inner loop.
        cost.operations += n->dtype != kInt64 && !n->dtype.is_bool();
    }
    for (const ExprNode* a : n->args) self(self, a);
  };
  visit(visit, e.get());
  return cost;
}

size_t uses(const Stage& by, const Buffer* buffer) {
  size_t n = 0;
  if (by.statement == nullptr) return 0;
  visit(by.statement, [&](Stmt s) {
    for (Expr e : expressions(s)) for_each_load(e, [&](const ExprNode* l) { n += l->buffer == buffer; });
  });
  return n;
}

bool guards_loads(Expr e, const Bounds& bounds) {
  bool found = false;
  for_each_node(e, [&](const ExprNode* n) {
    found |= n->kind == ExprKind::kSelect && protects_loads(n, bounds);
    return !found;
  });
  return found;
}

// The nodes of the expression as a tree, in which what is shared stands several times; without the
// arithmetic of indices.
double tree_size(Expr e) {
  std::unordered_map<const ExprNode*, double> sizes;
  const auto visit = [&](auto& self, const ExprNode* n) -> double {
    if (auto it = sizes.find(n); it != sizes.end()) return it->second;
    double size = 1;
    for (const ExprNode* a : n->args) size += n->kind == ExprKind::kLoad ? 0 : self(self, a);
    sizes.emplace(n, size);
    return size;
  };
  return visit(visit, e.get());
}

// Should the stage be computed where it is used?
bool worth_inlining(const MayPad& may_pad, const Stage& producer, const std::vector<Stage>& all) {
  const Cost cost = cost_of(producer.value);
  size_t sites = 0;
  for (const Stage& s : all) {
    const size_t n = uses(s, producer.buffer);
    if (n == 0) continue;
    sites += n;
    if (s.value && tree_size(s.value) * tree_size(producer.value) > kLargestTree) return false;
    if (s.kind == StageKind::kSequential) return false;
    if (s.kind == StageKind::kReduce) {
      // The body of a reduction runs often: only a move of data or light arithmetic on one element.
      if (cost.expensive || cost.loads > 1 || cost.operations > 4) return false;
      // `so_far or true` is true: what it forgets was computed for nothing.
      if (producer.value.is_const()) return false;
      // A condition around a load (padding) would keep the body, or the packing of it, from
      // being vectorised.
      if (guards_loads(producer.value, producer.bounds) && !(n == 1 && may_pad(producer, s))) return false;
    } else if (!s.requirements.empty()) {
      return false;
    }
  }
  if (sites <= 1) return true;
  // Several elements with a condition each: better one copy with padding around it.
  if (guards_loads(producer.value, producer.bounds)) return false;
  return !cost.expensive && cost.loads <= 2 && cost.operations <= 4;
}

// Does the stage read the buffer, and only at its own coordinates?
bool reads_in_place(const Stage& s, const Buffer* buffer) {
  if (s.buffer->shape != buffer->shape) return false;
  bool in_place = true, reads = false;
  for_each_load(s.value, [&](const ExprNode* n) {
    if (n->buffer != buffer) return;
    reads = true;
    for (size_t d = 0; d < n->args.size(); ++d) in_place &= is_place(n->args[d], s.spatial[d]);
  });
  return reads && in_place;
}

}  // namespace

Kernel inline_producers(Kernel k, const MayPad& may_pad) {
  for (bool again = true; again;) {
    again = false;
    const std::vector<Stage> all = stages_of(k);
    for (const Stage& s : all) {
      if (s.kind != StageKind::kCompute || !s.requirements.empty() || is_output(k, s.buffer)) continue;
      if (!worth_inlining(may_pad, s, all)) continue;
      if (Outcome next = compute_inline(k, s.name)) {
        k = *next;
        again = true;
        break;
      }
    }
  }
  return k;
}

std::vector<Work> join_epilogues(const Kernel& k, const std::vector<Stage>& stages) {
  std::vector<Work> out;
  std::vector<bool> taken(stages.size(), false);
  std::vector<size_t> reduction_of(stages.size(), stages.size());
  for (size_t c = 0; c < stages.size(); ++c) {
    if (stages[c].kind != StageKind::kCompute || !stages[c].requirements.empty()) continue;
    for (size_t r = 0; r < c; ++r) {
      const Stage& s = stages[r];
      if (s.kind != StageKind::kReduce || !s.requirements.empty() || taken[r] || is_output(k, s.buffer))
        continue;
      size_t users = 0;
      for (const Stage& other : stages) users += &other != &s && uses(other, s.buffer) > 0;
      if (users != 1 || !reads_in_place(stages[c], s.buffer)) continue;
      taken[r] = true;
      reduction_of[c] = r;
      break;
    }
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    if (taken[i]) continue;
    if (reduction_of[i] < stages.size()) {
      out.push_back({stages[reduction_of[i]], stages[i]});
    } else {
      out.push_back({stages[i], std::nullopt});
    }
  }
  return out;
}

Stmt Work::write_back(Writer& w, const std::vector<Expr>& at, Expr result) const {
  if (!epilogue) return w.store(stage.buffer, at, result);
  std::unordered_map<const ExprNode*, Expr> by;
  for (size_t i = 0; i < at.size(); ++i) by[epilogue->spatial[i].var.get()] = at[i];
  return w.store(epilogue->buffer, at, replace_loads(substitute(epilogue->value, by), stage.buffer, result));
}

std::vector<Expr> Work::variables() const {
  std::vector<Expr> out;
  for (const Axis& a : stage.spatial) out.push_back(a.var);
  return out;
}

std::vector<Binding> Work::bind(const std::vector<Expr>& at) const {
  std::vector<Binding> out;
  for (size_t i = 0; i < at.size(); ++i) out.push_back({stage.spatial[i], IterKind::kSpatial, at[i]});
  return out;
}

Work where(const Work& work, Expr variable, int64_t value) {
  const std::unordered_map<const ExprNode*, Expr> by{{variable.get(), variable->pool->integer(value)}};
  const auto known = [&](Expr e) { return e ? substitute(e, by) : e; };
  const auto stage = [&](Stage s) {
    for (std::vector<Axis>* axes : {&s.spatial, &s.reduction}) {
      for (Axis& a : *axes) {
        a.extent = known(a.extent);
        s.bounds.bind(a.var, a.extent);
      }
    }
    s.init = known(s.init);
    s.value = known(s.value);
    s.next = known(s.next);
    return s;
  };
  Work out{stage(work.stage)};
  if (work.epilogue) out.epilogue = stage(*work.epilogue);
  return out;
}

bool is_place(Expr index, const Axis& axis) {
  return index == axis.var || (axis.extent.is_int(1) && index.is_int(0));
}

Stride stride_along(const ExprNode* load, Expr var) {
  bool moves = false;
  for (size_t d = 0; d < load->args.size(); ++d) {
    if (!mentions(load->args[d], var)) continue;
    if (d + 1 < load->args.size()) return Stride::kOther;
    moves = true;
    const Expr rest = Expr(load->args[d]) - var;
    if (mentions(rest, var)) return Stride::kOther;
  }
  return moves ? Stride::kOne : Stride::kNone;
}

Stride worst_stride(Expr e, Expr var, const Bounds& bounds) {
  Stride worst = Stride::kNone;
  for_each_load(e, [&](const ExprNode* n) { worst = std::max(worst, stride_along(n, var)); });
  // Vector code evaluates both sides of a selection.
  bool guarded = false;
  for_each_node(e, [&](const ExprNode* n) {
    guarded |= n->kind == ExprKind::kSelect && mentions(n->args[0], var) && protects_loads(n, bounds);
    return !guarded;
  });
  return guarded ? Stride::kOther : worst;
}

Expr replace_loads(Expr e, const Buffer* buffer, Expr by) {
  return rewrite_loads(e, [&](const ExprNode* n) { return n->buffer == buffer ? by : Expr(); });
}

int64_t guess(Expr extent) { return extent->kind == ExprKind::kInt ? extent->int_value : kUnknownExtent; }

std::vector<Expr> extents_of(const std::vector<Axis>& axes) {
  std::vector<Expr> out;
  for (const Axis& a : axes) out.push_back(a.extent);
  return out;
}

bool same_place_everywhere(const Stage& stage) {
  // A local tensor may have more room than there are elements.
  bool same = std::equal(stage.spatial.begin(), stage.spatial.end(), stage.buffer->shape.begin(),
                         stage.buffer->shape.end(), [](const Axis& a, Expr e) { return a.extent == e; });
  for_each_load(stage.value, [&](const ExprNode* n) {
    const bool identical = n->buffer->shape == stage.buffer->shape &&
                           std::equal(n->args.begin(), n->args.end(), stage.spatial.begin(),
                                      [](const ExprNode* a, const Axis& s) { return is_place(a, s); });
    const bool fixed = std::none_of(stage.spatial.begin(), stage.spatial.end(),
                                    [&](const Axis& s) { return mentions(n, s.var); });
    same &= identical || fixed;
  });
  // What depends on the place itself (a range, a triangle) needs the coordinates.
  bool uses_place = false;
  for_each_node(stage.value, [&](const ExprNode* n) {
    uses_place |= n->kind == ExprKind::kVar && !n->shape_variable;
    return n->kind != ExprKind::kLoad;
  });
  return same && !uses_place;
}

Stmt reduce_element(Writer& w, const Work& work, SumOrder order, const std::vector<Expr>& at) {
  const Stage& stage = work.stage;
  const Buffer* sum = w.local(stage.name + "_sum", stage.buffer->dtype, {w.index(1)});
  const Expr so_far = w.pool().load(sum, {w.index(0)});
  const std::vector<Binding> place = work.bind(at);
  Stmt init = w.block(stage.name + "_init", place, w.store(sum, {w.index(0)}, stage.init));
  const std::vector<TermLoop> loops = term_loops(stage.reduction);
  Stmt update = add_terms(w, order, scalar_sum(w, stage.name, sum), loops, [&](const std::vector<Expr>& r) {
    std::vector<Binding> bindings = place;
    for (size_t i = 0; i < r.size(); ++i)
      bindings.push_back({stage.reduction[i], IterKind::kReduction, r[i]});
    return w.block(stage.name, bindings,
                   w.store(sum, {w.index(0)}, replace_loads(stage.value, stage.buffer, so_far)));
  });
  Stmt result = w.block(stage.name + "_result", place, work.write_back(w, work.variables(), so_far));
  return w.allocate(sum, w.sequence({init, update, result}));
}

}  // namespace relay::kernel::schedule
