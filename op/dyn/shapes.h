// Shapes that are arguments: what the operators `dyn.*` have in common.
//
// Each is an operator whose attribute (a shape, repetitions, bounds) is an argument here, which
// only a run tells. The rank of the result is known: the argument is a vector of known length. Its
// extents are `?`. What is left of the work is that of the operator with the attribute.
#pragma once

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "op/define.h"
#include "op/tensor/common.h"

namespace relay::op {

inline constexpr std::string_view kNegativeExtent = "an extent of the shape is negative";

// For `relate`.

// Of an argument that must be a vector of integers: how many there are.
size_t known_length(Relation& r, int arg, std::string_view what);
// Texts of the established system write attributes that an argument stands for: they are empty.
void require_empty(Relation& r, const std::optional<std::vector<Dim>>& given, std::string_view attribute);
// A tensor of which nobody knows an extent.
Type sized_by_data(Relation& r, size_t rank, DType dtype);

// For `evaluate`.

std::vector<int64_t> elements_of(const Tensor& t);
// Of elements that are all 0. Throws Exhausted.
Tensor sized(DType dtype, const Shape& shape);
// The product of numbers that are not negative; INT64_MAX if it is larger.
int64_t saturated_product(int64_t a, int64_t b);
// What the operator with attributes computes of the first arguments, in a result of known shape.
void evaluate_as(const OpDef& op, const std::vector<AttrArg>& attrs, Args in, Results out, Sums sums);

// For `extents` and `lower`.

kernel::Expr element_of(kernel::Builder& k, const kernel::Tensor& t, size_t i);
std::vector<kernel::Expr> elements_of(kernel::Builder& k, const kernel::Tensor& t, size_t count);
kernel::Expr saturated_product(kernel::Expr a, kernel::Expr b);
// The vector of `count` extents that `extents` gives.
kernel::Tensor extents_vector(kernel::Builder& k, size_t count,
                              const std::function<std::vector<kernel::Expr>()>& extents);
std::vector<kernel::Tensor> lower_as(const OpDef& op, const std::vector<AttrArg>& attrs, kernel::Builder& k,
                                     const Lowering& c, size_t args);

}  // namespace relay::op
