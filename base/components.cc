#include "base/components.h"

#include <algorithm>
#include <cstdint>

namespace relay {
namespace {

class Search {
 public:
  explicit Search(const std::vector<std::vector<size_t>>& edges) : edges_(edges), nodes_(edges.size()) {}

  std::vector<std::vector<size_t>> run() {
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].number == SIZE_MAX) from(i);
    }
    return std::move(out_);
  }

 private:
  struct Node {
    size_t number = SIZE_MAX, low = 0;
    bool is_open = false;
  };
  struct Visit {
    size_t node, next_edge;
  };

  void open(size_t i) {
    nodes_[i].number = nodes_[i].low = numbers_++;
    nodes_[i].is_open = true;
    open_.push_back(i);
    visits_.push_back({i, 0});
  }

  void from(size_t root) {
    open(root);
    while (!visits_.empty()) {
      Visit& top = visits_.back();
      Node& node = nodes_[top.node];
      if (top.next_edge < edges_[top.node].size()) {
        const size_t to = edges_[top.node][top.next_edge++];
        if (nodes_[to].number == SIZE_MAX) {
          open(to);
        } else if (nodes_[to].is_open) {
          node.low = std::min(node.low, nodes_[to].number);
        }
        continue;
      }
      const size_t done = top.node;
      visits_.pop_back();
      if (!visits_.empty()) {
        Node& parent = nodes_[visits_.back().node];
        parent.low = std::min(parent.low, node.low);
      }
      if (node.low == node.number) close(done);
    }
  }

  // Everything opened since the node, and not closed, leads back to it.
  void close(size_t first) {
    std::vector<size_t> component;
    do {
      component.push_back(open_.back());
      nodes_[open_.back()].is_open = false;
      open_.pop_back();
    } while (component.back() != first);
    out_.push_back(std::move(component));
  }

  const std::vector<std::vector<size_t>>& edges_;
  std::vector<Node> nodes_;
  std::vector<Visit> visits_;
  std::vector<size_t> open_;
  std::vector<std::vector<size_t>> out_;
  size_t numbers_ = 0;
};

}  // namespace

std::vector<std::vector<size_t>> strong_components(const std::vector<std::vector<size_t>>& edges) {
  return Search(edges).run();
}

}  // namespace relay
