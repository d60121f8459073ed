#include "kernel/schedule/long_sums.h"

#include <algorithm>

#include "base/integers.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/walk.h"

namespace relay::kernel::schedule {
namespace {

// Few accumulators wait for memory more than for additions, so that a block's own addition costs
// nothing. In a tile of many it also goes to the stack and back: 256 terms pay for that.
constexpr int64_t kFewVectors = 8;
constexpr int64_t kBlockOfFew = 32;
constexpr int64_t kBlockOfMany = 256;

constexpr int64_t kUnknown = 0;

// The terms of all loops from `first` on; kUnknown if that is not known or beyond 64 bits.
int64_t terms_from(const std::vector<TermLoop>& loops, size_t first) {
  int64_t terms = 1;
  for (size_t i = first; i < loops.size(); ++i) {
    if (loops[i].most == kUnknown || __builtin_mul_overflow(terms, loops[i].most, &terms)) return kUnknown;
  }
  return terms;
}

// What is left of an extent. Bounds are told of each operand of a minimum, if it is the outermost.
Expr behind(Expr extent, Expr start) {
  const auto whole = [&](const ExprNode* n) { return n->kind == ExprKind::kMin ? Expr() : Expr(n) - start; };
  return rewrite(extent, whole, [](Expr of_parts) { return of_parts; });
}

class Blocks {
 public:
  Blocks(Writer& w, SumOrder order) : w_(w), order_(order) {}

  using Body = std::function<Stmt(const std::vector<Expr>&)>;

  Stmt write(const Accumulators& sums, const std::vector<TermLoop>& loops, int level,
             const Body& body) const {
    const int64_t terms = terms_from(loops, 0);
    const bool is_short = terms != kUnknown && terms <= order_.block;
    if (order_.block == 0 || is_short || level >= order_.levels) return plain(loops, body);
    // The innermost loops that make less than a block stay whole, the next one is cut into pieces.
    size_t cut = loops.size() - 1;
    const auto inner = [&] { return terms_from(loops, cut + 1); };
    const auto fits = [&](int64_t n) { return n != kUnknown && n <= order_.block; };
    while (cut > 0 && fits(terms_from(loops, cut))) --cut;
    const int64_t piece = std::max<int64_t>(1, order_.block / std::max<int64_t>(inner(), 1));
    const TermLoop& loop = loops[cut];
    std::vector<TermLoop> blocks(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(cut));
    blocks.push_back({primitives::divide_up(loop.extent, piece),
                      loop.most == kUnknown ? kUnknown : ceil_div(loop.most, piece)});

    Accumulators totals = sums;
    totals.buffer = w_.local(sums.name + "_blocks", sums.buffer->dtype,
                             {sums.buffer->shape.begin(), sums.buffer->shape.end()});
    const Expr sum = w_.pool().load(sums.buffer, sums.at), total = w_.pool().load(totals.buffer, sums.at),
               zero = w_.pool().constant(0, sums.buffer->dtype);
    const auto each = [&](const char* what, const Buffer* to, Expr value) {
      return sums.each(sums.name + what, w_.store(to, sums.at, value));
    };
    Stmt block = write(totals, blocks, level + 1, [&](const std::vector<Expr>& which) {
      std::vector<TermLoop> rest(loops.begin() + static_cast<std::ptrdiff_t>(cut), loops.end());
      const Expr start = which[cut] * piece;
      const bool whole = floor_mod(loop.extent, piece).is_int(0);
      rest[0] = {whole ? w_.index(piece) : kernel::min(behind(loop.extent, start), w_.index(piece)), piece};
      Stmt terms_of_block = plain(rest, [&](const std::vector<Expr>& at) {
        std::vector<Expr> all(which.begin(), which.begin() + static_cast<std::ptrdiff_t>(cut));
        all.insert(all.end(), at.begin(), at.end());
        all[cut] = start + at[0];
        return body(all);
      });
      return w_.sequence(
          {terms_of_block, each("_carry", totals.buffer, total + sum), each("_restart", sums.buffer, zero)});
    });
    return w_.allocate(totals.buffer, w_.sequence({each("_begin", totals.buffer, zero), block,
                                                   each("_total", sums.buffer, sum + total)}));
  }

 private:
  Stmt plain(const std::vector<TermLoop>& loops, const Body& body) const {
    std::vector<Expr> extents;
    for (const TermLoop& l : loops) extents.push_back(l.extent);
    return w_.loops(ForKind::kSerial, "r", extents, body);
  }

  Writer& w_;
  SumOrder order_;
};

}  // namespace

SumOrder SumOrder::by(int64_t terms) const {
  if (block == 0) return *this;
  return {std::max<int64_t>(block / terms, 2), levels};
}

SumOrder sum_order(const Stage& stage, int64_t vectors) {
  const bool rounds = stage.kind == StageKind::kReduce && stage.buffer->dtype.is_float() && stage.combine &&
                      stage.combine->kind == ExprKind::kAdd;
  if (!rounds) return kAsWritten;
  return vectors <= kFewVectors ? SumOrder{kBlockOfFew, 3} : SumOrder{kBlockOfMany, 1};
}

TermLoop::TermLoop(Expr extent)
    : extent(extent),
      most(extent->kind == ExprKind::kInt ? std::max<int64_t>(extent->int_value, 1) : kUnknown) {}

std::vector<TermLoop> term_loops(const std::vector<Axis>& reduction) {
  std::vector<TermLoop> out;
  for (const Axis& a : reduction) out.push_back(a.extent);
  return out;
}

Accumulators scalar_sum(Writer& w, const std::string& name, const Buffer* buffer) {
  return {name, buffer, {w.index(0)}, [&w](const std::string& block, Stmt body) {
            return w.block(block, {}, body);
          }};
}

Stmt add_terms(Writer& w, SumOrder order, const Accumulators& sums, const std::vector<TermLoop>& loops,
               const std::function<Stmt(const std::vector<Expr>&)>& body) {
  return Blocks(w, order).write(sums, loops, 0, body);
}

}  // namespace relay::kernel::schedule
