// The order in which the functions of a module are looked at: functions that call each
// other together, callees first. A function whose type is written down can be called before
// it is looked at.
#include <algorithm>

#include "base/cat.h"
#include "base/check.h"
#include "base/components.h"
#include "base/failure.h"
#include "ir/function_graph.h"
#include "ir/text/partial.h"
#include "ir/traverse.h"
#include "ir/type_parts.h"
#include "kernel/kernel.h"
#include "kernel/limits.h"
#include "typecheck/inference.h"
#include "typecheck/kinds.h"
#include "typecheck/read.h"

namespace relay::typecheck {
bool fully_annotated(const Fn* fn) {
  const auto known = [](Type t) { return t && !t->has_hole; };
  return known(fn->result) && std::all_of(fn->params.begin(), fn->params.end(),
                                          [&](const Var* p) { return known(p->annotation); });
}

Inference::Inference(const Module& m, Diagnostics& diagnostics)
    : module_(m),
      context_(m.context()),
      diagnostics_(diagnostics),
      errors_before_(diagnostics.errors()),
      unifier_(m.context(), [this](kernel::Expr v) { return is_fixed(v); }) {}

Result<Checked> Inference::run() {
  bad_ = check_kinds(module_, diagnostics_);
  for (const auto& [name, fn] : module_.functions()) {
    names_[fn] = name;
    for (const TypeVar* v : fn->type_params) unifier_.reserve(v->name.text());
  }
  // Names that are written anywhere are not given to what is generalised.
  std::vector<Expr> roots;
  for (const auto& [name, fn] : module_.functions()) roots.push_back(fn);
  const std::vector<Expr> all = post_order(roots);
  for (Expr e : all) {
    match(
        e,
        [&](const Fn& fn) {
          for (const TypeVar* v : fn.type_params) unifier_.reserve(v->name.text());
        },
        [](const auto& n) {
          static_assert(!has_field<std::decay_t<decltype(n)>, List<const TypeVar*>>, "are its names taken?");
        });
    for_each_binder(e, [&](const Var* v) { reserve_names(v->annotation); });
  }
  const size_t other_errors = diagnostics_.errors();
  for (const auto& [name, kernel] : module_.kernels()) {
    reserve_names(kernel_type(*kernel));
    if (const std::string deep = kernel::too_deep(*kernel); !deep.empty())
      error(Span::none(), "kernel-too-deep", cat("kernel `@", name.text(), "`: ", deep));
  }
  if (diagnostics_.errors() > other_errors) return kReported;  // messages would recurse over extents

  // Programs of people need a quarter of this.
  constexpr uint64_t kPartsOfAny = 20'000'000, kPartsOfEach = 200;
  unifier_.allow(kPartsOfAny + kPartsOfEach * all.size());
  try {
    for (const std::vector<const Fn*>& functions : groups()) group(functions);
    finish_all();
    if (is_partial_ || diagnostics_.errors() > errors_before_) return kReported;
    return annotate();
  } catch (const Exhausted& limit) {
    const Fn* fn = module_.function(function_.text());
    error(fn ? fn->span : Span::none(), "limit-types",
          cat("inferring the types of `@", function_.text(), "` was given up: ", limit.what()))
        .note("annotate the types of the functions in it, or make them functions of the module");
    return kReported;
  }
}

// Parameters of function types, and shape variables.
void Inference::reserve_names(Type root) {
  if (!root || !(root->has_type_var || root->has_symbolic_dim)) return;
  std::vector<Type> pending{root};
  while (!pending.empty()) {
    const Type t = pending.back();
    pending.pop_back();
    if (!(t->has_type_var || t->has_symbolic_dim) || !reserved_.insert(t).second) continue;
    if (const auto* v = t->as<TypeVar>()) unifier_.reserve(v->name.text());
    if (const auto* tensor = t->as<TensorType>()) {
      for (Dim d : tensor->dims) {
        if (!d.is_symbolic()) continue;
        for (kernel::Expr v : kernel::variables(d.symbolic())) unifier_.reserve(v->name.text());
      }
    }
    for_each_part(t, [&](Type part) { pending.push_back(part); });
  }
}

// Functions that need each other's types. Edges lead to the functions that one mentions whose types
// are not written down.
std::vector<std::vector<const Fn*>> Inference::groups() {
  FunctionGraph graph = function_graph(module_);
  std::vector<const Fn*> nodes;
  for (Symbol name : graph.names) nodes.push_back(module_.function(name.text()));
  for (std::vector<size_t>& mentions : graph.mentions)
    std::erase_if(mentions, [&](size_t i) { return fully_annotated(nodes[i]); });
  std::vector<std::vector<const Fn*>> out;
  for (const std::vector<size_t>& component : strong_components(graph.mentions)) {
    std::vector<const Fn*>& group = out.emplace_back();
    for (size_t i : component) group.push_back(nodes[i]);
    std::sort(group.begin(), group.end(), [&](const Fn* a, const Fn* b) { return names_[a] < names_[b]; });
  }
  // The types that are written down are known from the start.
  for (const Fn* fn : nodes) {
    if (!fully_annotated(fn)) continue;
    std::vector<Type> args;
    for (const Var* p : fn->params) args.push_back(annotation(p->annotation, p));
    globals_[names_[fn]] = {
        context_.fn_type(fn->type_params, args, annotation(fn->result, fn), relations(fn))};
  }
  return out;
}

void Inference::group(const std::vector<const Fn*>& functions) {
  unifier_.enter({});
  open_at_level_.push_back(open_tasks_.size());
  for (const Fn* fn : functions) {
    function_ = names_[fn];
    GlobalState& state = globals_[function_];
    if (state.type || results_.get(fn)) continue;
    prepare(fn, true);
    state = {fn_type(fn), true};
  }
  for (const Fn* fn : functions) {
    const Activity activity("type check of", names_[fn].text());
    function_ = names_[fn];
    body(fn);
  }
  leave_level();
  for (const Fn* fn : functions) keep_function_type(fn);
  std::vector<const TypeVar*> params;
  for (const Fn* fn : functions) {
    GlobalState& state = globals_[names_[fn]];
    state = {unifier_.generalise(types_[fn], params), false};
    set(fn, state.type);
  }
  unifier_.leave();
}

Type Inference::kernel_type(const kernel::Kernel& k) {
  // What is read from an input is known when the program runs.
  const auto is_read = [&](kernel::Expr v) {
    return std::any_of(k.read_extents.begin(), k.read_extents.end(),
                       [&](const kernel::ReadExtent& r) { return r.variable == v; });
  };
  const auto tensor = [&](const kernel::Buffer* b) -> Type {
    std::vector<Dim> dims;
    for (kernel::Expr e : b->shape) {
      const std::vector<kernel::Expr> all = kernel::variables(e);
      dims.push_back(std::any_of(all.begin(), all.end(), is_read) ? Dim::unknown() : Dim(e));
    }
    return context_.tensor_type(dims, b->dtype);
  };
  std::vector<Type> args, results;
  for (const kernel::Buffer* b : k.inputs) args.push_back(tensor(b));
  for (const kernel::Buffer* b : k.outputs) results.push_back(tensor(b));
  return context_.fn_type({}, args, results.size() == 1 ? results[0] : context_.tuple_type(results));
}

void Inference::finish_all() {
  function_ = {};
  wake();
  // Arguments that an operator can work out from the others, in the order of the calls.
  for (size_t i = 0; i < open_tasks_.size(); ++i) {
    attempt(tasks_[open_tasks_[i]], true);
    wake();
  }
  ask_again();
  keep_types();
  ask_again();
  if (auto wrong = unifier_.settle_end()) {
    mismatch(Span::none(), "an argument", wrong->expected, wrong->actual, *wrong);
  }
  for (uint32_t i : open_tasks_) {
    Task& task = tasks_[i];
    if (task.done) continue;
    task.done = true;
    size_t arg = 0;
    while (arg + 1 < task.args.size() && !unifier_.unknown_in(task.args[arg])) ++arg;
    const Type unknown = unifier_.unknown_in(task.args[arg]);
    function_ = task.function;
    if (unknown != unifier_.poison()) undetermined(task, arg);
    for (Type t : task.args) agree(task.e->span, "", t, unifier_.poison());
    agree(task.e->span, "", task.result, unifier_.poison());
  }

  for (const auto& [name, fn] : module_.functions()) {
    function_ = name;
    for (Expr e : post_order(fn)) {
      for_each_binder(e, [&](const Var* v) { settle_type(types_.get(v), v); });
      settle_type(types_.get(e), e);
      if (const auto* call = e->as<Call>()) require_extents(call);
      const std::vector<Type>& chosen = type_args_.get(e);
      for (size_t i = 0; i < chosen.size(); ++i) settle_type(chosen[i], e, i);
    }
  }
}

// One round may make another possible.
void Inference::ask_again() {
  for (bool changed = true; changed;) {
    changed = false;
    std::erase_if(open_tasks_, [&](uint32_t i) { return tasks_[i].done; });
    for (uint32_t i : open_tasks_) {
      changed |= attempt(tasks_[i], true);
      wake();
    }
  }
}

// What is unknown to the very end is an error, reported where it came from, once.
void Inference::settle_type(Type t, Expr e, std::optional<size_t> param) {
  if (!t) return;
  t = unifier_.resolve(t);
  while (const Type unknown = unifier_.unknown_in(t)) {
    if (unknown == unifier_.poison()) return;
    if (unknown->kind == TypeKind::kTensor) {
      unifier_.forget_dims(t);
      continue;
    }
    undetermined(unknown, t, e, param);
    unifier_.set(unknown, unifier_.poison());
  }
}

// What a call knows of the extents of its arguments may leave a result that no tensor has.
// Operators' relations refuse it themselves.
void Inference::require_extents(const Call* call) {
  if (call->callee->kind == ExprKind::kOpRef) return;
  const TensorType* impossible = nullptr;
  for_each_type_in(unifier_.resolve(types_.get(call)), [&](Type t) {
    if (impossible || t->kind == TypeKind::kFn) return false;
    const auto negative = [](Dim d) { return d.is_const() && d.value() < 0; };
    const auto* tensor = t->as<TensorType>();
    if (tensor && (!is_countable(*tensor) || std::any_of(tensor->dims.begin(), tensor->dims.end(), negative)))
      impossible = tensor;
    return true;
  });
  if (!impossible) return;
  const Slug slug = is_countable(*impossible) ? Slug("negative-result-dim") : Slug("tensor-too-large");
  Diagnostic& d =
      error(call->span, slug, cat("a result of this call would be a `", show(impossible, 80), "`"));
  for (size_t i = 0; i < call->args.size(); ++i)
    d.label(call->args[i]->span, cat("argument ", i, " is `", text(types_.get(call->args[i])), "`"));
}

void Inference::report_types(Expr unread) {
  is_partial_ = true;
  set(unread, unifier_.poison());
  (void)run();
}

Result<Module> read(std::string name, std::string text, Diagnostics& diagnostics, const Operators& operators,
                    const ParseOptions& options) {
  std::optional<Partial> partial;
  Result<Module> out =
      parse_partial(std::move(name), std::move(text), diagnostics, operators, options, partial);
  if (partial) Inference(partial->module, diagnostics).report_types(partial->unread);
  return out;
}

Result<Checked> infer(const Module& m, Diagnostics& diagnostics) { return Inference(m, diagnostics).run(); }

Result<Module> check(const Module& m, Diagnostics& diagnostics) {
  Result<Checked> checked = infer(m, diagnostics);
  if (!checked) return kReported;
  return std::move(checked->module);
}

}  // namespace relay::typecheck
