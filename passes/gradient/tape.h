// Tape: a straight-line function taken apart into steps, each of one call, in the order in which
// they are evaluated; and the adjoints of what they make.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/analysis.h"
#include "ir/builder.h"

namespace relay::passes::gradient {

struct Step {
  enum class Form : uint8_t {
    kValue,   // let x = value, of a call or an `if`
    kName,    // let x: T = value, where T says less of the extents than the value's type, or more
    kShapes,  // (fn (xs) { what follows })(values), which compares shapes
  };
  std::vector<const Var*> xs;
  std::vector<Expr> values;
  Form form = Form::kValue;
  const If* origin = nullptr;  // of an `if`: as the function has it
};
using Tape = std::vector<Step>;

// A new variable for the value, which has a type.
const Var* append(Builder& b, Tape& tape, std::string_view name, Expr value);
// The steps, one after the other, and then the body.
Expr around(Builder& b, const Tape& tape, Expr body);

// Writes tapes of a function, and of branches in it as often as they are asked for. Each tape binds
// variables of its own.
class Recorder {
 public:
  Recorder(Context& context, const Fn* fn);

  const std::vector<const Var*>& params() const { return params_; }
  // What the function's body is made of, and its value: variables, constants, and tuples and
  // projections of them.
  Expr record_body(Tape& tape) { return record(fn_->body, scopes_.opens.get(fn_), tape); }
  // The same of a branch of an `if` that was recorded; forgotten when `forget_since` says so.
  Expr record_branch(const If* origin, bool then_branch, Tape& tape);
  size_t known() const { return log_.size(); }
  void forget_since(size_t known);

 private:
  struct Task {
    enum class What { kVisit, kBuild, kBind, kLeave } what;
    Expr e;
  };

  Expr record(Expr body, uint32_t scope, Tape& tape);
  void enter(Expr body, uint32_t scope);
  void visit(Expr e);
  void build(Expr e, Tape& tape);
  void bind(Expr e, Tape& tape);
  Expr copy(Expr branch);
  const Var* fresh(const Var* v);
  void set(Expr e, Expr now);
  std::vector<Expr> now(const List<Expr>& es) const;
  std::string name_for(Expr e);

  const Fn* fn_;
  Builder b_;
  Scopes scopes_;
  std::vector<const Var*> params_;
  std::unordered_map<Expr, Expr> now_;      // what a node has become
  std::vector<Expr> log_;                   // of now_, in the order in which it grew
  std::unordered_map<Expr, Symbol> names_;  // of values, by the lets that bind them
  std::vector<Task> tasks_;
  size_t unnamed_ = 0;
};

// Adjoints of variables, by their tensors. Variables that are not active have none: no parameter of
// floats has a part in them.
class Adjoints {
 public:
  Adjoints(Builder& b, const std::unordered_set<const Var*>& active) : b_(b), active_(active) {}

  // A tensor of a value: the fields that lead to it, and its adjoint.
  struct Part {
    std::vector<uint32_t> path;
    Expr adjoint;
  };
  // Adds to the adjoint of a recorded value, or of a part of it.
  void add(Expr target, Expr adjoint);
  void add(Expr target, const Part& part);
  // The adjoint of the variable, which is forgotten; null if it is zero.
  Expr take(const Var* x);

  // The same of each of its tensors, without those that have none. Of a tuple of the same tuple
  // twice, and so on, few tensors may have one.
  std::vector<Part> take_parts(const Var* x);

  // A tensor with an adjoint.
  struct Place {
    Expr primal;
    Expr adjoint;
  };
  // Of all variables, by age; the key says which tensor of which variable it is.
  std::map<std::vector<uint32_t>, Place> places() const;

 private:
  struct Slot {
    Expr adjoint = nullptr;         // of a tensor
    std::vector<Slot> fields = {};  // of a tuple
  };
  void add_to(Slot& slot, Type type, Expr adjoint);
  Expr value_of(const Slot& slot, Expr primal);

  Builder& b_;
  const std::unordered_set<const Var*>& active_;
  std::map<uint32_t, std::pair<const Var*, Slot>> slots_;  // by the variable's id
};

}  // namespace relay::passes::gradient
