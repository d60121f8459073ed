#include "frontend/onnx/importer.h"

#include <algorithm>

#include "base/cat.h"
#include "base/failure.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/names.h"
#include "op/registry.h"

namespace relay::frontend {
namespace {

constexpr int64_t kOldestOpset = 7, kNewestOpset = 21;

// A model can multiply symbols with each other until a dim has millions of terms. No honest shape is like that.
bool manageable(Dim d) {
  constexpr size_t kMostParts = 512;
  if (!d.is_symbolic()) return true;
  std::vector<const kernel::ExprNode*> pending{d.symbolic().get()};
  size_t parts = 0;
  while (!pending.empty()) {
    const kernel::ExprNode* e = pending.back();
    pending.pop_back();
    parts += 1 + e->args.size();
    if (parts > kMostParts) return false;
    pending.insert(pending.end(), e->args.begin(), e->args.end());
  }
  return true;
}

bool manageable(const Operand& o) {
  bool ok = true;
  if (o.index) {
    for (Dim d : o.index->elements) ok = ok && manageable(d);
  }
  const auto* type = o.expr && o.expr->type ? o.expr->type->as<TensorType>() : nullptr;
  if (type && type->has_symbolic_dim) {
    for (Dim d : type->dims) ok = ok && manageable(d);
  }
  return ok;
}

// About how much arithmetic it is to evaluate a call with so many elements.
int64_t work_of(const op::OpDef& op, int64_t largest_argument, int64_t results) {
  const bool sums = op.fusion >= op::Fusion::kReduction || op.expand;
  return sums ? results * std::max<int64_t>(1, largest_argument) : results + largest_argument;
}

}  // namespace

Importer::Importer(const ::onnx::ModelProto& model, const std::string& name, const std::string* folder,
                   const Module& empty, const ImportOptions& options, Diagnostics& diagnostics)
    : model_(model),
      name_(name),
      folder_(folder),
      module_(empty),
      options_(options),
      diagnostics_(diagnostics),
      builder_(module_.context()) {}

Result<Module> Importer::run() {
  if (!check_versions()) return kReported;
  // All that cannot be imported is reported before anything else fails because of it.
  const bool known_operators = list_nodes();

  NameScope scope;
  scope_ = &scope;
  std::vector<const Var*> params;
  if (!read_initialisers(model_.graph(), scope) || !declare_inputs(params)) return kReported;
  std::optional<std::vector<Operand>> outputs = import_graph(model_.graph(), scope);
  if (!outputs || !known_operators || diagnostics_.has_errors()) return kReported;

  std::vector<Expr> results;
  std::vector<std::string> input_names, output_names;
  try {
    for (Operand& o : *outputs) results.push_back(materialise(o));
  } catch (const Refusal& refusal) {
    diagnostics_.error(Span::none(), refusal.slug, cat("an output of `", name_, "`: ", refusal.reason));
    return kReported;
  }
  for (const ::onnx::ValueInfoProto& o : model_.graph().output()) output_names.push_back(o.name());
  for (const Var* p : params) input_names.push_back(p->name.str());
  if (results.empty()) {
    diagnostics_.error(Span::none(), "onnx-invalid", cat("`", name_, "` has no outputs"));
    return kReported;
  }
  const Expr body = results.size() == 1 ? results[0] : builder_.tuple(results);
  const Attrs attrs = context().attrs({{"input_names", input_names}, {"output_names", output_names}});
  Module out = module_;
  out.set_function("main", builder_.fn(params, body, nullptr, attrs));
  return out;
}

bool Importer::check_versions() {
  if (!model_.has_graph()) {
    diagnostics_.error(Span::none(), "onnx-invalid", cat("`", name_, "` is no ONNX model: it has no graph"));
    return false;
  }
  for (const ::onnx::OperatorSetIdProto& set : model_.opset_import()) {
    const std::string domain = set.domain() == "ai.onnx" ? "" : set.domain();
    opsets_[domain] = set.version();
  }
  const auto own = opsets_.find("");
  if (own == opsets_.end()) {
    if (!opsets_.empty()) return true;  // only other domains: each node will be refused by name
    diagnostics_.error(Span::none(), "onnx-invalid",
                       cat("`", name_, "` does not say which operator set it uses"));
    return false;
  }
  if (own->second < kOldestOpset || own->second > kNewestOpset) {
    diagnostics_
        .error(Span::none(), "unsupported-opset",
               cat("`", name_, "` uses version ", own->second, " of ONNX's operator set; ", kOldestOpset,
                   " to ", kNewestOpset, " are supported"))
        .note("convert the model with onnx.version_converter, or export it again for such a version");
    return false;
  }
  return true;
}

int64_t Importer::opset_of(const ::onnx::NodeProto& proto) const {
  const auto it = opsets_.find(proto.domain() == "ai.onnx" ? "" : proto.domain());
  return it == opsets_.end() ? 0 : it->second;
}

Span Importer::span_of(const ::onnx::NodeProto& node) const {
  const auto it = spans_.find(&node);
  return it == spans_.end() ? Span::none() : it->second;
}

Tensor Importer::tensor(const ::onnx::TensorProto& proto) {
  Diagnostics own;
  Result<Tensor> t = data::tensor_of(proto, name_, folder_, builder_.span(), own);
  if (t.ok()) return *t;
  const Diagnostic& first = own.all().front();
  throw Refusal{first.slug(), first.message(), {}};
}

Operand Importer::constant(Tensor value) {
  Operand out;
  out.expr = builder_.constant(std::move(value));
  out.closed = true;
  return out;
}

Operand Importer::operand(IndexTensor index) {
  Operand out;
  out.closed = index.constant();
  out.index = std::move(index);
  return out;
}

bool Importer::read_initialisers(const ::onnx::GraphProto& graph, NameScope& scope) {
  bool ok = true;
  if (graph.sparse_initializer_size() > 0) {
    diagnostics_
        .error(Span::none(), "unsupported-tensor",
               cat("`", name_, "` has sparse initialisers, which are not supported"))
        .note("save its weights as dense tensors");
    ok = false;
  }
  for (const ::onnx::TensorProto& proto : graph.initializer()) {
    Result<Tensor> t = data::tensor_of(proto, name_, folder_, Span::none(), diagnostics_);
    ok = ok && t.ok();
    if (!t) continue;
    Operand value = constant(std::move(*t));
    if (proto.name().empty() || !scope.names.emplace(proto.name(), std::move(value)).second) {
      diagnostics_.error(
          Span::none(), "onnx-invalid",
          cat("`", name_, "`: there are two initialisers called `", printable(proto.name()), "`"));
      ok = false;
    }
  }
  return ok;
}

std::optional<std::vector<Operand>> Importer::import_graph(const ::onnx::GraphProto& graph,
                                                           NameScope& scope) {
  NameScope* const before = scope_;
  scope_ = &scope;
  for (const ::onnx::NodeProto& node : graph.node()) convert(node);
  std::vector<Operand> out;
  bool ok = true;
  for (const ::onnx::ValueInfoProto& o : graph.output()) {
    Operand* found = scope.find(o.name());
    if (!found) {
      diagnostics_.error(Span::none(), "onnx-invalid",
                         cat("`", name_, "`: nothing defines the output `", printable(o.name()), "`"));
      ok = false;
    } else if (found->failed) {
      ok = false;
    } else {
      out.push_back(*found);
    }
  }
  scope_ = before;
  if (!ok) return std::nullopt;
  return out;
}

std::optional<std::vector<Operand>> Importer::import_subgraph(const ::onnx::GraphProto& graph,
                                                              NameScope& scope) {
  if (!read_initialisers(graph, scope)) return std::nullopt;
  return import_graph(graph, scope);
}

void Importer::report(const ::onnx::NodeProto& proto, const Refusal& refusal) {
  Diagnostic& d = diagnostics_.error(
      span_of(proto), refusal.slug,
      cat("`", printable(proto.op_type()), "`",
          proto.name().empty() ? "" : cat(" (node `", printable(proto.name()), "`)"), ": ", refusal.reason));
  if (!refusal.remedy.empty()) d.note(refusal.remedy);
}

void Importer::convert(const ::onnx::NodeProto& proto) {
  const SpanScope span(builder_, span_of(proto));
  std::vector<Operand*> inputs;
  bool failed = false;
  for (const std::string& name : proto.input()) {
    inputs.push_back(name.empty() ? nullptr : scope_->find(name));
    if (!name.empty() && !inputs.back()) {
      report(proto,
             {"onnx-invalid", cat("it uses `", printable(name), "`, which nothing before it defines"), {}});
      failed = true;
    }
    failed = failed || (inputs.back() && inputs.back()->failed);
  }
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();

  const int64_t opset = opset_of(proto);
  const bool own = proto.domain().empty() || proto.domain() == "ai.onnx";
  const Row* row = own ? find_row(proto.op_type(), opset) : nullptr;
  std::optional<std::vector<Operand>> results;
  if (!failed && (row || (own && is_control_flow(proto.op_type())))) {
    Node node(*this, proto, opset, inputs);
    try {
      results = row ? results_of(node, *row) : convert_control_flow(node);
      failed = !results;
      for (size_t i = failed ? node.outputs() : results->size(); i < node.outputs(); ++i) {
        if (node.wants(i))
          node.unsupported(
              cat("its output `", printable(proto.output(static_cast<int>(i))), "` is not supported"));
      }
      for (size_t i = 0; results && i < results->size(); ++i) {
        if (manageable((*results)[i])) continue;
        throw Refusal{"limit-dims", "the shape of its result is too complicated an expression", {}};
      }
    } catch (const Refusal& refusal) {
      report(proto, refusal);
      results.reset();
    } catch (const op::RelationError& error) {
      std::string types = join(inputs, ", ", [](const Operand* o) {
        return o ? o->expr ? show(o->expr->type, 80) : std::string("a shape") : std::string("nothing");
      });
      report(proto, {"onnx-type-error", cat(error.reason, " (its inputs: ", types, ")"), {}});
      results.reset();
    } catch (const Exhausted& limit) {
      report(proto, {"limit-memory", limit.what(), {}});
      results.reset();
    } catch (const std::bad_alloc&) {
      report(proto, {"limit-memory", "there is not enough memory for it", {}});
      results.reset();
    }
  }
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    Operand value;
    value.failed = true;
    if (results && static_cast<size_t>(i) < results->size())
      value = std::move((*results)[static_cast<size_t>(i)]);
    if (!scope_->names.emplace(proto.output(i), std::move(value)).second) {
      report(proto, {"onnx-invalid",
                     cat("it defines `", printable(proto.output(i)), "`, which is defined already"),
                     {}});
    }
  }
}

