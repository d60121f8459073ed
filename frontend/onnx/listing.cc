// The listing of a model: one line a node, the spans that point into it, and all that cannot be
// imported at once.
#include <algorithm>
#include <filesystem>
#include <map>

#include "base/cat.h"
#include "base/nearest.h"
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

// " (node `conv1`)"; empty for a node without a name.
std::string node_name(const ::onnx::NodeProto& node) {
  return node.name().empty() ? "" : cat(" (node `", printable(node.name()), "`)");
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

// "did you mean `Softmax`? ", of operators in the node's domain; empty if no name is like its own.
// A name that only begins like it may mean it too, as `LayerNorm` does.
std::string names_alike(const ::onnx::NodeProto& node) {
  const std::string domain = is_of_onnx(node) ? "" : node.domain() + ".";
  const std::string_view own = node.op_type();
  std::vector<std::string> names;
  for (const ImportableOperator& o : importable_operators()) {
    if (reason_to_refuse(o.name)) continue;
    const size_t dot = o.name.rfind('.');
    const size_t begin = dot == std::string::npos ? 0 : dot + 1;
    if (o.name.substr(0, begin) == domain) names.push_back(o.name.substr(begin));
  }
  if (const std::string meant = did_you_mean(own, names, domain); !meant.empty()) return meant + " ";
  std::vector<std::pair<size_t, std::string>> alike;  // how many letters are the same
  for (const std::string& name : names) {
    const size_t same = static_cast<size_t>(
        std::mismatch(name.begin(), name.end(), own.begin(), own.end()).first - name.begin());
    if (same >= 4 && same * 2 >= name.size()) alike.emplace_back(same, name);
  }
  std::stable_sort(alike.begin(), alike.end(),
                   [](const auto& x, const auto& y) { return x.first > y.first; });
  if (alike.size() > 3) alike.resize(3);
  if (alike.empty()) return "";
  return cat("supported and nearest in name: ",
             join(alike, ", ", [&](const auto& a) { return domain + a.second; }), "; ");
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
  // Its weights lie as the vectors of the machine want it, which the file does not name.
  if (node.domain() == "com.microsoft.nchwc") {
    return "ONNX Runtime wrote this model for the processor that it ran on: give the model that it read, or "
           "have it write with ORT_ENABLE_EXTENDED in the place of ORT_ENABLE_ALL";
  }
  constexpr const char* kAll = "`relay ops --onnx` lists all that are known";
  if (!is_of_onnx(node) && find_row(node.op_type(), opset ? opset : newest_version(""))) {
    return cat("ONNX's own `", printable(node.op_type()), "` is supported; the one of `",
               printable(node.domain()), "` is not");
  }
  if (const std::string near = names_alike(node); is_of_onnx(node) || !near.empty()) return near + kAll;
  return cat("outside ONNX's own domain few operators are supported, ", kAll,
             ": export the model without others");
}

}  // namespace

void Importer::name_file(const ::onnx::TensorProto& proto) const {
  if (!folder_ || !options_.names_file) return;
  if (const std::string file = data::external_file(proto); !file.empty())
    options_.names_file((std::filesystem::path(*folder_) / file).string());
}

// The nodes of a model as a text, whose lines are the places of nodes.
class Importer::Listing {
 public:
  explicit Listing(Importer& importer) : i_(importer) {}

  // Graphs within a node are listed below it, indented. The order is that of the nodes in the file.
  // The bodies of functions follow, each once, below a line with the function's name. False if a
  // limit was passed, which is reported.
  bool write();
  // Gives nodes their places, and reports those whose operators are not known. False
  // if there are any.
  bool check();

 private:
  struct Open {
    const ::onnx::GraphProto* graph;  // null for the body of a function
    const google::protobuf::RepeatedPtrField<::onnx::NodeProto>* nodes;
    int next;
    size_t depth;
  };
  struct Line {
    const ::onnx::NodeProto* node;
    const ::onnx::GraphProto* graph;
    int64_t opset;
    uint32_t begin, end;
  };
  bool add(const ::onnx::NodeProto& node, const ::onnx::GraphProto* graph, size_t depth);
  bool open_graphs(const ::onnx::NodeProto& node, size_t depth);
  bool is_known(const Line& line) const;
  std::string kinds_of_inputs(const Line& line);
  void report_unknown(const Line& line, Span span);

  Importer& i_;
  std::string text_;
  std::vector<Line> lines_;
  std::vector<Open> open_;
  const Opsets* opsets_ = &i_.model_opsets_;
  std::map<const ::onnx::GraphProto*, std::map<std::string, int32_t>> dtypes_;
};

