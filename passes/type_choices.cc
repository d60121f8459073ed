#include "passes/type_choices.h"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/cat.h"
#include "ir/builder.h"
#include "ir/fields.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "passes/map_types.h"

namespace relay::passes {
namespace {

using Choice = std::unordered_map<const TypeVar*, Type>;

// What the type parameters of a generic type are in another one that was made of it.
class Matcher {
 public:
  explicit Matcher(std::span<const TypeVar* const> parameters) : parameters_(parameters) {}

  // The first place where a parameter stands decides. The same two parts are looked at once.
  void match(Type general, Type special) {
    std::vector<std::pair<Type, Type>> pending{{general, special}};
    std::set<std::pair<Type, Type>> seen;
    while (!pending.empty()) {
      const auto [g, s] = pending.back();
      pending.pop_back();
      if (const auto* v = g->as<TypeVar>()) {
        if (std::find(parameters_.begin(), parameters_.end(), v) != parameters_.end()) found_.emplace(v, s);
        continue;
      }
      if (g->kind != s->kind || !seen.emplace(g, s).second) continue;
      const auto before = static_cast<std::ptrdiff_t>(pending.size());
      const auto all = [&](const List<Type>& in_g, const List<Type>& in_s) {
        for (size_t i = 0; i < std::min(in_g.size(), in_s.size()); ++i)
          pending.emplace_back(in_g[i], in_s[i]);
      };
      switch (g->kind) {
        case TypeKind::kTuple: all(g->as<TupleType>()->fields, s->as<TupleType>()->fields); break;
        case TypeKind::kFn:
          all(g->as<FnType>()->args, s->as<FnType>()->args);
          pending.emplace_back(g->as<FnType>()->result, s->as<FnType>()->result);
          break;
        case TypeKind::kRef:
          pending.emplace_back(g->as<RefType>()->contents, s->as<RefType>()->contents);
          break;
        case TypeKind::kData: all(g->as<DataType>()->args, s->as<DataType>()->args); break;
        case TypeKind::kTensor:
        case TypeKind::kVar:
        case TypeKind::kHole:
        case TypeKind::kRelation: break;
      }
      std::reverse(pending.begin() + before, pending.end());
    }
  }
  // In the order of the parameters; nothing if some was not found.
  std::optional<std::vector<Type>> found() const {
    std::vector<Type> out;
    for (const TypeVar* v : parameters_) {
      const auto it = found_.find(v);
      if (it == found_.end()) return std::nullopt;
      out.push_back(it->second);
    }
    return out;
  }

 private:
  std::span<const TypeVar* const> parameters_;
  Choice found_;
};

TypeMap map_of(const Choice& chosen) {
  return {.dim = {}, .dtype = {}, .variable = [&chosen](const TypeVar* v) -> Type {
            const auto it = chosen.find(v);
            return it == chosen.end() ? v : it->second;
          }};
}

// The types that the callee takes; fewer if they are not known.
std::vector<Type> taken(Context& context, const Call& call, const FnType* callee) {
  if (!callee || callee->type_params.size() != call.type_args.size()) return {};
  Choice chosen;
  for (size_t i = 0; i < call.type_args.size(); ++i) chosen[callee->type_params[i]] = call.type_args[i];
  std::vector<Type> out;
  for (Type t : callee->args) out.push_back(map_type(context, t, map_of(chosen)));
  return out;
}

}  // namespace

bool is_generic(Type t) { return !t || t->has_type_var || t->has_hole; }

bool any_is_generic(const std::vector<Type>& types) {
  return std::any_of(types.begin(), types.end(), is_generic);
}

bool computes_with_parameters(const Fn& fn) {
  for (Expr e : post_order(fn.body)) {
    const auto* call = e->as<Call>();
    if (!call || !op::callee(*call)) continue;
    if (is_generic(call->type)) return true;
    if (std::any_of(call->args.begin(), call->args.end(), [](Expr arg) { return is_generic(arg->type); }))
      return true;
  }
  return false;
}

std::optional<std::vector<Type>> types_chosen(const FnType& general, Type special) {
  const auto* fn = is_generic(special) ? nullptr : special->as<FnType>();
  if (!fn || fn->args.size() != general.args.size()) return std::nullopt;
  Matcher matcher(general.type_params);
  for (size_t i = 0; i < general.args.size(); ++i) matcher.match(general.args[i], fn->args[i]);
  matcher.match(general.result, fn->result);
  return matcher.found();
}

std::vector<Type> wanted_types(Context& context, Expr e, const FnType* callee) {
  std::vector<Type> out;
  for_each_child(e, [&](Expr) { out.push_back(nullptr); });
  const auto set = [&](size_t from, const auto& types) {
    for (size_t i = 0; i < types.size() && from + i < out.size(); ++i) out[from + i] = types[i];
  };
  match(
      e, [&](const Call& n) { set(1, taken(context, n, callee)); },
      [&](const Tuple&) {
        if (const auto* tuple = e->type ? e->type->as<TupleType>() : nullptr) set(0, tuple->fields);
      },
      [&](const Fn&) {
        if (const auto* fn = e->type ? e->type->as<FnType>() : nullptr) out[0] = fn->result;
      },
      [&](const Let& n) { set(0, std::vector<Type>{n.x->type, e->type}); },
      [&]<OneOf<If, Match> Form>(const Form&) { std::fill(out.begin() + 1, out.end(), e->type); },
      [&](const RefNew&) {
        if (const auto* ref = e->type ? e->type->as<RefType>() : nullptr) out[0] = ref->contents;
      },
      [&](const RefWrite& n) {
        if (const auto* ref = n.ref->type ? n.ref->type->as<RefType>() : nullptr) out[1] = ref->contents;
      },
      // The type of the child follows from no other.
      []<OneOf<Constant, Var, Global, OpRef, CtorRef, Proj, RefRead> Other>(const Other&) {});
  return out;
}

Type type_for(Context& context, const FnType& general, const std::vector<Type>& types) {
  Choice chosen;
  for (size_t i = 0; i < types.size(); ++i) chosen[general.type_params[i]] = types[i];
  std::vector<Type> args;
  for (Type t : general.args) args.push_back(map_type(context, t, map_of(chosen)));
  return context.fn_type({}, args, map_type(context, general.result, map_of(chosen)));
}

const Fn* with_types(Context& context, const Fn& fn, const std::vector<Type>& types) {
  Choice chosen;
  for (size_t i = 0; i < types.size(); ++i) chosen[fn.type_params[i]] = types[i];
  const Fn* mapped = map_types(context, &fn, map_of(chosen))->as<Fn>();
  relay::Builder b(context);
  SpanScope at(b, fn.span);
  std::vector<Type> args;
  for (const Var* p : mapped->params) args.push_back(p->type);
  const Expr made = b.fn(mapped->params, mapped->body, mapped->result, mapped->attrs);
  return b.with_type(made, context.fn_type({}, args, mapped->body->type))->as<Fn>();
}

void report_too_many(Span span, std::string_view name, size_t most, Diagnostics& diagnostics) {
  diagnostics
      .error(span, "too-many-instances",
             cat("the generic function `", name, "` computes with more than ", most, " choices of types"))
      .note("a function that calls itself with other types each time has no end of them")
      .note("the engines `interp` and `jit` run any program");
}

}  // namespace relay::passes
