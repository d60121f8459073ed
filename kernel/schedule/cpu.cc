#include "kernel/schedule/cpu.h"

#include <algorithm>

#include "kernel/schedule/cpu_rules.h"
#include "kernel/schedule/primitive.h"
#include "kernel/schedule/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule {
namespace {

// May partial results be combined in the end?
bool may_reorder(const CpuOptions& options, const Stage& s) {
  return !options.in_order || s.kind != StageKind::kReduce || !s.buffer->dtype.is_float();
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
  if (Stmt panels = write_product(w, options, work)) {
    // How many rows there are is known when the kernel runs. For few of them it is not worth to make panels.
    const Expr few = too_few_for_panels(options, work);
    Stmt direct = few && may_reorder(options, s) ? write_dot(w, options, work) : nullptr;
    return direct ? w.choose(few, direct, panels) : panels;
  }
  if (Stmt tiles = write_contraction(w, options, work)) return tiles;
  if (may_reorder(options, s)) {
    if (Stmt lanes = write_dot(w, options, work)) return lanes;
  }
  return write_reduction(w, options, work);
}

}  // namespace

Kernel schedule_for_cpu(const Kernel& k, const CpuOptions& options) {
  ExprPool* pool = pool_of(k);
  if (options.opt_level <= 0 || pool == nullptr) return k;
  const auto may_pad = [&](const Stage& producer, const Stage& reduction) {
    return is_padding(producer) && is_window(options, reduction);
  };
  Kernel inlined = inline_producers(k, may_pad);
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
