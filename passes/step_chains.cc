#include "passes/step_chains.h"

#include <algorithm>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/primitives.h"
#include "analysis/views.h"
#include "ir/analysis.h"
#include "ir/traverse.h"
#include "op/ops.h"
#include "op/registry.h"

namespace relay::passes {
namespace {

using op::Fusion;

const TensorType* tensor_type(Expr e) { return e->type ? e->type->as<TensorType>() : nullptr; }

// Does the product take as long as its weight takes to be read?
bool waits_for_weight(const analysis::ProductView& product, int64_t rows, const ChainLimits& limits) {
  const target::Cpu& cpu = limits.cpu;
  const Tensor& weight = *product.weight()->value;
  const auto bytes = static_cast<int64_t>(weight.bytes());
  if (limits.cores > 0 && bytes / limits.cores <= cpu.l2.bytes + cpu.l3.bytes) return false;
  // While an element is read from beyond the caches of a core, this many are multiplied by a row.
  // Those that are narrower than float32 are multiplied as such.
  const auto element = static_cast<int64_t>(weight.dtype().bytes());
  const int64_t lanes = cpu.vector_bytes / std::max<int64_t>(element, 4);
  return rows < element * cpu.products_per_cycle * lanes / std::max<int64_t>(1, cpu.l3.bytes_per_cycle);
}

class Finder {
 public:
  Finder(const Module& m, const Fn* fn, const ChainLimits& limits)
      : context_(m.context()),
        order_(post_order(fn)),
        scopes_(scopes(fn)),
        inside_kernel_(analysis::inside_primitives(order_)),
        limits_(limits) {}

  std::vector<StepChain> run(const ConstantUses& uses) {
    std::map<std::pair<const void*, uint32_t>, std::vector<const Call*>> products;  // by weight and scope
    std::vector<std::pair<const void*, uint32_t>> found;
    for (Expr e : order_) {
      const auto product = product_of(e);
      if (!product) continue;
      const std::pair key(product->weight()->value->data(), scopes_.scope_of.get(e));
      std::vector<const Call*>& all = products[key];
      if (all.empty()) found.push_back(key);
      all.push_back(product->call);
    }
    std::vector<StepChain> out;
    for (const auto& key : found) {
      const std::vector<const Call*>& all = products.at(key);
      const auto known = uses.find(key.first);
      if (all.size() < 2 || known == uses.end() || known->second != all.size()) continue;
      std::optional<StepChain> chain = chain_of(all);
      if (!chain) continue;
      for (const ChainStep& s : chain->steps) {
        for (const Units& u : s.cell) {
          if (chain->is_state(u)) states_.insert(u.e);
        }
      }
      out.push_back(std::move(*chain));
    }
    return out;
  }

 private:
  // A product that may be a step: of some rows with a large constant weight that has some gates for
  // each unit of a row.
  std::optional<analysis::ProductView> product_of(Expr e) {
    const auto product = analysis::product_view(e);
    if (!product || product->batched || product->left_transposed || !product->weight() ||
        inside_kernel_.contains(e))
      return std::nullopt;
    const TensorType& x = *product->left;
    if (x.rank() != 2 || !x.is_static() || x.dims[0].value() == 0) return std::nullopt;
    const ChainWeight w = weight_of(*product);
    const bool fits = w.gates > 0 && product->weight()->value->shape()[w.output_axis] % w.units == 0 &&
                      w.units % limits_.unit_step == 0;
    return fits && waits_for_weight(*product, w.rows, limits_) ? product : std::nullopt;
  }

  static ChainWeight weight_of(const analysis::ProductView& product) {
    const size_t axis = product.column_axis();
    const Shape& shape = product.weight()->value->shape();
    const int64_t units = shape[1 - axis];
    return {product.weight(), axis, product.left->dims[0].value(), units,
            units > 0 ? shape[axis] / units : 0};
  }

  std::optional<StepChain> chain_of(const std::vector<const Call*>& products) {
    const auto first = analysis::product_view(products[0]);
    StepChain chain{weight_of(*first), {}};
    NodeMap<size_t> latest;  // the number of the last product that it depends on, from 1
    size_t next = 0;
    for (Expr e : order_) {
      size_t& own = latest[e];
      for_each_child(e, [&](Expr child) { own = std::max(own, latest.get(child)); });
      if (next == products.size() || e != products[next]) continue;
      const auto product = analysis::product_view(e);
      // Each depends on the one before, and multiplies as many rows in the same way.
      if (own != next || product->def != first->def || products[next]->attrs != products[0]->attrs ||
          product->left->dims != first->left->dims || product->left->dtype != first->left->dtype ||
          (next > 0 && products[next]->args[0] == products[next - 1]))
        return std::nullopt;
      own = ++next;
    }
    known_.clear();
    for (size_t i = 0; i < products.size(); ++i) {
      chain.steps.push_back({products[i]});
      if (i > 0 && !follow(chain, i, latest)) return std::nullopt;
    }
    return chain;
  }

