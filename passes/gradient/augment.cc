#include "passes/gradient/augment.h"

#include <unordered_map>
#include <utility>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "passes/gradient/adjoints.h"
#include "passes/gradient/types.h"

namespace relay::passes::gradient {
namespace {

constexpr std::string_view kKernelReason = "kernels of the program are not differentiated";

// Lets whose variables are of types that are given.
class Bindings {
 public:
  explicit Bindings(Builder& b) : b_(b) {}

  const Var* name(std::string_view name, Expr value, Type type) {
    const Var* x = b_.with_type(b_.var(name), type)->as<Var>();
    lets_.emplace_back(x, value);
    return x;
  }
  // Something that is done, and gives ().
  void act(Expr e) { name("_", e, b_.context().tuple_type({})); }

  Expr around(Expr body) const {
    for (size_t i = lets_.size(); i-- > 0;) body = b_.let(lets_[i].first, lets_[i].second, body);
    return body;
  }

 private:
  Builder& b_;
  std::vector<std::pair<const Var*, Expr>> lets_;
};

class Augmenter {
 public:
  explicit Augmenter(const Program& program)
      : program_(program),
        out_(program.module()),
        context_(out_.context()),
        b_(context_),
        types_(program, out_),
        unit_(context_.tuple_type({})),
        way_back_(context_.fn_type({}, {}, unit_)) {}

  Module run() {
    for (Symbol name : program_.reached()) names_[name] = program_.new_name(name.text(), "_augmented");
    for (Symbol name : program_.reached()) {
      function_ = name;
      out_.set_function(names_.at(name), augmented(program_.module().function(name.text())));
    }
    out_.set_function("main", main());
    return out_;
  }

 private:
  // --- augmented values --------------------------------------------------------------------------

  // The value of an augmented tensor or tuple.
  Expr primal(Type t, Expr augmented) {
    if (!holds_floats(t)) return augmented;
    const auto* tuple = t->as<TupleType>();
    if (!tuple) return b_.proj(augmented, 0);
    std::vector<Expr> fields;
    for (uint32_t i = 0; i < tuple->fields.size(); ++i)
      fields.push_back(primal(tuple->fields[i], b_.proj(augmented, i)));
    return b_.tuple(fields);
  }

  // A value, augmented by adjoints of zero.
  Expr augment(Type t, Expr value) {
    if (!holds_floats(t)) return value;
    const auto* tuple = t->as<TupleType>();
    if (!tuple) return b_.tuple({value, b_.ref_new(zeros(b_, value))});
    std::vector<Expr> fields;
    for (uint32_t i = 0; i < tuple->fields.size(); ++i)
      fields.push_back(augment(tuple->fields[i], b_.proj(value, i)));
    return b_.tuple(fields);
  }

  // The adjoint so far.
  Expr adjoint(Type t, Expr augmented) {
    if (!holds_floats(t)) return zeros(b_, augmented);
    const auto* tuple = t->as<TupleType>();
    if (!tuple) return b_.ref_read(b_.proj(augmented, 1));
    std::vector<Expr> fields;
    for (uint32_t i = 0; i < tuple->fields.size(); ++i)
      fields.push_back(adjoint(tuple->fields[i], b_.proj(augmented, i)));
    return b_.tuple(fields);
  }

  void add(Bindings& lets, Type t, Expr augmented, Expr more) {
    if (!holds_floats(t)) return;
    if (const auto* tuple = t->as<TupleType>()) {
      const auto* fields = more->as<Tuple>();
      for (uint32_t i = 0; i < tuple->fields.size(); ++i)
        add(lets, tuple->fields[i], b_.proj(augmented, i), fields ? fields->fields[i] : b_.proj(more, i));
      return;
    }
    const Expr cell = b_.proj(augmented, 1);
    lets.act(b_.ref_write(cell, sum(b_, b_.ref_read(cell), more)));
  }

  // --- functions ---------------------------------------------------------------------------------

  const Fn* augmented(const Fn* fn) {
    const SpanScope at(b_, fn->span);
    bp_ = b_.var("bp", context_.ref_type(way_back_));
    now_.clear();
    for (Expr e : post_order(fn->body)) {
      const SpanScope here(b_, e->span);
      now_[e] = node(e);
    }
    std::vector<const Var*> params;
    for (const Var* p : fn->params) params.push_back(variable(p));
    params.push_back(bp_);
    // What `where` asks is asked of tensors, and augmented values are none. Functions that compute
    // with values of their type parameters are of known types already (monomorphise).
    return b_.fn(params, now_.at(fn->body), types_.of(fn->result), {}, fn->type_params);
  }

