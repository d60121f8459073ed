// Schema: what ONNX's definition says an operator takes in one version of its set. The importer
// refuses a node that has something else, since ignoring an attribute would change what is
// computed. schemas.txt holds the schemas; converters say what the attributes mean.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace relay::frontend {

struct SchemaAttribute {
  std::string_view name;
  ::onnx::AttributeProto::AttributeType kind;
  bool required = false;
  bool has_default = false;
  std::string_view otherwise = {};  // the default, if there is one

  // Does a node that has this value mean the same without it?
  bool is_default(const ::onnx::AttributeProto& value) const;
};

struct Schema {
  std::string_view name;
  int64_t since = 1;
  bool removed = false;  // the operator does not exist from this version on
  size_t least_inputs = 0, most_inputs = 0, most_outputs = 0;
  std::vector<SchemaAttribute> attributes = {};

  const SchemaAttribute* find(std::string_view attribute) const;
};

// The schema of an operator of this full name in this version of its set. Null if no set of ONNX
// has the operator, or only later versions do.
const Schema* find_schema(std::string_view name, int64_t opset);
// All schemas, sorted by name and version.
const std::vector<Schema>& all_schemas();
// The newest version of an operator set that is known; 0 if the domain is none of ONNX's.
int64_t newest_version(std::string_view domain);

// Refuses a node with attributes that do not exist in its version, without those that must be
// there, or with too few or too many inputs or outputs.
void check_schema(const ::onnx::NodeProto& node, int64_t opset);

}  // namespace relay::frontend
