// Outputs that would replace what they are made from, or pass for another kind of model.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "tools/session.h"

namespace relay::tools {

// Is none of the files that will be written one of those that were read, the same file by whatever
// path? Otherwise reports "output-is-input" for each. To be asked before anything is written, and
// before what takes long.
bool spares_inputs(std::span<const std::string> written, std::span<const std::string> read, Session& session);

// A form of a model, and the suffix by which commands know it.
struct ModelForm {
  std::string_view name, suffix;
};
inline constexpr ModelForm kText{"a text of the language", ".relay"}, kOnnxModel{"an ONNX model", ".onnx"};

// Has the file no suffix of another form, by which commands would read it? Otherwise
// reports wrong use.
bool is_named_for(const std::string& path, const ModelForm& form, Session& session);

}  // namespace relay::tools
