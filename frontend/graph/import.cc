#include "frontend/graph/import.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "base/counted.h"
#include "base/escape.h"
#include "base/failure.h"
#include "base/nearest.h"
#include "frontend/graph/operators.h"
#include "frontend/graph/unique_names.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "ir/text/parser.h"
#include "op/apply.h"
#include "op/operators.h"
#include "op/ops.h"

namespace relay::frontend {
namespace {

constexpr size_t kLongestName = 120;
constexpr size_t kMostListed = 100;
// Graphs that say nothing else have the dtype that their executors assume.
constexpr DType kUnsaid = kFloat32;

// A name as it may stand in a line between quotes.
std::string shown(std::string_view name) {
  std::string cut = harmless(name.substr(0, kLongestName), "");
  std::replace(cut.begin(), cut.end(), '"', '\'');
  return name.size() > kLongestName ? cut + "..." : cut;
}

// `missing` are the names of those of the graph's parameters that the file lacks.
void report_missing_parameters(size_t parameters, std::span<const std::string> missing,
                               const std::string& file, Diagnostics& diagnostics) {
  const std::string names = cat(join(missing.first(std::min(missing.size(), kMostListed)), ", ",
                                     [](const std::string& n) { return cat("`", shown(n), "`"); }),
                                missing.size() > kMostListed ? ", ..." : "");
  diagnostics
      .error(Span::none(), "graph-parameter",
             cat("the graph has ", counted(parameters, "parameter"), ", and ",
                 file.empty() ? std::string("no file") : cat("`", shown(file), "`"), " has no values of ",
                 names))
      .note("put the file of parameters that was written with the graph beside it");
}

class Importer {
 public:
  Importer(const GraphContents& contents, const std::string& name, const Module& empty,
           const GraphImportOptions& options, Diagnostics& diagnostics)
      : graph_(contents.graph),
        name_(name),
        module_(empty),
        options_(options),
        diagnostics_(diagnostics),
        builder_(module_.context()),
        params_file_(contents.file) {
    for (const data::NamedTensor& p : contents.params) params_.emplace(p.name, &p.value);
  }

  Result<Module> run() {
    list_nodes();
    if (!has_parameters() || !all_known() || !declare_inputs()) return kReported;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const SpanScope span(builder_, spans_[i]);
      if (!graph_.nodes[i].is_input()) convert(i);
    }
    if (diagnostics_.has_errors()) return kReported;
    return module_of_heads();
  }

 private:
  const GraphNode& node(size_t i) const { return graph_.nodes[i]; }

  Diagnostic& error(size_t at, Slug slug, std::string why) {
    return diagnostics_.error(spans_[at], slug, cat("node ", at, " (`", shown(node(at).name), "`): ", why));
  }

  // 3: fused_nn_relu "relu" (conv, p0) -> float32 (1, 8)
  void list_nodes() {
    std::string text;
    std::vector<std::pair<uint32_t, uint32_t>> places;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& n = node(i);
      const auto begin = static_cast<uint32_t>(text.size());
      const std::string* function = n.find("func_name");
      const std::string& what = n.is_call() && function ? *function : n.op;
      text += cat(i, ": ", n.is_input() ? "input" : shown(what), " \"", shown(n.name), "\"");
      for (size_t k = 0; k < n.inputs.size() && k < kMostListed; ++k) {
        const GraphEntry& e = n.inputs[k];
        text += cat(k ? ", " : " (", shown(node(e.node).name), e.index ? cat(".", e.index) : "");
      }
      if (!n.inputs.empty()) text += n.inputs.size() > kMostListed ? ", ...)" : ")";
      for (size_t e = first(i); !graph_.shape.empty() && e < first(i + 1); ++e) {
        text += cat(e == first(i) ? " -> " : ", ", graph_.dltype.empty() ? "" : shown(graph_.dltype[e]), " ",
                    relay::show(graph_.shape[e]));
      }
      places.emplace_back(begin, static_cast<uint32_t>(text.size()));
      text += '\n';
    }
    // Spans are 32 bits wide.
    const bool fits = text.size() < (uint64_t{1} << 31);
    const uint32_t file = context().sources().add(name_, fits ? std::move(text) : std::string());
    for (const auto& [begin, end] : places) spans_.push_back(fits ? Span{file, begin, end} : Span::none());
  }

