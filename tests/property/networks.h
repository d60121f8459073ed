// Networks as programs: see networks.cc.
#pragma once

#include "tests/property/bytes.h"
#include "tests/property/generate.h"

namespace relay::property {

// May a network have functions that call themselves? Else it is static dataflow.
enum class Recursion : uint8_t { kNone, kMay };

// The only argument of @main is an image or rows. What is made does not fail.
Program generate_network(ByteSource& in, Recursion recursion);

}  // namespace relay::property
