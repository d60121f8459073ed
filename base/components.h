// Strongly connected components: which nodes of a graph lead to each other.
#pragma once

#include <cstddef>
#include <vector>

namespace relay {

// `edges[i]` are the nodes that i leads to. Each component comes after those that it leads to;
// linear (Tarjan's algorithm, with a stack of its own).
std::vector<std::vector<size_t>> strong_components(const std::vector<std::vector<size_t>>& edges);

}  // namespace relay
