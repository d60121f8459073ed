// Tensors that all go along the same rows (softmax, normalisations): a block has a few rows, or
// one, and does all of them there, so that what is read again is near, and what only these tensors
// need never leaves the block.
#include <algorithm>
#include <map>

#include "kernel/schedule/gpu/rules.h"
#include "kernel/schedule/primitives/primitive.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::gpu {
namespace {

constexpr int64_t kFewRows = 32;               // that leave most of the machine idle
constexpr int64_t kLongForOneBlock = 1 << 14;  // elements of a row, if there are few
constexpr int64_t kWarpARow = 256;             // elements that a warp is enough for

std::vector<Expr> rest_of(const std::vector<Axis>& axes, size_t from) {
  return extents_of({axes.begin() + static_cast<std::ptrdiff_t>(from), axes.end()});
}

class RowBlocks {
 public:
  RowBlocks(Writer& w, const target::Gpu& gpu, const Kernel& k, std::span<const Stage* const> stages,
            std::span<const Stage* const> others)
      : w_(w), gpu_(gpu), k_(k), stages_(stages), others_(others) {}

  bool find() {
    size_t most = stages_[0]->spatial.size();
    for (const Stage* s : stages_) most = std::min(most, s->spatial.size());
    for (axes_ = most; axes_ >= 1; --axes_) {
      if (fits()) return true;
    }
    return false;
  }

  Stmt write() {
    const std::optional<int64_t> rows = constant_product(row_extents());
    threads_ = longest_ <= kWarpARow ? gpu_.warp : kThreads;
    together_ = rows ? kThreads / threads_ : 1;
    while (rows && *rows % together_ != 0) together_ /= 2;
    row_ = w_.axis("row", w_.index(together_));
    keep_temporaries();
    Stmt all = w_.loop(
        ForKind::kBlockX, "block", divide_up(product(w_.pool(), row_extents()), together_), [&](Expr block) {
          block_ = block;
          std::vector<Stmt> body;
          for (const Stage* s : stages_)
            body.push_back(s->kind == StageKind::kReduce && is_shared(*s) ? reduce(*s) : elements(*s));
          Stmt out = w_.sequence(body);
          for (const auto& [buffer, near] : near_) out = w_.allocate(near, out);
          return out;
        });
    return all;
  }

 private:
  std::vector<Expr> row_extents() const {
    const std::vector<Expr> all = extents_of(stages_[0]->spatial);
    return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(axes_)};
  }

  // Do all threads of a row work on one result?
  bool is_shared(const Stage& s) const {
    const std::optional<int64_t> results = constant_product(rest_of(s.spatial, axes_)),
                                 terms = constant_product(extents_of(s.reduction));
    return results == 1 && (!terms || *terms >= kWorthSharing);
  }

  bool fits() {
    const std::vector<Expr> rows = row_extents();
    const std::optional<int64_t> count = constant_product(rows);
    if (count == 0) return false;
    longest_ = 1;
    bool open = false;  // some row is of an extent that is not known, and may be long
    int64_t joins = 0, partial_bytes = 0;
    std::vector<const Buffer*> written;
    for (const Stage* s : stages_) {
      for (size_t d = 0; d < axes_; ++d) {
        if (s->spatial[d].extent != rows[d]) return false;
      }
      const std::optional<int64_t> results = constant_product(rest_of(s->spatial, axes_)),
                                   terms = constant_product(extents_of(s->reduction));
      if (results == 0 || terms == 0) return false;
      if (s->kind == StageKind::kReduce) {
        // Long reductions of which a row has several are better shared out to the whole machine.
        if (results != 1 && (!terms || *terms >= kWorthSharing)) return false;
        if (is_shared(*s) && !neutral(w_, *s->combine, s->buffer->dtype)) return false;
        joins += is_shared(*s);
        partial_bytes += kThreads * static_cast<int64_t>(s->buffer->dtype.bytes());
      }
      open |= !results || !terms;
      constexpr int64_t kOpen = kWarpARow + 1;
      longest_ = std::max({longest_, results.value_or(kOpen), is_shared(*s) ? terms.value_or(kOpen) : 1});
      // What was written here is read in its own row.
      bool own = true;
      const auto look = [&](Expr e) {
        for_each_load(e, [&](const ExprNode* n) {
          if (std::find(written.begin(), written.end(), n->buffer) == written.end()) return;
          for (size_t d = 0; d < axes_; ++d) own &= d < n->args.size() && is_place(n->args[d], s->spatial[d]);
        });
      };
      look(s->value);
      if (s->init) look(s->init);
      if (!own) return false;
      written.push_back(s->buffer);
    }
    if (partial_bytes > gpu_.shared_bytes - row_bytes_in_block(gpu_)) return false;
    if (count && *count < kFewRows && open) return false;
    return joins > 0 && ((count && *count >= kFewRows) || longest_ < kLongForOneBlock);
  }

