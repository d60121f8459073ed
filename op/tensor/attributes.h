// Attributes that are more than a number or a list of them.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ir/attrs.h"
#include "ir/context.h"
#include "runtime/dtype.h"

namespace relay::op {

// The dtype of a result; absent, None or "": whatever the operator chooses, mostly that of
// its first argument.
struct MaybeDType {
  std::optional<DType> given = {};
  DType value_or(DType other) const { return given.value_or(other); }
};
std::string read_attr(const AttrValue& v, MaybeDType& out);
std::pair<std::string, std::string> describe_attr(const MaybeDType& v);

// How many elements are added before and after each axis: ((before, after), ...).
struct PadWidth {
  std::vector<std::pair<Dim, Dim>> axes = {};
};
std::string read_attr(const AttrValue& v, PadWidth& out);
std::pair<std::string, std::string> describe_attr(const PadWidth& v);
// The attribute's value, for calls that the compiler writes.
AttrValue pad_width(Context& context, const std::vector<std::pair<Dim, Dim>>& axes);

// Where an axis is cut: into `parts` equal parts, or before each of some positions.
struct Cuts {
  int64_t parts = 0;  // 0: at the positions
  std::vector<Dim> positions = {};
};
std::string read_attr(const AttrValue& v, Cuts& out);
std::pair<std::string, std::string> describe_attr(const Cuts& v);

}  // namespace relay::op
