#include "passes/plan_memory.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/kernel_extents.h"
#include "analysis/port_names.h"
#include "analysis/static_dataflow.h"
#include "base/cat.h"
#include "base/escape.h"
#include "kernel/execute.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/in_place.h"
#include "passes/plan_order.h"

namespace relay::passes {
namespace {

uint64_t aligned(uint64_t bytes) {
  return (bytes + kLocationAlignment - 1) / kLocationAlignment * kLocationAlignment;
}

class Planner {
 public:
  Planner(const Module& m, Diagnostics& diagnostics, Shapes shapes)
      : module_(m), diagnostics_(diagnostics), shapes_(shapes) {}

  Result<Plan> run(const Fn& fn) {
    if (!take_inputs(fn) || !take_body(fn)) return kReported;
    place_outputs(fn);
    if (plan_.dynamic) {
      fill_slots();
    } else {
      place_workspace(fn.attrs.flag(kInPlace));
    }
    plan_.in_place = find_in_place(plan_);
    return std::move(plan_);
  }

 private:
  using Parts = std::vector<uint32_t>;  // the tensors of a value, tuples taken apart
  // A tuple of tuples that share their fields may have more than any memory holds.

  bool refuse(Expr e, Slug slug, std::string message) {
    return analysis::refuse_static(e, slug, std::move(message), diagnostics_);
  }

  // The tensor types of a value; empty and reported if not all of them have a shape that
  // a plan may have.
  bool shaped_types(Expr e, std::vector<const TensorType*>& out) {
    return analysis::static_tensors(e, out, diagnostics_, [&](const TensorType& t) {
      if (shapes_ != Shapes::kSymbolic || !is_known(t)) return false;
      plan_.dynamic = true;
      return true;
    });
  }

  // All extents follow from shape variables that inputs tell. Those of inputs come before
  // the other values.
  bool is_known(const TensorType& t) {
    return std::all_of(t.dims.begin(), t.dims.end(), [&](Dim d) {
      if (d.is_const()) return true;
      if (d.is_unknown()) return false;
      const std::vector<kernel::Expr> all = kernel::variables(d.symbolic());
      return std::all_of(all.begin(), all.end(), [&](kernel::Expr v) { return known_.contains(v.get()); });
    });
  }

  static uint64_t bytes_of(const TensorType& t) {
    const std::optional<Shape> shape = t.static_shape();
    // What no number says no memory holds: the run is told so.
    if (!is_countable(t)) return UINT64_MAX;
    return shape ? static_cast<uint64_t>(*element_count(*shape)) * t.dtype.bytes() : 0;
  }

  uint32_t add_value(Storage storage, uint64_t at, const TensorType* type) {
    plan_.values.push_back({storage, at, type, bytes_of(*type)});
    return static_cast<uint32_t>(plan_.values.size() - 1);
  }

  bool take_inputs(const Fn& fn) {
    std::vector<kernel::Expr> extents;
    for (const Var* p : fn.params) {
      const auto* t = p->type->as<TensorType>();
      for (size_t d = 0; t && d < t->rank(); ++d) {
        if (t->dims[d].is_symbolic()) extents.push_back(t->dims[d].symbolic());
      }
    }
    known_ = kernel::determined_by(extents);
    const std::vector<std::string> names = analysis::input_names(fn);
    for (const Var* p : fn.params) {
      std::vector<const TensorType*> types;
      if (!shaped_types(p, types)) return false;
      if (types.size() != 1 || !p->type->as<TensorType>()) {
        return refuse(p, "not-static-dataflow", cat("parameter %", p->name.text(), " is not a tensor"));
      }
      parts_[p] = {add_value(Storage::kInput, plan_.inputs.size(), types[0])};
      plan_.inputs.push_back({names[plan_.inputs.size()], types[0]});
    }
    return true;
  }

  bool take_body(const Fn& fn) {
    const std::vector<Expr> order = plan_order(module_, fn.body);
    if (!analysis::is_static_dataflow(order, diagnostics_) || !only_calls(fn.body, order)) return false;
    for (Expr e : order) {
      if (const auto* let = e->as<Let>()) bound_[let->x] = let->value;
    }
    for (Expr e : order) {
      if (!take(e)) return false;
    }
    return true;
  }

