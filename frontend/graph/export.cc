#include "frontend/graph/export.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "analysis/static_dataflow.h"
#include "analysis/user_kernels.h"
#include "base/cat.h"
#include "frontend/graph/import.h"
#include "frontend/graph/unique_names.h"
#include "ir/rewrite.h"
#include "ir/text/printer.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/operators.h"
#include "op/registry.h"

namespace relay::frontend {
namespace {

constexpr int64_t kCpu = 1;  // DLPack's number

using Entries = std::vector<GraphEntry>;

// "fused_nn_conv2d_add_nn_relu", as such functions are called elsewhere.
std::string name_of(const Fn& fn) {
  constexpr size_t kMostOperators = 8;
  std::string out = "fused";
  size_t count = 0;
  for (Expr e : post_order(fn.body)) {
    const op::OpDef* def = op::callee(e);
    if (def && count++ < kMostOperators) out += "_" + def->name;
  }
  if (count > kMostOperators) out += cat("_", count - kMostOperators, "_more");
  std::replace(out.begin(), out.end(), '.', '_');
  return out;
}

class Exporter {
 public:
  Exporter(const Module& m, Diagnostics& diagnostics)
      : module_(m),
        kernels_(m),
        diagnostics_(diagnostics),
        builder_(m.context()),
        operators_(op::operators()) {}

  Result<GraphContents> run(const Fn& fn, const GraphNames& names) {
    const std::vector<Expr> order = post_order(fn.body);
    if (!forms_are_known(order) || !add_inputs(fn, names.inputs)) return kReported;
    for (Expr e : order) {
      if (!inside_.contains(e) && !take(e)) return kReported;
    }
    graph_.heads = entries_of(fn.body);
    name_nodes(names.outputs);
    plan_storage();
    return GraphContents{std::move(graph_), std::move(params_)};
  }

 private:
  // What stands in functions that become nodes is theirs.
  bool forms_are_known(const std::vector<Expr>& order) {
    for (Expr e : order) {
      const auto* call = e->as<Call>();
      const Fn* callee = call ? call->callee->as<Fn>() : nullptr;
      if (!callee || !callee->attrs.flag("Primitive")) continue;
      inside_.insert(callee);
      for (Expr part : post_order(callee->body)) inside_.insert(part);
    }
    std::vector<Expr> outside;
    for (Expr e : order) {
      // A leaf may be used on both sides; it is of a known form.
      if (!inside_.contains(e)) outside.push_back(e);
      if (is_leaf(e)) inside_.erase(e);
      if (const auto* let = e->as<Let>()) bound_[let->x] = let->value;
    }
    return analysis::is_static_dataflow(outside, diagnostics_);
  }

  uint32_t add_node(GraphNode node, const std::vector<const TensorType*>& types) {
    const auto at = static_cast<uint32_t>(graph_.nodes.size());
    if (graph_.node_row_ptr.empty()) graph_.node_row_ptr.push_back(0);
    for (const TensorType* t : types) {
      graph_.dltype.push_back(t->dtype.name());
      graph_.shape.push_back(*t->static_shape());
      graph_.device_index.push_back(kCpu);
    }
    graph_.node_row_ptr.push_back(static_cast<uint32_t>(graph_.dltype.size()));
    if (node.is_input()) graph_.arg_nodes.push_back(at);
    graph_.nodes.push_back(std::move(node));
    return at;
  }

  bool add_inputs(const Fn& fn, const std::vector<std::string>& names) {
    for (size_t i = 0; i < fn.params.size(); ++i) {
      const Var* p = fn.params[i];
      std::vector<const TensorType*> types;
      if (!analysis::static_tensors(p, types, diagnostics_)) return false;
      if (!p->type->as<TensorType>())
        return analysis::refuse_static(p, "not-static-dataflow",
                                       cat("parameter %", p->name.text(), " is not a tensor"), diagnostics_);
      const std::string name = names_.take(i < names.size() ? names[i] : p->name.str());
      entries_[p] = {{add_node({"null", name}, types), 0}};
    }
    return true;
  }

