// Walks over the types that a type is made of.
//
// Types share parts: `(T, T)` in `(T, T)`, and so on, is small, but its tree is not. So each part
// is met once.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/type.h"

namespace relay {

// Calls f once on the type and on each type in it; on null for one that is not known. If f returns
// false, the parts of this type are left out. Linear in the number of different parts.
template <class F>
void for_each_type_in(Type root, F&& f) {
  std::vector<Type> pending{root};
  std::unordered_set<Type> seen;
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    if (!seen.insert(t).second || !f(t) || !t) continue;
    for_each_part(t, [&](Type part) { pending.push_back(part); });
  }
}

// What `make` gives for the type: another type, or a number. It is asked for all parts of a type
// first, as types nest as deeply as programs. Not for those of types for which `enter` is false.
// Null gives the empty value. `known` keeps what was made.
template <class Made, class Make, class Enter>
Made made_of_parts(Type root, std::unordered_map<Type, Made>& known, Make&& make, Enter&& enter) {
  if (!root) return Made{};
  std::vector<Type> pending{root};
  while (!pending.empty()) {
    const Type t = pending.back();
    const size_t before = pending.size();
    if (enter(t)) {
      for_each_part(t, [&](Type part) {
        if (part && !known.contains(part)) pending.push_back(part);
      });
    }
    if (pending.size() > before) continue;
    pending.pop_back();
    known[t] = make(t);
  }
  return known.at(root);
}
template <class Made, class Make>
Made made_of_parts(Type root, std::unordered_map<Type, Made>& known, Make&& make) {
  return made_of_parts(root, known, make, [](Type) { return true; });
}

// Is it a tensor, or a tuple of such, however nested?
inline bool is_of_tensors(Type root) {
  bool all = true;
  for_each_type_in(root, [&](Type t) {
    all = all && t && (t->kind == TypeKind::kTensor || t->kind == TypeKind::kTuple);
    return all;
  });
  return all;
}

}  // namespace relay
