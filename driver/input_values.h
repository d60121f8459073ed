// Inputs of a model that a user makes constants.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "driver/input_shapes.h"
#include "frontend/data/named_tensors.h"
#include "frontend/data/written_value.h"
#include "ir/module.h"

namespace relay::driver {

using InputValues = std::map<std::string, frontend::data::WrittenValue>;

// "sr=16000", "w=[1,2,3]" or "w=w.npy": the name, then the value. False if it is none of these, or
// the name has a value already.
bool parse_input_value(const std::string& text, InputValues& out);

// What a user says of a model's inputs.
struct KnownInputs {
  InputShapes shapes = {};
  InputValues values = {};
};

// Reads the tensors of values that are in files, and adds the files to those that were read.
bool read_value_files(InputValues& values, std::vector<std::string>& files, Diagnostics& diagnostics);

// The typed module, whose @function has these constants in the place of inputs, and what they
// became; it must be type checked again. `names` are those of all its inputs. Reports
// "input-unknown", "input-value-mismatch", and "input-not-fixed" if another function gives
// @function all of its inputs.
struct FixedInputs {
  Module module;
  frontend::data::NamedTensors values;  // in the order of the inputs
};
Result<FixedInputs> fix_inputs(const Module& m, std::string_view function,
                               const std::vector<std::string>& names, const InputValues& values,
                               Diagnostics& diagnostics);

}  // namespace relay::driver
