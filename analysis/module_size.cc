#include "analysis/module_size.h"

#include <vector>

#include "ir/traverse.h"

namespace relay::analysis {

ModuleSize size_of(const Module& m) {
  ModuleSize out{.functions = m.functions().size(), .kernels = m.kernels().size()};
  std::vector<Expr> roots;
  for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
  out.expressions = post_order(roots).size();
  return out;
}

}  // namespace relay::analysis
