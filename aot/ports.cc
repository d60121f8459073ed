#include "aot/ports.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <optional>

#include "aot/embedded.h"
#include "base/cat.h"
#include "base/escape.h"
#include "runtime/relay.h"

namespace relay::aot {
namespace {

using Ports = std::vector<passes::PlanPort>;

nlohmann::ordered_json describe(const Ports& ports) {
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const passes::PlanPort& p : ports) {
    nlohmann::ordered_json dims = nlohmann::ordered_json::array();
    for (Dim dim : p.type->dims) {
      if (dim.is_const()) {
        dims.push_back(dim.value());
      } else if (dim.is_symbolic()) {
        dims.push_back(show(dim));
      } else {
        dims.push_back(nullptr);
      }
    }
    out.push_back({{"name", p.name}, {"dtype", p.type->dtype.name()}, {"dims", dims}});
  }
  return out;
}

void list_ports(std::string_view role, const Ports& ports, std::vector<std::string>& out) {
  for (size_t i = 0; i < ports.size(); ++i)
    out.push_back(cat("  ", role, " ", i, ": ", ports[i].name, ": ", show(ports[i].type)));
}

std::string port_table(std::string_view name, const Ports& ports, const PortExtents& extents) {
  std::string shapes, table;
  for (size_t i = 0; i < ports.size(); ++i) {
    const TensorType& t = *ports[i].type;
    std::vector<std::string> entries;
    for (Dim d : t.dims) entries.push_back(extents.entry(d));
    // C++ has no arrays without elements.
    if (entries.empty()) entries.push_back("0");
    shapes += cat("const int64_t ", name, "Shape", i, "[] = {", join(entries, ", "), "};\n");
    const std::optional<Shape> shape = t.static_shape();
    const int64_t bytes = shape ? *element_count(*shape) * static_cast<int64_t>(t.dtype.bytes()) : 0;
    table += cat("    {", c_string(ports[i].name), ", ", t.rank(), ", ", name, "Shape", i, ", ",
                 dlpack_code(t.dtype), ", ", static_cast<int>(t.dtype.bits), ", ", c_string(t.dtype.name()),
                 ", ", bytes, "},\n");
  }
  return cat(shapes, "const Port ", name, "[] = {\n", table,
             "    {nullptr, 0, nullptr, 0, 0, nullptr, 0},\n};\n");
}

}  // namespace

int dlpack_code(DType d) {
  switch (d.code) {
    case DTypeCode::kInt: return 0;          // kDLInt
    case DTypeCode::kUInt: return 1;         // kDLUInt
    case DTypeCode::kFloat: return 2;        // kDLFloat
    case DTypeCode::kBFloat: return 4;       // kDLBfloat
    case DTypeCode::kBool: return 6;         // kDLBool
    case DTypeCode::kFloat8E4M3: return 10;  // kDLFloat8_e4m3fn
    case DTypeCode::kFloat8E5M2: return 12;  // kDLFloat8_e5m2
  }
  return 0;
}

void add_ports(Type t, const std::string& name, std::vector<passes::PlanPort>& out) {
  // The tuples around what comes next, each with its next field; their numbers are the name's end.
  struct Open {
    const TupleType* tuple;
    size_t next, name_size;
  };
  std::vector<Open> around;
  std::string path = name;
  for (Type now = t; now;) {
    if (const auto* tensor = now->as<TensorType>()) out.push_back({path, tensor});
    if (const auto* tuple = now->as<TupleType>()) around.push_back({tuple, 0, path.size()});
    now = nullptr;
    while (!around.empty() && around.back().next == around.back().tuple->fields.size()) around.pop_back();
    if (around.empty()) break;
    Open& tuple = around.back();
    path.resize(tuple.name_size);
    path += cat("_", tuple.next);
    now = tuple.tuple->fields[tuple.next++];
  }
}

