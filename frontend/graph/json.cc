#include "frontend/graph/json.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <unordered_set>

#include "base/cat.h"
#include "base/json_text.h"

namespace relay::frontend {
namespace {

using nlohmann::json;

// Elements of storage_id and device_index fit 32 bits in every executor of the format.
constexpr int64_t kMostStorage = INT32_MAX;
constexpr size_t kMostRank = 64;
constexpr size_t kDeepest = 16;  // of brackets; the format needs five

struct Wrong {
  std::string why;
  Slug slug = "graph-invalid";
};

// What a document tree would hide or not survive: keys that stand twice, and deep nesting.
class Guard : public nlohmann::json_sax<json> {
 public:
  std::string wrong;

  bool start_object(size_t) override { return open(); }
  bool start_array(size_t) override { return open(); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string& name) override {
    return keys_.back().insert(name).second || fail(cat("an object has the key `", name, "` twice"));
  }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(int64_t) override { return true; }
  bool number_unsigned(uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception&) override {
    return fail(cat("it is not JSON at byte ", at));
  }

 private:
  bool open() {
    if (keys_.size() == kDeepest) return fail("it is nested too deeply for a graph");
    keys_.emplace_back();
    return true;
  }
  bool close() {
    keys_.pop_back();
    return true;
  }
  bool fail(std::string why) {
    wrong = std::move(why);
    return false;
  }
  std::vector<std::unordered_set<std::string>> keys_;
};

// --- pieces of JSON, or Wrong; `what` names them in messages

const json& member(const json& object, const char* key, const std::string& what) {
  const auto it = object.find(key);
  if (it == object.end()) throw Wrong{cat(what, " has no `", key, "`")};
  return *it;
}

const json& list(const json& j, const std::string& what) {
  if (!j.is_array()) throw Wrong{cat(what, " is not a list")};
  return j;
}

const std::string& text(const json& j, const std::string& what) {
  if (!j.is_string()) throw Wrong{cat(what, " is not a text")};
  return j.get_ref<const std::string&>();
}

int64_t integer(const json& j, int64_t least, int64_t most, const std::string& what) {
  const bool fits =
      j.is_number_unsigned() ? j.get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX) : j.is_number_integer();
  const int64_t v = fits ? j.get<int64_t>() : 0;
  if (!fits || v < least || v > most) throw Wrong{cat(what, " is not an integer of ", least, " to ", most)};
  return v;
}

uint32_t number(const json& j, size_t below, const std::string& what) {
  if (below == 0) throw Wrong{cat(what, " refers to something, and there is nothing")};
  return static_cast<uint32_t>(integer(j, 0, static_cast<int64_t>(below) - 1, what));
}

// The attribute as a count.
std::optional<uint32_t> count_in(const GraphNode& node, const std::string& attr) {
  const std::string* t = node.find(attr);
  uint32_t value = 0;
  if (!t) return std::nullopt;
  const auto [end, error] = std::from_chars(t->data(), t->data() + t->size(), value);
  if (error != std::errc() || end != t->data() + t->size() || t->empty())
    throw Wrong{cat("node `", node.name, "`: its attribute `", attr, "` is `", *t, "` and not a number")};
  return value;
}

class Reader {
 public:
  Reader(const json& top, const GraphLimits& limits) : top_(top), limits_(limits) {}

  Graph run() {
    if (!top_.is_object()) throw Wrong{"it is not an object"};
    for (const auto& [key, value] : top_.items()) {
      if (!known(key)) throw Wrong{cat("it has the unknown key `", key, "`")};
    }
    read_nodes();
    read_rows();
    for (GraphNode& n : graph_.nodes) check_call(n);
    for (size_t i = 0; i < graph_.nodes.size(); ++i) check_inputs(i);
    read_arguments();
    for (const json& j : list(member(top_, "heads", "it"), "`heads`")) {
      graph_.heads.push_back(read_entry(j, graph_.nodes.size(), "an entry of `heads`"));
      check_result(graph_.heads.back(), "an entry of `heads`");
    }
    if (graph_.heads.empty()) throw Wrong{"it has no heads, so it computes nothing"};
    if (const auto it = top_.find("attrs"); it != top_.end()) read_attributes(*it);
    const bool calls =
        std::any_of(graph_.nodes.begin(), graph_.nodes.end(), [](const GraphNode& n) { return n.is_call(); });
    if (calls && (graph_.dltype.empty() || graph_.shape.empty() || graph_.storage_id.empty()))
      throw Wrong{"it calls functions, and its attributes lack `dltype`, `shape` or `storage_id`"};
    return std::move(graph_);
  }