  // Operators and kernels are called where they stand; as values they would have no place.
  bool only_calls(Expr body, const std::vector<Expr>& order) {
    const auto callable = [](Expr e) { return e->kind == ExprKind::kOpRef || e->kind == ExprKind::kGlobal; };
    Expr value = callable(body) ? body : nullptr;
    for (Expr e : order) {
      const auto* call = e->as<Call>();
      for_each_child(e, [&](Expr child) {
        if (callable(child) && !(call && child == call->callee)) value = child;
      });
      if (value)
        return refuse(value, "not-static-dataflow", "a callee that is a value is not static dataflow");
    }
    return true;
  }

  bool take(Expr e) {
    switch (e->kind) {
      case ExprKind::kVar:
        // A let's value comes before its body; what is left are the parameters.
        if (auto it = bound_.find(e); it != bound_.end()) parts_[e] = parts_.at(it->second);
        return true;
      case ExprKind::kLet: parts_[e] = parts_.at(e->as<Let>()->body); return true;
      case ExprKind::kOpRef:
      case ExprKind::kGlobal: return true;  // looked at where it is called
      case ExprKind::kConstant: {
        const Tensor& t = *e->as<Constant>()->value;
        parts_[e] = {add_value(Storage::kConstant, plan_.constants.size(), e->type->as<TensorType>())};
        plan_.constants.push_back(t);
        return true;
      }
      case ExprKind::kTuple: {
        Parts all;
        const auto of_field = [&](Expr field) -> const Parts& { return parts_.at(field); };
        if (!analysis::join_fields(*e->as<Tuple>(), of_field, all, diagnostics_)) return false;
        parts_[e] = std::move(all);
        return true;
      }
      case ExprKind::kProj:
        parts_[e] = analysis::part_of_field(*e->as<Proj>(), parts_.at(e->as<Proj>()->tuple));
        return true;
      case ExprKind::kCall: return take_call(*e->as<Call>());
      case ExprKind::kCtorRef:
      case ExprKind::kFn:
      case ExprKind::kIf:
      case ExprKind::kMatch:
      case ExprKind::kRefNew:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite: break;
    }
    CHECK(false, "a form that is no dataflow was not refused");
    return false;
  }

  bool take_call(const Call& call) {
    const op::OpDef* def = op::callee(call);
    if (def && def->view) {
      // The same bytes under another shape.
      std::vector<const TensorType*> types;
      if (!shaped_types(&call, types)) return false;
      if (analysis::checks_shapes(module_.context(), call, *def)) {
        return refuse(&call, "dynamic-shape",
                      cat("operator `", def->name, "` compares extents when the program runs"));
      }
      const PlanValue source = plan_.values[parts_.at(call.args[0])[0]];
      const uint32_t root = root_of(parts_.at(call.args[0])[0]);
      const uint32_t view = add_value(source.storage, source.at, types[0]);
      view_of_[view] = root;
      parts_[&call] = {view};
      return true;
    }
    const auto* global = call.callee->as<Global>();
    const kernel::Kernel* kernel = global ? module_.kernel(global->name.text()) : nullptr;
    if (!kernel) {
      return refuse(&call, "not-static-dataflow",
                    def ? cat("operator `", def->name, "` has no kernel here")
                        : cat(analysis::construct_name(call.callee), " is not static dataflow"));
    }
    PlanStep step{kernel, {}, {}, {}, &call};
    for (Expr arg : call.args) {
      const Parts& p = parts_.at(arg);
      step.inputs.insert(step.inputs.end(), p.begin(), p.end());
    }
    std::vector<const TensorType*> types;
    if (!shaped_types(&call, types)) return false;
    if (!kernel->read_extents.empty()) {
      return refuse(&call, "dynamic-shape",
                    cat("extents of kernel @", kernel->name.text(), " depend on data"));
    }
    if (shapes_ == Shapes::kSymbolic && !analysis::extents_fit(module_.context(), call, *kernel)) {
      return refuse(&call, "dynamic-shape",
                    cat("kernel @", kernel->name.text(), " compares extents when the program runs"));
    }
    for (const TensorType* t : types) step.outputs.push_back(add_value(Storage::kWorkspace, 0, t));
    parts_[&call] = step.outputs;
    const std::unordered_map<const kernel::ExprNode*, kernel::Expr> extents = extents_of(step);
    for (kernel::Expr v : kernel::shape_parameters(*kernel)) step.extents.push_back(extents.at(v.get()));
    // `lower` has put constant extents into kernels, but for those that contradict one another.
    if (!step.extents.empty() && shapes_ == Shapes::kConstant) {
      return refuse(&call, "dynamic-shape",
                    cat("kernel @", kernel->name.text(), " compares extents when the program runs"));
    }
    for (const kernel::Buffer* b : kernel->temporaries) {
      std::vector<Dim> dims;
      for (kernel::Expr e : kernel::memory_shape(*b)) dims.push_back(Dim(kernel::substitute(e, extents)));
      step.temporaries.push_back(
          add_value(Storage::kWorkspace, 0, module_.context().tensor_type(dims, b->dtype)));
    }
    plan_.steps.push_back(std::move(step));
    return true;
  }

