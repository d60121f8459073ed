// Types under inference: unknowns, what is known of them, and making two types agree.
//
// An unknown type is a HoleType of the context, an unknown dim a variable of its pool that is not a
// shape variable. Each has an entry here: the answer once it is known, the level at which it was
// made (which decides what a `let` may generalise, after Remy), and who waits for the answer.
// Nothing here recurses: types may be deep.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/context.h"
#include "ir/expr.h"

namespace relay::typecheck {

// Where two types part: the innermost parts that differ.
struct Mismatch {
  enum class Why { kDifferent, kDim, kEndless, kEscape };
  Why why = Why::kDifferent;
  Type expected = nullptr, actual = nullptr;
  size_t dim = 0;  // kDim: which one
  Dim expected_dim = {}, actual_dim = {};
};

using DimPair = std::pair<Dim, Dim>;                 // what is expected and what is found
using FixedDim = std::function<bool(kernel::Expr)>;  // is this shape variable bound further out?

class Unifier {
 public:
  // `fixed` says which shape variables are bound around the place that is being looked at.
  Unifier(Context& context, FixedDim fixed);

  // How many parts of types may be looked at before Exhausted is thrown. Types that let-bound
  // functions multiply can become exponentially larger than the program: a bound is all that helps.
  void allow(uint64_t parts) { allowed_ += parts; }

  // Unknowns. `origin` is the expression to blame if nothing ever determines the hole.
  Type hole(Expr origin);
  Dim dim_hole();
  Expr origin(Type hole) { return entry(hole).origin; }
  void set(Type hole, Type answer);  // no questions asked: for holes that nothing else determined
  // A type from the program: each of its `_` becomes a hole.
  Type adopt(Type written, Expr origin);
  // The type of what is wrong already. It agrees with everything, so that one mistake
  // is reported once.
  Type poison() const { return poison_; }
  bool is_poison(Type t) { return find(t) == poison_; }

  // What is known now of the outermost part; of all parts.
  Type find(Type t);
  Type resolve(Type t);
  Dim resolve(Dim d);
  // Something inside that is not known: poison if there is any, else a hole, else a tensor type of
  // which a dim is not known. Null if there is nothing.
  Type unknown_in(Type t);
  void forget_dims(Type t);  // unknown dims inside t become `?`

  // Makes the two agree by solving unknowns. A definite dim may flow where `?` is expected; what
  // has to be compared when the program runs is kept for take_checks. Call `settle` after all that
  // belongs together is unified.
  std::optional<Mismatch> unify(Type expected, Type actual);
  // The type of what is either a or b: dims that do not provably agree become `?`.
  std::optional<Mismatch> join(Type a, Type b, Type& out);
  // Decides comparisons of dims that waited for unknowns. What still cannot be decided
  // waits for the end.
  std::optional<Mismatch> settle();
  std::optional<Mismatch> settle_end();
  std::vector<DimPair> take_checks() { return std::exchange(checks_, {}); }
  // The relations of the generic functions that were instantiated: they must hold of
  // the types chosen.
  std::vector<const RelationType*> take_obligations() { return std::exchange(obligations_, {}); }

  // Generic functions. A function type binds its type parameters and the shape variables in its
  // arguments; each use chooses them anew.
  bool is_generic(Type t, const FixedDim& fixed);
  Type instantiate(const FnType* fn, Expr origin, const FixedDim& fixed,
                   std::vector<Type>* type_args = nullptr);
  // The shape variables that fn binds and that clash with others get new names.
  Type rename_dims(const FnType* fn, const FixedDim& clashes);
  // Makes parameters of the unknowns in a function's type that belong to the current
  // level. Functions that call each other share unknowns: `group` holds the parameters
  // made so far for them.
  Type generalise(Type fn, std::vector<const TypeVar*>& group);
  // Would it make a parameter of this hole? Others belong to a level around.
  bool generalises(Type hole) { return entry(hole).level >= level_; }

