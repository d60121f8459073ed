// Private to typecheck/: the templates of Unifier that go over all parts of a type.
#pragma once

#include "typecheck/unify.h"

namespace relay::typecheck {

template <class F>
void Unifier::walk(Type root, F&& f) {
  const uint32_t now = ++walks_;
  std::vector<Type> pending{root};
  while (!pending.empty()) {
    const Type t = find(pending.back());
    pending.pop_back();
    spend(1);
    if (t->id >= marks_.size()) marks_.resize(t->id + 1 + t->id / 2, 0);
    if (marks_[t->id] == now) continue;
    marks_[t->id] = now;
    if (!f(t)) return;
    const size_t start = pending.size();
    for_each_part(t, [&](Type part) { pending.push_back(part); });
    std::reverse(pending.begin() + static_cast<ptrdiff_t>(start), pending.end());
  }
}

// The type with its parts replaced bottom-up. `leaf` gives the replacement of a part, or
// null to go into it.
template <class Leaf>
Type Unifier::map(Type root, TypeMap& memo, Leaf&& leaf) {
  struct Step {
    Type t;
    bool closing;
  };
  std::vector<Step> stack{{root, false}};
  std::vector<Type> parts;
  while (!stack.empty()) {
    const Step step = stack.back();
    stack.pop_back();
    spend(8);  // it may make a type
    if (memo.contains(step.t)) continue;
    const Type known = find(step.t);
    if (step.closing) {
      if (known != step.t) {
        memo.emplace(step.t, memo.at(known));
        continue;
      }
      parts.clear();
      bool same = true;
      for_each_part(step.t, [&](Type part) {
        parts.push_back(memo.at(part));
        same &= parts.back() == part;
      });
      memo.emplace(step.t, same ? step.t : context_.with_parts(step.t, parts));
      continue;
    }
    if (known == step.t) {
      if (const Type now = leaf(step.t)) {
        memo.emplace(step.t, now);
        continue;
      }
    }
    stack.push_back({step.t, true});
    if (known != step.t) {
      stack.push_back({known, false});
    } else {
      for_each_part(step.t, [&](Type part) { stack.push_back({part, false}); });
    }
  }
  return memo.at(root);
}

}  // namespace relay::typecheck
