#include "kernel/schedule/cpu/schedule.h"

#include <algorithm>
#include <span>
#include <unordered_map>

#include "base/check.h"
#include "kernel/schedule/cost.h"
#include "kernel/schedule/cpu/rules.h"
#include "kernel/schedule/inline_producers.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::cpu {
namespace {

// May partial results be combined in the end?
bool may_reorder(const Job& job, const Stage& s) {
  return !job.settings.in_order || s.kind != StageKind::kReduce || !s.buffer->dtype.is_float();
}

Stmt write(Writer& w, const Job& job, const AnchoredStage& anchored);

// A product in panels, or what suits few rows better, where only the run knows how many there are.
Stmt choose_by_rows(Writer& w, const Job& job, const AnchoredStage& anchored, Stmt panels) {
  const ProductRows rows = *rows_of_product(job, anchored);
  if (rows.count->kind == ExprKind::kInt) return panels;
  Stmt chosen = panels;
  if (rows.too_few > 0) {
    Stmt direct = write_contraction(w, job, anchored);
    if (!direct && may_reorder(job, anchored.stage)) direct = write_dot(w, job, anchored);
    if (direct) chosen = w.choose(less_equal(rows.count, w.index(rows.too_few)), direct, panels);
  }
  // One row shares nothing, and is worth loops of its own.
  if (rows.count->kind != ExprKind::kVar) return chosen;
  return w.choose(equal(rows.count, w.index(1)), write(w, job, where(anchored, rows.count, 1)), chosen);
}

Stmt write(Writer& w, const Job& job, const AnchoredStage& anchored) {
  const Stage& s = anchored.stage;
  // Of no elements there is nothing to arrange, and the rules divide by extents.
  if (std::any_of(s.spatial.begin(), s.spatial.end(), [](const Axis& a) { return a.extent.is_int(0); })) {
    std::vector<Stmt> as_written{s.statement};
    if (anchored.epilogue) as_written.push_back(anchored.epilogue->statement);
    return make_sequence(w.pool().arena(), as_written);
  }
  if (s.kind == StageKind::kCompute) {
    if (Stmt formulas = write_formulas(w, job, s)) return formulas;
    if (Stmt lanes = write_lanes(w, job, s)) return lanes;
    return write_elementwise(w, job, s);
  }
  if (s.kind == StageKind::kSequential || !s.requirements.empty()) return s.statement;
  if (Stmt fast = write_fast_reduction(w, job, anchored, may_reorder(job, s))) return fast;
  return write_reduction(w, job, anchored);
}

// The anchored stages of a kernel, one after the other; neighbours that go along the same rows
// go along them together. Takes time linear in the stages.
class InOrder {
 public:
  InOrder(Writer& w, const Job& job, const Kernel& k, const std::vector<Stage>& stages)
      : w_(w), job_(job), kernel_(k), anchored_(join_epilogues(k, stages)) {
    for (const AnchoredStage& a : anchored_) {
      stages_.push_back(a.stage);
      if (a.epilogue) stages_.push_back(*a.epilogue);
      ends_.push_back(stages_.size());
    }
    for (size_t i = 0; i < stages_.size(); ++i) {
      for (const Buffer* b : loaded_by(stages_[i])) last_read_[b] = i;
    }
    for (const Buffer* b : k.outputs) last_read_[b] = SIZE_MAX;
  }

  std::vector<Stmt> write_all() {
    std::vector<Stmt> out;
    for (size_t first = 0; first < anchored_.size();) {
      size_t end = end_of_run(first);
      Stmt run = end > first + 1 ? along_rows(first, end) : nullptr;
      if (!run) {
        end = first + stages_over_planes(kernel_, job_, from(first));
        run = end > first + 1 ? over_planes(first, end) : nullptr;
      }
      if (!run) end = first + 1;
      out.push_back(run ? run : write(w_, job_, anchored_[first]));
      first = end;
    }
    return out;
  }

 private:
  // Stages of a run. If nothing comes of them, each anchored stage may look at the same ones.
  static constexpr size_t kMostTogether = 64;

  size_t begin(size_t first) const { return first == 0 ? 0 : ends_[first - 1]; }

