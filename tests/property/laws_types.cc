// Laws about types.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "interp/machine.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "op/any_type.h"
#include "op/registry.h"
#include "tests/property/law_list.h"
#include "tests/property/run.h"
#include "typecheck/check.h"

namespace relay::property {

std::string broken_types(const Program& p, ByteSource, Tally& tally) {
  if (const auto problems = well_formed(p.module); !problems.empty())
    return cat("not well formed: ", problems[0]);
  std::string wrong;
  Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  if (const auto problems = well_formed(*m); !problems.empty())
    return cat("not well formed after the type check: ", problems[0]);
  for (const auto& [name, fn] : m->functions()) {
    for (Expr e : post_order(fn)) {
      if (!e->type) return cat("an expression of @", name.text(), " has no type");
    }
  }
  Result<Module> again = checked(*m, wrong);
  if (!again) return cat("the checked program does not type check: ", wrong);
  if (!again->same(*m)) return cat("the type check changed what it had checked:\n", text_of(*again));
  const Run run = interpret(*m, p.args, /*look_at_types=*/true);
  ++tally[run.kind == Run::Kind::kValue  ? "values"
          : run.kind == Run::Kind::kTrap ? "traps"
                                         : "too many steps"];
  tally["exact"] += run.exact;
  return run.wrong_type;
}

// ---- without annotations ----

namespace {

bool is_open(Type t) {
  const auto* tensor = t->as<TensorType>();
  bool open =
      tensor && std::any_of(tensor->dims.begin(), tensor->dims.end(), [](Dim d) { return d.is_unknown(); });
  for_each_part(t, [&](Type part) { open = open || is_open(part); });
  return open;
}

// What is written about types that the checker could find out: variables with annotations, and
// functions whose results are written down. A shape variable or a type parameter stands for many
// types only where it is written, so that the functions of the module that have them keep theirs,
// and so do parameters inside of them, and results of generic ones. A let may say less than is
// known, by `?`: then a run compares what would be a mistake without it.
std::vector<Expr> annotated(const Module& m) {
  std::vector<Expr> out;
  const auto add = [&](Expr e) {
    for_each_binder(e, [&](const Var* x) {
      const bool parameter = e->kind == ExprKind::kFn;
      if (!x->annotation || (parameter && x->annotation->has_symbolic_dim)) return;
      if (e->kind != ExprKind::kLet || !is_open(x->annotation)) out.push_back(x);
    });
    const auto* fn = e->as<Fn>();
    if (fn && fn->result && fn->type_params.empty()) out.push_back(fn);
  };
  for (const auto& [name, fn] : m.functions()) {
    const bool many =
        !fn->type_params.empty() || std::any_of(fn->params.begin(), fn->params.end(),
                                                [](const Var* x) { return x->annotation->has_symbolic_dim; });
    for (Expr e : post_order(fn)) {
      if (e != fn || !many) add(e);
    }
  }
  return out;
}

Module without(const Module& m, const std::unordered_set<Expr>& annotations) {
  Context& context = m.context();
  Builder b(context);
  Module out = m;
  std::unordered_map<Expr, Expr> now;
  const auto bare = [&](const Var* x) {
    Expr& known = now[x];
    if (!known) known = annotations.contains(x) ? b.var(x->name.text()) : x;
    return known->as<Var>();
  };
  for (const auto& [name, root] : m.functions()) {
    for (Expr e : post_order(root)) {
      if (const auto* x = e->as<Var>()) {
        bare(x);
        continue;
      }
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.at(child)); });
      Expr copy = rebuild(context, e, {.children = children, .var = bare});
      if (const auto* fn = copy->as<Fn>(); fn && annotations.contains(e))
        copy = b.fn(fn->params, fn->body, nullptr, fn->attrs, fn->type_params, fn->where);
      now[e] = copy;
    }
    out.set_function(name.text(), now.at(root)->as<Fn>());
  }
  return out;
}

// The same type, but for extents: left to inference, one may be open (`?`), or any (a
// shape variable).
using Extents = std::unordered_map<const kernel::ExprNode*, Dim>;  // what shape variables stand for
bool covers(Type general, Type special, Extents& extents) {
  if (alpha_equal(general, special)) return true;
  if (general->kind != special->kind) return false;
  if (const auto* tensor = general->as<TensorType>()) {
    const auto* other = special->as<TensorType>();
    return tensor->dtype == other->dtype &&
           std::equal(tensor->dims.begin(), tensor->dims.end(), other->dims.begin(), other->dims.end(),
                      [&](Dim a, Dim b) {
                        if (a.is_unknown() || a == b) return true;
                        if (!a.is_symbolic() || a.symbolic()->kind != kernel::ExprKind::kVar) return false;
                        return extents.emplace(a.symbolic().get(), b).first->second == b;
                      });
  }
  const auto* data = general->as<DataType>();
  if (data && data->name != special->as<DataType>()->name) return false;
  std::vector<Type> parts, others;
  for_each_part(general, [&](Type part) { parts.push_back(part); });
  for_each_part(special, [&](Type part) { others.push_back(part); });
  return !parts.empty() && std::equal(parts.begin(), parts.end(), others.begin(), others.end(),
                                      [&](Type a, Type b) { return covers(a, b, extents); });
}

