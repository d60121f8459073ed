// Pattern: a description of a region of a program by its structure, and how one is built.
//
//   Pattern x = wildcard().named("x"), w = constant().named("w");
//   Pattern conv = call(op(op::kConv2d), x, w).with_attrs({{"groups", int64_t{1}}});
//   Pattern p = call(op(op::kRelu), conv) | conv;
//
// A pattern is an immutable value; copying one shares it. What each kind means is in
// docs/patterns.md, whose labels the code cites. Patterns may share parts: a part that occurs twice
// matches the same expression at both places (N1), and so do parts of one name (N2).
//
// Types, dims and expressions that are given to a pattern belong to contexts that must outlive it.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attrs.h"
#include "ir/context.h"
#include "ir/expr.h"
#include "op/op_def.h"

namespace relay::pattern {

enum class Kind : uint8_t {
  kExpr,
  kVar,
  kConstant,
  kCall,
  kFunction,
  kIf,
  kLet,
  kTuple,
  kTupleGetItem,
  kAlt,
  kWildcard,
  kType,
  kDataType,
  kShape,
  kAttr,
  kOnce,
  kDominator,
};

// Stands for arguments, parameters, fields or an index of which nothing is said.
struct Any {};
inline constexpr Any any;

struct Node;

class Pattern {
 public:
  explicit Pattern(std::shared_ptr<const Node> node) : node_(std::move(node)) {}

  const Node& operator*() const { return *node_; }
  const Node* operator->() const { return node_.get(); }
  const Node* get() const { return node_.get(); }

  // The same with a name. It is another part than the one without.
  Pattern named(std::string name) const;

  // What this pattern matches, if it is ... besides.
  Pattern with_type(Type type) const;     // of this type; a hole in it stands for any type
  Pattern with_dtype(DType dtype) const;  // a tensor of this dtype
  Pattern with_shape(
      std::vector<std::optional<Dim>> dims) const;              // of these dims; nothing stands for any dim
  Pattern with_attrs(const std::vector<AttrArg>& attrs) const;  // a call, function or operator that has these
  Pattern used_once() const;                                    // used at one place of the program

 private:
  friend struct Node;
  std::shared_ptr<const Node> node_;
};

// Paths of dominators may have dominators in them, whose paths may ...: the matcher
// recurses over these.
inline constexpr uint32_t kMostNestedPaths = 64;

// For reading. Which fields mean something depends on the kind.
struct Node {
  Node(Kind kind, std::vector<Pattern> children);
  Node(const Node&) = default;
  ~Node();  // iterative: patterns may be as deep as memory allows

  Kind kind;
  std::string name;  // what its match is called; "" if nothing
  // kCall: callee, arguments; kFunction: parameters, body; kIf: condition, branches; kLet:
  // variable, value, body; kTuple: fields; kTupleGetItem: the tuple; kAlt: both; kDominator:
  // parent, path, child; the constraints kType to kOnce: what they constrain.
  std::vector<Pattern> children;
  uint32_t nested_paths = 0;      // how many paths lie in each other in it; see kMostNestedPaths
  bool any = false;               // kCall, kFunction, kTuple, kTupleGetItem: arguments etc. are not described
  uint32_t index = 0;             // kTupleGetItem
  const op::OpDef* op = nullptr;  // kExpr: this operator; else `expr`
  Expr expr = nullptr;            // kExpr
  std::optional<std::string> var;                          // kVar: the variable's name, if it is given
  Type type = nullptr;                                     // kType
  DType dtype = kFloat32;                                  // kDataType
  std::vector<std::optional<Dim>> dims;                    // kShape
  std::vector<std::pair<std::string, std::string>> attrs;  // kAttr: names, and values as in a text
  std::shared_ptr<const Context> context;                  // keeps alive what the node alone refers to
  std::shared_ptr<const Node> ends_after;                  // the destructor's alone
};

inline constexpr size_t kPath = 1;  // the place of the path among the children of a dominator

// Is what it matches the same wherever it stands? Then it makes no difference whether two
// places share it.
bool same_everywhere(const Node& n);

// ---- Making patterns ----

Pattern wildcard();                  // any expression
Pattern var();                       // any variable
Pattern var(std::string_view name);  // a variable of this name
Pattern constant();                  // any constant
Pattern exactly(Expr e);             // what is alpha-equal to e; free variables by name and annotation
Pattern exactly(Tensor value);       // the constant of this dtype, shape and value
Pattern op(const op::OpDef& op);     // the operator itself
Pattern op(std::string_view name);   // likewise; there must be one of that name

Pattern call(Pattern callee, std::vector<Pattern> args);
Pattern call(Pattern callee, Any);
template <std::same_as<Pattern>... P>
Pattern call(Pattern callee, P... args) {
  return call(std::move(callee), std::vector<Pattern>{std::move(args)...});
}
Pattern fn(std::vector<Pattern> params, Pattern body);
Pattern fn(Any, Pattern body);
Pattern if_(Pattern condition, Pattern then_branch, Pattern else_branch);
Pattern let(Pattern variable, Pattern value, Pattern body);
Pattern tuple(std::vector<Pattern> fields);
Pattern tuple(Any);
Pattern proj(Pattern tuple, uint32_t index);
Pattern proj(Pattern tuple, Any);
Pattern operator|(Pattern a, Pattern b);  // a, or else b
// `child`, all of whose inputs come from one `parent` by way of `path`, with nothing
// escaping (D1 to D4).
Pattern dominates(Pattern parent, Pattern path, Pattern child);

}  // namespace relay::pattern
