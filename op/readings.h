// Readings: names of the established system whose calls are read as other expressions.
//
// There a program says when memory is taken and given back. Here it does not, so that no engine and
// no pass has to know these names: the parser puts what they mean in the place of the call, for
// values of any type.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/builder.h"

namespace relay::op {

struct Reading {
  std::string_view name;
  std::string_view means;  // "debug(program) = program"
  std::string_view doc;    // why
  std::vector<std::string_view> params, attrs;
  // What a call is. There are as many arguments as parameters, and the attributes are among
  // `attrs`. Throws a RelationError (op/relation.h).
  Expr (*read)(Builder& b, std::span<const Expr> args, const Attrs& attrs);
};

std::span<const Reading> readings();                 // sorted by name
const Reading* find_reading(std::string_view name);  // null if there is none
// The call as what it is read as. Throws a RelationError.
Expr read(const Reading& r, Builder& b, std::span<const Expr> args, const Attrs& attrs);

// The type that a name stands for where the program defines none of that name, or none with
// constructors: `Storage`, which is memory without elements, is `()`. Null for other names.
Type read_type(Context& context, std::string_view name);

}  // namespace relay::op