std::optional<std::vector<Operand>> Importer::results_of(Node& node, const Row& row) {
  bool closed = true;
  for (size_t i = 0; i < node.inputs(); ++i) closed = closed && (!node.has(i) || node.operand(i).closed);

  std::optional<std::vector<IndexTensor>> known = evaluate_index(node);
  const bool complete =
      known && std::all_of(known->begin(), known->end(), [](const IndexTensor& t) { return t.complete(); });
  std::vector<Operand> out;
  if (complete) {
    for (IndexTensor& t : *known) out.push_back(operand(std::move(t)));
    return out;
  }
  const Results results = row.convert(node);
  for (size_t i = 0; i < results.size(); ++i) {
    Operand o;
    o.expr = results[i];
    o.closed = closed;
    if (known && i < known->size()) o.index = std::move((*known)[i]);
    out.push_back(std::move(o));
  }
  return out;
}

// --- What is known -----------------------------------------------------------------------------------------------

Expr Importer::materialise(Operand& operand) {
  if (operand.expr) return operand.expr;
  const IndexTensor& index = *operand.index;
  if (index.constant()) return operand.expr = builder_.constant(tensor_of(index));
  std::vector<Expr> parts;
  for (Dim d : index.elements)
    parts.push_back(
        op::call(builder_, op::kReshape, {materialise(d)}, {{"newshape", std::vector<int64_t>{1}}}));
  Expr e = parts.size() == 1
               ? parts[0]
               : op::call(builder_, op::kConcatenate, {builder_.tuple(parts)}, {{"axis", int64_t{0}}});
  if (index.shape.size() != 1) e = op::call(builder_, op::kReshape, {e}, {{"newshape", index.shape}});
  if (index.dtype != kInt64) e = op::call(builder_, op::kCast, {e}, {{"dtype", index.dtype}});
  return operand.expr = e;
}

