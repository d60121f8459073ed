#include "passes/gradient/kernels.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "ir/builder.h"
#include "ir/rewrite.h"
#include "kernel/adjoint.h"
#include "kernel/builder.h"
#include "kernel/execute.h"
#include "kernel/walk.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/relation.h"
#include "passes/function_types.h"
#include "passes/gradient/adjoints.h"
#include "passes/gradient/program.h"
#include "passes/map_types.h"

namespace relay::passes::gradient {
namespace {

// Of the functions that are made here: what they name are derivatives of their kernels.
constexpr char kAttribute[] = "GradientOfKernel";

// A kernel as a function of tensors: of the program, or what an operator's lowering says.
struct Source {
  const kernel::Kernel* kernel = nullptr;
  std::vector<Type> params;
  Type result = nullptr;
  std::string reason = {};  // why there is no kernel; empty if there is one
};

Type type_of(Context& context, const kernel::Buffer& b) {
  std::vector<Dim> dims;
  for (kernel::Expr e : b.shape) dims.push_back(Dim(e));
  return context.tensor_type(dims, b.dtype);
}

Source source_of(Context& context, const kernel::Kernel& k) {
  Source out;
  out.kernel = &k;
  std::vector<Type> results;
  for (const kernel::Buffer* b : k.inputs) out.params.push_back(type_of(context, *b));
  for (const kernel::Buffer* b : k.outputs) results.push_back(type_of(context, *b));
  out.result = results.size() == 1 ? results[0] : context.tuple_type(results);
  return out;
}

// Do the shapes of the arguments tell all extents that the call mentions?
bool tells_its_extents(Context& context, const Call& call, std::span<const TensorType* const> args,
                       std::span<const TensorType* const> results) {
  std::vector<kernel::Expr> extents, mentioned;
  for (const TensorType* t : args) {
    for (Dim d : t->dims) extents.push_back(d.expr(context.pool()));
  }
  Builder b(context);
  mentioned = shape_variables(context, b.call(call.callee, {}, call.attrs));
  for (const TensorType* t : results) {
    for (Dim d : t->dims) {
      const std::vector<kernel::Expr> more = kernel::variables(d.expr(context.pool()));
      mentioned.insert(mentioned.end(), more.begin(), more.end());
    }
  }
  const std::unordered_set<const kernel::ExprNode*> told = kernel::determined_by(extents);
  for (kernel::Expr e : extents) {
    const std::vector<kernel::Expr> more = kernel::variables(e);
    mentioned.insert(mentioned.end(), more.begin(), more.end());
  }
  return std::all_of(mentioned.begin(), mentioned.end(),
                     [&](kernel::Expr v) { return told.contains(v.get()); });
}

// An operator's lowering, for the types of this call.
Source source_of(Context& context, const Call& call) {
  const op::OpDef& def = *op::callee(call);
  Source out;
  out.result = call.type;
  const auto none = [](std::string_view reason) {
    Source refused;
    refused.reason = reason;
    return refused;
  };
  std::vector<const TensorType*> args;
  for (Expr arg : call.args) {
    const auto* tensor = arg->type->as<TensorType>();
    out.params.push_back(arg->type);
    if (!tensor) return none("an argument is no tensor");
    args.push_back(tensor);
  }
  std::vector<const TensorType*> results = op::flatten(std::vector<Type>{call.type});
  for (const auto& list : {args, results}) {
    for (const TensorType* t : list) {
      if (std::any_of(t->dims.begin(), t->dims.end(), [](Dim d) { return d.is_unknown(); }))
        return none("an extent is not known; `match_shape` gives it a name");
    }
  }
  if (!tells_its_extents(context, call, args, results))
    return none("the extents of its arguments do not tell those of the call");
  try {
    kernel::Builder k(context.pool());
    std::vector<kernel::Tensor> in;
    for (size_t i = 0; i < args.size(); ++i) {
      std::vector<kernel::Expr> shape;
      for (Dim d : args[i]->dims) shape.push_back(d.expr(context.pool()));
      in.push_back(k.input(cat("x", i), args[i]->dtype, shape));
    }
    const std::vector<kernel::Tensor> made =
        def.lower(k, call.attrs, op::Lowering{in, args, results, context.pool()});
    out.kernel = context.arena().make<kernel::Kernel>(k.finish(def.name, def.name, made));
  } catch (const op::RelationError& error) {
    out.reason = error.reason;
  }
  return out;
}

bool moves_floats(const Source& s) {
  return holds_floats(s.result) && std::any_of(s.params.begin(), s.params.end(), holds_floats);
}

kernel::Adjoint adjoint_of(const Source& s, std::string_view name) {
  if (!s.kernel) return {{}, s.reason};
  return kernel::adjoint_of(*s.kernel, name);
}

class Writer {
 public:
  Writer(const Module& m, bool tangents) : m_(m), tangents_(tangents), out_(m), b_(m.context()) {}

