#include "aot/program.h"

#include <algorithm>
#include <memory>
#include <set>

#include "analysis/kernel_extents.h"
#include "analysis/port_names.h"
#include "analysis/typed_extents.h"
#include "aot/limits.h"
#include "aot/ports.h"
#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/fields.h"
#include "ir/traverse.h"
#include "kernel/batched.h"
#include "kernel/execute.h"
#include "kernel/print/print.h"
#include "op/apply.h"
#include "op/registry.h"

namespace relay::aot {
namespace {

class Collector {
 public:
  explicit Collector(Program& program) : p_(program) {}

  // The function and all that it reaches, each where it is mentioned first.
  void function(Symbol name) {
    std::vector<Visit> visits;
    begin(name, visits);
    while (!visits.empty()) {
      Visit& v = visits.back();
      if (v.next == v.order.size()) {
        extents(*v.fn);
        visits.pop_back();
        continue;
      }
      const Expr e = v.order[v.next++];
      expression(e, v.callees.contains(e), v.typed);
      if (const auto* global = e->as<Global>(); global && !kernel_of(e)) begin(global->name, visits);
    }
  }

 private:
  struct Visit {
    const Fn* fn;
    std::vector<Expr> order;
    std::set<Expr> callees;
    analysis::TypedExtents typed;
    size_t next = 0;
  };
  void begin(Symbol name, std::vector<Visit>& visits) {
    const Fn* fn = p_.module.function(name.text());
    if (fn == nullptr || !seen_.insert(std::string(name.text())).second) return;
    p_.functions.push_back(name);
    Visit v{fn, post_order(fn->body), {}, {p_.module, *fn}};
    for (Expr e : v.order) {
      if (const auto* call = e->as<Call>()) v.callees.insert(call->callee);
    }
    visits.push_back(std::move(v));
  }

  // A function knows the extents that follow from its parameters, and those that the function
  // around it knows.
  void extents(const Fn& root) {
    using Known = std::unordered_set<const kernel::ExprNode*>;
    std::vector<std::pair<const Fn*, std::shared_ptr<const Known>>> functions{
        {&root, std::make_shared<Known>()}};
    while (!functions.empty()) {
      auto [fn, known] = std::move(functions.back());
      functions.pop_back();
      std::vector<kernel::Expr> own;
      for (const Var* param : fn->params) add_extents(param->type, own);
      if (const auto rules = kernel::extent_rules(own, *known); !rules.empty()) {
        auto more = std::make_shared<Known>(*known);
        for (const kernel::ExtentRule& rule : rules) more->insert(rule.variable.get());
        known = more;
      }
      const auto is_known = [&](kernel::Expr v) { return known->contains(v.get()); };
      std::set<Expr> seen;
      std::vector<Expr> pending{fn->body};
      while (!pending.empty()) {
        const Expr e = pending.back();
        pending.pop_back();
        if (!seen.insert(e).second) continue;
        if (const auto* inner = e->as<Fn>()) {
          functions.emplace_back(inner, known);
          continue;
        }
        if (const auto it = p_.views.find(e); it != p_.views.end())
          require_extents(it->second, is_known, e->span);
        for_each_child(e, [&](Expr child) { pending.push_back(child); });
      }
    }
  }

  void expression(Expr e, bool is_callee, const analysis::TypedExtents& typed) {
    match(
        e, [&](const Constant& c) { constant(&c); },
        [&](const Global&) {
          const kernel::Kernel* k = kernel_of(e);
          if (!k) return;
          kernel(*k, e->span);
          if (!is_callee) p_.compared.insert(k);  // nobody knows what it will be called with
        },
        [&](const OpRef& op) {
          if (!is_callee) throw Refusal{cat("operator `", op.op->name, "` is used as a value"), e->span};
        },
        [&](const Call& call) {
          if (const op::OpDef* def = op::callee(call)) operator_call(call, *def);
          const kernel::Kernel* k = kernel_of(call.callee);
          std::vector<DoubtedExtent> doubted = doubted_extents(call, typed);
          if (k && (!doubted.empty() || !analysis::extents_fit(p_.module.context(), call, *k)))
            p_.compared.insert(k);
          if (!doubted.empty() && (op::callee(call) || (k && !k->batched.empty())))
            p_.doubted.emplace(e, std::move(doubted));
        },
        [](const OneOf<Var, CtorRef, Tuple, Proj, Fn, Let, If, Match, RefNew, RefRead, RefWrite> auto&) {});
  }