  // Temporaries that nothing else reads stay in the block, as far as there is room.
  void keep_temporaries() {
    int64_t room = row_bytes_in_block(gpu_);
    for (const Stage* s : stages_) {
      if (primitives::is_output(k_, s->buffer) || near_.contains(s->buffer)) continue;
      const bool read_elsewhere = std::any_of(others_.begin(), others_.end(), [&](const Stage* other) {
        bool reads = false;
        visit(other->statement, [&](Stmt st) {
          for (Expr e : expressions(st))
            for_each_load(e, [&](const ExprNode* n) { reads |= n->buffer == s->buffer; });
        });
        return reads;
      });
      std::vector<Expr> shape = rest_of(s->spatial, axes_);
      const std::optional<int64_t> count = constant_product(shape);
      if (read_elsewhere || !count) continue;
      const int64_t bytes = *count * together_ * static_cast<int64_t>(s->buffer->dtype.bytes());
      if (bytes > room) continue;
      room -= bytes;
      shape.insert(shape.begin(), w_.index(together_));
      near_[s->buffer] = w_.shared(s->buffer->name.str() + "_rows", s->buffer->dtype, shape);
    }
  }

  // With what is kept in the block read there.
  Expr here(Expr e) {
    return rewrite_loads(e, [&](const ExprNode* n) -> Expr {
      const auto it = near_.find(n->buffer);
      if (it == near_.end()) return {};
      std::vector<Expr> at(n->args.begin() + static_cast<std::ptrdiff_t>(axes_), n->args.end());
      at.insert(at.begin(), row_.var);
      return w_.pool().load(it->second, at);
    });
  }
  Stmt store(const Stage& s, Expr value) {
    std::vector<Expr> at;
    for (const Axis& a : s.spatial) at.push_back(a.var);
    const auto it = near_.find(s.buffer);
    if (it == near_.end()) return w_.store(s.buffer, at, value);
    at.erase(at.begin(), at.begin() + static_cast<std::ptrdiff_t>(axes_));
    at.insert(at.begin(), row_.var);
    return w_.store(it->second, at, value);
  }

  Stmt each_row(const std::function<Stmt(Expr)>& body) {
    return together_ == 1 ? body(w_.index(0)) : bound(w_, ForKind::kThreadY, together_, body);
  }
  // i of as many as the extents multiply to, in turns: neighbouring threads have neighbours.
  Stmt in_turns(Expr thread, const std::vector<Expr>& extents, const std::function<Stmt(Expr)>& body) {
    return w_.loop(ForKind::kSerial, "turn", turns(extents),
                   [&](Expr turn) { return in_turn(thread, turn, extents, body); });
  }
  Expr turns(const std::vector<Expr>& extents) { return divide_up(product(w_.pool(), extents), threads_); }
  Stmt in_turn(Expr thread, Expr turn, const std::vector<Expr>& extents,
               const std::function<Stmt(Expr)>& body) {
    const Expr i = turn * threads_ + thread;
    const std::optional<int64_t> known = constant_product(extents);
    if (known && *known % threads_ == 0) return body(i);
    return w_.choose(less(i, product(w_.pool(), extents)), body(i), nullptr);
  }
  std::vector<Binding> place(const Stage& s, Expr row, Expr rest) {
    std::vector<Binding> out{{row_, IterKind::kSpatial, row}};
    const std::vector<Expr> first = unflatten(block_ * together_ + row, row_extents()),
                            others = unflatten(rest, rest_of(s.spatial, axes_));
    for (size_t d = 0; d < s.spatial.size(); ++d)
      out.push_back({s.spatial[d], IterKind::kSpatial, d < axes_ ? first[d] : others[d - axes_]});
    return out;
  }

