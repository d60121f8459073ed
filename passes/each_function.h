// What a pass does to one function after the other.
#pragma once

#include "ir/module.h"

namespace relay::passes {

// The module with `rewritten(fn)` in the place of each function. Functions that stay are given back
// as they are, and if all do, so is the module (Module::same).
template <class Rewrite>
Module with_each_function(const Module& m, const Rewrite& rewritten) {
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    const Expr now = rewritten(fn);
    if (now != fn) out.set_function(name.text(), now->template as<Fn>());
  }
  return out;
}

}  // namespace relay::passes
