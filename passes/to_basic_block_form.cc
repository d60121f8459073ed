// to-basic-block-form: what several branches, arms or functions share gets a name by a let.
//
// Before, the module is any. After it `breaks_basic_block_form` (normal_forms.h) finds nothing: the
// expression that is evaluated by a branch, an arm or a function stands in it, and what comes from
// outside is a variable. Linear.
#include <utility>
#include <vector>

#include "analysis/evaluation_regions.h"
#include "passes/each_function.h"
#include "passes/let_insertion.h"
#include "passes/normal_forms.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Shared expressions that are used outside the region in which they are evaluated.
NodeMap<bool> used_elsewhere(Expr root) {
  const Scopes found = scopes(root);
  const std::vector<Expr> order = post_order(root);
  const std::vector<uint32_t> regions = analysis::evaluation_regions(found, order);
  NodeMap<bool> out;
  for (Expr user : order) {
    uint32_t scope = found.opens.get(user);
    size_t position = 0;
    for_each_child(user, [&](Expr child) {
      const uint32_t where = opens_scope(user, position++) ? scope++ : found.scope_of.get(user);
      if (!is_value(child) && regions[where] != regions[found.scope_of.get(child)]) out[child] = true;
    });
  }
  return out;
}

Module run(const Module& m, const PassContext&) {
  return with_each_function(m, [&](const Fn* fn) {
    const NodeMap<bool> elsewhere = used_elsewhere(fn);
    return insert_lets(m, fn, [&](Expr e) { return elsewhere.get(e); });
  });
}

}  // namespace

const Pass kToBasicBlockForm = {
    .name = "to-basic-block-form",
    .doc = "give what several branches, arms or functions share a name by a let",
    .run = run,
};

}  // namespace relay::passes
