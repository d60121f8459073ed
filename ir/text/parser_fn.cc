// Headers of functions, and the scopes of names.
#include "base/cat.h"
#include "ir/text/names.h"
#include "ir/text/parser_impl.h"

namespace relay::text {

const Var* Parser::lookup(Symbol name) const {
  const auto it = locals_.find(name);
  return it == locals_.end() || it->second.empty() ? nullptr : it->second.back();
}

void Parser::bind(const Var* var) {
  locals_[var->name].push_back(var);
  bound_.push_back(var->name);
}

void Parser::leave_scope(size_t mark) {
  while (bound_.size() > mark) {
    locals_[bound_.back()].pop_back();
    bound_.pop_back();
  }
}

void Parser::leave_types(size_t mark) {
  while (bound_types_.size() > mark) {
    --type_vars_[bound_types_.back()];
    bound_types_.pop_back();
  }
}

// [A, B]
bool Parser::type_params(std::vector<const TypeVar*>& out) {
  if (!take("[")) return true;
  return list("]", [&] {
    if (peek().kind != TokenKind::kName) return expected("the name of a type parameter", "expected-name");
    const TypeVar* v = module_.context().type_var(next().name());
    out.push_back(v);
    ++type_vars_[v->name];
    bound_types_.push_back(v->name);
    return true;
  });
}

// [A](%x: T, %y, attr=1) -> R. The parameters are in scope afterwards.
bool Parser::fn_header(FnHeader& header) {
  header.scope = bound_.size();
  header.types = bound_types_.size();
  if (!type_params(header.type_params)) return false;
  if (!need("(", "before the parameters")) return false;
  std::vector<Attr> attrs;
  const auto param = [&]() -> bool {
    if (at_attribute()) return attributes(attrs, ")");
    if (peek().kind != TokenKind::kLocal) return expected("a parameter, like `%x`", "expected-name");
    const Token name = next();
    if (take("{")) {  // {virtual_device=...}: where it lives is not ours to say
      std::vector<Attr> ignored;
      if (!attributes(ignored, "}")) return false;
      if (!need("}", "after the attributes of the parameter")) return false;
    }
    Type annotation = nullptr;
    if (take(":") && !read_annotation(annotation)) return false;
    SpanScope span(builder_, name.span);
    header.params.push_back(builder_.var(name.name(), annotation));
    return true;
  };
  if (!list(")", param)) return false;
  header.attrs = module_.context().intern_attrs(std::move(attrs));
  if (take("->") && !read_annotation(header.result)) return false;
  // Of equal names in one list the first one is meant.
  for (size_t i = header.params.size(); i-- > 0;) bind(header.params[i]);
  return true;
}

}  // namespace relay::text
