#include "frontend/onnx/repeat.h"

#include "base/cat.h"

namespace relay::frontend {

//   let repeat = fn(i, state) { if (i < count) { repeat(i + 1, step(i, state)) } else { state } };
//   repeat(0, first)
Expr repeat(Node& n, Expr count, Expr first, const std::function<Expr(Expr i, Expr state)>& step) {
  Builder& b = n.builder();
  Context& context = n.context();
  const Type number = context.scalar_type(kInt64), type = first->type;
  const Var *i = b.var("i", number), *state = b.var("state", type);
  const Type types[] = {number, type};
  const Type function = context.fn_type({}, types, type);
  const Var* self = b.var("repeat", function);
  const auto whole = [&](int64_t v) { return b.constant(Tensor::scalar_int(kInt64, v)); };
  const Expr next = step(i, state);
  if (next->type != type)
    n.unsupported(cat("what it computes step by step begins as ", show(type, 80), " and becomes ",
                      show(next->type, 80)));
  const Expr again = b.call(self, {n.call(op::kAdd, {i, whole(1)}), next}, {}, type);
  const Expr body = b.with_type(b.if_(n.call(op::kLess, {i, count}), again, state), type);
  const Var* params[] = {i, state};
  const Expr fn = b.with_type(b.fn(params, body, type), function);
  return b.let(self, fn, b.call(self, {whole(0), first}, {}, type));
}

}  // namespace relay::frontend
