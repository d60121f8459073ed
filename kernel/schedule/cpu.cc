#include "kernel/schedule/cpu.h"

#include <algorithm>

#include "kernel/schedule/cpu_rules.h"
#include "kernel/schedule/primitive.h"
#include "kernel/schedule/primitives.h"
#include "kernel/simplify.h"
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
  for (const Block* b : blocks(by.statement)) {
    visit(b->body, [&](Stmt s) {
      for (Expr e : expressions(s)) for_each_load(e, [&](const ExprNode* l) { n += l->buffer == buffer; });
    });
  }
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

// The nodes of the expression as a tree, in which what is shared stands several times; without the arithmetic of indices.
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
bool worth_inlining(const CpuOptions& options, const Stage& producer, const std::vector<Stage>& all) {
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
      // A condition around a load (padding) would keep the body, or the packing of it, from being vectorised.
      if (guards_loads(producer.value, producer.bounds) &&
          !(n == 1 && is_padding(producer) && is_window(options, s)))
        return false;
    } else if (!s.requirements.empty()) {
      return false;
    }
  }
  if (sites <= 1) return true;
  // Several elements with a condition each: better one copy with padding around it.
  if (guards_loads(producer.value, producer.bounds)) return false;
  return !cost.expensive && cost.loads <= 2 && cost.operations <= 4;
}

Kernel inline_producers(const CpuOptions& options, Kernel k) {
  for (bool again = true; again;) {
    again = false;
    const std::vector<Stage> all = stages_of(k);
    for (const Stage& s : all) {
      if (s.kind != StageKind::kCompute || !s.requirements.empty() || is_output(k, s.buffer)) continue;
      if (!worth_inlining(options, s, all)) continue;
      if (Outcome next = compute_inline(k, s.name)) {
        k = *next;
        again = true;
        break;
      }
    }
  }
  return k;
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

// Reductions joined with the elementwise stage that alone reads them. The pair runs where that stage stood.
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

Stmt write(Writer& w, const CpuOptions& options, const Work& work) {
  const Stage& s = work.stage;
  // Of no elements there is nothing to arrange, and the rules divide by extents.
  if (std::any_of(s.spatial.begin(), s.spatial.end(), [](const Axis& a) { return a.extent.is_int(0); })) {
    std::vector<Stmt> as_written{s.statement};
    if (work.epilogue) as_written.push_back(work.epilogue->statement);
    return make_sequence(w.pool().arena(), as_written);
  }
  if (s.kind == StageKind::kCompute) {
    if (Stmt formulas = write_formulas(w, options, s)) return formulas;
    if (Stmt lanes = write_lanes(w, options, s)) return lanes;
    return write_elementwise(w, options, s);
  }
  if (s.kind == StageKind::kSequential || !s.requirements.empty()) return s.statement;
  if (Stmt windows = write_windows(w, options, work)) return windows;
  if (Stmt tiles = write_tiles(w, options, work)) return tiles;
  if (Stmt panels = write_product(w, options, work)) return panels;
  if (Stmt tiles = write_contraction(w, options, work)) return tiles;
  if (Stmt lanes = write_dot(w, options, work)) return lanes;
  return write_reduction(w, options, work);
}

}  // namespace

Kernel schedule_for_cpu(const Kernel& k, const CpuOptions& options) {
  ExprPool* pool = pool_of(k);
  if (options.opt_level <= 0 || pool == nullptr) return k;
  Kernel inlined = inline_producers(options, k);
  Writer w(inlined);
  const std::vector<Stage> stages = stages_of(inlined);
  std::vector<Stmt> body;
  if (Stmt attention = write_attention(w, options, inlined, stages)) {
    body.push_back(attention);
  } else if (Stmt rows = write_rows(w, options, {inlined.outputs.begin(), inlined.outputs.end()}, stages)) {
    body.push_back(rows);
  } else {
    for (const Work& work : join_epilogues(inlined, stages)) body.push_back(write(w, options, work));
  }
  std::vector<const Buffer*> temporaries(inlined.temporaries.begin(), inlined.temporaries.end());
  temporaries.insert(temporaries.end(), w.temporaries().begin(), w.temporaries().end());
  inlined.temporaries = pool->arena().list(temporaries);
  return with_body(inlined, simplify(*pool, make_sequence(pool->arena(), body)));
}

}  // namespace relay::kernel::schedule
