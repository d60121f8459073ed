#include "passes/gradient/straight.h"

#include <deque>
#include <set>
#include <span>

#include "base/cat.h"
#include "op/registry.h"
#include "passes/gradient/adjoints.h"
#include "passes/gradient/checkpoints.h"
#include "passes/gradient/kernels.h"
#include "passes/gradient/tape.h"

namespace relay::passes::gradient {
namespace {

class Straight {
 public:
  explicit Straight(const Program& program) : program_(program), b_(program.module().context()) {}

  Module run() {
    Module out = program_.module();
    for (size_t i = 0; i < program_.roots().size(); ++i) {
      const Wanted& wanted = program_.roots()[i];
      out.set_function(wanted.into, Function(*this, program_.reached()[i]).value_and_gradients(wanted));
    }
    for (; !wanted_.empty(); wanted_.pop_front()) {
      const Symbol name = wanted_.front();
      out.set_function(gradient_names_.at(name), Function(*this, name).gradients());
    }
    return out;
  }

 private:
  // Differentiates one function.
  class Function {
   public:
    Function(Straight& all, Symbol name)
        : all_(all),
          b_(all.b_),
          name_(name),
          fn_(all.program_.module().function(name.text())),
          recorder_(b_.context(), fn_) {}

    // fn (xs) { (f(xs), (adjoints of xs)) }, or what of it is wanted; the adjoint of
    // the result is 1.
    const Fn* value_and_gradients(const Wanted& wanted) {
      const SpanScope at(b_, fn_->span);
      Tape tape;
      const Expr y = recorder_.record_body(tape);
      const Expr gradients = reverse(tape, y, ones(b_, y), wanted);
      const Expr result = wanted.value ? b_.tuple({y, gradients}) : gradients;
      return b_.fn(recorder_.params(), around(b_, tape, result), nullptr, fn_->attrs);
    }

    // fn (xs, dy) { (adjoints of xs) }
    const Fn* gradients() {
      const SpanScope at(b_, fn_->span);
      Tape tape;
      const Expr y = recorder_.record_body(tape);
      std::vector<const Var*> params = recorder_.params();
      params.push_back(b_.var("dy", fn_->type->as<FnType>()->result));
      const Expr gradients = reverse(tape, y, params.back(), {});
      return b_.fn(params, around(b_, tape, gradients), nullptr, is_checkpoint(fn_) ? Attrs() : fn_->attrs);
    }

   private:
    // Appends the way back to the tape. Gives the adjoints of the parameters that are wanted.
    Expr reverse(Tape& tape, Expr y, Expr dy, const Wanted& wanted) {
      std::vector<const Var*> params;
      for (size_t i = 0; i < recorder_.params().size(); ++i) {
        if (wanted.of(i)) params.push_back(recorder_.params()[i]);
      }
      for (const Var* p : params) {
        if (holds_floats(p->type)) active_.insert(p);
      }
      Adjoints adjoints(b_, active_);
      find_active(tape);
      adjoints.add(y, dy);
      reverse(tape, adjoints);
      std::vector<Expr> out;
      for (const Var* p : params) {
        const Expr adjoint = adjoints.take(p);
        out.push_back(adjoint ? adjoint : zeros(b_, p));
      }
      return b_.tuple(out);
    }

    void find_active(const Tape& tape) {
      for (const Step& step : tape) {
        for (size_t i = 0; i < step.xs.size(); ++i) {
          if (!holds_floats(step.xs[i]->type)) continue;
          for (const Var* v : free_vars(step.values[i])) {
            if (active_.contains(v)) active_.insert(step.xs[i]);
          }
        }
      }
    }

    void reverse(Tape& tape, Adjoints& adjoints) {
      for (size_t i = tape.size(); i-- > 0;) {
        const Step step = tape[i];  // a copy: the tape grows
        for (size_t k = 0; k < step.xs.size(); ++k) {
          const SpanScope at(b_, step.values[k]->span);
          const std::string name = cat("d_", step.xs[k]->name.text());
          const auto named = [&](Expr dy) { return is_leaf(dy) ? dy : append(b_, tape, name, dy); };
          if (step.form != Step::Form::kValue) {
            for (const Adjoints::Part& part : adjoints.take_parts(step.xs[k]))
              adjoints.add(step.values[k], part);
          } else if (step.origin) {
            std::vector<Adjoints::Part> parts = adjoints.take_parts(step.xs[k]);
            for (Adjoints::Part& part : parts) part.adjoint = named(part.adjoint);
            if (!parts.empty()) reverse_branches(tape, adjoints, step, parts);
          } else if (const Expr dy = adjoints.take(step.xs[k])) {
            reverse(tape, adjoints, step, named(dy));
          }
        }
      }
    }

