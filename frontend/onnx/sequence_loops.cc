// `Loop` whose state has sequences or optional values (sequences.h).
//
// If the number of steps is known, the body is imported once for each, and what it does to
// sequences is known as well. Else the loop is a function that calls itself, and its
// sequences are lists.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/loops.h"
#include "frontend/onnx/rows.h"
#include "frontend/onnx/sequences.h"

namespace relay::frontend {
namespace {

using namespace op;
using Operands = std::vector<Operand>;
using Found = std::optional<Operands>;

// Types of a state only lose extents from one import of the body to the next, so few are needed.
constexpr int kMostImports = 16;

Found import_body(Node& n, const LoopParts& s, Operand step, Operand condition, const Operands& states) {
  // One step is as much as its nodes, also where the body is imported for its types only.
  if (!n.importer().spend(static_cast<size_t>(s.body.node_size()) + 1))
    throw too_many("the steps of loops have more nodes", n.importer().options().nodes);
  NameScope scope{{}, &n.importer().scope()};
  const auto declare = [&](size_t i, Operand value) {
    scope.names.emplace(s.body.input(static_cast<int>(i)).name(), std::move(value));
  };
  declare(0, std::move(step));
  declare(1, std::move(condition));
  for (size_t i = 0; i < states.size(); ++i) declare(i + 2, states[i]);
  return n.importer().import_subgraph(s.body, scope);
}

std::optional<bool> known_truth(Importer& importer, const Operand& o) {
  const std::optional<Tensor> t = importer.known(o);
  if (!t || t->size() != 1 || !t->dtype().is_bool()) return std::nullopt;
  return t->get_int(0) != 0;
}

// --- A known number of steps ---------------------------------------------------------------------

// How many there are at most; nothing if only a run knows.
std::optional<int64_t> known_steps(Node& n) {
  if (!n.has(0)) return std::nullopt;
  const std::optional<IndexTensor> trips = n.index(0);
  if (!trips || !trips->constant() || trips->elements.size() != 1) return std::nullopt;
  const int64_t count = std::max<int64_t>(trips->elements[0].value(), 0);
  if (count > n.importer().options().unrolled_steps) return std::nullopt;
  return count;
}

// The results, in `out`. Returns false if a condition is not known: then nothing was done.
bool unrolled(Node& n, const LoopParts& s, int64_t steps, Found& out) {
  Importer& importer = n.importer();
  std::optional<bool> go = n.has(1) ? known_truth(importer, n.operand(1)) : true;
  Operands states;
  for (size_t i = 0; i < s.states; ++i) states.push_back(n.operand(i + 2));
  std::vector<std::vector<Expr>> rows(s.scanned);
  for (int64_t k = 0; go && *go && k < steps; ++k) {
    Found results = import_body(n, s, importer.operand(IndexTensor{kInt64, {}, {Dim(k)}}),
                                importer.constant(Tensor::scalar_int(kBool, 1)), states);
    if (!results) {
      out.reset();
      return true;
    }
    go = known_truth(importer, results->front());
    for (size_t i = 0; i < s.states; ++i) states[i] = std::move((*results)[i + 1]);
    for (size_t i = 0; i < s.scanned; ++i) {
      Operand& row = (*results)[1 + s.states + i];
      if (is_composite(row)) n.unsupported("it collects what is no tensor");
      rows[i].push_back(n.expand_dims(importer.materialise(row), 0));
    }
  }
  if (!go) return false;
  for (std::vector<Expr>& collected : rows) {
    if (collected.empty()) n.unsupported("it takes no step, so what it collects has no known shape");
    Operand all;
    all.expr = n.concatenate(collected, 0);
    states.push_back(std::move(all));
  }
  out = std::move(states);
  return true;
}

// --- A number of steps that only a run knows -----------------------------------------------------

class RunTimeLoop {
 public:
  RunTimeLoop(Node& n, const LoopParts& s) : n_(n), form_(s), b_(n.builder()), context_(n.context()) {
    for (size_t i = 0; i < s.states; ++i) {
      first_.push_back(n.operand(i + 2));
      types_.push_back(value_type(n.importer(), first_.back()));
    }
  }

  Found convert() {
    if (!find_types()) return std::nullopt;
    Operands out = converted();
    for (size_t i = 0; i < out.size() && i < n_.outputs(); ++i)
      out[i].expr = n_.importer().name_extents(out[i].expr, n_.proto().output(static_cast<int>(i)));
    return out;
  }

 private:
  Operands converted() {
    const Importer::Inside inside(n_.importer(), n_.importer().scope(), inside_);
    Operands& results = *results_;
    for (size_t i = 0; i < form_.states; ++i)
      next_.push_back(as_value(n_.importer(), results[i + 1], types_[i]));
    collect_rows();
    return call();
  }

  // Imports the body until its states have the types that it takes them with.
  bool find_types() {
    for (int k = 0; k < kMostImports; ++k) {
      step_ = b_.var("i", context_.scalar_type(kInt64));
      go_ = b_.var("go", context_.scalar_type(kBool));
      params_.clear();
      inside_ = {};
      const Importer::Inside inside(n_.importer(), n_.importer().scope(), inside_);
      Operands states;
      for (size_t i = 0; i < form_.states; ++i) {
        const std::string& name = form_.body.input(static_cast<int>(i + 2)).name();
        params_.push_back(types_[i] ? b_.var(name.empty() ? "state" : name, types_[i]) : nullptr);
        Operand state = first_[i];  // what its elements are like, only the body says
        if (types_[i]) {
          state = Operand();
          state.expr = n_.importer().name_extents(params_.back(), name);
        }
        states.push_back(std::move(state));
      }
      Operand step, go;
      step.expr = step_;
      go.expr = go_;
      results_ = import_body(n_, form_, std::move(step), std::move(go), states);
      if (!results_) return false;
      if (!widen()) return true;
    }
    n_.unsupported("the types of its state differ from step to step");
  }

