#include "exporter/onnx/export.h"

#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/static_dataflow.h"
#include "base/cat.h"
#include "exporter/onnx/rows.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/registry.h"
#include "passes/expand.h"

namespace relay::exporter {
namespace {

constexpr int64_t kOpset = 21, kIrVersion = 10;  // the versions of ONNX 1.16

bool has_row(Context& context, const op::OpDef& def, const Call& call) {
  const Row* row = find_row(def.name);
  return row && (!row->takes || row->takes(CallAttrs(context, def, call.attrs), call));
}

// Operators without a form are written out in others, as far as they are defined by such.
Module expand_unknown(const Module& m) {
  Module now = m;
  for (;;) {
    analysis::Effects effects(now, analysis::TrapOrder::kKept);
    Module next = rewrite(now, [&](relay::Builder& b, Expr e) -> Expr {
      if (const auto* proj = e->as<Proj>()) return passes::field_of_tuple(*proj, effects);
      const op::OpDef* def = op::callee(e);
      if (!def || !def->expand || has_row(b.context(), *def, *e->as<Call>())) return e;
      return passes::expand_in_place(b, *def, *e->as<Call>(), effects);
    });
    if (next.same(now)) return now;
    now = std::move(next);
  }
}

class Exporter {
 public:
  Exporter(const Module& m, Diagnostics& diagnostics)
      : context_(m.context()), diagnostics_(diagnostics), graph_(*proto_.mutable_graph()), extents_(graph_) {
    proto_.set_ir_version(kIrVersion);
    proto_.set_producer_name("relay");
    proto_.add_opset_import()->set_version(kOpset);
  }

  Result<OnnxModel> run(const Fn& fn, std::string_view function, const OnnxNames& names) {
    const std::vector<Expr> order = post_order(fn.body);
    for (Expr e : order) {
      if (const auto* let = e->as<Let>()) bound_[let->x] = let->value;
    }
    proto_.mutable_graph()->set_name(std::string(function));
    if (!analysis::is_static_dataflow(order, diagnostics_) || !add_inputs(fn, names.inputs)) return kReported;
    if (!name_outputs(fn.body, names.outputs)) return kReported;
    for (Expr e : order) {
      if (!take(e)) return kReported;
    }
    if (refused_) return kReported;
    add_outputs(fn.body);
    return finished();
  }

 private:
  bool refuse_value(Expr e, std::string what) {
    return analysis::refuse_static(e, "not-static-dataflow", std::move(what), diagnostics_);
  }

  bool add_inputs(const Fn& fn, const std::vector<std::string>& names) {
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const Var* p = fn.params[i];
      const auto* type = p->type->as<TensorType>();
      if (!type) return refuse_value(p, cat("parameter %", p->name.text(), " is not a tensor"));
      const std::string name = graph_.fresh(i < names.size() ? names[i] : p->name.text());
      graph_.add_input(name, *type);
      extents_.add_input(name, *type);
      values_[p] = {name};
    }
    return true;
  }

  // Functions are not.
  bool are_tensors(Expr e, std::vector<const TensorType*>& types) {
    return analysis::static_tensors(e, types, diagnostics_, [](const TensorType&) { return true; });
  }

  // Before any node has a name: what users know keeps its own.
  bool name_outputs(Expr body, const std::vector<std::string>& names) {
    std::vector<const TensorType*> types;
    if (!are_tensors(body, types)) return false;
    for (size_t i = 0; i < types.size(); ++i)
      outputs_.push_back(graph_.fresh(i < names.size() ? names[i] : cat("output_", i)));
    return true;
  }

  bool take(Expr e) {
    switch (e->kind) {
      case ExprKind::kVar:
        if (const auto it = bound_.find(e); it != bound_.end()) values_[e] = Names(names_of(it->second));
        return true;
      case ExprKind::kLet: values_[e] = Names(names_of(e->as<Let>()->body)); return true;
      case ExprKind::kTuple: {
        std::vector<const TensorType*> types;
        if (!are_tensors(e, types)) return false;
        Names all;
        const auto of_field = [&](Expr field) -> const Names& { return names_of(field); };
        if (!analysis::join_fields(*e->as<Tuple>(), of_field, all, diagnostics_)) return false;
        values_[e] = std::move(all);
        return true;
      }
      case ExprKind::kProj: {
        const auto& proj = *e->as<Proj>();
        values_[e] = analysis::part_of_field(proj, names_of(proj.tuple));
        return true;
      }
      case ExprKind::kCall: return take_call(*e->as<Call>());
      case ExprKind::kGlobal:
      case ExprKind::kOpRef: values_[e] = {}; return true;  // looked at where it is called
      default: return true;                                 // a constant, where it is used
    }
  }

