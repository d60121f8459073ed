#include "aot/interface.h"

#include <nlohmann/json.hpp>

#include <algorithm>

#include "analysis/port_names.h"
#include "aot/extents.h"
#include "aot/ports.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/escape.h"
#include "passes/map_types.h"

namespace relay::aot {
namespace {

// A data type whose arguments grow with its depth has no end of types.
constexpr size_t kMostTypes = 1024;

// Numbers types in the order in which they are met.
class Numbering {
 public:
  Numbering(const Module& m, Interface& interface) : module_(m), interface_(interface) {}

  uint32_t number(Type t, Span span) {
    const uint32_t found = place(erased(t, {}), span);
    // Fields wait in a list: data types are recursive.
    while (!pending_.empty()) {
      const uint32_t next = pending_.back();
      pending_.pop_back();
      fill(next, span);
    }
    return found;
  }

 private:
  uint32_t place(Type t, Span span) {
    const auto [it, fresh] = numbers_.emplace(t, static_cast<uint32_t>(interface_.types.size()));
    if (!fresh) return it->second;
    if (interface_.types.size() == kMostTypes)
      throw Refusal{cat("what the function takes and gives is of more than ", kMostTypes, " types"), span};
    interface_.types.push_back({t});
    pending_.push_back(it->second);
    return it->second;
  }

  void fill(uint32_t number, Span span) {
    const Type t = interface_.types[number].type;
    std::vector<std::vector<uint32_t>> fields;
    const auto add = [&](std::span<const Type> types, const std::map<Symbol, Type>& arguments) {
      std::vector<uint32_t> list;
      for (Type field : types) list.push_back(place(erased(field, arguments), span));
      fields.push_back(std::move(list));
    };
    if (const auto* tuple = t->as<TupleType>()) {
      add(tuple->fields, {});
    } else if (const auto* data = t->as<DataType>()) {
      const DataTypeDef* def = module_.data_type(data->name.text());
      CHECK(def != nullptr, cat("there is no data type ", data->name.text()));
      if (def->is_extern) throw Refusal{cat("the function takes or gives the extern type ", show(t)), span};
      std::map<Symbol, Type> arguments;
      for (size_t i = 0; i < def->params.size(); ++i) arguments[def->params[i]->name] = data->args[i];
      for (const Constructor* c : def->ctors) add(c->fields, arguments);
      interface_.types[number].data = def;
      interface_.tensors_only = false;
    } else if (!t->as<TensorType>()) {
      throw Refusal{cat("the function takes or gives ", show(t), ", which is no tensor, tuple or data type"),
                    span};
    }
    interface_.types[number].fields = std::move(fields);
  }

  // The type with `?` for extents that are not constant, and these for type variables.
  Type erased(Type t, const std::map<Symbol, Type>& arguments) {
    const passes::TypeMap map{.dim = [](Dim d) { return d.is_const() ? d : Dim::unknown(); },
                              .dtype = {},
                              .variable = [&](const TypeVar* v) -> Type {
                                const auto it = arguments.find(v->name);
                                return it == arguments.end() ? v : it->second;
                              }};
    return passes::map_type(module_.context(), t, map);
  }

