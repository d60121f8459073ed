// What the values of a program are called. All commands show these names and take them: `--to`,
// `--dump`, `break` and `print` of the debugger, `bench --profile` and `--trace`,
// `verify --every-op` and `--expected`.
//
//   from ONNX   the tensor that a node gives: Plus30_Output_0. If a node gives several: the node, or
//               the first of them where the node has no name.
//   a graph     the node
//   a text      %x for `let %x = ...`, and %3 for `%3 = ...`
//
// A value that has none of these has no name.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/module.h"

namespace relay::tools {

class Names {
 public:
  // `is_listed`: spans point into a list of nodes that an importer made.
  Names(const Module& m, bool is_listed);

  // The name of the value that stands there, also in a module that passes made of this one.
  // Empty if it has none.
  std::string of(Span at) const;
  // The name of the value if this expression gives it. A node of ONNX may be several expressions:
  // the outermost gives the value. Null if it has none, or that of a variable, which has a scope.
  const std::string* given_by(Expr e) const;

  // The name that the user means: a name with or without `%`, that of a node, or that of a value
  // in a dump (003_Plus30_Output_0). Empty if there is none.
  std::string meant(std::string_view wanted) const;
  // The expressions that give the value of that name.
  const std::vector<Expr>& givers(const std::string& name) const;

  // As users write them: without `%`.
  std::vector<std::string> all() const;

 private:
  using Place = std::pair<uint32_t, uint64_t>;
  static Place place_of(Span at) { return {at.file, uint64_t{at.begin} << 32 | at.end}; }
  void add(std::string_view name, Expr e);

  std::map<Place, std::string> by_place_;
  std::unordered_map<Expr, std::string> given_;
  std::map<std::string, std::vector<Expr>, std::less<>> givers_;
  std::map<std::string, std::string, std::less<>> aliases_;  // of nodes
};

// The name as files of tensors have it: without `%`.
std::string bare_name(std::string_view name);

}  // namespace relay::tools