  bool take(Expr e) {
    switch (e->kind) {
      case ExprKind::kVar:
        if (const auto it = bound_.find(e); it != bound_.end()) entries_[e] = Entries(entries_of(it->second));
        return true;
      case ExprKind::kLet: entries_[e] = Entries(entries_of(e->as<Let>()->body)); return true;
      case ExprKind::kConstant: return true;  // a parameter where it is used
      case ExprKind::kTuple: {
        Entries all;
        const auto of_field = [&](Expr field) -> const Entries& { return entries_of(field); };
        if (!analysis::join_fields(*e->as<Tuple>(), of_field, all, diagnostics_)) return false;
        entries_[e] = std::move(all);
        return true;
      }
      case ExprKind::kProj:
        entries_[e] = analysis::part_of_field(*e->as<Proj>(), entries_of(e->as<Proj>()->tuple));
        return true;
      case ExprKind::kCall: return take_call(*e->as<Call>());
      case ExprKind::kGlobal:
      case ExprKind::kOpRef:
      case ExprKind::kCtorRef:
      case ExprKind::kFn: return true;  // looked at where it is called
      case ExprKind::kIf:
      case ExprKind::kMatch:
      case ExprKind::kRefNew:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite: break;
    }
    CHECK(false, "a form that is no dataflow was not refused");
    return false;
  }

  const Entries& entries_of(Expr e) {
    const auto* c = e->as<Constant>();
    if (c && !entries_.contains(e)) entries_[e] = {parameter(*c)};
    return entries_.at(e);
  }

  GraphEntry parameter(const Constant& c) {
    const std::string name = names_.take(c.name.text().empty() ? cat("p", params_.size()) : c.name.str());
    params_.push_back({name, *c.value});
    const uint32_t node =
        add_node({"null", name}, {module_.context().tensor_type(c.value->shape(), c.value->dtype())});
    graph_.parameters.push_back(node);
    return {node, 0};
  }

  bool take_call(const Call& call) {
    if (const kernel::Kernel* k = kernels_.callee(&call)) return refuse_kernel(call, *k);
    std::vector<const TensorType*> types;
    if (!analysis::static_tensors(&call, types, diagnostics_)) return false;
    const op::OpDef* def = op::callee(call);
    const Fn* fn = call.callee->as<Fn>();
    if (!def && !fn) {
      return analysis::refuse_static(&call, "not-static-dataflow",
                                     cat(analysis::construct_name(call.callee), " is not static dataflow"),
                                     diagnostics_);
    }
    // The text of a node's function is all that says what it does.
    for (Expr part : fn ? post_order(fn->body) : std::vector<Expr>()) {
      if (const kernel::Kernel* k = kernels_.callee(part)) return refuse_kernel(*part->as<Call>(), *k);
    }
    if (def && def->view) {
      const GraphEntry source = entries_of(call.args[0])[0];
      entries_[&call] = {{add_call(kReshapeFunction, "", "reshape", {source}, types), 0}};
      views_.emplace(graph_.entry(entries_[&call][0]), graph_.entry(source));
      return true;
    }
    std::vector<Expr> args(call.args.begin(), call.args.end());
    // The inputs and results of a node are in no order but one.
    const auto is_nested = [](Type t) {
      const auto* tuple = t->as<TupleType>();
      return tuple && std::any_of(tuple->fields.begin(), tuple->fields.end(),
                                  [](Type field) { return field->as<TupleType>() != nullptr; });
    };
    if (is_nested(call.type) ||
        std::any_of(args.begin(), args.end(), [&](Expr arg) { return is_nested(arg->type); }))
      return analysis::refuse_static(&call, "not-static-dataflow",
                                     "a tuple of tuples is no input or result of a node", diagnostics_);
    if (def) fn = wrapped(call, *def, args);
    fn = without_constants(fn, args);
    Entries inputs;
    for (Expr arg : args) {
      const Entries& part = entries_of(arg);
      inputs.insert(inputs.end(), part.begin(), part.end());
    }
    const std::string text =
        print(fn, {.operators = &operators_, .most_elements = INT64_MAX, .header = false});
    const std::string function = function_name(*fn, text);
    const uint32_t node = add_call(function, text, function, std::move(inputs), types);
    for (uint32_t i = 0; i < types.size(); ++i) entries_[&call].push_back({node, i});
    return true;
  }

