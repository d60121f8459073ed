// All rows walk through all trees at once: (rows, trees) places of nodes, which a loop of as many
// steps as the deepest tree has moves on. The code is the same however many nodes there are.
#include <algorithm>
#include <limits>
#include <map>

#include "base/cat.h"
#include "frontend/onnx/ml_forest.h"
#include "frontend/onnx/repeat.h"

namespace relay::frontend {
namespace {

using namespace op;

// The table of all leaves and targets has at most so many weights, or so many for each
// one of the model.
constexpr int64_t kMostWeights = int64_t{1} << 24, kMostForOne = 64;

class Walk {
 public:
  Walk(Node& n, const Forest& forest, Expr x) : n_(n), forest_(forest), x_(x) {}

  // The leaf that each row reaches in each tree, (rows, trees).
  Expr leaves(const std::vector<int64_t>& roots, int64_t depth) {
    const std::vector<Dim> shape{type_of(x_).dims[0], Dim(static_cast<int64_t>(roots.size()))};
    const Expr first = n_.call(kBroadcastTo, {index_table(n_, roots)}, {{"shape", shape}});
    if (depth == 0) return first;
    make_tables();
    const Expr steps = n_.builder().constant(Tensor::scalar_int(kInt64, depth));
    return repeat(n_, steps, first, [&](Expr, Expr at) { return step(at); });
  }

 private:
  template <class F>
  Expr floats(const F& f) {
    std::vector<double> values;
    for (const TreeNode& node : forest_.nodes) values.push_back(f(node));
    return float_table(n_, type_of(x_).dtype, {static_cast<int64_t>(values.size())}, values);
  }
  template <class F>
  Expr places(const F& f) {
    std::vector<int64_t> values;
    for (size_t i = 0; i < forest_.nodes.size(); ++i) values.push_back(f(forest_.nodes[i], i));
    return index_table(n_, values);
  }
  // A flag of the nodes that branch: null if all agree, and then `all` says on what.
  struct Flag {
    Expr table = nullptr;
    bool all = false;
  };
  Flag flag(bool TreeNode::* member) {
    Tensor t(kBool, {static_cast<int64_t>(forest_.nodes.size())});
    int64_t set = 0, branches = 0;
    for (size_t i = 0; i < forest_.nodes.size(); ++i) {
      const TreeNode& node = forest_.nodes[i];
      t.set_int(static_cast<int64_t>(i), node.*member);
      if (!node.leaf()) ++branches, set += node.*member;
    }
    if (set == 0 || set == branches) return {nullptr, set > 0};
    return {n_.builder().constant(std::move(t)), false};
  }

  void make_tables() {
    feature_ = places([](const TreeNode& node, size_t) { return node.feature; });
    value_ = floats([](const TreeNode& node) { return node.value; });
    const auto self = [](const TreeNode& node, int64_t to, size_t i) {
      return node.leaf() ? static_cast<int64_t>(i) : to;
    };
    yes_ = places([&](const TreeNode& node, size_t i) { return self(node, node.yes, i); });
    no_ = places([&](const TreeNode& node, size_t i) { return self(node, node.no, i); });
    less_ = flag(&TreeNode::if_less), equal_ = flag(&TreeNode::if_equal);
    greater_ = flag(&TreeNode::if_greater), nan_ = flag(&TreeNode::if_nan);
  }

  Expr at(Expr table, Expr where) { return n_.call(kTake, {table, where}, {{"axis", int64_t{0}}}); }

  // Places after one more step.
  Expr step(Expr where) {
    const Expr x = n_.call(kGather, {x_, at(feature_, where)}, {{"axis", int64_t{1}}}),
               value = at(value_, where);
    return n_.call(kWhere, {condition(where, x, value), at(yes_, where), at(no_, where)});
  }

