#include "python/signature.h"

#include <pybind11/pybind11.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "aot/extents.h"
#include "aot/interface.h"
#include "base/cat.h"
#include "ir/type.h"

namespace relay::python {
namespace {

using Json = nlohmann::json;

TypeEntry entry_of(const aot::Interface::Entry& from) {
  TypeEntry out{.text = show(from.type, 200), .data = from.data};
  if (const auto* tensor = from.type->as<TensorType>()) {
    out.dtype = tensor->dtype;
    for (const Dim d : tensor->dims) out.dims.push_back(d.is_const() ? d.value() : kOpen);
    return out;
  }
  out.kind = from.data ? TypeEntry::Kind::kData : TypeEntry::Kind::kTuple;
  for (size_t c = 0; c < from.fields.size(); ++c)
    out.constructors.push_back({from.data ? from.data->ctors[c]->name.str() : "", from.fields[c]});
  return out;
}

TypeEntry tensor_of(const Json& from) {
  const std::string name = from.at("dtype");
  const std::optional<DType> dtype = DType::parse(name);
  if (!dtype) throw std::runtime_error(cat("there is no dtype ", name));
  TypeEntry out{.dtype = *dtype};
  std::string extents;
  for (const Json& d : from.at("dims")) {
    out.dims.push_back(d.is_number() ? d.get<int64_t>() : kOpen);
    const std::string extent = d.is_string()   ? d.get<std::string>()
                               : d.is_number() ? cat(out.dims.back())
                                               : "?";
    extents += cat(extents.empty() ? "" : ", ", extent);
  }
  out.text = out.dims.empty() ? name : cat("Tensor[(", extents, "), ", name, "]");
  return out;
}

TypeEntry entry_of(const Json& from) {
  const std::string kind = from.at("kind");
  if (kind == "tensor") return tensor_of(from);
  TypeEntry out{.text = from.at("type")};
  if (kind == "tuple") {
    out.kind = TypeEntry::Kind::kTuple;
    out.constructors.push_back({"", from.at("fields")});
    return out;
  }
  out.kind = TypeEntry::Kind::kData;
  for (const Json& c : from.at("constructors")) out.constructors.push_back({c.at("name"), c.at("fields")});
  return out;
}

void read_description(const Json& from, Signature& out) {
  for (const Json& o : from.at("outputs")) out.outputs.push_back(o.at("name"));
  if (from.contains("types")) {
    for (const Json& t : from.at("types")) out.types.push_back(entry_of(t));
    if (out.has_data()) {
      for (const Json& p : from.at("parameters")) {
        out.inputs.push_back(p.at("name"));
        out.parameters.push_back(p.at("type"));
      }
      out.result = from.at("result");
      return;
    }
    out.types.clear();
  }
  for (const Json& i : from.at("inputs")) {
    out.inputs.push_back(i.at("name"));
    out.parameters.push_back(static_cast<uint32_t>(out.types.size()));
    out.types.push_back(tensor_of(i));
  }
  for (const Json& o : from.at("outputs")) {
    out.results.push_back(static_cast<uint32_t>(out.types.size()));
    out.types.push_back(tensor_of(o));
  }
  out.tuple_result = from.at("tuple_result");
}

}  // namespace

bool Signature::has_data() const {
  return std::any_of(types.begin(), types.end(),
                     [](const TypeEntry& t) { return t.kind == TypeEntry::Kind::kData; });
}

Signature signature_of(const driver::Model& model) {
  Signature out;
  aot::Interface interface;
  try {
    interface = aot::find_interface(model.module, model.entry());
  } catch (const aot::Refusal& refusal) {
    throw pybind11::type_error(cat("@", model.function, " cannot be called from Python: ", refusal.why));
  }
  for (const aot::Interface::Entry& e : interface.types) out.types.push_back(entry_of(e));
  out.inputs = model.input_names;
  out.outputs = model.output_names;
  out.parameters = interface.parameters;
  out.result = interface.result;
  return out;
}

std::string signature_of(const char* description, Signature& out) {
  try {
    read_description(Json::parse(description), out);
    return {};
  } catch (const std::exception& wrong) {
    return cat("its description is not one that this version reads: ", wrong.what());
  }
}

}  // namespace relay::python
