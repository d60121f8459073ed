// ai.onnx.ml: ensembles of trees. Runtimes do not agree on every form; where ONNX Runtime departs
// from the standard, or the standard says nothing and other runtimes differ, the form is refused.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/cat.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/ml_forest.h"

namespace relay::frontend {
namespace {

using namespace op;

Aggregate aggregate_of(Node& n) {
  const std::string name = n.text("aggregate_function", "SUM");
  constexpr std::string_view kNames[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (name == kNames[i]) return static_cast<Aggregate>(i);
  }
  n.invalid("its attribute `aggregate_function` is none of AVERAGE, SUM, MIN and MAX");
}

// The targets of a regression. One that no leaf speaks for is 0, without its base.
Results regression(Node& n, const Forest& forest, PostTransform transform, DType result) {
  if (forest.targets == 1 && transform != PostTransform::kNone && transform != PostTransform::kProbit)
    n.unsupported("a post_transform of a single target is not supported",
                  "apply the function by a node behind it");
  const Scores s = scores_of(n, forest, features(n));
  const Expr zero = n.scalar(type_of(s.sums).dtype, 0);
  const Expr sums = s.present ? n.call(kWhere, {s.present, s.sums, zero}) : s.sums;
  return {transformed(n, n.cast(sums, result), transform)};
}

Results tree_regressor(Node& n) {
  Forest forest = read_forest(n, "target");
  forest.targets = n.integer("n_targets");
  forest.aggregate = aggregate_of(n);
  forest.base = real_list_or_tensor(n, "base_values");
  return regression(n, forest, post_transform(n), kFloat32);
}

bool all_weights(const Forest& forest, const auto& holds) {
  return std::all_of(forest.weights.begin(), forest.weights.end(), holds);
}

// Two labels and one score s, for class 0 or for class 1. The second label means s > 1/2 if no
// weight is negative, else s > 0.
Results binary_classifier(Node& n, Forest forest, const ClassLabels& labels, PostTransform transform) {
  const bool second_class = forest.weights[0].target == 1;
  const bool shares = all_weights(forest, [](const LeafWeight& w) { return w.weight >= 0; });
  if (second_class ? !forest.base.empty() : forest.base.size() > 1)
    n.unsupported("its base values are not supported where all weights are of one class of two");
  if (!second_class && transform != PostTransform::kNone && transform != PostTransform::kLogistic)
    n.unsupported("a post_transform other than NONE and LOGISTIC of a single score is not supported");
  for (LeafWeight& w : forest.weights) w.target = 0;
  forest.targets = 1;
  const Expr s = scores_of(n, forest, features(n)).sums, score = n.cast(s, kFloat32);
  const auto number = [&](double v) { return n.scalar(kFloat32, v); };
  const Expr positive = n.call(kGreater, {n.squeeze(s, {1}), n.scalar(type_of(s).dtype, shares ? 0.5 : 0.0)});
  const Expr label = label_where(n, labels, positive);
  if (second_class)
    return {label, transformed(n, n.concatenate({n.call(kZerosLike, {score}), score}, 1), transform)};
  const Expr opposite = n.call(kNegative, {score});
  if (transform == PostTransform::kLogistic)
    return {label, n.call(kSigmoid, {n.concatenate({opposite, score}, 1)})};
  const Expr first = shares ? n.call(kSubtract, {number(1), score}) : opposite;
  return {label, n.concatenate({first, score}, 1)};
}

// The first largest score, among those that a leaf spoke for unless there are base values.
Expr label_of_scores(Node& n, const Forest& forest, const Scores& s, const ClassLabels& labels) {
  Expr scores = s.sums;
  if (s.present && forest.base.empty()) {
    const Expr none = n.scalar(type_of(scores).dtype, -std::numeric_limits<double>::infinity());
    scores = n.call(kWhere, {s.present, scores, none});
  }
  return label_at(n, labels, largest_score(n, scores));
}

Results tree_classifier(Node& n) {
  Forest forest = read_forest(n, "class");
  const ClassLabels labels = class_labels(n, "classlabels_int64s");
  const PostTransform transform = post_transform(n);
  forest.targets = static_cast<int64_t>(labels.count);
  forest.base = real_list_or_tensor(n, "base_values");
  if (labels.count == 1)
    n.unsupported("a classifier with one label is not supported", "use TreeEnsembleRegressor for its score");
  const int64_t first = forest.weights[0].target;
  if (labels.count == 2 && (first == 0 || first == 1) &&
      all_weights(forest, [&](const LeafWeight& w) { return w.target == first; }))
    return binary_classifier(n, std::move(forest), labels, transform);
  const Scores s = scores_of(n, forest, features(n));
  if (labels.count == 2) {
    // ONNX Runtime gives the label 1 wherever class 1 has a positive score,
    // whatever the labels are.
    const std::string remedy = "give one of the classes no weights, or drop the output of the labels";
    if (is_label_used(n))
      n.unsupported("labels of two classes with weights for both are not supported", remedy);
    if (!forest.base.empty() || s.present)
      n.unsupported("two classes with weights for both need them in every leaf, and no base values", remedy);
  }
  return {label_of_scores(n, forest, s, labels), transformed(n, n.cast(s.sums, kFloat32), transform)};
}

// --- TreeEnsemble, of version 5 ------------------------------------------------------------------

// A list that stands in a tensor.
std::optional<Tensor> tensor_at(Node& n, std::string_view name) {
  const auto* a = n.attribute(name);
  if (!a) return std::nullopt;
  n.require(a->has_t(), cat("its attribute `", name, "` is no tensor"));
  const Tensor t = n.importer().tensor(a->t());
  n.require(t.rank() == 1, cat("its attribute `", name, "` is no list"));
  return t;
}

// Reads the nodes; behind them one leaf for each entry of leaf_weights. A node that asks whether
// the feature is in a set becomes a chain of nodes that ask for one member each.
class EnsembleReader {
 public:
  explicit EnsembleReader(Node& n) : n_(n) {}

