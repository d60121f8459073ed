#include "frontend/onnx/importer.h"

#include <algorithm>
#include <utility>

#include "base/cat.h"
#include "base/failure.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/schema.h"
#include "frontend/onnx/sequences.h"
#include "frontend/onnx/stored.h"
#include "frontend/onnx/texts.h"
#include "frontend/onnx/usage.h"
#include "op/registry.h"

namespace relay::frontend {
namespace {

constexpr int64_t kOldestOpset = 1;

// Owns the bytes of one tensor of a model. They go with it, and the rest of the model stays: a pass
// that replaces some weights frees them. Nothing reads the tensor's bytes again.
std::shared_ptr<const void> owner_of_bytes(std::shared_ptr<const ::onnx::ModelProto> model,
                                           const ::onnx::TensorProto& proto) {
  return {&proto, [model = std::move(model)](const ::onnx::TensorProto* p) {
            delete const_cast<::onnx::TensorProto*>(p)->release_raw_data();
          }};
}

// "Tensor[(2), float32], a shape", for messages about a node with these inputs.
std::string types_of(const std::vector<Operand*>& inputs) {
  constexpr size_t kMost = 8;
  const std::vector<Operand*> shown(inputs.begin(), inputs.begin() + std::min(inputs.size(), kMost));
  const std::string types = join(shown, ", ", [](const Operand* o) {
    return o ? o->expr ? show(o->expr->type, 80) : std::string("a shape") : std::string("nothing");
  });
  return inputs.size() > kMost ? types + ", ..." : types;
}

// What is refused of a form that is not supported, with the types that it has.
Refusal with_types(Refusal refusal, const std::vector<Operand*>& inputs) {
  if (inputs.empty() || refusal.slug != "unsupported-operator-form") return refusal;
  refusal.reason += cat(" (its inputs: ", types_of(inputs), ")");
  return refusal;
}

}  // namespace

Importer::Importer(std::shared_ptr<const ::onnx::ModelProto> model, const std::string& name,
                   const std::string* folder, const Module& empty, const ImportOptions& options,
                   Diagnostics& diagnostics)
    : model_(*model),
      name_(name),
      folder_(folder),
      empty_(empty),
      module_(empty),
      options_(options),
      diagnostics_(diagnostics),
      builder_(module_.context()),
      sink_(&diagnostics),
      owner_(std::move(model)) {}

Result<Module> Importer::run() {
  if (!check_versions()) return kReported;
  // All that cannot be imported is reported before anything else fails because of it.
  const bool known_operators = list_nodes();
  if (!known_operators && spans_.empty()) return kReported;  // a limit

  NameScope scope;
  scope_ = &scope;
  std::vector<const Var*> params;
  if (!read_initialisers(model_.graph(), scope) || !declare_inputs(params)) return kReported;
  std::optional<std::vector<Operand>> outputs = import_graph(model_.graph(), scope);
  if (!outputs || !known_operators || diagnostics_.has_errors()) return kReported;

  std::vector<Expr> results;
  std::vector<std::string> input_names, output_names;
  try {
    for (size_t i = 0; i < outputs->size(); ++i)
      name_outputs(model_.graph().output(static_cast<int>(i)).name(), (*outputs)[i], results, output_names);
  } catch (const Refusal& refusal) {
    diagnostics_.error(Span::none(), refusal.slug, cat("an output of `", name_, "`: ", refusal.reason));
    return kReported;
  }
  for (const Var* p : params) input_names.push_back(p->name.str());
  if (outputs->empty()) {
    diagnostics_.error(Span::none(), "onnx-no-outputs", cat("`", name_, "` has no outputs"))
        .note("declare what the model computes as outputs of its graph");
    return kReported;
  }
  const Expr body = top_.enclose(builder_, results.size() == 1 ? results[0] : builder_.tuple(results));
  std::vector<AttrArg> named;
  named.push_back({"input_names", std::move(input_names)});
  named.push_back({"output_names", std::move(output_names)});
  const Attrs attrs = context().attrs(named);
  Module out = module_;
  out.set_function("main", builder_.fn(params, body, nullptr, attrs));
  return module_.data_types().empty() && module_.kernels().empty() ? out : without_unused(out);
}

bool Importer::check_versions() {
  if (!model_.has_graph()) {
    diagnostics_.error(Span::none(), "onnx-no-graph", cat("`", name_, "` is no ONNX model: it has no graph"));
    return false;
  }
  model_opsets_ = opsets_of(model_.opset_import());
  if (!functions_.read(model_, model_opsets_, name_, diagnostics_)) return false;
  bool ok = true;
  for (const ModelFunction* f : functions_.called())
    ok = check_opsets(f->opsets, cat("function `", show_name(*f->proto), "` of `", name_, "`")) && ok;
  if (model_opsets_.empty()) {
    diagnostics_
        .error(Span::none(), "onnx-no-opset", cat("`", name_, "` does not say which operator set it uses"))
        .note("export the model again: what its operators mean depends on the version of their set");
    return false;
  }
  return check_opsets(model_opsets_, cat("`", name_, "`")) && ok;
}

bool Importer::check_opsets(const Opsets& opsets, std::string_view whose) {
  for (const auto& [domain, version] : opsets) {
    const int64_t newest = newest_version(domain);
    if (newest == 0 || (version >= kOldestOpset && version <= newest)) continue;
    diagnostics_
        .error(Span::none(), "unsupported-opset",
               cat(whose, " uses version ", version, " of ONNX's operator set",
                   domain.empty() ? "" : cat(" `", printable(domain), "`"), "; ", kOldestOpset, " to ",
                   newest, " are supported"))
        .note("convert the model with onnx.version_converter, or export it again for such a version");
    return false;
  }
  return true;
}

bool Importer::uses(const std::string& name) const {
  std::vector<const ::onnx::GraphProto*> open{&model_.graph()};
  while (!open.empty()) {
    const ::onnx::GraphProto& graph = *open.back();
    open.pop_back();
    for (const ::onnx::ValueInfoProto& output : graph.output()) {
      if (output.name() == name) return true;
    }
    for (const ::onnx::NodeProto& node : graph.node()) {
      if (std::find(node.input().begin(), node.input().end(), name) != node.input().end()) return true;
      for (const ::onnx::AttributeProto& a : node.attribute()) {
        if (a.has_g()) open.push_back(&a.g());
        for (const ::onnx::GraphProto& inner : a.graphs()) open.push_back(&inner);
      }
    }
  }
  return false;
}

Span Importer::span_of(const ::onnx::NodeProto& node) const {
  const auto it = spans_.find(&node);
  return it == spans_.end() ? Span::none() : it->second;
}

Tensor Importer::tensor(const ::onnx::TensorProto& proto) {
  if (const data::Storage* storage = data::storage_of_onnx(proto.data_type())) throw no_arithmetic(*storage);
  return carrier(proto);
}

Tensor Importer::carrier(const ::onnx::TensorProto& proto) {
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
  const bool in_model = &graph == &model_.graph();           // not a part of a function's body
  std::optional<std::unordered_set<std::string_view>> used;  // looked up where there is text
  for (const ::onnx::TensorProto& proto : graph.initializer()) {
    if (proto.data_type() == ::onnx::TensorProto::STRING) {
      if (!used) used = used_names(graph);
      if (!used->contains(proto.name())) continue;
      diagnostics_
          .error(Span::none(), "unsupported-dtype",
                 cat("tensor `", printable(proto.name()), "` of `", name_,
                     "` has elements of type STRING, which is not supported"))
          .note(in_model ? remedy_for_texts(graph, proto.name(), name_)
                         : "keep the texts beside the model, and begin it where numbers are made of them");
      ok = false;
      continue;
    }
    Result<Tensor> t = data::tensor_of(proto, name_, folder_, Span::none(), diagnostics_,
                                       in_model ? owner_of_bytes(owner_, proto) : nullptr);
    ok = ok && t.ok();
    if (!t) continue;
    Operand value = constant(std::move(*t));
    value.storage = data::storage_of_onnx(proto.data_type());
    if (proto.name().empty() || !scope.names.emplace(proto.name(), std::move(value)).second) {
      diagnostics_.error(
          Span::none(), "onnx-redefined-value",
          cat("`", name_, "`: there are two initialisers called `", printable(proto.name()), "`"));
      ok = false;
    }
  }
  return ok;
}

Diagnostic& Importer::describe(const ::onnx::NodeProto& proto, const Refusal& refusal, Diagnostics& sink) {
  Diagnostic& d = sink.error(
      span_of(proto), refusal.slug,
      cat("`", printable(proto.op_type()), "`",
          proto.name().empty() ? "" : cat(" (node `", printable(proto.name()), "`)"), ": ", refusal.reason));
  if (!refusal.remedy.empty()) d.note(refusal.remedy);
  if (call_) d.note(place_of(*call_));
  // A remedy is looked for only where it will be read.
  if (choices_.empty() || sink.errors() > Diagnostics::kMaxKept) return d;
  const auto note = [&](const Fork& choice) {
    const std::string remedy = remedy_of(choice.condition), &name = choice.node->name();
    if (remedy.empty()) return;
    d.note(cat("it is in a branch of `", printable(choice.node->op_type()), "`",
               name.empty() ? "" : cat(" (node `", printable(name), "`)"), ": ", remedy));
  };
  note(*choices_.front());
  // The innermost one may be what makes it wrong: types differ there.
  if (choices_.size() > 1) note(*choices_.back());
  return d;
}

uint32_t Importer::refusal_behind(const ::onnx::NodeProto& proto, size_t before) {
  if (refused_.size() > before) return static_cast<uint32_t>(before + 1);
  uint32_t first = 0;
  for_each_use(proto, [&](const std::string& name) {
    const Operand* o = scope_->find(name);
    if (o && o->refusal != 0 && (first == 0 || o->refusal < first)) first = o->refusal;
  });
  return first;
}

void Importer::convert(const ::onnx::NodeProto& proto) {
  if (!call_ || !refers_to_attributes(proto)) return convert_resolved(proto);
  const ::onnx::NodeProto resolved = with_attributes(proto, *call_);
  const auto place = spans_.emplace(&resolved, span_of(proto)).first;
  convert_resolved(resolved);
  spans_.erase(place);
}

void Importer::convert_resolved(const ::onnx::NodeProto& proto) {
  const SpanScope span(builder_, span_of(proto));
  std::vector<Operand*> inputs;
  bool failed = false;
  for (const std::string& name : proto.input()) {
    Operand* found = name.empty() ? nullptr : scope_->find(name);
    inputs.push_back(found && found->absent ? nullptr : found);
    if (!name.empty() && !found) {
      report(proto,
             {"onnx-undefined-value", cat("it uses `", printable(name), "`, which nothing before it defines"),
              "the nodes of a graph stand in the order in which they are computed"});
      failed = true;
    }
    failed = failed || (inputs.back() && inputs.back()->failed);
  }
  while (!inputs.empty() && !inputs.back()) inputs.pop_back();

  const int64_t opset = opset_in(*opsets_, proto);
  const ModelFunction* function = function_of(proto);
  const Row* row = find_row(full_name(proto), opset);
  std::optional<std::vector<Operand>> results;
  const size_t before = refused_.size();
  if (!failed && (function || row || is_control_flow(full_name(proto)) ||
                  is_composite_operator(full_name(proto), opset))) {
    Node node(*this, proto, opset, inputs);
    try {
      if (!function) check_schema(proto, opset);
      results = function                 ? import_call(*function, node)
                : takes_composites(node) ? convert_composites(node)
                : row                    ? results_of(node, *row)
                                         : convert_control_flow(node);
      failed = !results;
      for (size_t i = failed ? node.outputs() : results->size(); i < node.outputs(); ++i) {
        if (node.wants(i))
          node.unsupported(
              cat("its output `", printable(proto.output(static_cast<int>(i))), "` is not supported"));
      }
      if (results && !function) node.require_all_asked();
    } catch (const Refusal& refusal) {
      refuse(proto, row ? with_types(refusal, inputs) : refusal);
      results.reset();
    } catch (const op::RelationError& error) {
      refuse(proto, {"onnx-type-error", cat(error.reason, " (its inputs: ", types_of(inputs), ")"), {}});
      results.reset();
    } catch (const Exhausted& limit) {
      report(proto, {"limit-memory", limit.what(), {}});
      results.reset();
    } catch (const std::bad_alloc&) {
      report(proto, {"limit-memory", "there is not enough memory for it", {}});
      results.reset();
    }
  }
  if (fork_) return;  // each way defines them
  const uint32_t refusal = results ? 0 : refusal_behind(proto, before);
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    Operand value = failed_operand(refusal);
    if (results && static_cast<size_t>(i) < results->size())
      value = std::move((*results)[static_cast<size_t>(i)]);
    if (!scope_->names.emplace(proto.output(i), std::move(value)).second) {
      report(proto, {"onnx-redefined-value",
                     cat("it defines `", printable(proto.output(i)), "`, which is defined already"),
                     {}});
    }
  }
}

