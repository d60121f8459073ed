// The partial evaluator: an interpreter of functions whose arguments are not known.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "analysis/user_kernels.h"
#include "ir/module.h"
#include "passes/call_memo.h"
#include "passes/partial_values.h"
#include "passes/residual.h"

namespace relay::passes {

struct PartialBudget {
  size_t calls;  // that one call may unfold to
  size_t nodes;  // entries that it may become
  size_t steps;  // after so many, calls stay
};

// Evaluates one function of the module. Steps are those of the interpreter (interp/machine.cc), in
// its order, with pending work on a stack of its own.
class PartialEvaluator {
 public:
  PartialEvaluator(const Module& m, PartialBudget budget);

  // What is left of the function; the function itself if nothing was known before it runs, or if
  // it has something that is not evaluated here.
  const Fn* run(const Fn* fn);
  size_t steps() const { return steps_; }

 private:
  struct Work {
    enum What : uint8_t {
      kEvaluate,  // e in the frame; its value is pushed
      kScope,     // what is shared in the scope, then its body
      kKeep,      // the value of the shared e
      kBind,      // the let's variable
      kForm,      // e, whose operands have values
      kDecide,    // the branch or arm of e
      kOpen,      // a branch or arm that may be taken
      kClose,
      kJoin,    // all branches are done
      kCoerce,  // the value is to have the type of e
      kReturn,  // from a call that was unfolded
    } what;
    Expr e = nullptr;
    Frame* frame = nullptr;
    uint32_t index = 0;         // of a scope, or of an arm
    const Var* name = nullptr;  // that the let around gives to the value
  };
  // Branches or arms of which the program takes one when it runs.
  struct Joining {
    Expr e;
    Partial value;  // the condition, or what is matched
    size_t store_mark = 0;
    std::vector<size_t> blocks = {};
    std::vector<Pattern> patterns = {};
    std::vector<size_t> changed = {};  // cells that one of them may write to
  };
  // A function that is being evaluated.
  struct Active {
    const Fn* fn;
    size_t depth;  // how many branches are open that may not be taken
    std::vector<Partial> args;
    std::optional<CallMemo::Key> key = {};  // nothing: its value is not kept
    size_t noticed = 0;                     // entries that could be noticed before
  };
  // A function with the types of a call.
  struct Template {
    const Fn* fn = nullptr;
    const Scopes* scopes = nullptr;
  };
  // A call that is being unfolded, of a function that was not active. It is left as it is if that
  // comes to no end, or to nothing but a turn of a loop.
  struct Attempt {
    Residual::Mark residual;
    size_t pending, values, joining, active, depth, store, decisions;
    const Fn* fn;
    const Call* call;
    Partial callee;
    std::vector<Partial> args;
    const Var* name;
    size_t calls = 0;   // that were unfolded in it
    bool left = false;  // a recursive call had to be left
    size_t taken;       // branches that had been taken before
  };
  // What a function in the residual program is made of.
  struct Closure {
    const Fn* fn;
    Frame* frame;
  };

  void run_to_end();
  void step(const Work& w);
  void evaluate(const Work& w);
  void scope(const Work& w);
  void bind(const Work& w);
  void form(const Work& w);
  void decide(const Work& w);
  void open(const Work& w);
  void close();
  void join(const Work& w);
  void make_body(size_t entry);

  void call(const Work& w, const Call& n, Partial callee, std::vector<Partial> args);
  bool unfold(const Work& w, const Call& n, Partial callee, const std::vector<Partial>& args);
  bool may_unfold(const Fn* fn, const std::vector<Partial>& args);
  bool has_type(const Call& n, const op::OpDef& op);
  bool may_hold_cells(Type type) const;
  void leave_call(const Call& n, Partial callee, const std::vector<Partial>& args, const Var* name);
  std::optional<Template> instance(const Call& n, Partial callee, const Fn& fn,
                                   const std::vector<Partial>& args);
  std::optional<CallMemo::Key> memo_key(const Call& n, Partial callee, const Fn* fn,
                                        const std::vector<Partial>& args) const;
  void end_call(const Call& n);
  void end_attempts();
  void give_up_attempt(size_t index);

  Partial leaf(Expr e);
  Partial function(const Fn& fn, Frame* frame, const Var* name);
  Partial coerce(Partial value, Type type);
  Partial unknown(Residual::Form form, Type type, const Var* name, Noticed noticed = Noticed::kNothing);
  std::optional<Expr> folded(const Call& n, const std::vector<Partial>& args);
  Expr verbatim(const Fn& fn, Frame* frame);
  void bind_pattern(Pattern pattern, Partial value, Frame* frame);
  Pattern fresh_pattern(Pattern pattern, Frame* frame);
  const Known* known(Known k);
  Frame* frame(const Scopes* scopes, Frame* around);
  std::vector<Partial> take(size_t n);
  Partial pop();

  const Module& module_;
  Context& context_;
  PartialBudget budget_;
  Residual out_;
  analysis::UserKernels kernels_;
  Store store_;
  CallMemo memo_;
  std::vector<Work> pending_;
  std::vector<Partial> values_;
  std::vector<Joining> joining_;
  std::vector<Active> active_;
  std::vector<Attempt> attempts_;  // each inside of the one before
  std::deque<Known> known_;
  std::deque<Frame> frames_;
  std::deque<Scopes> scopes_;
  std::map<size_t, Closure> closures_;  // of the entries that are functions
  std::map<std::pair<const Fn*, std::vector<Type>>, std::optional<Template>> templates_;
  std::map<const Fn*, std::vector<kernel::Expr>> shape_variables_;
  std::set<const Fn*> endless_;         // functions of which an attempt came to no end
  std::map<const Fn*, size_t> bodies_;  // how often each function was made for the residual program
  size_t depth_ = 0;
  size_t decisions_ = 0;
  size_t taken_ = 0;  // branches and arms that were known
  size_t steps_ = 0;
  bool unsupported_ = false;
};

}  // namespace relay::passes
