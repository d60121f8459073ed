#include "kernel/codegen/requirements.h"

#include <algorithm>

#include "base/check.h"
#include "kernel/statements.h"

namespace relay::kernel::codegen {

std::vector<std::string> requirements(const Kernel& k) {
  std::vector<std::string> out;
  visit(k.body, [&](Stmt s) {
    const auto* n = s->as<Require>();
    if (n && std::find(out.begin(), out.end(), n->message.text()) == out.end())
      out.push_back(n->message.str());
  });
  return out;
}

size_t number_of(const Require& requirement, const std::vector<std::string>& requirements) {
  const auto it = std::find(requirements.begin(), requirements.end(), requirement.message.text());
  CHECK(it != requirements.end(), "a requirement of a kernel is not listed");
  return static_cast<size_t>(it - requirements.begin()) + 1;
}

}  // namespace relay::kernel::codegen
