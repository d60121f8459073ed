// join-products: products of one input with several constant weights become one product, with the
// weights side by side, of which slices are taken.
//
//   nn.dense(%x, a), nn.dense(%x, b)   become   slices of   %y = nn.dense(%x, a above b)
//
// So the gates of a recurrent cell are computed at once, however the program was written. Every
// element stays the sum of the same terms in the same order.
//
// A slice has to be read by a kernel that computes element by element. A product alone has such
// work done in its own kernel (`fuse`); once it is joined, this is a kernel by itself. So products
// join where fewer kernels are left: one for each joined product and one for what follows several
// products together, as the state of a cell follows its gates. What follows them must not belong to
// a product that stays alone, which takes elementwise work but no slices.
//
// Nothing is computed that was not computed before: products join only if all of them are evaluated
// whenever one is. No weight is kept twice: one that something else reads, too, or that would be
// beside others elsewhere, stays.
#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/evaluation_regions.h"
#include "analysis/primitives.h"
#include "analysis/views.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

using op::Fusion;

// Weights side by side: the axis along which they are, where their elements are, and their shapes.
using Weights = std::pair<size_t, std::vector<std::pair<const void*, Shape>>>;

// nn.dense or nn.matmul with a weight that is known, of which the outputs are along one axis.
struct Product {
  const Call* call;
  const Constant* weight;
  size_t group = 0;
  bool joins = true;
};

// The weight of a product that may join others, or null.
const Constant* weight_of(Context& context, const Call& call) {
  const auto product = analysis::product_view(&call);
  if (!product || product->batched || product->left_transposed) return nullptr;
  const Constant* weight = product->weight();
  if (!weight || weight->value->size() == 0) return nullptr;
  return analysis::fit_of(context, call, *product->def) == analysis::Fit::kProved ? weight : nullptr;
}

// The axis of the weight along which its outputs are.
size_t axis_of_outputs(const Call& product) { return analysis::product_view(&product)->column_axis(); }

// Attributes that all products of a group have: all but the number of outputs.
Attrs common_attributes(Context& context, const Call& product) {
  std::vector<Attr> items;
  for (const Attr& a : product.attrs) {
    if (a.name.text() != "units") items.push_back(a);
  }
  return context.intern_attrs(std::move(items));
}

// Products of one input that are evaluated together.
struct Group {
  const op::OpDef* def;
  Attrs attrs;
  DType weight_dtype;
  uint32_t region;
  std::vector<size_t> products;  // in evaluation order
};

// Where the element-wise calls that follow a product come to an end: with a kernel that only
// joining makes necessary, or in one that there is anyway.
struct End {
  Expr e;
  bool is_new;
};

// What may join: weights that nothing but such products uses, by where their elements are, and the
// functions with products.
struct Candidates {
  std::set<const void*> weights;
  std::vector<Symbol> functions;
};

Candidates find_candidates(const Module& m) {
  Candidates out;
  std::map<const void*, size_t> by_products, by_anything;  // by where the elements are: how often it is used
  for (const auto& [name, fn] : m.functions()) {
    bool any = false;
    for (Expr e : post_order(fn)) {
      const auto* call = e->as<Call>();
      const Constant* weight = call ? weight_of(m.context(), *call) : nullptr;
      if (weight) ++by_products[weight->value->data()];
      any |= weight != nullptr;
      for_each_child(e, [&](Expr child) {
        if (const auto* c = child->as<Constant>()) ++by_anything[c->value->data()];
      });
    }
    if (any) out.functions.push_back(name);
  }
  for (const auto& [weight, uses] : by_products) {
    if (by_anything[weight] == uses) out.weights.insert(weight);
  }
  return out;
}

class Joiner {
 public:
  Joiner(const Module& m, Expr root)
      : context_(m.context()),
        root_(root),
        order_(post_order(root)),
        scopes_(scopes(root)),
        regions_(analysis::evaluation_regions(scopes_, order_)),
        effects_(m, root),
        inside_kernel_(analysis::inside_primitives(order_)) {
    for (Expr e : order_) for_each_child(e, [&](Expr child) { user_[child] = e; });
  }

