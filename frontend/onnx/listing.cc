// The listing of a model: one line a node, the spans that point into it, and all that cannot be
// imported at once.
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/refused.h"
#include "frontend/onnx/schema.h"
#include "frontend/onnx/sequences.h"

namespace relay::frontend {
namespace {

constexpr size_t kLongestLine = 1000;
constexpr size_t kLongestListing = size_t{1} << 30;  // spans are 32 bits wide

std::string names_of(const google::protobuf::RepeatedPtrField<std::string>& names) {
  std::string out;
  for (const std::string& name : names) {
    if (out.size() > kLongestLine / 3) return out + ", ...";
    if (&name != &names[0]) out += ", ";
    out += printable(name);
  }
  return out;
}

// Conv "conv1" opset 8 (data, weight) -> (out)
std::string line_of(const ::onnx::NodeProto& node, int64_t opset) {
  std::string out;
  out += printable(full_name(node));
  if (!node.name().empty()) out += cat(" \"", printable(node.name()), "\"");
  return out + cat(" opset ", opset, " (", names_of(node.input()), ") -> (", names_of(node.output()), ")");
}

// The dtypes of tensors as far as a graph says what they are.
std::map<std::string, int32_t> dtypes_of(const ::onnx::GraphProto& graph) {
  std::map<std::string, int32_t> out;
  for (const auto* values : {&graph.input(), &graph.value_info(), &graph.output()}) {
    for (const ::onnx::ValueInfoProto& v : *values) {
      if (v.type().has_tensor_type()) out.emplace(v.name(), v.type().tensor_type().elem_type());
    }
  }
  for (const ::onnx::TensorProto& t : graph.initializer()) out.emplace(t.name(), t.data_type());
  return out;
}

// What the user can do about an operator that is not there.
std::string remedy_for(const ::onnx::NodeProto& node, int64_t opset) {
  const std::string name = full_name(node);
  if (const Schema* schema = find_schema(name, opset); schema && schema->removed) {
    return cat("ONNX removed `", name, "` in version ", schema->since,
               " of the operator set: convert the model with onnx.version_converter");
  }
  if (const auto reason = reason_to_refuse(name)) return std::string(*reason);
  std::vector<std::string> since;
  for (const Row& row : all_rows()) {
    if (row.name == name) since.push_back(cat(row.since));
  }
  if (!since.empty())
    return cat("`", name, "` is supported from version ", since.front(), " of the operator set on");
  if (!is_of_onnx(node)) {
    if (find_row(node.op_type(), opset ? opset : newest_version(""))) {
      return cat("ONNX's own `", printable(node.op_type()), "` is supported; the one of `",
                 printable(node.domain()), "` is not");
    }
    return "outside ONNX's own domain few operators are supported: `relay ops --onnx` lists all; export the "
           "model without others";
  }
  // Names that look like it: the most letters in common at the start come first.
  std::vector<std::pair<size_t, std::string>> alike;
  for (const Row& row : all_rows()) {
    size_t same = 0;
    while (same < row.name.size() && same < node.op_type().size() && row.name[same] == node.op_type()[same])
      ++same;
    const bool known = !alike.empty() && alike.back().second == row.name;
    if (same >= 4 && same * 2 >= row.name.size() && !known) alike.emplace_back(same, std::string(row.name));
  }
  std::stable_sort(alike.begin(), alike.end(),
                   [](const auto& x, const auto& y) { return x.first > y.first; });
  std::vector<std::string> near;
  for (size_t i = 0; i < alike.size() && i < 3; ++i) near.push_back(alike[i].second);
  std::string out = near.empty() ? "" : cat("supported and nearest in name: ", join(near, ", "), "; ");
  return out + "`relay ops --onnx` lists all that are supported";
}

}  // namespace

void Importer::name_file(const ::onnx::TensorProto& proto) const {
  if (!folder_ || !options_.names_file) return;
  if (const std::string file = data::external_file(proto); !file.empty())
    options_.names_file((std::filesystem::path(*folder_) / file).string());
}

bool Importer::list_nodes() {
  struct Open {
    const ::onnx::GraphProto* graph;  // null for the body of a function
    const google::protobuf::RepeatedPtrField<::onnx::NodeProto>* nodes;
    int next;
    size_t depth;
  };
  // Graphs within a node are listed below it, indented. The order is that of the nodes in the file.
  // The bodies of functions follow, each once, below a line with the function's name.
  std::string text;
  struct Line {
    const ::onnx::NodeProto* node;
    const ::onnx::GraphProto* graph;
    int64_t opset;
    uint32_t begin, end;
  };
  std::vector<Line> lines;
  std::vector<Open> open{{&model_.graph(), &model_.graph().node(), 0, 0}};
  auto next_function = functions_.called().begin();
  const Opsets* opsets = &model_opsets_;
  while (!open.empty() || next_function != functions_.called().end()) {
    if (open.empty()) {
      const ModelFunction& f = **next_function++;
      text += cat("function ", show_name(*f.proto), "\n");
      opsets = &f.opsets;
      open.push_back({nullptr, &f.body.node(), 0, 1});
    }
    Open& top = open.back();
    if (top.next == 0 && top.graph) {
      for (const ::onnx::TensorProto& t : top.graph->initializer()) name_file(t);
    }
    if (top.next == top.nodes->size()) {
      open.pop_back();
      continue;
    }
    const ::onnx::GraphProto* graph = top.graph;
    const ::onnx::NodeProto& node = top.nodes->at(top.next++);
    const size_t depth = top.depth;
    if (lines.size() == options_.nodes || text.size() > kLongestListing) {
      diagnostics_
          .error(Span::none(), "limit-nodes",
                 cat("`", name_, "` has more nodes than the limit of ", options_.nodes))
          .note("divide the model into several");
      return false;
    }
    read_names_.insert(node.input().begin(), node.input().end());
    text.append(2 * depth, ' ');
    const auto begin = static_cast<uint32_t>(text.size());
    text += line_of(node, opset_in(*opsets, node)).substr(0, kLongestLine);
    lines.push_back({&node, graph, opset_in(*opsets, node), begin, static_cast<uint32_t>(text.size())});
    text += '\n';
    for (int i = node.attribute_size(); i-- > 0;) {
      const ::onnx::AttributeProto& a = node.attribute(i);
      if (a.has_t()) name_file(a.t());
      if (!a.has_g() && a.graphs_size() == 0) continue;
      if (depth == options_.graph_depth) {
        diagnostics_
            .error(Span::none(), "limit-graph-depth",
                   cat("`", name_, "`: `", printable(node.op_type()), "`",
                       node.name().empty() ? "" : cat(" (node `", printable(node.name()), "`)"),
                       " has a graph within more than ", options_.graph_depth, " others"))
            .note("export the model with its inner graphs written out where they are used");
        return false;
      }
      if (a.has_g()) open.push_back({&a.g(), &a.g().node(), 0, depth + 1});
      for (const ::onnx::GraphProto& g : a.graphs()) open.push_back({&g, &g.node(), 0, depth + 1});
    }
  }

  const uint32_t file = context().sources().add(name_, std::move(text));
  bool ok = true;
  std::map<const ::onnx::GraphProto*, std::map<std::string, int32_t>> dtypes;
  for (const Line& line : lines) {
    const ::onnx::NodeProto& node = *line.node;
    const Span span{file, line.begin, line.end};
    spans_.emplace(&node, span);
    const Schema* schema = find_schema(full_name(node), line.opset);
    const bool removed = schema && schema->removed;
    if (function_of(node) ||
        (!removed && (is_control_flow(full_name(node)) || find_row(full_name(node), line.opset) ||
                      is_composite_operator(full_name(node), line.opset))))
      continue;
    ok = false;
    auto [known, fresh] = dtypes.try_emplace(line.graph);
    if (fresh && line.graph) known->second = dtypes_of(*line.graph);
    std::string kinds;
    for (const std::string& input : node.input()) {
      const auto it = known->second.find(input);
      if (it != known->second.end() && kinds.size() < 100)
        kinds += cat(kinds.empty() ? "" : ", ", data::onnx_dtype_name(it->second));
    }
    Diagnostic& d =
        diagnostics_.error(span, "unsupported-operator",
                           cat("operator `", printable(full_name(node)), "` of version ", line.opset,
                               node.name().empty() ? "" : cat(" (node `", printable(node.name()), "`)"),
                               kinds.empty() ? "" : cat(" on ", kinds), " is not supported"));
    // A remedy is looked for only where it will be read.
    if (diagnostics_.errors() <= Diagnostics::kMaxKept) d.note(remedy_for(node, line.opset));
  }
  return ok;
}

}  // namespace relay::frontend