  // What the kernel's shape variables are in those of the plan's inputs: its buffers have the
  // shapes of what is given.
  std::unordered_map<const kernel::ExprNode*, kernel::Expr> extents_of(const PlanStep& step) const {
    std::vector<kernel::Expr> asked, given;
    for (size_t i = 0; i < step.inputs.size(); ++i) {
      const kernel::Buffer* b = step.kernel->inputs[i];
      const TensorType* t = plan_.values[step.inputs[i]].type;
      for (size_t d = 0; d < b->shape.size(); ++d) {
        asked.push_back(b->shape[d]);
        given.push_back(t->dims[d].expr(module_.context().pool()));
      }
    }
    std::unordered_map<const kernel::ExprNode*, kernel::Expr> found;
    for (const kernel::ExtentRule& rule : kernel::extent_rules(asked)) {
      const kernel::Expr left = given[rule.extent] - kernel::substitute(rule.rest, found);
      found[rule.variable.get()] = floor_div(left, rule.coefficient);
    }
    return found;
  }

  uint32_t root_of(uint32_t value) const {
    auto it = view_of_.find(value);
    return it == view_of_.end() ? value : it->second;
  }

  // A value of the workspace that is a whole output goes straight to the caller's memory;
  // anything else is copied.
  void place_outputs(const Fn& fn) {
    plan_.tuple_result = fn.body->type->as<TupleType>() != nullptr;
    const Parts& results = parts_.at(fn.body);
    const std::vector<std::string> names = analysis::output_names(fn, results.size());
    std::unordered_map<uint32_t, bool> taken;
    std::vector<PlanStep> copies;
    for (size_t i = 0; i < results.size(); ++i) {
      const uint32_t value = results[i];
      plan_.outputs.push_back({names[i], plan_.values[value].type});
      const uint32_t root = root_of(value);
      if (plan_.values[root].storage == Storage::kWorkspace && !taken[root]) {
        taken[root] = true;
        move_to_output(root, i);
      } else {
        const uint32_t out = add_value(Storage::kOutput, i, plan_.values[value].type);
        copies.push_back({nullptr, {value}, {out}, {}, fn.body});
      }
    }
    plan_.steps.insert(plan_.steps.end(), copies.begin(), copies.end());
  }

  void move_to_output(uint32_t root, size_t output) {
    plan_.values[root].storage = Storage::kOutput;
    plan_.values[root].at = output;
    for (const auto& [view, of] : view_of_) {
      if (of != root) continue;
      plan_.values[view].storage = Storage::kOutput;
      plan_.values[view].at = output;
    }
  }

  // The values of the workspace and when they are alive; of a view, what it shows is.
  struct Values {
    std::vector<uint32_t> values;
    std::vector<Life> lives;
  };
  Values workspace_values() const {
    std::map<uint32_t, Life> found;
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      const PlanStep& s = plan_.steps[i];
      for (const auto* list : {&s.inputs, &s.outputs, &s.temporaries}) {
        for (uint32_t v : *list) {
          const uint32_t root = root_of(v);
          if (plan_.values[root].storage != Storage::kWorkspace) continue;
          found.emplace(root, Life{i, i}).first->second.last = i;
        }
      }
    }
    Values out;
    for (const auto& [value, life] : found) out.values.push_back(value), out.lives.push_back(life);
    return out;
  }

