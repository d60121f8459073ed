// Ways through a graph, where a condition that only a run tells gives values of other types.
// Private to this folder.
//
//   y = If(c) {x: rank 3} {x: rank 2}      let z = if (c) { sum of rank 3 } else { sum of rank 2 };
//   z = ReduceSum(y)                 is    exp(z)
//   e = Exp(z)
//
// A value has one type. So the nodes after the `If` that use its results are converted once for
// each branch, up to where all values that are still needed have types in common.
#pragma once

#include <onnx/onnx_pb.h>

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/diagnostics.h"
#include "frontend/onnx/bindings.h"
#include "frontend/onnx/operand.h"

namespace relay::frontend {

struct Fork;

// The names that one graph defines; a graph within a node sees those of the graphs around it.
struct NameScope {
  std::unordered_map<std::string, Operand> names = {};
  NameScope* outer = nullptr;

  Operand* find(const std::string& name) {
    for (NameScope* s = this; s; s = s->outer) {
      if (const auto it = s->names.find(name); it != s->names.end()) return &it->second;
    }
    return nullptr;
  }
};

// What is known on one way: names, and names of extents. It may divide.
struct Path {
  Path(NameScope& scope, Bindings& bindings) : scope(&scope), bindings(&bindings) {}
  // One with names and bindings of its own, within others.
  explicit Path(NameScope& outer) : scope(&own_scope), bindings(&own_bindings), own_scope{{}, &outer} {}
  Path(const Path&) = delete;

  NameScope* scope;
  Bindings* bindings;
  std::vector<Operand> outputs;  // of the graph, where this is the end of a way
  uint32_t refusal = 0;          // not 0: a run that takes this way fails with this refusal
  std::unique_ptr<Fork> fork;    // null: it does not divide

  NameScope own_scope;
  Bindings own_bindings;
};

// Calls `use` with the names that a node reads, also within its graphs; with a few more where a
// graph hides a name.
void for_each_use(const ::onnx::NodeProto& node, const std::function<void(const std::string& name)>& use);

struct Fork {
  Fork(const ::onnx::NodeProto& node, Operand condition, Expr test, NameScope& outer)
      : node(&node), condition(std::move(condition)), test(test), yes(outer), no(outer) {}

  const ::onnx::NodeProto* node;  // the `If`
  Operand condition;
  Expr test;  // the condition, a scalar
  Path yes, no;
  std::set<std::string> apart;  // names of values that are needed and differ between the two
  Diagnostics refusals;         // of nodes on the two; what becomes of them is known where they meet
  bool refused = false;         // a node was refused on both
};

}  // namespace relay::frontend