// Is it an output of the model that no node reads? Nobody computes with the extents
// of such a value.
bool Importer::is_only_output(const std::string& name) const {
  const auto& outputs = model_.graph().output();
  return !read_names_.contains(name) &&
         std::any_of(outputs.begin(), outputs.end(), [&](const auto& o) { return o.name() == name; });
}

std::optional<std::vector<Operand>> Importer::results_of(Node& node, const Row& row) {
  bool closed = true;
  for (size_t i = 0; i < node.inputs(); ++i) closed = closed && (!node.has(i) || node.operand(i).closed);

  const Moved moved = admit_storage(node);
  std::optional<std::vector<IndexTensor>> known = evaluate_index(node);
  const bool complete =
      known && std::all_of(known->begin(), known->end(), [](const IndexTensor& t) { return t.complete(); });
  std::vector<Operand> out;
  if (complete) {
    for (IndexTensor& t : *known) out.push_back(operand(std::move(t)));
    return out;
  }
  const uint64_t before = draws_;
  const Results results = row.convert(node);
  closed = closed && (steps_.empty() || draws_ == before);  // a key has the number of the step
  for (size_t i = 0; i < results.size(); ++i) {
    Operand o;
    const auto output = static_cast<int>(i);
    const std::string name = output < node.proto().output_size() ? node.proto().output(output) : "";
    // Of constants the extents are known once they are evaluated.
    const bool as_it_is = closed || name.empty() || is_only_output(name);
    o.expr = as_it_is ? results[i] : name_extents(results[i], name);
    o.closed = closed;
    o.storage = moved.result(i) ? moved.storage : node.result_storage(i);
    if (known && i < known->size()) o.index = std::move((*known)[i]);
    out.push_back(std::move(o));
  }
  return out;
}

}  // namespace relay::frontend
