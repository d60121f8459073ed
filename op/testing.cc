#include "op/testing.h"

#include <cmath>

#include "base/cat.h"
#include "ir/traverse.h"
#include "kernel/builder.h"
#include "kernel/execute.h"

namespace relay::op::testing {

Tensor random(DType dtype, Shape shape, uint64_t seed, double low, double high) {
  Tensor t(dtype, std::move(shape));
  uint64_t state = seed * 0x9e3779b97f4a7c15ull + 0x632be59bd9b4e019ull;
  for (int64_t i = 0; i < t.size(); ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    const double unit = static_cast<double>(state >> 11) * 0x1p-53;
    if (dtype.is_float()) {
      t.set(i, low + unit * (high - low));
    } else if (dtype.is_bool()) {
      t.set_int(i, unit < 0.5);
    } else {
      t.set_int(i, static_cast<int64_t>(std::floor(low + unit * (high - low + 1))));
    }
  }
  return t;
}

Value value_of(Context& context, Expr root, const std::map<const Var*, Value>& vars) {
  NodeMap<Value> values;
  for (Expr e : post_order(root)) {
    if (const auto* var = e->as<Var>()) {
      values[e] = vars.at(var);
    } else if (const auto* constant = e->as<Constant>()) {
      values[e] = Value(*constant->value);
    } else if (const auto* tuple = e->as<Tuple>()) {
      std::vector<Value> fields;
      for (Expr f : tuple->fields) fields.push_back(values.get(f));
      values[e] = Value::tuple(std::move(fields));
    } else if (const auto* proj = e->as<Proj>()) {
      values[e] = values.get(proj->tuple).fields()[proj->index];
    } else if (const auto* call = e->as<Call>()) {
      std::vector<Value> inputs;
      for (Expr a : call->args) inputs.push_back(values.get(a));
      values[e] = evaluate(context, *callee(*call), inputs, call->attrs);
    }
  }
  return values.get(root);
}

Tensor evaluate(const OpDef& op, const std::vector<Value>& args, const std::vector<AttrArg>& attrs) {
  Context context;
  return evaluate(context, op, args, context.attrs(attrs)).tensor();
}

std::string infer_text(Context& context, const OpDef& op, const std::vector<Type>& types,
                       const std::vector<AttrArg>& attrs) {
  try {
    return relay::show(infer(context, op, types, context.attrs(attrs)));
  } catch (const RelationError& error) {
    return error.reason;
  }
}

Value weights_for(const std::vector<Tensor>& results, bool tuple) {
  std::vector<Value> out;
  for (const Tensor& t : results)
    out.push_back(Value(random(t.dtype(), t.shape(), 77 + out.size(), 0.5, 1.5)));
  return tuple ? Value::tuple(std::move(out)) : out[0];
}

GradientCheck compare_gradient(Context& context, const OpDef& op, const std::vector<Value>& args,
                               const Attrs& attrs, double tolerance) {
  Builder b(context);
  std::map<const Var*, Value> values;
  std::vector<Expr> exprs;
  const auto variable = [&](const Value& v) {
    const Var* var = b.var("x", type_of(context, v));
    values[var] = v;
    return var;
  };
  for (const Value& v : args) {
    if (v.is_tensor()) {
      exprs.push_back(variable(v));
    } else {
      std::vector<Expr> fields;
      for (const Value& f : v.fields()) fields.push_back(variable(f));
      exprs.push_back(b.tuple(fields));
    }
  }
  std::vector<Type> types;
  for (Expr e : exprs) types.push_back(e->type);
  const Expr y = b.call(b.op(op), exprs, attrs, infer(context, op, types, attrs));
  const Value result = evaluate(context, op, args, attrs);
  const std::vector<Tensor> results = flatten(std::vector<Value>{result});
  const Value weights = weights_for(results, !result.is_tensor());
  const std::vector<Tensor> flat_weights = flatten(std::vector<Value>{weights});
  const Var* dy = variable(weights);
  const std::vector<Expr> adjoints = op.differentiate(b, attrs, Site{exprs, y, dy});
  if (adjoints.size() != args.size()) return {"there is not one adjoint for each argument"};

  const auto objective = [&](const std::vector<Value>& at) {
    const std::vector<Tensor> ys = flatten(std::vector<Value>{evaluate(context, op, at, attrs)});
    double sum = 0;
    for (size_t t = 0; t < ys.size(); ++t) {
      for (int64_t i = 0; i < ys[t].size(); ++i) sum += ys[t].get(i) * flat_weights[t].get(i);
    }
    return sum;
  };
  // What the differences lose: the result is rounded, and a step is small.
  const double lost = std::fabs(objective(args)) * 1e-10;
  GradientCheck out;
  for (size_t a = 0; a < args.size(); ++a) {
    const std::vector<Tensor> leaves = flatten(std::vector<Value>{args[a]});
    std::vector<Tensor> gradients;
    if (adjoints[a]) {
      if (adjoints[a]->type != exprs[a]->type)
        return {cat("the adjoint of argument ", a, " has the type ", relay::show(adjoints[a]->type))};
      gradients = flatten(std::vector<Value>{value_of(context, adjoints[a], values)});
    }
    for (size_t leaf = 0; leaf < leaves.size(); ++leaf) {
      if (!leaves[leaf].dtype().is_float()) continue;
      const auto moved = [&](int64_t i, double by) {
        std::vector<Tensor> parts = leaves;
        parts[leaf] = parts[leaf].copy();
        parts[leaf].set(i, parts[leaf].get(i) + by);
        std::vector<Value> at = args;
        at[a] = args[a].is_tensor() ? Value(parts[0]) : Value::tuple({parts.begin(), parts.end()});
        return objective(at);
      };
      for (int64_t i = 0; i < leaves[leaf].size(); ++i) {
        const auto slope = [&](double step) { return (moved(i, step) - moved(i, -step)) / (2 * step); };
        const double numeric = slope(1e-5), narrower = slope(4e-6);
        const double symbolic = gradients.empty() ? 0 : gradients[leaf].get(i);
        const double allowed = tolerance * (1 + std::fabs(numeric));
        if (!(std::fabs(numeric - narrower) <= allowed / 2) || lost > allowed) continue;
        ++out.compared;
        if (std::fabs(symbolic - numeric) <= allowed) continue;
        return {cat("argument ", a, " tensor ", leaf, " element ", i, ": the rule gives ", symbolic,
                    ", differences ", numeric),
                out.compared};
      }
    }
  }
  return out;
}

void check_gradient(const OpDef& op, const std::vector<Value>& args, const std::vector<AttrArg>& attrs,
                    double tolerance) {
  SCOPED_TRACE(op.name);
  ASSERT_TRUE(op.differentiate) << "the operator does not differentiate";
  Context context;
  const GradientCheck found = compare_gradient(context, op, args, context.attrs(attrs), tolerance);
  EXPECT_EQ(found.wrong, "");
  int64_t elements = 0;
  for (const Tensor& t : flatten(args)) elements += t.dtype().is_float() ? t.size() : 0;
  EXPECT_EQ(found.compared == 0, elements == 0) << "differences say nothing about these arguments";
}

Type lowered_type(Context& context, const Value& v, Dims dims) {
  if (!v.is_tensor()) {
    std::vector<Type> fields;
    for (const Value& f : v.fields()) fields.push_back(lowered_type(context, f, dims));
    return context.tuple_type(fields);
  }
  std::vector<Dim> out;
  for (const int64_t extent : v.tensor().shape()) {
    out.push_back(dims == Dims::kSymbolic && extent > 1 ? context.shape_variable(cat("n", extent))
                                                        : Dim(extent));
  }
  return context.tensor_type(out, v.tensor().dtype());
}

kernel::Kernel lower(Context& context, const OpDef& op, const std::vector<Type>& types, const Attrs& attrs) {
  const std::vector<Type> result{infer(context, op, types, attrs)};
  const std::vector<const TensorType*> in_types = flatten(types), out_types = flatten(result);
  kernel::Builder k(context.pool());
  std::vector<kernel::Tensor> in;
  for (const TensorType* t : in_types) {
    std::vector<kernel::Expr> shape;
    for (Dim d : t->dims) shape.push_back(d.expr(context.pool()));
    in.push_back(k.input(cat("x", in.size()), t->dtype, shape));
  }
  k.set_operator(op.name);
  return k.finish("test", op.name, op.lower(k, attrs, Lowering{in, in_types, out_types, context.pool()}));
}

void check_lowering_of(const OpDef& op, const std::vector<Value>& args, const std::vector<AttrArg>& attrs,
                       Dims dims) {
  SCOPED_TRACE(cat(op.name, dims == Dims::kSymbolic ? " with symbolic dims" : ""));
  ASSERT_TRUE(op.lower) << "the operator has no lowering";
  Context context;
  const Attrs interned = context.attrs(attrs);
  std::vector<Type> types;
  for (const Value& v : args) types.push_back(lowered_type(context, v, dims));
  try {
    const kernel::Kernel k = lower(context, op, types, interned);
    const std::vector<Tensor> got = kernel::execute(k, flatten(args));
    const std::vector<Tensor> want = flatten(std::vector<Value>{evaluate(context, op, args, interned)});
    ASSERT_EQ(got.size(), want.size());
    const std::vector<Bound> allowed = bounds(context, op, args, interned, want);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_EQ(got[i].dtype(), want[i].dtype());
      ASSERT_EQ(got[i].shape(), want[i].shape());
      const Comparison c = compare(got[i], want[i], allowed[i]);
      EXPECT_TRUE(c.ok) << relay::show(c, want[i].shape()) << "\ngot " << relay::show(got[i]) << "\nwanted "
                        << relay::show(want[i]) << "\n"
                        << kernel::show(k);
    }
  } catch (const RelationError& error) {
    FAIL() << error.reason;
  }
}

void check_lowering(const OpDef& op, const std::vector<Value>& args, const std::vector<AttrArg>& attrs) {
  check_lowering_of(op, args, attrs, Dims::kConstant);
  check_lowering_of(op, args, attrs, Dims::kSymbolic);
}

}  // namespace relay::op::testing