  // Chooses the products that join, among those of these weights.
  void choose(const std::set<const void*>& weights) {
    products_.clear();
    groups_.clear();
    product_of_.clear();
    collect(weights);
    for (const Group& g : groups_) {
      if (g.products.size() < 2) products_[g.products[0]].joins = false;
    }
    while (any_joins() && drop_some()) {
    }
  }

  // For each weight the one that it becomes part of; none for one that stays, or
  // would be in it twice.
  void report(const std::function<void(const void* weight, const Weights& whole)>& f) const {
    for (const Group& g : groups_) {
      const Weights whole = weights_of(g);
      std::set<const void*> parts;
      for (size_t i : g.products) {
        const Product& p = products_[i];
        const bool once = parts.insert(p.weight->value->data()).second;
        f(p.weight->value->data(), p.joins && once ? whole : Weights{});
      }
    }
  }

  // The function with the chosen products joined; `constants` has what was made so far.
  Expr rebuild(std::map<Weights, Expr>& constants) {
    if (!any_joins()) return root_;
    relay::Builder b(context_);
    std::vector<Expr> product_of_group(groups_.size());
    std::vector<int64_t> next_output(groups_.size());
    NodeMap<Expr> now;
    for (Expr e : order_) {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      now[e] = with_children(context_, e, children);
      if (!joins(e)) continue;
      const Product& p = products_[product_of_.at(e)];
      SpanScope at(b, e->span);
      Expr& product = product_of_group[p.group];
      if (!product) product = product_of(b, groups_[p.group], now.get(p.call->args[0]), constants);
      // Slices are in evaluation order, as their weights are.
      int64_t& begin = next_output[p.group];
      const int64_t end = begin + p.weight->value->shape()[axis_of_outputs(*p.call)];
      const auto axis = static_cast<int64_t>(e->type->as<TensorType>()->rank()) - 1;
      now[e] = op::call(b, op::kStridedSlice, {product},
                        {{"begin", std::vector<int64_t>{begin}},
                         {"end", std::vector<int64_t>{end}},
                         {"axes", std::vector<int64_t>{axis}}});
      begin = end;
    }
    return now.get(root_);
  }

 private:
  // One node for all projections of the same field of the same value: these are not shared.
  Expr input_of(Expr e) {
    std::vector<const Proj*> inwards;
    for (const auto* p = e->as<Proj>(); p; p = p->tuple->as<Proj>()) inwards.push_back(p);
    Expr known = inwards.empty() ? e : inwards.back()->tuple;
    for (const Proj* p : std::views::reverse(inwards))
      known = projections_.try_emplace({known, p->index}, p).first->second;
    return known;
  }

  void collect(const std::set<const void*>& weights) {
    std::unordered_map<Expr, std::vector<size_t>> groups_of;  // by input
    for (Expr e : order_) {
      const auto* call = e->as<Call>();
      const Constant* weight = call && !inside_kernel_.contains(e) ? weight_of(context_, *call) : nullptr;
      if (!weight || !weights.contains(weight->value->data())) continue;
      Group group{op::callee(*call),
                  common_attributes(context_, *call),
                  weight->value->dtype(),
                  regions_[scopes_.scope_of.get(e)],
                  {}};
      // What cannot be evaluated at another time is its own input alone.
      const Expr input = effects_.steady(call->args[0]) ? input_of(call->args[0]) : e;
      std::vector<size_t>& known = groups_of[input];
      size_t g = groups_.size();
      for (size_t other : known) {
        const Group& o = groups_[other];
        if (o.def == group.def && o.attrs == group.attrs && o.weight_dtype == group.weight_dtype &&
            o.region == group.region)
          g = other;
      }
      if (g == groups_.size()) {
        known.push_back(g);
        groups_.push_back(std::move(group));
      }
      product_of_[e] = products_.size();
      groups_[g].products.push_back(products_.size());
      products_.push_back({call, weight, g});
    }
  }

  bool any_joins() const {
    return std::any_of(products_.begin(), products_.end(), [](const Product& p) { return p.joins; });
  }
  bool joins(Expr e) const {
    const auto it = product_of_.find(e);
    return it != product_of_.end() && products_[it->second].joins;
  }