bool Importer::Listing::write() {
  open_.push_back({&i_.model_.graph(), &i_.model_.graph().node(), 0, 0});
  auto next_function = i_.functions_.called().begin();
  while (!open_.empty() || next_function != i_.functions_.called().end()) {
    if (open_.empty()) {
      const ModelFunction& f = **next_function++;
      text_ += cat("function ", show_name(*f.proto), "\n");
      opsets_ = &f.opsets;
      open_.push_back({nullptr, &f.body.node(), 0, 1});
    }
    Open& top = open_.back();
    if (top.next == 0 && top.graph) {
      for (const ::onnx::TensorProto& t : top.graph->initializer()) i_.name_file(t);
    }
    if (top.next == top.nodes->size()) {
      open_.pop_back();
    } else if (!add(top.nodes->at(top.next++), top.graph, top.depth)) {
      return false;
    }
  }
  return true;
}

bool Importer::Listing::add(const ::onnx::NodeProto& node, const ::onnx::GraphProto* graph, size_t depth) {
  if (lines_.size() == i_.options_.nodes || text_.size() > kLongestListing) {
    const Refusal refusal = too_many(cat("`", i_.name_, "` has more nodes"), i_.options_.nodes);
    i_.diagnostics_.error(Span::none(), refusal.slug, refusal.reason).note(refusal.remedy);
    return false;
  }
  i_.read_names_.insert(node.input().begin(), node.input().end());
  text_.append(2 * depth, ' ');
  const auto begin = static_cast<uint32_t>(text_.size());
  const int64_t opset = opset_in(*opsets_, node);
  text_ += line_of(node, opset).substr(0, kLongestLine);
  lines_.push_back({&node, graph, opset, begin, static_cast<uint32_t>(text_.size())});
  text_ += '\n';
  return open_graphs(node, depth);
}

bool Importer::Listing::open_graphs(const ::onnx::NodeProto& node, size_t depth) {
  for (int i = node.attribute_size(); i-- > 0;) {
    const ::onnx::AttributeProto& a = node.attribute(i);
    if (a.has_t()) i_.name_file(a.t());
    if (!a.has_g() && a.graphs_size() == 0) continue;
    if (depth == i_.options_.graph_depth) {
      i_.diagnostics_
          .error(Span::none(), "limit-graph-depth",
                 cat("`", i_.name_, "`: `", printable(node.op_type()), "`", node_name(node),
                     " has a graph within more than ", i_.options_.graph_depth, " others"))
          .note("export the model with its inner graphs written out where they are used");
      return false;
    }
    if (a.has_g()) open_.push_back({&a.g(), &a.g().node(), 0, depth + 1});
    for (const ::onnx::GraphProto& g : a.graphs()) open_.push_back({&g, &g.node(), 0, depth + 1});
  }
  return true;
}

bool Importer::Listing::check() {
  const uint32_t file = i_.context().sources().add(i_.name_, std::move(text_));
  bool ok = true;
  for (const Line& line : lines_) {
    const Span span{file, line.begin, line.end};
    i_.spans_.emplace(line.node, span);
    if (is_known(line)) continue;
    ok = false;
    report_unknown(line, span);
  }
  return ok;
}

bool Importer::Listing::is_known(const Line& line) const {
  if (i_.function_of(*line.node)) return true;
  const std::string name = full_name(*line.node);
  const Schema* schema = find_schema(name, line.opset);
  if (schema && schema->removed) return false;
  return is_control_flow(name) || find_row(name, line.opset) || is_composite_operator(name, line.opset);
}

// "FLOAT, INT64"
std::string Importer::Listing::kinds_of_inputs(const Line& line) {
  auto [known, fresh] = dtypes_.try_emplace(line.graph);
  if (fresh && line.graph) known->second = dtypes_of(*line.graph);
  std::string kinds;
  for (const std::string& input : line.node->input()) {
    const auto it = known->second.find(input);
    if (it != known->second.end() && kinds.size() < 100)
      kinds += cat(kinds.empty() ? "" : ", ", data::onnx_dtype_name(it->second));
  }
  return kinds;
}

void Importer::Listing::report_unknown(const Line& line, Span span) {
  const ::onnx::NodeProto& node = *line.node;
  const std::string kinds = kinds_of_inputs(line);
  Diagnostic& d = i_.diagnostics_.error(
      span, "unsupported-operator",
      cat("operator `", printable(full_name(node)), "` of version ", line.opset, node_name(node),
          kinds.empty() ? "" : cat(" on ", kinds), " is not supported"));
  // A remedy is looked for only where it will be read.
  if (i_.diagnostics_.errors() <= Diagnostics::kMaxKept) d.note(remedy_for(node, line.opset));
}

bool Importer::list_nodes() {
  Listing listing(*this);
  return listing.write() && listing.check();
}

}  // namespace relay::frontend
