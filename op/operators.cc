#include "op/operators.h"

#include "base/cat.h"
#include "op/absent.h"
#include "op/readings.h"
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
      .reads = [](std::string_view name) { return find_reading(name) != nullptr; },
      .read =
          [](Builder& b, std::string_view name, std::span<const Expr> args, const Attrs& attrs) {
            try {
              return Operators::Read{.e = read(*find_reading(name), b, args, attrs)};
            } catch (const RelationError& wrong) {
              const bool argument = wrong.arg >= 0;
              const Slug slug = argument ? Slug("bad-argument") : Slug("bad-attribute");
              return Operators::Read{
                  .wrong = argument ? cat("argument ", wrong.arg, " ", wrong.reason) : wrong.reason,
                  .slug = wrong.slug.value_or(slug)};
            }
          },
      .type = read_type,
      .why_absent = why_absent,
  };
}

std::string text_of(const Module& m, PrintOptions options) {
  const Operators all = operators();
  options.operators = &all;
  return print(m, options);
}

}  // namespace relay::op
