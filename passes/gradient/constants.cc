#include "passes/gradient/constants.h"

#include <deque>
#include <unordered_set>

#include "base/cat.h"
#include "ir/type_parts.h"
#include "passes/gradient/type_sizes.h"
#include "passes/map_types.h"

namespace relay::passes::gradient {
namespace {

// A type that mentions itself with other arguments, as `type Nest[A] { End, More(Nest[(A, A)]) }`,
// has no end of data types in it. Each of them needs a function.
constexpr size_t kMostDataTypes = 64;

}  // namespace

std::vector<Type> field_types(const Module& m, const DataType& type, const Constructor& ctor) {
  const DataTypeDef& def = *m.data_type(type.name.text());
  const TypeMap map{.dim = nullptr, .dtype = nullptr, .variable = [&](const TypeVar* v) -> Type {
                      for (size_t i = 0; i < def.params.size(); ++i) {
                        if (def.params[i] == v) return type.args[i];
                      }
                      return v;
                    }};
  std::vector<Type> out;
  for (Type field : ctor.fields) out.push_back(map_type(m.context(), field, map));
  return out;
}

std::string why_no_constant(const Module& m, Type root) {
  TupleDepth depth;
  TensorCount count;
  std::string reason;
  std::deque<Type> pending{root};
  std::unordered_set<Type> seen;
  for (; !pending.empty() && reason.empty(); pending.pop_front()) {
    if (depth.of(pending.front()) > kMostNestedTuples || count.of(pending.front()) > kMostTensors) {
      return cat("a tuple in it is nested more than ", kMostNestedTuples, " deep, or has more than ",
                 kMostTensors, " tensors");
    }
    for_each_type_in(pending.front(), [&](Type t) {
      if (!t || t->kind == TypeKind::kFn || t->kind == TypeKind::kRef) {
        reason = "a constant holds no functions and no cells";
      } else if (const auto* data = t->as<DataType>(); data && seen.insert(t).second) {
        const DataTypeDef* def = m.data_type(data->name.text());
        if (!def || def->is_extern) {
          reason = cat("nothing is known of the data type `", data->name.text(), "`");
        } else if (seen.size() > kMostDataTypes) {
          reason = cat("it is made of more than ", kMostDataTypes, " data types");
        } else {
          for (const Constructor* ctor : def->ctors) {
            for (Type field : field_types(m, *data, *ctor)) pending.push_back(field);
          }
        }
      } else if (t->kind != TypeKind::kTensor && t->kind != TypeKind::kTuple && t->kind != TypeKind::kData) {
        reason = "it is not of a known type";
      }
      return reason.empty();
    });
  }
  return reason;
}

}  // namespace relay::passes::gradient
