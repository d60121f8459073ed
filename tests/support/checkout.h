// The checkout, for tests that rewrite in it what they compare with.
#pragma once

#include <string>

namespace relay::tests {

// Was `--update` given? Not without `bazel run`: elsewhere there is no checkout to write to.
bool wants_update(int argc, char** argv);

// The file of the checkout with this path from its root. Call it only if wants_update.
std::string in_checkout(const std::string& path);

}  // namespace relay::tests
