// join-products: products of one input with several constant weights become one product, with the
// weights side by side, of which slices are taken.
//
//   nn.dense(%x, a), nn.dense(%x, b)   become   slices of   %y = nn.dense(%x, a above b)
//
// So the gates of a recurrent cell are computed at once, however the program was written. Every
// element stays the sum of the same terms in the same order.
//
// A slice has to be read by a kernel that computes element by element. A product alone has such
// work done in its own kernel (`fuse`); once it is joined, this is a kernel by itself. So weights
// join where fewer kernels are left, which analysis::kernel_groups says of the rewritten program.
// All that can be joined is joined at first; then wholes and single weights are taken out again as
// long as no more kernels are left.
//
// Nothing is computed that was not computed before: products join only if all of them are evaluated
// whenever one is. No weight is kept twice: one that something else reads, too, or that would be
// beside others elsewhere, stays.
//
// Before: weights are constants that stand where they are used. After: as many kernels as
// before, or fewer.
#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/evaluation_regions.h"
#include "analysis/kernel_groups.h"
#include "analysis/primitives.h"
#include "analysis/views.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/accepts.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Weights by their numbers, in the order in which the program has them. Constants with the same
// elements in memory are one weight.
using Weights = std::set<size_t>;
// Side by side, in evaluation order: the axis along which they are, and the weights.
using Whole = std::pair<size_t, std::vector<size_t>>;

// nn.dense or nn.matmul with a weight that is known.
struct Product {
  const Call* call;
  size_t weight, group;
};

// A product that may join others: it has a weight.
std::optional<analysis::ProductView> joinable(Context& context, Expr e) {
  const auto product = analysis::product_view(e);
  if (!product || product->batched || product->left_transposed) return std::nullopt;
  const Constant* weight = product->weight();
  if (!weight || weight->value->size() == 0) return std::nullopt;
  const bool fits = analysis::fit_of(context, *product->call, *product->def) == analysis::Fit::kProved;
  return fits ? product : std::nullopt;
}

// Products of one input that are evaluated together.
struct Group {
  const op::OpDef* def;
  Attrs attrs;
  DType weight_dtype;
  uint32_t region;
  size_t output_axis;            // of the weights
  std::vector<size_t> products;  // in evaluation order
};

// The weights that nothing but products uses.
class Candidates {
 public:
  explicit Candidates(const Module& m) {
    std::map<const void*, size_t> by_products,
        by_anything;  // by where the elements are: how often it is used
    std::vector<const Constant*> found;
    for (const auto& [name, fn] : m.functions()) {
      bool any = false;
      for (Expr e : post_order(fn)) {
        const auto product = joinable(m.context(), e);
        const Constant* weight = product ? product->weight() : nullptr;
        if (weight && by_products[weight->value->data()]++ == 0) found.push_back(weight);
        any |= weight != nullptr;
        for_each_child(e, [&](Expr child) {
          if (const auto* c = child->as<Constant>()) ++by_anything[c->value->data()];
        });
      }
      if (any) functions.push_back(name);
    }
    for (const Constant* weight : found) {
      const void* elements = weight->value->data();
      if (by_anything[elements] != by_products[elements]) continue;
      numbers_.emplace(elements, constants.size());
      constants.push_back(weight);
    }
  }

  std::optional<size_t> number(const Constant& weight) const {
    const auto it = numbers_.find(weight.value->data());
    return it == numbers_.end() ? std::nullopt : std::optional(it->second);
  }

  std::vector<Symbol> functions;           // with products
  std::vector<const Constant*> constants;  // one for each weight, by its number

 private:
  std::map<const void*, size_t> numbers_;
};

// The products of one function.
class Joiner {
 public:
  Joiner(const Module& m, Expr root, const Candidates& candidates)
      : context_(m.context()),
        candidates_(candidates),
        root_(root),
        order_(post_order(root)),
        scopes_(scopes(root)),
        regions_(analysis::evaluation_regions(scopes_, order_)),
        effects_(m, root),
        inside_kernel_(analysis::inside_primitives(order_)) {
    collect();
  }

  Expr root() const { return root_; }
  const Weights& weights() const { return weights_; }

  // What joins if these weights do: for each group one whole, or an empty one.
  std::vector<Whole> wholes(const Weights& joined) const {
    std::vector<Whole> out;
    for (const Group& g : groups_) {
      Whole& whole = out.emplace_back(g.output_axis, std::vector<size_t>());
      for (size_t i : g.products) {
        if (joined.contains(products_[i].weight)) whole.second.push_back(products_[i].weight);
      }
      if (whole.second.size() < 2) whole.second.clear();
    }
    return out;
  }

