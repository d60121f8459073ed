#include "analysis/evaluation_regions.h"

namespace relay::analysis {

std::vector<uint32_t> evaluation_regions(const Scopes& scopes, const std::vector<Expr>& order) {
  std::vector<bool> runs_once(scopes.all.size());
  for (Expr e : order) {
    const uint32_t opened = scopes.opens.get(e);
    if (opened != 0 && scopes_run(e) == Runs::kOnce) runs_once[opened] = true;
  }
  std::vector<uint32_t> out(scopes.all.size());
  for (uint32_t i = 0; i < out.size(); ++i) out[i] = runs_once[i] ? out[scopes.all[i].parent] : i;
  return out;
}

}  // namespace relay::analysis
