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

// A run that takes this way has failed before it comes to the node.
void GraphWalk::fail(Path& path, const ::onnx::NodeProto& node) {
  for (const std::string& name : node.output())
    path.scope->names.insert_or_assign(name, failed_operand(path.refusal));
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
  if (path.refusal != 0) return fail(path, node);
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
      const Importer::Choice choice(importer_, fork);
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
  const bool divides = fork.yes.fork || fork.no.fork;
  for (const std::string& name : fork.apart) {
    if (divides) break;
    const Operand *yes = fork.yes.scope->find(name), *no = fork.no.scope->find(name);
    fork.refused = fork.refused || (yes && yes->failed && no && no->failed);
  }
  std::erase_if(fork.apart, [&](const std::string& name) { return last_use(name) <= at_; });
  for (Path* way : {&fork.yes, &fork.no}) way->refusal = refusal_of(*way, fork.apart);
  if (divides) return;
  std::vector<JoinedValue> values;
  for (const std::string& name : fork.apart)
    values.push_back({name, fork.yes.scope->find(name), fork.no.scope->find(name)});
  const Importer::Inside inside(importer_, *path.scope, *path.bindings);
  std::optional<std::vector<Operand>> joined = importer_.join_ways(fork, values);
  if (!joined) return;
  for (size_t i = 0; i < values.size(); ++i)
    path.scope->names.insert_or_assign(std::string(values[i].name), std::move((*joined)[i]));
  path.fork.reset();
}

// The refusal of a value that is needed at the end of a way; 0 if there is none.
uint32_t GraphWalk::refusal_of(const Path& way, const std::set<std::string>& needed) {
  if (way.refusal != 0 || way.fork) return way.refusal;
  for (const std::string& name : needed) {
    if (const Operand* o = way.scope->find(name); o && o->refusal != 0) return o->refusal;
  }
  return 0;
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

// The outputs at the end of each way. False if one is not defined.
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
  if (!GraphWalk(*this, graph, path).run()) return std::nullopt;  // no way's fault: it is reported
  if (path.fork) {
    publish(path);
    report_apart(*path.fork);
    return std::nullopt;
  }
  for (const Operand& o : path.outputs) {
    if (o.failed) return std::nullopt;
  }
  return std::move(path.outputs);
}

std::optional<std::vector<Operand>> Importer::import_subgraph(const ::onnx::GraphProto& graph,
                                                              NameScope& scope) {
  if (!read_initialisers(graph, scope)) return std::nullopt;
  return import_graph(graph, scope);
}

}  // namespace relay::frontend
