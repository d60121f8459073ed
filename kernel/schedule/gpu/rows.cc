// Reductions that threads share: each sums up every n-th term, then they join what they
// have, two by two.
#include <algorithm>
#include <cmath>

#include "kernel/schedule/gpu/rules.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/statements.h"
#include "runtime/extremes.h"

namespace relay::kernel::schedule::gpu {
namespace {

constexpr int64_t kBlockARow = 1024;         // terms that are worth a whole block
constexpr int64_t kEnoughThreads = 1 << 14;  // elements that keep the machine busy with a thread each

}  // namespace

Expr neutral(Writer& w, const Combination& combine, DType dtype) {
  ExprPool& pool = w.pool();
  const auto extreme = [&](bool largest) -> Expr {
    if (dtype.is_float()) return pool.real(largest ? greatest_real(dtype) : least_real(dtype), dtype);
    if (!dtype.is_int() || dtype.bits < 8) return {};
    const bool is_signed = dtype.is_signed_int();
    if (!largest) return pool.integer(is_signed ? INT64_MIN >> (64 - dtype.bits) : 0, dtype);
    return pool.integer(
        is_signed ? INT64_MAX >> (64 - dtype.bits) : static_cast<int64_t>(UINT64_MAX >> (64 - dtype.bits)),
        dtype);
  };
  switch (combine.kind) {
    case ExprKind::kAdd: return pool.constant(0, dtype);
    case ExprKind::kMul: return pool.constant(1, dtype);
    case ExprKind::kMax: return extreme(false);
    case ExprKind::kMin: return extreme(true);
    case ExprKind::kAnd: return pool.integer(1, kBool);
    case ExprKind::kOr: return pool.integer(0, kBool);
    default: return {};
  }
}

Stmt join_partials(Writer& w, const std::string& name, const Buffer* partial, const Combination& combine) {
  const int64_t rows = partial->shape[0]->int_value, threads = partial->shape[1]->int_value;
  const Axis row = w.axis("row", w.index(rows)), thread = w.axis("thread", w.index(threads));
  std::vector<Stmt> steps;
  for (int64_t half = threads / 2; half >= 1; half /= 2) {
    const Expr mine = w.pool().load(partial, {row.var, thread.var}),
               other = w.pool().load(partial, {row.var, thread.var + half});
    const Stmt store = w.store(partial, {row.var, thread.var}, combine.of(w.pool(), mine, other));
    const auto step = [&](Expr r) {
      return bound(w, ForKind::kThreadX, half, [&](Expr t) {
        return w.block(name + "_join",
                       {{row, IterKind::kSpatial, r}, {{thread.var, w.index(half)}, IterKind::kSpatial, t}},
                       store);
      });
    };
    steps.push_back(rows == 1 ? step(w.index(0)) : bound(w, ForKind::kThreadY, rows, step));
  }
  return w.sequence(steps);
}

Stmt write_row_reduction(Writer& w, const target::Gpu& gpu, const AnchoredStage& anchored) {
  const Stage& s = anchored.stage;
  if (!s.combine || s.reduction.empty()) return nullptr;
  const std::vector<Expr> extents = extents_of(s.spatial), along = extents_of(s.reduction);
  const std::optional<int64_t> rows = constant_product(extents), length = constant_product(along);
  // An extent that is not known may be large.
  if (rows == 0 || (length && *length < kWorthSharing)) return nullptr;
  // Neighbouring threads load neighbouring elements along the row; or there are too few elements
  // for a thread each.
  const bool contiguous = worst_stride(s.next, s.reduction.back().var, s.bounds) != Stride::kOther;
  if (!contiguous && (!rows || *rows >= kEnoughThreads / gpu.warp)) return nullptr;
  const Expr nothing = neutral(w, *s.combine, s.buffer->dtype);
  if (!nothing) return nullptr;

  const int64_t threads = !length || *length >= kBlockARow ? kThreads : gpu.warp;
  int64_t together = rows ? kThreads / threads : 1;  // rows of a block
  while (rows && *rows % together != 0) together /= 2;
  const Expr terms_of_a_row = product(w.pool(), along);
  const Buffer* partial =
      w.shared(s.name + "_partial", s.buffer->dtype, {w.index(together), w.index(threads)});
  const Buffer* sum = w.local(s.name + "_sum", s.buffer->dtype, {w.index(1)});
  const Expr so_far = w.pool().load(sum, {w.index(0)});
  const Axis row = w.axis("row", w.index(together)), thread = w.axis("thread", w.index(threads));

  return w.loop(ForKind::kBlockX, "block", divide_up(product(w.pool(), extents), together), [&](Expr block) {
    const auto each_row = [&](const std::function<Stmt(Expr)>& body) {
      return together == 1 ? body(w.index(0)) : bound(w, ForKind::kThreadY, together, body);
    };
    const auto place = [&](Expr r) { return anchored.bind(unflatten(block * together + r, extents)); };
    Stmt parts = each_row([&](Expr r) {
      return bound(w, ForKind::kThreadX, threads, [&](Expr t) {
        Stmt begin = w.block(s.name + "_init", {}, w.store(sum, {w.index(0)}, nothing));
        const Accumulators sums = scalar_sum(w, s.name, sum);
        const TermLoop turns = divide_up(terms_of_a_row, threads);
        Stmt terms = add_terms(w, sum_order(s, 1), sums, {turns}, [&](const std::vector<Expr>& k) {
          const Expr i = k[0] * threads + t;
          std::vector<Binding> bindings = place(r);
          const std::vector<Expr> at = unflatten(i, along);
          for (size_t d = 0; d < at.size(); ++d)
            bindings.push_back({s.reduction[d], IterKind::kReduction, at[d]});
          Stmt term =
              w.block(s.name, bindings, w.store(sum, {w.index(0)}, s.combine->of(w.pool(), so_far, s.next)));
          return length && *length % threads == 0 ? term : w.choose(less(i, terms_of_a_row), term, nullptr);
        });
        Stmt keep = w.block(s.name + "_keep", {{row, IterKind::kSpatial, r}, {thread, IterKind::kSpatial, t}},
                            w.store(partial, {row.var, thread.var}, so_far));
        return w.allocate(sum, w.sequence({begin, terms, keep}));
      });
    });
    Stmt result = each_row([&](Expr r) {
      return bound(w, ForKind::kThreadX, 1, [&](Expr) {
        std::vector<Binding> bindings = place(r);
        bindings.push_back({row, IterKind::kSpatial, r});
        Expr all = w.pool().load(partial, {row.var, w.index(0)});
        if (s.init != nothing) all = s.combine->of(w.pool(), s.init, all);
        return w.block(s.name + "_result", bindings, anchored.write_back(w, anchored.variables(), all));
      });
    });
    return w.allocate(partial, w.sequence({parts, join_partials(w, s.name, partial, *s.combine), result}));
  });
}

}  // namespace relay::kernel::schedule::gpu