  Forest read() {
    n_.without_effect({"nodes_hitrates"});  // a hint for speed
    const std::vector<int64_t> features = list("nodes_featureids"), yes = list("nodes_truenodeids"),
                               no = list("nodes_falsenodeids"), yes_leaf = list("nodes_trueleafs"),
                               no_leaf = list("nodes_falseleafs");
    const std::optional<Tensor> modes = tensor_at(n_, "nodes_modes"), splits = tensor_at(n_, "nodes_splits");
    const auto count = static_cast<int64_t>(features.size());
    std::vector<int64_t> missing = whole_list(n_, "nodes_missing_value_tracks_true");
    if (missing.empty()) missing.assign(features.size(), 0);
    n_.require(modes && splits && count > 0 && modes->size() == count && splits->size() == count &&
                   yes.size() == features.size() && no.size() == features.size() &&
                   yes_leaf.size() == features.size() && no_leaf.size() == features.size() &&
                   missing.size() == features.size(),
               "its attributes nodes_* have different lengths, or none");
    read_leaves(count);
    forest_.nodes.resize(static_cast<size_t>(count + leaves_));
    for (size_t i = 0; i < features.size(); ++i) {
      TreeNode node;
      node.feature = features[i], node.value = splits->get(static_cast<int64_t>(i));
      node.yes = place(yes[i], yes_leaf[i] != 0, count), node.no = place(no[i], no_leaf[i] != 0, count);
      const int64_t mode = modes->get_int(static_cast<int64_t>(i));
      n_.require(mode >= 0 && mode <= 6, "its attribute `nodes_modes` has a mode above 6");
      constexpr std::string_view kNames[] = {"LEQ", "LT", "GTE", "GT", "EQ", "NEQ"};
      if (mode == 6) {
        add_members(i, node, missing[i] != 0);
      } else {
        set_mode(node, kNames[mode], missing[i] != 0);
        forest_.nodes[i] = node;
      }
    }
    for (const int64_t root : list("tree_roots")) {
      n_.require(root >= 0 && root < count, "its attribute `tree_roots` is out of range");
      forest_.roots.push_back(root);
    }
    return std::move(forest_);
  }

 private:
  std::vector<int64_t> list(std::string_view name) { return whole_list(n_, name); }

  void read_leaves(int64_t count) {
    const std::vector<int64_t> targets = list("leaf_targetids");
    const std::optional<Tensor> weights = tensor_at(n_, "leaf_weights");
    leaves_ = static_cast<int64_t>(targets.size());
    n_.require(weights && leaves_ > 0 && weights->size() == leaves_,
               "its attributes leaf_* have different lengths, or none");
    for (int64_t i = 0; i < leaves_; ++i)
      forest_.weights.push_back({count + i, targets[static_cast<size_t>(i)], weights->get(i)});
  }

  int64_t place(int64_t id, bool leaf, int64_t count) {
    n_.require(id >= 0 && id < (leaf ? leaves_ : count), "a node leads to a node that does not exist");
    return leaf ? count + id : id;
  }

  // The members of the sets stand one set after the other, with NaN between them.
  void add_members(size_t i, const TreeNode& node, bool missing_is_true) {
    if (!members_) members_ = tensor_at(n_, "membership_values");
    n_.require(members_.has_value(), "its attribute `membership_values` is missing");
    std::vector<double> set;
    for (; member_ < members_->size() && !std::isnan(members_->get(member_)); ++member_)
      set.push_back(members_->get(member_));
    ++member_;
    n_.require(!set.empty(), "a node asks for a member of an empty set");
    size_t at = i;
    for (size_t m = 0; m < set.size(); ++m) {
      TreeNode one = node;
      one.value = set[m];
      set_mode(one, "EQ", missing_is_true);
      const size_t next = forest_.nodes.size();
      const bool last = m + 1 == set.size();
      if (!last) one.no = static_cast<int64_t>(next);
      forest_.nodes[at] = one;
      if (!last) forest_.nodes.emplace_back();
      at = next;
    }
  }

  Node& n_;
  Forest forest_;
  int64_t leaves_ = 0, member_ = 0;
  std::optional<Tensor> members_;
};

Results tree_ensemble(Node& n) {
  Forest forest = EnsembleReader(n).read();
  forest.targets = n.integer("n_targets", 1);
  const int64_t how = n.integer("aggregate_function", 1);
  n.require(how >= 0 && how <= 3, "its attribute `aggregate_function` is none of 0 to 3");
  forest.aggregate = static_cast<Aggregate>(how);
  return regression(n, forest, post_transform(n.integer("post_transform", 0), n), n.dtype(0));
}

constexpr Row kRows[] = {
    {"ai.onnx.ml.TreeEnsemble", 5, tree_ensemble, "transforms of a single target but PROBIT"},
    {"ai.onnx.ml.TreeEnsembleClassifier", 1, tree_classifier,
     "texts as labels that are used, labels of two classes that both have weights"},
    {"ai.onnx.ml.TreeEnsembleRegressor", 1, tree_regressor, "transforms of a single target but PROBIT"},
};

}  // namespace

std::span<const Row> ml_tree_rows() { return kRows; }

}  // namespace relay::frontend
