// A folder in the place of a model's file.
#pragma once

#include <string>

namespace relay::tools {

// A check of an option (options.h): a folder that has model.onnx or model.relay, beside its inputs/
// and outputs/, stands for that file. A graph is a folder itself.
std::string find_in_folder(std::string& path);

}  // namespace relay::tools
