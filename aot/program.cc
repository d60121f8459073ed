#include "aot/program.h"

#include <algorithm>
#include <set>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/traverse.h"
#include "kernel/execute.h"
#include "kernel/print/print.h"
#include "op/apply.h"
#include "op/registry.h"

namespace relay::aot {
namespace {

// Why something has no code, and where.
struct Refusal {
  std::string why;
  Span span;
};

// The extents of a type can be worked out while the program runs.
void require_extents(const TensorType& t, Span span) {
  for (Dim d : t.dims) {
    if (d.is_unknown()) throw Refusal{cat("an extent of ", show(&t), " depends on data"), span};
  }
}

class Collector {
 public:
  explicit Collector(Program& program) : p_(program) {}

  void function(Symbol name) {
    const Fn* fn = p_.module.function(name.text());
    if (fn == nullptr || !seen_.insert(std::string(name.text())).second) return;
    p_.functions.push_back(name);
    const std::vector<Expr> order = post_order(fn->body);
    std::set<Expr> callees;
    for (Expr e : order) {
      if (const auto* call = e->as<Call>()) callees.insert(call->callee);
    }
    for (Expr e : order) expression(e, callees.contains(e));
  }

 private:
  void expression(Expr e, bool is_callee) {
    if (const auto* c = e->as<Constant>()) {
      constant(c);
    } else if (const auto* global = e->as<Global>()) {
      if (const kernel::Kernel* k = p_.module.kernel(global->name.text())) {
        if (!is_callee) throw Refusal{"a kernel is used as a value", e->span};
        kernel(*k, e->span);
      } else {
        function(global->name);
      }
    } else if (const auto* op = e->as<OpRef>()) {
      if (!is_callee) throw Refusal{cat("operator `", op->op->name, "` is used as a value"), e->span};
    } else if (const auto* call = e->as<Call>()) {
      if (const op::OpDef* def = op::callee(*call)) operator_call(*call, *def);
    }
  }

  void operator_call(const Call& call, const op::OpDef& def) {
    if (!def.view) throw Refusal{cat("operator `", def.name, "` has no kernel for these types"), call.span};
    const auto* t = call.type ? call.type->as<TensorType>() : nullptr;
    if (t == nullptr) throw Refusal{cat("operator `", def.name, "` gives no tensor"), call.span};
    require_extents(*t, call.span);
  }

  void constant(const Constant* c) {
    if (p_.constants.contains(c)) return;
    p_.constants[c] = p_.plan.constants.size();
    p_.plan.constants.push_back(*c->value);
  }

  // Each shape variable must stand alone as some extent of an input.
  void kernel(const kernel::Kernel& k, Span span) {
    if (std::find(p_.kernels.begin(), p_.kernels.end(), &k) != p_.kernels.end()) return;
    for (kernel::Expr v : kernel::shape_parameters(k)) {
      const bool found = std::any_of(k.inputs.begin(), k.inputs.end(), [&](const kernel::Buffer* b) {
        return std::find(b->shape.begin(), b->shape.end(), v) != b->shape.end();
      });
      if (!found)
        throw Refusal{cat("`", show(v), "` is no extent of what kernel `", k.name.text(), "` reads"), span};
    }
    p_.kernels.push_back(&k);
  }

  Program& p_;
  std::set<std::string> seen_;
};

void add_ports(Type t, const std::string& name, std::vector<passes::PlanPort>& out, Span span) {
  if (const auto* tensor = t->as<TensorType>(); tensor && tensor->is_static()) {
    out.push_back({name, tensor});
  } else if (const auto* tuple = t->as<TupleType>()) {
    for (size_t i = 0; i < tuple->fields.size(); ++i)
      add_ports(tuple->fields[i], cat(name, "_", i), out, span);
  } else {
    throw Refusal{cat("the function takes or gives ", show(t), ", which is no tensor of constant shape"),
                  span};
  }
}

}  // namespace

namespace {

Result<Program> find_program(const Module& lowered, std::string_view function, Diagnostics& diagnostics) {
  Program p{lowered, {}, {}, {}};
  Diagnostics no_plan;
  if (Result<passes::Plan> plan = passes::plan_memory(lowered, function, no_plan)) {
    p.plan = std::move(*plan);
    for (const passes::PlanStep& s : p.plan.steps) {
      if (s.kernel && std::find(p.kernels.begin(), p.kernels.end(), s.kernel) == p.kernels.end())
        p.kernels.push_back(s.kernel);
    }
    return p;
  }
  const auto main = lowered.functions().find(function);
  CHECK(main != lowered.functions().end(), cat("there is no function @", function));
  const Fn& fn = *main->second;
  try {
    if (!fn.type_params.empty()) throw Refusal{"the function is generic", fn.span};
    for (const Var* param : fn.params) add_ports(param->type, param->name.str(), p.plan.inputs, fn.span);
    add_ports(fn.body->type, "output", p.plan.outputs, fn.span);
    p.plan.tuple_result = fn.body->type->as<TupleType>() != nullptr;
    Collector(p).function(main->first);
  } catch (const Refusal& refusal) {
    const bool by_shape = !no_plan.all().empty() && no_plan.all().front().slug() == "dynamic-shape";
    if (by_shape && p.functions.empty()) {
      (void)passes::plan_memory(lowered, function, diagnostics);  // says what to do about it
      return kReported;
    }
    diagnostics.error(refusal.span, "not-ahead-of-time", cat("no code ahead of time: ", refusal.why))
        .note("the engines `interp` and `jit` run any program");
    return kReported;
  }
  return p;
}

}  // namespace

Result<Program> make_program(const Module& lowered, std::string_view function, Diagnostics& diagnostics) {
  Result<Program> p = find_program(lowered, function, diagnostics);
  if (!p) return kReported;
  for (const kernel::Kernel* k : p->kernels) {
    std::string wrong = kernel::cannot_compile(*k);
    if (wrong.empty()) continue;
    diagnostics.error(Span::none(), "cannot-compile", std::move(wrong))
        .note("the engine `interp` runs any program");
    return kReported;
  }
  return p;
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
