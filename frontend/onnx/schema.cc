#include "frontend/onnx/schema.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <map>
#include <tuple>

#include "base/cat.h"
#include "base/check.h"
#include "frontend/onnx/names.h"
#include "frontend/onnx/node.h"
#include "frontend/onnx/schemas.inc"

namespace relay::frontend {
namespace {

using ::onnx::AttributeProto;

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const size_t end = std::min(text.find(at), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

size_t number(std::string_view text) {
  size_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  CHECK(error == std::errc() && end == text.data() + text.size(), cat("schemas.txt: no number: ", text));
  return out;
}

// 2-3, 1, 1+
std::pair<size_t, size_t> counts(std::string_view text) {
  if (text.ends_with('+')) return {number(text.substr(0, text.size() - 1)), SIZE_MAX};
  const std::vector<std::string_view> ends = split(text, '-');
  return {number(ends.front()), number(ends.back())};
}

AttributeProto::AttributeType kind_of(std::string_view name) {
  std::string upper(name);
  for (char& c : upper) c = static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  AttributeProto::AttributeType out = AttributeProto::UNDEFINED;
  CHECK(AttributeProto::AttributeType_Parse(upper, &out), cat("schemas.txt: no kind: ", name));
  return out;
}

// axis:int=0, to:int!
SchemaAttribute attribute_of(std::string_view text) {
  const size_t colon = text.find(':'), equal = text.find('=');
  SchemaAttribute out{text.substr(0, colon), AttributeProto::UNDEFINED};
  std::string_view kind = text.substr(colon + 1, equal == text.npos ? text.npos : equal - colon - 1);
  out.required = kind.ends_with('!');
  if (out.required) kind.remove_suffix(1);
  out.kind = kind_of(kind);
  out.has_default = equal != text.npos;
  if (out.has_default) out.otherwise = text.substr(equal + 1);
  return out;
}

Schema schema_of(const std::vector<std::string_view>& words) {
  Schema out{words[0], static_cast<int64_t>(number(words[1]))};
  out.removed = words[2] == "removed";
  if (out.removed) return out;
  std::tie(out.least_inputs, out.most_inputs) = counts(words[2]);
  out.most_outputs = counts(words[3]).second;
  for (size_t i = 4; i < words.size(); ++i) out.attributes.push_back(attribute_of(words[i]));
  return out;
}

struct Table {
  std::vector<Schema> schemas;  // sorted by name and version, as the file is
  std::map<std::string_view, int64_t> newest;
};

const Table& table() {
  static const Table made = [] {
    Table out;
    for (std::string_view line : split(kSchemas, '\n')) {
      if (line.empty() || line[0] == '#') continue;
      const std::vector<std::string_view> words = split(line, ' ');
      if (words[0] == "set") {
        out.newest[words[1] == "ai.onnx" ? "" : words[1]] = static_cast<int64_t>(number(words[2]));
      } else {
        out.schemas.push_back(schema_of(words));
      }
    }
    return out;
  }();
  return made;
}

}  // namespace

bool SchemaAttribute::is_default(const AttributeProto& value) const {
  if (!has_default) return false;
  const std::string text(otherwise);
  switch (kind) {
    case AttributeProto::INT: return cat(value.i()) == text;
    case AttributeProto::FLOAT: return value.f() == std::strtof(text.c_str(), nullptr);
    case AttributeProto::STRING: return value.s() == text;
    default: return false;
  }
}

const SchemaAttribute* Schema::find(std::string_view attribute) const {
  for (const SchemaAttribute& a : attributes) {
    if (a.name == attribute) return &a;
  }
  return nullptr;
}

const std::vector<Schema>& all_schemas() { return table().schemas; }

const Schema* find_schema(std::string_view name, int64_t opset) {
  const std::vector<Schema>& all = table().schemas;
  const auto before = [](const Schema& s, std::string_view name) { return s.name < name; };
  const Schema* found = nullptr;
  for (auto it = std::lower_bound(all.begin(), all.end(), name, before); it != all.end(); ++it) {
    if (it->name != name || it->since > opset) break;
    found = &*it;
  }
  return found;
}

int64_t newest_version(std::string_view domain) {
  const auto it = table().newest.find(domain);
  return it == table().newest.end() ? 0 : it->second;
}

namespace {

// Which versions of the operator have the attribute, and where it may be meant to be.
std::string remedy_for(const Schema& schema, std::string_view attribute) {
  std::vector<std::string> versions;
  for (const Schema& other : all_schemas()) {
    if (other.name == schema.name && other.find(attribute)) versions.push_back(cat(other.since));
  }
  if (!versions.empty()) {
    return cat("versions with this attribute begin at ", join(versions, ", "),
               " of the operator set: declare the version that the node is written for");
  }
  if (schema.attributes.empty()) return "the operator has no attributes: remove this one";
  return cat("the attributes are ",
             join(schema.attributes, ", ", [](const SchemaAttribute& a) { return std::string(a.name); }),
             ": remove this one, or export the model again");
}

}  // namespace

void check_schema(const ::onnx::NodeProto& node, int64_t opset) {
  // What converts a node may ask for the name of its first output.
  if (node.output_size() == 0)
    throw Refusal{"onnx-invalid", "it has no outputs", "no node can read its result: remove it"};
  const Schema* schema = find_schema(full_name(node), opset);
  if (!schema) return;
  for (const AttributeProto& a : node.attribute()) {
    const SchemaAttribute* known = schema->find(a.name());
    if (!known) {
      throw Refusal{
          "onnx-invalid",
          cat("version ", opset, " of the operator has no attribute `", printable(a.name(), 80), "`"),
          remedy_for(*schema, a.name())};
    }
    if (a.type() != known->kind && a.type() != AttributeProto::UNDEFINED) {
      throw Refusal{"onnx-wrong-attribute-kind",
                    cat("its attribute `", a.name(), "` has a value of another kind than it should"),
                    {}};
    }
  }
  for (const SchemaAttribute& a : schema->attributes) {
    const auto is_it = [&](const AttributeProto& given) { return given.name() == a.name; };
    // Writers of old models left this one out: it says nothing about values.
    if (!a.required || a.name == "consumed_inputs") continue;
    if (std::none_of(node.attribute().begin(), node.attribute().end(), is_it))
      throw Refusal{"onnx-missing-attribute", cat("its attribute `", a.name, "` is missing"), {}};
  }
  size_t inputs = static_cast<size_t>(node.input_size());
  while (inputs > 0 && node.input(static_cast<int>(inputs) - 1).empty()) --inputs;
  if (inputs < schema->least_inputs)
    throw Refusal{"onnx-missing-input", cat("its input ", inputs, " is missing"), {}};
  const std::string remedy =
      cat("declare the version of the operator set that the node is written for: this is version ", opset);
  if (inputs > schema->most_inputs) {
    throw Refusal{"onnx-invalid",
                  cat("it has ", inputs, " inputs, and the operator takes at most ", schema->most_inputs),
                  remedy};
  }
  if (static_cast<size_t>(node.output_size()) > schema->most_outputs) {
    throw Refusal{
        "onnx-invalid",
        cat("it has ", node.output_size(), " outputs, and the operator makes at most ", schema->most_outputs),
        remedy};
  }
}

}  // namespace relay::frontend
