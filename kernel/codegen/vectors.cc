#include "kernel/codegen/vectors.h"

#include <algorithm>
#include <bit>

#include "kernel/fields.h"
#include "kernel/statements.h"

namespace relay::kernel::codegen {
namespace {

constexpr size_t kMostVariables = 256;  // of a local buffer
constexpr size_t kMostPieces = 32;      // of a loop

// Bytes of a value in a vector: small floats are floats.
int value_bytes(DType d) {
  if (d.is_bool()) return 1;
  return d.is_float() && d.bits < 32 ? 4 : static_cast<int>(d.bytes());
}

bool is_float8(DType d) { return d.code == DTypeCode::kFloat8E4M3 || d.code == DTypeCode::kFloat8E5M2; }
bool has_vectors(DType d) { return d.bits >= 8 && !is_float8(d); }

// Decides whether one loop can be printed with vectors.
class Check {
 public:
  Check(Expr var, const Bounds& bounds) : var_(var), bounds_(bounds), pool_(*var->pool) {}

  bool statement(Stmt s) {
    switch (s->kind) {
      case StmtKind::kSeq: {
        const auto& body = s->as<Seq>()->body;
        return std::all_of(body.begin(), body.end(), [&](Stmt c) { return statement(c); });
      }
      case StmtKind::kStore: {
        const auto* n = s->as<Store>();
        if (!has_vectors(n->buffer->dtype)) return false;
        const Expr offset = offset_of(*n->buffer, n->indices, bounds_, pool_);
        return is_contiguous(offset, var_) && indices(n->indices) && expression(n->value.get()) &&
               widen(n->buffer->dtype);
      }
      case StmtKind::kIf: {
        const auto* n = s->as<If>();
        return !mentions(n->condition, var_) && statement(n->then_branch) &&
               (!n->else_branch || statement(n->else_branch));
      }
      case StmtKind::kFor: {
        const auto* n = s->as<For>();
        if (n->how != ForKind::kSerial && n->how != ForKind::kUnrolled) return false;
        if (mentions(n->extent, var_)) return false;
        const Bounds outer = bounds_;
        bounds_.bind(n->var, n->extent);
        const bool ok = statement(n->body);
        bounds_ = outer;
        return ok;
      }
      case StmtKind::kAllocate:
      case StmtKind::kBlock: return false;
      case StmtKind::kPrefetch:
      default: {
        static_assert(others_only_look<For, Block, Store, Seq, If, Allocate, Prefetch>);
        const std::vector<Expr> all = expressions(s);
        return std::none_of(all.begin(), all.end(), [&](Expr e) { return mentions(e, var_); });
      }
    }
  }

  int widest() const { return widest_; }

 private:
  bool widen(DType d) {
    widest_ = std::max(widest_, value_bytes(d));
    return true;
  }

  // Index arithmetic of an access that is contiguous on the whole may hold no access that is not.
  template <class Indices>
  bool indices(const Indices& list) {
    return std::all_of(list.begin(), list.end(), [&](Expr i) {
      bool ok = true;
      for_each_load(i, [&](const ExprNode* load) { ok &= !mentions(load, var_); });
      return ok;
    });
  }

  bool expression(const ExprNode* n) {
    if (!mentions(n, var_)) return true;
    if (auto it = done_.find(n); it != done_.end()) return it->second;
    return done_[n] = vector(n);
  }

  bool vector(const ExprNode* n) {
    if (!has_vectors(n->dtype)) return false;
    const auto arguments = [&] {
      return std::all_of(n->args.begin(), n->args.end(), [&](const ExprNode* a) { return expression(a); });
    };
    switch (n->kind) {
      case ExprKind::kFloorDiv:
      case ExprKind::kFloorMod:
      case ExprKind::kTruncDiv:
      case ExprKind::kTruncMod:
      case ExprKind::kBroadcast: return false;
      case ExprKind::kLoad: {
        std::vector<Expr> list(n->args.begin(), n->args.end());
        return widen(n->dtype) && is_contiguous(offset_of(*n->buffer, n->args, bounds_, pool_), var_) &&
               indices(list);
      }
      case ExprKind::kSelect:
        // Both sides of a choice between lanes or masks are computed, so they may not be what the
        // choice protects; what divides is not printed with vectors anyway.
        if ((mentions(n->args[0], var_) || n->dtype.is_bool()) && protects_loads(n, bounds_)) return false;
        return widen(n->dtype) && arguments();
      case ExprKind::kCast: {
        const DType from = n->args[0]->dtype;
        if (!has_vectors(from)) return false;
        if (n->dtype.is_float() && n->dtype.bits < 32 &&
            (from.bits > 32 || (from.is_int() && from.bits > 16)))
          return false;
        return widen(n->dtype) && widen(from) && arguments();
      }
      default: return (n->dtype.is_bool() || widen(n->dtype)) && arguments();
    }
  }