  // Results by a thread each, reductions that are short included.
  Stmt elements(const Stage& s) {
    const std::vector<Expr> rest = rest_of(s.spatial, axes_);
    const int64_t busy = std::min(constant_product(rest).value_or(threads_), threads_);
    return each_row([&](Expr row) {
      return bound(w_, ForKind::kThreadX, busy, [&](Expr thread) {
        return in_turns(thread, rest, [&](Expr i) {
          const std::vector<Binding> at = place(s, row, i);
          if (s.kind == StageKind::kCompute) return w_.block(s.name, at, store(s, here(s.value)));
          const Buffer* sum = w_.local(s.name + "_sum", s.buffer->dtype, {w_.index(1)});
          const Expr so_far = w_.pool().load(sum, {w_.index(0)});
          Stmt begin = w_.block(s.name + "_init", at, w_.store(sum, {w_.index(0)}, here(s.init)));
          const Accumulators sums = scalar_sum(w_, s.name, sum);
          Stmt terms =
              add_terms(w_, sum_order(s, 1), sums, term_loops(s.reduction), [&](const std::vector<Expr>& r) {
                std::vector<Binding> all = at;
                for (size_t d = 0; d < r.size(); ++d)
                  all.push_back({s.reduction[d], IterKind::kReduction, r[d]});
                return w_.block(s.name, all,
                                w_.store(sum, {w_.index(0)}, here(replace_loads(s.value, s.buffer, so_far))));
              });
          Stmt end = w_.block(s.name + "_result", at, store(s, so_far));
          return w_.allocate(sum, w_.sequence({begin, terms, end}));
        });
      });
    });
  }

  Stmt reduce(const Stage& s) {
    const Expr nothing = neutral(w_, *s.combine, s.buffer->dtype);
    const Buffer* partial =
        w_.shared(s.name + "_partial", s.buffer->dtype, {w_.index(together_), w_.index(threads_)});
    const Buffer* sum = w_.local(s.name + "_sum", s.buffer->dtype, {w_.index(1)});
    const Expr so_far = w_.pool().load(sum, {w_.index(0)});
    const Axis thread = w_.axis("thread", w_.index(threads_));
    Stmt parts = each_row([&](Expr row) {
      return bound(w_, ForKind::kThreadX, threads_, [&](Expr t) {
        Stmt begin = w_.block(s.name + "_init", {}, w_.store(sum, {w_.index(0)}, nothing));
        const std::vector<Expr> along = extents_of(s.reduction);
        const auto term = [&](Expr i) {
          std::vector<Binding> all = place(s, row, w_.index(0));
          const std::vector<Expr> at = unflatten(i, along);
          for (size_t d = 0; d < at.size(); ++d) all.push_back({s.reduction[d], IterKind::kReduction, at[d]});
          return w_.block(s.name, all,
                          w_.store(sum, {w_.index(0)}, s.combine->of(w_.pool(), so_far, here(s.next))));
        };
        const Accumulators sums = scalar_sum(w_, s.name, sum);
        Stmt terms = add_terms(w_, sum_order(s, 1), sums, {turns(along)}, [&](const std::vector<Expr>& turn) {
          return in_turn(t, turn[0], along, term);
        });
        Stmt keep =
            w_.block(s.name + "_keep", {{row_, IterKind::kSpatial, row}, {thread, IterKind::kSpatial, t}},
                     w_.store(partial, {row_.var, thread.var}, so_far));
        return w_.allocate(sum, w_.sequence({begin, terms, keep}));
      });
    });
    Stmt result = each_row([&](Expr row) {
      return bound(w_, ForKind::kThreadX, 1, [&](Expr) {
        Expr all = w_.pool().load(partial, {row_.var, w_.index(0)});
        if (s.init != nothing) all = s.combine->of(w_.pool(), here(s.init), all);
        return w_.block(s.name + "_result", place(s, row, w_.index(0)), store(s, all));
      });
    });
    return w_.allocate(partial, w_.sequence({parts, join_partials(w_, s.name, partial, *s.combine), result}));
  }

  Writer& w_;
  const target::Gpu& gpu_;
  const Kernel& k_;
  std::span<const Stage* const> stages_, others_;
  size_t axes_ = 0;  // leading ones that say which row it is
  int64_t longest_ = 1, threads_ = kThreads, together_ = 1;
  Axis row_;  // which of those of the block
  Expr block_;
  std::map<const Buffer*, const Buffer*,
           decltype([](const Buffer* a, const Buffer* b) { return a->id < b->id; })>
      near_;
};

}  // namespace

int64_t row_bytes_in_block(const target::Gpu& gpu) { return gpu.shared_bytes / 2; }

Stmt write_row_blocks(Writer& w, const target::Gpu& gpu, const Kernel& k,
                      std::span<const Stage* const> stages, std::span<const Stage* const> others) {
  const bool simple = std::all_of(stages.begin(), stages.end(), [](const Stage* s) {
    const bool known = s->kind == StageKind::kCompute || (s->kind == StageKind::kReduce && s->combine);
    return known && s->requirements.empty() && !s->spatial.empty();
  });
  if (!simple || stages.size() < 2) return nullptr;
  RowBlocks rows(w, gpu, k, stages, others);
  return rows.find() ? rows.write() : nullptr;
}

}  // namespace relay::kernel::schedule::gpu
