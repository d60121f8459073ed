// dead-code: what nobody uses and nobody can notice: values of lets, writes to cells that nobody
// reads, and functions that @main does not reach.
//
//   let %c = ref(%x);
//   let %w = ref_write(%c, exp(%x));       becomes   %x
//   let %n = @length(%list);
//   %x
//
// A let goes if nothing uses its variable, and nothing in its value can be noticed. A read of a
// cell cannot. A call of a function of the module cannot if the function always gives a value
// (analysis/left_out.h): it recurs on parts of its argument at most, as @length does. What may trap
// stays, as do calls that compare extents. So does what may run without an end, and a call of a
// function that is not known.
//
// A write stays unless its cell is bound by a let and is no shared expression, and all uses of the
// variable that are left are writes to it. Of a write that goes, the value stays if it can be
// noticed. Earlier writes to a cell that somebody reads stay.
//
// Before: nothing is asked for. After: @main reaches each function. Each let that is left is used
// or can be noticed, and so is each cell.
#include <utility>
#include <vector>

#include "analysis/effects.h"
#include "analysis/left_out.h"
#include "ir/reachable.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "passes/each_function.h"
#include "passes/let_insertion.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

// Finds what is live in a function, from its result on. Linear: each expression becomes live once,
// and can be noticed from one moment on.
class Sweep {
 public:
  Sweep(const Module& m, analysis::LeftOut& left_out, Expr root)
      : context_(m.context()),
        b_(m.context()),
        left_out_(left_out),
        effects_(m, root),
        root_(root),
        order_(post_order(root)) {
    for (Expr e : order_) {
      const auto* let = e->as<Let>();
      if (let) binding_[let->x] = let;
      for_each_child(e, [&](Expr child) { users_[child].push_back(e); });
    }
  }

  Expr run() {
    make_live(root_);
    while (!pending_.empty() || !values_.empty()) {
      if (pending_.empty()) {  // so far nobody uses the value
        const Expr value = values_.back();
        values_.pop_back();
        if (!live_.get(value) && is_noticed(value)) make_live(value);
        continue;
      }
      const Expr e = pending_.back();
      pending_.pop_back();
      visit(e);
    }
    return without_dead();
  }

 private:
  enum class Noticed : uint8_t { kNotAsked, kNo, kYes };

  // Can it be noticed if it is left out, as long as cells that nobody uses are not written? Only of
  // what nobody uses: whether a kernel may trap can take long to prove. Parts first, iteratively.
  bool is_noticed(Expr root) {
    std::vector<Expr> open{root};
    while (!open.empty()) {
      const Expr e = open.back();
      const size_t before = open.size();
      if (noticed_.get(e) == Noticed::kNotAsked) {
        for_each_part(e, [&](Expr part) {
          if (noticed_.get(part) == Noticed::kNotAsked) open.push_back(part);
        });
        if (open.size() == before) noticed_[e] = decide(e) ? Noticed::kYes : Noticed::kNo;
      }
      if (open.size() == before) open.pop_back();
    }
    return noticed_.get(root) == Noticed::kYes;
  }

  // What is evaluated with it. Making a closure evaluates nothing; of a function expression that is
  // called where it stands, the body is.
  template <class F>
  static void for_each_part(Expr e, F&& visit) {
    if (e->as<Fn>()) return;
    for_each_child(e, visit);
    const auto* call = e->as<Call>();
    if (const auto* fn = call ? call->callee->as<Fn>() : nullptr) visit(fn->body);
  }

  bool decide(Expr e) {
    if (e->as<Fn>()) return !effects_.silent(e);
    bool any = false;
    for_each_part(e, [&](Expr part) { any |= noticed_.get(part) == Noticed::kYes; });
    return any || (cell_written(e) == nullptr && left_out_.is_noticed(e));
  }

  // The variable of a cell that a let makes and this expression writes; null otherwise, and if the
  // cell is shared, as others may read it by another name.
  const Var* cell_written(Expr e) const {
    const auto* write = e->as<RefWrite>();
    const auto* x = write ? write->ref->as<Var>() : nullptr;
    const Let* let = x ? binding_.get(x) : nullptr;
    return let && let->value->as<RefNew>() && users_.get(let->value).size() == 1 ? x : nullptr;
  }

