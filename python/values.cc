#include "python/values.h"

#include <algorithm>

#include "base/cat.h"
#include "ir/module.h"
#include "python/make.h"

namespace relay::python {
namespace {

std::optional<uint32_t> find_constructor(const TypeEntry& entry, std::string_view name, size_t fields) {
  for (uint32_t c = 0; c < entry.constructors.size(); ++c) {
    if (entry.constructors[c].name == name && entry.constructors[c].fields.size() == fields) return c;
  }
  return std::nullopt;
}

py::object data_class() { return py::module_::import("relay.data").attr("Data"); }

std::string constructors_of(const TypeEntry& entry) {
  std::string out;
  for (const TypeEntry::Constructor& c : entry.constructors) out += cat(out.empty() ? "" : ", ", c.name);
  return out;
}

[[noreturn]] void refuse(py::handle value, const TypeEntry& entry, const std::string& name,
                         const std::string& remedy) {
  throw py::type_error(cat("argument `", name, "` has a ", class_name(value), " where the program takes ",
                           entry.text, ": ", remedy));
}

std::vector<py::object> objects_of(py::handle sequence) {
  std::vector<py::object> out;
  for (const py::object item : py::reinterpret_borrow<py::sequence>(sequence)) out.push_back(item);
  return out;
}

Parts tuple_parts(const TypeEntry& entry, py::handle value, const std::string& name) {
  if (!py::isinstance<py::tuple>(value)) refuse(value, entry, name, "give a tuple");
  Parts out{0, objects_of(value)};
  const size_t wanted = entry.constructors[0].fields.size();
  if (out.fields.size() != wanted) {
    throw py::value_error(cat("argument `", name, "` has a tuple of ", out.fields.size(),
                              " where the program takes ", entry.text));
  }
  return out;
}

Parts data_parts(const TypeEntry& entry, py::handle value, const std::string& name) {
  if (!py::isinstance(value, data_class()))
    refuse(value, entry, name,
           cat("give relay.Data(constructor, fields); there are ", constructors_of(entry)));
  const std::string constructor = py::str(value.attr("constructor"));
  const py::object fields = value.attr("fields");
  if (!py::isinstance<py::tuple>(fields) && !py::isinstance<py::list>(fields))
    refuse(fields, entry, name, cat("give the fields of ", constructor, " as a tuple"));
  Parts out{0, objects_of(fields)};
  for (; out.constructor < entry.constructors.size(); ++out.constructor) {
    const TypeEntry::Constructor& c = entry.constructors[out.constructor];
    if (c.name != constructor) continue;
    if (c.fields.size() == out.fields.size()) return out;
    throw py::value_error(cat("argument `", name, "` has ", out.fields.size(), " fields for ", constructor,
                              ", which takes ", c.fields.size()));
  }
  throw py::value_error(cat("argument `", name, "` has the constructor ", constructor, ", and ", entry.text,
                            " has ", constructors_of(entry)));
}

}  // namespace

std::optional<ListType> list_type(const Signature& signature, uint32_t type) {
  const TypeEntry& entry = signature.types[type];
  if (entry.kind != TypeEntry::Kind::kData || entry.constructors.size() != 2) return std::nullopt;
  const auto nil = find_constructor(entry, "Nil", 0), cons = find_constructor(entry, "Cons", 2);
  if (!nil || !cons || entry.constructors[*cons].fields[1] != type) return std::nullopt;
  return ListType{*nil, *cons, entry.constructors[*cons].fields[0]};
}

bool is_option(const TypeEntry& entry) {
  return entry.kind == TypeEntry::Kind::kData && entry.constructors.size() == 2 &&
         find_constructor(entry, "None", 0) && find_constructor(entry, "Some", 1);
}

std::vector<py::object> elements_of(const TypeEntry& entry, py::handle value, const std::string& name) {
  if (!py::isinstance<py::list>(value)) refuse(value, entry, name, "give a list");
  return objects_of(value);
}

Parts parts_of(const Signature& signature, uint32_t type, py::handle value, const std::string& name) {
  const TypeEntry& entry = signature.types[type];
  if (entry.kind == TypeEntry::Kind::kTuple) return tuple_parts(entry, value, name);
  if (is_option(entry) && !py::isinstance(value, data_class())) {
    if (value.is_none()) return {*find_constructor(entry, "None", 0), {}};
    return {*find_constructor(entry, "Some", 1), {py::reinterpret_borrow<py::object>(value)}};
  }
  if (is_option(entry)) {  // the value may be the option's own, or that of the data type in it
    const std::string constructor = py::str(value.attr("constructor"));
    if (constructor != "None" && constructor != "Some")
      return {*find_constructor(entry, "Some", 1), {py::reinterpret_borrow<py::object>(value)}};
  }
  return data_parts(entry, value, name);
}

py::object joined(const Signature& signature, uint32_t type, uint32_t constructor,
                  std::vector<py::object> fields) {
  const TypeEntry& entry = signature.types[type];
  if (is_option(entry)) {
    if (fields.empty()) return py::none();
    if (!is_option(signature.types[entry.constructors[constructor].fields[0]])) return std::move(fields[0]);
  }
  py::tuple tuple(fields.size());
  for (size_t i = 0; i < fields.size(); ++i) tuple[i] = std::move(fields[i]);
  if (entry.kind == TypeEntry::Kind::kTuple) return tuple;
  return data_class()(entry.constructors[constructor].name, tuple);
}

void refuse_cycle(const std::string& name) {
  throw py::value_error(cat("argument `", name, "` contains itself, and values of the language are finite"));
}

Value value_of(const Signature& signature, uint32_t type, py::handle argument, const std::string& name) {
  const Maker<Value> maker{.tensor = [](uint32_t, Lent lent) { return Value(tensor_of(std::move(lent))); },
                           .node =
                               [&](uint32_t t, uint32_t constructor, std::vector<Value> fields) {
                                 const DataTypeDef* data = signature.types[t].data;
                                 return data ? Value::data(data->ctors[constructor], std::move(fields))
                                             : Value::tuple(std::move(fields));
                               },
                           .drop = [](Value) {}};
  return make_value<Value>(signature, type, argument, name, maker);
}

py::object python_value(const Signature& signature, uint32_t type, const Value& value) {
  const Reader<Value> reader{.tensor = [](uint32_t, Value v) -> py::object { return array_of(v.tensor()); },
                             .node =
                                 [](uint32_t, Value v) {
                                   const bool is_data = v.kind() == ValueKind::kData;
                                   return Reader<Value>::Node{
                                       is_data ? static_cast<const Constructor*>(v.code())->tag : 0,
                                       v.fields()};
                                 }};
  return read_value<Value>(signature, type, value, reader);
}

}  // namespace relay::python
