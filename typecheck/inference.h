// Inference: the state of one run of the checker. Its members are in infer.cc (forms), calls.cc
// (calls, relations), globals.cc (order of functions), report.cc and undetermined.cc (messages),
// earlier_types.cc (types that nothing determines any more) and annotate.cc (the typed module).
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis.h"
#include "op/op_def.h"
#include "typecheck/check.h"
#include "typecheck/unify.h"

namespace relay::typecheck {

// Does the program say everything about the function's type?
bool fully_annotated(const Fn* fn);

// Why a type is expected: the slug of what contradicts it, and the place that asks for it.
struct Expectation {
  Slug slug = "type-mismatch";
  Span from = Span::none();
  std::string_view who = {};   // what stands at that place
  const Call* call = nullptr;  // of whose argument number `index` the type is
  size_t index = 0;
};

class Inference {
 public:
  Inference(const Module& m, Diagnostics& diagnostics);
  Result<Checked> run();
  // Reports mistakes of types in a module that is a part of a text with other mistakes, which are
  // reported already. The expression stands for what could not be read.
  void report_types(Expr unread);

 private:
  // ---- globals.cc ----
  struct GlobalState {
    Type type = nullptr;       // null until its group is begun
    bool in_progress = false;  // monomorphic: its body is being looked at
  };
  std::vector<std::vector<const Fn*>> groups();  // functions that call each other, callees first
  void group(const std::vector<const Fn*>& functions);
  Type kernel_type(const kernel::Kernel& k);
  void reserve_names(Type t);
  bool is_partial_ = false;  // globals may be missing
  void settle_type(Type t, Expr e, std::optional<size_t> param = {});
  void require_extents(const Call* call);
  void ask_again();   // all that can be asked now
  void finish_all();  // relations that can still be asked, then whatever stays unknown

  // ---- infer.cc: one rule a form ----
  enum class Do : uint8_t { kVisit, kFinish, kScope, kBind, kPatterns };
  struct Step {
    Do what;
    Expr e;
    uint32_t scope = 0;
  };
  void body(const Fn* fn);  // all of a global function
  void visit(Expr e);
  void finish(Expr e);
  void open_scope(uint32_t scope);
  void prepare(const Fn* fn, bool generalises);
  bool has_level(const Fn* fn);
  void finish_fn(const Fn* fn);
  Type fn_type(const Fn* fn);
  std::vector<Type> relations(const Fn* fn);
  void let_value(const Let* let);
  void bind_let(const Let* let);
  void patterns(const Match* m);
  bool pattern(Pattern root, Type type, const Match* m);
  Type ctor_type(const Constructor& ctor);
  Type proj(const Proj* n);
  Type branches(const If* n);
  Type arms(const Match* n);
  Type ref_read(const RefRead* n);
  Type ref_write(const RefWrite* n);
  Type global(const Global* n);
  void set(Expr e, Type t) { types_[e] = t; }
  Type use(Expr e);
  Type use_as_callee(Expr e, std::vector<Type>& type_args);
  Type scheme(Expr e);
  bool is_in_progress(Expr e);
  Type annotation(Type written, Expr origin);
  bool is_fixed(kernel::Expr v) const { return fixed_.contains(v.get()); }
  void bind_dims(const Fn* fn);
  void release_dims(const Fn* fn);
  void dims_are_bound(Type t, Span span);
  bool dims_are_bound(const Attrs& attrs, Span span);
  bool is_bound(Dim d, Span span);  // reports it if not

  // ---- calls.cc ----
  struct Givens {  // the relations that a function's type parameters are in
    const Givens* outer;
    std::vector<Type> where;
    bool is_complete;  // false if one of them makes no sense, which is reported
  };
  struct Task {           // something that waits for types
    Expr e;               // the call, projection, or operator used as a value
    const op::OpDef* op;  // null for a projection
    std::vector<Type> args;
    Type result;
    const Givens* givens = nullptr;  // what may be taken for granted
    const RelationType* relation =
        nullptr;  // what a generic function asks for that e uses; null for a call of op
    bool done = false;
    Symbol function = {};  // in which it is
    Attrs attrs() const;
  };
  Type call(const Call* n);
  Type operator_call(const Call* n, const op::OpDef& op);
  Type operator_value(const OpRef* n);
  bool attributes(const Call* n, const op::OpDef& op);
  Type start(Task task);
  bool attempt(Task& task, bool last_chance);
  bool attempt_projection(Task& task);
  void ask(Task& task);
  Type given(const Task& task);
  void owe(Expr user);
  void wake();
  bool note_checks(Expr at);  // were there any?
  // The same where nobody else compares: what `parent` has as its child `at` becomes an argument of
  // a function whose parameter has the expected type, and is compared when that is called.
  void check_at_run_time(Expr at, Expr parent, Type expected, std::string_view name);
  void leave_level();

