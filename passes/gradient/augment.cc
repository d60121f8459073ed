#include "passes/gradient/augment.h"

#include "base/cat.h"
#include "ir/type_parts.h"
#include "op/registry.h"
#include "passes/gradient/adjoints.h"
#include "passes/gradient/carry.h"
#include "passes/gradient/checkpoints.h"

namespace relay::passes::gradient {
namespace {

class Augmenter : public CarryingFunctions {
 public:
  explicit Augmenter(const Program& program)
      : CarryingFunctions(program, Carried::kAdjoint),
        unit_(context_.tuple_type({})),
        way_back_(context_.fn_type({}, {}, unit_)) {}

  Module run() {
    for (Symbol name : program_.reached()) {
      if (is_checkpoint(program_.module().function(name.text())))
        checkpoints_[name] = program_.new_name(name.text(), "_gradient");
    }
    add_functions();
    for (const auto& [name, own] : checkpoints_) out_.set_function(own, gradient(name));
    for (size_t i = 0; i < program_.roots().size(); ++i)
      out_.set_function(program_.roots()[i].into, root(program_.roots()[i], program_.reached()[i]));
    add_functions_of_constants();
    return out_;
  }

 private:
  Expr beside(Expr tensor) override { return b_.ref_new(zeros(b_, tensor)); }
  const Var* extra() const override { return bp_; }
  void begin_function() override { bp_ = b_.var("bp", context_.ref_type(way_back_)); }

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

  std::string gradient_of(Symbol function) const override {
    const auto found = checkpoints_.find(function);
    return found == checkpoints_.end() ? program_.own_gradient(function) : found->second;
  }

  // fn (xs) { (f(xs), (adjoints of xs)) }, or what of it is wanted.
  const Fn* root(const Wanted& wanted, Symbol name) {
    const Fn* fn = program_.module().function(name.text());
    const SpanScope at(b_, fn->span);
    Bindings lets(b_);
    const std::vector<const Var*> params = plain_params(fn);
    const auto [y, adjoints] = there_and_back(lets, name, params, nullptr);
    std::vector<Expr> gradients;
    for (size_t i = 0; i < params.size(); ++i) {
      if (wanted.of(i)) gradients.push_back(adjoints[i]);
    }
    const Expr all = b_.tuple(gradients);
    return b_.fn(params, lets.around(wanted.value ? b_.tuple({primal(fn->body->type, y), all}) : all),
                 nullptr, {});
  }

  // fn (xs, dy) { (adjoints of xs) }: of a checkpoint, which is evaluated once more.
  const Fn* gradient(Symbol name) {
    const Fn* fn = program_.module().function(name.text());
    const SpanScope at(b_, fn->span);
    Bindings lets(b_);
    std::vector<const Var*> params = plain_params(fn);
    const Var* dy = b_.with_type(b_.var("dy", fn->body->type), fn->body->type)->as<Var>();
    const std::vector<Expr> adjoints = there_and_back(lets, name, params, dy).second;
    params.push_back(dy);
    return b_.fn(params, lets.around(b_.tuple(adjoints)), nullptr, {});
  }

  std::vector<const Var*> plain_params(const Fn* fn) {
    std::vector<const Var*> params;
    for (const Var* p : fn->params) {
      const Type written = p->annotation ? p->annotation : p->type;
      params.push_back(b_.with_type(b_.var(p->name.text(), written), p->type)->as<Var>());
    }
    return params;
  }

  // Forwards, then back from dy, or from 1 if that is null: the augmented result, and the adjoints
  // of the parameters: null for those that are constants by their types.
  std::pair<const Var*, std::vector<Expr>> there_and_back(Bindings& lets, Symbol name,
                                                          const std::vector<const Var*>& params, Expr dy) {
    const Expr nothing = b_.fn({}, b_.tuple({}), unit_);
    const Var* bp = lets.name("bp", b_.ref_new(nothing), context_.ref_type(way_back_));
    std::vector<Expr> args, adjoints;
    for (const Var* p : params) {
      const Expr arg = carry(p->type, p);
      args.push_back(arg == p ? arg : lets.name(cat(p->name.text(), "_augmented"), arg, types_.of(p->type)));
    }
    const std::vector<Expr> inputs = args;
    args.push_back(bp);
    const Type type = program_.module().function(name.text())->body->type;
    const Var* y =
        lets.name("y", b_.call(b_.global(name_of(name)), args, {}, types_.of(type)), types_.of(type));
    add(lets, type, y, dy ? dy : ones(b_, primal(type, y)));
    lets.act(b_.call(lets.name("back", b_.ref_read(bp), way_back_), {}, {}, unit_));
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Type t = params[i]->type;
      adjoints.push_back(is_of_tensors(t) ? adjoint(t, inputs[i]) : nullptr);
    }
    return {y, adjoints};
  }

  //   let y = op(primals); let y_augmented = (y, ref(zeros_like(y)));
  //   let before = ref_read(bp); ref_write(bp, fn () { add to the adjoints; before() });
  //   y_augmented
  Expr result_of(Bindings& lets, const Call& n, std::span<const Expr> args, std::span<const Expr> primals,
                 const Var* y, bool active) override {
    const Var* out = lets.name("y_augmented", carry(n.type, y), types_.of(n.type));
    if (active) remember(lets, n, args, primals, y, out);
    return out;
  }

  // Puts a step back before those that `bp` has, if one is needed.
  void remember(Bindings& lets, const Call& n, std::span<const Expr> args, std::span<const Expr> primals,
                const Var* y, const Var* out) {
    Bindings back(b_);
    const Var* dy = back.name("dy", adjoint(n.type, out), n.type);
    const OperatorAdjoints found =
        op::callee(n) ? adjoints_of(b_, n, primals, y, dy) : adjoints_of_function(back, n, primals, dy);
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

  OperatorAdjoints adjoints_of_function(Bindings& back, const Call& n, std::span<const Expr> primals,
                                        Expr dy) {
    std::vector<Expr> args(primals.begin(), primals.end());
    std::vector<Type> types;
    args.push_back(dy);
    for (Expr arg : n.args) types.push_back(arg->type);
    const Type type = context_.tuple_type(types);
    const Expr callee = b_.global(gradient_of(n.callee->as<Global>()->name));
    const Var* all = back.name("d", b_.call(callee, args, {}, type), type);
    OperatorAdjoints out;
    for (uint32_t i = 0; i < types.size(); ++i) out.of.push_back(b_.proj(all, i));
    return out;
  }

  const Type unit_;
  const Type way_back_;                                        // fn () -> ()
  std::map<Symbol, std::string, Module::ByName> checkpoints_;  // their gradients, which are functions
  const Var* bp_ = nullptr;  // the cell of the way back, of the function that is being augmented
};

}  // namespace

Module differentiate_any(const Program& program) { return Augmenter(program).run(); }

}  // namespace relay::passes::gradient