  Expr condition(Expr where, Expr x, Expr value) {
    Expr out = nullptr;
    const auto or_if = [&](Expr holds) { out = out ? n_.call(kLogicalOr, {out, holds}) : holds; };
    const auto test = [&](const OpDef& op) { return n_.call(op, {x, value}); };
    if (!less_.table && !equal_.table && !greater_.table) {
      // All nodes have one mode.
      const OpDef* one = less_.all    ? equal_.all     ? &kLessEqual
                                        : greater_.all ? &kNotEqual
                                                       : &kLess
                         : equal_.all ? greater_.all ? &kGreaterEqual : &kEqual
                                      : &kGreater;
      or_if(test(*one));
    } else {
      const auto mode = [&](const OpDef& op, const Flag& flag) {
        if (flag.table) or_if(n_.call(kLogicalAnd, {test(op), at(flag.table, where)}));
        if (!flag.table && flag.all) or_if(test(op));
      };
      mode(kLess, less_);
      mode(kEqual, equal_);
      mode(kGreater, greater_);
    }
    if (!nan_.table && !nan_.all) return out;
    const Expr nan = n_.call(kIsNan, {x});
    or_if(nan_.table ? n_.call(kLogicalAnd, {nan, at(nan_.table, where)}) : nan);
    return out;
  }

