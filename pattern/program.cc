#include "pattern/program.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace relay::pattern {
namespace {

std::vector<const Node*> children_of(const Node& n) {
  std::vector<const Node*> out;
  for (size_t i = 0; i < n.children.size(); ++i) {
    if (n.kind != Kind::kDominator || i != kPath) out.push_back(n.children[i].get());
  }
  return out;
}

}  // namespace

Programs::Programs(const Pattern& p) {
  std::vector<const Node*> wholes{p.get()};
  std::unordered_map<const Node*, uint32_t> numbers;  // of paths
  for (size_t i = 0; i < wholes.size(); ++i) {
    all.emplace_back(wholes[i], [&](const Node* path) {
      const auto [at, fresh] = numbers.emplace(path, static_cast<uint32_t>(wholes.size()));
      if (fresh) wholes.push_back(path);
      return at->second;
    });
  }
}

Program::Program(const Node* whole, const std::function<uint32_t(const Node* path)>& number_of) {
  std::unordered_map<const Node*, uint32_t> numbers;
  struct Step {
    const Node* node;
    bool closing;
  };
  std::vector<Step> stack{{whole, false}};
  while (!stack.empty()) {
    const auto [node, closing] = stack.back();
    stack.pop_back();
    if (numbers.contains(node)) continue;
    const std::vector<const Node*> children = children_of(*node);
    if (!closing) {
      stack.push_back({node, true});
      for (size_t i = children.size(); i-- > 0;) stack.push_back({children[i], false});
      continue;
    }
    numbers.emplace(node, static_cast<uint32_t>(items.size()));
    Item item{node, {}};
    for (const Node* child : children) item.children.push_back(numbers.at(child));
    if (node->kind == Kind::kDominator) item.path = number_of(node->children[kPath].get());
    items.push_back(std::move(item));
  }

  // Parts of one name may share a slot; so may the occurrences of a part without a name.
  std::vector<uint32_t> occurrences(items.size(), 0);
  ++occurrences[root()];
  for (const Item& item : items) {
    for (uint32_t child : item.children) ++occurrences[child];
  }
  std::map<std::string_view, std::vector<uint32_t>> by_name;
  std::vector<std::vector<uint32_t>> groups;
  for (uint32_t i = 0; i < items.size(); ++i) {
    const Node& n = *items[i].node;
    if (!n.name.empty()) {
      by_name[n.name].push_back(i);
    } else if (occurrences[i] > 1 && !same_everywhere(n)) {
      groups.push_back({i});
    }
  }
  for (auto& [name, group] : by_name) {
    uint32_t sum = 0;
    for (uint32_t i : group) sum += occurrences[i];
    if (sum > 1) groups.push_back(std::move(group));
  }
  // Patterns that no person writes are not looked at so closely: a slot too many costs
  // guesses, not answers.
  constexpr size_t kMostSteps = size_t{1} << 26;
  const bool close = groups.size() * items.size() <= kMostSteps;
  for (const std::vector<uint32_t>& group : groups) {
    if (close && !meet(group)) continue;
    for (uint32_t i : group) items[i].slot = slots;
    ++slots;
  }
  for (Item& item : items) {
    item.tied = item.slot != Item::kNone;
    for (uint32_t child : item.children) item.tied |= items[child].tied;
  }
}

// Two alternatives are never both taken, so that occurrences in both need not agree.
bool Program::meet(const std::vector<uint32_t>& group) const {
  std::vector<uint32_t> most(items.size(), 0);  // how many of the group a way to match the item can take
  for (uint32_t i : group) most[i] = 1;
  for (uint32_t i = 0; i < items.size(); ++i) {
    const bool either = items[i].node->kind == Kind::kAlt;
    uint32_t below = 0;
    for (uint32_t child : items[i].children)
      below = either ? std::max(below, most[child]) : below + most[child];
    most[i] = std::min(most[i] + below, 2u);
  }
  return most[root()] > 1;
}

}  // namespace relay::pattern
