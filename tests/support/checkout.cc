#include "tests/support/checkout.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace relay::tests {
namespace {

const char* checkout() { return std::getenv("BUILD_WORKSPACE_DIRECTORY"); }

}  // namespace

bool wants_update(int argc, char** argv) {
  return checkout() != nullptr && std::find(argv, argv + argc, std::string_view("--update")) != argv + argc;
}

std::string in_checkout(const std::string& path) { return std::string(checkout()) + "/" + path; }

}  // namespace relay::tests