 private:
  static bool known(std::string_view key) {
    return key == "nodes" || key == "arg_nodes" || key == "heads" || key == "node_row_ptr" ||
           key == "attrs" || key == "metadata";
  }

  std::string name_of(size_t node) const { return cat("node ", node, " (`", graph_.nodes[node].name, "`)"); }

  void read_nodes() {
    const json& nodes = list(member(top_, "nodes", "it"), "`nodes`");
    if (nodes.empty()) throw Wrong{"it has no nodes"};
    if (nodes.size() > limits_.nodes)
      throw Wrong{cat("it has ", nodes.size(), " nodes, more than the limit of ", limits_.nodes),
                  "limit-nodes"};
    graph_.nodes.reserve(nodes.size());
    for (const json& j : nodes) read_node(j);
    std::unordered_set<std::string_view> inputs;
    for (const GraphNode& n : graph_.nodes) {
      if (n.is_input() && !inputs.insert(n.name).second)
        throw Wrong{cat("two inputs are called `", n.name, "`")};
    }
  }

  void read_node(const json& j) {
    const size_t at = graph_.nodes.size();
    const std::string what = cat("node ", at);
    if (!j.is_object()) throw Wrong{cat(what, " is not an object")};
    GraphNode node;
    node.op = text(member(j, "op", what), cat("`op` of ", what));
    node.name = text(member(j, "name", what), cat("`name` of ", what));
    for (const auto& [key, value] : j.items()) {
      if (key == "attrs" || key == "attr" || key == "param") {
        if (!value.is_object()) throw Wrong{cat("`", key, "` of ", what, " is not an object")};
        for (const auto& [name, v] : value.items()) {
          const bool fresh =
              node.attrs.emplace(name, text(v, cat("attribute `", name, "` of ", what))).second;
          if (!fresh) throw Wrong{cat(what, " has the attribute `", name, "` twice")};
        }
      } else if (key == "control_deps") {
        for (const json& d : list(value, cat("`control_deps` of ", what)))
          node.control_deps.push_back(number(d, at, cat("a control dependency of ", what)));
      } else if (key != "op" && key != "name" && key != "inputs" && key != "backward_source_id") {
        throw Wrong{cat(what, " has the unknown key `", key, "`")};
      }
    }
    const json& inputs = list(member(j, "inputs", what), cat("`inputs` of ", what));
    edges_ += inputs.size();
    if (edges_ > limits_.edges)
      throw Wrong{cat("its nodes have more inputs than the limit of ", limits_.edges), "limit-nodes"};
    // A node reads what was computed before it: so nothing can be a circle.
    for (const json& i : inputs)
      node.inputs.push_back(read_entry(i, at, cat("an input of ", what, " (`", node.name, "`)")));
    graph_.nodes.push_back(std::move(node));
  }

  // [node, index] or [node, index, version], of one of so many nodes
  static GraphEntry read_entry(const json& j, size_t nodes, const std::string& what) {
    if (!j.is_array() || j.size() < 2 || j.size() > 3)
      throw Wrong{cat(what, " is not a list of a node, an index and a version")};
    const auto part = [&](size_t i, const char* name) {
      return static_cast<uint32_t>(integer(j[i], 0, INT32_MAX, cat("the ", name, " of ", what)));
    };
    const GraphEntry e{part(0, "node"), part(1, "index"), j.size() == 3 ? part(2, "version") : 0};
    if (e.node >= nodes)
      throw Wrong{cat(what, " is a result of node ", e.node, ", and only those before node ", nodes,
                      " are known there")};
    return e;
  }

  void read_rows() {
    const auto it = top_.find("node_row_ptr");
    if (it == top_.end()) {
      const bool calls = std::any_of(graph_.nodes.begin(), graph_.nodes.end(),
                                     [](const GraphNode& n) { return n.is_call(); });
      if (calls) throw Wrong{"it calls functions and has no `node_row_ptr`"};
      return;
    }
    for (const json& j : list(*it, "`node_row_ptr`"))
      graph_.node_row_ptr.push_back(
          static_cast<uint32_t>(integer(j, 0, INT32_MAX, "an element of `node_row_ptr`")));
    const std::vector<uint32_t>& rows = graph_.node_row_ptr;
    if (rows.size() != graph_.nodes.size() + 1)
      throw Wrong{cat("`node_row_ptr` has ", rows.size(), " elements, and ", graph_.nodes.size(),
                      " nodes need one more than they are")};
    if (rows[0] != 0) throw Wrong{"`node_row_ptr` does not start at 0"};
    for (size_t i = 0; i + 1 < rows.size(); ++i) {
      if (rows[i + 1] <= rows[i]) throw Wrong{cat("`node_row_ptr` gives ", name_of(i), " no result")};
      if (graph_.nodes[i].is_input() && rows[i + 1] - rows[i] != 1)
        throw Wrong{cat("`node_row_ptr` gives the input ", name_of(i), " several results")};
    }
  }