  // The operator of a call that can share a kernel with calls of its own scope; null for
  // other expressions.
  const op::OpDef* fusible(Expr e) {
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (!def || !def->lower || def->effects == op::Effects::kEffect) return nullptr;
    std::optional<bool>& known = fusible_[e];
    if (!known)
      known = call->type && call->type->as<TensorType>() && !analysis::may_trap(context_, *call, *def);
    return *known ? def : nullptr;
  }
  bool is_elementwise(Expr e) {
    const op::OpDef* def = fusible(e);
    return def && def->fusion <= Fusion::kBroadcast;
  }

  bool same_scope(Expr a, Expr b) const { return scopes_.scope_of.get(a) == scopes_.scope_of.get(b); }

  static bool same_shape(Expr a, Expr b) {
    const auto* x = a->type ? a->type->as<TensorType>() : nullptr;
    const auto* y = b->type ? b->type->as<TensorType>() : nullptr;
    return x && y && x->dims == y->dims;
  }

  // Which element-wise calls may be done in the kernel of a product, or the like, that stays alone.
  NodeMap<bool> followers() {
    NodeMap<bool> leaves;  // used by something else than element-wise calls of its scope
    for (Expr e : order_) {
      const bool elementwise = is_elementwise(e);
      for_each_child(e, [&](Expr child) {
        if (!elementwise || !same_scope(child, e)) leaves[child] = true;
      });
    }
    NodeMap<bool> follows;
    for (Expr e : order_) {
      if (!is_elementwise(e)) continue;
      for_each_child(e, [&](Expr child) {
        if (leaves.get(child) || !same_shape(child, e)) return;
        const op::OpDef* def = op::callee(child);
        const bool alone = def && def->fusion == Fusion::kOutputFusable && !joins(child);
        if (alone || follows.get(child)) follows[e] = true;
      });
    }
    return follows;
  }

  // Nothing if what follows would be done in the kernel of a product that stays alone.
  std::optional<End> end_of(Expr e, const NodeMap<bool>& follows) {
    for (;;) {
      if (scopes_.uses.get(e) != 1) return End{e, true};
      Expr user = user_.get(e);
      // The tuple of what is concatenated is no value.
      if (user->kind == ExprKind::kTuple && scopes_.uses.get(user) == 1 && fusible(user_.get(user)))
        user = user_.get(user);
      const op::OpDef* def = fusible(user);
      if (!def || !same_scope(user, e) || def->fusion > Fusion::kReduction) return End{e, true};
      if (def->fusion > Fusion::kBroadcast && !def->view) return End{user, false};
      if (follows.get(user)) return std::nullopt;
      e = user;
    }
  }

  // Sets products aside that would not gain by joining; true if there were any. The others are
  // to be asked again.
  bool drop_some() {
    const NodeMap<bool> follows = followers();
    std::vector<std::optional<End>> ends(products_.size());
    std::unordered_map<Expr, size_t> members_of_end;
    std::vector<size_t> members_of_group(groups_.size());
    for (size_t i = 0; i < products_.size(); ++i) {
      if (!products_[i].joins) continue;
      ends[i] = end_of(products_[i].call, follows);
      if (!ends[i]) continue;
      ++members_of_end[ends[i]->e];
      ++members_of_group[products_[i].group];
    }
    bool dropped = false;
    for (size_t i = 0; i < products_.size(); ++i) {
      Product& p = products_[i];
      if (!p.joins) continue;
      const bool alone =
          !ends[i] || members_of_group[p.group] < 2 || (ends[i]->is_new && members_of_end[ends[i]->e] < 2);
      dropped |= alone;
      p.joins = !alone;
    }
    return dropped || drop_clusters(ends);
  }