PortExtents::PortExtents(const std::vector<passes::PlanPort>& inputs,
                         const std::vector<passes::PlanPort>& outputs) {
  const auto add = [&](kernel::Expr e) {
    if (places_.emplace(e->id, list_.size()).second) list_.push_back(e);
  };
  std::vector<kernel::Expr> asked;
  std::vector<std::pair<size_t, size_t>> where;
  std::unordered_set<const kernel::ExprNode*> alone;
  for (size_t i = 0; i < inputs.size(); ++i) {
    for (size_t d = 0; d < inputs[i].type->rank(); ++d) {
      const Dim dim = inputs[i].type->dims[d];
      if (!dim.is_symbolic()) continue;
      asked.push_back(dim.symbolic());
      where.emplace_back(i, d);
      if (dim.symbolic()->kind != kernel::ExprKind::kVar) continue;
      add(dim.symbolic());
      alone.insert(dim.symbolic().get());
    }
  }
  for (const kernel::ExtentRule& rule : kernel::extent_rules(asked, alone)) {
    rules_.push_back({where[rule.extent].first, where[rule.extent].second, rule});
    add(rule.variable);
  }
  variables_ = list_.size();
  const auto bound = [&](kernel::Expr v) { return places_.contains(v->id); };
  for (const auto* ports : {&inputs, &outputs}) {
    for (const passes::PlanPort& port : *ports) {
      for (Dim d : port.type->dims) {
        if (d.is_symbolic() && is_printable(d.symbolic(), bound)) add(d.symbolic());
      }
    }
  }
}

std::string PortExtents::entry(Dim d) const {
  if (d.is_const()) return cat(d.value());
  const auto it = d.is_symbolic() ? places_.find(d.symbolic()->id) : places_.end();
  return it == places_.end() ? "kUnknown" : cat(-1 - static_cast<int64_t>(it->second));
}

std::string PortExtents::name(kernel::Expr variable) const {
  return cat("variables[", places_.at(variable->id), "]");
}

std::string PortExtents::print(const std::map<std::string, int64_t>& bounds) const {
  std::string names, cases, most;
  for (size_t i = 0; i < list_.size(); ++i) {
    names += c_string(show(list_[i])) + ", ";
    if (i < variables_) {
      const auto bound = bounds.find(show(list_[i]));
      most += bound == bounds.end() ? "INT64_MAX, " : cat(bound->second, ", ");
    } else {
      cases += cat("    case ", i, ": return ",
                   print_extent(list_[i], [&](kernel::Expr v) { return name(v); }), ";\n");
    }
  }
  return cat("// Extents that are not constant: shape variables, then expressions over them.\n",
             "constexpr size_t kVariableCount = ", variables_, ";\nconst int64_t kVariableBounds[] = {", most,
             "0};\nconst char* const kExtentTexts[] = {", names, "\"\"};\n", print_rules(),
             "inline int64_t dynamic_extent(int64_t i, const int64_t* variables) {\n"
             "  for (size_t v = 0; v < kVariableCount; ++v) {\n    if (variables[v] == kUnknown) return "
             "kUnknown;\n  }\n"
             "  switch (i) {\n",
             cases, "    default: return variables[i];\n  }\n}\n");
}

kernel::Bounds PortExtents::ranges(const std::map<std::string, int64_t>& bounds) const {
  kernel::Bounds out;
  for (size_t i = 0; i < variables_; ++i) {
    if (const auto bound = bounds.find(show(list_[i])); bound != bounds.end())
      out.set(list_[i], {0, bound->second});
  }
  return out;
}