Expr Importer::materialise(Dim dim) {
  const auto integer = [&](int64_t v) -> Expr { return builder_.constant(Tensor::scalar_int(kInt64, v)); };
  if (dim.is_const()) return integer(dim.value());
  // Children first, without recursion: a model may nest dims as deeply as it likes.
  std::unordered_map<const kernel::ExprNode*, Expr> done;
  std::vector<std::pair<const kernel::ExprNode*, bool>> pending{{dim.symbolic().get(), false}};
  while (!pending.empty()) {
    const auto [e, ready] = pending.back();
    pending.pop_back();
    if (done.contains(e)) continue;
    if (!ready && !e->args.empty()) {
      pending.emplace_back(e, true);
      for (const kernel::ExprNode* a : e->args) pending.emplace_back(a, false);
      continue;
    }
    std::vector<Expr> args;
    for (const kernel::ExprNode* a : e->args) args.push_back(done.at(a));
    const auto fold = [&](const op::OpDef& op) {
      Expr sum = args[0];
      for (size_t i = 1; i < args.size(); ++i) sum = op::call(builder_, op, {sum, args[i]});
      return sum;
    };
    switch (e->kind) {
      case kernel::ExprKind::kInt: done[e] = integer(e->int_value); break;
      case kernel::ExprKind::kVar: {
        const auto place = places_.find(e);
        if (place == places_.end())
          throw Refusal{"unsupported-operator-form",
                        cat("the extent `", show(dim), "` is needed as a number, and no input has it"),
                        {}};
        const Expr shape = op::call(builder_, op::kShapeOf, {place->second.param}, {{"dtype", kInt64}});
        done[e] = op::call(builder_, op::kTake, {shape, integer(place->second.axis)}, {{"axis", int64_t{0}}});
        break;
      }
      case kernel::ExprKind::kAdd: done[e] = fold(op::kAdd); break;
      case kernel::ExprKind::kMul: done[e] = fold(op::kMultiply); break;
      case kernel::ExprKind::kFloorDiv: done[e] = fold(op::kFloorDivide); break;
      case kernel::ExprKind::kFloorMod: done[e] = fold(op::kFloorMod); break;
      case kernel::ExprKind::kMin: done[e] = fold(op::kMinimum); break;
      case kernel::ExprKind::kMax: done[e] = fold(op::kMaximum); break;
      default:
        throw Refusal{
            "unsupported-operator-form", cat("the extent `", show(dim), "` is needed as a number"), {}};
    }
  }
  return done.at(dim.symbolic().get());
}