  // Levels: one for each function around that may become generic. Type parameters belong to the
  // level they enter.
  void enter(const List<const TypeVar*>& params);
  void declare(const List<const TypeVar*>& params);  // at the current level
  void leave();
  uint32_t level() const { return level_; }
  void lower(Type t, uint32_t level);  // unknowns of t belong no deeper
  void reserve(std::string_view name) { reserved_.insert(std::string(name)); }  // generalise must not use it

  // Whoever waits for something that unknown_in found is woken when more is known of it.
  void wait(Type unknown, uint32_t who);
  std::vector<uint32_t> take_woken() { return std::exchange(woken_, {}); }

 private:
  using TypeMap = std::unordered_map<Type, Type>;
  using DimMap = std::unordered_map<const kernel::ExprNode*, kernel::Expr>;
  struct Hole {
    Type answer = nullptr;
    uint32_t level = 0;
    Expr origin = nullptr;
    std::vector<uint32_t> waiting = {};
  };
  struct DimHole {
    std::optional<Dim> answer = std::nullopt;
    uint32_t level = 0;
    std::vector<uint32_t> waiting = {};
  };
  struct Later {  // a comparison that waits
    Type expected, actual;
    size_t dim;
    DimPair dims;
    bool check;  // is an undecided one worth a check?
  };
  enum class Agree { kYes, kNo, kAtRunTime, kLater };

  void spend(uint64_t parts) {
    if (parts > allowed_) exhausted();
    allowed_ -= parts;
  }
  [[noreturn]] void exhausted();
  Hole& entry(Type hole) { return holes_[index_[hole->id - first_id_]]; }
  DimHole* open_hole(Dim d);  // null unless d is a single dim hole without an answer
  bool is_closed(Type t) const { return !t->has_hole && !(t->has_symbolic_dim && !dims_.empty()); }
  bool has_open_dim(Dim d);
  template <class F>
  void walk(Type t, F&& f);  // f on every part of what is known of t, each once, until it returns false
  template <class Leaf>
  Type map(Type t, TypeMap& memo, Leaf&& leaf);
  Type with_dims(const TensorType* t, const std::function<Dim(Dim)>& f);
  Type substitute(Type t, const std::unordered_map<Symbol, Type>& types, const DimMap& dims);
  std::optional<Mismatch> bind(Type hole, Type t);
  // What must be equal where these are; nothing if a relation of `actual` is none of `expected`'s.
  std::optional<std::pair<Type, Type>> without_parameters(const FnType* expected, const FnType* actual);
  std::optional<Mismatch> unify(Type expected, Type actual, bool check);
  std::optional<Mismatch> tensors(const TensorType* expected, const TensorType* actual, bool check);
  std::optional<Mismatch> decide(const Later& later, Agree how);
  Agree dims(Dim expected, Dim actual);
  bool solve_linear(Dim with_hole, Dim other);
  void answer(DimHole& hole, Dim d);
  void poison_all(Type t);
  Type widen(Type a, Type b);
  std::vector<kernel::Expr> bound_dims(const FnType* fn);
  const TypeVar* fresh_type_var();
  Dim fresh_shape_variable();
  bool is_final(Type t);

  Context& context_;
  FixedDim fixed_;
  uint64_t allowed_ = 0;
  uint32_t first_id_ = 0;
  Type poison_ = nullptr;
  std::deque<Hole> holes_;
  std::vector<uint32_t> index_;  // of holes_, by type id from first_id_ on
  std::unordered_map<const kernel::ExprNode*, DimHole> dims_;
  TypeMap adopted_, resolved_;
  std::unordered_set<Type> final_;  // types that will not change any more
  std::unordered_map<const FnType*, std::vector<kernel::Expr>> bound_dims_;
  std::vector<uint32_t> marks_;  // by type id: the walk that saw it last
  uint32_t walks_ = 0;
  uint32_t level_ = 0;
  std::unordered_map<Symbol, uint32_t> param_levels_;
  std::set<std::string, std::less<>> reserved_;
  uint32_t next_name_ = 0, next_dim_name_ = 0, next_skolem_ = 0;
  std::vector<Later> later_, parked_;
  std::vector<DimPair> checks_;
  std::vector<const RelationType*> obligations_;
  std::vector<uint32_t> woken_;
};

}  // namespace relay::typecheck
