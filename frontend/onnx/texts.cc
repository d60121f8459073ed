#include "frontend/onnx/texts.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

#include "base/cat.h"
#include "frontend/onnx/movers.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/node.h"
#include "frontend/onnx/usage.h"

namespace relay::frontend {
namespace {

using Names = std::vector<std::string_view>;

constexpr size_t kMostNodes = 3, kMostNames = 8;  // in one message

struct Flow {
  std::vector<const ::onnx::NodeProto*> readers;  // make numbers of the texts
  Names numbers;                                  // these
  Names outputs;                                  // of the graph, and texts
};

// Does the node make other texts of texts?
bool makes_texts(const ::onnx::NodeProto& node) {
  if (is_of_onnx(node) && node.op_type().starts_with("String")) return true;
  return std::any_of(node.attribute().begin(), node.attribute().end(),
                     [](const auto& a) { return a.name() == "values_strings"; });
}

// Does a graph inside the node use one of these? Such a graph sees the values around it.
bool uses_inside(const ::onnx::NodeProto& node, const std::unordered_set<std::string_view>& texts) {
  const auto uses = [&](const ::onnx::GraphProto& graph) {
    const std::unordered_set<std::string_view> used = used_names(graph);
    return std::any_of(texts.begin(), texts.end(), [&](std::string_view t) { return used.contains(t); });
  };
  return std::any_of(node.attribute().begin(), node.attribute().end(), [&](const auto& a) {
    return (a.has_g() && uses(a.g())) || std::any_of(a.graphs().begin(), a.graphs().end(), uses);
  });
}

// Follows the texts through the nodes, which stand in the order in which they run. A node with
// graphs of its own counts as one that makes numbers.
Flow flow_of(const ::onnx::GraphProto& graph, const std::string& name) {
  Flow out;
  std::unordered_set<std::string_view> texts{name};
  for (const ::onnx::NodeProto& node : graph.node()) {
    const Mover* mover = find_mover(full_name(node));
    bool reads = uses_inside(node, texts), moves = mover != nullptr;
    for (int i = 0; i < node.input_size(); ++i) {
      if (!texts.contains(node.input(i))) continue;
      reads = true;
      moves = moves && mover->moves(static_cast<size_t>(i));
    }
    if (!reads) continue;
    bool counts = false;
    for (int i = 0; i < node.output_size(); ++i) {
      if (node.output(i).empty()) continue;
      const bool is_text = moves ? mover->fills(static_cast<size_t>(i)) : i == 0 && makes_texts(node);
      if (is_text) {
        texts.insert(node.output(i));
      } else {
        out.numbers.push_back(node.output(i));
        counts = true;
      }
    }
    if (counts) out.readers.push_back(&node);
  }
  for (const ::onnx::ValueInfoProto& o : graph.output()) {
    if (texts.contains(o.name())) out.outputs.push_back(o.name());
  }
  return out;
}

std::string node_names(const std::vector<const ::onnx::NodeProto*>& nodes) {
  const size_t shown = std::min(nodes.size(), kMostNodes);
  const std::string names = join(
      std::vector(nodes.begin(), nodes.begin() + static_cast<ptrdiff_t>(shown)), ", ", [](const auto* n) {
        return cat("`", printable(n->op_type()), "`",
                   n->name().empty() ? "" : cat(" (node `", printable(n->name()), "`)"));
      });
  return shown == nodes.size() ? names : cat(names, " and ", nodes.size() - shown, " more");
}

bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Can the name stand between quotes as it is, and whole?
bool is_plain(std::string_view name) {
  return printable(name) == name && name.find_first_of("\"\\") == std::string_view::npos;
}

// ["x", "codes"]
std::string list_of(const Names& names) {
  return cat("[", join(names, ", ", [](std::string_view n) { return cat("\"", n, "\""); }), "]");
}

// The call that cuts the model. Nothing if it would name too much or too little, or a name that
// Python reads otherwise.
std::string cut(const ::onnx::GraphProto& graph, const Flow& flow, std::string_view file) {
  std::unordered_set<std::string_view> weights;
  for (const ::onnx::TensorProto& w : graph.initializer()) weights.insert(w.name());
  Names inputs, outputs;
  for (const ::onnx::ValueInfoProto& i : graph.input()) {
    const bool is_text = i.type().tensor_type().elem_type() == ::onnx::TensorProto::STRING;
    if (!is_text && !weights.contains(i.name())) inputs.push_back(i.name());
  }
  inputs.insert(inputs.end(), flow.numbers.begin(), flow.numbers.end());
  for (const ::onnx::ValueInfoProto& o : graph.output()) {
    if (!contains(flow.outputs, o.name()) && !contains(flow.numbers, o.name())) outputs.push_back(o.name());
  }
  if (inputs.empty() || outputs.empty() || inputs.size() + outputs.size() > kMostNames) return {};
  const auto all_plain = [](const Names& names) { return std::all_of(names.begin(), names.end(), is_plain); };
  if (!is_plain(file) || !all_plain(inputs) || !all_plain(outputs)) return {};
  return cat(": onnx.utils.extract_model(\"", file, "\", \"numbers.onnx\", ", list_of(inputs), ", ",
             list_of(outputs), ")");
}

}  // namespace

std::string remedy_for_texts(const ::onnx::GraphProto& graph, const std::string& name,
                             std::string_view file) {
  const Flow flow = flow_of(graph, name);
  if (flow.readers.empty() && flow.outputs.empty()) return "drop it: nothing is computed with it";
  const std::string call = cut(graph, flow, file);
  if (flow.readers.empty()) {
    return cat(
        "no number comes of its texts, which end in ",
        join(flow.outputs, ", ", [](std::string_view n) { return cat("output `", printable(n), "`"); }),
        ": keep them beside the model, and leave them out of it", call);
  }
  return cat("numbers are made of the texts by ", node_names(flow.readers),
             ": compute these before the model runs, and begin the model behind them", call);
}

}  // namespace relay::frontend
