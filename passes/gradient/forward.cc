#include "passes/gradient/forward.h"

#include "base/cat.h"
#include "op/registry.h"
#include "passes/gradient/adjoints.h"
#include "passes/gradient/carry.h"
#include "passes/gradient/tangent.h"

namespace relay::passes::gradient {
namespace {

class Forward : public CarryingFunctions {
 public:
  explicit Forward(const Program& program) : CarryingFunctions(program, Carried::kTangent) {}

  Module run() {
    add_functions();
    for (size_t i = 0; i < program_.roots().size(); ++i)
      out_.set_function(program_.roots()[i].into, root(program_.reached()[i]));
    return out_;
  }

 private:
  Expr beside(Expr tensor) override { return zeros(b_, tensor); }

  std::string gradient_of(Symbol function) const override {
    const Fn* fn = program_.module().function(function.text());
    return fn && !program_.own_gradient(function).empty() ? own_tangent(fn) : std::string();
  }

  // The call of the function of tangents that the callee names.
  OperatorTangent tangent_by(const std::string& name, const Call& n, std::span<const Expr> primals,
                             std::span<const Expr> tangents) {
    const Fn* forth = program_.module().function(name);
    if (!forth || forth->params.size() != 2 * n.args.size())
      return {nullptr, cat("its tangent `@", name, "` is no function of the arguments and their tangents")};
    std::vector<Expr> args(primals.begin(), primals.end());
    for (size_t i = 0; i < primals.size(); ++i)
      args.push_back(tangents[i] ? tangents[i] : zeros(b_, b_.with_type(primals[i], n.args[i]->type)));
    return {b_.call(b_.global(name), args, {}, n.type)};
  }

  // let y = op(primals); let dy = its tangent; (y, dy)
  Expr result_of(Bindings& lets, const Call& n, std::span<const Expr> args, std::span<const Expr> primals,
                 const Var* y, bool active) override {
    if (!active) return carry(n.type, y);
    std::vector<Expr> tangents;
    for (size_t i = 0; i < args.size(); ++i) {
      const Type type = n.args[i]->type;
      const bool moves = holds_floats(type) && !args[i]->as<Constant>();
      tangents.push_back(moves ? second(type, args[i]) : nullptr);
    }
    const auto* global = n.callee->as<Global>();
    const OperatorTangent found = global ? tangent_by(gradient_of(global->name), n, primals, tangents)
                                         : tangent_of(b_, n, primals, y, tangents);
    if (!found.reason.empty()) {
      refuse(n, found.reason);
      return y;
    }
    if (!found.of) return carry(n.type, y);
    return pair(n.type, y, lets.name("dy", found.of, n.type));
  }

  // fn (xs, dxs) { (f(xs), tangent of it) }
  const Fn* root(Symbol name) {
    const Fn* fn = program_.module().function(name.text());
    const SpanScope at(b_, fn->span);
    std::vector<const Var*> params, tangents;
    std::vector<Expr> args;
    for (const Var* p : fn->params) {
      const Type written = p->annotation ? p->annotation : p->type;
      const auto parameter = [&](std::string_view name) {
        return b_.with_type(b_.var(name, written), p->type)->as<Var>();
      };
      params.push_back(parameter(p->name.text()));
      tangents.push_back(parameter(cat("d_", p->name.text())));
      args.push_back(pair(p->type, params.back(), tangents.back()));
    }
    params.insert(params.end(), tangents.begin(), tangents.end());
    const Type type = fn->body->type;
    Bindings lets(b_);
    const Var* y =
        lets.name("y", b_.call(b_.global(name_of(name)), args, {}, types_.of(type)), types_.of(type));
    return b_.fn(params, lets.around(b_.tuple({primal(type, y), second(type, y)})), nullptr, {});
  }
};

}  // namespace

Module differentiate_forward(const Program& program) { return Forward(program).run(); }

}  // namespace relay::passes::gradient
