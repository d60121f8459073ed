#include "kernel/schedule/anchored_stage.h"

#include <algorithm>
#include <unordered_map>

#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// The buffers that the stage loads; with each, whether only at the stage's own coordinates.
std::unordered_map<const Buffer*, bool> reads_in_place(const Stage& s) {
  std::unordered_map<const Buffer*, bool> out;
  for_each_load(s.value, [&](const ExprNode* n) {
    bool& in_place = out.try_emplace(n->buffer, s.buffer->shape == n->buffer->shape).first->second;
    for (size_t d = 0; in_place && d < n->args.size(); ++d) in_place = is_place(n->args[d], s.spatial[d]);
  });
  return out;
}

}  // namespace

std::unordered_set<const Buffer*> loaded_by(const Stage& stage) {
  std::unordered_set<const Buffer*> out;
  visit(stage.statement, [&](Stmt s) {
    for (Expr e : expressions(s)) for_each_load(e, [&](const ExprNode* n) { out.insert(n->buffer); });
  });
  return out;
}

std::vector<AnchoredStage> join_epilogues(const Kernel& k, const std::vector<Stage>& stages) {
  const std::unordered_set<const Buffer*> outputs(k.outputs.begin(), k.outputs.end());
  std::unordered_map<const Buffer*, size_t> readers;
  std::vector<bool> reads_itself;
  for (const Stage& s : stages) {
    const std::unordered_set<const Buffer*> loaded = loaded_by(s);
    for (const Buffer* b : loaded) ++readers[b];
    reads_itself.push_back(loaded.contains(s.buffer));
  }
  // By what it writes, the first reduction that one stage reads beside the reduction itself.
  std::unordered_map<const Buffer*, size_t> open;
  std::vector<bool> taken(stages.size(), false);
  std::vector<size_t> reduction_of(stages.size(), stages.size());
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& s = stages[i];
    if (!s.requirements.empty()) continue;
    if (s.kind == StageKind::kReduce && !outputs.contains(s.buffer) &&
        readers[s.buffer] == (reads_itself[i] ? 2 : 1)) {
      open.try_emplace(s.buffer, i);
    }
    if (s.kind != StageKind::kCompute) continue;
    for (const auto& [buffer, in_place] : reads_in_place(s)) {
      const auto it = in_place ? open.find(buffer) : open.end();
      if (it != open.end()) reduction_of[i] = std::min(reduction_of[i], it->second);
    }
    if (reduction_of[i] < stages.size()) taken[reduction_of[i]] = true;
  }
  std::vector<AnchoredStage> out;
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

Stmt AnchoredStage::write_back(Writer& w, const std::vector<Expr>& at, Expr result) const {
  if (!epilogue) return w.store(stage.buffer, at, result);
  std::unordered_map<const ExprNode*, Expr> by;
  for (size_t i = 0; i < at.size(); ++i) by[epilogue->spatial[i].var.get()] = at[i];
  return w.store(epilogue->buffer, at, replace_loads(substitute(epilogue->value, by), stage.buffer, result));
}

std::vector<Expr> AnchoredStage::variables() const {
  std::vector<Expr> out;
  for (const Axis& a : stage.spatial) out.push_back(a.var);
  return out;
}

std::vector<Binding> AnchoredStage::bind(const std::vector<Expr>& at) const {
  std::vector<Binding> out;
  for (size_t i = 0; i < at.size(); ++i) out.push_back({stage.spatial[i], IterKind::kSpatial, at[i]});
  return out;
}

AnchoredStage where(const AnchoredStage& anchored, Expr variable, int64_t value) {
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
  AnchoredStage out{stage(anchored.stage)};
  if (anchored.epilogue) out.epilogue = stage(*anchored.epilogue);
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

Stmt reduce_element(Writer& w, const AnchoredStage& anchored, SumOrder order, const std::vector<Expr>& at) {
  const Stage& stage = anchored.stage;
  const Buffer* sum = w.local(stage.name + "_sum", stage.buffer->dtype, {w.index(1)});
  const Expr so_far = w.pool().load(sum, {w.index(0)});
  const std::vector<Binding> place = anchored.bind(at);
  Stmt init = w.block(stage.name + "_init", place, w.store(sum, {w.index(0)}, stage.init));
  const std::vector<TermLoop> loops = term_loops(stage.reduction);
  Stmt update = add_terms(w, order, scalar_sum(w, stage.name, sum), loops, [&](const std::vector<Expr>& r) {
    std::vector<Binding> bindings = place;
    for (size_t i = 0; i < r.size(); ++i)
      bindings.push_back({stage.reduction[i], IterKind::kReduction, r[i]});
    return w.block(stage.name, bindings,
                   w.store(sum, {w.index(0)}, replace_loads(stage.value, stage.buffer, so_far)));
  });
  Stmt result = w.block(stage.name + "_result", place, anchored.write_back(w, anchored.variables(), so_far));
  return w.allocate(sum, w.sequence({init, update, result}));
}

}  // namespace relay::kernel::schedule