bool only_ambiguous(const Diagnostics& diagnostics) {
  return std::all_of(diagnostics.all().begin(), diagnostics.all().end(),
                     [](const Diagnostic& d) { return d.slug() == "ambiguous-type"; });
}

}  // namespace

// An annotation may also be all that says what an empty value holds, or what a function takes that
// nobody calls: then, and only then, it is missed. So annotations go together, and where they are
// missed, in halves.
std::string broken_annotations(const Program& p, ByteSource, Tally& tally) {
  std::string wrong;
  Result<Module> with = checked(p.module, wrong);
  if (!with) return wrong;
  const std::vector<Expr> all = annotated(p.module);
  std::unordered_set<Expr> gone;
  Module bare = p.module;
  Result<Module> without_them = *with;
  std::vector<std::span<const Expr>> pending{all};
  while (!pending.empty()) {
    const std::span<const Expr> some = pending.back();
    pending.pop_back();
    std::unordered_set<Expr> more = gone;
    more.insert(some.begin(), some.end());
    const Module candidate = without(p.module, more);
    Diagnostics diagnostics;
    if (Result<Module> found = typecheck::check(candidate, diagnostics)) {
      gone = std::move(more);
      bare = candidate;
      without_them = *found;
      continue;
    }
    if (!only_ambiguous(diagnostics)) {
      return cat(diagnostics.render(candidate.context().sources()), "without annotations:\n",
                 text_of(candidate));
    }
    if (some.size() == 1) continue;
    pending.push_back(some.first(some.size() / 2));
    pending.push_back(some.subspan(some.size() / 2));
  }
  tally["annotations"] += all.size();
  tally["annotations that are not missed"] += gone.size();
  tally["without any"] += gone.size() == all.size();
  tally["inferred"] += gone.size() * 4 >= all.size() * 3;
  for (const auto& [name, fn] : with->functions()) {
    const Type was = fn->type, is = without_them->function(name.text())->type;
    // Left to inference, a function may turn out to be more general.
    if (is->as<FnType>()->type_params.size() > was->as<FnType>()->type_params.size()) continue;
    if (Extents extents; !covers(is, was, extents))
      return cat("@", name.text(), " has the type ", show(was), ", without annotations ", show(is), "\n",
                 text_of(bare));
  }
  return difference(interpret(*without_them, p.args), interpret(*with, p.args));
}

// ---- mistakes ----

