#include "frontend/onnx/loops.h"

#include "base/cat.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/rows.h"

namespace relay::frontend {
namespace {

using namespace op;

// While in scope, a step of this number is converted.
class InStep {
 public:
  InStep(std::vector<Expr>& steps, Expr number) : steps_(steps) { steps_.push_back(number); }
  ~InStep() { steps_.pop_back(); }
  InStep(const InStep&) = delete;

 private:
  std::vector<Expr>& steps_;
};

class LoopBuilder {
 public:
  LoopBuilder(Node& n, const LoopForm& form)
      : n_(n), form_(form), b_(n.builder()), context_(n.context()), number_(context_.scalar_type(kInt64)) {}

  std::optional<std::vector<Expr>> make();

 private:
  bool convert_body();
  bool widen();
  void collect(size_t i);
  Expr assemble();
  Expr pack(const std::vector<Expr>& parts) { return parts.size() == 1 ? parts[0] : b_.tuple(parts); }

  Node& n_;
  const LoopForm& form_;
  Builder& b_;
  Context& context_;
  Type number_;
  std::vector<Type> types_;  // of the states
  size_t widened_ = 0;       // how often
  // Of the last conversion of the body.
  const Var* i_ = nullptr;
  std::vector<const Var*> states_;
  Bindings inside_;
  LoopStep step_;
  std::vector<CollectedRows> rows_;
};

bool LoopBuilder::convert_body() {
  i_ = b_.var("i", number_);
  states_.clear();
  inside_ = {};
  const Importer::Inside inside(n_.importer(), n_.importer().scope(), inside_);
  std::vector<Expr> named;
  for (size_t i = 0; i < types_.size(); ++i) {
    const std::string name = cat(identifier(form_.name), "_s", i);
    states_.push_back(b_.var(name, types_[i]));
    named.push_back(n_.importer().name_extents(states_.back(), name));
  }
  const InStep in_step(n_.importer().steps(), i_);
  std::optional<LoopStep> step = form_.body(i_, named);
  if (!step) return false;
  step_ = std::move(*step);
  return true;
}

// Makes the types of the states such that a step keeps them. False if they do that already.
bool LoopBuilder::widen() {
  bool changed = false;
  for (size_t i = 0; i < types_.size(); ++i) {
    const Type after = inside_.outside(context_, step_.states[i]->type);
    if (after == types_[i]) continue;
    const auto *x = types_[i]->as<TensorType>(), *y = after ? after->as<TensorType>() : nullptr;
    if (!x || !y || x->rank() != y->rank() || x->dtype != y->dtype) {
      n_.unsupported(
          cat("its state ", i, " begins as ", show(types_[i], 80), " and becomes ", show(after, 80)),
          "states must keep their rank and dtype");
    }
    std::vector<Dim> dims;
    for (size_t k = 0; k < x->rank(); ++k)
      dims.push_back(x->dims[k] == y->dims[k] && widened_ < 2 ? x->dims[k] : Dim::unknown());
    const Type wider = context_.tensor_type(dims, x->dtype);
    changed = changed || wider != types_[i];
    types_[i] = wider;
  }
  ++widened_;
  return changed;
}

void LoopBuilder::collect(size_t i) {
  const Expr row = step_.rows[i];
  const auto* type = row->type ? row->type->as<TensorType>() : nullptr;
  if (!type) n_.unsupported("the rows that it collects are no tensors");
  std::vector<Dim> dims;
  for (Dim d : type->dims) dims.push_back(inside_.outside(d));
  const bool backwards = i < form_.backwards.size() && form_.backwards[i];
  rows_.emplace_back(n_, cat("rows", i), dims, type->dtype, backwards);
}

Expr LoopBuilder::assemble() {
  const bool asks = form_.go || step_.go;
  const auto truth = [&] { return b_.constant(Tensor::scalar_int(kBool, 1)); };
  const Var* go = b_.var("go", context_.scalar_type(kBool));

  std::vector<const Var*> params{i_};
  std::vector<Expr> first{b_.constant(Tensor::scalar_int(kInt64, 0))},
      next{n_.call(kAdd, {i_, b_.constant(Tensor::scalar_int(kInt64, 1))})}, done;
  const auto carry = [&](const Var* param, Expr at_first, Expr at_next) {
    params.push_back(param);
    first.push_back(at_first);
    next.push_back(at_next);
  };
  if (asks) carry(go, form_.go ? form_.go : truth(), step_.go ? step_.go : truth());
  for (size_t i = 0; i < states_.size(); ++i) {
    carry(states_[i], form_.states[i], step_.states[i]);
    done.push_back(states_[i]);
  }
  for (size_t i = 0; i < rows_.size(); ++i) {
    carry(rows_[i].list(), rows_[i].none(), rows_[i].with(step_.rows[i], i_));
    done.push_back(rows_[i].list());
  }
  if (done.empty()) n_.unsupported("it has neither states nor results");

  std::vector<Type> types, results;
  for (const Var* p : params) types.push_back(p->type);
  for (Expr e : done) results.push_back(e->type);
  const Type result = results.size() == 1 ? results[0] : context_.tuple_type(results);
  const Type function = context_.fn_type({}, types, result);
  const Var* step = b_.var(form_.name.empty() ? "loop" : cat("loop_", identifier(form_.name)), function);

  Expr test = asks ? go : nullptr;
  if (form_.trips) {
    const Expr within = n_.call(kLess, {i_, form_.trips});
    test = test ? n_.call(kLogicalAnd, {test, within}) : within;
  }
  if (!test) test = truth();
  const Expr again = inside_.enclose(b_, b_.call(step, next, {}, result));
  const Expr branch = b_.with_type(b_.if_(test, again, pack(done)), result);
  const Expr fn = b_.with_type(b_.fn(params, branch, result), function);
  // The function is bound where the loop stands; what follows uses the value of the whole.
  Expr whole = b_.let(step, fn, b_.call(step, first, {}, result));
  for (size_t i = form_.held.size(); i-- > 0;)
    whole = b_.let(form_.held[i].first, form_.held[i].second, whole);
  return whole;
}

std::optional<std::vector<Expr>> LoopBuilder::make() {
  for (Expr e : form_.states) types_.push_back(e->type);
  if (!convert_body()) return std::nullopt;
  while (widen()) {
    const Importer::Again again(n_.importer());
    if (!convert_body()) return std::nullopt;
  }
  for (size_t i = 0; i < step_.rows.size(); ++i) collect(i);
  const bool counted = !form_.go && !step_.go && !form_.count.is_unknown();
  const Expr whole = assemble();
  const size_t parts = states_.size() + rows_.size();
  std::vector<Expr> out;
  for (size_t i = 0; i < parts; ++i) {
    Expr part = parts == 1 ? whole : b_.proj(whole, static_cast<uint32_t>(i));
    if (i >= states_.size()) part = rows_[i - states_.size()].joined(part);
    const std::string name = cat(identifier(form_.name), "_", i);
    if (i < states_.size() || !counted) {
      out.push_back(n_.importer().name_extents(part, name));
      continue;
    }
    std::vector<Dim> wanted(type_of(part).rank(), Dim::unknown());
    wanted[0] = form_.count;
    out.push_back(n_.importer().match_extents(part, wanted, name));
  }
  return out;
}

}  // namespace

std::optional<std::vector<Expr>> make_loop(Node& n, const LoopForm& form) {
  return LoopBuilder(n, form).make();
}

Expr LoopForm::hold(Node& n, Expr value) {
  if (value->as<Var>() || value->as<Constant>()) return value;
  held.emplace_back(n.builder().var(cat(identifier(name), "_held"), value->type), value);
  return held.back().first;
}

NameScope held_scope(Node& n, const ::onnx::GraphProto& body, LoopForm& form) {
  NameScope out{{}, &n.importer().scope()};
  std::vector<std::string> names;
  for (const ::onnx::NodeProto& node : body.node()) {
    for_each_use(node, [&](const std::string& name) { names.push_back(name); });
  }
  for (const std::string& name : names) {
    Operand* from = out.outer->find(name);
    // What is closed may be known only as it is.
    if (!from || from->failed || from->closed || !from->expr || !from->expr->type || out.names.contains(name))
      continue;
    Operand inside = *from;
    inside.expr = form.hold(n, from->expr);
    out.names.emplace(name, std::move(inside));
  }
  return out;
}

Expr element(Node& n, Expr e, Expr i, int64_t axis) { return n.call(kTake, {e, i}, {{"axis", axis}}); }

Expr extent(Node& n, Expr e, int64_t axis) {
  const Dim d = dims_of(e)[static_cast<size_t>(axis)];
  if (d.is_const()) return n.builder().constant(Tensor::scalar_int(kInt64, d.value()));
  return element(n, n.call(kShapeOf, {e}, {{"dtype", kInt64}}),
                 n.builder().constant(Tensor::scalar_int(kInt64, axis)), 0);
}

// --- Loop ----------------------------------------------------------------------------------------

namespace {

// A scalar as the body declares it: some exporters write a tensor of one element.
Expr as_declared(Node& n, const ::onnx::ValueInfoProto& input, Expr scalar) {
  const bool vector =
      input.type().tensor_type().has_shape() && input.type().tensor_type().shape().dim_size() == 1;
  return vector ? n.reshape(scalar, {Dim(1)}) : scalar;
}

Expr one_bool(Node& n, Expr e, std::string_view what) {
  const auto* type = e->type ? e->type->as<TensorType>() : nullptr;
  n.require(type && type->dtype.is_bool() && type->rank() <= 1, cat(what, " must be one bool"));
  return n.reshape(e, {});
}

// The number of steps, if it is known not to be negative: then rows have it as their extent.
Dim count_of(Node& n) {
  const std::optional<IndexTensor> trips = n.index(0);
  if (!trips || trips->elements.size() != 1) return Dim::unknown();
  const Dim d = trips->elements[0];
  const bool variable = d.is_symbolic() && d.symbolic()->kind == kernel::ExprKind::kVar;
  return variable || (d.is_const() && d.value() >= 0) ? d : Dim::unknown();
}

bool is_true(Importer& importer, const Operand& o) {
  const std::optional<Tensor> t = importer.known(o);
  return t && t->dtype().is_bool() && t->size() == 1 && t->get_int(0) != 0;
}

}  // namespace

LoopParts parts_of_loop(Node& n) {
  const ::onnx::GraphProto& body = n.graph("body");
  const size_t states = n.inputs() > 2 ? n.inputs() - 2 : 0;
  n.require(static_cast<size_t>(body.input_size()) == states + 2,
            "the inputs of its body are not those that a loop gives it");
  n.require(static_cast<size_t>(body.output_size()) > states,
            "the outputs of its body are not those that a loop needs");
  const size_t scanned = static_cast<size_t>(body.output_size()) - states - 1;
  n.require(n.outputs() <= states + scanned, "it has more outputs than its body");
  return {body, states, scanned};
}

std::optional<std::vector<Operand>> convert_loop(Node& n) {
  Importer& importer = n.importer();
  const LoopParts loop = parts_of_loop(n);
  const ::onnx::GraphProto& body = loop.body;
  const size_t states = loop.states;

  LoopForm form;
  form.name = n.proto().name();
  if (n.has(0)) {
    const DType dtype = n.dtype(0);
    n.require(dtype == kInt64 && n.rank(0) <= 1, "its number of steps must be one int64");
    form.trips = form.hold(n, n.reshape(n.input(0), {}));
    form.count = count_of(n);
  }
  if (n.has(1)) {
    const Expr go = one_bool(n, n.input(1), "its condition");
    if (!is_true(importer, n.operand(1))) form.go = go;
  }
  // Of states, then of rows: what elements they are.
  std::vector<const data::Storage*> stored;
  for (size_t i = 0; i < states; ++i) {
    form.states.push_back(importer.carrier(n.operand(i + 2)));
    stored.push_back(n.operand(i + 2).storage);
  }
  NameScope around = held_scope(n, body, form);
  form.body = [&](Expr i, const std::vector<Expr>& now) -> std::optional<LoopStep> {
    NameScope scope{{}, &around};
    const auto define = [&](int at, Operand value) {
      scope.names.emplace(body.input(at).name(), std::move(value));
    };
    Operand number;
    number.expr = as_declared(n, body.input(0), i);
    define(0, std::move(number));
    // A step runs only if the condition holds.
    const bool vector =
        type_of(as_declared(n, body.input(1), n.builder().constant(Tensor::scalar_int(kBool, 1)))).rank() ==
        1;
    Tensor holds(kBool, vector ? Shape{1} : Shape{});
    holds.set_int(0, 1);
    define(1, importer.constant(std::move(holds)));
    for (size_t k = 0; k < states; ++k) {
      Operand state;
      state.expr = now[k];
      state.storage = stored[k];
      define(static_cast<int>(k) + 2, std::move(state));
    }
    std::optional<std::vector<Operand>> results = importer.import_subgraph(body, scope);
    if (!results) return std::nullopt;
    LoopStep step;
    if (!is_true(importer, (*results)[0]))
      step.go = one_bool(n, importer.materialise((*results)[0]), "the condition of its body");
    stored.resize(states);
    for (size_t k = 1; k < results->size(); ++k) {
      Operand& result = (*results)[k];
      (k <= states ? step.states : step.rows).push_back(importer.carrier(result));
      if (k > states) {
        stored.push_back(result.storage);
      } else if (result.storage != stored[k - 1]) {
        n.unsupported(cat("its state ", k - 1, " does not keep the type of its elements"),
                      "`Cast` gives elements another type");
      }
    }
    return step;
  };
  const std::optional<std::vector<Expr>> parts = make_loop(n, form);
  if (!parts) return std::nullopt;
  std::vector<Operand> out(parts->size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].expr = (*parts)[i];
    out[i].storage = stored[i];
  }
  return out;
}

}  // namespace relay::frontend
