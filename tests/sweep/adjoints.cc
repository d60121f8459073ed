#include "tests/sweep/adjoints.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/cat.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/registry.h"
#include "op/testing.h"

namespace relay::sweep {
namespace {

constexpr double kTolerance = 1e-5;
constexpr int kMostExpansions = 8;  // of expansions in expansions

bool is_float(Type t) {
  const auto* tensor = t->as<TensorType>();
  return tensor && tensor->dtype.is_float();
}

// The expression with every call that has an expansion and no rule written out.
Expr expanded(Builder& b, Expr root) {
  for (int i = 0; i < kMostExpansions; ++i) {
    NodeMap<Expr> now;
    bool any = false;
    for (Expr e : post_order(root)) {
      now[e] = e;
      if (const auto* tuple = e->as<Tuple>()) {
        std::vector<Expr> fields;
        for (Expr f : tuple->fields) fields.push_back(now.get(f));
        now[e] = b.tuple(fields);
      } else if (const auto* proj = e->as<Proj>()) {
        now[e] = b.proj(now.get(proj->tuple), proj->index);
      } else if (const auto* call = e->as<Call>()) {
        std::vector<Expr> args;
        for (Expr a : call->args) args.push_back(now.get(a));
        const op::OpDef& def = *op::callee(*call);
        if (!def.differentiate && def.expand) {
          now[e] = op::expand(b, def, args, call->attrs);
          any = true;
        } else {
          now[e] = b.call(b.op(def), args, call->attrs, e->type);
        }
      }
    }
    root = now.get(root);
    if (!any) break;
  }
  return root;
}

// Reverse mode: what the adjoint of each expression is so far.
class Reverse {
 public:
  Reverse(Builder& b, Expr root, const std::vector<Expr>& variables) : b_(b), order_(post_order(root)) {
    for (Expr v : variables) depends_[v] = is_float(v->type);
    for (Expr e : order_) depends_[e] = depends_[e] || follows(e);
  }

  // Returns the operator that has no gradient, or null.
  const op::OpDef* run(Expr dy) {
    add(order_.back(), dy);
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      const Expr e = *it, seed = of(e);
      if (!seed) continue;
      if (const auto* tuple = e->as<Tuple>()) {
        for (uint32_t i = 0; i < tuple->fields.size(); ++i) add(tuple->fields[i], b_.proj(seed, i));
      } else if (const auto* proj = e->as<Proj>()) {
        add_field(proj->tuple, proj->index, seed);
      } else if (const auto* call = e->as<Call>()) {
        const op::OpDef& def = *op::callee(*call);
        if (!depends_[e]) continue;
        if (!def.differentiate) return &def;
        const std::vector<Expr> parts = def.differentiate(b_, call->attrs, op::Site{call->args, e, seed});
        for (size_t i = 0; i < parts.size(); ++i) {
          if (parts[i]) add(call->args[i], parts[i]);
        }
      }
    }
    return nullptr;
  }

  // The adjoint of a tensor or a tuple; null if there is none.
  Expr of(Expr e) {
    const auto it = adjoints_.find(e);
    if (it == adjoints_.end()) return nullptr;
    const auto* tuple = e->type->as<TupleType>();
    if (!tuple) return it->second.at(0);
    std::vector<Expr> all;
    for (uint32_t i = 0; i < tuple->fields.size(); ++i)
      all.push_back(it->second.contains(i) ? it->second[i] : zeros(tuple->fields[i]));
    return b_.tuple(all);
  }

 private:
  // Does a float of the result depend on an argument?
  bool follows(Expr e) {
    if (const auto* tuple = e->as<Tuple>())
      return std::any_of(tuple->fields.begin(), tuple->fields.end(), [&](Expr f) { return depends_[f]; });
    if (const auto* proj = e->as<Proj>()) return depends_[proj->tuple] && is_float(e->type);
    const auto* call = e->as<Call>();
    return call && (e->type->as<TupleType>() || is_float(e->type)) &&
           std::any_of(call->args.begin(), call->args.end(), [&](Expr a) { return depends_[a]; });
  }
  Expr zeros(Type t) {
    const TensorType& tensor = *t->as<TensorType>();
    return b_.constant(Tensor(tensor.dtype, *tensor.static_shape()));
  }
  void add(Expr e, Expr by) {
    const auto* tuple = e->type->as<TupleType>();
    if (!tuple) return add_field(e, 0, by);
    for (uint32_t i = 0; i < tuple->fields.size(); ++i) add_field(e, i, b_.proj(by, i));
  }
  void add_field(Expr e, uint32_t i, Expr by) {
    if (!is_float(by->type)) return;
    Expr& now = adjoints_[e][i];
    now = now ? op::call(b_, *op::find("add"), {now, by}) : by;
  }

