#include "kernel/affine.h"

#include <algorithm>
#include <unordered_set>

#include "base/cat.h"
#include "kernel/polynomial.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

// (x // a) % b and the like, of one variable.
std::optional<Digits> digits_of_atom(const ExprNode* n) {
  if (n->kind == ExprKind::kVar) return Digits{n, 1, 0};
  if (n->kind != ExprKind::kFloorDiv && n->kind != ExprKind::kFloorMod) return std::nullopt;
  const std::optional<Digits> of = digits_of_atom(n->args[0]);
  const ExprNode* by = n->args[1];
  int64_t bound = 0;
  if (!of || by->kind != ExprKind::kInt || by->int_value < 1 ||
      __builtin_mul_overflow(of->low, by->int_value, &bound))
    return std::nullopt;
  Digits out = *of;
  if (n->kind == ExprKind::kFloorDiv) {
    out.low = bound;
  } else if (out.high == 0 || bound < out.high) {
    out.high = bound;
  }
  return out;
}

// What the first indices of regions of parameters and temporaries mention.
std::unordered_set<const ExprNode*> variables_of_tensors(List<Region> regions) {
  std::unordered_set<const ExprNode*> out;
  for (const Region& r : regions) {
    if (r.buffer->scope != Scope::kGlobal) continue;
    for (Expr m : r.min) {
      for (Expr v : variables(m)) out.insert(v.get());
    }
  }
  return out;
}

}  // namespace

std::optional<std::vector<Digits>> digits_of(Expr binding) {
  std::vector<Digits> out;
  for (const polynomial::Term& t : polynomial::terms(binding)) {
    for (const ExprNode* atom : t.atoms) {
      if (atom->kind == ExprKind::kVar && atom->shape_variable) continue;
      const std::optional<Digits> digits = digits_of_atom(atom);
      if (!digits) return std::nullopt;
      if (!digits->variable->shape_variable) out.push_back(*digits);
    }
  }
  return out;
}

bool overlap(const std::vector<Digits>& a, const std::vector<Digits>& b) {
  return std::any_of(a.begin(), a.end(), [&](const Digits& x) {
    return std::any_of(b.begin(), b.end(), [&](const Digits& y) {
      return x.variable == y.variable && (x.high == 0 || y.low < x.high) && (y.high == 0 || x.low < y.high);
    });
  });
}

std::string not_quasi_affine(Expr binding) {
  if (binding->has_load) return "it depends on data";
  std::unordered_set<const ExprNode*> varying;
  for (const ExprNode* n : post_order(binding)) {
    const bool is_variable = n->kind == ExprKind::kVar && !n->shape_variable;
    if (is_variable ||
        std::any_of(n->args.begin(), n->args.end(), [&](auto* a) { return varying.contains(a); }))
      varying.insert(n);
  }
  const auto varies = [&](const ExprNode* n) { return varying.contains(n); };
  std::unordered_set<const ExprNode*> seen;
  std::vector<Expr> pending{binding};
  while (!pending.empty()) {
    const Expr e = pending.back();
    pending.pop_back();
    if (!seen.insert(e.get()).second) continue;
    for (const polynomial::Term& t : polynomial::terms(e)) {
      if (std::count_if(t.atoms.begin(), t.atoms.end(), varies) > 1) return "it multiplies loop variables";
      for (const ExprNode* atom : t.atoms) {
        if (!varies(atom) || (atom->kind != ExprKind::kFloorDiv && atom->kind != ExprKind::kFloorMod))
          continue;
        if (varies(atom->args[1])) return "it divides by a loop variable";
        pending.emplace_back(atom->args[0]);
      }
    }
  }
  return {};
}

std::vector<const BlockIter*> iters_of_tensors(const Block& block) {
  std::unordered_set<const ExprNode*> used = variables_of_tensors(block.reads);
  used.merge(variables_of_tensors(block.writes));
  std::vector<const BlockIter*> out;
  for (const BlockIter& i : block.iters) {
    if (used.contains(i.var.get())) out.push_back(&i);
  }
  return out;
}

std::vector<const BlockIter*> iters_of_sources(const Block& block) {
  std::vector<Region> afresh;
  for (const Region& w : block.writes) {
    const bool read = std::any_of(block.reads.begin(), block.reads.end(),
                                  [&](const Region& r) { return r.buffer == w.buffer; });
    if (!read) afresh.push_back(w);
  }
  const std::unordered_set<const ExprNode*> written = variables_of_tensors({afresh.data(), afresh.size()});
  std::vector<const BlockIter*> out = iters_of_tensors(block);
  std::erase_if(out, [&](const BlockIter* i) { return written.contains(i->var.get()); });
  return out;
}

IndependentIters independent_iters(const Block& block, const Kernel& k) {
  // Variables that index parameters, and temporaries.
  std::unordered_set<const ExprNode*> outside, kept;
  const auto is_parameter = [&](const Buffer* b) {
    return std::find(k.inputs.begin(), k.inputs.end(), b) != k.inputs.end() ||
           std::find(k.outputs.begin(), k.outputs.end(), b) != k.outputs.end();
  };
  for (const auto& list : {block.reads, block.writes}) {
    for (const Region& r : list) {
      for (Expr m : r.min) {
        for (Expr v : variables(m)) {
          if (is_parameter(r.buffer)) {
            outside.insert(v.get());
          } else if (r.buffer->scope == Scope::kGlobal) {
            kept.insert(v.get());
          }
        }
      }
    }
  }
  const auto rank = [&](const BlockIter& i) {
    return outside.contains(i.var.get()) ? 0 : kept.contains(i.var.get()) ? 1 : 2;
  };
  IndependentIters out;
  std::vector<Digits> used;
  for (int r = 0; r < 3; ++r) {
    for (const BlockIter& i : block.iters) {
      if (rank(i) != r || (r == 2 && i.kind == IterKind::kSpatial)) continue;
      const std::optional<std::vector<Digits>> digits = digits_of(i.binding);
      if (!digits) out.untold.push_back(&i);
      if (!digits || overlap(*digits, used)) continue;
      used.insert(used.end(), digits->begin(), digits->end());
      out.iters.push_back(&i);
    }
  }
  return out;
}

}  // namespace relay::kernel
