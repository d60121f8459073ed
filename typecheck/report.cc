// Messages: what was found, what was needed, and where exactly the two part.
#include "base/cat.h"
#include "typecheck/inference.h"

namespace relay::typecheck {
namespace {

constexpr size_t kMostText = 300;  // of one type in a message

}  // namespace

Diagnostic& Inference::error(Span span, std::string_view slug, std::string message) {
  Diagnostic& d = diagnostics_.error(span, slug, std::move(message));
  if (!span.known() && !function_.empty()) d.note(cat("in `@", function_.text(), "`"));
  return d;
}

// Where e is used. A variable is one expression for all its uses, and its span is where it is bound.
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

void Inference::mismatch(Span span, std::string what, Type expected, Type actual, const Mismatch& wrong) {
  report(span, std::move(what), expected, actual, wrong);
  // What is not known yet would only be reported as ambiguous.
  for (Type t : {expected, actual}) unifier_.unify(t, unifier_.poison());
}

void Inference::report(Span span, std::string what, Type expected, Type actual, const Mismatch& wrong) {
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
  Diagnostic& d = error(span, "type-mismatch",
                        cat(what, " has the type `", actual_text, "`, expected `", expected_text, "`"));
  if (wrong.why == Mismatch::Why::kDim) {
    d.note(cat("dimension ", wrong.dim, " is ", show(wrong.actual_dim), ", expected ",
               show(wrong.expected_dim)));
    return;
  }
  const auto *t = wrong.expected->as<TensorType>(), *u = wrong.actual->as<TensorType>();
  if (t && u && t->rank() != u->rank()) {
    d.note(cat("the rank is ", u->rank(), ", expected ", t->rank()));
  } else if (t && u) {
    d.note(cat("the dtype is ", u->dtype.name(), ", expected ", t->dtype.name()));
  } else if (unifier_.find(expected) != unifier_.find(wrong.expected)) {
    d.note(cat("`", text(wrong.actual), "` is not `", text(wrong.expected), "`"));
  }
}

bool Inference::agree(Span span, std::string_view what, Type expected, Type actual) {
  const auto wrong = unifier_.unify(expected, actual);
  if (!wrong) return true;
  mismatch(span, std::string(what), expected, actual, *wrong);
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
std::string_view remedy(std::string_view slug) {
  if (slug == "dtypes-differ" || slug == "wrong-dtype") return "`cast` gives a tensor another dtype";
  if (slug == "wrong-rank") return "`expand_dims`, `squeeze` and `reshape` change the rank";
  if (slug == "not-broadcastable") return "aligned at the right, two extents must be equal, or one of them 1";
  if (slug == "axis-out-of-range") return "axes count from 0, or from -1 backwards";
  return {};
}

}  // namespace

void Inference::relation_error(const Task& task, const op::RelationError& wrong) {
  const auto* call = task.e->as<Call>();
  const auto argument = [&](int i) -> Expr {
    return call && i >= 0 && static_cast<size_t>(i) < call->args.size() ? call->args[static_cast<size_t>(i)]
                                                                        : nullptr;
  };
  const std::string_view slug = !wrong.slug.empty()            ? wrong.slug
                                : wrong.arg == op::kAttributes ? "bad-attribute"
                                                               : "bad-argument";
  Diagnostic& d = error(task.e->span, slug, cat("`", task.op->name, "`: ", wrong.reason));
  if (const std::string_view what = remedy(slug); !what.empty()) d.note(std::string(what));
  std::vector<int> involved;
  if (wrong.other >= 0) involved.push_back(wrong.other);
  if (wrong.arg >= 0) involved.push_back(wrong.arg);
  if (involved.empty()) {
    for (size_t i = 0; i < task.args.size() && i < 4; ++i) involved.push_back(static_cast<int>(i));
  }
  for (int i : involved) {
    const Expr at = argument(i);
    if (static_cast<size_t>(i) < task.args.size()) {
      d.label(at ? at->span : Span::none(),
              cat("argument ", i, " is `", text(task.args[static_cast<size_t>(i)]), "`"));
    }
  }
}

void Inference::ambiguous(Expr at, std::string message) {
  error(at->span, "ambiguous-type", std::move(message)).note("a type annotation would settle it");
}

}  // namespace relay::typecheck