  size_t first(size_t at) const { return graph_.node_row_ptr.empty() ? 0 : graph_.node_row_ptr[at]; }
  Context& context() { return module_.context(); }

  // What the graph says of a result; null if it says nothing.
  const TensorType* declared(size_t entry) {
    if (graph_.shape.empty()) return nullptr;
    const std::optional<DType> dtype = graph_.dltype.empty() ? kUnsaid : dtype_of_graph(graph_.dltype[entry]);
    return dtype ? context().tensor_type(graph_.shape[entry], *dtype) : nullptr;
  }

  // Without their values parameters would become inputs, and be filled like these.
  bool has_parameters() {
    std::vector<std::string> missing;
    for (uint32_t i : graph_.parameters) {
      if (!params_.contains(node(i).name)) missing.push_back(node(i).name);
    }
    if (!missing.empty())
      report_missing_parameters(graph_.parameters.size(), missing, params_file_, diagnostics_);
    return missing.empty();
  }

  bool declare_inputs() {
    results_.resize(graph_.nodes.size());
    bool ok = true;
    std::vector<size_t> inputs;
    for (uint32_t i : graph_.arg_nodes) {
      if (!graph_.dltype.empty() && !dtype_of_graph(graph_.dltype[first(i)])) {
        error(i, "unsupported-dtype",
              cat("its dtype `", shown(graph_.dltype[first(i)]), "` is not supported"));
        ok = false;
        continue;
      }
      const auto parameter = params_.find(node(i).name);
      if (parameter == params_.end()) {
        inputs.push_back(i);
        continue;
      }
      const Tensor& value = *parameter->second;
      used_.insert(node(i).name);
      const SpanScope span(builder_, spans_[i]);
      results_[i] = {builder_.constant(value)};
      const TensorType* type = declared(first(i));
      if (type && type != context().tensor_type(value.shape(), value.dtype())) {
        error(i, "graph-parameter",
              cat("the graph says that this parameter is ", relay::show(type), ", and its file has ",
                  relay::show(context().tensor_type(value.shape(), value.dtype()))));
        ok = false;
      }
    }
    for (const auto& [name, shape] : options_.input_shapes) {
      if (std::any_of(inputs.begin(), inputs.end(), [&](size_t i) { return node(i).name == name; })) continue;
      const std::vector<std::string> all = names_of(inputs, [&](size_t i) { return shown(node(i).name); });
      Diagnostic& d = diagnostics_.error(
          Span::none(), "input-unknown",
          cat("a shape was given for `", shown(name), "`, which is no input of `", name_, "`"));
      suggest(d, name, all);
      d.note(cat("its inputs: ", join(all, ", ")));
      ok = false;
    }
    for (size_t i : inputs) ok = declare_input(i) && ok;
    std::vector<std::string> unused;
    for (const auto& [name, value] : params_) {
      if (!used_.contains(name) && unused.size() < kMostListed) unused.push_back(cat("`", shown(name), "`"));
    }
    std::sort(unused.begin(), unused.end());
    if (!unused.empty())
      diagnostics_.warning(
          Span::none(), "graph-unused-parameter",
          cat("the file of parameters has what no node of `", name_, "` takes: ", join(unused, ", ")));
    return ok;
  }

  bool declare_input(size_t i) {
    const TensorType* type = declared(first(i));
    if (const auto given = options_.input_shapes.find(node(i).name); given != options_.input_shapes.end()) {
      const TensorType* wanted = context().tensor_type(given->second, type ? type->dtype : kUnsaid);
      if (type && type != wanted) {
        diagnostics_.error(spans_[i], "input-shape-mismatch",
                           cat("input `", shown(node(i).name), "` is ", relay::show(type),
                               ", which cannot have the shape ", relay::show(given->second)));
        return false;
      }
      type = wanted;
    }
    if (!type) {
      diagnostics_
          .error(spans_[i], "graph-input-shape",
                 cat("the graph does not say which shape input `", shown(node(i).name), "` has"))
          .note(cat("give it: --input-shapes ", shown(node(i).name),
                    ":1x3x224x224; parameters are in a "
                    ".params file beside the graph"));
      return false;
    }
    const SpanScope span(builder_, spans_[i]);
    const Var* x = builder_.with_type(builder_.var(node(i).name, type), type)->as<Var>();
    inputs_.push_back(x);
    results_[i] = {x};
    return true;
  }