  const Names& names_of(Expr e) {
    const auto* c = e->as<Constant>();
    if (c && !values_.contains(e))
      values_[e] = {graph_.constant(*c->value, c->name.empty() ? "weight" : c->name.text())};
    return values_.at(e);
  }

  // Of types: the tensors that a value is made of, each with a name.
  static std::vector<const TensorType*> tensors(Type t) { return op::flatten(std::vector<Type>{t}); }

  bool take_call(const Call& call) {
    const op::OpDef* def = op::callee(call);
    if (!def) return refuse_value(&call, cat(analysis::construct_name(call.callee), " is called"));
    std::vector<Names> args;
    for (Expr arg : call.args) args.push_back(names_of(arg));
    Names& out = values_[&call];
    try {
      if (!find_row(def->name)) throw Refusal{"ONNX has no such operator"};
      if (!has_row(context_, *def, call))
        throw Refusal{"ONNX has it with other attributes, dtypes or layouts"};
      Site site(context_, graph_, extents_, call, std::move(args));
      out = find_row(def->name)->write(site);
    } catch (const Refusal& r) {
      refused_ = true;
      diagnostics_
          .error(call.span, "unsupported-operator",
                 cat("`", def->name, "` has no form in ONNX here: ", r.why))
          .note(
              "`relay opt` runs passes that may replace it; `--emit graph` and `--emit so` take any "
              "operator");
      out = Names(tensors(call.type).size());
      return true;
    }
    const std::vector<const TensorType*> types = tensors(call.type);
    CHECK(types.size() == out.size(), cat(def->name, " became another number of values"));
    for (size_t i = 0; i < out.size(); ++i) {
      if (graph_.is_result(out[i]) && typed_.insert(out[i]).second) types_.emplace_back(out[i], types[i]);
    }
    return true;
  }

  // An output is renamed where a node gives it, and a copy where it is an input, a weight or
  // another output.
  void add_outputs(Expr body) {
    const Names results = names_of(body);
    const std::vector<const TensorType*> types = tensors(body->type);
    std::vector<std::pair<std::string, std::string>> renamed;
    std::unordered_set<std::string> given;
    for (size_t i = 0; i < results.size(); ++i) {
      std::string from = results[i];
      if (!graph_.is_result(from) || !given.insert(from).second) from = graph_.node("Identity", {from});
      renamed.emplace_back(from, outputs_[i]);
      graph_.add_output(outputs_[i], *types[i]);
    }
    graph_.rename_results(renamed);
    graph_.drop_unused_constants();  // a row may have read a constant without naming it
    for (const auto& [from, to] : renamed) given.insert(from);
    for (const auto& [name, type] : types_) {
      if (!given.contains(name)) graph_.add_type(name, *type);
    }
  }

  Result<OnnxModel> finished() {
    if (graph_.weight_bytes() > Graph::kMostWeightBytes) {
      diagnostics_
          .error(Span::none(), "limit-file-size",
                 cat("the weights are ", graph_.weight_bytes(),
                     " bytes, and a model in one file has at most ", Graph::kMostWeightBytes))
          .note("compile it with `--emit so --weights-file`, or divide the model");
      return kReported;
    }
    return OnnxModel{proto_.SerializeAsString(), static_cast<size_t>(proto_.graph().node_size()),
                     static_cast<size_t>(proto_.graph().initializer_size())};
  }

  Context& context_;
  Diagnostics& diagnostics_;
  ::onnx::ModelProto proto_;
  Graph graph_;
  Extents extents_;
  std::unordered_map<Expr, Names> values_;
  std::unordered_map<Expr, Expr> bound_;
  Names outputs_;
  std::unordered_set<std::string> typed_;
  std::vector<std::pair<std::string, const TensorType*>> types_;
  bool refused_ = false;
};

}  // namespace

Result<OnnxModel> export_onnx(const Module& m, std::string_view function, const OnnxNames& names,
                              Diagnostics& diagnostics) {
  const Module written = expand_unknown(m);
  return Exporter(written, diagnostics).run(*written.function(function), function, names);
}

}  // namespace relay::exporter