  // fn (xs) { (f(xs), (adjoints of xs)) }, or what of it is wanted: forwards, then back from 1.
  const Fn* main() {
    const Fn* fn = program_.module().function("main");
    const SpanScope at(b_, fn->span);
    Bindings lets(b_);
    const Expr nothing = b_.fn({}, b_.tuple({}), unit_);
    const Var* bp = lets.name("bp", b_.ref_new(nothing), context_.ref_type(way_back_));
    std::vector<const Var*> params;
    std::vector<Expr> args, gradients;
    for (const Var* p : fn->params) {
      const Type written = p->annotation ? p->annotation : p->type;
      params.push_back(b_.with_type(b_.var(p->name.text(), written), p->type)->as<Var>());
      const Expr arg = augment(p->type, params.back());
      const std::string name = cat(p->name.text(), "_augmented");
      args.push_back(holds_floats(p->type) ? lets.name(name, arg, types_.of(p->type)) : arg);
    }
    const std::vector<Expr> inputs = args;
    args.push_back(bp);
    const Type type = fn->body->type;
    const Var* y =
        lets.name("y", b_.call(b_.global(names_.at(program_.reached()[0])), args, {}, types_.of(type)),
                  types_.of(type));
    add(lets, type, y, ones(b_, primal(type, y)));
    lets.act(b_.call(lets.name("back", b_.ref_read(bp), way_back_), {}, {}, unit_));
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (program_.wanted().of(i)) gradients.push_back(adjoint(params[i]->type, inputs[i]));
    }
    const Expr all = b_.tuple(gradients);
    return b_.fn(params, lets.around(program_.wanted().value ? b_.tuple({primal(type, y), all}) : all),
                 nullptr, {});
  }

  // --- expressions -------------------------------------------------------------------------------

  const Var* variable(const Var* v) {
    Expr& now = now_[v];
    if (!now) now = b_.with_type(b_.var(v->name.text(), types_.of(v->annotation)), types_.of(v->type));
    return now->as<Var>();
  }

  Expr node(Expr e) {
    const auto* call = e->as<Call>();
    bool first = true;
    for_each_child(e, [&](Expr child) {
      const bool called = std::exchange(first, false) && call;
      if (!called) refuse_primitive_value(child);
    });
    return match(
        e, [&](const Constant& n) -> Expr { return augment(n.type, e); },
        [&](const Var& n) -> Expr { return variable(&n); },
        [&](const Global& n) -> Expr { return function_value(n); }, [&](const OpRef&) -> Expr { return e; },
        [&](const CtorRef& n) -> Expr { return b_.ctor(*types_.ctor(n.ctor)); },
        [&](const Fn& n) -> Expr {
          std::vector<const Var*> params;
          for (const Var* p : n.params) params.push_back(variable(p));
          return b_.fn(params, now_.at(n.body), types_.of(n.result), {}, n.type_params);
        },
        [&](const Call& n) -> Expr { return this->call(n); },
        [&](const auto&) -> Expr { return rebuilt(e); });
  }

  // Reports an operator or a kernel that is a value, unless no float goes through it.
  void refuse_primitive_value(Expr e) {
    const auto* ref = e->as<OpRef>();
    const auto* global = e->as<Global>();
    if (!ref && (!global || names_.contains(global->name) || types_.of(e->type) == e->type)) return;
    program_.refuse(function_, e->span,
                    ref ? cat("`", ref->op->name, "` as a value")
                        : cat("the kernel `@", global->name.text(), "` as a value"),
                    ref ? "its type is not known here" : kKernelReason);
  }

  // The same form of what its parts have become. Always a new node: no two functions share any.
  Expr rebuilt(Expr e) {
    std::vector<Expr> children;
    std::vector<Type> type_args;
    for_each_child(e, [&](Expr child) { children.push_back(now_.at(child)); });
    if (const auto* call = e->as<Call>()) {
      for (Type t : call->type_args) type_args.push_back(types_.of(t));
    }
    const Expr now = rebuild(context_, e,
                             {.children = children,
                              .var = [&](const Var* v) { return variable(v); },
                              .ctor = [&](const Constructor* c) { return types_.ctor(c); },
                              .type = types_.of(e->type),
                              .type_args = type_args});
    return now == e ? match(e, [&](const auto& n) -> Expr { return context_.node(n); }) : now;
  }