  // All that cannot be imported by its name, before anything else fails because of it.
  bool all_known() {
    bool ok = true;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& n = node(i);
      if (n.is_input() || n.is_call() || is_graph_operator(n.op)) continue;
      Diagnostic& d = error(i, "unsupported-operator", cat("operator `", shown(n.op), "` is not supported"));
      // A remedy is looked for only where it will be read.
      if (diagnostics_.errors() <= Diagnostics::kMaxKept)
        d.note(cat("supported are: ", join(nnvm_operators(), ", "),
                   ", and operators of `relay ops` that have a dot in their names"));
      ok = false;
    }
    return all_functions_known() && ok;
  }

  // Functions whose code only is in a library.
  bool all_functions_known() {
    std::map<std::string, std::vector<std::string>> unknown;
    size_t count = 0, first_node = graph_.nodes.size();
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const GraphNode& n = node(i);
      if (!n.is_call() || n.find(kDefinition)) continue;
      const std::string& function = *n.find("func_name");
      if (function == kReshapeFunction || function == kCopyFunction) continue;
      unknown[function].push_back(n.name);
      first_node = std::min(first_node, i);
      ++count;
    }
    if (unknown.empty()) return true;
    Diagnostic& d =
        diagnostics_.error(spans_[first_node], "unsupported-function",
                           cat(count, count == 1 ? " node calls a function" : " nodes call functions",
                               " of a compiled library; the graph does not say what ",
                               count == 1 ? "it computes" : "they compute"));
    size_t listed = 0;
    for (const auto& [function, nodes] : unknown) {
      if (listed++ == kMostListed) {
        d.note(cat("... and ", unknown.size() - kMostListed, " functions more"));
        break;
      }
      const std::span few(nodes.data(), std::min(nodes.size(), size_t{8}));
      d.note(cat("`", shown(function), "`: ", nodes.size() == 1 ? "node " : "nodes ",
                 join(few, ", ", [](const std::string& name) { return cat("`", shown(name), "`"); }),
                 few.size() < nodes.size() ? ", ..." : ""));
    }
    d.note(
        "give the model that the graph was compiled from (.onnx or .relay); `relay compile --emit graph` "
        "writes "
        "graphs that say what their functions compute");
    return false;
  }

  void convert(size_t at) {
    const GraphNode& n = node(at);
    if (all_results_ > 2 * options_.limits.graph.nodes) return;  // reported
    std::vector<Expr> inputs;
    for (const GraphEntry& e : n.inputs) {
      const std::vector<Expr>& from = results_[e.node];
      if (from.empty()) return;  // it was refused
      if (e.index >= from.size()) {
        error(at, "graph-invalid",
              cat("an input is result ", e.index, " of node ", e.node, ", which has ", from.size()));
        return;
      }
      inputs.push_back(from[e.index]);
    }
    std::vector<Expr> results;
    try {
      if (!n.is_call()) {
        results = call_operator(builder_, n, inputs);
      } else if (const std::string& function = *n.find("func_name"); function == kReshapeFunction) {
        results = reshaped(at, inputs);
      } else if (function == kCopyFunction) {
        results = inputs;
      } else {
        results = call_definition(at, function, inputs);
      }
    } catch (const GraphRefusal& refusal) {
      error(at, refusal.slug, refusal.reason);
    } catch (const op::RelationError& e) {
      error(at, "graph-type-error",
            cat(e.reason,
                " (its inputs: ", join(inputs, ", ", [](Expr x) { return relay::show(x->type, 80); }), ")"));
    } catch (const Exhausted& limit) {
      error(at, "limit-memory", limit.what());
    }
    all_results_ += results.size();
    if (all_results_ > 2 * options_.limits.graph.nodes) {
      error(at, "limit-nodes", cat("the nodes give more than ", 2 * options_.limits.graph.nodes, " tensors"));
    } else if (!results.empty() && agrees(at, results)) {
      results_[at] = std::move(results);
    }
  }

  // Does what the node computes have the types that the graph says?
  bool agrees(size_t at, const std::vector<Expr>& results) {
    if (graph_.node_row_ptr.empty()) return true;
    const size_t count = first(at + 1) - first(at);
    if (count > results.size() || (node(at).is_call() && count != results.size())) {
      error(at, "graph-type-error", cat("it gives ", results.size(), " tensors, and the graph says ", count));
      return false;
    }
    for (size_t k = 0; k < count; ++k) {
      if (graph_.shape.empty()) continue;
      const TensorType* type = declared(first(at) + k);
      if (!type) {
        error(at, "unsupported-dtype",
              cat("the dtype `", shown(graph_.dltype[first(at) + k]), "` of its result is not supported"));
        return false;
      }
      if (results[k]->type == type) continue;
      error(at, "graph-type-error",
            cat("its result ", k, " is ", relay::show(results[k]->type, 80), ", and the graph says ",
                relay::show(type)));
      return false;
    }
    return true;
  }

  std::vector<Expr> reshaped(size_t at, const std::vector<Expr>& inputs) {
    if (inputs.size() != 1 || first(at + 1) - first(at) != 1)
      throw GraphRefusal{"graph-invalid", cat("`", kReshapeFunction, "` takes one tensor and gives one")};
    // A reshape takes an extent of 0 for a word of its own, unless it is told not to.
    const Shape& shape = graph_.shape[first(at)];
    std::vector<AttrArg> attrs{{"newshape", shape}};
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) attrs.push_back({"allowzero", true});
    return {op::call(builder_, op::kReshape, inputs, attrs)};
  }

  // The function's definition, parsed once; each call has a copy of its own, since a
  // variable is bound once.
  const Fn& definition(size_t at, const std::string& function) {
    const std::string& text = *node(at).find(kDefinition);
    const auto [known, fresh] = definitions_.try_emplace(function, &text, nullptr);
    if (*known->second.first != text)
      throw GraphRefusal{"graph-definition",
                         cat("another node defines `", shown(function), "` in other words")};
    if (!fresh) {
      if (!known->second.second) throw GraphRefusal{"graph-definition", "its function is not sound"};
      return *refresh(context(), known->second.second)->as<Fn>();
    }
    ParseOptions options;
    options.into = module_;
    const Result<Expr> parsed =
        parse_expr(cat(name_, ": `", shown(function), "`"), text, diagnostics_, op::operators(), options);
    if (!parsed)
      throw GraphRefusal{"graph-definition", cat("its function `", shown(function), "` is not sound")};
    const Fn* fn = (*parsed)->as<Fn>();
    const auto annotated = [](const Var* p) { return p->annotation != nullptr; };
    const bool sound = fn && fn->result && fn->attrs.flag("Primitive") && fn->type_params.empty() &&
                       free_vars(fn).empty() && std::all_of(fn->params.begin(), fn->params.end(), annotated);
    if (!sound) {
      throw GraphRefusal{"graph-definition",
                         cat("`", shown(function),
                             "` must be defined as `fn (%p0: TYPE, ..., Primitive=True) -> TYPE { ... }`, of "
                             "nothing but its parameters")};
    }
    known->second.second = fn;
    return *fn;
  }

  std::vector<Expr> call_definition(size_t at, const std::string& function, const std::vector<Expr>& inputs) {
    const Fn& fn = definition(at, function);
    std::vector<Expr> args;
    size_t next = 0;
    for (const Var* p : fn.params) args.push_back(argument(p->annotation, inputs, next));
    if (next != inputs.size() || std::find(args.begin(), args.end(), nullptr) != args.end()) {
      throw GraphRefusal{
          "graph-type-error",
          cat("`", shown(function), "` takes (",
              join(fn.params, ", ", [](const Var* p) { return relay::show(p->annotation, 80); }),
              "), and the node's inputs are (",
              join(inputs, ", ", [](Expr x) { return relay::show(x->type, 80); }), ")")};
    }
    const Expr call = builder_.call(&fn, args, {}, fn.result);
    return parts_of(builder_, call);
  }

  // The next inputs as a value of the type; null if they do not fit it.
  Expr argument(Type type, const std::vector<Expr>& inputs, size_t& next) {
    const auto* tuple = type->as<TupleType>();
    if (!tuple) {
      if (next == inputs.size() || inputs[next]->type != type) return nullptr;
      return inputs[next++];
    }
    std::vector<Expr> fields;
    for (Type field : tuple->fields) {
      // Flat tuples only: nothing recurses on how deeply a type is nested.
      if (next == inputs.size() || inputs[next]->type != field) return nullptr;
      fields.push_back(inputs[next++]);
    }
    return builder_.tuple(fields);
  }

  Result<Module> module_of_heads() {
    std::vector<Expr> results;
    std::vector<std::string> input_names, output_names;
    UniqueNames names;
    for (const GraphEntry& e : graph_.heads) {
      const std::vector<Expr>& from = results_[e.node];
      if (e.index >= from.size()) {
        error(e.node, "graph-invalid", cat("a head is its result ", e.index, ", and it has ", from.size()));
        return kReported;
      }
      results.push_back(from[e.index]);
      const std::string& name = node(e.node).name;
      output_names.push_back(names.take(e.index ? cat(name, ".", e.index) : name));
    }
    for (const Var* x : inputs_) input_names.push_back(x->name.str());
    const Expr body = results.size() == 1 ? results[0] : builder_.tuple(results);
    const Attrs attrs = context().attrs({{"input_names", input_names}, {"output_names", output_names}});
    Module out = module_;
    out.set_function("main", builder_.fn(inputs_, body, nullptr, attrs));
    return out;
  }

  const Graph& graph_;
  const std::string& name_;
  Module module_;
  const GraphImportOptions& options_;
  Diagnostics& diagnostics_;
  Builder builder_;
  std::string params_file_;
  std::unordered_map<std::string, const Tensor*> params_;
  std::unordered_set<std::string> used_;    // names of parameters
  std::vector<Span> spans_;                 // of nodes, in the listing
  std::vector<std::vector<Expr>> results_;  // of nodes; none where one was refused
  size_t all_results_ = 0;
  std::vector<const Var*> inputs_;
  // By name of the function: its text, and what it says (null: it was refused).
  std::unordered_map<std::string, std::pair<const std::string*, const Fn*>> definitions_;
};

}  // namespace

