// Builder: makes expressions in a context. Nodes it makes carry its current span.
//
// It does not know types; `op::call` (op/apply.h) makes operator calls that are typed at once.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "ir/context.h"
#include "ir/expr.h"

namespace relay {

class Builder {
 public:
  explicit Builder(Context& context) : context_(context) {}

  Context& context() const { return context_; }
  Span span() const { return span_; }
  void set_span(Span span) { span_ = span; }

  // `type` may be null everywhere: the type check fills it in. What follows from typed parts is
  // typed here, but for calls, whose type only the caller knows.
  const Constant* constant(Tensor value);
  const Constant* scalar(DType dtype, double value);
  const Var* var(std::string_view name, Type annotation = nullptr);
  const Global* global(std::string_view name, Type type = nullptr);
  const OpRef* op(const op::OpDef& op);
  const CtorRef* ctor(const Constructor& ctor);
  const Tuple* tuple(std::span<const Expr> fields);
  const Tuple* tuple(std::initializer_list<Expr> fields) {
    return tuple(std::span<const Expr>(fields.begin(), fields.size()));
  }
  const Proj* proj(Expr tuple, uint32_t index);
  const Fn* fn(std::span<const Var* const> params, Expr body, Type result = nullptr, Attrs attrs = {},
               std::span<const TypeVar* const> type_params = {}, std::span<const Type> where = {});
  const Call* call(Expr callee, std::span<const Expr> args, Attrs attrs = {}, Type type = nullptr);
  const Call* call(Expr callee, std::initializer_list<Expr> args, Attrs attrs = {}, Type type = nullptr) {
    return call(callee, std::span<const Expr>(args.begin(), args.size()), attrs, type);
  }
  const Let* let(const Var* x, Expr value, Expr body);
  const If* if_(Expr cond, Expr then_branch, Expr else_branch);
  const Match* match(Expr value, std::span<const Arm> arms, bool total);
  const RefNew* ref_new(Expr value);
  const RefRead* ref_read(Expr ref);
  const RefWrite* ref_write(Expr ref, Expr value);

  Pattern wildcard();
  Pattern bind(const Var* var);
  Pattern ctor_pattern(const Constructor& ctor, std::span<const Pattern> fields);
  Pattern tuple_pattern(std::span<const Pattern> fields);

  // The same node with another type; the node itself if that is its type already.
  Expr with_type(Expr e, Type type);

 private:
  Context& context_;
  Span span_;
};

// While in scope, nodes carry the given span (and the one before when it ends).
class SpanScope {
 public:
  SpanScope(Builder& b, Span span) : builder_(b), before_(b.span()) { b.set_span(span); }
  ~SpanScope() { builder_.set_span(before_); }
  SpanScope(const SpanScope&) = delete;

 private:
  Builder& builder_;
  Span before_;
};

}  // namespace relay