  // Finds out how the units of the argument of step i follow from the product before. False if they
  // do not, unit by unit.
  bool follow(StepChain& chain, size_t i, const NodeMap<size_t>& latest) {
    ChainStep& step = chain.steps[i];
    const Expr before = chain.steps[i - 1].product;
    const uint32_t scope = scopes_.scope_of.get(before);
    std::vector<std::pair<Units, bool>> pending{{{step.product->args[0], 0}, false}};
    while (!pending.empty()) {
      const auto [units, done] = pending.back();
      pending.pop_back();
      const Expr e = units.e;
      if (done) {
        step.cell.push_back(units);
        continue;
      }
      if (e == before) {
        if (units.offset % chain.weight.units != 0) return false;
        continue;
      }
      if (known_.contains(units)) continue;
      if (latest.get(e) < i) {
        step.wholes.push_back(e);
        continue;
      }
      if (chain.is_state(units) && states_.contains(e)) return false;  // another chain makes it
      known_.insert(units);
      const std::optional<std::vector<Units>> args = arguments(units, i, latest, step.wholes);
      if (!args || scopes_.scope_of.get(e) != scope) return false;
      pending.push_back({units, true});
      for (const Units& a : *args) pending.push_back({a, false});
    }
    return true;
  }

  // Of a call that works unit by unit: the units of its arguments. What all units share must
  // be there before.
  std::optional<std::vector<Units>> arguments(const Units& units, size_t i, const NodeMap<size_t>& latest,
                                              std::vector<Expr>& wholes) {
    const auto* call = units.e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (!def || inside_kernel_.contains(call) || analysis::may_trap(context_, *call, *def))
      return std::nullopt;
    if (def == &op::kStridedSlice) {
      const std::optional<int64_t> begin = begin_of_slice(call);
      if (!begin) return std::nullopt;
      return std::vector<Units>{{call->args[0], *begin + units.offset}};
    }
    if (!is_unitwise(*call, *def)) return std::nullopt;
    std::vector<Units> out;
    for (Expr arg : call->args) {
      if (last_extent(arg) == last_extent(call)) {
        out.push_back({arg, units.offset});
      } else if (is_shared(arg) && latest.get(arg) < i) {
        wholes.push_back(arg);
      } else {
        return std::nullopt;
      }
    }
    return out;
  }

  // An elementwise call whose attributes say nothing of extents.
  static bool is_unitwise(const Call& call, const op::OpDef& def) {
    if (def.effects == op::Effects::kEffect || last_extent(&call) <= 1) return false;
    return def.fusion == Fusion::kElementwise || (def.fusion == Fusion::kBroadcast && call.attrs.empty());
  }
  // One element for all units.
  static bool is_shared(Expr e) {
    const TensorType* t = tensor_type(e);
    return t && (t->rank() == 0 || last_extent(e) == 1);
  }

  Context& context_;
  const std::vector<Expr> order_;
  const Scopes scopes_;
  const std::unordered_set<Expr> inside_kernel_;
  const ChainLimits limits_;
  std::unordered_set<Expr> states_;  // of the chains found so far
  std::set<Units> known_;            // of all cells of the chain at hand
};

}  // namespace

bool StepChain::is_state(const Units& u) const { return u.offset == 0 && last_extent(u.e) == weight.units; }

int64_t last_extent(Expr e) {
  const TensorType* t = tensor_type(e);
  return t && t->rank() > 0 && t->dims[t->rank() - 1].is_const() ? t->dims[t->rank() - 1].value() : -1;
}

std::optional<int64_t> begin_of_slice(Expr e) {
  const auto slice = analysis::slice_view(e);
  if (!slice || slice->axis + 1 != slice->of->rank()) return std::nullopt;
  return slice->begin;
}

ConstantUses constant_uses(const Module& m) {
  ConstantUses uses;
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) {
      for_each_child(e, [&](Expr child) {
        if (const auto* c = child->as<Constant>()) ++uses[c->value->data()];
      });
    }
  }
  return uses;
}

std::vector<StepChain> find_step_chains(const Module& m, const Fn* fn, const ConstantUses& uses,
                                        const ChainLimits& limits) {
  return Finder(m, fn, limits).run(uses);
}

}  // namespace relay::passes
