// Messages about types that nothing determines: whose type it is, and what would settle it.
//
// Such a type may follow from another mistake. A function that has one is not told of them.
#include "base/cat.h"
#include "ir/type_parts.h"
#include "op/apply.h"
#include "typecheck/inference.h"

namespace relay::typecheck {
namespace {

constexpr std::string_view kAnnotate = "a type annotation would settle it";

bool mentions(const FnType* fn, const TypeVar* param) {
  bool found = false;
  const auto look = [&](Type t) {
    for_each_type_in(t, [&](Type part) {
      found |= part == param;
      return !found;
    });
  };
  for (Type arg : fn->args) look(arg);
  look(fn->result);
  return found;
}

// "%x, %y"; with a type behind each, if one is given.
std::string parameters(const op::OpDef& op, std::string_view type) {
  return join(op.params, ", ", [&](const op::Param& p) { return cat("%", p.name, type); });
}

// Can the operator be called with float32 alone and no attributes?
bool takes_floats(Context& context, const op::OpDef& op) {
  const std::vector<Type> args(op.params.size(), context.tensor_type(Shape{}, kFloat32));
  try {
    op::infer(context, op, args, {});
    return true;
  } catch (const op::RelationError&) {
    return false;
  }
}

}  // namespace

void Inference::ambiguous(Span at, std::string message, std::string_view remedy) {
  if (is_partial_ || mistaken_.contains(function_)) return;
  error(at, "ambiguous-type", std::move(message)).note(std::string(remedy.empty() ? kAnnotate : remedy));
}

// `t` is of e, or what its callee's type parameter number `param` stands for.
void Inference::undetermined(Type unknown, Type t, Expr e, std::optional<size_t> param) {
  const Expr origin = unifier_.origin(unknown);
  const auto scheme_of = [&](Expr callee) {
    const Type type = types_.get(callee);
    return type ? unifier_.find(type)->as<FnType>() : nullptr;
  };
  const auto* call = e->as<Call>();
  if (const FnType* fn = call && param ? scheme_of(call->callee) : nullptr;
      fn && *param < fn->type_params.size()) {
    const TypeVar* v = fn->type_params[*param];
    ambiguous(call->span,
              cat("nothing determines the type parameter `", v->name.text(), "` of ", name_of(call->callee)),
              mentions(fn, v) ? ""
                              : cat("no parameter and no result mentions `", v->name.text(),
                                    "`, so that no call can say what it is: leave it out"));
    return;
  }
  const auto* var = origin ? origin->as<Var>() : nullptr;
  const FnType* generic = var ? scheme_of(var) : nullptr;
  // A variable is one expression for all its uses: what a use of something generic made is of e.
  if (generic && !generic->type_params.empty()) var = nullptr;
  if (var) {
    const std::string name = cat("%", var->name.text()), type = text(types_.get(var));
    ambiguous(var->span,
              cat("nothing determines the type of `", name, "`", type == "_" ? "" : cat(": `", type, "`")),
              cat("a type behind the name settles it, as in `", name, ": float32`"));
    return;
  }
  const bool is_name = origin && (origin->kind == ExprKind::kCtorRef || origin->kind == ExprKind::kGlobal);
  const FnType* made_by = is_name && unifier_.find(t) == unknown ? scheme_of(origin) : nullptr;
  if (made_by && !made_by->type_params.empty()) {
    const bool is_one = made_by->type_params.size() == 1;
    ambiguous(origin->span,
              cat("nothing determines ",
                  is_one ? cat("the type parameter `", made_by->type_params[0]->name.text(), "`")
                         : "a type parameter",
                  " of ", name_of(origin)),
              "");
    return;
  }
  const bool is_use = origin && origin->kind == ExprKind::kVar;
  ambiguous((origin && !is_use ? origin : e)->span, cat("nothing determines this type: `", text(t), "`"), "");
}

// The argument of an operator, or the tuple of a projection, that it still waits for.
void Inference::undetermined(const Task& task, size_t arg) {
  if (!task.op) return ambiguous(task.e->span, "nothing determines the type of the tuple", "");
  std::string remedy;
  const bool is_value = task.e->kind == ExprKind::kOpRef;
  if (is_value && takes_floats(context_, *task.op)) {
    remedy = cat("a function around it says the types: `fn (", parameters(*task.op, ": float32"), ") { ",
                 task.op->name, "(", parameters(*task.op, ""), ") }`");
  } else if (is_value || unifier_.find(task.args[arg])->kind == TypeKind::kFn) {
    remedy = "a function around it says the types: `fn (%x: float32) { ... }`";
  }
  ambiguous(task.e->span, cat("nothing determines the type of argument ", arg, " of `", task.op->name, "`"),
            remedy);
}

}  // namespace relay::typecheck
