#include "analysis/port_names.h"

#include "base/cat.h"

namespace relay::analysis {
namespace {

// At most `most` names of the attribute.
std::vector<std::string> names_of(const Fn& fn, std::string_view attribute, size_t most) {
  std::vector<std::string> names;
  const AttrValue* list = fn.attrs.find(attribute);
  if (!list || list->kind != AttrKind::kList) return names;
  for (size_t i = 0; i < list->list.size() && i < most; ++i) names.push_back(list->list[i].string.str());
  return names;
}

}  // namespace

std::vector<std::string> input_names(const Fn& fn) {
  std::vector<std::string> names = names_of(fn, "input_names", fn.params.size());
  for (size_t i = names.size(); i < fn.params.size(); ++i) names.push_back(fn.params[i]->name.str());
  return names;
}

std::vector<std::string> output_names(const Fn& fn, size_t count) {
  std::vector<std::string> names = names_of(fn, "output_names", count);
  for (size_t i = names.size(); i < count; ++i) names.push_back(output_name(i, count));
  return names;
}

std::string output_name(size_t i, size_t count) { return count == 1 ? "output" : cat("output_", i); }

}  // namespace relay::analysis
