#include "op/domain.h"

#include "base/cat.h"

namespace relay::op {
namespace {

std::string_view name(Domain domain) {
  switch (domain) {
    case Domain::kAny: return "any";
    case Domain::kNumber: return "numeric";
    case Domain::kFloat: return "floating-point";
    case Domain::kInteger: return "integer";
    case Domain::kIntegerOrBool: return "integer or boolean";
    case Domain::kBool: break;
  }
  return "boolean";
}

}  // namespace

bool holds(Domain domain, DType dtype) {
  switch (domain) {
    case Domain::kAny: return true;
    case Domain::kNumber: return !dtype.is_bool();
    case Domain::kFloat: return dtype.is_float();
    case Domain::kInteger: return dtype.is_int();
    case Domain::kIntegerOrBool: return dtype.is_int() || dtype.is_bool();
    case Domain::kBool: break;
  }
  return dtype.is_bool();
}

std::string_view family(Domain domain) {
  switch (domain) {
    case Domain::kAny: return "Any";
    case Domain::kNumber: return "Number";
    case Domain::kFloat: return "Float";
    case Domain::kInteger: return "Integer";
    case Domain::kIntegerOrBool: return "Bits";
    case Domain::kBool: break;
  }
  return "Bool";
}

void require(Relation& r, int arg, Domain domain) {
  const DType found = r.tensor(arg).dtype;
  if (!holds(domain, found)) {
    const std::string_view article =
        domain == Domain::kInteger || domain == Domain::kIntegerOrBool ? "an " : "a ";
    r.fail(arg, cat("expected ", article, name(domain), " tensor, found ", found.name()), "wrong-dtype");
  }
}

}  // namespace relay::op