  Module run() {
    for (const auto& [name, fn] : m_.functions()) {
      if (is_made_here(fn)) {
        if (tangents_ && own_tangent(fn).empty()) name_tangent(name, fn);
        continue;
      }
      const Expr after = rewrite(m_.context(), fn, [&](relay::Builder&, Expr e) { return replaced(e); });
      if (after != fn) out_.set_function(name.str(), after->as<Fn>());
    }
    return out_;
  }

 private:
  // A function of an earlier run.
  static bool is_made_here(const Fn* fn) { return fn->attrs.flag(kAttribute) && fn->body->as<Call>(); }

  Expr replaced(Expr e) {
    const SpanScope at(b_, e->span);
    if (const auto* global = e->as<Global>()) {
      const kernel::Kernel* k = m_.kernel(global->name.text());
      if (!k || k->external || !k->read_extents.empty()) return e;
      const std::string& name = of_kernel(global->name, *k);
      return name.empty() ? e : b_.global(name);
    }
    const auto* call = e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (!def || !has_gradient_by_kernel(*def) || !call->type || call->type->has_type_var) return e;
    const std::string& name = of_operator(*call);
    // With its type, which operators around it ask for.
    return name.empty() ? e
                        : b_.call(b_.global(name), {call->args.begin(), call->args.end()}, {}, call->type);
  }

  const std::string& of_kernel(Symbol k, const kernel::Kernel& kernel) {
    const auto [it, fresh] = kernels_.try_emplace(k.str());
    if (fresh) {
      it->second = add(source_of(m_.context(), kernel), k.text(),
                       [&](std::span<const Expr> args) { return b_.call(b_.global(k.text()), args); });
    }
    return it->second;
  }

  // Equal calls have one function.
  const std::string& of_operator(const Call& call) {
    const op::OpDef& def = *op::callee(call);
    std::vector<Type> types;
    for (Expr arg : call.args) types.push_back(arg->type);
    types.push_back(call.type);
    auto& known = operators_[{&def, types}];
    for (const auto& [attrs, name] : known) {
      if (attrs == call.attrs) return name;
    }
    std::string base = def.name;
    std::replace(base.begin(), base.end(), '.', '_');
    known.emplace_back(call.attrs, add(source_of(m_.context(), call), base, [&](std::span<const Expr> args) {
                         return b_.call(call.callee, args, call.attrs, call.type);
                       }));
    return known.back().second;
  }

  using MakesCall = std::function<Expr(std::span<const Expr>)>;

  // The name of the function that calls the source; empty if that has no adjoint.
  std::string add(const Source& source, std::string_view base, const MakesCall& call) {
    if (!source.kernel || !moves_floats(source)) return {};
    const std::string kernel = new_name(base, "_adjoint");
    const kernel::Adjoint adjoint = kernel::adjoint_of(*source.kernel, kernel);
    if (!adjoint.kernel) return {};
    set_kernel(kernel, *adjoint.kernel);
    const std::string back = new_name(base, "_back"), out = new_name(base, "_differentiable");
    std::vector<AttrArg> named{{kGradientAttribute, back}, {kAttribute, true}};
    add_back(source, back, kernel, adjoint.kernel->outputs.size());
    if (const std::string forth = tangents_ ? add_tangent(source, base, call) : ""; !forth.empty())
      named.push_back({kTangentAttribute, forth});
    const std::vector<const Var*> params = variables(source, "x");
    const std::vector<Expr> args(params.begin(), params.end());
    out_.set_function(out, b_.fn(params, call(args), source.result, m_.context().attrs(named)));
    return out;
  }

  // The name of the function of the tangent; empty if there is none.
  std::string add_tangent(const Source& source, std::string_view base, const MakesCall& call) {
    const std::string tangent = new_name(base, "_tangent"), forth = new_name(base, "_forth");
    const kernel::Adjoint made = kernel::tangent_of(*source.kernel, tangent);
    if (!made.kernel) return {};
    set_kernel(tangent, *made.kernel);
    add_forth(source, forth, tangent, made.kernel->outputs.size(), call);
    return forth;
  }

  // A function that an earlier run made for gradients alone names its tangent, too.
  void name_tangent(Symbol name, const Fn* fn) {
    const SpanScope at(b_, fn->span);
    const Call& made = *fn->body->as<Call>();
    const auto* global = made.callee->as<Global>();
    const kernel::Kernel* k = global ? m_.kernel(global->name.text()) : nullptr;
    if (!k && !op::callee(made)) return;
    const Source source = k ? source_of(m_.context(), *k) : source_of(m_.context(), made);
    if (!source.kernel || !moves_floats(source)) return;
    const std::string forth = add_tangent(source, name.text(), [&](std::span<const Expr> args) {
      return b_.call(made.callee, args, made.attrs, made.type);
    });
    if (forth.empty()) return;
    std::vector<AttrArg> named = op::attr_args(fn->attrs);
    named.push_back({kTangentAttribute, forth});
    out_.set_function(name.text(), b_.fn({fn->params.begin(), fn->params.end()}, fn->body, fn->result,
                                         m_.context().attrs(named)));
  }

