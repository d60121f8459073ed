// The text of --input-shapes.
#pragma once

#include <string>

#include "driver/input_shapes.h"

namespace relay::tools {

// "x:[1,3,-1]" or "x:1x3xbatch": the name, then extents; -1, ? and names are dynamic. False
// if it is neither.
bool parse_input_shape(const std::string& text, driver::InputShapes& out);

}  // namespace relay::tools