namespace {

// One operand of one expression, and what would be wrong in its place.
struct Mistake {
  Expr at;
  size_t child;
  Expr instead;
  std::string_view what;
};

bool mentions_type_var(Type t) {
  bool found = t->has_type_var;
  if (const auto* fn = t->as<FnType>()) found = found || !fn->type_params.empty();
  return found;
}

// What has surely not this type: a value of another kind, or a tensor of another dtype or rank.
std::vector<Expr> others(Builder& b, Type t, bool shapes) {
  std::vector<Expr> out;
  Expr unit = b.tuple(std::span<const Expr>());
  if (const auto* tensor = t->as<TensorType>()) {
    out.push_back(unit);
    out.push_back(b.fn({}, unit));
    const DType d = tensor->dtype == kInt16 ? kInt32 : kInt16;
    if (const auto shape = tensor->static_shape()) {
      out.push_back(b.constant(Tensor(d, *shape)));
      Shape longer = *shape;
      longer.push_back(2);
      out.push_back(b.constant(Tensor(tensor->dtype, longer)));
      if (shapes && !shape->empty()) {
        Shape wider = *shape;
        ++wider[0];
        out.push_back(b.constant(Tensor(tensor->dtype, wider)));
      }
    }
    return out;
  }
  out.push_back(b.scalar(kInt16, 1));
  const auto* tuple = t->as<TupleType>();
  if (!tuple || !tuple->fields.empty()) out.push_back(unit);
  if (t->kind != TypeKind::kRef) out.push_back(b.ref_new(b.scalar(kInt16, 1)));
  return out;
}

// Operands whose types are said by something else than themselves.
std::vector<Mistake> mistakes(const Module& m, Expr root) {
  Builder b(m.context());
  std::vector<Mistake> out;
  // Branches of different extents have a type: the extent is unknown then.
  enum class Extents : uint8_t { kMatter, kMayDiffer };
  const auto add = [&](Expr at, size_t child, Type wanted, std::string_view what,
                       Extents extents = Extents::kMatter) {
    if (!wanted || mentions_type_var(wanted)) return;
    for (Expr other : others(b, wanted, extents == Extents::kMatter)) out.push_back({at, child, other, what});
  };
  for (Expr e : post_order(root)) {
    if (const auto* n = e->as<If>()) {
      add(e, 0, n->cond->type, "condition");
      add(e, 2, n->then_branch->type, "else branch", Extents::kMayDiffer);
    } else if (const auto* n = e->as<RefWrite>()) {
      if (n->ref->kind == ExprKind::kVar) add(e, 1, n->ref->type->as<RefType>()->contents, "value written");
      add(e, 0, b.context().ref_type(n->value->type), "cell");
    } else if (const auto* n = e->as<RefRead>()) {
      add(e, 0, n->ref->type, "cell");
    } else if (const auto* n = e->as<Let>()) {
      if (n->x->annotation) add(e, 0, n->x->annotation, "value of a let");
    } else if (const auto* n = e->as<Fn>()) {
      if (n->result) add(e, 0, n->result, "body");
    } else if (e->kind == ExprKind::kProj) {
      out.push_back({e, 0, b.tuple(std::span<const Expr>()), "tuple"});
      out.push_back({e, 0, b.scalar(kInt16, 1), "tuple"});
    } else if (const auto* n = e->as<Match>()) {
      const bool looks = std::any_of(n->arms.begin(), n->arms.end(), [](const Arm& arm) {
        return arm.pattern->kind == PatternKind::kCtor || arm.pattern->kind == PatternKind::kTuple;
      });
      if (looks && n->value->type->kind != TypeKind::kTensor) {
        out.push_back({e, 0, b.scalar(kInt16, 1), "value of a match"});
        out.push_back({e, 0, b.fn({}, b.scalar(kInt16, 1)), "value of a match"});
      }
      if (n->arms.size() > 1) add(e, 2, n->arms[0].body->type, "second arm", Extents::kMayDiffer);
    } else if (const auto* n = e->as<Call>()) {
      out.push_back({e, 0, b.scalar(kInt16, 1), "callee"});
      const op::OpDef* def = op::callee(*n);
      for (size_t i = 0; i < n->args.size(); ++i) {
        if (def && op::takes_any_type(*def)) {
          continue;
        } else if (def) {
          // Operators broadcast and convert: only what no operator takes is surely wrong.
          out.push_back({e, i + 1, b.fn({}, b.scalar(kInt16, 1)), def->name});
        } else if (n->callee->as<Global>() || n->callee->as<CtorRef>()) {
          const auto* fn = n->callee->type->as<FnType>();
          if (fn && fn->type_params.empty() && i < fn->args.size() && !fn->args[i]->has_symbolic_dim)
            add(e, i + 1, fn->args[i], "argument");
        }
      }
    }
  }
  return out;
}

Expr with_mistake(Context& context, Expr root, const Mistake& wrong) {
  return rewrite(context, root, [&](Builder&, Expr e) -> Expr {
    if (e != wrong.at) return e;
    std::vector<Expr> children;
    for_each_child(e, [&](Expr child) { children.push_back(child); });
    children[wrong.child] = wrong.instead;
    return with_children(context, e, children);
  });
}

}  // namespace

std::string broken_mistakes(const Program& p, ByteSource, Tally& tally) {
  std::string wrong;
  Result<Module> m = checked(p.module, wrong);
  if (!m) return wrong;
  for (const auto& [name, fn] : m->functions()) {
    for (const Mistake& mistake : mistakes(*m, fn)) {
      // The other functions without types, so that nothing but the mistake is there to be found.
      Module bad = p.module;
      bad.set_function(name.text(), with_mistake(m->context(), fn, mistake)->as<Fn>());
      Diagnostics diagnostics;
      ++tally["mistakes"];
      Result<Module> found = typecheck::check(bad, diagnostics);
      if (found) return cat("a wrong ", mistake.what, " of @", name.text(), " is not found:\n", text_of(bad));
      if (!diagnostics.has_errors()) return cat("a wrong ", mistake.what, " is refused without a message");
      if (diagnostics.render(bad.context().sources()).empty()) return "a diagnostic without a text";
    }
  }
  return {};
}

}  // namespace relay::property