  void set_kernel(const std::string& name, const kernel::Kernel& k) {
    out_.set_kernel(name, m_.context().arena().make<kernel::Kernel>(k));
  }

  // The tensors of a value that has one or a tuple of them.
  std::vector<Expr> parts(Expr value) {
    const auto* tuple = value->type->as<TupleType>();
    if (!tuple) return {value};
    std::vector<Expr> out;
    for (uint32_t i = 0; i < tuple->fields.size(); ++i) out.push_back(b_.proj(value, i));
    return out;
  }

  // Results of a kernel in the place of those that are floats; zeros in the others.
  std::vector<Expr> among(std::span<const Expr> like, Expr results, size_t number) {
    std::vector<Expr> out;
    uint32_t next = 0;
    for (Expr e : like) {
      if (holds_floats(e->type)) {
        out.push_back(number > 1 ? static_cast<Expr>(b_.proj(results, next++)) : results);
      } else {
        out.push_back(op::call(b_, op::kZerosLike, {e}));
      }
    }
    return out;
  }

  // fn (xs, dy) { (adjoints of xs) }
  void add_back(const Source& source, const std::string& name, const std::string& kernel, size_t number) {
    std::vector<const Var*> params = variables(source, "x");
    std::vector<Expr> xs(params.begin(), params.end()), args = xs;
    params.push_back(b_.with_type(b_.var("dy", source.result), source.result)->as<Var>());
    for (Expr part : parts(params.back())) {
      if (holds_floats(part->type)) args.push_back(part);
    }
    const Expr results = b_.call(b_.global(kernel), args);
    out_.set_function(
        name, b_.fn(params, b_.tuple(among(xs, results, number)), m_.context().tuple_type(source.params)));
  }

  // fn (xs, dxs) { tangent of the result }
  void add_forth(const Source& source, const std::string& name, const std::string& kernel, size_t number,
                 const MakesCall& call) {
    std::vector<const Var*> params = variables(source, "x");
    const std::vector<const Var*> tangents = variables(source, "d_x");
    const std::vector<Expr> xs(params.begin(), params.end());
    std::vector<Expr> args = xs;
    for (const Var* t : tangents) {
      if (holds_floats(t->type)) args.push_back(t);
    }
    params.insert(params.end(), tangents.begin(), tangents.end());
    const Expr results = b_.call(b_.global(kernel), args);
    const bool several = source.result->as<TupleType>() != nullptr;
    Expr result = results;
    if (several) {
      const Expr y = b_.with_type(call(xs), source.result);
      result = b_.tuple(among(parts(y), results, number));
    }
    out_.set_function(name, b_.fn(params, result, source.result));
  }

  std::vector<const Var*> variables(const Source& source, std::string_view name) {
    std::vector<const Var*> out;
    for (size_t i = 0; i < source.params.size(); ++i)
      out.push_back(b_.with_type(b_.var(cat(name, i), source.params[i]), source.params[i])->as<Var>());
    return out;
  }

  std::string new_name(std::string_view of, std::string_view suffix) const {
    return fresh_name(out_, cat(of, suffix));
  }

  const Module& m_;
  const bool tangents_;
  Module out_;
  Builder b_;
  std::map<std::string, std::string> kernels_;
  // By operator and types: the attributes, and the name.
  std::map<std::pair<const op::OpDef*, std::vector<Type>>, std::deque<std::pair<Attrs, std::string>>>
      operators_;
};

}  // namespace

bool has_gradient_by_kernel(const op::OpDef& op) {
  return !op.differentiate && !op.expand && op.lower && op.not_differentiable.empty();
}

const Fn* caller_of_kernel(Context& context, std::string_view name, const kernel::Kernel& k) {
  Builder b(context);
  std::vector<const Var*> params;
  for (const kernel::Buffer* x : k.inputs) params.push_back(b.var(x->name.text(), type_of(context, *x)));
  return b.fn(params, b.call(b.global(name), std::vector<Expr>(params.begin(), params.end())));
}

Module with_gradients_of_kernels(const Module& m, bool tangents) { return Writer(m, tangents).run(); }

std::string why_no_gradient(const Module& m, Symbol kernel) {
  const kernel::Kernel* k = m.kernel(kernel.text());
  if (!k) return "it is no function of the module";
  if (k->external)
    return "it is a C function; call it in a function that names its gradient, by the attribute `Gradient`";
  return adjoint_of(source_of(m.context(), *k), kernel.text()).reason;
}

std::string why_no_gradient(Context& context, const Call& call) {
  return adjoint_of(source_of(context, call), "").reason;
}

}  // namespace relay::passes::gradient