  static std::vector<DoubtedExtent> doubted_extents(const Call& call, const analysis::TypedExtents& typed) {
    std::vector<DoubtedExtent> out;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const auto* t = call.args[i]->type->as<TensorType>();
      if (t == nullptr || !typed.doubted(call.args[i])) continue;
      for (size_t axis = 0; axis < t->rank(); ++axis) {
        if (!t->dims[axis].is_unknown()) out.push_back({i, axis, t->dims[axis]});
      }
    }
    return out;
  }

  const kernel::Kernel* kernel_of(Expr callee) const {
    const auto* global = callee->as<Global>();
    return global ? p_.module.kernel(global->name.text()) : nullptr;
  }

  // All that the view says of extents can be worked out.
  static void require_extents(const View& view, const std::function<bool(kernel::Expr)>& known, Span span) {
    const auto is_known = [&](kernel::Expr v) {
      const auto is_v = [&](const View::Opened& o) { return o.variable == v; };
      return known(v) || std::any_of(view.opened.begin(), view.opened.end(), is_v);
    };
    const auto require = [&](Dim d) {
      if (d.is_unknown()) throw Refusal{"an extent of the result depends on data", span};
      if (d.is_symbolic() && !is_printable(d.symbolic(), is_known))
        throw Refusal{cat("extent `", show(d), "` follows from no argument"), span};
    };
    for (Dim d : view.dims) require(d);
    for (const op::DimCheck& check : view.checks) require(check.a), require(check.b);
  }

  // The shape that the operator gives where each unknown extent of its arguments has a name.
  View view(const Call& call, const op::OpDef& def) {
    Context& context = p_.module.context();
    View out;
    std::vector<Type> types;
    for (size_t i = 0; i < call.args.size(); ++i) {
      const auto* x = call.args[i]->type->as<TensorType>();
      if (x == nullptr) throw Refusal{cat("operator `", def.name, "` takes or gives no tensor"), call.span};
      std::vector<Dim> dims(x->dims.begin(), x->dims.end());
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        if (!dims[axis].is_unknown()) continue;
        out.opened.push_back({i, axis, context.pool().variable("d")});
        dims[axis] = Dim(out.opened.back().variable);
      }
      types.push_back(context.tensor_type(dims, x->dtype));
    }
    op::Relation relation(context, types);
    try {
      const Type result = op::relate(relation, def, call.attrs);
      for (Dim d : result->as<TensorType>()->dims) out.dims.push_back(d);
    } catch (const op::RelationError& error) {
      throw Refusal{cat("operator `", def.name, "`: ", error.reason), call.span};
    }
    out.checks = relation.checks();
    return out;
  }

  void operator_call(const Call& call, const op::OpDef& def) {
    if (!def.view) throw Refusal{cat("operator `", def.name, "` has no kernel for these types"), call.span};
    const auto* t = call.type ? call.type->as<TensorType>() : nullptr;
    if (t == nullptr) throw Refusal{cat("operator `", def.name, "` takes or gives no tensor"), call.span};
    p_.views.emplace(&call, view(call, def));
  }

  void constant(const Constant* c) {
    if (p_.constants.contains(c)) return;
    p_.constants[c] = p_.plan.constants.size();
    p_.plan.constants.push_back(*c->value);
  }

  // Its shape variables follow from the extents of what it reads, and from elements
  // that have extents.
  void kernel(const kernel::Kernel& k, Span span) {
    if (std::find(p_.kernels.begin(), p_.kernels.end(), &k) != p_.kernels.end()) return;
    std::vector<kernel::Expr> extents;
    for (const kernel::Buffer* b : k.inputs) extents.insert(extents.end(), b->shape.begin(), b->shape.end());
    std::set<const kernel::ExprNode*> found;
    for (const kernel::ReadExtent& r : k.read_extents) found.insert(r.variable.get());
    const auto known = [&](kernel::Expr v) { return found.contains(v.get()); };
    for (const kernel::ExtentRule& rule : kernel::extent_rules(extents)) {
      if (is_printable(rule.rest, known)) found.insert(rule.variable.get());
    }
    for (kernel::Expr v : kernel::shape_parameters(k)) {
      if (!known(v))
        throw Refusal{cat("`", show(v), "` does not follow from what kernel `", k.name.text(), "` reads"),
                      span};
    }
    for (const auto* list : {&k.inputs, &k.outputs, &k.temporaries}) {
      for (const kernel::Buffer* b : *list) {
        for (kernel::Expr e : b->shape) {
          if (!is_printable(e, known))
            throw Refusal{cat("extent `", show(e), "` of kernel `", k.name.text(), "` has no code"), span};
        }
      }
    }
    p_.kernels.push_back(&k);
    if (k.batched.empty()) return;
    kernel(*p_.module.kernel(k.batched.text()), span);
  }

