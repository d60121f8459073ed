// The readers of VTA: configurations, assembly, and streams as bytes. Streams are not only read,
// but run on the simulator.
#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/readers.h"

namespace relay::fuzz {

// vta_config.json. What is read is written and read again, and a VTA with these parameters is made.
Outcome read_vta_config(std::string_view bytes);

// Assembly of the default VTA: it survives printing and encoding, and is run.
Outcome read_vta_assembly(std::string_view bytes);

// uop.bin, which has kVtaMicroOps micro-ops, and instructions.bin behind it: they are run.
Outcome read_vta_stream(std::string_view bytes);
inline constexpr size_t kVtaMicroOps = 16;

// Changes fields, and exchanges instructions: what decoded mostly decodes again.
std::string mutate_vta_stream(const std::string& stream, const Seeds& seeds, Random& random);

const Seeds& vta_config_seeds();
const Seeds& vta_assembly_seeds();
const Seeds& vta_stream_seeds();

}  // namespace relay::fuzz