  void fill_slots() {
    const Values all = workspace_values();
    const auto type = [&](size_t i) -> const TensorType& { return *plan_.values[all.values[i]].type; };
    const std::vector<size_t> slots =
        find_slots(all.lives, [&](size_t a, size_t b) { return same_bytes(type(a), type(b)); });
    for (size_t i = 0; i < slots.size(); ++i) {
      plan_.slots.resize(std::max(plan_.slots.size(), slots[i] + 1));
      plan_.slots[slots[i]].push_back(all.values[i]);
      plan_.values[all.values[i]].at = slots[i];
    }
    place_views();
  }
  static bool same_bytes(const TensorType& a, const TensorType& b) {
    return a.dtype.bytes() == b.dtype.bytes() &&
           prove_equal(product(a.dims), product(b.dims)) == kernel::Proof::kProved;
  }

  void place_workspace(bool in_place) {
    const Values all = workspace_values();
    // Values that replace one another have one location.
    std::vector<size_t> location(all.values.size());
    std::iota(location.begin(), location.end(), size_t{0});
    if (in_place) replace_dying(all, location);
    std::vector<Life> lives;
    std::vector<uint64_t> bytes;
    uint64_t replaced = 0;
    for (size_t i = 0; i < location.size(); ++i) {
      const uint64_t own = plan_.values[all.values[i]].bytes;
      if (location[i] == i) {
        location[i] = lives.size();
        lives.push_back(all.lives[i]);
        bytes.push_back(own);
      } else {
        location[i] = location[location[i]];
        lives[location[i]].last = all.lives[i].last;
        replaced += aligned(std::max<uint64_t>(own, 1));
      }
    }
    const Locations locations = find_locations(lives, bytes);
    for (size_t i = 0; i < location.size(); ++i)
      plan_.values[all.values[i]].at = locations.offsets[location[i]];
    plan_.workspace_bytes = locations.bytes;
    plan_.workspace_bytes_without_sharing = locations.bytes_without_sharing + replaced;
    place_views();
  }

  // Gives values that a step writes the location of a value which it is the last to read, if its
  // kernel may write there. Values are numbered in the order in which they are written.
  void replace_dying(const Values& all, std::vector<size_t>& location) {
    std::unordered_map<uint32_t, size_t> number;
    for (size_t i = 0; i < all.values.size(); ++i) number[all.values[i]] = i;
    Replacements replacements;
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      const PlanStep& step = plan_.steps[s];
      if (!step.kernel) continue;
      std::vector<uint32_t> inputs;
      for (uint32_t v : step.inputs) inputs.push_back(root_of(v));
      std::set<uint32_t> replaced;
      for (size_t o = 0; o < step.outputs.size(); ++o) {
        const PlanValue& written = plan_.values[step.outputs[o]];
        if (written.storage != Storage::kWorkspace) continue;
        for (uint32_t from : inputs) {
          const auto old = number.find(from);
          if (old == number.end() || all.lives[old->second].last != s || replaced.contains(from)) continue;
          const PlanValue& value = plan_.values[from];
          if (value.bytes != written.bytes || value.type->dtype != written.type->dtype ||
              !replacements.allow(*step.kernel, inputs, from, o))
            continue;
          location[number.at(step.outputs[o])] = old->second;
          replaced.insert(from);
          break;
        }
      }
    }
  }

  void place_views() {
    for (const auto& [view, root] : view_of_) plan_.values[view].at = plan_.values[root].at;
  }

  const Module& module_;
  Diagnostics& diagnostics_;
  Shapes shapes_;
  Plan plan_;
  std::unordered_set<const kernel::ExprNode*> known_;  // shape variables that follow from inputs
  std::unordered_map<Expr, Parts> parts_;
  std::unordered_map<Expr, Expr> bound_;  // variable of a let -> its value
  std::map<uint32_t, uint32_t> view_of_;  // value -> the value whose bytes it shows
};