  Program& p_;
  std::set<std::string> seen_;
};

// Can all extents of the plan be printed?
bool plan_is_printable(const passes::Plan& plan) {
  const PortExtents known(plan.inputs, plan.outputs);
  const auto has = [&](kernel::Expr v) { return known.has(v); };
  return std::all_of(plan.values.begin(), plan.values.end(),
                     [&](const passes::PlanValue& v) {
                       return std::all_of(v.type->dims.begin(), v.type->dims.end(), [&](Dim d) {
                         return d.is_const() || (d.is_symbolic() && is_printable(d.symbolic(), has));
                       });
                     }) &&
         std::all_of(plan.steps.begin(), plan.steps.end(), [&](const passes::PlanStep& s) {
           return std::all_of(s.extents.begin(), s.extents.end(),
                              [&](kernel::Expr e) { return is_printable(e, has); });
         });
}

std::string reason_of(const Diagnostics& refused) {
  CHECK(!refused.all().empty(), "a plan was refused without a reason");
  return refused.all().front().message();
}

// A plan where there can be one: it takes no memory that is not known before the run. Everything
// else is functions, which can do all that plans can.
Result<Program> find_program(const Module& lowered, std::string_view function, Diagnostics& diagnostics,
                             passes::Shapes plans) {
  Program p{lowered, {}, {}, {}};
  Diagnostics no_plan;
  Result<passes::Plan> plan = passes::plan_memory(lowered, function, no_plan, plans);
  if (plan.ok() && plan_is_printable(*plan)) {
    p.plan = std::move(*plan);
    for (const passes::PlanStep& s : p.plan.steps) {
      if (s.kernel && std::find(p.kernels.begin(), p.kernels.end(), s.kernel) == p.kernels.end())
        p.kernels.push_back(s.kernel);
    }
    return p;
  }
  p.not_planned = plan.ok() ? "an extent of its tensors has no code in a plan" : reason_of(no_plan);
  const auto main = lowered.functions().find(function);
  CHECK(main != lowered.functions().end(), cat("there is no function @", function));
  const Fn& fn = *main->second;
  if (!within_limits(lowered, fn, diagnostics)) return kReported;
  try {
    if (!fn.type_params.empty()) throw Refusal{"the function is generic", fn.span};
    p.interface = find_interface(p.module, fn);
    const std::vector<std::string> names = analysis::input_names(fn);
    for (size_t i = 0; i < names.size(); ++i) add_ports(fn.params[i]->type, names[i], p.plan.inputs);
    add_ports(fn.body->type, "", p.plan.outputs);
    const std::vector<std::string> outputs = analysis::output_names(fn, p.plan.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) p.plan.outputs[i].name = outputs[i];
    p.plan.tuple_result = fn.body->type->as<TupleType>() != nullptr;
    Collector(p).function(main->first);
  } catch (const Refusal& refusal) {
    diagnostics.error(refusal.span, "not-ahead-of-time", cat("no code ahead of time: ", refusal.why))
        .note("the engines `interp` and `jit` run any program");
    return kReported;
  }
  return p;
}

}  // namespace

Result<Program> make_program(const Module& lowered, std::string_view function, Diagnostics& diagnostics,
                             passes::Shapes plans) {
  Result<Program> p = find_program(lowered, function, diagnostics, plans);
  if (!p) return kReported;
  for (const kernel::Kernel* k : p->kernels) {
    std::string wrong = kernel::codegen::cannot_compile(*k);
    if (wrong.empty()) continue;
    diagnostics.error(Span::none(), "cannot-compile", std::move(wrong))
        .note("the engine `interp` runs any program");
    return kReported;
  }
  return p;
}

size_t most_operands(const Program& program) {
  size_t most = 0;
  for (const kernel::Kernel* k : program.kernels) {
    if (!k->batched.empty()) most = std::max(most, k->inputs.size() + k->outputs.size());
  }
  return most;
}

size_t most_arguments(const Program& program) {
  size_t most = 1;
  for (Symbol name : program.functions) {
    const Fn* root = program.module.function(name.text());
    most = std::max(most, root->params.size());
    for (Expr e : post_order(root->body)) {
      if (const auto* fn = e->as<Fn>()) most = std::max(most, fn->params.size());
      if (const auto* ctor = e->as<CtorRef>()) most = std::max(most, ctor->ctor->fields.size());
    }
  }
  return most;
}

}  // namespace relay::aot
