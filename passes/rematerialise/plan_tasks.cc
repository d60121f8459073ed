#include "passes/rematerialise/plan_tasks.h"

#include <algorithm>
#include <set>

#include "analysis/static_dataflow.h"
#include "base/check.h"
#include "ir/builder.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "kernel/count.h"
#include "passes/lets.h"
#include "passes/locations.h"
#include "passes/plan_order.h"

namespace relay::passes::rematerialise {
namespace {

// No value is a kernel's: what the plan takes from the caller, constants too.
constexpr uint32_t kGiven = UINT32_MAX;
// A byte that is touched counts as so many operations; a kernel that is not counted touches its
// operands often.
constexpr double kOperationsOfByte = 1, kUncounted = 16;

uint64_t aligned(uint64_t bytes) {
  return (bytes + kLocationAlignment - 1) / kLocationAlignment * kLocationAlignment;
}

double cost_of(const kernel::Kernel& k, double operand_bytes) {
  const std::optional<kernel::Count> count = kernel::count(k);
  return count ? count->flops + kOperationsOfByte * count->total_bytes() : kUncounted * operand_bytes;
}

}  // namespace

PlanTasks::PlanTasks(const Module& m, const Fn* fn, const Plan& plan) : module_(m), fn_(fn) {
  for (const PlanStep& step : plan.steps) {
    if (step.kernel) task_of_[step.origin] = static_cast<uint32_t>(task_of_.size());
  }
  read_body(plan);
}

// In the order of the plan.
void PlanTasks::read_body(const Plan& plan) {
  const std::vector<Expr> order = plan_order(module_, fn_->body);
  for (Expr e : order) {
    if (const auto* let = e->as<Let>()) bound_[let->x] = let->value;
  }
  struct Facts {
    double cost;
    bool may_trap;
  };
  std::unordered_map<const kernel::Kernel*, Facts> facts;
  size_t next = 0;
  for (Expr e : order) {
    if (!task_of_.contains(e)) {
      parts_[e] = parts_of(e);
      continue;
    }
    const PlanStep& step = plan.steps[next++];
    CHECK(step.origin == e, "the steps of a plan are in the order of the calls");
    add_task(plan, step);
    double operands = 0;
    for (const auto* list : {&step.inputs, &step.outputs}) {
      for (uint32_t v : *list) operands += static_cast<double>(plan.values[v].bytes);
    }
    auto known = facts.find(step.kernel);
    if (known == facts.end()) {
      const Facts own{cost_of(*step.kernel, operands), may_trap(*step.kernel)};
      known = facts.emplace(step.kernel, own).first;
    }
    tasks_.all.back().cost = known->second.cost;
    tasks_.all.back().may_trap = known->second.may_trap;
  }
}

void PlanTasks::add_task(const Plan& plan, const PlanStep& step) {
  const auto* call = step.origin->as<Call>();
  Task task;
  std::set<uint32_t> reads;
  for (Expr arg : call->args) {
    for (uint32_t v : parts_.at(arg)) {
      if (v != kGiven) reads.insert(v);
    }
  }
  task.reads.assign(reads.begin(), reads.end());
  for (uint32_t v : step.outputs) {
    const PlanValue& value = plan.values[v];
    task.writes.push_back(static_cast<uint32_t>(tasks_.bytes.size()));
    tasks_.bytes.push_back(value.storage == Storage::kWorkspace ? aligned(std::max<uint64_t>(value.bytes, 1))
                                                                : 0);
    dtypes_.push_back(value.type->dtype);
    bytes_.push_back(value.bytes);
  }
  add_replacements(step, task);
  for (uint32_t v : step.temporaries)
    task.temporaries += aligned(std::max<uint64_t>(plan.values[v].bytes, 1));
  parts_[call] = task.writes;
  tasks_.all.push_back(std::move(task));
  calls_.push_back(call);
}

// As the planner does it, which knows what nobody reads any more.
void PlanTasks::add_replacements(const PlanStep& step, Task& task) {
  Parts inputs;
  for (Expr arg : step.origin->as<Call>()->args) {
    const Parts& parts = parts_.at(arg);
    inputs.insert(inputs.end(), parts.begin(), parts.end());
  }
  for (size_t o = 0; o < task.writes.size(); ++o) {
    const uint32_t written = task.writes[o];
    if (tasks_.bytes[written] == 0) continue;
    for (uint32_t read : inputs) {
      if (read == kGiven || tasks_.bytes[read] == 0 || bytes_[read] != bytes_[written] ||
          dtypes_[read] != dtypes_[written])
        continue;
      if (replacements_.allow(*step.kernel, inputs, read, o)) task.replaces.push_back({written, read});
    }
  }
}

PlanTasks::Parts PlanTasks::parts_of(Expr e) const {
  if (const auto* let = e->as<Let>()) return parts_.at(let->body);
  if (const auto* tuple = e->as<Tuple>()) {
    Parts all;
    for (Expr field : tuple->fields) {
      const Parts& part = parts_.at(field);
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }
  if (const auto* proj = e->as<Proj>()) return analysis::part_of_field(*proj, parts_.at(proj->tuple));
  if (const auto* call = e->as<Call>()) return parts_.at(call->args[0]);  // a view
  if (const auto found = bound_.find(e); found != bound_.end()) return parts_.at(found->second);
  return {kGiven};
}

// The expression that the value of `e` is, or whose field it is: lets, their variables and fields
// of tuples that are written out are looked through, so that no other field is asked for. `path`
// becomes the fields that are left, the outermost last.
Expr PlanTasks::source_of(Expr e, std::vector<uint32_t>& path) const {
  for (;;) {
    const auto bound = bound_.find(e);
    const auto* let = e->as<Let>();
    const auto* proj = e->as<Proj>();
    const auto* tuple = e->as<Tuple>();
    if (bound != bound_.end()) {
      e = bound->second;
    } else if (let) {
      e = let->body;
    } else if (proj) {
      path.push_back(proj->index);
      e = proj->tuple;
    } else if (tuple && !path.empty()) {
      e = tuple->fields[path.back()];
      path.pop_back();
    } else {
      return e;
    }
  }
}

// Makes the function anew, task by task.
class PlanTasks::Rebuilding {
 public:
  Rebuilding(const PlanTasks& program, Builder& b) : program_(program), b_(b), lets_(b, "v") {}

  void run(uint32_t task) {
    const Call* call = program_.calls_[task];
    const SpanScope at(b_, call->span);
    std::vector<Expr> args;
    for (Expr arg : call->args) args.push_back(now(arg));
    const auto [value, is_new] = values_.try_emplace(call);
    if (!is_new) views_.clear();  // some of them show the old value
    value->second = lets_.name(b_.call(call->callee, args, call->attrs, call->type));
  }

  Expr around(Expr body) { return lets_.around(now(body)); }

 private:
  Expr known(Expr e) const {
    if (const auto it = values_.find(e); it != values_.end()) return it->second;
    const auto it = views_.find(e);
    return it == views_.end() ? nullptr : it->second;
  }

  // The expression over the values as they are now.
  Expr now(Expr root) {
    std::vector<Expr> pending{root};
    while (!pending.empty()) {
      const Expr e = pending.back();
      if (known(e)) {
        pending.pop_back();
        continue;
      }
      CHECK(!program_.task_of_.contains(e), "a task runs after what it reads");
      std::vector<uint32_t> path;
      const Expr source = program_.source_of(e, path);
      const size_t before = pending.size();
      const auto ask = [&](Expr part) {
        if (!known(part)) pending.push_back(part);
      };
      if (source == e) {
        for_each_child(e, ask);
      } else {
        ask(source);
      }
      if (pending.size() > before) continue;
      pending.pop_back();
      views_[e] = source == e ? with_known_children(e) : field(known(source), path);
    }
    return known(root);
  }

  Expr with_known_children(Expr e) {
    std::vector<Expr> children;
    for_each_child(e, [&](Expr child) { children.push_back(known(child)); });
    return children.empty() ? e : with_children(b_.context(), e, children);
  }

  Expr field(Expr of, std::vector<uint32_t> path) {
    for (; !path.empty(); path.pop_back())
      of = b_.with_type(b_.proj(of, path.back()), of->type->as<TupleType>()->fields[path.back()]);
    return of;
  }

  const PlanTasks& program_;
  Builder& b_;
  Lets lets_;
  std::unordered_map<Expr, Expr> values_, views_;  // of tasks, and of all else
};

const Fn* PlanTasks::with_order(const Order& order) const {
  Builder b(module_.context());
  Rebuilding out(*this, b);
  for (uint32_t task : order) out.run(task);
  const SpanScope at(b, fn_->span);
  std::vector<Attr> attrs(fn_->attrs.begin(), fn_->attrs.end());
  if (!fn_->attrs.flag(kInPlace))
    attrs.push_back({module_.context().symbol(kInPlace), {.kind = AttrKind::kBool, .boolean = true}});
  return b.fn({fn_->params.begin(), fn_->params.end()}, out.around(fn_->body), fn_->result,
              module_.context().intern_attrs(std::move(attrs)));
}

}  // namespace relay::passes::rematerialise