  // A function of the module as a value takes no `bp`: it gets the one that is here.
  Expr function_value(const Global& n) {
    const auto name = names_.find(n.name);
    const auto* type = n.type ? n.type->as<FnType>() : nullptr;
    if (name == names_.end() || !type) return &n;
    std::vector<const Var*> params;
    for (Type t : type->args)
      params.push_back(b_.var("x", type->type_params.empty() ? types_.of(t) : nullptr));
    std::vector<Expr> args(params.begin(), params.end());
    args.push_back(bp_);
    return b_.fn(params, b_.call(b_.global(name->second), args), nullptr);
  }

  Expr call(const Call& n) {
    if (op::callee(n)) return primitive(n);
    const auto* global = n.callee->as<Global>();
    if (!global) return rebuilt(&n);
    const auto name = names_.find(global->name);
    if (name == names_.end()) return primitive(n);
    std::vector<Expr> args;
    for (Expr arg : n.args) args.push_back(now_.at(arg));
    args.push_back(bp_);
    return b_.call(b_.global(name->second), args, n.attrs, types_.of(n.type));
  }

  // A call of an operator or a kernel, on values:
  //   let y = op(primals); let y_augmented = (y, ref(zeros_like(y)));
  //   let before = ref_read(bp); ref_write(bp, fn () { add to the adjoints; before() });
  //   y_augmented
  Expr primitive(const Call& n) {
    Bindings lets(b_);
    std::vector<Expr> args, primals;
    bool active = false;
    for (Expr arg : n.args) {
      const bool has_adjoint = holds_floats(arg->type) && !arg->as<Constant>();
      if (arg->type->has_type_var) {
        refuse(n, "it computes with type parameters");
        return &n;
      }
      args.push_back(arg->as<Constant>() ? arg : lets_unless_variable(lets, now_.at(arg), arg->type));
      primals.push_back(has_adjoint ? primal(arg->type, args.back()) : args.back());
      active |= has_adjoint;
    }
    const Expr value = b_.call(n.callee, primals, n.attrs, n.type);
    if (!holds_floats(n.type)) return lets.around(value);
    const Var* y = lets.name("y", value, n.type);
    const Var* out = lets.name("y_augmented", augment(n.type, y), types_.of(n.type));
    if (active) remember(lets, n, args, primals, y, out);
    return lets.around(out);
  }

  Expr lets_unless_variable(Bindings& lets, Expr e, Type before) {
    return e->as<Var>() ? e : lets.name("x", e, types_.of(before));
  }

  // Puts a step back before those that `bp` has, if one is needed.
  void remember(Bindings& lets, const Call& n, std::span<const Expr> args, std::span<const Expr> primals,
                const Var* y, const Var* out) {
    if (!op::callee(n)) return refuse(n, kKernelReason);
    Bindings back(b_);
    const Var* dy = back.name("dy", adjoint(n.type, out), n.type);
    const OperatorAdjoints found = adjoints_of(b_, n, primals, y, dy);
    if (!found.reason.empty()) return refuse(n, found.reason);
    bool any = false;
    for (size_t i = 0; i < args.size(); ++i) {
      if (!found.of[i] || args[i]->as<Constant>()) continue;
      add(back, n.args[i]->type, args[i], found.of[i]);
      any |= holds_floats(n.args[i]->type);
    }
    if (!any) return;
    const Var* before = lets.name("before", b_.ref_read(bp_), way_back_);
    const Expr step = b_.fn({}, back.around(b_.call(before, {}, {}, unit_)), unit_);
    lets.act(b_.ref_write(bp_, step));
  }

  void refuse(const Call& n, std::string_view reason) {
    const op::OpDef* def = op::callee(n);
    program_.refuse(
        function_, n.span,
        def ? cat("`", def->name, "`") : cat("the kernel `@", n.callee->as<Global>()->name.text(), "`"),
        reason);
  }

  const Program& program_;
  Module out_;
  Context& context_;
  Builder b_;
  AugmentedTypes types_;
  const Type unit_;
  const Type way_back_;                                  // fn () -> ()
  std::map<Symbol, std::string, Module::ByName> names_;  // of augmented functions
  Symbol function_;                                      // the one that is being augmented
  const Var* bp_ = nullptr;                              // its cell of the way back
  std::unordered_map<Expr, Expr> now_;
};

}  // namespace

Module differentiate_any(const Program& program) { return Augmenter(program).run(); }

}  // namespace relay::passes::gradient