  // What an executor needs to know of a call.
  void check_call(const GraphNode& node) const {
    if (!node.is_call()) return;
    for (const char* attr : {"func_name", "num_inputs", "num_outputs", "flatten_data"}) {
      if (!node.find(attr))
        throw Wrong{cat("node `", node.name, "` calls a function and has no attribute `", attr, "`")};
    }
    if (count_in(node, "num_inputs") != node.inputs.size())
      throw Wrong{cat("node `", node.name, "` has ", node.inputs.size(), " inputs and says ",
                      *node.find("num_inputs"))};
    const auto at = static_cast<size_t>(&node - graph_.nodes.data());
    const uint32_t results = graph_.node_row_ptr[at + 1] - graph_.node_row_ptr[at];
    if (count_in(node, "num_outputs") != results)
      throw Wrong{cat("node `", node.name, "` says ", *node.find("num_outputs"),
                      " results, and `node_row_ptr` gives it ", results)};
    const std::optional<uint32_t> flatten = count_in(node, "flatten_data");
    if (*flatten > 1)
      throw Wrong{cat("node `", node.name, "`: its attribute `flatten_data` is neither 0 nor 1")};
  }

  void check_inputs(size_t at) const {
    const GraphNode& node = graph_.nodes[at];
    if (node.is_input() && !node.inputs.empty())
      throw Wrong{cat(name_of(at), " is an input of the graph and has inputs of its own")};
    for (const GraphEntry& e : node.inputs) check_result(e, cat("an input of ", name_of(at)));
  }

  void check_result(const GraphEntry& e, const std::string& what) const {
    uint32_t results = UINT32_MAX;  // of an operator, as the operator says
    if (graph_.nodes[e.node].is_input()) results = 1;
    if (!graph_.node_row_ptr.empty()) results = graph_.node_row_ptr[e.node + 1] - graph_.node_row_ptr[e.node];
    if (e.index >= results)
      throw Wrong{cat(what, " is result ", e.index, " of ", name_of(e.node), ", which has ", results)};
  }

  void read_arguments() {
    std::vector<bool> listed(graph_.nodes.size());
    for (const json& j : list(member(top_, "arg_nodes", "it"), "`arg_nodes`")) {
      const uint32_t i = number(j, graph_.nodes.size(), "an element of `arg_nodes`");
      if (!graph_.nodes[i].is_input())
        throw Wrong{cat("`arg_nodes` has ", name_of(i), ", which is no input")};
      if (listed[i]) throw Wrong{cat("`arg_nodes` has ", name_of(i), " twice")};
      listed[i] = true;
      graph_.arg_nodes.push_back(i);
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (graph_.nodes[i].is_input() && !listed[i])
        throw Wrong{cat("`arg_nodes` lacks ", name_of(i), ", which is an input")};
    }
  }

  // {"shape": ["list_shape", [[1, 3], ...]], ...}
  void read_attributes(const json& attrs) {
    if (!attrs.is_object()) throw Wrong{"`attrs` is not an object"};
    for (const auto& [key, value] : attrs.items()) {
      const std::string what = cat("attribute `", key, "`");
      if (!value.is_array() || value.size() != 2 || !value[0].is_string())
        throw Wrong{cat(what, " is not a list of its type and its value")};
      const std::string& type = value[0].get_ref<const std::string&>();
      const json& elements = value[1];
      if (key == "dltype" || key == "dtype" || key == "storage_scope") {
        std::vector<std::string>& out = key == "storage_scope" ? graph_.storage_scope : graph_.dltype;
        if (key != "storage_scope" && !out.empty()) throw Wrong{"it has both `dltype` and `dtype`"};
        for (const json& e : elements_of(elements, type, "list_str", what))
          out.push_back(text(e, cat("an element of ", what)));
      } else if (key == "shape") {
        for (const json& e : elements_of(elements, type, "list_shape", what))
          graph_.shape.push_back(read_shape(e));
      } else if (key == "parameters") {
        if (type != "list_int") throw Wrong{cat(what, " has type `", type, "` and not `list_int`")};
        for (const json& e : list(elements, what)) {
          const uint32_t i = number(e, graph_.nodes.size(), cat("an element of ", what));
          if (!graph_.nodes[i].is_input()) throw Wrong{cat(what, " has ", name_of(i), ", which is no input")};
          graph_.parameters.push_back(i);
        }
      } else if (key == "storage_id" || key == "device_index") {
        std::vector<int64_t>& out = key == "storage_id" ? graph_.storage_id : graph_.device_index;
        for (const json& e : elements_of(elements, type, "list_int", what))
          out.push_back(integer(e, -1, kMostStorage, cat("an element of ", what)));
      }
    }
  }

