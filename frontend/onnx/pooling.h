// The mean over windows, which pooling of numbers and of quantised ones share.
#pragma once

#include "frontend/onnx/node.h"

namespace relay::frontend {

// The mean of each window of x, as the attributes of the node say. Padding counts as zeros with
// count_include_pad=1, else not at all.
Expr average_of_windows(Node& n, Expr x);

}  // namespace relay::frontend