  // Products hang together if they are of one group or end in one kernel. Joining takes the kernels
  // of all of them away, and adds one for each group and one for each new end.
  bool drop_clusters(const std::vector<std::optional<End>>& ends) {
    std::vector<size_t> cluster(groups_.size());
    std::iota(cluster.begin(), cluster.end(), size_t{0});
    const auto find = [&](size_t g) {
      while (cluster[g] != g) g = cluster[g] = cluster[cluster[g]];
      return g;
    };
    std::unordered_map<Expr, size_t> group_of_end;
    for (size_t i = 0; i < products_.size(); ++i) {
      if (!products_[i].joins) continue;
      const size_t g = products_[i].group;
      cluster[find(g)] = find(group_of_end.try_emplace(ends[i]->e, g).first->second);
    }
    std::vector<int64_t> saved(groups_.size());
    std::set<size_t> groups;
    std::set<Expr> new_ends;
    for (size_t i = 0; i < products_.size(); ++i) {
      if (!products_[i].joins) continue;
      const size_t g = products_[i].group;
      ++saved[find(g)];
      if (groups.insert(g).second) --saved[find(g)];
      if (ends[i]->is_new && new_ends.insert(ends[i]->e).second) --saved[find(g)];
    }
    bool dropped = false;
    for (Product& p : products_) {
      if (!p.joins || saved[find(p.group)] > 0) continue;
      p.joins = false;
      dropped = true;
    }
    return dropped;
  }

  Weights weights_of(const Group& group) const {
    Weights out;
    for (size_t i : group.products) {
      const Product& p = products_[i];
      if (!p.joins) continue;
      out.first = axis_of_outputs(*p.call);
      out.second.emplace_back(p.weight->value->data(), p.weight->value->shape());
    }
    return out;
  }

  Expr product_of(relay::Builder& b, const Group& group, Expr input, std::map<Weights, Expr>& constants) {
    const Weights key = weights_of(group);
    Expr& weight = constants[key];
    if (!weight) {
      std::vector<Value> parts;
      for (size_t i : group.products) {
        if (products_[i].joins) parts.push_back(Value(*products_[i].weight->value));
      }
      const std::vector<Value> args{Value::tuple(std::move(parts))};
      const Attrs attrs = context_.attrs({{"axis", static_cast<int64_t>(key.first)}});
      weight = b.constant(op::evaluate(context_, op::kConcatenate, args, attrs).tensor());
    }
    std::vector<AttrArg> attrs;
    for (const Attr& a : group.attrs) attrs.push_back({std::string(a.name.text()), a.value});
    return op::call(b, *group.def, {input, weight}, attrs);
  }

  Context& context_;
  Expr root_;
  const std::vector<Expr> order_;
  const Scopes scopes_;
  const std::vector<uint32_t> regions_;
  analysis::Effects effects_;
  const std::unordered_set<Expr> inside_kernel_;
  NodeMap<Expr> user_;  // of nodes that are used once
  NodeMap<std::optional<bool>> fusible_;
  std::map<std::pair<Expr, uint32_t>, Expr> projections_;
  std::vector<Product> products_;
  std::vector<Group> groups_;
  std::unordered_map<Expr, size_t> product_of_;
};

Module run(const Module& m, const PassContext&) {
  Candidates candidates = find_candidates(m);
  if (candidates.weights.size() < 2) return m;
  std::deque<Joiner> joiners;
  for (Symbol name : candidates.functions) joiners.emplace_back(m, m.function(name.text()));
  for (bool again = true; again;) {
    again = false;
    std::map<const void*, Weights> wholes;
    for (Joiner& j : joiners) j.choose(candidates.weights);
    for (Joiner& j : joiners) {
      j.report([&](const void* weight, const Weights& whole) {
        if (wholes.try_emplace(weight, whole).first->second != whole)
          again |= candidates.weights.erase(weight) > 0;
      });
    }
  }
  Module out = m;
  std::map<Weights, Expr> constants;
  for (size_t i = 0; i < joiners.size(); ++i) {
    const std::string_view name = candidates.functions[i].text();
    const Expr now = joiners[i].rebuild(constants);
    if (now != m.function(name)) out.set_function(name, now->as<Fn>());
  }
  return out;
}

}  // namespace

const Pass kJoinProducts = {
    .name = "join-products",
    .doc = "compute products of one input with several constant weights as one",
    .run = run,
};

}  // namespace relay::passes
