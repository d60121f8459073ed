// Messages: what was found, what was needed, and where exactly the two part.
#include <utility>

#include "base/cat.h"
#include "ir/text/lexer.h"
#include "typecheck/inference.h"

namespace relay::typecheck {
namespace {

constexpr size_t kMostText = 300;  // of one type in a message

}  // namespace

Diagnostic& Inference::error(Span span, Slug slug, std::string message) {
  Diagnostic& d = diagnostics_.error(span, slug, std::move(message));
  if (slug != "ambiguous-type") mistaken_.insert(function_);
  if (!span.known() && !function_.empty()) d.note(cat("in `@", function_.text(), "`"));
  return d;
}

// Where e is used. A variable is one expression for all its uses, and its span is
// where it is bound.
Span Inference::place(Expr e, Expr user) {
  return e->kind == ExprKind::kVar && user->span.known() ? user->span : e->span;
}

std::string Inference::text(Type t) { return show(unifier_.resolve(t), kMostText); }

std::string Inference::name_of(Expr callee) {
  if (const auto* global = callee->as<Global>()) return cat("`@", global->name.text(), "`");
  if (const auto* var = callee->as<Var>()) return cat("`%", var->name.text(), "`");
  if (const auto* ctor = callee->as<CtorRef>()) return cat("`", ctor->ctor->name.text(), "`");
  return "the function";
}

Span Inference::definition_of(Expr callee) {
  if (const auto* ctor = callee->as<CtorRef>()) return ctor->ctor->span;
  if (callee->kind == ExprKind::kVar) return callee->span;
  const auto* global = callee->as<Global>();
  const Fn* fn = global ? module_.function(global->name.text()) : nullptr;
  return fn ? fn->span : Span::none();
}

namespace {

// What stands between the commas of the brackets that end the text of a call; none if it does not
// end in brackets.
std::vector<Span> arguments_in(std::string_view text, Span call) {
  Diagnostics none;
  text::Lexer lexer(call.file, text.substr(0, call.end), none);
  lexer.seek(call.begin);
  struct Bracket {
    std::vector<Span> pieces;
    Span piece = Span::none();
    void end_piece() {
      if (piece.known()) pieces.push_back(std::exchange(piece, Span::none()));
    }
  };
  std::vector<Bracket> open;
  while (lexer.peek().kind != text::TokenKind::kEnd) {
    const text::Token t = lexer.next();
    const bool closes = t.is(")") || t.is("]") || t.is("}");
    if (closes && !open.empty()) {
      open.back().end_piece();
      if (t.span.end == call.end) return std::move(open.back().pieces);
      open.pop_back();
    }
    if (!open.empty() && t.is(",")) {
      open.back().end_piece();
    } else if (!open.empty()) {
      Span& piece = open.back().piece;
      piece = piece.known() ? cover(piece, t.span) : t.span;
    }
    if (t.is("(") || t.is("[") || t.is("{")) open.emplace_back();
  }
  return {};
}

}  // namespace

Span Inference::use_of(const Call* call, size_t index) {
  const Expr arg = call->args[index];
  const Span all = call->span;
  const bool inside = arg->span.known() && arg->span.file == all.file && all.begin <= arg->span.begin &&
                      arg->span.end <= all.end;
  if (inside || !all.known()) return arg->span;
  const std::string_view text = context_.sources().text(all.file).substr(all.begin, all.end - all.begin);
  const std::vector<Span> pieces = arguments_in(context_.sources().text(all.file), all);
  const auto at = [&](size_t from, size_t to) {
    return Span{all.file, all.begin + static_cast<uint32_t>(from), all.begin + static_cast<uint32_t>(to)};
  };
  if (pieces.size() >= call->args.size()) return pieces[index];
  // Of an infix operator: its operands are at the ends.
  const auto* var = arg->as<Var>();
  const std::string name = var ? cat("%", var->name.text()) : std::string();
  if (var && call->args.size() == 2 && index == 0 && text.starts_with(name)) return at(0, name.size());
  if (var && call->args.size() == 2 && index == 1 && text.ends_with(name))
    return at(text.size() - name.size(), text.size());
  return all;
}

void Inference::mismatch(Span span, std::string what, Type expected, Type actual, const Mismatch& wrong,
                         const Expectation& why) {
  report(why.call ? use_of(why.call, why.index) : span, std::move(what), expected, actual, wrong, why);
  // What is not known yet would only be reported as ambiguous.
  for (Type t : {expected, actual}) unifier_.unify(t, unifier_.poison());
}

void Inference::report(Span span, std::string what, Type expected, Type actual, const Mismatch& wrong,
                       const Expectation& why) {
  const std::string expected_text = text(expected), actual_text = text(actual);
  switch (wrong.why) {
    case Mismatch::Why::kEndless:
      error(span, "endless-type", cat(what, " would need a type that contains itself"))
          .note(cat("`", text(wrong.expected), "` would have to be `", text(wrong.actual), "`"));
      return;
    case Mismatch::Why::kEscape:
      error(span, "type-parameter-escapes",
            cat(what, " has the type `", actual_text, "`, but `", text(wrong.actual),
                "` is known only inside the function that declares it"));
      return;
    case Mismatch::Why::kDifferent:
    case Mismatch::Why::kDim: break;
  }
  Diagnostic& d =
      error(span, why.slug, cat(what, " has the type `", actual_text, "`, expected `", expected_text, "`"));
  if (why.from.known() && (why.from.file != span.file || why.from.begin != span.begin)) {
    d.label(why.from, std::string(why.who));
  }
  if (why.call) label_call(d, why);
  if (wrong.why == Mismatch::Why::kDim) {
    d.note(cat("dimension ", wrong.dim, " is ", show(wrong.actual_dim), ", expected ",
               show(wrong.expected_dim)));
    return;
  }
  if (why.slug == "not-a-reference") {
    d.note("`ref(...)` makes a reference to a value");
    return;
  }
  const auto *t = wrong.expected->as<TensorType>(), *u = wrong.actual->as<TensorType>();
  if (why.slug == "condition-not-bool" && u) {
    d.note(u->rank() > 0 ? "`where` chooses for each element; `all` and `any` make one bool of many"
                         : "a comparison gives a bool, as `%x > 0f` of a float32 does");
  } else if (t && u && t->rank() != u->rank()) {
    d.note(cat("the rank is ", u->rank(), ", expected ", t->rank()));
  } else if (t && u) {
    d.note(cat("the dtype is ", u->dtype.name(), ", expected ", t->dtype.name()));
  } else if (unifier_.find(expected) != unifier_.find(wrong.expected)) {
    d.note(cat("`", text(wrong.actual), "` is not `", text(wrong.expected), "`"));
  }
}

// Where the parameter that an argument does not fit comes from, and the argument.
void Inference::label_call(Diagnostic& d, const Expectation& why) {
  const Expr callee = why.call->callee;
  const auto* global = callee->as<Global>();
  const Fn* fn = global ? module_.function(global->name.text()) : callee->as<Fn>();
  if (!fn && let_fn_.get(callee)) fn = let_fn_.get(callee);
  if (fn && why.index < fn->params.size()) {
    const Var* param = fn->params[why.index];
    const auto* scheme = param->annotation ? nullptr : unifier_.find(types_.get(callee))->as<FnType>();
    const bool is_shared = scheme && scheme->type_params.empty() && callee->kind != ExprKind::kFn;
    d.label(param->span,
            is_shared ? "the parameter: no type is written, so another use decides it" : "the parameter");
    if (is_shared)
      d.note(cat(name_of(callee), " is not generic: its parameters have one type in all calls. Type ",
                 "parameters make it generic, as in `[A where Broadcast(A, A, A)](%x: A) -> A`"));
  } else if (definition_of(callee).known()) {
    d.label(definition_of(callee), cat(name_of(callee), " is defined here"));
  }
  const auto* var = why.call->args[why.index]->as<Var>();
  if (var && var->span.known()) d.label(var->span, cat("`%", var->name.text(), "` is bound here"));
}

bool Inference::agree(Span span, std::string_view what, Type expected, Type actual) {
  return agree(span, what, expected, actual, {});
}

bool Inference::agree(Span span, std::string_view what, Type expected, Type actual, const Expectation& why) {
  const auto wrong = unifier_.unify(expected, actual);
  if (!wrong) return true;
  mismatch(span, std::string(what), expected, actual, *wrong, why);
  return false;
}

// Whatever dims had to wait until the whole call was seen.
bool Inference::settled(Expr at) {
  const auto wrong = unifier_.settle();
  if (!wrong) return true;
  mismatch(at->span, "an argument", wrong->expected, wrong->actual, *wrong);
  return false;
}

namespace {

// What to do about a conflict that many operators have.
std::string_view remedy(Slug slug) {
  if (slug == "dtypes-differ" || slug == "wrong-dtype") return "`cast` gives a tensor another dtype";
  if (slug == "wrong-rank") return "`expand_dims`, `squeeze` and `reshape` change the rank";
  if (slug == "not-broadcastable") return "aligned at the right, two extents must be equal, or one of them 1";
  if (slug == "ambiguous-type") return "a type annotation would settle it";
  if (slug == "negative-result-dim")
    return "no extent is negative: the attributes take away more than there is";
  if (slug == "dim-overflow" || slug == "tensor-too-large")
    return "extents and numbers of bytes are integers of 64 bits with a sign";
  if (slug == "not-a-tensor") return "operators take tensors; `%x.0` is the first field of a tuple";
  if (slug == "not-a-tuple-of-tensors")
    return "several tensors are written as a tuple: `(%x, %y)`, and one as `(%x,)`";
  if (slug == "axis-out-of-range") return "axes count from 0, or from -1 backwards";
  return {};
}

}  // namespace

// An operator on types that are type parameters: only a relation of the function
// says what comes out.
void Inference::missing_relation(const Task& task) {
  for (const Givens* g = task.givens; g; g = g->outer) {
    if (!g->is_complete) return;
  }
  std::string args;
  for (Type t : task.args) args += cat(text(t), ", ");
  const std::string_view name = task.relation               ? task.relation->name.text()
                                : task.op->relation.empty() ? std::string_view(task.op->name)
                                                            : task.op->relation;
  error(task.e->span, "missing-relation",
        cat("whether `", task.relation ? name : task.op->name, "` takes these types is not known: `",
            args.substr(0, args.size() - 2), "`"))
      .note(cat("`where ", name, "(", args,
                "R)` among the type parameters would say that it does and gives R"));
}

void Inference::relation_error(const Task& task, const op::RelationError& wrong) {
  const auto* call = task.relation ? nullptr : task.e->as<Call>();
  const auto argument = [&](int i) -> Expr {
    return call && i >= 0 && static_cast<size_t>(i) < call->args.size() ? call->args[static_cast<size_t>(i)]
                                                                        : nullptr;
  };
  const Slug slug =
      wrong.slug.value_or(wrong.arg == op::kAttributes ? Slug("bad-attribute") : Slug("bad-argument"));
  Diagnostic& d =
      error(task.e->span, slug,
            cat("`", task.relation ? task.relation->name.text() : task.op->name, "`: ", wrong.reason));
  if (const auto* user = task.relation ? task.e->as<Call>() : nullptr)
    d.note(cat("asked for by a `where` of ", name_of(user->callee)));
  const auto is_number = [&](int i) {
    const auto* constant = argument(i) ? argument(i)->as<Constant>() : nullptr;
    return constant && constant->value->rank() == 0;
  };
  if (slug == "dtypes-differ" && (is_number(wrong.arg) || is_number(wrong.other)))
    d.note("a number has the dtype of its suffix: `2f` is a float32, `2` an int32, `2i8` an int8");
  else if (const std::string_view what = remedy(slug); !what.empty())
    d.note(std::string(what));
  std::vector<int> involved;
  if (wrong.other >= 0) involved.push_back(wrong.other);
  if (wrong.arg >= 0) involved.push_back(wrong.arg);
  if (involved.empty()) {
    for (size_t i = 0; i < task.args.size() && i < 4; ++i) involved.push_back(static_cast<int>(i));
  }
  for (int i : involved) {
    if (static_cast<size_t>(i) < task.args.size()) {
      d.label(argument(i) ? use_of(call, static_cast<size_t>(i)) : Span::none(),
              cat("argument ", i, " is `", text(task.args[static_cast<size_t>(i)]), "`"));
    }
  }
}

}  // namespace relay::typecheck
