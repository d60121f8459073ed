// The table of code generators: one row each.
#include "aot/external/dnnl.h"
#include "aot/external/generator.h"

namespace relay::aot {

std::span<const CodeGenerator* const> code_generators() {
  static constexpr const CodeGenerator* kAll[] = {&kDnnlGenerator};
  return kAll;
}

const CodeGenerator* find_code_generator(std::string_view name) {
  for (const CodeGenerator* g : code_generators()) {
    if (g->name == name) return g;
  }
  return nullptr;
}

}  // namespace relay::aot
