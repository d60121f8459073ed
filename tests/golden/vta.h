// The commands of golden tests about VTA: streams on the simulator, and layers that become streams.
#pragma once

#include <string>

#include "base/diagnostics.h"
#include "base/source.h"
#include "tests/golden/command.h"
#include "tools/test_files/test_file.h"

namespace relay::tests {

// simulate [--operations=N]: runs assembly (`---- assembly`) on the simulator, of which at most N
// micro-ops and elements. Shows what ran. `---- config` is a vta_config.json.
//
// The micro-ops of the text are in the first buffer, at 0x1000. `---- host` is the host program, a
// line for each call of a driver; without it, the stream runs once:
//
//   allocate 64          a buffer of 64 zeros
//   write 0x2000 1 255   bytes
//   run                  the stream
//   read 0x2000 2        shows so many bytes
//   free 0x2000
std::string simulate_text(const Command& c, const tools::TestFile& file, SourceMap& sources, Diagnostics& d);

// layer [--threads=N]: compiles a layer whose constants are zero (`---- layer`), and shows its
// schedule and its stream. The first line is the kind with its numbers, others are axes and steps:
//
//   product in_channels=16 out_channels=32
//   rows size=8 window=3 pad_before=1
//   shr 4
//   max 0
//   add channel
std::string layer_text(const Command& c, const tools::TestFile& file, SourceMap& sources, Diagnostics& d);

}  // namespace relay::tests
