// Inputs and outputs that are lists or optional values, as named tensors.
//
// The elements of `x` are called `x.0`, `x.1` and so on; elements that are lists themselves go on
// likewise (`x.0.0`). A list without elements, and an optional value that is not there, is a
// tensor `x` without elements.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/data/named_tensors.h"
#include "ir/module.h"
#include "runtime/value.h"

namespace relay::driver {

// Is it a list or an optional value, of tensors or of such?
bool is_composite(Type type);

// The names of the tensors that an input of this type is made of, in a file that holds tensors of
// the names `held`. A list of which the file says nothing has the name of its first element.
std::vector<std::string> tensor_names(const std::string& input, Type type, std::span<const std::string> held);

// The input's value. Takes the tensors from the front of `tensors`, which are named as
// `tensor_names` says; an element that is no list where one is needed is reported.
Result<Value> composite_value(const Module& module, const std::string& input, Type type,
                              std::span<const frontend::data::NamedTensor>& tensors,
                              Diagnostics& diagnostics);

// The names of the tensors of an output of this type: its own, or with numbers.
void name_tensors(const std::string& output, const Value& value, frontend::data::NamedTensors& out);

}  // namespace relay::driver
