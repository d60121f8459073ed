#include "tools/targets.h"

#include <algorithm>

#include "base/cat.h"
#include "base/split.h"
#include "target/host.h"
#include "target/instructions.h"

namespace relay::tools {
namespace {

// Does whatever runs the code of `b` run that of `a`?
bool runs_wherever(const target::Target& a, const target::Target& b) {
  const std::vector<std::string> names = target::native_names();
  const auto place = [&](const target::Target& t) {
    return std::find(names.begin(), names.end(), t.text.substr(0, t.text.find('{')));
  };
  return place(a) <= place(b);
}

}  // namespace

std::string wrong_targets(const std::string& names) {
  for (std::string_view name : split_outside_braces(names)) {
    if (std::string wrong = target::wrong_target(name); !wrong.empty()) return wrong;
  }
  return {};
}

std::vector<target::Target> targets_of(const std::vector<std::string>& texts) {
  std::vector<target::Target> out;
  for (const std::string& text : texts) {
    for (std::string_view name : split_outside_braces(text)) out.push_back(target::target_of(name));
  }
  return out;
}

std::string accelerator(const target::Target& target) {
  if (!target.vta) return {};
  return cat("--target: ", target.text, " has an accelerator, which `relay run --engine vta` and `relay ",
             "compile` take; ", target::host_of(target).text, " is its processor");
}

std::string never_chosen(const std::vector<target::Target>& targets) {
  for (size_t later = 1; later < targets.size(); ++later) {
    if (!runs_wherever(targets[later - 1], targets[later])) continue;
    return cat("--target: ", targets[later].text, " would never run, as processors that can run it run ",
               targets[later - 1].text, ", which stands before it: name the best first");
  }
  return {};
}

std::string several_machines(const std::vector<target::Target>& targets) {
  for (const target::Target& t : targets) {
    if (t.cpu.isa != targets[0].cpu.isa)
      return cat("--target: ", targets[0].text, " and ", t.text, " are of two machines: compile for each");
  }
  return {};
}

std::string wrong_target_here(const std::string& name) {
  const std::string wrong = target::wrong_target(name);
  if (!wrong.empty()) return wrong;
  const target::Target t = target::target_of(name);
  return t.gpu || t.cpu.isa == target::kHere ? std::string() : target::cannot_run(target::host_of(t));
}

}  // namespace relay::tools
