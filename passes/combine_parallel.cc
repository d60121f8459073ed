// combine-parallel-conv2d, -dense, -batch-matmul: calls of one operator on one input become one
// call, of whose result slices are taken.
//
//   nn.conv2d(%x, a), nn.conv2d(%x, b), nn.conv2d(%x, c)
//     becomes   slices of   nn.conv2d(%x, a, b and c side by side)
//
// Each element of a result stays the sum of the same terms in the same order. `branches` says how
// many calls are needed: a slice costs a kernel that a single call does not need.
//
// The calls need the same attributes, and weights that differ only in their output channels. A
// convolution has one group. Weights of convolutions and nn.dense are constants; the right operands
// of nn.batch_matmul may be computed, and are then concatenated when the program runs.
//
// `join-products` joins nn.dense and nn.matmul, too. It joins what leaves fewer kernels, weight by
// weight, and keeps no weight twice. These passes join by the number of branches alone, as their
// user wants, and also convolutions and batches of matrices.
//
// Nothing is computed that was not computed before: the calls are evaluated whenever one of them
// is, and are in one scope. Before: nothing is asked for; `inline-lets` goes before, as a let
// begins a scope. After: no `branches` such calls are left.
#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_set>
#include <vector>

#include "analysis/effects.h"
#include "analysis/primitives.h"
#include "analysis/views.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/each_function.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// A call that may join others.
struct Branch {
  const Call* call;
  size_t weight_axis;  // of the second operand: along it weights are put side by side
  size_t axis;         // of the result: along it slices are taken
  Attrs attrs;         // that others must have, too
};

// The number of elements along an axis that is known.
int64_t extent_of(Expr e, size_t axis) { return e->type->as<TensorType>()->dims[axis].value(); }

std::optional<Branch> convolution_branch(Context& context, Expr e) {
  const auto v = analysis::convolution_view(e);
  if (!v || v->transposed || v->convolution.groups != 1 || !v->weight()) return std::nullopt;
  return Branch{v->call, v->convolution.weight.place(0), v->convolution.data.place(1),
                context.attrs(op::attr_args(v->call->attrs, "channels"))};
}

std::optional<Branch> product_branch(Context& context, Expr e) {
  const auto v = analysis::product_view(e);
  if (!v || v->left_transposed || !(v->batched || v->weight())) return std::nullopt;
  return Branch{v->call, v->column_axis(), v->result->rank() - 1,
                context.attrs(v->attrs_for_other_columns())};
}

// The type of a weight, whose number of output channels may be another one.
std::vector<Dim> other_dims(Expr weight, size_t axis) {
  const auto dims = weight->type->as<TensorType>()->dims;
  std::vector<Dim> out(dims.begin(), dims.end());
  out[axis] = Dim(0);
  return out;
}

class Combiner {
 public:
  Combiner(const Module& m, Expr root, const op::OpDef& def, size_t branches)
      : context_(m.context()),
        b_(m.context()),
        root_(root),
        def_(def),
        branches_(branches),
        order_(post_order(root)),
        scopes_(scopes(root)),
        effects_(m, root),
        inside_kernel_(analysis::inside_primitives(order_)) {}

  Expr run() {
    collect();
    if (std::none_of(groups_.begin(), groups_.end(), [&](const Group& g) { return is_enough(g); }))
      return root_;
    // The operands of all branches of a group before the first of these.
    std::vector<Expr> by_level = order_;
    std::stable_sort(by_level.begin(), by_level.end(),
                     [&](Expr x, Expr y) { return level_.get(x) < level_.get(y); });
    NodeMap<Expr> now;
    for (Expr e : by_level) {
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      now[e] = with_children(context_, e, children);
      const size_t number = group_of_.get(e);
      if (number == 0 || !is_enough(groups_[number - 1])) continue;
      Group& group = groups_[number - 1];
      const SpanScope at(b_, e->span);
      if (!group.whole) group.whole = whole_of(group, now);
      if (!group.whole) {
        group.branches.clear();
        continue;
      }
      now[e] = slice_of(group, *e->as<Call>());
    }
    return now.get(root_);
  }

 private:
  struct Group {
    std::vector<Branch> branches;
    Expr whole = nullptr;
    int64_t taken = 0;  // of the whole's channels
  };
  bool is_enough(const Group& g) const { return g.branches.size() >= branches_; }

  // The call, if it may join others.
  std::optional<Branch> branch_of(Expr e) {
    if (op::callee(e) != &def_ || inside_kernel_.contains(e)) return std::nullopt;
    const auto* call = e->as<Call>();
    auto out = def_.name == op::kConv2d.name ? convolution_branch(context_, e) : product_branch(context_, e);
    if (!out || analysis::fit_of(context_, *call, def_) != analysis::Fit::kProved) return std::nullopt;
    const auto* weight = call->args[1]->type->as<TensorType>();
    // The weights of all branches are evaluated where the first of them is.
    const bool moves = call->args[1]->as<Constant>() || effects_.silent(call->args[1]);
    if (!moves || !weight->dims[out->weight_axis].is_const()) return std::nullopt;
    // What cannot be evaluated once for all is no common input.
    return effects_.steady(call->args[0]) ? out : std::nullopt;
  }

