#include "tools/targets.h"

#include <algorithm>

#include "base/cat.h"
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

// `cpu:avx2{l1=48K,l2=2M},cpu:sse2` are two: commas in braces belong to a name.
std::vector<std::string> names_in(std::string_view text) {
  std::vector<std::string> out(1);
  bool braces = false;
  for (const char c : text) {
    if (c == '{' || c == '}') braces = c == '{';
    if (c == ',' && !braces)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace

std::string wrong_targets(const std::string& names) {
  for (const std::string& name : names_in(names)) {
    if (std::string wrong = target::wrong_target(name); !wrong.empty()) return wrong;
  }
  return {};
}

std::vector<target::Target> targets_of(const std::vector<std::string>& texts) {
  std::vector<target::Target> out;
  for (const std::string& text : texts) {
    for (const std::string& name : names_in(text)) out.push_back(target::target_of(name));
  }
  return out;
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
  return t.gpu || t.cpu.isa == target::kHere ? std::string() : target::cannot_run(t);
}

}  // namespace relay::tools
