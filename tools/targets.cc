#include "tools/targets.h"

#include <algorithm>
#include <string_view>

#include "aot/cuda/target.h"
#include "base/cat.h"
#include "base/check.h"
#include "tools/engines.h"

namespace relay::tools {

namespace native = kernel::native;

std::vector<native::Target> targets_of(const std::vector<std::string>& names) {
  std::vector<native::Target> out;
  for (const std::string& name : names) {
    native::Target target;
    CHECK(native::parse_foreign_target(name, target).empty(), "the option was checked");
    target.name = name;
    out.push_back(std::move(target));
  }
  return out;
}

std::string never_chosen(const std::vector<std::string>& targets) {
  // Of the names each has what those before it have, but for `native`, which has what
  // this processor has.
  const auto rank = [](std::string_view name) {
    if (name.starts_with("cpu:")) name.remove_prefix(4);
    const std::vector<std::string> names = native::target_names();
    return name == "native" ? names.end() - names.begin()
                            : std::find(names.begin(), names.end(), name) - names.begin();
  };
  for (size_t later = 1; later < targets.size(); ++later) {
    if (rank(targets[later]) < rank(targets[later - 1])) continue;
    return cat("--target: ", targets[later], " would never run, as processors that can run it run ",
               targets[later - 1], ", which stands before it: name the best first");
  }
  return {};
}

std::string several_machines(const std::vector<native::Target>& targets) {
  for (const native::Target& t : targets) {
    if (t.machine != targets[0].machine)
      return cat("--target: ", targets[0].name, " and ", t.name, " are of two machines: compile for each");
  }
  return {};
}

std::string wrong_foreign_target(const std::string& name) {
  if (aot::cuda::is_target(name)) return wrong_target(name);
  native::Target ignored;
  return native::parse_foreign_target(name, ignored);
}

}  // namespace relay::tools
