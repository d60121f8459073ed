#include "op/operators.h"

#include "op/registry.h"

namespace relay::op {

Operators operators() {
  return {
      .find = [](std::string_view name) { return find(name); },
      .name = [](const OpDef& op) { return std::string_view(op.name); },
      .names =
          [] {
            std::vector<std::string> names;
            for (const OpDef* op : all_ops()) names.push_back(op->name);
            return names;
          },
  };
}

std::string text_of(const Module& m, PrintOptions options) {
  const Operators all = operators();
  options.operators = &all;
  return print(m, options);
}

}  // namespace relay::op
