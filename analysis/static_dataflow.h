// Static dataflow: what the graph runtime runs and what graphs can say. Kernel and operator calls,
// shape changes, tuples and projections over tensors of constant shape.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "ir/expr.h"

namespace relay::analysis {

// Is every expression of the body of a form that static dataflow has? Reports "not-static-dataflow"
// for each form that it has not, where it first stands.
bool is_static_dataflow(const std::vector<Expr>& post_order, Diagnostics& diagnostics);

// Appends the tensor types of a value. False and reported ("not-static-dataflow", "dynamic-shape")
// if they are not all tensors of constant shape, or of another one that is welcome.
bool static_tensors(Expr e, std::vector<const TensorType*>& out, Diagnostics& diagnostics,
                    const std::function<bool(const TensorType&)>& welcome = {});

// What the form of an expression is called in messages: "`if`", "a reference".
std::string_view construct_name(Expr e);

// Reports that something of the expression is not static, with the engines to use
// instead; always false.
bool refuse_static(Expr e, Slug slug, std::string message, Diagnostics& diagnostics);

// How many tensors a value may be made of where tuples are taken apart, shared ones each time.
inline constexpr size_t kMostTensors = 65536;
// Reports that a tuple is made of more; false.
bool refuse_many_tensors(Expr tuple, Diagnostics& diagnostics);

// Where a field's tensors stand among those of the tuple.
struct FieldTensors {
  size_t begin, count;
};
FieldTensors tensors_of_field(const Proj& proj);

// What stands for a tuple's tensors, made of what stands for those of its fields. False, with a
// report, if these are too many.
template <class T, class OfField>
bool join_fields(const Tuple& tuple, const OfField& of_field, std::vector<T>& out, Diagnostics& diagnostics) {
  for (Expr field : tuple.fields) {
    const std::vector<T>& part = of_field(field);
    if (out.size() + part.size() > kMostTensors) return refuse_many_tensors(&tuple, diagnostics);
    out.insert(out.end(), part.begin(), part.end());
  }
  return true;
}
// The part of them that stands for the field.
template <class T>
std::vector<T> part_of_field(const Proj& proj, const std::vector<T>& all) {
  const auto [begin, count] = tensors_of_field(proj);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(begin);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace relay::analysis
