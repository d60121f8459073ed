// Reading and checking decision trees. Time and memory are linear in the number of nodes.
#include "frontend/onnx/ml_forest.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/cat.h"

namespace relay::frontend {

bool set_mode(TreeNode& node, std::string_view mode, bool missing_is_true) {
  struct Mode {
    std::string_view name;
    bool less, equal, greater;
  };
  constexpr Mode kModes[] = {{"LEQ", true, true, false}, {"LT", true, false, false},
                             {"GTE", false, true, true}, {"GT", false, false, true},
                             {"EQ", false, true, false}, {"NEQ", true, false, true}};
  for (const Mode& m : kModes) {
    if (mode != m.name) continue;
    node.if_less = m.less, node.if_equal = m.equal, node.if_greater = m.greater;
    node.if_nan = missing_is_true || mode == "NEQ";  // NaN is not equal to anything
    return true;
  }
  return false;
}

namespace {

using Key = std::pair<int64_t, int64_t>;  // tree, node

constexpr std::string_view kBranch = "BRANCH_";

// The columns of the table of nodes.
struct Columns {
  std::vector<int64_t> trees, ids, features, yes, no, missing;
  std::vector<std::string> modes;
  std::vector<double> values;
};

Columns columns_of(Node& n) {
  n.without_effect({"nodes_hitrates", "nodes_hitrates_as_tensor"});  // a hint for speed
  Columns c;
  c.trees = whole_list(n, "nodes_treeids"), c.ids = whole_list(n, "nodes_nodeids");
  c.features = whole_list(n, "nodes_featureids");
  c.yes = whole_list(n, "nodes_truenodeids"), c.no = whole_list(n, "nodes_falsenodeids");
  c.missing = whole_list(n, "nodes_missing_value_tracks_true");
  c.modes = n.texts("nodes_modes");
  c.values = real_list_or_tensor(n, "nodes_values");
  const size_t count = c.trees.size();
  if (c.missing.empty()) c.missing.assign(count, 0);
  n.require(count > 0 && c.ids.size() == count && c.features.size() == count && c.yes.size() == count &&
                c.no.size() == count && c.missing.size() == count && c.modes.size() == count &&
                c.values.size() == count,
            "its attributes nodes_* have different lengths, or none");
  return c;
}

void read_weights(Node& n, std::string_view leaf, const std::map<Key, int64_t>& places, Forest& out) {
  const std::vector<int64_t> trees = whole_list(n, cat(leaf, "_treeids")),
                             ids = whole_list(n, cat(leaf, "_nodeids")),
                             targets = whole_list(n, cat(leaf, "_ids"));
  const std::vector<double> weights = real_list_or_tensor(n, cat(leaf, "_weights"));
  n.require(!trees.empty() && ids.size() == trees.size() && targets.size() == trees.size() &&
                weights.size() == trees.size(),
            cat("its attributes ", leaf, "_* have different lengths, or none"));
  for (size_t i = 0; i < trees.size(); ++i) {
    const auto place = places.find({trees[i], ids[i]});
    n.require(place != places.end(),
              cat("node ", ids[i], " of tree ", trees[i], " has a weight, but does not exist"));
    out.weights.push_back({place->second, targets[i], weights[i]});
  }
}

}  // namespace

Forest read_forest(Node& n, std::string_view leaf) {
  const Columns c = columns_of(n);
  std::map<Key, int64_t> places;
  for (size_t i = 0; i < c.trees.size(); ++i) {
    const bool fresh = places.emplace(Key{c.trees[i], c.ids[i]}, static_cast<int64_t>(i)).second;
    n.require(fresh, cat("node ", c.ids[i], " of tree ", c.trees[i], " is there twice"));
  }
  Forest out;
  std::vector<bool> child(c.trees.size(), false);
  for (size_t i = 0; i < c.trees.size(); ++i) {
    TreeNode node;
    if (c.modes[i] != "LEAF") {
      const std::string_view mode = c.modes[i];
      if (!mode.starts_with(kBranch) || !set_mode(node, mode.substr(kBranch.size()), c.missing[i] != 0))
        n.unsupported(cat("nodes of mode `", mode.substr(0, 40), "` are not supported"));
      node.feature = c.features[i], node.value = c.values[i];
      const auto yes = places.find({c.trees[i], c.yes[i]}), no = places.find({c.trees[i], c.no[i]});
      n.require(yes != places.end() && no != places.end(),
                cat("node ", c.ids[i], " of tree ", c.trees[i], " leads to a node that does not exist"));
      node.yes = yes->second, node.no = no->second;
      child[static_cast<size_t>(node.yes)] = child[static_cast<size_t>(node.no)] = true;
    }
    out.nodes.push_back(node);
  }
  std::map<int64_t, int64_t> root_of;  // in order of the trees' numbers
  for (size_t i = 0; i < c.trees.size(); ++i) {
    if (child[i]) continue;
    n.require(root_of.emplace(c.trees[i], static_cast<int64_t>(i)).second,
              cat("tree ", c.trees[i], " has two roots"));
  }
  for (const auto& [tree, root] : root_of) out.roots.push_back(root);
  read_weights(n, leaf, places, out);
  return out;
}

namespace {

// The steps of the longest way from a root to a leaf. Several ways may lead to one node, but none
// from a node to itself.
int64_t depth_of(Node& n, const Forest& forest) {
  constexpr int64_t kUnseen = -1, kOpen = -2;
  std::vector<int64_t> height(forest.nodes.size(), kUnseen);
  std::vector<int64_t> open(forest.roots);
  while (!open.empty()) {
    const auto place = static_cast<size_t>(open.back());
    const TreeNode& node = forest.nodes[place];
    int64_t& own = height[place];
    if (own >= 0 || node.leaf()) {
      own = std::max<int64_t>(own, 0);
      open.pop_back();
      continue;
    }
    const int64_t yes = height[static_cast<size_t>(node.yes)], no = height[static_cast<size_t>(node.no)];
    if (own == kOpen) {  // what is below it is done
      n.require(yes >= 0 && no >= 0, "its nodes are no trees: a way leads from a node to itself");
      own = 1 + std::max(yes, no);
      open.pop_back();
      continue;
    }
    own = kOpen;
    for (const int64_t child : {node.yes, node.no}) {
      n.require(height[static_cast<size_t>(child)] != kOpen,
                "its nodes are no trees: a way leads from a node to itself");
      if (height[static_cast<size_t>(child)] == kUnseen) open.push_back(child);
    }
  }
  for (size_t i = 0; i < forest.nodes.size(); ++i)
    n.require(height[i] >= 0 || forest.nodes[i].leaf(),
              "its nodes are no trees: no way leads to one of them");
  int64_t depth = 0;
  for (const int64_t root : forest.roots) depth = std::max(depth, height[static_cast<size_t>(root)]);
  return depth;
}

}  // namespace

int64_t require_trees(Node& n, const Forest& forest, Expr x) {
  const Dim width = type_of(x).dims[1];
  n.require(!forest.roots.empty(), "it has no tree");
  n.require(forest.nodes.size() < (size_t{1} << 31), "it has too many nodes");
  n.require(forest.targets >= 1 && forest.targets < (int64_t{1} << 31),
            "its number of targets is out of range");
  n.require(forest.base.empty() || static_cast<int64_t>(forest.base.size()) == forest.targets,
            "its base values are not one for each target");
  for (const TreeNode& node : forest.nodes) {
    if (node.leaf()) continue;
    n.require(node.feature >= 0 && node.feature < (int64_t{1} << 31) &&
                  (!width.is_const() || node.feature < width.value()),
              cat("a node compares feature ", node.feature, " of ", show(width)));
  }
  for (const LeafWeight& w : forest.weights) {
    n.require(w.target >= 0 && w.target < forest.targets,
              cat("a leaf has a weight for target ", w.target, " of ", forest.targets));
    n.require(forest.nodes[static_cast<size_t>(w.leaf)].leaf(), "a node that is no leaf has a weight");
  }
  return depth_of(n, forest);
}

Expr features(Node& n) {
  const Expr x = rows_at(n, 0);
  if (type_of(x).dims[0].is_unknown()) n.unsupported("the number of its rows depends on the data");
  return type_of(x).dtype == kFloat64 ? x : n.cast(x, kFloat32);
}

}  // namespace relay::frontend
