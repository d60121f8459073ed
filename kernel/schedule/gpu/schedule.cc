#include "kernel/schedule/gpu/schedule.h"

#include <algorithm>

#include "base/check.h"
#include "kernel/schedule/gpu/rules.h"
#include "kernel/schedule/inline_producers.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::gpu {

std::optional<int64_t> constant_product(const std::vector<Expr>& extents) {
  int64_t total = 1;
  for (Expr e : extents) {
    if (e->kind != ExprKind::kInt || __builtin_mul_overflow(total, e->int_value, &total)) return std::nullopt;
  }
  if (total > INT32_MAX) return std::nullopt;
  return total;
}

Stmt bound(Writer& w, ForKind index, int64_t extent, const std::function<Stmt(Expr)>& body) {
  constexpr std::string_view kNames[] = {"block_x", "block_y", "block_z", "thread_x", "thread_y", "thread_z"};
  const Expr v = w.variable(kNames[static_cast<size_t>(index) - static_cast<size_t>(ForKind::kBlockX)]);
  return make_for(w.pool().arena(), v, w.index(extent), index, body(v));
}

Stmt on_threads(Writer& w, const target::Gpu& gpu, Expr count, const std::function<Stmt(Expr)>& body) {
  const bool constant = count->kind == ExprKind::kInt;
  int64_t threads = kThreads;
  if (constant && count->int_value < threads)
    threads = count->int_value <= 1 ? 1 : (count->int_value + gpu.warp - 1) / gpu.warp * gpu.warp;
  return w.loop(ForKind::kBlockX, "block", divide_up(count, threads), [&](Expr block) {
    return w.loop(ForKind::kThreadX, "thread", threads, [&](Expr thread) {
      const Expr i = block * threads + thread;
      const bool all = constant && count->int_value % threads == 0;
      return all ? body(i) : w.choose(less(i, count), body(i), nullptr);
    });
  });
}

namespace {

bool is_empty(const Stage& s) {
  return std::any_of(s.spatial.begin(), s.spatial.end(), [](const Axis& a) { return a.extent.is_int(0); });
}

// What must be done in order usually goes on with a tensor that was begun elementwise: the
// beginning needs no order.
Stmt write_sequential(Writer& w, const target::Gpu& gpu, const Kernel& k, const Stage& s) {
  const auto* seq = s.statement->as<Seq>();
  if (seq == nullptr || seq->body.size() != 2) return s.statement;
  Kernel first = k;
  first.body = seq->body[0];
  const std::vector<Stage> begun = stages_of(first);
  if (begun.size() != 1 || begun[0].kind != StageKind::kCompute || is_empty(begun[0])) return s.statement;
  return w.sequence({write_elements(w, gpu, begun[0]), seq->body[1]});
}

Stmt write(Writer& w, const target::Gpu& gpu, const Settings& settings, const Kernel& k,
           const AnchoredStage& anchored) {
  const Stage& s = anchored.stage;
  if (is_empty(s)) {
    std::vector<Stmt> as_written{s.statement};
    if (anchored.epilogue) as_written.push_back(anchored.epilogue->statement);
    return w.sequence(as_written);
  }
  if (s.kind == StageKind::kCompute) return write_elements(w, gpu, s);
  if (s.kind == StageKind::kSequential) return write_sequential(w, gpu, k, s);
  if (!s.requirements.empty()) return s.statement;
  if (settings.opt_level > 0) {
    if (Stmt tiles = write_tiled_product(w, gpu, anchored)) return tiles;
    if (Stmt rows = write_row_reduction(w, gpu, anchored)) return rows;
  }
  return write_reductions(w, gpu, anchored);
}

std::vector<AnchoredStage> without_joining(const std::vector<Stage>& stages) {
  std::vector<AnchoredStage> out;
  for (const Stage& s : stages) out.push_back({s});
  return out;
}

// The longest run of anchored stages from `first` on that blocks of rows can do, as statements;
// `count` is how many. Null if there is none.
Stmt write_run(Writer& w, const target::Gpu& gpu, const Kernel& k,
               const std::vector<AnchoredStage>& anchored_stages, size_t first, size_t& count) {
  const auto stages_from = [&](size_t from, size_t to) {
    std::vector<const Stage*> out;
    for (size_t i = from; i < to; ++i) {
      out.push_back(&anchored_stages[i].stage);
      if (anchored_stages[i].epilogue) out.push_back(&*anchored_stages[i].epilogue);
    }
    return out;
  };
  size_t end = first;
  while (end < anchored_stages.size() && !is_tiled_product(w, gpu, anchored_stages[end])) ++end;
  for (; end > first; --end) {
    std::vector<const Stage*> others = stages_from(0, first),
                              after = stages_from(end, anchored_stages.size());
    others.insert(others.end(), after.begin(), after.end());
    if (Stmt s = write_row_blocks(w, gpu, k, stages_from(first, end), others)) {
      count = end - first;
      return s;
    }
  }
  return nullptr;
}

}  // namespace

Accepts accepts(const target::Gpu& gpu) {
  constexpr int64_t kBeside = 64;  // bytes: what the row is joined to, as its maximum and its sum
  return {.longest_row = (row_bytes_in_block(gpu) - kBeside) / static_cast<int64_t>(sizeof(float))};
}

Kernel schedule_for_gpu(const Kernel& k, const target::Gpu& gpu, const Settings& settings) {
  CHECK(gpu.warp > 0, "target/machines.cc has a row for every GPU");
  ExprPool* pool = pool_of(k);
  if (pool == nullptr) return k;
  const bool joins = settings.opt_level > 0;
  // Tiles of operands are computed element by element, conditions included.
  Kernel inlined = joins ? inline_producers(k, [](const Stage&, const Stage&) { return true; }) : k;
  if (pool_of(inlined) == nullptr) return inlined;  // what was inlined was read for no element
  Writer w(inlined);
  const std::vector<Stage> stages = stages_of(inlined);
  std::vector<Stmt> body;
  const std::vector<AnchoredStage> anchored_stages =
      joins ? join_epilogues(inlined, stages) : without_joining(stages);
  for (size_t i = 0; i < anchored_stages.size();) {
    size_t count = 1;
    Stmt run = joins ? write_run(w, gpu, inlined, anchored_stages, i, count) : nullptr;
    body.push_back(run ? run : write(w, gpu, settings, inlined, anchored_stages[i]));
    i += count;
  }
  std::vector<const Buffer*> temporaries(inlined.temporaries.begin(), inlined.temporaries.end());
  temporaries.insert(temporaries.end(), w.temporaries().begin(), w.temporaries().end());
  inlined.temporaries = pool->arena().list(temporaries);
  return primitives::with_body(inlined, simplify(*pool, make_sequence(pool->arena(), body)));
}

}  // namespace relay::kernel::schedule::gpu
