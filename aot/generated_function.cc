#include "aot/generated_function.h"

#include "base/cat.h"
#include "base/escape.h"

namespace relay::aot {
namespace {

std::string unique_name(std::string_view kind, std::string_view name, size_t number) {
  constexpr size_t kLongest = 32;  // with the number it stays a whole identifier
  return c_identifier(cat(kind, name.substr(0, kLongest), "_", number));
}

}  // namespace

std::string GeneratedFunction::signature() const {
  std::vector<std::string> parameters{"Run& run", "const Value& self"};
  for (size_t i = 0; i < fn->params.size(); ++i) parameters.push_back(cat("[[maybe_unused]] Value a", i));
  return cat("[[maybe_unused]] Value ", name, "(", join(parameters, ", "), ")");
}

std::string GeneratedFunction::any_signature() const {
  return cat("[[maybe_unused]] Value ", name, "_any(Run& run, const Value& self, Value* args)");
}

std::string function_name(std::string_view prefix, std::string_view name, size_t number) {
  return cat(prefix, unique_name("fn_", name, number));
}

std::string variable_name(std::string_view name, size_t number) { return unique_name("let_", name, number); }

}  // namespace relay::aot
