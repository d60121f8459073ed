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

}  // namespace relay::op