    void reverse(Tape& tape, Adjoints& adjoints, const Step& step, Expr dy) {
      const auto& call = *step.values[0]->as<Call>();
      if (const auto* global = call.callee->as<Global>()) {
        if (!all_.program_.module().function(global->name.text())) {
          return refuse(call.span, cat("the kernel `@", global->name.text(), "`"),
                        why_no_gradient(all_.program_.module(), global->name));
        }
        std::vector<Expr> args(call.args.begin(), call.args.end()), types;
        args.push_back(dy);
        const Expr gradients =
            append(b_, tape, cat("d_", global->name.text()),
                   b_.call(b_.global(all_.gradient_of(global->name)), args, {}, type_of_all(call.args)));
        for (uint32_t i = 0; i < call.args.size(); ++i) adjoints.add(call.args[i], b_.proj(gradients, i));
        return;
      }
      const std::vector<Expr> args(call.args.begin(), call.args.end());
      const OperatorAdjoints found = adjoints_of(b_, call, args, step.xs[0], dy);
      if (!found.reason.empty())
        return refuse(call.span, cat("`", op::callee(call)->name, "`"), found.reason);
      for (size_t i = 0; i < args.size(); ++i) {
        if (found.of[i]) adjoints.add(args[i], found.of[i]);
      }
    }

    // Each branch gives the adjoints of all that both of them use.
    void reverse_branches(Tape& tape, Adjoints& adjoints, const Step& step,
                          std::span<const Adjoints::Part> parts) {
      Tape tapes[2];
      std::map<std::vector<uint32_t>, Adjoints::Place> places[2], all;
      for (const size_t k : {0, 1}) {
        const size_t known = recorder_.known();
        const Expr y = recorder_.record_branch(step.origin, k == 0, tapes[k]);
        Adjoints inside(b_, active_);
        find_active(tapes[k]);
        for (const Adjoints::Part& part : parts) inside.add(y, part);
        reverse(tapes[k], inside);
        recorder_.forget_since(known);
        places[k] = inside.places();
        all.insert(places[k].begin(), places[k].end());
      }
      if (all.empty()) return;
      Expr branches[2];
      for (const size_t k : {0, 1}) {
        std::vector<Expr> fields;
        for (const auto& [key, place] : all) {
          const auto found = places[k].find(key);
          fields.push_back(found == places[k].end() ? zeros(b_, place.primal) : found->second.adjoint);
        }
        branches[k] = around(b_, tapes[k], b_.tuple(fields));
      }
      const Expr cond = step.values[0]->as<If>()->cond;
      const Expr chosen = append(b_, tape, "d_if", b_.if_(cond, branches[0], branches[1]));
      uint32_t i = 0;
      for (const auto& [key, place] : all) {
        const Expr adjoint = b_.with_type(b_.proj(chosen, i++), place.primal->type);
        adjoints.add(place.primal, adjoint);
      }
    }

    Type type_of_all(const List<Expr>& es) {
      std::vector<Type> types;
      for (Expr e : es) types.push_back(e->type);
      return b_.context().tuple_type(types);
    }

    void refuse(Span at, std::string_view what, std::string_view reason) {
      all_.program_.refuse(name_, at, what, reason);
    }

    Straight& all_;
    Builder& b_;
    Symbol name_;
    const Fn* fn_;
    Recorder recorder_;
    std::unordered_set<const Var*> active_;
  };

  // The name of the function of adjoints, which is made later.
  std::string gradient_of(Symbol name) {
    if (std::string own = program_.own_gradient(name); !own.empty()) return own;
    const auto [it, is_new] = gradient_names_.try_emplace(name);
    if (is_new) {
      it->second = program_.new_name(name.text(), "_gradient");
      wanted_.push_back(name);
    }
    return it->second;
  }

  const Program& program_;
  Builder b_;
  std::map<Symbol, std::string, Module::ByName> gradient_names_;
  std::deque<Symbol> wanted_;
};

}  // namespace

Module differentiate_straight(const Program& program) { return Straight(program).run(); }

}  // namespace relay::passes::gradient