  void make_live(Expr e) {
    if (!std::exchange(live_[e], true)) pending_.push_back(e);
  }

  void visit(Expr e) {
    const auto* let = e->as<Let>();
    const Var* cell = cell_written(e);
    if (let) {
      values_.push_back(let->value);
      make_live(let->body);
    } else if (cell && !live_.get(cell)) {
      writes_[cell].push_back(e);
      values_.push_back(e->as<RefWrite>()->value);
    } else {
      for_each_child(e, [&](Expr child) { make_live(child); });
      if (e->as<Var>()) use(e);
    }
  }

  // Of a variable that is used: the value of its let is, and writes to it are noticed from now on.
  void use(Expr x) {
    const Let* let = binding_.get(x);
    if (!let) return;
    make_live(let->value);
    for (Expr write : users_[x]) {
      if (cell_written(write) == x) notice(write);
    }
    for (Expr write : writes_[x]) make_live(write->as<RefWrite>()->value);
  }

  // And so is all that the expression is a part of.
  void notice(Expr root) {
    std::vector<Expr> pending{root};
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      if (std::exchange(noticed_[e], Noticed::kYes) == Noticed::kYes) continue;
      for (Expr user : users_[e]) {
        const auto* let = user->as<Let>();
        const auto* write = user->as<RefWrite>();
        const bool is_value = (let && let->value == e) || (write && write->value == e);
        if (is_value && live_.get(user)) make_live(e);
        if (const auto* fn = user->as<Fn>()) {  // its body: whoever calls it where it stands
          for (Expr call : users_[fn]) {
            if (call->as<Call>() && call->as<Call>()->callee == fn) pending.push_back(call);
          }
        } else {
          pending.push_back(user);
        }
      }
    }
  }

  bool is_dead(const Let& let) { return live_.get(&let) && !live_.get(let.x) && !is_noticed(let.value); }

  Expr without_dead() {
    NodeMap<Expr> now;
    for (Expr e : order_) {
      const auto* let = e->as<Let>();
      const Var* cell = cell_written(e);
      if (let && is_dead(*let)) {
        now[e] = now.get(let->body);
      } else if (cell && live_.get(e) && !live_.get(cell)) {
        now[e] = without_write(*e->as<RefWrite>(), now.get(e->as<RefWrite>()->value));
      } else {
        std::vector<Expr> children;
        for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
        now[e] = with_children(context_, e, children);
      }
    }
    return now.get(root_);
  }

  Expr without_write(const RefWrite& write, Expr value) {
    const SpanScope at(b_, write.span);
    const Expr nothing = b_.with_type(b_.tuple({}), write.type);
    if (!is_noticed(write.value)) return nothing;
    const Var* unused = b_.with_type(b_.var("_"), value->type)->as<Var>();
    return b_.with_type(b_.let(unused, value, nothing), write.type);
  }

  Context& context_;
  relay::Builder b_;
  analysis::LeftOut& left_out_;
  analysis::Effects effects_;
  const Expr root_;
  const std::vector<Expr> order_;
  NodeMap<const Let*> binding_;
  NodeMap<std::vector<Expr>> users_;
  NodeMap<std::vector<Expr>> writes_;  // live ones, to cells that are not live yet
  NodeMap<Noticed> noticed_;
  NodeMap<bool> live_;
  std::vector<Expr> pending_;  // live, and not visited
  std::vector<Expr> values_;   // that live lets and writes evaluate, used or not
};

Module sweep(const Module& m) {
  analysis::LeftOut left_out(m);
  return with_each_function(m, [&](const Fn* fn) { return Sweep(m, left_out, fn).run(); });
}

Module run(const Module& m, const PassContext&) {
  // Without a let, its body is no scope of its own.
  const Module out = with_inserted_lets(m, [](const Module& now, analysis::TrapOrder) { return sweep(now); });
  return out.function("main") ? only_reachable_from(out, "main") : out;
}

}  // namespace

const Pass kDeadCode = {
    .name = "dead-code",
    .doc = "remove lets nobody uses, cells nobody reads, and functions @main does not reach",
    .run = run,
};

}  // namespace relay::passes