  // ---- report.cc ----
  Diagnostic& error(Span span, Slug slug, std::string message);
  Span place(Expr e, Expr user);
  std::string text(Type t);
  std::string name_of(Expr callee);
  void mismatch(Span span, std::string what, Type expected, Type actual, const Mismatch& wrong,
                const Expectation& why = {});
  void report(Span span, std::string what, Type expected, Type actual, const Mismatch& wrong,
              const Expectation& why);
  void label_call(Diagnostic& d, const Expectation& why);
  Span definition_of(Expr callee);              // where what is called is defined, if that is known
  Span use_of(const Call* call, size_t index);  // where an argument stands, also if it is bound elsewhere
  // Unifies; reports and returns false if that fails.
  bool agree(Span span, std::string_view what, Type expected, Type actual);
  bool agree(Span span, std::string_view what, Type expected, Type actual, const Expectation& why);
  bool settled(Expr at);
  void relation_error(const Task& task, const op::RelationError& wrong);
  void missing_relation(const Task& task);

  // ---- undetermined.cc ----
  void ambiguous(Span at, std::string message, std::string_view remedy);
  void undetermined(Type unknown, Type t, Expr e, std::optional<size_t> param);
  void undetermined(const Task& task, size_t arg);

  // ---- earlier_types.cc ----
  struct Earlier {  // a call of something generic, or a function that does not say what it takes
    Symbol function;
    Expr e;
  };
  bool holes_of(Type now, Type before, std::vector<std::pair<Type, Type>>& found);
  bool keep(Type now, Type before, const std::function<bool(Type hole)>& is_open,
            const std::function<bool(Type)>& is_bound);
  void keep_types();  // of all that is waiting
  // A function that was of one type does not become generic.
  void keep_function_type(const Fn* fn);
  Expr with_written_type(Expr call);
  Expr with_written_result(const Fn* fn);

  // ---- annotate.cc ----
  Checked annotate();
  Expr compared(Expr parent, Expr child, Expr e);

  Module module_;
  Context& context_;
  Diagnostics& diagnostics_;
  const size_t errors_before_;
  Unifier unifier_;
  std::unordered_set<Type> reserved_;
  std::unordered_set<Type> bad_;  // types that do not make sense, reported by the kind check

  Symbol function_;                      // whose body is being looked at
  std::unordered_set<Symbol> mistaken_;  // functions with a mistake besides types that are ambiguous
  std::map<Symbol, GlobalState> globals_;
  std::unordered_map<const Fn*, Symbol> names_;
  NodeMap<Type> types_;
  NodeMap<std::vector<Type>> type_args_;
  NodeMap<Type> results_;      // of functions that are prepared
  NodeMap<bool> generalises_;  // of functions that are prepared: bound by a let or the module
  NodeMap<bool> in_progress_;  // of variables: a recursive function of which the body is being looked at
  NodeMap<const Fn*> let_fn_;  // of variables: the function that a let gives them
  std::unordered_map<const Constructor*, Type> ctor_types_;
  std::unordered_map<const kernel::ExprNode*, const Fn*>
      fixed_;  // shape variables bound by the functions around
  std::unordered_map<const Fn*, std::vector<kernel::Expr>> own_dims_;

  const Scopes* scopes_ = nullptr;
  std::vector<Step> steps_;
  std::vector<Task> tasks_;
  std::vector<uint32_t> open_tasks_;   // not done, oldest first
  std::vector<size_t> open_at_level_;  // how many there were when the level was entered
  std::vector<RunTimeCheck> checks_;
  struct Compared {
    Expr child;
    Type expected;
    std::string name;   // of the parameter
    bool done = false;  // the next one is of another place with the same child
  };
  std::unordered_map<Expr, std::vector<Compared>> compared_;  // by the parent, in the order of its children
  std::vector<Earlier> earlier_;                              // those that have an earlier type
  // What gets the type written that it kept.
  std::unordered_set<Expr> written_calls_;
  std::unordered_set<const Var*> written_vars_;
  std::unordered_set<const Fn*> written_results_;
  std::deque<Givens> all_givens_;
  const Givens* givens_ = nullptr;  // of the functions around
};

}  // namespace relay::typecheck
