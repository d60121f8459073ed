// The interface of a model in ONNX's own form.
#pragma once

#include <onnx/onnx_pb.h>

#include "frontend/onnx/interface.h"

namespace relay::frontend {

Interface interface_of(const ::onnx::ModelProto& model);

}  // namespace relay::frontend
