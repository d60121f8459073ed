// Networks as programs: see networks.cc.
#pragma once

#include "tests/property/bytes.h"
#include "tests/property/generate.h"

namespace relay::property {

// @main of static dataflow, whose only argument is an image or rows. What is made does not fail.
Program generate_network(ByteSource& in);

}  // namespace relay::property
