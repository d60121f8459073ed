#include "frontend/onnx/paths.h"

#include <algorithm>
#include <climits>
#include <utility>

#include "base/cat.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/sequences.h"
#include "frontend/onnx/walk.h"

namespace relay::frontend {
namespace {

// A type that values of both types have; null if there is none.
Type common_type(Context& context, Type a, Type b) {
  if (a == b) return a;
  if (!a || !b) return nullptr;
  const auto *x = a->as<TensorType>(), *y = b->as<TensorType>();
  if (!x || !y || x->rank() != y->rank() || x->dtype != y->dtype) return nullptr;
  std::vector<Dim> dims;
  for (size_t i = 0; i < x->rank(); ++i)
    dims.push_back(x->dims[i] == y->dims[i] ? x->dims[i] : Dim::unknown());
  return context.tensor_type(dims, x->dtype);
}

// Null for a sequence or an optional value that is known.
Type type_of(Context& context, const Operand& o) {
  if (!o.expr && o.elements) return nullptr;
  return o.expr ? o.expr->type : context.tensor_type(o.index->shape, o.index->dtype);
}

// What is known of elements on both ways and outside of them.
std::optional<IndexTensor> common_index(const Operand& yes, const Bindings& in_yes, const Operand& no) {
  if (!yes.index || !no.index || yes.index->shape != no.index->shape || yes.index->dtype != no.index->dtype)
    return std::nullopt;
  IndexTensor out = *yes.index;
  for (size_t i = 0; i < out.elements.size(); ++i) {
    const Dim d = in_yes.outside(out.elements[i]);
    out.elements[i] = d == no.index->elements[i] ? d : Dim::unknown();
  }
  return out;
}

size_t ends(const Path& path) { return path.fork ? ends(path.fork->yes) + ends(path.fork->no) : 1; }

}  // namespace

void for_each_use(const ::onnx::NodeProto& node, const std::function<void(const std::string& name)>& use) {
  std::vector<const ::onnx::NodeProto*> pending{&node};
  const auto enter = [&](const ::onnx::GraphProto& g) {
    for (const ::onnx::ValueInfoProto& o : g.output()) use(o.name());
    for (const ::onnx::NodeProto& n : g.node()) pending.push_back(&n);
  };
  while (!pending.empty()) {
    const ::onnx::NodeProto& n = *pending.back();
    pending.pop_back();
    for (const std::string& name : n.input()) use(name);
    for (const ::onnx::AttributeProto& a : n.attribute()) {
      if (a.has_g()) enter(a.g());
      for (const ::onnx::GraphProto& g : a.graphs()) enter(g);
    }
  }
}

// --- Joining -------------------------------------------------------------------------------------

std::optional<std::vector<Operand>> Importer::join_values(Fork& fork, const std::vector<JoinedValue>& given) {
  // What is no tensor is taken apart, and put together again afterwards.
  JoinedBranches parts(*this);
  for (const JoinedValue& v : given) {
    if (!parts.add(v)) return std::nullopt;
  }
  const std::vector<JoinedValue>& values = parts.values();
  if (values.empty()) return parts.rebuilt({});
  std::vector<Type> types;
  for (const JoinedValue& v : values) {
    const Type yes = fork.yes.bindings->outside(context(), type_of(context(), *v.yes)),
               no = fork.no.bindings->outside(context(), type_of(context(), *v.no));
    types.push_back(common_type(context(), yes, no));
    if (!types.back()) return std::nullopt;
  }
  const SpanScope span(builder_, span_of(*fork.node));
  std::vector<Expr> in_yes, in_no;
  // Two extents that differ for certain have to be hidden: else the type checker refuses the `if`.
  const auto widened = [&](Expr e, Type type) -> Expr {
    if (e->type == type) return e;
    const Var* const any = builder_.var("any", type);
    return builder_.call(builder_.fn({&any, 1}, any), {e}, {}, type);
  };
  for (size_t i = 0; i < values.size(); ++i) {
    in_yes.push_back(widened(materialise(*values[i].yes), types[i]));
    in_no.push_back(widened(materialise(*values[i].no), types[i]));
  }
  const auto pack = [&](const Path& path, const std::vector<Expr>& parts) {
    return path.bindings->enclose(builder_, parts.size() == 1 ? parts[0] : builder_.tuple(parts));
  };
  const Type type = types.size() == 1 ? types[0] : context().tuple_type(types);
  const Expr whole =
      builder_.with_type(builder_.if_(fork.test, pack(fork.yes, in_yes), pack(fork.no, in_no)), type);
  std::vector<Operand> out(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const Expr part = values.size() == 1 ? whole : builder_.proj(whole, static_cast<uint32_t>(i));
    out[i].expr = name_extents(part, values[i].name);
    out[i].index = common_index(*values[i].yes, *fork.yes.bindings, *values[i].no);
  }
  return parts.rebuilt(std::move(out));
}

void Importer::report_apart(const Fork& fork) {
  const Fork* inner = &fork;
  while (inner->yes.fork || inner->no.fork) inner = (inner->yes.fork ? inner->yes : inner->no).fork.get();
  for (const std::string& name : inner->apart) {
    const Type yes = type_of(context(), *inner->yes.scope->find(name)),
               no = type_of(context(), *inner->no.scope->find(name));
    if (common_type(context(), yes, no)) continue;
    Operand condition = inner->condition;
    const std::string remedy = Choice(*this, *inner->node, condition).remedy();
    const auto& results = inner->node->output();
    const bool own = std::find(results.begin(), results.end(), name) != results.end();
    report(*inner->node, {"unsupported-operator-form",
                          cat("its branches give ", own ? "" : cat("`", printable(name), "` the types "),
                              show(yes, 80), " and ", show(no, 80), ", and which one is not known"),
                          remedy});
    return;
  }
}

// --- Walking -------------------------------------------------------------------------------------

GraphWalk::GraphWalk(Importer& importer, const ::onnx::GraphProto& graph, Path& root)
    : importer_(importer), graph_(graph), root_(root) {}

bool GraphWalk::run() {
  struct Nested {
    size_t& count;
    ~Nested() { --count; }
  };
  const Nested nested{++importer_.nesting_};
  for (int i = 0; i < graph_.node_size() && !importer_.exhausted_; ++i) {
    at_ = i;
    advance(root_, graph_.node(i));
  }
  return !importer_.exhausted_ && collect(root_);
}

void GraphWalk::convert(Path& path, const ::onnx::NodeProto& node) {
  if (importer_.repeating_ > 0 && ++importer_.repeated_nodes_ > Importer::kMostRepeatedNodes) {
    refuse(node, cat("more than ", Importer::kMostRepeatedNodes, " nodes"));
    return;
  }
  const Importer::Inside inside(importer_, *path.scope, *path.bindings);
  importer_.convert(node);
}

void GraphWalk::refuse(const ::onnx::NodeProto& node, const std::string& limit) {
  if (std::exchange(importer_.exhausted_, true)) return;
  importer_.report(
      node,
      {"limit-nodes", cat("what follows an `If` is converted once for each type of its results: ", limit),
       "give the results of the branches one rank and one dtype, or decide conditions with "
       "--fix-input or --input-shapes"});
}

void GraphWalk::advance(Path& path, const ::onnx::NodeProto& node) {
  if (importer_.exhausted_) return;
  if (path.fork) {
    Fork& fork = *path.fork;
    bool both = false;
    for_each_use(node, [&](const std::string& name) { both = both || fork.apart.contains(name); });
    if (!both) {
      convert(path, node);
      if (!importer_.fork_) return;
      // Another `If` that divides: a path divides once, so it does so on each of the two.
      importer_.fork_.reset();
    }
    const Importer::Again again(importer_);
    for (Path* way : {&fork.yes, &fork.no}) {
      const Importer::Choice choice(importer_, *fork.node, fork.condition);
      advance(*way, node);
    }
    for (const std::string& name : node.output()) fork.apart.insert(name);
    settle(path);
    return;
  }
  convert(path, node);
  if (!importer_.fork_) return;
  path.fork = std::move(importer_.fork_);
  if (ends(root_) > Importer::kMostPaths) {
    refuse(node, cat("there are more than ", Importer::kMostPaths, " combinations"));
    return;
  }
  settle(path);
}

// Joins the two ways if all that is still needed has types in common.
void GraphWalk::settle(Path& path) {
  Fork& fork = *path.fork;
  std::erase_if(fork.apart, [&](const std::string& name) { return last_use(name) <= at_; });
  if (fork.yes.fork || fork.no.fork) return;
  std::vector<JoinedValue> values;
  std::vector<std::string> lost;
  for (const std::string& name : fork.apart) {
    Operand *yes = fork.yes.scope->find(name), *no = fork.no.scope->find(name);
    if (!yes || !no || yes->failed || no->failed) {
      lost.push_back(name);
    } else {
      values.push_back({name, yes, no});
    }
  }
  const Importer::Inside inside(importer_, *path.scope, *path.bindings);
  std::vector<Operand> joined;
  if (!values.empty()) {
    try {
      std::optional<std::vector<Operand>> found = importer_.join_values(fork, values);
      if (!found) return;
      joined = std::move(*found);
    } catch (const Refusal& refusal) {
      importer_.report(*fork.node, refusal);
      for (const JoinedValue& v : values) lost.emplace_back(v.name);
      values.clear();
    }
  }
  for (size_t i = 0; i < values.size(); ++i)
    path.scope->names.insert_or_assign(std::string(values[i].name), std::move(joined[i]));
  for (const std::string& name : lost) {
    Operand failed;
    failed.failed = true;
    path.scope->names.insert_or_assign(name, std::move(failed));
  }
  path.fork.reset();
}

// The last node of the graph that uses the name; beyond all if it is an output.
int GraphWalk::last_use(const std::string& name) {
  if (last_use_.empty()) {
    for (int i = 0; i < graph_.node_size(); ++i)
      for_each_use(graph_.node(i), [&](const std::string& used) { last_use_[used] = i; });
    for (const ::onnx::ValueInfoProto& o : graph_.output()) last_use_[o.name()] = INT_MAX;
  }
  const auto it = last_use_.find(name);
  return it == last_use_.end() ? -1 : it->second;
}

// The outputs at the end of each way. False if a node that they need was refused.
bool GraphWalk::collect(Path& path) {
  if (path.fork) {
    const bool yes = collect(path.fork->yes), no = collect(path.fork->no);
    return yes && no;
  }
  bool ok = true;
  for (const ::onnx::ValueInfoProto& o : graph_.output()) {
    const Operand* found = path.scope->find(o.name());
    if (!found || found->absent) {
      importer_.diagnostics_.error(
          Span::none(), "onnx-undefined-output",
          cat("`", importer_.name_, "`: nothing defines the output `", printable(o.name()), "`"));
      ok = false;
    } else if (found->failed) {
      ok = false;
    } else {
      path.outputs.push_back(*found);
    }
  }
  return ok;
}

// --- Of the importer -----------------------------------------------------------------------------

bool Importer::import_path(const ::onnx::GraphProto& graph, Path& path) {
  const Inside inside(*this, *path.scope, *path.bindings);
  return read_initialisers(graph, *path.scope) && GraphWalk(*this, graph, path).run();
}

std::optional<std::vector<Operand>> Importer::import_graph(const ::onnx::GraphProto& graph,
                                                           NameScope& scope) {
  Path path(scope, *bindings_);
  if (!GraphWalk(*this, graph, path).run()) return std::nullopt;
  if (path.fork) {
    report_apart(*path.fork);
    return std::nullopt;
  }
  return std::move(path.outputs);
}

std::optional<std::vector<Operand>> Importer::import_subgraph(const ::onnx::GraphProto& graph,
                                                              NameScope& scope) {
  if (!read_initialisers(graph, scope)) return std::nullopt;
  return import_graph(graph, scope);
}

}  // namespace relay::frontend
