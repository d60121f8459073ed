// rematerialise: values are computed again where they are needed, in the place of being kept, so
// that the workspace of @main fits a limit.
//
// What a gradient keeps for its way back takes most of the memory of a training step. The pass
// takes the kernel calls of the memory plan as tasks with bytes and costs. It looks for an order in
// which some run twice (rematerialise/tasks.h): by dynamic programming over stages, and greedily.
// The cheaper order that fits is written down as lets, which the plan follows. The same kernels
// read the same values, so results are the same bits. @main gets the attribute `InPlace`: its plan
// lets a kernel replace what it is the last to read (in_place.h).
//
// Before: `lower` has made kernels of all operators, as the bytes and costs are theirs. Where @main
// is no static dataflow of constant shapes it stays, and `strict` makes an error of the reason.
// After: the workspace of @main's plan is at most the limit, or "limit-memory" is reported, with
// the least that was found. Traps happen in the same order.
#include <algorithm>
#include <numeric>

#include "base/cat.h"
#include "base/counted.h"
#include "ir/traverse.h"
#include "op/registry.h"
#include "passes/pass.h"
#include "passes/plan_memory.h"
#include "passes/rematerialise/plan_tasks.h"
#include "passes/rematerialise/tasks.h"

namespace relay::passes {
namespace {

using rematerialise::Order;
using rematerialise::Tasks;

constexpr int64_t kMostBytes = int64_t{1} << 40;
// How often the tasks are given less than the limit because locations have gaps between them, and
// the least part of it that they are given less.
constexpr int kMostAttempts = 6;
constexpr uint64_t kLeastStep = 32;
// What all greedy attempts together may look at, and the part of what is left that one of them may:
// an attempt that comes to nothing leaves the most for others. About a second on one core of 2020.
constexpr uint64_t kMostLooks = 20'000'000, kShareOfAttempt = 4;
// Halvings of the interval in which the least workspace is looked for.
constexpr int kSearchSteps = 7;

Order as_given(const Tasks& tasks) {
  Order out(tasks.all.size());
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

// The tasks in one order, and how many of them are the way there if it is a tape.
struct Base {
  Order order;
  Tasks tasks;
  size_t there = 0;
};

class Search {
 public:
  explicit Search(const Tasks& tasks) : tasks_(tasks) {
    bases_.push_back({as_given(tasks), tasks});
    Base tape{rematerialise::as_tape(tasks), {}};
    std::vector<bool> is_there;
    rematerialise::way_there(tasks, is_there);
    while (tape.there < tape.order.size() && is_there[tape.order[tape.there]]) ++tape.there;
    tape.tasks = rematerialise::in_order(tasks, tape.order);
    bases_.push_back(std::move(tape));
  }

  // The cheapest order that was found within the limit; empty if none was.
  Order within(uint64_t limit) {
    Order best;
    double least = 0;
    const auto offer = [&](const Base& base, const std::optional<Order>& found) {
      if (!found) return;
      const double cost = rematerialise::extra_cost(base.tasks, *found);
      if (!best.empty() && cost >= least) return;
      least = cost;
      best.clear();
      for (uint32_t i : *found) best.push_back(base.order[i]);
    };
    for (const Base& base : bases_) {
      const Order once = as_given(base.tasks);
      if (rematerialise::peak(base.tasks, once) <= limit) {
        offer(base, once);
        continue;
      }
      if (base.there > 0) offer(base, rematerialise::recompute_stages(base.tasks, base.there, limit));
      offer(base, greedily(base.tasks, limit));
    }
    return best;
  }

  // Was an attempt given up because it had looked at enough?
  bool gave_up() const { return gave_up_; }

  // What the order with the least memory takes, as far as halving finds it.
  Order least() {
    uint64_t high = UINT64_MAX, low = 0;
    for (const Base& base : bases_)
      high = std::min(high, rematerialise::peak(base.tasks, as_given(base.tasks)));
    Order best = within(high);
    for (int i = 0; i < kSearchSteps; ++i) {
      const uint64_t middle = low + (high - low) / 2;
      Order found = within(middle);
      (found.empty() ? low : high) = middle;
      if (!found.empty()) best = std::move(found);
    }
    return best;
  }

 private:
  std::optional<Order> greedily(const Tasks& tasks, uint64_t limit) {
    const uint64_t share = looks_ / kShareOfAttempt;
    uint64_t left = share;
    std::optional<Order> out = rematerialise::recompute_greedily(tasks, limit, left);
    gave_up_ = gave_up_ || (!out && left == 0);
    looks_ -= share - left;
    return out;
  }

  const Tasks& tasks_;
  std::vector<Base> bases_;
  uint64_t looks_ = kMostLooks;
  bool gave_up_ = false;
};

Module with_order(const Module& m, const rematerialise::PlanTasks& program, const Order& order) {
  Module out = m;
  out.set_function("main", program.with_order(order));
  return out;
}

// The workspace of the plan that has this order. The module lacks types until it is checked, so the
// calls' own are taken.
uint64_t planned_bytes(const Module& m) {
  Diagnostics none;
  const Result<Plan> plan = plan_memory(m, "main", none);
  return plan ? plan->workspace_bytes : UINT64_MAX;
}

// Does @main call an operator that is to become a kernel?
bool has_operators(const Fn& main) {
  const std::vector<Expr> all = post_order(main.body);
  return std::any_of(all.begin(), all.end(), [](Expr e) {
    const op::OpDef* def = op::callee(e);
    return def && !def->view;
  });
}

Module give_back(const Module& m, const PassContext& context, const std::string& reason) {
  context.stays(reason);
  if (context.value("strict") == 0) return m;
  context.diagnostics
      .error(Span::none(), "limit-memory", cat("the workspace of @main cannot be held to a limit: ", reason))
      .note(
          has_operators(*m.function("main"))
              ? "operators have no workspace before `lower` makes kernels of them: the passes of a level, as "
                "-O2, do"
              : "a limit is for straight programs of constant shapes: --input-shapes fixes shapes, and "
                "`partial-evaluation` unrolls recursion of known length");
  return m;
}

Module run(const Module& m, const PassContext& context) {
  const Fn* main = m.function("main");
  if (!main) return m;
  Diagnostics refused;
  const Result<Plan> plan = plan_memory(m, "main", refused);
  if (!plan) return give_back(m, context, refused.all().front().message());
  const auto limit = static_cast<uint64_t>(context.value("limit"));
  if (plan->workspace_bytes <= limit) return m;
  const rematerialise::PlanTasks program(m, main, *plan);
  Search search(program.tasks());
  uint64_t least = plan->workspace_bytes, target = limit;
  for (int i = 0; i < kMostAttempts; ++i) {
    const Order order = search.within(target);
    if (order.empty()) break;
    const Module out = with_order(m, program, order);
    const uint64_t planned = planned_bytes(out);
    if (planned <= limit) return out;
    least = std::min(least, planned);
    const uint64_t less = std::max(planned - limit, target / kLeastStep);
    if (less >= target) break;
    target -= less;
  }
  const Order order = search.least();
  if (!order.empty()) least = std::min(least, planned_bytes(with_order(m, program, order)));
  if (least <= limit) return with_order(m, program, order);
  Diagnostic& d = context.diagnostics.error(
      Span::none(), "limit-memory",
      cat("the plan of @main takes ", counted(least, "byte"),
          " of workspace at the least that was found, and the limit is ", counted(limit, "byte")));
  d.note(cat("without recomputation it takes ", counted(plan->workspace_bytes, "byte")));
  if (search.gave_up())
    d.note("the program has many kernels, and the search was given up before it had tried all orders");
  return m;
}

}  // namespace

const Pass kRematerialise = {
    .name = "rematerialise",
    .doc = "compute values again in the place of keeping them, so that the workspace fits a limit",
    .parameters = {{"limit", kMostBytes, "the most bytes of workspace", 0, kMostBytes},
                   {"strict", 0, "1: a program whose workspace is not known before it runs is an error", 0,
                    1}},
    .run = run,
};

}  // namespace relay::passes
