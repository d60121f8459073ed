// Machine: the semantics of the language, executable.
//
// An abstract machine: expressions descend, values return to pending contexts that are held on a
// heap stack. So tail calls take constant space, programs may be as deep as memory allows, and the
// machine can stop anywhere.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include "base/failure.h"
#include "interp/limits.h"
#include "ir/analysis.h"
#include "ir/module.h"
#include "kernel/kernel.h"
#include "runtime/value.h"

namespace relay::interp {

struct Options : Limits {
  // Called with each value an expression evaluates to, in evaluation order: traces and
  // comparisons stand on it.
  std::function<void(Expr, const Value&)> observe = {};
  // For engines that stand on this machine: compute operators and kernels by other means than their
  // definitions. An operator call that gives nothing is evaluated by its definition.
  std::function<std::optional<Value>(const op::OpDef& def, std::span<const Value> args, const Attrs& attrs)>
      run_operator = {};
  std::function<std::vector<Tensor>(const kernel::Kernel& k, std::span<const Tensor> inputs)> run_kernel = {};
};

// Runs parts of one module. Throws Trap and Exhausted. The module must be well
// formed and well typed.
class Machine {
 public:
  explicit Machine(Module module, Options options = {})
      : module_(std::move(module)), options_(std::move(options)), watch_(options_) {}

  // Calls a global function (or kernel).
  Value call(std::string_view name, std::vector<Value> args);
  // Evaluates an expression without free variables.
  Value evaluate(Expr e);

  uint64_t steps() const { return watch_.steps(); }

  // The variables and shared nodes of one activation of a function; keys are their nodes.
  // `extents` are the values of the shape variables that the function's parameters, and those
  // around it, bind.
  struct Frame {
    std::unordered_map<Expr, Value> values;
    const Scopes* scopes;
    std::unordered_map<const kernel::ExprNode*, int64_t> extents = {};
    const Fn* fn = nullptr;  // null if an expression is evaluated by itself
  };
  using Env = std::shared_ptr<Frame>;

  // --- one step at a time, to look at the machine in between -------------------------------------
  // `call` is `start`, then `advance` while it is true.

  void start(std::string_view name, std::vector<Value> args);
  // The expression at hand descends, or the value at hand returns to what waits for it. False, and
  // nothing changes, if the value at hand is the result. After a failure only `start` goes on; the
  // pending contexts are still to be seen.
  bool advance();

  // What the next step is about. References are good until then.
  struct Now {
    Expr e = nullptr;              // descends; or takes the value that returns, null if that is the result
    const Env* env = nullptr;      // the activation of e
    const Value* value = nullptr;  // returns; null if e descends
    bool shared = false;           // e descends because its scope is entered
    bool last = false;             // value is the last operand of e, which now does what it does
  };
  Now now() const;

  // Pending contexts: 0 waits for the result of all others.
  struct Waiting {
    Expr e = nullptr;        // whose context it is; for shared nodes, the body of their scope
    Expr operand = nullptr;  // whose value it waits for
    const Env* env = nullptr;
    bool last = false;  // with it e has all of its operands
  };
  size_t depth() const { return stack_.size(); }
  Waiting waiting(size_t i) const;

 private:
  // e is about to be evaluated. `shared` says that its value is wanted for the frame: it is not
  // looked up there.
  struct Eval {
    Expr e;
    Env env;
    bool shared = false;
  };
  using State = std::variant<Eval, Value>;

  // Pending contexts: what happens with the value that comes back.
  struct ScopeK {
    uint32_t scope;
    size_t index;
    Env env;
  };  // then the next shared node, then the body
  struct TupleK {
    const Tuple* n;
    Env env;
    std::vector<Value> done;
  };
  struct ProjK {
    const Proj* n;
    Env env;
  };
  struct CallK {
    const Call* n;
    Env env;
    std::vector<Value> done;
  };  // the callee comes first
  struct LetK {
    const Let* n;
    Env env;
  };
  struct IfK {
    const If* n;
    Env env;
  };
  struct MatchK {
    const Match* n;
    Env env;
  };
  struct RefNewK {
    const RefNew* n;
    Env env;
  };
  struct RefReadK {
    const RefRead* n;
    Env env;
  };
  struct RefWriteK {
    const RefWrite* n;
    Env env;
    Value cell;
  };  // the cell comes first
  struct ObserveK {
    Expr e;
    Env env;
  };
  using Context =
      std::variant<ScopeK, TupleK, ProjK, CallK, LetK, IfK, MatchK, RefNewK, RefReadK, RefWriteK, ObserveK>;

  void begin();
  Value run();
  bool advance(const BoundMemory&);  // a whole run installs its bound once
  std::string where() const;         // ", in @f at net.relay:3:7": what was evaluated last
  State enter(Expr body, Env env);   // a scope: its shared nodes first
  State share(uint32_t scope, size_t index, Env env);
  State step(Eval now);
  State resume(ScopeK k, Value v);
  State resume(TupleK k, Value v);
  State resume(ProjK k, Value v);
  State resume(CallK k, Value v);
  State resume(LetK k, Value v);
  State resume(IfK k, Value v);
  State resume(MatchK k, Value v);
  State resume(RefNewK k, Value v);
  State resume(RefReadK k, Value v);
  State resume(RefWriteK k, Value v);
  State resume(ObserveK k, Value v);
  State apply(const Value& callee, std::vector<Value> args, Span span, Attrs attrs);
  Attrs attrs_at(const Call& site, const Value& callee, const Frame& frame);
  State apply_global(std::string_view name, std::vector<Value> args, Span span);
  State apply_function(const Fn& fn, const Value* closure, std::vector<Value> args, Span span);

  // What it relies on is required, so that it traps where compiled kernels do.
  const kernel::Kernel& checked_kernel(const kernel::Kernel& k);

  Value closure_of(const Fn& fn, const Frame& frame);
  const Scopes& scopes_of(Expr root);
  void push(Context k);

  Module module_;
  Options options_;
  State state_ = Value();
  std::deque<Context> stack_;  // grows without a copy of what is there
  Watch watch_;
  struct {
    Span span = {};
    const Fn* fn = nullptr;
  } at_;  // the last expression that descended, and its function
  std::unordered_map<Expr, std::unique_ptr<Scopes>> scopes_;  // of functions of the module
  // Functions inside of them stand in the same tree: one of its own for each would be quadratic
  // where they nest.
  std::unordered_map<const Fn*, const Scopes*> scopes_around_;
  std::unordered_map<const Fn*, std::vector<Expr>> captures_;  // of the same functions
  std::unordered_map<const Fn*, std::vector<const kernel::ExprNode*>> captured_extents_;
  std::unordered_map<const kernel::Kernel*, kernel::Kernel> checked_kernels_;
  std::unordered_map<const Fn*, const Var*> self_;  // the name by which a let-bound function calls itself
};

// Traps unless the values fit the types: dtypes, ranks and extents of tensors. Shape variables are
// bound in `variables`: where they are met alone first, or by a dim like `2*n + 1` if they stand
// alone nowhere. What is met again must agree.
void check_shapes(std::span<const Value> values, std::span<const Type> types,
                  std::unordered_map<const kernel::ExprNode*, int64_t>& variables, Span span);

// A text for people: "(Tensor[(2), float32] [1, 2], Cons(1, Nil))". Iterative; cut after
// `most` characters.
std::string show(const Value& v, size_t most = 2000);

}  // namespace relay::interp
