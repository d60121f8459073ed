// Names for extents that only a run tells, so that they can be compared: a type says `?` of each,
// whichever it is.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/context.h"

namespace relay::passes {

class FreshExtents {
 public:
  // Names that stand in these types, of tensors and tuples of them, are taken.
  FreshExtents(Context& context, std::span<const Type> types);

  // The type with a shape variable of its own for each `?`.
  Type name(Type type);
  // The variables that were made, in order.
  const std::vector<Dim>& made() const { return made_; }

 private:
  Dim next();

  Context& context_;
  std::unordered_set<std::string> taken_;
  size_t next_ = 0;
  std::vector<Dim> made_;
};

}  // namespace relay::passes
