#include "tests/support/own_cache.h"

#include <cstdlib>
#include <stdexcept>

#include "base/file.h"

namespace relay::tests {

void keep_what_is_compiled() {
  static TemporaryFolder folder;
  if (std::string wrong = folder.make(); !wrong.empty()) throw std::runtime_error(wrong);
  setenv("RELAY_CACHE", folder.path().c_str(), 1);
}

}  // namespace relay::tests