  // Widens the types to hold what the body gave. Returns false if they hold it already.
  bool widen() {
    bool changed = false;
    for (size_t i = 0; i < form_.states; ++i) {
      const Type given = inside_.outside(context_, value_type(n_.importer(), (*results_)[i + 1]));
      if (!given && !types_[i])
        n_.unsupported(cat("its state ", i, " is an empty sequence, and nothing says what its elements are"));
      const Type both = given && types_[i] ? joined_type(context_, types_[i], given)
                        : given            ? given
                                           : types_[i];
      if (!both) {
        n_.unsupported(
            cat("its state ", i, " begins as ", show(types_[i], 80), " and becomes ", show(given, 80)),
            "fix what says how many steps there are with --fix-input, or let states keep their "
            "dtypes and numbers of dimensions");
      }
      changed = changed || both != types_[i];
      types_[i] = both;
    }
    return changed;
  }

  void collect_rows() {
    for (size_t i = 0; i < form_.scanned; ++i) {
      Operand& result = (*results_)[1 + form_.states + i];
      if (is_composite(result)) n_.unsupported("it collects what is no tensor");
      const Expr row = n_.importer().materialise(result);
      std::vector<Dim> dims;
      for (Dim d : dims_of(row)) dims.push_back(inside_.outside(d));
      CollectedRows& rows = rows_.emplace_back(n_, cat("rows", i), dims, type_of(row).dtype, false);
      Operand none;
      none.expr = rows.none();
      first_.push_back(std::move(none));
      types_.push_back(rows.list()->type);
      params_.push_back(rows.list());
      next_.push_back(rows.with(row, step_));
    }
  }

  // let loop = fn(i, go, states...) { if (go && i < trips) { loop(i + 1, ...) } else { (states...)
  // } }; loop(0, condition, ...)
  Operands call() {
    Importer& importer = n_.importer();
    const auto integer = [&](int64_t v) -> Expr { return b_.constant(Tensor::scalar_int(kInt64, v)); };
    const Type result = types_.size() == 1 ? types_[0] : context_.tuple_type(types_);
    std::vector<Type> all{step_->type, go_->type};
    all.insert(all.end(), types_.begin(), types_.end());
    const Type function = context_.fn_type({}, all, result);
    const Var* loop = b_.var("loop", function);

    Expr condition = go_;
    if (n_.has(0))
      condition = n_.call(kLogicalAnd, {condition, n_.call(kLess, {step_, n_.reshape(n_.input(0), {})})});
    Operand& next_go = results_->front();
    std::vector<Expr> next{n_.call(kAdd, {step_, integer(1)}), n_.reshape(importer.materialise(next_go), {})};
    n_.require(type_of(next[1]).dtype.is_bool(), "the condition of its body must be one bool");
    next.insert(next.end(), next_.begin(), next_.end());
    std::vector<Expr> first{
        integer(0), n_.has(1) ? n_.reshape(n_.input(1), {}) : b_.constant(Tensor::scalar_int(kBool, 1))};
    for (size_t i = 0; i < first_.size(); ++i) first.push_back(as_value(importer, first_[i], types_[i]));

    const std::vector<Expr> states(params_.begin(), params_.end());
    const Expr done = states.size() == 1 ? states[0] : b_.tuple(states);
    const Expr again = inside_.enclose(b_, b_.call(loop, next, {}, result));
    const Expr branch = b_.with_type(b_.if_(condition, again, done), result);
    std::vector<const Var*> params{step_, go_};
    params.insert(params.end(), params_.begin(), params_.end());
    const Expr fn = b_.with_type(b_.fn(params, branch, result), function);
    const Expr whole = b_.let(loop, fn, b_.call(loop, first, {}, result));
    Operands out(types_.size());
    for (size_t i = 0; i < types_.size(); ++i) {
      out[i].expr = types_.size() == 1 ? whole : b_.proj(whole, static_cast<uint32_t>(i));
      if (i >= form_.states) out[i].expr = rows_[i - form_.states].joined(out[i].expr);
    }
    return out;
  }

  Node& n_;
  const LoopParts& form_;
  Builder& b_;
  Context& context_;
  Operands first_;
  std::vector<Type> types_;  // of the states, then of the rows; null for one that nothing says yet
  const Var *step_ = nullptr, *go_ = nullptr;
  std::vector<const Var*> params_;
  Found results_;           // of the body
  Bindings inside_;         // extents that only the body knows
  std::vector<Expr> next_;  // states and rows after a step
  std::vector<CollectedRows> rows_;
};

}  // namespace

std::optional<std::vector<Operand>> convert_loop_of_composites(Node& n) {
  const LoopParts form = parts_of_loop(n);
  Found out;
  if (const std::optional<int64_t> steps = known_steps(n); steps && unrolled(n, form, *steps, out))
    return out;
  return RunTimeLoop(n, form).convert();
}

}  // namespace relay::frontend
