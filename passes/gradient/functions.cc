#include "passes/gradient/functions.h"

#include <set>
#include <string_view>

#include "ir/analysis.h"
#include "ir/builder.h"
#include "passes/gradient/augment.h"
#include "passes/gradient/checkpoints.h"
#include "passes/gradient/local_functions.h"
#include "passes/gradient/prepare.h"
#include "passes/gradient/straight.h"
#include "passes/inline.h"
#include "typecheck/check.h"

namespace relay::passes::gradient {
namespace {

// The module in which functions that no root reaches have lost their bodies. They keep their names,
// so that new functions get others.
Module reached_from(const Module& m, const std::vector<Wanted>& roots) {
  std::set<std::string_view> reached;
  std::vector<std::string_view> pending;
  const auto reach = [&](std::string_view name) {
    const auto found = m.functions().find(name);
    if (found != m.functions().end() && reached.insert(found->first.text()).second)
      pending.push_back(found->first.text());
  };
  for (const Wanted& wanted : roots) reach(wanted.root);
  while (!pending.empty()) {
    const Fn* fn = m.function(pending.back());
    pending.pop_back();
    for (Symbol name : mentioned_globals(fn)) reach(name.text());
    reach(own_gradient(fn));
  }
  Module out = m;
  Builder b(m.context());
  for (const auto& [name, fn] : m.functions()) {
    if (!reached.contains(name.text())) out.set_function(name.str(), b.fn({}, b.tuple({}), nullptr));
  }
  return out;
}

// The roots that are straight lines, and then the others: each kind has a gradient of its own.
Result<Module> differentiated(const Module& m, const std::vector<Wanted>& roots, Diagnostics& diagnostics) {
  const size_t errors = diagnostics.errors();
  const Program all(m, roots, diagnostics);
  if (!all.is_differentiable()) return kReported;
  const auto straight = all.straight();
  std::vector<Wanted> lines, others;
  for (const Wanted& wanted : roots)
    (straight.contains(std::string_view(wanted.root)) ? lines : others).push_back(wanted);
  const Module first = lines.empty() ? m : differentiate_straight(Program(m, lines, diagnostics));
  const Module out = others.empty() ? first : differentiate_any(Program(first, others, diagnostics));
  return diagnostics.errors() > errors ? Result<Module>(kReported) : out;
}

}  // namespace

Result<Module> with_gradients(const Module& m, std::vector<Wanted>& roots, const PassContext& pass) {
  if (roots.empty()) return m;
  const PassContext inner{pass.diagnostics, pass.values, pass.target, pass.schedule};
  const Result<Module> known = prepared(reached_from(m, roots), inner);
  if (!known) return kReported;
  // The gradient of a function that is called evaluates it once more. Functions that name their
  // gradients are no part of what calls them.
  const auto stays = [](const Fn* fn) { return !own_gradient(fn).empty(); };
  const Result<Module> whole =
      typecheck::check(with_inlined_calls(*known, {.moves = false, .stays = stays}), pass.diagnostics);
  if (!whole) return kReported;
  const Result<Module> ready =
      with_checkpoints(with_local_functions_lifted(*whole, roots, inner), pass.diagnostics);
  if (!ready) return kReported;
  const Program names(*ready, roots, pass.diagnostics);
  for (Wanted& wanted : roots) wanted.into = names.new_name(wanted.root, "_grad");
  const Result<Module> made = differentiated(*ready, roots, pass.diagnostics);
  if (!made) return kReported;
  Module out = m;
  for (const auto& [name, def] : made->data_types()) {
    if (!m.data_type(name.text())) out.set_data_type(def);
  }
  for (const auto& [name, kernel] : made->kernels()) {
    if (!m.kernel(name.text())) out.set_kernel(name.str(), kernel);
  }
  for (const auto& [name, fn] : made->functions()) {
    if (!m.function(name.text())) out.set_function(name.str(), fn);
  }
  return out;
}

}  // namespace relay::passes::gradient