  const Module& module_;
  Interface& interface_;
  std::unordered_map<Type, uint32_t> numbers_;
  std::vector<uint32_t> pending_;
};

std::string kind_of(const Interface::Entry& e) {
  if (e.type->as<TensorType>()) return "tensor";
  return e.data ? "data" : "tuple";
}

// `name` with these numbers; a list of none is null, as C++ has no arrays without elements.
std::string print_list(std::string& tables, const std::string& type, const std::string& name,
                       const std::vector<std::string>& numbers) {
  if (numbers.empty()) return "nullptr";
  tables += cat("const ", type, " ", name, "[] = {", join(numbers, ", "), "};\n");
  return name;
}

std::vector<std::string> texts(const std::vector<uint32_t>& numbers) {
  std::vector<std::string> out;
  for (uint32_t n : numbers) out.push_back(cat(n));
  return out;
}

}  // namespace

Interface find_interface(const Module& m, const Fn& main) {
  Interface out;
  Numbering types(m, out);
  out.names = analysis::input_names(main);
  for (const Var* param : main.params) out.parameters.push_back(types.number(param->type, main.span));
  out.result = types.number(main.body->type, main.span);
  return out;
}

std::string print_interface(const Interface& interface) {
  std::string tables, entries;
  for (size_t i = 0; i < interface.types.size(); ++i) {
    const Interface::Entry& e = interface.types[i];
    std::string kind = "RELAY_VALUE_TUPLE", extents = "nullptr", fields = "nullptr", constructors = "nullptr";
    int code = 0, bits = 0;
    size_t count = 0;
    std::string dtype = "nullptr";
    if (const auto* tensor = e.type->as<TensorType>()) {
      kind = "RELAY_VALUE_TENSOR";
      code = dlpack_code(tensor->dtype), bits = tensor->dtype.bits, count = tensor->rank();
      dtype = c_string(tensor->dtype.name());
      std::vector<std::string> list;
      for (Dim d : tensor->dims) list.push_back(d.is_const() ? cat(d.value()) : "kUnknown");
      extents = print_list(tables, "int64_t", cat("kTypeExtents", i), list);
    } else if (e.data) {
      kind = "RELAY_VALUE_DATA";
      count = e.fields.size();
      std::vector<std::string> list;
      for (size_t c = 0; c < count; ++c) {
        const std::string types =
            print_list(tables, "uint32_t", cat("kTypeFields", i, "_", c), texts(e.fields[c]));
        list.push_back(cat("{", e.fields[c].size(), ", ", types, "}"));
      }
      constructors = print_list(tables, "ConstructorEntry", cat("kTypeConstructors", i), list);
    } else {
      count = e.fields[0].size();
      fields = print_list(tables, "uint32_t", cat("kTypeFields", i), texts(e.fields[0]));
    }
    entries += cat("    {", kind, ", ", code, ", ", bits, ", ", dtype, ", ", count, ", ", extents, ", ",
                   fields, ", ", constructors, ", ", c_string(show(e.type)), "},\n");
  }
  const std::string parameters =
      print_list(tables, "uint32_t", "kParameterList", texts(interface.parameters));
  return cat(
      "// The types of values: of a tensor `count` is its rank, of a data type how many constructors it "
      "has.\n"
      "struct ConstructorEntry {\n  uint32_t count;\n  const uint32_t* fields;\n};\n"
      "struct TypeEntry {\n  uint32_t kind;\n  uint8_t dtype_code, dtype_bits;\n  const char* dtype_name;\n"
      "  uint32_t count;\n  const int64_t* extents;\n  const uint32_t* fields;\n"
      "  const ConstructorEntry* constructors;\n  const char* text;\n};\n",
      tables, "const TypeEntry kTypes[] = {\n", entries,
      "};\nconstexpr size_t kTypeCount = ", interface.types.size(),
      ";\nconst uint32_t* const kParameters = ", parameters,
      ";\nconstexpr size_t kParameterCount = ", interface.parameters.size(),
      ";\nconstexpr uint32_t kResult = ", interface.result, ";\n");
}

std::vector<std::string> list_types(const Interface& of) {
  std::vector<std::string> out{"", "Its values are of these types:", ""};
  for (size_t i = 0; i < of.types.size(); ++i) {
    out.push_back(cat("  type ", i, ": ", show(of.types[i].type)));
    for (size_t c = 0; of.types[i].data && c < of.types[i].fields.size(); ++c) {
      out.push_back(cat("    constructor ", c, ": ", of.types[i].data->ctors[c]->name.text()));
      if (!of.types[i].fields[c].empty()) out.back() += cat(" of types ", join(of.types[i].fields[c], ", "));
    }
  }
  for (size_t i = 0; i < of.parameters.size(); ++i)
    out.push_back(cat("  parameter ", i, ": ", of.names[i], ": type ", of.parameters[i]));
  out.push_back(cat("  result: type ", of.result));
  return out;
}

void describe(const Interface& interface, nlohmann::ordered_json& d) {
  d["parameters"] = nlohmann::ordered_json::array();
  for (size_t i = 0; i < interface.parameters.size(); ++i) {
    d["parameters"].push_back({{"name", interface.names[i]}, {"type", interface.parameters[i]}});
  }
  d["result"] = interface.result;
  d["types"] = nlohmann::ordered_json::array();
  for (const Interface::Entry& e : interface.types) {
    nlohmann::ordered_json entry{{"type", show(e.type)}, {"kind", kind_of(e)}};
    if (const auto* tensor = e.type->as<TensorType>()) {
      entry["dtype"] = tensor->dtype.name();
      entry["dims"] = nlohmann::ordered_json::array();
      for (Dim dim : tensor->dims) {
        entry["dims"].push_back(dim.is_const() ? nlohmann::ordered_json(dim.value()) : nullptr);
      }
    } else if (e.data) {
      entry["constructors"] = nlohmann::ordered_json::array();
      for (size_t c = 0; c < e.fields.size(); ++c) {
        entry["constructors"].push_back({{"name", e.data->ctors[c]->name.text()}, {"fields", e.fields[c]}});
      }
    } else {
      entry["fields"] = e.fields[0];
    }
    d["types"].push_back(std::move(entry));
  }
}

}  // namespace relay::aot
