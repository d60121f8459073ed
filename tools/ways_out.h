// Models in forms that others read: what `relay compile --emit onnx` and `--emit dot` write.
#pragma once

#include "tools/product.h"
#include "tools/session.h"

namespace relay::tools {

bool is_way_out(const CompileRequest& o);
void write_way_out(const CompileRequest& o, Session& s);

}  // namespace relay::tools
