#include "ir/builder.h"

#include "ir/fields.h"
#include "ir/module.h"

namespace relay {
namespace {

template <class T>
T fresh(Span span, Type type = nullptr) {
  T node{};
  node.span = span;
  node.type = type;
  return node;
}

bool known(Type t) { return t && !t->has_hole; }

}  // namespace

const Constant* Builder::constant(Tensor value) {
  auto n = fresh<Constant>(span_, context_.tensor_type(value.shape(), value.dtype()));
  n.value = context_.keep(std::move(value));
  return context_.node(n);
}

const Constant* Builder::scalar(DType dtype, double value) { return constant(Tensor::scalar(dtype, value)); }

const Var* Builder::var(std::string_view name, Type annotation) {
  auto n = fresh<Var>(span_, known(annotation) ? annotation : nullptr);
  n.name = context_.symbol(name);
  n.annotation = annotation;
  return context_.node(n);
}

const Global* Builder::global(std::string_view name, Type type) {
  auto n = fresh<Global>(span_, type);
  n.name = context_.symbol(name);
  return context_.node(n);
}

const OpRef* Builder::op(const op::OpDef& op) {
  auto n = fresh<OpRef>(span_);
  n.op = &op;
  return context_.node(n);
}

const CtorRef* Builder::ctor(const Constructor& ctor) {
  auto n = fresh<CtorRef>(span_);
  n.ctor = &ctor;
  return context_.node(n);
}

const Tuple* Builder::tuple(std::span<const Expr> fields) {
  std::vector<Type> types;
  for (Expr e : fields) {
    if (e->type) types.push_back(e->type);
  }
  auto n = fresh<Tuple>(span_, types.size() == fields.size() ? context_.tuple_type(types) : nullptr);
  n.fields = context_.arena().list(fields);
  return context_.node(n);
}

const Proj* Builder::proj(Expr tuple, uint32_t index) {
  auto n = fresh<Proj>(span_);
  n.tuple = tuple;
  n.index = index;
  if (const auto* t = tuple->type ? tuple->type->as<TupleType>() : nullptr; t && index < t->fields.size()) {
    n.type = t->fields[index];
  }
  return context_.node(n);
}

const Fn* Builder::fn(std::span<const Var* const> params, Expr body, Type result, Attrs attrs,
                      std::span<const TypeVar* const> type_params, std::span<const Type> where) {
  auto n = fresh<Fn>(span_);
  if (body && known(result ? result : body->type)) {
    std::vector<Type> args;
    for (const Var* p : params) {
      if (known(p->type)) args.push_back(p->type);
    }
    if (args.size() == params.size())
      n.type = context_.fn_type(type_params, args, result ? result : body->type, where);
  }
  n.type_params = context_.arena().list(type_params);
  n.where = context_.arena().list(where);
  n.params = context_.arena().list(params);
  n.result = result;
  n.body = body;
  n.attrs = attrs;
  return context_.node(n);
}

const Call* Builder::call(Expr callee, std::span<const Expr> args, Attrs attrs, Type type) {
  auto n = fresh<Call>(span_, type);
  // An operator has the type that it is used at.
  if (known(type) && callee->kind == ExprKind::kOpRef && !callee->type) {
    std::vector<Type> types;
    for (Expr e : args) {
      if (known(e->type)) types.push_back(e->type);
    }
    if (types.size() == args.size()) callee = with_type(callee, context_.fn_type({}, types, type));
  }
  n.callee = callee;
  n.args = context_.arena().list(args);
  n.attrs = attrs;
  return context_.node(n);
}

const Let* Builder::let(const Var* x, Expr value, Expr body) {
  auto n = fresh<Let>(span_, body->type);
  n.x = x;
  n.value = value;
  n.body = body;
  return context_.node(n);
}

const If* Builder::if_(Expr cond, Expr then_branch, Expr else_branch) {
  auto n = fresh<If>(span_);
  if (then_branch->type == else_branch->type) n.type = then_branch->type;
  n.cond = cond;
  n.then_branch = then_branch;
  n.else_branch = else_branch;
  return context_.node(n);
}

const Match* Builder::match(Expr value, std::span<const Arm> arms, bool total) {
  auto n = fresh<Match>(span_);
  bool same = !arms.empty();
  for (const Arm& arm : arms) same &= arm.body->type == arms[0].body->type;
  if (same) n.type = arms[0].body->type;
  n.value = value;
  n.arms = context_.arena().list(arms);
  n.total = total;
  return context_.node(n);
}

const RefNew* Builder::ref_new(Expr value) {
  auto n = fresh<RefNew>(span_, value->type ? context_.ref_type(value->type) : nullptr);
  n.value = value;
  return context_.node(n);
}

const RefRead* Builder::ref_read(Expr ref) {
  auto n = fresh<RefRead>(span_);
  if (const auto* t = ref->type ? ref->type->as<RefType>() : nullptr) n.type = t->contents;
  n.ref = ref;
  return context_.node(n);
}

const RefWrite* Builder::ref_write(Expr ref, Expr value) {
  auto n = fresh<RefWrite>(span_, context_.tuple_type({}));
  n.ref = ref;
  n.value = value;
  return context_.node(n);
}

Pattern Builder::wildcard() {
  return context_.arena().make<PatternNode>(PatternNode{PatternKind::kWildcard, span_});
}

Pattern Builder::bind(const Var* var) {
  PatternNode p{PatternKind::kVar, span_};
  p.var = var;
  return context_.arena().make<PatternNode>(p);
}

Pattern Builder::ctor_pattern(const Constructor& ctor, std::span<const Pattern> fields) {
  PatternNode p{PatternKind::kCtor, span_};
  p.ctor = &ctor;
  p.fields = context_.arena().list(fields);
  return context_.arena().make<PatternNode>(p);
}

Pattern Builder::tuple_pattern(std::span<const Pattern> fields) {
  PatternNode p{PatternKind::kTuple, span_};
  p.fields = context_.arena().list(fields);
  return context_.arena().make<PatternNode>(p);
}

Expr Builder::with_type(Expr e, Type type) {
  if (e->type == type) return e;
  return relay::match(e, [&](const auto& n) -> Expr {
    auto copy = n;
    copy.type = type;
    return context_.node(copy);
  });
}

}  // namespace relay