std::string PortExtents::print_rules() const {
  std::string out =
      "// Shape variables that stand alone nowhere follow from the others and the inputs' extents.\n"
      "inline void solve_variables(const DLTensor* const* inputs, int64_t* variables) {\n"
      "  (void)inputs, (void)variables;\n";
  for (const Rule& r : rules_) {
    const kernel::Expr variable = r.rule.variable;
    std::string condition = cat("inputs[", r.input, "] != nullptr && inputs[", r.input, "]->ndim == kInputs[",
                                r.input, "].rank && inputs[", r.input, "]->shape != nullptr");
    for (kernel::Expr v : kernel::variables(r.rule.rest)) condition += cat(" && ", name(v), " != kUnknown");
    const std::string rest = print_extent(r.rule.rest, [&](kernel::Expr v) { return name(v); });
    out += cat("  if (", condition, ") {\n    ", name(variable), " = difference_of(inputs[", r.input,
               "]->shape[", r.dim, "], ", rest, ") / ", r.rule.coefficient, ";\n  }\n");
  }
  return out + "}\n";
}

nlohmann::ordered_json describe_ports(std::string_view model_name, const passes::Plan& plan,
                                      const InPlace& in_place) {
  // Not null: the library's null that has no memory to become an object cannot be destroyed.
  nlohmann::ordered_json d = nlohmann::ordered_json::object();
  d["abi_version"] = RELAY_ABI_VERSION;
  d["name"] = model_name;
  d["inputs"] = describe(plan.inputs);
  d["outputs"] = describe(plan.outputs);
  d["tuple_result"] = plan.tuple_result;
  for (const passes::InPlacePair& p : in_place)
    d["aliased"].push_back({{"output", p.output}, {"input", p.input}});
  return d;
}

std::string print_header(std::string_view title, const passes::Plan& plan, const InPlace& in_place,
                         const std::vector<std::string>& more) {
  std::string relay(kRelayHeader);
  const std::string include = "#include \"dlpack.h\"\n";
  if (const size_t at = relay.find(include); at != std::string::npos) {
    relay.replace(at, include.size(), std::string(kDlpackHeader));
  }
  std::vector<std::string> lines{cat(title, ". The model has these tensors:"), ""};
  list_ports("input", plan.inputs, lines);
  list_ports("output", plan.outputs, lines);
  if (!in_place.empty()) {
    lines.insert(lines.end(),
                 {"", "These outputs may be the memory of an input, which they then replace:", ""});
    for (const passes::InPlacePair& p : in_place)
      lines.push_back(cat("  output ", p.output, " of input ", p.input));
  }
  lines.insert(lines.end(), more.begin(), more.end());
  return cat(block_comment(lines), "\n", relay);
}

std::string print_ports(const passes::Plan& plan, const PortExtents& extents, const InPlace& in_place,
                        bool takes_tensors) {
  std::string pairs;
  for (const passes::InPlacePair& p : in_place) pairs += cat("{", p.output, ", ", p.input, "}, ");
  size_t most_dims = 1;
  for (const passes::PlanPort& p : plan.outputs) most_dims = std::max(most_dims, p.type->rank());
  return cat(
      "// An extent that is not constant: -1 - i is number i of those below, and kUnknown may be any.\n"
      "constexpr int64_t kUnknown = INT64_MIN;\n"
      "struct Port {\n  const char* name;\n  int32_t rank;\n  const int64_t* shape;\n"
      "  uint8_t dtype_code, dtype_bits;\n  const char* dtype_name;\n  uint64_t bytes;\n};\n",
      port_table("kInputs", plan.inputs, extents), port_table("kOutputs", plan.outputs, extents),
      "// Outputs that may lie on an input.\nstruct InPlacePair {\n  size_t output, input;\n};\n"
      "const InPlacePair kInPlacePairs[] = {",
      pairs, "{0, 0}};\n", "constexpr size_t kInPlaceCount = ", in_place.size(), ";\n",
      "constexpr bool kTakesTensors = ", takes_tensors ? "true" : "false", ";\n",
      "constexpr size_t kInputCount = ", plan.inputs.size(), ";\n",
      "constexpr size_t kOutputCount = ", plan.outputs.size(), ";\n",
      "constexpr size_t kMostDims = ", most_dims, ";\n");
}

}  // namespace relay::aot
