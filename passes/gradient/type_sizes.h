// Sizes of types: gradients walk over tuples by recursion, and have a step for each tensor.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/type_parts.h"

namespace relay::passes::gradient {

inline constexpr uint32_t kMostNestedTuples = 256;

// Each tensor of a parameter and of the result is an expression of the gradient. A tuple of the
// same tuple twice, and so on, has many in a short program.
inline constexpr uint64_t kMostTensors = 1 << 16;

// A number for each type that follows from those of its parts: asked once for each type.
template <uint64_t (*number)(Type t, std::span<const uint64_t> parts)>
class TypeNumbers {
 public:
  uint64_t of(Type root) {
    return made_of_parts(root, known_, [&](Type t) {
      std::vector<uint64_t> parts;
      for_each_part(t, [&](Type part) {
        if (part) parts.push_back(known_.at(part));
      });
      return number(t, parts);
    });
  }

 private:
  std::unordered_map<Type, uint64_t> known_;
};

// Tuples in tuples.
inline uint64_t tuple_depth(Type t, std::span<const uint64_t> parts) {
  const uint64_t deepest = parts.empty() ? 0 : *std::max_element(parts.begin(), parts.end());
  return deepest + (t->kind == TypeKind::kTuple ? 1 : 0);
}
using TupleDepth = TypeNumbers<tuple_depth>;

// Tensors, up to one more than there may be.
inline uint64_t tensor_count(Type t, std::span<const uint64_t> parts) {
  uint64_t sum = t->kind == TypeKind::kTensor ? 1 : 0;
  for (uint64_t n : parts) sum = std::min(sum + n, kMostTensors + 1);
  return sum;
}
using TensorCount = TypeNumbers<tensor_count>;

}  // namespace relay::passes::gradient