  Expr var_;
  Bounds bounds_;
  ExprPool& pool_;
  int widest_ = 1;
  std::unordered_map<const ExprNode*, bool> done_;
};

}  // namespace

Expr offset_of(const Buffer& buffer, const List<Expr>& indices, const Bounds& bounds, ExprPool& pool) {
  if (indices.empty()) return pool.integer(0);
  return flat_offset(buffer, {indices.begin(), indices.end()}, bounds);
}
Expr offset_of(const Buffer& buffer, const List<const ExprNode*>& indices, const Bounds& bounds,
               ExprPool& pool) {
  if (indices.empty()) return pool.integer(0);
  return flat_offset(buffer, {indices.begin(), indices.end()}, bounds);
}

bool is_contiguous(Expr offset, Expr var) { return mentions(offset, var) && !mentions(offset - var, var); }

VectorPlan::VectorPlan(Stmt body, int most_bytes) : most_bytes_(most_bytes) {
  if (most_bytes > 0) visit(body, {});
}

void VectorPlan::visit(Stmt s, Bounds bounds) {
  if (const auto* f = s->as<For>()) {
    bounds.bind(f->var, f->extent);
    if (f->how == ForKind::kVectorized && f->extent->kind == ExprKind::kInt) {
      Check check(f->var, bounds);
      if (check.statement(f->body)) {
        element_bytes_[f] = check.widest();
        if (pieces(f).size() <= kMostPieces) return;
        element_bytes_.erase(f);
      }
    }
  }
  for (Stmt c : children(s)) visit(c, bounds);
}

bool VectorPlan::reaches(Stmt s) const {
  bool found = false;
  kernel::visit(s, [&](Stmt below) {
    const auto* f = below->as<For>();
    found |= f && contains(f);
  });
  return found;
}

std::vector<Piece> VectorPlan::pieces(const For* loop) const {
  std::vector<Piece> out;
  int lanes = std::max(1, most_bytes_ / element_bytes_.at(loop));
  const int64_t extent = loop->extent->int_value;
  for (int64_t at = 0; at < extent; at += lanes) {
    while (lanes > extent - at) lanes /= 2;
    out.push_back({at, lanes});
  }
  return out;
}

void for_each_piece(const VectorPlan& plan, const For& loop, ExprPool& pool, std::optional<Lanes>& lanes,
                    const std::function<void(Stmt)>& emit) {
  for (const Piece& p : plan.pieces(&loop)) {
    if (p.lanes == 1) {
      emit(substitute(pool.arena(), loop.body, {{loop.var.get(), pool.integer(p.start)}}));
      continue;
    }
    lanes = Lanes{loop.var, p.start, p.lanes};
    emit(loop.body);
    lanes.reset();
  }
}

std::optional<std::map<int64_t, int>> as_variables(const Allocate& a, const VectorPlan& plan, bool threads) {
  std::map<int64_t, int> found;
  bool ok = true;
  ExprPool* pool = nullptr;

  const auto add = [&](int64_t offset, int lanes) {
    auto [it, fresh] = found.emplace(offset, lanes);
    ok &= fresh || it->second == lanes;
  };
  // `vector` is the loop with vectors that we are in, if any.
  const auto access = [&](const Buffer* b, Expr offset, const For* vector) {
    if (b != a.buffer) return;
    if (vector && mentions(offset, vector->var)) {
      const Expr rest = offset - vector->var;
      if (rest->kind != ExprKind::kInt || b->dtype.is_bool()) {
        ok = false;
        return;
      }
      for (const Piece& p : plan.pieces(vector)) add(rest->int_value + p.start, p.lanes);
    } else if (offset->kind == ExprKind::kInt) {
      add(offset->int_value, 1);
    } else {
      ok = false;
    }
  };
  const auto walk = [&](auto& self, Stmt s, const For* vector) -> void {
    for (Expr e : expressions(s)) {
      pool = e->pool;
      for_each_load(e, [&](const ExprNode* n) {
        access(n->buffer, offset_of(*n->buffer, n->args, {}, *pool), vector);
      });
    }
    if (const auto* n = s->as<Store>())
      access(n->buffer, offset_of(*n->buffer, n->indices, {}, *n->value->pool), vector);
    if (const auto* b = s->as<Block>()) {  // an instruction takes addresses
      for (const auto& list : {b->reads, b->writes}) {
        for (const Region& r : list) ok &= r.buffer != a.buffer;
      }
    }
    if (const auto* f = s->as<For>()) {
      if (threads && f->how == ForKind::kParallel) ok = false;  // the threads share it
      if (plan.contains(f)) vector = f;
    }
    for (Stmt c : children(s)) {
      if (ok) self(self, c, vector);
    }
  };
  walk(walk, a.body, nullptr);
  if (!ok || found.size() > kMostVariables) return std::nullopt;
  for (auto it = found.begin(); it != found.end() && std::next(it) != found.end(); ++it) {
    if (it->first + it->second > std::next(it)->first) return std::nullopt;
  }
  return found;
}

}  // namespace relay::kernel::codegen
