// Which dtypes an operator takes.
#pragma once

#include "op/relation.h"

namespace relay::op {

enum class Domain : uint8_t {
  kAny,
  kNumber,  // integers and floating point
  kFloat,
  kInteger,
  kIntegerOrBool,
  kBool,
};

bool holds(Domain domain, DType dtype);
std::string_view family(Domain domain);  // "Number", as part of the name of a relation
// Fails the relation unless the argument is a tensor with such elements.
void require(Relation& r, int arg, Domain domain);

}  // namespace relay::op
