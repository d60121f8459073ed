// What a user adds to a command that was refused because too little is known of the inputs:
// options, ready to paste.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "driver/input_values.h"
#include "frontend/onnx/interface.h"

namespace relay::tools {

// What has to be known so that the refusal goes away; nothing if that was not found. `lifts` tries
// what it is handed. The first tries fix the least; there is a handful of them.
std::optional<driver::KnownInputs> find_remedy(const std::vector<frontend::Port>& inputs,
                                               const driver::KnownInputs& given,
                                               const std::function<bool(const driver::KnownInputs&)>& lifts);

// An example of what may be known: of images 224 by 224, of a sequence 128, and 1 of a batch.
// Nothing if no extent is open.
std::optional<driver::KnownInputs> example(const std::vector<frontend::Port>& inputs,
                                           const driver::KnownInputs& given);

// The command line that `arguments` are of, with these options in the place of those that say what
// is known of inputs.
std::string command_with(const std::vector<std::string>& arguments, const driver::KnownInputs& known);

// The inputs of a typed function.
std::vector<frontend::Port> ports_of(const Fn& fn, const std::vector<std::string>& names);

}  // namespace relay::tools
