#include "aot/wrappers.h"

#include <vector>

#include "base/cat.h"

namespace relay::aot {

void Wrappers::add_constant(size_t i, const Shape& shape, uint64_t offset) {
  std::vector<std::string> extents;
  for (int64_t e : shape) extents.push_back(cat(e));
  text_ += cat("Value constant_", prefix_, i, "(Run& run) {\n",
               print_tensor("  ", "v", extents, cat("make_view(run, run.weights + ", offset, ", "), ")"),
               "  return v;\n}\n");
}

std::string Wrappers::constructor(const Constructor& c) {
  std::string name = cat(prefix_, "make_", c.tag, "_of_", c.fields.size());
  if (!names_.insert(name).second) return name;
  std::vector<std::string> args{"run", cat(c.tag)};
  for (size_t i = 0; i < c.fields.size(); ++i) args.push_back(cat("static_cast<Value&&>(args[", i, "])"));
  text_ += cat("Value ", name, "(Run& run, const Value&, Value*", c.fields.empty() ? "" : " args",
               ") {\n  return make_node(", join(args, ", "), ");\n}\n");
  return name;
}

std::string Wrappers::kernel(const kernel::Kernel& k) {
  std::string name = cat(prefix_, "value_", device_library_.name(k));
  if (!names_.insert(name).second) return name;
  std::vector<std::string> args;
  for (size_t i = 0; i < k.inputs.size(); ++i) args.push_back(cat("args[", i, "]"));
  text_ += cat("Value ", name, "(Run& run, const Value&, Value* args) {\n  return ", calls_.call(k, args),
               ";\n}\n");
  return name;
}

void Wrappers::rewind(Mark mark) {
  text_.resize(mark.length);
  names_ = std::move(mark.names);
}

}  // namespace relay::aot