  const json& elements_of(const json& j, const std::string& type, const char* wanted,
                          const std::string& what) const {
    if (type != wanted) throw Wrong{cat(what, " has type `", type, "` and not `", wanted, "`")};
    if (graph_.node_row_ptr.empty()) throw Wrong{cat(what, " needs `node_row_ptr`, which is not there")};
    const size_t entries = graph_.node_row_ptr.back();
    if (list(j, what).size() != entries)
      throw Wrong{cat(what, " has ", j.size(), " elements for ", entries, " results of nodes")};
    return j;
  }

  static Shape read_shape(const json& j) {
    Shape out;
    if (list(j, "an element of attribute `shape`").size() > kMostRank)
      throw Wrong{cat("a shape has more than ", kMostRank, " dimensions")};
    for (const json& e : j) out.push_back(integer(e, 0, INT64_MAX, "an extent of a shape"));
    // So that no product of it with the size of an element overflows.
    const std::optional<int64_t> count = element_count(out);
    if (!count || *count > INT64_MAX / 16) throw Wrong{cat("the shape ", show(out), " is too large")};
    return out;
  }

  const json& top_;
  const GraphLimits& limits_;
  Graph graph_;
  size_t edges_ = 0;
};

// --- writing

nlohmann::ordered_json entry_of(const GraphEntry& e) { return {e.node, e.index, e.version}; }

nlohmann::ordered_json node_of(const GraphNode& n) {
  nlohmann::ordered_json j = {{"op", n.op}, {"name", n.name}};
  if (!n.attrs.empty()) j["attrs"] = n.attrs;
  j["inputs"] = nlohmann::ordered_json::array();
  for (const GraphEntry& e : n.inputs) j["inputs"].push_back(entry_of(e));
  if (!n.control_deps.empty()) j["control_deps"] = n.control_deps;
  return j;
}

}  // namespace

Result<Graph> parse_graph(std::string_view bytes, std::string_view source, const GraphLimits& limits,
                          Diagnostics& diagnostics) {
  try {
    Guard guard;
    if (!json::sax_parse(bytes.begin(), bytes.end(), &guard)) throw Wrong{guard.wrong};
    const json top = json::parse(bytes.begin(), bytes.end());
    return Reader(top, limits).run();
  } catch (const Wrong& wrong) {
    diagnostics.error(Span::none(), wrong.slug, cat("cannot read the graph `", source, "`: ", wrong.why));
    return kReported;
  }
}

Result<std::string> graph_text(const Graph& graph, Diagnostics& diagnostics) {
  bool is_text = true;
  const auto text = [&](const auto& value) {
    std::optional<std::string> exact = exact_json_text(value);
    is_text &= exact.has_value();
    return std::move(exact).value_or("");
  };
  std::string out = "{\n\"nodes\": [";
  for (const GraphNode& n : graph.nodes) out += cat(&n == &graph.nodes[0] ? "\n" : ",\n", text(node_of(n)));
  nlohmann::ordered_json heads = nlohmann::ordered_json::array();
  for (const GraphEntry& e : graph.heads) heads.push_back(entry_of(e));
  out += cat("\n],\n\"arg_nodes\": ", text(json(graph.arg_nodes)), ",\n\"heads\": ", text(heads));
  std::vector<std::string> attrs;
  const auto add = [&](std::string_view key, std::string_view type, const auto& elements) {
    if (!elements.empty())
      attrs.push_back(cat("  \"", key, "\": [\"", type, "\", ", text(json(elements)), "]"));
  };
  add("dltype", "list_str", graph.dltype);
  add("shape", "list_shape", graph.shape);
  add("storage_id", "list_int", graph.storage_id);
  add("device_index", "list_int", graph.device_index);
  add("storage_scope", "list_str", graph.storage_scope);
  add("parameters", "list_int", graph.parameters);
  if (!attrs.empty()) out += cat(",\n\"attrs\": {\n", join(attrs, ",\n"), "\n}");
  if (!graph.node_row_ptr.empty()) out += cat(",\n\"node_row_ptr\": ", text(json(graph.node_row_ptr)));
  if (is_text) return out + "\n}\n";
  diagnostics.error(Span::none(), "graph-unwritable",
                    "cannot write the graph: a name in it is not UTF-8 text");
  return kReported;
}

}  // namespace relay::frontend
