// Making patterns, and giving them back.
#include "pattern/pattern.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"
#include "ir/builder.h"
#include "ir/text/printer.h"
#include "op/registry.h"

namespace relay::pattern {
namespace {

Pattern make(Kind kind, std::vector<Pattern> children = {}) {
  return Pattern(std::make_shared<Node>(kind, std::move(children)));
}

template <class Set>
Pattern make(Kind kind, std::vector<Pattern> children, Set&& set) {
  auto node = std::make_shared<Node>(kind, std::move(children));
  set(*node);
  return Pattern(std::move(node));
}

std::vector<Pattern> joined(Pattern first, std::vector<Pattern> rest) {
  rest.insert(rest.begin(), std::move(first));
  return rest;
}

void set_any(Node& n) { n.any = true; }

}  // namespace

Node::Node(Kind kind, std::vector<Pattern> parts) : kind(kind), children(std::move(parts)) {
  for (size_t i = 0; i < children.size(); ++i) {
    const uint32_t own = kind == Kind::kDominator && i == kPath ? 1 : 0;
    nested_paths = std::max(nested_paths, children[i]->nested_paths + own);
  }
}

Node::~Node() {
  std::shared_ptr<const Node> pending;  // the first of a chain: a destructor may not ask for memory
  const auto put_off = [&](std::vector<Pattern>& patterns) {
    for (Pattern& p : patterns) {
      if (p.node_.use_count() == 1) {
        // The pattern is about to end the node. (It was not made const.)
        const_cast<Node&>(*p.node_).ends_after = std::move(pending);
        pending = std::move(p.node_);
      }
      p.node_.reset();
    }
  };
  put_off(children);
  while (pending) {
    const std::shared_ptr<const Node> last = std::move(pending);
    Node& n = const_cast<Node&>(*last);
    pending = std::move(n.ends_after);
    put_off(n.children);
  }
}

Pattern Pattern::named(std::string name) const {
  auto copy = std::make_shared<Node>(*node_);
  copy->name = std::move(name);
  return Pattern(std::move(copy));
}

Pattern Pattern::with_type(Type type) const {
  CHECK(type != nullptr, "a pattern is constrained by a type that is not known");
  return make(Kind::kType, {*this}, [&](Node& n) { n.type = type; });
}

Pattern Pattern::with_dtype(DType dtype) const {
  return make(Kind::kDataType, {*this}, [&](Node& n) { n.dtype = dtype; });
}

Pattern Pattern::with_shape(std::vector<std::optional<Dim>> dims) const {
  return make(Kind::kShape, {*this}, [&](Node& n) { n.dims = std::move(dims); });
}

Pattern Pattern::with_attrs(const std::vector<AttrArg>& attrs) const {
  Context scratch;
  return make(Kind::kAttr, {*this}, [&](Node& n) {
    for (const Attr& a : scratch.attrs(attrs)) n.attrs.emplace_back(a.name.str(), print(a.value));
  });
}

Pattern Pattern::used_once() const { return make(Kind::kOnce, {*this}); }

bool same_everywhere(const Node& n) {
  if (n.kind != Kind::kExpr || !n.name.empty()) return false;
  return n.op || (is_leaf(n.expr) && n.expr->kind != ExprKind::kVar);
}

Pattern wildcard() { return make(Kind::kWildcard); }
Pattern var() { return make(Kind::kVar); }
Pattern var(std::string_view name) {
  return make(Kind::kVar, {}, [&](Node& n) { n.var = std::string(name); });
}
Pattern constant() { return make(Kind::kConstant); }
Pattern exactly(Expr e) {
  if (const auto* ref = e->as<OpRef>()) return op(*ref->op);
  return make(Kind::kExpr, {}, [&](Node& n) { n.expr = e; });
}
Pattern exactly(Tensor value) {
  auto context = std::make_shared<Context>();
  return make(Kind::kExpr, {}, [&](Node& n) {
    n.expr = Builder(*context).constant(std::move(value));
    n.context = std::move(context);
  });
}
Pattern op(const op::OpDef& op) {
  return make(Kind::kExpr, {}, [&](Node& n) { n.op = &op; });
}
Pattern op(std::string_view name) {
  const op::OpDef* found = op::find(name);
  CHECK(found != nullptr, cat("there is no operator `", name, "`"));
  return op(*found);
}

Pattern call(Pattern callee, std::vector<Pattern> args) {
  return make(Kind::kCall, joined(std::move(callee), std::move(args)));
}
Pattern call(Pattern callee, Any) { return make(Kind::kCall, {std::move(callee)}, set_any); }
Pattern fn(std::vector<Pattern> params, Pattern body) {
  params.push_back(std::move(body));
  return make(Kind::kFunction, std::move(params));
}
Pattern fn(Any, Pattern body) { return make(Kind::kFunction, {std::move(body)}, set_any); }
Pattern if_(Pattern condition, Pattern then_branch, Pattern else_branch) {
  return make(Kind::kIf, {std::move(condition), std::move(then_branch), std::move(else_branch)});
}
Pattern let(Pattern variable, Pattern value, Pattern body) {
  return make(Kind::kLet, {std::move(variable), std::move(value), std::move(body)});
}
Pattern tuple(std::vector<Pattern> fields) { return make(Kind::kTuple, std::move(fields)); }
Pattern tuple(Any) { return make(Kind::kTuple, {}, set_any); }
Pattern proj(Pattern tuple, uint32_t index) {
  return make(Kind::kTupleGetItem, {std::move(tuple)}, [&](Node& n) { n.index = index; });
}
Pattern proj(Pattern tuple, Any) { return make(Kind::kTupleGetItem, {std::move(tuple)}, set_any); }
Pattern operator|(Pattern a, Pattern b) { return make(Kind::kAlt, {std::move(a), std::move(b)}); }
Pattern dominates(Pattern parent, Pattern path, Pattern child) {
  return make(Kind::kDominator, {std::move(parent), std::move(path), std::move(child)});
}

}  // namespace relay::pattern
