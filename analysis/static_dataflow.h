// Static dataflow: what the graph runtime runs and what graphs can say. Kernel and operator calls,
// shape changes, tuples and projections over tensors of constant shape.
#pragma once

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

}  // namespace relay::analysis
