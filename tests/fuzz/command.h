// The command line of a campaign.
#pragma once

#include <vector>

#include "tests/fuzz/readers.h"

namespace relay::fuzz {

// Runs what the arguments ask for; gives the exit code.
int fuzz_command(int argc, char** argv, const std::vector<Reader>& readers);

}  // namespace relay::fuzz