std::optional<Tensor> Importer::known(const Operand& operand) {
  constexpr int64_t kMostElements = 1 << 20;  // more is no parameter of an operator
  if (!operand.expr) {
    if (operand.index && operand.index->constant()) return tensor_of(*operand.index);
    return std::nullopt;
  }
  if (const auto* constant = operand.expr->as<Constant>()) return *constant->value;
  if (!operand.closed) return std::nullopt;

  // The number of elements, or nothing if there are too many.
  const auto elements = [&](Type t) -> std::optional<int64_t> {
    int64_t all = 0;
    for (const TensorType* part : op::flatten(std::span<const Type>(&t, 1))) {
      const std::optional<Shape> shape = part->static_shape();
      const std::optional<int64_t> count = shape ? element_count(*shape) : std::nullopt;
      if (!count || *count > kMostElements) return std::nullopt;
      all += *count;
    }
    return all;
  };
  // Evaluates what was not tried yet, children first; a null value says that it cannot be done.
  const auto evaluate = [&](Expr e) -> relay::Value {
    if (const auto* constant = e->as<Constant>()) return relay::Value(*constant->value);
    if (const auto* tuple = e->as<Tuple>()) {
      std::vector<relay::Value> fields;
      for (Expr f : tuple->fields) {
        fields.push_back(evaluated_[f]);
        if (!fields.back()) return {};
      }
      return relay::Value::tuple(std::move(fields));
    }
    if (const auto* proj = e->as<Proj>()) {
      const relay::Value& whole = evaluated_[proj->tuple];
      return whole ? whole.fields()[proj->index] : relay::Value();
    }
    const auto* call = e->as<Call>();
    const op::OpDef* op = call ? op::callee(*call) : nullptr;
    if (!op || op->effects == op::Effects::kEffect || !e->type) return {};
    const std::optional<int64_t> results = elements(e->type);
    if (!results) return {};
    int64_t largest = 0;
    std::vector<relay::Value> args;
    for (Expr a : call->args) {
      args.push_back(evaluated_[a]);
      if (!args.back()) return {};
      for (const Tensor& t : op::flatten(std::span<const relay::Value>(&args.back(), 1)))
        largest = std::max(largest, t.size());
    }
    // A model may ask for more arithmetic than anybody wants to wait for: then nothing more is known.
    if (largest > kMostElements || work_of(*op, largest, *results) > evaluation_budget_) return {};
    evaluation_budget_ -= work_of(*op, largest, *results);
    try {
      return op::evaluate(context(), *op, args, call->attrs);
    } catch (const Trap&) {
      return {};  // it will trap when the program runs
    } catch (const Exhausted&) {
      return {};
    }
  };
  std::vector<std::pair<Expr, bool>> pending{{operand.expr, false}};
  while (!pending.empty()) {
    const auto [e, ready] = pending.back();
    pending.pop_back();
    if (tried_[e]) continue;
    if (ready) {
      tried_[e] = true;
      evaluated_[e] = evaluate(e);
      continue;
    }
    pending.emplace_back(e, true);
    if (const auto* call = e->as<Call>()) {
      for (Expr a : call->args) pending.emplace_back(a, false);
    } else if (const auto* tuple = e->as<Tuple>()) {
      for (Expr f : tuple->fields) pending.emplace_back(f, false);
    } else if (const auto* proj = e->as<Proj>()) {
      pending.emplace_back(proj->tuple, false);
    }
  }
  const relay::Value& value = evaluated_[operand.expr];
  if (!value || !value.is_tensor()) return std::nullopt;
  return value.tensor();
}

std::optional<IndexTensor> Importer::index(Operand& operand) {
  if (operand.index) return operand.index;
  if (!operand.closed || !operand.expr->type) return std::nullopt;
  const auto* type = operand.expr->type->as<TensorType>();
  const std::optional<Shape> shape = type ? type->static_shape() : std::nullopt;
  const std::optional<int64_t> count = shape ? element_count(*shape) : std::nullopt;
  if (!count || *count > kMaxIndexElements) return std::nullopt;
  if (const std::optional<Tensor> value = known(operand)) operand.index = index_of(*value);
  return operand.index;
}

}  // namespace relay::frontend