  // Of the anchored stages from `first` on that go along the rows which its reduction leaves.
  size_t end_of_run(size_t first) const {
    if (anchored_[first].stage.kind != StageKind::kReduce) return first;
    const auto next = std::span(stages_).subspan(begin(first));
    const size_t last =
        begin(first) + stages_along_rows(w_, job_, next.first(std::min(next.size(), kMostTogether)));
    size_t end = first;
    while (end < anchored_.size() && ends_[end] <= last) ++end;
    return end;
  }

  // The anchored stages from `first` on.
  std::span<const AnchoredStage> from(size_t first) const {
    return std::span(anchored_).subspan(first, std::min(anchored_.size() - first, kMostTogether));
  }

  // What these anchored stages write and others read.
  std::vector<const Buffer*> kept(size_t first, size_t end) const {
    std::vector<const Buffer*> out;
    for (size_t i = begin(first); i < begin(end); ++i) {
      const auto last = last_read_.find(stages_[i].buffer);
      if (last != last_read_.end() && last->second >= begin(end)) out.push_back(stages_[i].buffer);
    }
    return out;
  }

  Stmt along_rows(size_t first, size_t end) const {
    const auto stages = std::span(stages_).subspan(begin(first), begin(end) - begin(first));
    return write_rows(w_, job_, kept(first, end), stages);
  }

  Stmt over_planes(size_t first, size_t end) const {
    return write_planes(w_, job_, kept(first, end), from(first).first(end - first));
  }

  Writer& w_;
  const Job& job_;
  const Kernel& kernel_;
  const std::vector<AnchoredStage> anchored_;
  std::vector<Stage> stages_;                            // of the anchored stages
  std::vector<size_t> ends_;                             // of the stages of each
  std::unordered_map<const Buffer*, size_t> last_read_;  // by which stage; outputs by whoever called
};

// Along rows, or one after the other.
Stmt write_stages(Arena& arena, Writer& w, const Job& job, const Kernel& k,
                  const std::vector<Stage>& stages) {
  if (Stmt rows = write_rows(w, job, {k.outputs.begin(), k.outputs.end()}, stages)) return rows;
  return make_sequence(arena, InOrder(w, job, k, stages).write_all());
}

}  // namespace

Stmt write_fast_reduction(Writer& w, const Job& job, const AnchoredStage& anchored, bool reorders) {
  if (Stmt windows = write_windows(w, job, anchored)) return windows;
  if (Stmt tiles = write_tiles(w, job, anchored)) return tiles;
  if (Stmt panels = write_product(w, job, anchored)) return choose_by_rows(w, job, anchored, panels);
  if (Stmt tiles = write_contraction(w, job, anchored)) return tiles;
  return reorders ? write_dot(w, job, anchored) : nullptr;
}

Accepts accepts(const target::Cpu& cpu) { return {row_at_work(cpu), kFewestScoreRows, kLongestScoreRow}; }

Kernel schedule_for_cpu(const Kernel& k, const target::Cpu& cpu, const Settings& settings) {
  CHECK(cpu.vector_bytes > 0, "target/machines.cc has a row for every processor");
  const Job job{cpu, settings};
  ExprPool* pool = pool_of(k);
  if (job.settings.opt_level <= 0 || pool == nullptr) return k;
  const auto may_pad = [&](const Stage& producer, const Stage& reduction) {
    return is_padding(producer) && is_window(job, reduction);
  };
  Kernel inlined = inline_producers(k, may_pad);
  if (pool_of(inlined) == nullptr) return inlined;  // what was inlined was read for no element
  Writer w(inlined);
  const std::vector<Stage> stages = stages_of(inlined);
  Stmt body = nullptr;
  const std::optional<AttentionLoops> attention = write_attention(w, job, inlined, stages);
  if (!attention || attention->holds) body = write_stages(pool->arena(), w, job, inlined, stages);
  if (attention) body = body ? w.choose(attention->holds, attention->loops, body) : attention->loops;
  std::vector<const Buffer*> temporaries(inlined.temporaries.begin(), inlined.temporaries.end());
  temporaries.insert(temporaries.end(), w.temporaries().begin(), w.temporaries().end());
  inlined.temporaries = pool->arena().list(temporaries);
  return primitives::with_body(inlined, simplify(*pool, body));
}

}  // namespace relay::kernel::schedule::cpu