  // Equal definitions have one name, and different ones have different names.
  std::string function_name(const Fn& fn, const std::string& text) {
    const auto [it, fresh] = functions_.try_emplace(text);
    if (!fresh) return it->second;
    return it->second = function_names_.take(name_of(fn));
  }

  uint32_t add_call(const std::string& function, const std::string& text, const std::string& name,
                    Entries inputs, const std::vector<const TensorType*>& types) {
    GraphNode node{"tvm_op", name};  // until name_nodes makes it unique
    node.attrs = {{"func_name", function},
                  {"num_inputs", cat(inputs.size())},
                  {"num_outputs", cat(types.size())},
                  {"flatten_data", "0"}};
    if (!text.empty()) node.attrs[kDefinition] = text;
    node.inputs = std::move(inputs);
    return add_node(std::move(node), types);
  }

  // What a node computes is said in operators. That a kernel is called may be all that keeps the
  // program from being a graph.
  bool refuse_kernel(const Call& call, const kernel::Kernel& k) {
    const std::string what =
        k.external ? cat("the C function `", k.external->symbol.text(), "` (kernel @", k.name.text(), ")")
                   : cat("kernel @", k.name.text());
    diagnostics_
        .error(call.span, "not-static-dataflow", cat("a graph calls operators and has no place for ", what))
        .note(k.external
                  ? "the engines `interp`, `jit`, `graph` and `aot-cpp` call it: run the program itself with "
                    "--library, or compile it to a library with --link"
                  : "every engine runs it: run the program itself, or compile it to a library");
    return false;
  }

  // A function of one operator, as `fuse` makes them; `args` becomes what it is called with.
  const Fn* wrapped(const Call& call, const op::OpDef& def, std::vector<Expr>& args) {
    std::vector<const Var*> params;
    std::vector<Expr> taken;
    const auto param = [&](Expr arg) -> Expr {
      if (const auto* c = arg->as<Constant>(); c && c->value->size() == 1) return arg;
      params.push_back(
          builder_.with_type(builder_.var(cat("p", params.size()), arg->type), arg->type)->as<Var>());
      taken.push_back(arg);
      return params.back();
    };
    std::vector<Expr> inner;
    for (Expr arg : args) {
      const auto* tuple = arg->as<Tuple>();
      std::vector<Expr> fields;
      for (size_t i = 0; tuple && i < tuple->fields.size(); ++i) fields.push_back(param(tuple->fields[i]));
      inner.push_back(tuple ? builder_.with_type(builder_.tuple(fields), arg->type) : param(arg));
    }
    args = std::move(taken);
    const Call* body = builder_.call(builder_.op(def), inner, call.attrs, call.type);
    return builder_.fn(params, body, call.type, module_.context().attrs({{"Primitive", true}}));
  }

  // The function with its constants of more than one element as further parameters, and these
  // appended to the arguments.
  const Fn* without_constants(const Fn* fn, std::vector<Expr>& args) {
    std::vector<const Var*> params(fn->params.begin(), fn->params.end());
    const size_t before = params.size();
    const Expr body = rewrite(module_.context(), fn->body, [&](Builder& b, Expr e) -> Expr {
      const auto* c = e->as<Constant>();
      if (!c || c->value->size() == 1) return e;
      params.push_back(b.with_type(b.var(cat("c", params.size()), e->type), e->type)->as<Var>());
      args.push_back(e);
      return params.back();
    });
    if (params.size() == before) return fn;
    return builder_.fn(params, body, fn->result ? fn->result : fn->body->type, fn->attrs);
  }

  // A node whose only result is a head is called after it.
  void name_nodes(const std::vector<std::string>& outputs) {
    std::unordered_map<uint32_t, std::string> wanted;
    for (size_t i = 0; i < graph_.heads.size() && i < outputs.size(); ++i)
      wanted.emplace(graph_.heads[i].node, outputs[i]);
    const auto is_head = [&](uint32_t at) {
      return graph_.node_row_ptr[at + 1] - graph_.node_row_ptr[at] == 1 && wanted.contains(at);
    };
    for (const bool heads : {true, false}) {
      for (uint32_t at = 0; at < graph_.nodes.size(); ++at) {
        GraphNode& n = graph_.nodes[at];
        if (n.is_call() && is_head(at) == heads) n.name = names_.take(heads ? wanted.at(at) : n.name);
      }
    }
  }

