// Inputs that a user makes constants.
#pragma once

#include <optional>
#include <string_view>

#include "base/diagnostics.h"
#include "frontend/data/written_value.h"
#include "ir/type.h"

namespace relay::frontend {

// The constant that an input of this type becomes. Reports "input-value-mismatch" if the type has
// no such value; `input` says in the message which one it is.
std::optional<Tensor> fixed_input(std::string_view input, Span span, Type type,
                                  const data::WrittenValue& value, Diagnostics& diagnostics);

}  // namespace relay::frontend
