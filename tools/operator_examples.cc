#include "tools/operator_examples.h"

#include "tools/operator_examples.inc"

namespace relay::tools {

std::string_view example_of(std::string_view op) {
  for (const auto& example : kOperatorExamples) {
    if (example.name == op) return example.text;
  }
  return {};
}

}  // namespace relay::tools