std::string show_value(const Plan& plan, uint32_t value) {
  const PlanValue& v = plan.values[value];
  switch (v.storage) {
    case Storage::kInput: return cat("input ", v.at);
    case Storage::kOutput: return cat("output ", v.at);
    case Storage::kConstant: return cat("constant ", v.at);
    case Storage::kWorkspace:
      return plan.dynamic ? cat("slot ", v.at, " (", show(v.type), ")")
                          : cat("workspace +", v.at, " (", v.bytes, " bytes)");
  }
  return {};
}

}  // namespace

Result<Plan> plan_memory(const Module& m, std::string_view function, Diagnostics& diagnostics,
                         Shapes shapes) {
  const Fn* fn = m.function(function);
  if (!fn) {
    diagnostics.error(Span::none(), "no-such-function", cat("the module has no function @", function))
        .note(cat("it has: ", join(m.functions(), ", ", [](const auto& f) { return f.first.text(); })));
    return kReported;
  }
  return Planner(m, diagnostics, shapes).run(*fn);
}

Dim workspace_formula(const Plan& plan) {
  if (!plan.dynamic) return Dim(static_cast<int64_t>(plan.workspace_bytes));
  const Dim alignment(static_cast<int64_t>(kLocationAlignment));
  Dim all(0);
  for (const std::vector<uint32_t>& slot : plan.slots) {
    Dim largest(0);
    for (uint32_t v : slot) {
      const TensorType& t = *plan.values[v].type;
      largest = max(largest, product(t.dims) * Dim(static_cast<int64_t>(t.dtype.bytes())));
    }
    if (largest.is_symbolic()) largest = Dim(kernel::simplify(largest.symbolic(), {}));
    all = all + ceil_div(largest, alignment) * alignment;
  }
  return all;
}

// An extent by itself, and not the formula, has bounds: a product of sums would be taken apart,
// which loses some.
std::optional<uint64_t> most_workspace_bytes(const Plan& plan, const kernel::Bounds& bounds) {
  if (!plan.dynamic) return plan.workspace_bytes;
  constexpr uint64_t kMost = SIZE_MAX / 4;
  uint64_t all = 0;
  for (const std::vector<uint32_t>& slot : plan.slots) {
    uint64_t largest = 0;
    for (uint32_t v : slot) {
      const TensorType& t = *plan.values[v].type;
      uint64_t bytes = t.dtype.bytes();
      for (Dim d : t.dims) {
        const std::optional<int64_t> most = d.is_const() ? d.value() : bounds.of(d.symbolic()).high;
        if (!most ||
            __builtin_mul_overflow(bytes, static_cast<uint64_t>(std::max<int64_t>(*most, 0)), &bytes))
          return std::nullopt;
      }
      largest = std::max(largest, bytes);
    }
    if (largest > kMost || (all += aligned(largest)) > kMost) return std::nullopt;
  }
  return all;
}

std::string show(const Plan& plan) {
  std::string out;
  const auto values = [&](const std::vector<uint32_t>& list) {
    return join(list, ", ", [&](uint32_t v) { return show_value(plan, v); });
  };
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& s = plan.steps[i];
    std::string line = cat(i, ": ", s.kernel ? s.kernel->name.text() : "copy", "(", values(s.inputs), ") -> ",
                           values(s.outputs));
    if (!s.temporaries.empty()) line += cat(" using ", values(s.temporaries));
    if (!s.extents.empty())
      line += cat(" where ", join(s.extents, ", ", [](kernel::Expr e) { return show(e); }));
    out += cat(harmless(line, ""), "\n");
  }
  if (!plan.in_place.empty())
    out += cat("in place: ",
               join(plan.in_place, ", ",
                    [](const InPlacePair& p) { return cat("output ", p.output, " of input ", p.input); }),
               "\n");
  if (plan.dynamic)
    return out + cat("slots: ", plan.slots.size(),
                     "\nworkspace: ", harmless(show(workspace_formula(plan)), ""), " bytes\n");
  return out + cat("workspace: ", plan.workspace_bytes, " bytes (", plan.workspace_bytes_without_sharing,
                   " without sharing)\n");
}

}  // namespace relay::passes
