// Captures: what functions take from around them.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/analysis.h"

namespace relay::interp {

// Of each function inside of `root`, whose scopes `all` has: the variables and shared nodes that it
// or what is below it mentions, and that are bound outside of it. A name that a let gives to a
// function is no capture of that function, which is called by it. Each capture stands once.
// Linear in the program and in what is captured.
std::unordered_map<const Fn*, std::vector<Expr>> captures_in(Expr root, const Scopes& all);

}  // namespace relay::interp