  // What branches of one group share: the input, the scope, the level, the attributes, the
  // axes, and the weights' type but for their output channels. Types and attributes are known
  // by their address.
  using Key = std::tuple<Expr, uint32_t, uint32_t, const Attr*, size_t, size_t, Type>;
  Key key_of(const Branch& branch, uint32_t scope, uint32_t level) {
    const Call& call = *branch.call;
    const Type weight = context_.tensor_type(other_dims(call.args[1], branch.weight_axis),
                                             call.args[1]->type->as<TensorType>()->dtype);
    return {call.args[0], scope, level, branch.attrs.begin(), branch.weight_axis, branch.axis, weight};
  }

  // Branches join that are of one level: none of them can need the result of another.
  void collect() {
    std::map<Key, size_t> known;
    for (Expr e : order_) {
      uint32_t& own = level_[e];
      for_each_child(e, [&](Expr child) { own = std::max(own, level_.get(child)); });
      const auto branch = branch_of(e);
      if (!branch) continue;
      ++own;
      const size_t g =
          known.try_emplace(key_of(*branch, scopes_.scope_of.get(e), own), groups_.size()).first->second;
      if (g == groups_.size()) groups_.emplace_back();
      groups_[g].branches.push_back(*branch);
      group_of_[e] = g + 1;
    }
  }

  // The call on all weights of the group; null if it would have more bytes than can be counted.
  Expr whole_of(const Group& group, const NodeMap<Expr>& now) {
    const Branch& first = group.branches[0];
    std::vector<Expr> weights;
    std::vector<Value> values;
    int64_t channels = 0;
    for (const Branch& branch : group.branches) {
      const int64_t own = extent_of(branch.call->args[1], first.weight_axis);
      if (__builtin_add_overflow(channels, own, &channels)) return nullptr;
      weights.push_back(now.get(branch.call->args[1]));
      if (const auto* c = weights.back()->as<Constant>()) values.push_back(Value(*c->value));
    }
    const std::vector<AttrArg> along{{"axis", static_cast<int64_t>(first.weight_axis)}};
    Expr weight;
    if (values.size() == weights.size()) {
      const std::vector<Value> args{Value::tuple(std::move(values))};
      weight = b_.constant(op::evaluate(context_, op::kConcatenate, args, context_.attrs(along)).tensor());
    } else {
      weight = op::call(b_, op::kConcatenate, {b_.tuple(weights)}, along);
    }
    if (!is_countable(*weight->type->as<TensorType>())) return nullptr;
    const Expr whole = op::call(b_, def_, {now.get(first.call->args[0]), weight}, op::attr_args(first.attrs));
    return is_countable(*whole->type->as<TensorType>()) ? whole : nullptr;
  }

  // What the call computed, in the order in which weights are side by side.
  Expr slice_of(Group& group, const Call& call) {
    const Branch& alike = group.branches[0];  // all have the same axes
    const int64_t begin = group.taken;
    group.taken += extent_of(call.args[1], alike.weight_axis);
    return op::call(b_, op::kStridedSlice, {group.whole},
                    {{"begin", std::vector<int64_t>{begin}},
                     {"end", std::vector<int64_t>{group.taken}},
                     {"axes", std::vector<int64_t>{static_cast<int64_t>(alike.axis)}}});
  }

  Context& context_;
  relay::Builder b_;
  Expr root_;
  const op::OpDef& def_;
  const size_t branches_;
  const std::vector<Expr> order_;
  const Scopes scopes_;
  analysis::Effects effects_;
  const std::unordered_set<Expr> inside_kernel_;
  std::vector<Group> groups_;
  NodeMap<uint32_t> level_;   // how many candidates lie on the longest path down from an expression
  NodeMap<size_t> group_of_;  // counts from 1; 0: none
};

Module run(const Module& m, const PassContext& pass, const op::OpDef& def) {
  const auto branches = static_cast<size_t>(pass.value("branches"));
  return with_each_function(m, [&](const Fn* fn) { return Combiner(m, fn, def, branches).run(); });
}

constexpr Parameter kBranches = {"branches", 3, "the fewest calls that are combined", 2};

}  // namespace

const Pass kCombineParallelConv2d = {
    .name = "combine-parallel-conv2d",
    .doc = "compute convolutions of one input with constant weights as one",
    .parameters = {kBranches},
    .skips_lets = true,
    .run = [](const Module& m, const PassContext& pass) { return run(m, pass, op::kConv2d); },
};

const Pass kCombineParallelDense = {
    .name = "combine-parallel-dense",
    .doc = "compute calls of nn.dense on one input with constant weights as one",
    .parameters = {kBranches},
    .skips_lets = true,
    .run = [](const Module& m, const PassContext& pass) { return run(m, pass, op::kDense); },
};

const Pass kCombineParallelBatchMatmul = {
    .name = "combine-parallel-batch-matmul",
    .doc = "compute products of one batch of matrices with several as one",
    .parameters = {kBranches},
    .skips_lets = true,
    .run = [](const Module& m, const PassContext& pass) { return run(m, pass, op::kBatchMatmul); },
};

}  // namespace relay::passes