Result<Module> import_graph(const GraphContents& contents, const std::string& name, const Module& empty,
                            const GraphImportOptions& options, Diagnostics& diagnostics) {
  return Importer(contents, name, empty, options, diagnostics).run();
}

Result<Module> import_graph(const GraphFiles& files, const Module& empty, const GraphImportOptions& options,
                            Diagnostics& diagnostics) {
  const Result<GraphContents> contents = read_graph(files, options.limits, diagnostics);
  if (!contents) return kReported;
  // Graphs of other programs do not say which of their null nodes are parameters.
  if (files.is_folder && files.params.empty() && contents->graph.parameters.empty()) {
    const Graph& g = contents->graph;
    const std::span all(g.arg_nodes.data(), std::min(g.arg_nodes.size(), kMostListed));
    diagnostics
        .error(Span::none(), "graph-parameter",
               cat("the file of parameters `", shown(files.missing), "` is missing: any of the null nodes ",
                   join(all, ", ", [&](uint32_t i) { return cat("`", shown(g.nodes[i].name), "`"); }),
                   " may be a parameter"))
        .note(
            cat("put it beside the graph; if all of them are inputs, name the graph's file: ", files.graph));
    return kReported;
  }
  return import_graph(*contents, files.graph, empty, options, diagnostics);
}

}  // namespace relay::frontend