  Node& n_;
  const Forest& forest_;
  Expr x_;
  Expr feature_ = nullptr, value_ = nullptr, yes_ = nullptr, no_ = nullptr;
  Flag less_, equal_, greater_, nan_;
};

double merged(Aggregate how, double a, double b) {
  return how == Aggregate::kMin ? std::min(a, b) : how == Aggregate::kMax ? std::max(a, b) : a + b;
}

// What a target has if no leaf speaks for it: nothing that changes the result of the others.
double neutral(Aggregate how) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return how == Aggregate::kMin ? kInfinity : how == Aggregate::kMax ? -kInfinity : 0;
}

// Over the trees, which are the axis.
Expr reduced(Node& n, const Forest& forest, Expr e, int64_t axis) {
  const std::vector<AttrArg> over{{"axis", std::vector<int64_t>{axis}}};
  const Expr out = n.call(forest.aggregate == Aggregate::kMin   ? kMin
                          : forest.aggregate == Aggregate::kMax ? kMax
                                                                : kSum,
                          {e}, over);
  if (forest.aggregate != Aggregate::kAverage) return out;
  return n.call(kDivide, {out, n.scalar(type_of(out).dtype, static_cast<double>(forest.roots.size()))});
}

Expr with_base(Node& n, const Forest& forest, Expr e) {
  if (std::all_of(forest.base.begin(), forest.base.end(), [](double v) { return v == 0; })) return e;
  return n.call(kAdd, {e, float_table(n, type_of(e).dtype, {forest.targets}, forest.base)});
}

// The tree that each node is in, -1 if no way leads to it. Empty if trees share a node.
std::vector<int64_t> trees_of(const Forest& forest) {
  std::vector<int64_t> tree(forest.nodes.size(), -1), open;
  for (size_t t = 0; t < forest.roots.size(); ++t) {
    open.assign(1, forest.roots[t]);
    while (!open.empty()) {
      const auto place = static_cast<size_t>(open.back());
      open.pop_back();
      if (tree[place] == static_cast<int64_t>(t)) continue;
      if (tree[place] >= 0) return {};
      tree[place] = static_cast<int64_t>(t);
      const TreeNode& node = forest.nodes[place];
      if (!node.leaf()) open.insert(open.end(), {node.yes, node.no});
    }
  }
  return tree;
}

// The trees of each target, if every leaf of a tree speaks for the same one and all targets have
// as many trees: boosting makes such forests. Empty if not.
std::vector<std::vector<int64_t>> trees_by_target(const Forest& forest) {
  const std::vector<int64_t> tree = trees_of(forest);
  if (tree.empty()) return {};
  std::vector<int64_t> target(forest.roots.size(), -1);
  std::vector<bool> speaks(forest.nodes.size(), false);
  for (const LeafWeight& w : forest.weights) {
    const int64_t t = tree[static_cast<size_t>(w.leaf)];
    speaks[static_cast<size_t>(w.leaf)] = true;
    if (t < 0) continue;
    int64_t& known = target[static_cast<size_t>(t)];
    if (known >= 0 && known != w.target) return {};
    known = w.target;
  }
  for (size_t i = 0; i < forest.nodes.size(); ++i) {
    if (tree[i] >= 0 && forest.nodes[i].leaf() && !speaks[i]) return {};
  }
  const auto count = static_cast<int64_t>(forest.roots.size());
  if (count % forest.targets != 0) return {};
  std::vector<std::vector<int64_t>> out(static_cast<size_t>(forest.targets));
  for (size_t t = 0; t < target.size(); ++t) {
    if (target[t] < 0) return {};
    out[static_cast<size_t>(target[t])].push_back(forest.roots[t]);
  }
  for (const std::vector<int64_t>& group : out) {
    if (static_cast<int64_t>(group.size()) != count / forest.targets) return {};
  }
  return out;
}

Scores scores_by_group(Node& n, const Forest& forest, Expr x, int64_t depth,
                       const std::vector<std::vector<int64_t>>& groups) {
  std::vector<int64_t> roots;
  for (const std::vector<int64_t>& group : groups) roots.insert(roots.end(), group.begin(), group.end());
  std::vector<double> weight(forest.nodes.size(), neutral(forest.aggregate));
  for (const LeafWeight& w : forest.weights) {
    double& known = weight[static_cast<size_t>(w.leaf)];
    known = merged(forest.aggregate, known, w.weight);
  }
  const Expr leaves = Walk(n, forest, x).leaves(roots, depth);
  const Expr table = float_table(n, type_of(x).dtype, {static_cast<int64_t>(weight.size())}, weight);
  const Expr found = n.call(kTake, {table, leaves}, {{"axis", int64_t{0}}});
  const auto each = static_cast<int64_t>(groups[0].size());
  const Expr grouped = n.reshape(found, {type_of(x).dims[0], Dim(forest.targets), Dim(each)});
  return {with_base(n, forest, reduced(n, forest, grouped, 2)), nullptr};
}

// Every leaf speaks for any of the targets: a table of leaves and targets.
Scores scores_by_table(Node& n, const Forest& forest, Expr x, int64_t depth) {
  std::vector<int64_t> row(forest.nodes.size(), 0);
  int64_t rows = 0;
  for (size_t i = 0; i < forest.nodes.size(); ++i) {
    if (forest.nodes[i].leaf()) row[i] = rows++;
  }
  n.require(rows > 0, "it has no leaf");
  const int64_t most = std::max(kMostWeights, kMostForOne * static_cast<int64_t>(forest.weights.size()));
  if (rows > most / forest.targets)
    n.unsupported(cat("it has ", rows, " leaves for ", forest.targets, " targets, which is too much"),
                  "give each tree one target, or divide the ensemble");
  Tensor table(type_of(x).dtype, {rows, forest.targets}), present(kBool, {rows, forest.targets});
  for (int64_t i = 0; i < table.size(); ++i) table.set(i, neutral(forest.aggregate));
  int64_t spoken = 0;
  for (const LeafWeight& w : forest.weights) {
    const int64_t at = row[static_cast<size_t>(w.leaf)] * forest.targets + w.target;
    table.set(at, merged(forest.aggregate, table.get(at), w.weight));
    spoken += present.get_int(at) == 0;
    present.set_int(at, 1);
  }
  const Expr leaves = Walk(n, forest, x).leaves(forest.roots, depth);
  const auto take = [&](Expr from, Expr at) { return n.call(kTake, {from, at}, {{"axis", int64_t{0}}}); };
  const Expr which = take(index_table(n, row), leaves);
  const bool always = spoken == table.size();
  Builder& b = n.builder();
  const Expr sums = with_base(n, forest, reduced(n, forest, take(b.constant(std::move(table)), which), 1));
  if (always) return {sums, nullptr};
  const std::vector<AttrArg> trees{{"axis", std::vector<int64_t>{1}}};
  const Expr any = n.call(kAny, {take(b.constant(std::move(present)), which)}, trees);
  return {sums, any};
}

}  // namespace

Scores scores_of(Node& n, const Forest& forest, Expr x) {
  const int64_t depth = require_trees(n, forest, x);
  const std::vector<std::vector<int64_t>> groups = trees_by_target(forest);
  return groups.empty() ? scores_by_table(n, forest, x, depth) : scores_by_group(n, forest, x, depth, groups);
}

}  // namespace relay::frontend
