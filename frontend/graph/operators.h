// The operators of graphs that are not compiled: those of NNVM, and ours by their dotted names.
// Private to the importer.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/slug.h"
#include "frontend/graph/json.h"
#include "ir/builder.h"

namespace relay::frontend {

// Why a node cannot be what the graph wants. Caught by the importer, which knows where
// the node stands.
struct GraphRefusal {
  Slug slug;
  std::string reason;
};

// "float32", "uint1" (a boolean); nothing for what no tensor of ours holds.
std::optional<DType> dtype_of_graph(std::string_view name);

// Is there an operator of that name? Its attributes may still be refused.
bool is_graph_operator(std::string_view name);

// The node's operator applied to its inputs: its results. Attributes are texts: "(3, 3)", "True",
// "NCHW". Throws GraphRefusal and op::RelationError.
std::vector<Expr> call_operator(Builder& b, const GraphNode& node, const std::vector<Expr>& inputs);

// The tensors of a tensor or a tuple of tensors.
std::vector<Expr> parts_of(Builder& b, Expr e);

// The names of NNVM's operators that can be imported, sorted. For docs and messages.
std::vector<std::string> nnvm_operators();

}  // namespace relay::frontend
