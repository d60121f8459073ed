// How types, dims and attributes are written.
#pragma once

#include <functional>
#include <string>

#include "ir/attrs.h"
#include "ir/type.h"

namespace relay::text {

// Where a dim stands: `//` divides in types, and begins a comment in attributes, where
// `floor_div` is written.
enum class DimPlace { kType, kAttribute };

std::string print_dim(Dim d, DimPlace place);
// `type_var` says whether a name means a type parameter here; a data type of that name is
// written with brackets.
std::string print_type(Type t, const std::function<bool(Symbol name)>& type_var);
std::string print_attr(const AttrValue& v);
// "axis=1, keepdims=True"
std::string print_attrs(const Attrs& attrs);

}  // namespace relay::text
