// Ensembles of decision trees: tables of nodes that every row of features walks through at once.
#pragma once

#include <vector>

#include "frontend/onnx/ml.h"

namespace relay::frontend {

// A node goes to `yes` if the feature is less than, equal to, greater than the value, or NaN, as
// the four flags say; else to `no`. A leaf goes to itself.
struct TreeNode {
  int64_t feature = 0;
  double value = 0;
  bool if_less = false, if_equal = false, if_greater = false, if_nan = false;
  int64_t yes = -1, no = -1;  // places of nodes
  bool leaf() const { return yes < 0; }
};
// Sets the flags. `mode` is the second half of BRANCH_LEQ and its kind; false if
// there is none such.
bool set_mode(TreeNode& node, std::string_view mode, bool missing_is_true);

struct LeafWeight {
  int64_t leaf = 0;    // place of the node
  int64_t target = 0;  // class or target
  double weight = 0;
};

enum class Aggregate { kAverage, kSum, kMin, kMax };

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<int64_t> roots;  // one for each tree
  std::vector<LeafWeight> weights;
  int64_t targets = 1;
  Aggregate aggregate = Aggregate::kSum;
  std::vector<double> base;  // added to the targets: none, or one for each
};

// Reads the attributes nodes_* of TreeEnsembleClassifier and -Regressor. `leaf` is "class" or
// "target", with which the attributes of the weights begin.
Forest read_forest(Node& n, std::string_view leaf);
// Refuses nodes of which a way leads back to them, and numbers out of range. Returns the steps of
// the longest way from a root to a leaf.
int64_t require_trees(Node& n, const Forest& forest, Expr x);

// What a forest makes of x (rows, features): float32 or float64, which thresholds have too.
struct Scores {
  Expr sums;     // (rows, targets), with the base
  Expr present;  // (rows, targets): did any leaf have a weight for the target? Null if there always is one.
};
Scores scores_of(Node& n, const Forest& forest, Expr x);
// The input as features, in the dtype that trees compare.
Expr features(Node& n);

}  // namespace relay::frontend