  // Results share memory where one is dead before the other is made. Inputs and parameters keep
  // theirs, and so do heads.
  void plan_storage() {
    const size_t entries = graph_.dltype.size();
    std::vector<size_t> root(entries), last(entries, 0);
    for (size_t e = 0; e < entries; ++e) {
      const auto view = views_.find(e);
      root[e] = view == views_.end() ? e : root[view->second];
    }
    for (size_t at = 0; at < graph_.nodes.size(); ++at) {
      for (const GraphEntry& e : graph_.nodes[at].inputs) last[root[graph_.entry(e)]] = at;
    }
    for (const GraphEntry& e : graph_.heads) last[root[graph_.entry(e)]] = SIZE_MAX;
    std::vector<uint64_t> sizes;                 // of blocks of memory
    std::multimap<uint64_t, int64_t> free;       // size -> block
    std::map<size_t, std::vector<size_t>> ends;  // node -> entries that nobody reads after it
    graph_.storage_id.resize(entries);
    for (size_t at = 0; at < graph_.nodes.size(); ++at) {
      for (size_t e = graph_.node_row_ptr[at]; e < graph_.node_row_ptr[at + 1]; ++e) {
        if (root[e] != e) {
          graph_.storage_id[e] = graph_.storage_id[root[e]];
          continue;
        }
        const DType dtype = *DType::parse(graph_.dltype[e]);
        const uint64_t bytes = static_cast<uint64_t>(*element_count(graph_.shape[e])) * dtype.bytes();
        const bool shares = !graph_.nodes[at].is_input() && last[e] != SIZE_MAX;
        graph_.storage_id[e] = shares ? take_block(bytes, sizes, free) : new_block(bytes, sizes);
        if (shares) ends[std::max(last[e], at)].push_back(e);
      }
      for (size_t e : ends[at])
        free.emplace(sizes[static_cast<size_t>(graph_.storage_id[e])], graph_.storage_id[e]);
      ends.erase(at);
    }
  }

  static int64_t new_block(uint64_t bytes, std::vector<uint64_t>& sizes) {
    sizes.push_back(bytes);
    return static_cast<int64_t>(sizes.size()) - 1;
  }

  // The smallest free block that is large enough; otherwise the largest, which grows.
  static int64_t take_block(uint64_t bytes, std::vector<uint64_t>& sizes,
                            std::multimap<uint64_t, int64_t>& free) {
    if (free.empty()) return new_block(bytes, sizes);
    auto it = free.lower_bound(bytes);
    if (it == free.end()) --it;
    const int64_t block = it->second;
    free.erase(it);
    uint64_t& size = sizes[static_cast<size_t>(block)];
    size = std::max(size, bytes);
    return block;
  }

  const Module& module_;
  analysis::UserKernels kernels_;
  Diagnostics& diagnostics_;
  Builder builder_;
  const Operators operators_;
  Graph graph_;
  data::NamedTensors params_;
  std::unordered_set<Expr> inside_;       // functions that become nodes, and their parts
  std::unordered_map<Expr, Expr> bound_;  // variable of a let -> its value
  std::unordered_map<Expr, Entries> entries_;
  std::map<size_t, size_t> views_;  // entry -> the entry whose memory it shows
  UniqueNames names_, function_names_;
  std::unordered_map<std::string, std::string> functions_;  // definition -> name
};

}  // namespace

Result<GraphContents> export_graph(const Module& m, std::string_view function, const GraphNames& names,
                                   Diagnostics& diagnostics) {
  const Fn* fn = m.function(function);
  if (!fn) {
    diagnostics.error(Span::none(), "no-such-function", cat("the module has no function @", function))
        .note(cat("it has: ", join(m.functions(), ", ", [](const auto& f) { return f.first.text(); })));
    return kReported;
  }
  return Exporter(m, diagnostics).run(*fn, names);
}

}  // namespace relay::frontend