  // The weights that would be in another whole at each place, or twice in one.
  void find_conflicts(const Weights& joined, std::map<size_t, Whole>& whole_of, Weights& out) const {
    const std::vector<Whole> all = wholes(joined);
    for (size_t g = 0; g < groups_.size(); ++g) {
      Weights seen;
      for (size_t i : groups_[g].products) {
        const size_t weight = products_[i].weight;
        if (!joined.contains(weight)) continue;
        const bool is_same = whole_of.try_emplace(weight, all[g]).first->second == all[g];
        if (!is_same || !seen.insert(weight).second) out.insert(weight);
      }
    }
  }

  // The function with these weights joined, which are `made` of a whole and its type.
  template <class Make>
  Expr rebuild(const Weights& joined, const Make& make) const {
    const std::vector<Whole> all = wholes(joined);
    relay::Builder b(context_);
    std::vector<Expr> product_of_group(groups_.size());
    std::vector<int64_t> next_output(groups_.size());
    NodeMap<Expr> now;
    for (Expr e : order_) {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      now[e] = with_children(context_, e, children);
      const auto it = product_of_.find(e);
      if (it == product_of_.end()) continue;
      const Product& p = products_[it->second];
      const Group& group = groups_[p.group];
      if (all[p.group].second.empty() || !joined.contains(p.weight)) continue;
      SpanScope at(b, e->span);
      Expr& product = product_of_group[p.group];
      if (!product) product = product_of(b, group, now.get(p.call->args[0]), make(b, all[p.group]));
      // Slices are in evaluation order, as their weights are.
      int64_t& begin = next_output[p.group];
      const int64_t end = begin + shape_of(p.weight)[group.output_axis];
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
  const Shape& shape_of(size_t weight) const { return candidates_.constants[weight]->value->shape(); }

  // One node for all projections of the same field of the same value: these are not shared.
  Expr input_of(Expr e) {
    std::vector<const Proj*> inwards;
    for (const auto* p = e->as<Proj>(); p; p = p->tuple->as<Proj>()) inwards.push_back(p);
    Expr known = inwards.empty() ? e : inwards.back()->tuple;
    for (const Proj* p : std::views::reverse(inwards))
      known = projections_.try_emplace({known, p->index}, p).first->second;
    return known;
  }

  void collect() {
    std::unordered_map<Expr, std::vector<size_t>> groups_of;  // by input
    for (Expr e : order_) {
      const auto product = inside_kernel_.contains(e) ? std::nullopt : joinable(context_, e);
      const std::optional<size_t> number = product ? candidates_.number(*product->weight()) : std::nullopt;
      if (!number) continue;
      const Call* call = product->call;
      Group group{product->def,           context_.attrs(product->attrs_for_other_columns()),
                  product->right->dtype,  regions_[scopes_.scope_of.get(e)],
                  product->column_axis(), {}};
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
      products_.push_back({call, *number, g});
      weights_.insert(*number);
    }
  }

  static Expr product_of(relay::Builder& b, const Group& group, Expr input, Expr weight) {
    return op::call(b, *group.def, {input, weight}, op::attr_args(group.attrs));
  }

  Context& context_;
  const Candidates& candidates_;
  Expr root_;
  const std::vector<Expr> order_;
  const Scopes scopes_;
  const std::vector<uint32_t> regions_;
  analysis::Effects effects_;
  const std::unordered_set<Expr> inside_kernel_;
  std::map<std::pair<Expr, uint32_t>, Expr> projections_;
  std::vector<Product> products_;
  std::vector<Group> groups_;
  std::unordered_map<Expr, size_t> product_of_;
  Weights weights_;
};

// Looks for the weights whose joining leaves the fewest kernels.
class Search {
 public:
  Search(const Module& m, const kernel::schedule::Accepts& accepts, const Candidates& candidates,
         std::deque<Joiner>& joiners)
      : m_(m), accepts_(accepts), candidates_(candidates), joiners_(joiners) {}

  Weights run() {
    for (size_t w = 0; w < candidates_.constants.size(); ++w) best_.insert(w);
    best_ = without_conflicts(best_);
    if (best_.empty()) return {};
    least_ = kernels(best_);
    if (kernels({}) <= least_) return {};
    while (drop_some()) {
    }
    return best_;
  }

 private:
  struct Trial {
    Weights joined;
    size_t kernels;  // that are left
  };

  // Takes a whole, or a weight of one, out of the best if that leaves no more kernels. False if
  // nothing can be taken out.
  bool drop_some() {
    for (const auto& [whole, places] : wholes_of(best_)) {
      const Trial none = without(whole.second);
      if (keeps(none)) return true;
      // A product less for each weight but one is all that a whole wins by itself: no part of it
      // wins more.
      if (whole.second.size() == 2 || none.kernels >= least_ + places * (whole.second.size() - 1)) continue;
      for (size_t w : whole.second) {
        if (keeps(without({w}))) return true;
      }
    }
    return false;
  }

  Trial without(const std::vector<size_t>& some) {
    Trial out{best_, 0};
    for (size_t w : some) out.joined.erase(w);
    out.joined = without_conflicts(std::move(out.joined));
    out.kernels = kernels(out.joined);
    return out;
  }

  bool keeps(const Trial& trial) {
    if (trial.kernels > least_) return false;
    best_ = trial.joined;
    least_ = trial.kernels;
    return true;
  }

  // Without weights that would be beside others elsewhere, and those that would be alone.
  Weights without_conflicts(Weights joined) const {
    for (;;) {
      std::map<size_t, Whole> whole_of;
      Weights conflicts;
      for (const Joiner& j : joiners_) j.find_conflicts(joined, whole_of, conflicts);
      for (const auto& [weight, whole] : whole_of) {
        if (whole.second.empty()) conflicts.insert(weight);
      }
      if (conflicts.empty()) return joined;
      for (size_t w : conflicts) joined.erase(w);
    }
  }

  // In how many places each is.
  std::map<Whole, size_t> wholes_of(const Weights& joined) const {
    std::map<Whole, size_t> out;
    for (const Joiner& j : joiners_) {
      for (const Whole& w : j.wholes(joined)) {
        if (!w.second.empty()) ++out[w];
      }
    }
    return out;
  }

  size_t kernels(const Weights& joined) {
    size_t sum = 0;
    for (size_t i = 0; i < joiners_.size(); ++i) {
      Weights own;
      std::set_intersection(joined.begin(), joined.end(), joiners_[i].weights().begin(),
                            joiners_[i].weights().end(), std::inserter(own, own.end()));
      const auto [it, fresh] = known_.try_emplace({i, own}, 0);
      if (fresh) it->second = analysis::kernel_groups(m_, tried(joiners_[i], own), accepts_).size();
      sum += it->second;
    }
    return sum;
  }

  // What counts of a weight is its type.
  Expr tried(const Joiner& joiner, const Weights& joined) const {
    if (joined.empty()) return joiner.root();
    return joiner.rebuild(joined, [&](relay::Builder& b, const Whole& whole) {
      Shape shape = candidates_.constants[whole.second[0]]->value->shape();
      shape[whole.first] = 0;
      for (size_t w : whole.second)
        shape[whole.first] += candidates_.constants[w]->value->shape()[whole.first];
      const Type type = b.context().tensor_type(std::vector<Dim>(shape.begin(), shape.end()),
                                                candidates_.constants[whole.second[0]]->value->dtype());
      return b.with_type(b.var("weight", type), type);
    });
  }

  const Module& m_;
  const kernel::schedule::Accepts accepts_;
  const Candidates& candidates_;
  std::deque<Joiner>& joiners_;
  Weights best_;
  size_t least_ = 0;                                    // kernels that it leaves
  std::map<std::pair<size_t, Weights>, size_t> known_;  // by function
};

Module run(const Module& m, const PassContext& pass) {
  const Candidates candidates(m);
  if (candidates.constants.size() < 2) return m;
  std::deque<Joiner> joiners;
  for (Symbol name : candidates.functions) joiners.emplace_back(m, m.function(name.text()), candidates);
  const Weights joined = Search(m, accepts_of(pass.target), candidates, joiners).run();
  if (joined.empty()) return m;
  Module out = m;
  std::map<Whole, Expr> constants;
  const auto concatenated = [&](relay::Builder& b, const Whole& whole) {
    Expr& weight = constants[whole];
    if (weight) return weight;
    std::vector<Value> parts;
    for (size_t w : whole.second) parts.push_back(Value(*candidates.constants[w]->value));
    const std::vector<Value> args{Value::tuple(std::move(parts))};
    const Attrs attrs = m.context().attrs({{"axis", static_cast<int64_t>(whole.first)}});
    return weight = b.constant(op::evaluate(m.context(), op::kConcatenate, args, attrs).tensor());
  };
  for (size_t i = 0; i < joiners.size(); ++i) {
    const Expr now = joiners[i].rebuild(joined, concatenated);
    if (now != joiners[i].root()) out.set_function(candidates.functions[i].text(), now->as<Fn>());
  }
  return out;
}

}  // namespace

const Pass kJoinProducts = {
    .name = "join-products",
    .doc = "compute products of one input with several constant weights as one",
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
