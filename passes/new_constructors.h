// Data types whose fields have other types. A constructor is known by its identity, so where a
// field changes, all constructors of its data type are new ones.
#pragma once

#include <functional>
#include <unordered_map>

#include "ir/module.h"

namespace relay::passes {

class NewConstructors {
 public:
  explicit NewConstructors(Context& context) : context_(context) {}

  // Declares the data type in `out`, with fields of the types that `type` gives for those of `def`;
  // not if it gives the same ones. `def` has the old constructors, and may have a new head.
  void declare(Module& out, DataTypeDef def, const std::function<Type(Type)>& type);

  // The constructor that took the place of this one, or itself.
  const Constructor* of(const Constructor* c) const;
  bool empty() const { return now_.empty(); }

 private:
  Context& context_;
  std::unordered_map<const Constructor*, const Constructor*> now_;
};

}  // namespace relay::passes