  Builder& b_;
  const std::vector<Expr> order_;
  // By address, and only ever looked up. Of a tensor, the adjoint is field 0.
  std::unordered_map<Expr, bool> depends_;
  std::unordered_map<Expr, std::map<uint32_t, Expr>> adjoints_;
};

}  // namespace

std::optional<Derivative> differentiate(Context& context, const op::OpDef& op, const std::vector<Value>& args,
                                        const Attrs& attrs, std::string& why) {
  Builder b(context);
  std::map<const Var*, Value> values;
  std::vector<Expr> leaves, operands;
  const auto variable = [&](const Value& v) -> Expr {
    const Var* var = b.var("x", op::type_of(context, v));
    values[var] = v;
    return var;
  };
  for (const Value& v : args) {
    std::vector<Expr> fields;
    if (v.is_tensor()) {
      fields.push_back(variable(v));
    } else {
      for (const Value& f : v.fields()) fields.push_back(variable(f));
    }
    leaves.insert(leaves.end(), fields.begin(), fields.end());
    operands.push_back(v.is_tensor() ? fields[0] : Expr(b.tuple(fields)));
  }
  std::vector<Type> types;
  for (Expr e : operands) types.push_back(e->type);
  const Expr y = expanded(b, b.call(b.op(op), operands, attrs, op::infer(context, op, types, attrs)));
  const Value result = op::evaluate(context, op, args, attrs);
  Derivative out;
  out.results = op::flatten(std::vector<Value>{result});
  const Value weights = op::testing::weights_for(out.results, !result.is_tensor());
  out.weights = op::flatten(std::vector<Value>{weights});
  std::vector<Expr> dys;
  for (const Tensor& w : out.weights) dys.push_back(b.constant(w));
  Reverse reverse(b, y, leaves);
  if (const op::OpDef* without = reverse.run(result.is_tensor() ? dys[0] : Expr(b.tuple(dys)))) {
    why = cat("`", without->name, "` has no gradient");
    return std::nullopt;
  }
  for (Expr leaf : leaves) {
    const Expr adjoint = reverse.of(leaf);
    if (adjoint && adjoint->type != leaf->type) {
      why = cat("an adjoint has the type ", show(adjoint->type), " instead of ", show(leaf->type));
      return std::nullopt;
    }
    out.adjoints.push_back(adjoint ? op::testing::value_of(context, adjoint, values).tensor() : Tensor());
  }
  return out;
}

std::string compare_with_differences(Context& context, const op::OpDef& op, const std::vector<Value>& args,
                                     const Attrs& attrs, const Derivative& d, int64_t& compared) {
  const std::vector<Tensor> leaves = op::flatten(args);
  const auto objective = [&](size_t moved, int64_t element, double by) {
    std::vector<Value> at;
    size_t next = 0;
    const auto leaf = [&](const Tensor& t) {
      if (next++ != moved) return Value(t);
      Tensor copy = t.copy();
      copy.set(element, copy.get(element) + by);
      return Value(copy);
    };
    for (const Value& v : args) {
      if (v.is_tensor()) {
        at.push_back(leaf(v.tensor()));
        continue;
      }
      std::vector<Value> fields;
      for (const Value& f : v.fields()) fields.push_back(leaf(f.tensor()));
      at.push_back(Value::tuple(std::move(fields)));
    }
    const std::vector<Tensor> ys = op::flatten(std::vector<Value>{op::evaluate(context, op, at, attrs)});
    double sum = 0;
    for (size_t t = 0; t < ys.size(); ++t) {
      for (int64_t i = 0; i < ys[t].size(); ++i) sum += ys[t].get(i) * d.weights[t].get(i);
    }
    return sum;
  };
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
    if (!leaves[leaf].dtype().is_float()) continue;
    for (int64_t i = 0; i < leaves[leaf].size(); ++i) {
      // What the differences lose: the result is rounded, and a step is small.
      const double lost = std::fabs(objective(leaf, i, 0)) * 1e-10;
      const auto slope = [&](double step) {
        return (objective(leaf, i, step) - objective(leaf, i, -step)) / (2 * step);
      };
      const double numeric = slope(1e-5), narrower = slope(4e-6);
      const double allowed = kTolerance * (1 + std::fabs(numeric));
      if (!(std::fabs(numeric - narrower) <= allowed / 2) || lost > allowed) continue;
      ++compared;
      const double symbolic = d.adjoints[leaf].defined() ? d.adjoints[leaf].get(i) : 0;
      if (std::fabs(symbolic - numeric) <= allowed) continue;
      return cat("tensor ", leaf, " element ", i, ": the rule gives ", symbolic, ", differences ", numeric);
    }
  }
  return {};
}

}  // namespace relay::sweep
