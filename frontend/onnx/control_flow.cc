// If and Loop: graphs within nodes.
//
// A graph within a node sees the names around it, as the body of a function does; so
// its expressions simply use those of the graph around it, and become a branch or the
// body of a closure.
#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/sequences.h"
#include "ir/analysis.h"

namespace relay::frontend {
namespace {

using namespace op;

// Parts of a result: one is itself, several are a tuple.
Expr pack(Builder& b, const std::vector<Expr>& parts) {
  return parts.size() == 1 ? parts[0] : b.tuple(parts);
}

std::vector<Operand> unpack(Builder& b, Expr whole, size_t count) {
  std::vector<Operand> out(count);
  for (size_t i = 0; i < count; ++i)
    out[i].expr = count == 1 ? whole : b.proj(whole, static_cast<uint32_t>(i));
  return out;
}

std::optional<std::vector<Operand>> import_branch(Node& n, std::string_view name) {
  const ::onnx::GraphProto& graph = n.graph(name);
  if (graph.input_size() > 0) n.invalid(cat("its ", name, " has inputs"));
  NameScope scope{{}, &n.importer().scope()};
  return n.importer().import_subgraph(graph, scope);
}

// A type that values of both types have; null if there is none.
Type common_type(Context& context, Type a, Type b) {
  if (a == b) return a;
  const auto *x = a->as<TensorType>(), *y = b->as<TensorType>();
  if (!x || !y || x->rank() != y->rank() || x->dtype != y->dtype) return nullptr;
  std::vector<Dim> dims;
  for (size_t i = 0; i < x->rank(); ++i)
    dims.push_back(x->dims[i] == y->dims[i] ? x->dims[i] : Dim::unknown());
  return context.tensor_type(dims, x->dtype);
}

// Inputs by name, the first of them.
std::string names_of(const std::vector<const Var*>& inputs) {
  constexpr size_t kMostNames = 3;
  const std::span first(inputs.data(), std::min(inputs.size(), kMostNames));
  return cat(join(first, ", ", [](const Var* v) { return cat("`", printable(v->name.text()), "`"); }),
             inputs.size() > kMostNames ? ", ..." : "");
}

std::optional<std::vector<Operand>> convert_if(Node& n) {
  Importer& importer = n.importer();
  if (const std::optional<Tensor> condition = n.known(0)) {
    n.require(condition->size() == 1 && condition->dtype().is_bool(), "its condition must be one bool");
    return import_branch(n, condition->get_int(0) != 0 ? "then_branch" : "else_branch");
  }
  if (const std::optional<IndexTensor> condition = n.index(0);
      condition && condition->constant() && condition->elements.size() == 1) {
    return import_branch(n, condition->elements[0] != Dim(0) ? "then_branch" : "else_branch");
  }
  Builder& b = n.builder();
  Expr condition = n.input(0);
  n.require(type_of(condition).dtype.is_bool(), "its condition must be one bool");
  if (type_of(condition).rank() > 0) condition = n.reshape(condition, {});
  const Importer::Choice choice(importer, n.proto(), n.operand(0));
  std::optional<std::vector<Operand>> yes = import_branch(n, "then_branch"),
                                      no = import_branch(n, "else_branch");
  if (!yes || !no) return std::nullopt;
  n.require(yes->size() == no->size() && yes->size() == n.outputs(),
            "its branches and its outputs differ in number");
  const JoinedBranches joined(n, *yes, *no);
  std::vector<Expr> then_parts, else_parts;
  std::vector<Type> types;
  for (size_t i = 0; i < yes->size(); ++i) {
    then_parts.push_back(importer.materialise((*yes)[i]));
    else_parts.push_back(importer.materialise((*no)[i]));
    types.push_back(common_type(n.context(), then_parts[i]->type, else_parts[i]->type));
    if (!types.back()) {
      n.unsupported(cat("its branches give ", show(then_parts[i]->type, 80), " and ",
                        show(else_parts[i]->type, 80), ", and which one is not known"),
                    choice.remedy());
    }
  }
  const Type type = types.size() == 1 ? types[0] : n.context().tuple_type(types);
  const Expr whole = b.with_type(b.if_(condition, pack(b, then_parts), pack(b, else_parts)), type);
  return joined.rebuilt(unpack(b, whole, types.size()));
}

// Loop(trips, condition, states...) as a function that calls itself:
//
//   let step = fn(i, go, states..., scanned...) {
//     if (go && i < trips) { step(i + 1, body...) } else { (states..., scanned...) }
//   };
//   step(0, condition, states..., no rows yet...)
std::optional<std::vector<Operand>> convert_loop(Node& n) {
  Importer& importer = n.importer();
  Builder& b = n.builder();
  Context& context = n.context();
  const ::onnx::GraphProto& body = n.graph("body");
  const size_t states = n.inputs() > 2 ? n.inputs() - 2 : 0;
  n.require(static_cast<size_t>(body.input_size()) == states + 2,
            "the inputs of its body are not those that a loop gives it");
  n.require(static_cast<size_t>(body.output_size()) > states,
            "the outputs of its body are not those that a loop needs");
  const size_t scanned = static_cast<size_t>(body.output_size()) - states - 1;
  n.require(n.outputs() <= states + scanned, "it has more outputs than its body");

  // What the function takes: the number of the step, whether to go on, the states.
  const Type number = context.scalar_type(kInt64), truth = context.scalar_type(kBool);
  std::vector<Type> types{number, truth};
  std::vector<Expr> first{b.constant(Tensor::scalar_int(kInt64, 0)),
                          n.has(1) ? n.reshape(n.input(1), {}) : b.constant(Tensor::scalar_int(kBool, 1))};
  for (size_t i = 0; i < states; ++i) {
    first.push_back(n.input(i + 2));
    types.push_back(first.back()->type);
  }
  std::vector<const Var*> params;
  NameScope scope{{}, &importer.scope()};
  for (size_t i = 0; i < types.size(); ++i) {
    const std::string& name = body.input(static_cast<int>(i)).name();
    params.push_back(b.var(name.empty() ? "i" : name, types[i]));
    Operand value;
    value.expr = params.back();
    scope.names.emplace(name, std::move(value));
  }
  std::optional<std::vector<Operand>> results = importer.import_subgraph(body, scope);
  if (!results) return std::nullopt;
  std::vector<Expr> parts;
  for (Operand& r : *results) parts.push_back(importer.materialise(r));
  for (size_t i = 0; i < states; ++i) {
    if (parts[i + 1]->type == types[i + 2]) continue;
    n.unsupported(cat("its state ", i, " begins as ", show(types[i + 2], 80), " and becomes ",
                      show(parts[i + 1]->type, 80)),
                  "states must keep their shapes");
  }
  n.require(type_of(parts[0]).dtype.is_bool(), "the condition of its body must be one bool");

  // Rows that are collected: an extent grows by one each step, so it is not known.
  std::vector<Type> row_types;
  for (size_t i = 0; i < scanned; ++i) {
    const Expr row = parts[states + 1 + i];
    std::vector<Dim> dims = dims_of(row);
    if (std::any_of(dims.begin(), dims.end(), [](Dim d) { return d.is_unknown(); })) {
      n.unsupported("the shape of the rows that it collects depends on the data");
    }
    std::vector<Dim> none = dims;
    none.insert(none.begin(), Dim(0));
    first.push_back(
        n.call(kZeros, std::span<const Expr>(), {{"shape", none}, {"dtype", type_of(row).dtype}}));
    dims.insert(dims.begin(), Dim::unknown());
    row_types.push_back(context.tensor_type(dims, type_of(row).dtype));
    params.push_back(b.var(cat("rows", i), row_types.back()));
    types.push_back(row_types.back());
  }

  std::vector<Type> result_types(types.begin() + 2, types.end());
  const Type result = result_types.size() == 1 ? result_types[0] : context.tuple_type(result_types);
  const Type function = context.fn_type({}, types, result);
  const Var* step =
      b.var(cat("loop", n.proto().name().empty() ? "" : "_", identifier(n.proto().name())), function);

  std::vector<Expr> next{n.call(kAdd, {params[0], b.constant(Tensor::scalar_int(kInt64, 1))}),
                         n.reshape(parts[0], {})};
  for (size_t i = 0; i < states; ++i) next.push_back(parts[i + 1]);
  for (size_t i = 0; i < scanned; ++i) {
    const Expr row = n.expand_dims(parts[states + 1 + i], 0);
    next.push_back(n.call(kConcatenate, {b.tuple({params[states + 2 + i], row})}, {{"axis", int64_t{0}}}));
  }
  Expr go = params[1];
  if (n.has(0)) {
    const Expr trips = n.reshape(n.input(0), {});
    go = n.call(kLogicalAnd, {go, n.call(kLess, {params[0], trips})});
  }
  std::vector<Expr> done(params.begin() + 2, params.end());
  if (done.empty()) n.unsupported("it has neither states nor results");
  const Expr again = b.call(step, next, {}, result);
  const Expr branch = b.with_type(b.if_(go, again, pack(b, done)), result);
  const Expr fn = b.with_type(b.fn(params, branch, result), function);
  // The function is bound where the loop stands; what follows uses the value of the whole.
  const Expr call = b.call(step, first, {}, result);
  const Expr whole = b.let(step, fn, call);
  return unpack(b, whole, result_types.size());
}

}  // namespace

Importer::Choice::Choice(Importer& importer, const ::onnx::NodeProto& node, Operand& condition)
    : importer_(importer), node_(node), condition_(condition) {
  importer_.choices_.push_back(this);
}

std::string Importer::Choice::remedy() const {
  if (condition_.index) return "shapes say which branch is taken: fix dynamic axes with --input-shapes";
  std::vector<const Var*> inputs = free_vars(condition_.expr);
  std::erase_if(inputs, [&](const Var* v) { return !importer_.switches_.contains(v); });
  if (inputs.empty()) return {};
  return cat(inputs.size() == 1 ? "input " : "inputs ", names_of(inputs),
             inputs.size() == 1 ? " says" : " say",
             " which branch is taken; what is always the same may be fixed with --fix-input NAME=VALUE");
}

bool is_control_flow(std::string_view name) { return name == "If" || name == "Loop"; }

std::optional<std::vector<Operand>> convert_control_flow(Node& n) {
  if (n.proto().op_type() == "If") return convert_if(n);
  for (size_t i = 2; i < n.inputs(); ++i) {
    if (n.has(i) && is_composite(n.operand(i))) return convert_loop_of_composites(n);
  }
  return convert_loop(n);
}

}  // namespace relay::frontend
