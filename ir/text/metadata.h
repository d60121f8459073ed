// Metadata: the JSON after `#[metadata]`, which the established format uses for constants that it
// cannot write inline. `meta[type key][index]` refers to it.
//
// The JSON is a graph of nodes, {"root", "nodes": [{"type_key", "attrs", "keys", "data",
// "repr_str"}], "b64ndarrays"}. Nothing in it is trusted: every index, size and string is checked
// before it is used.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/diagnostics.h"
#include "runtime/tensor.h"

namespace relay::text {

// What a reference stands for, as far as we understand it.
struct MetaInt {
  int64_t value;
};
struct MetaFloat {
  double value;
};
struct MetaString {
  std::string value;
};
struct MetaVariable {  // a symbolic dim
  std::string name;
};
struct MetaAny {};     // the dim `?`
struct MetaOpaque {};  // something that has no counterpart here
using MetaValue = std::variant<Tensor, MetaInt, MetaFloat, MetaString, MetaVariable, MetaAny, MetaOpaque>;

// Why a reference stands for nothing.
struct MetaError {
  Slug slug;
  std::string message;
};

class Metadata {
 public:
  Metadata();
  ~Metadata();
  Metadata(const Metadata&) = delete;
  Metadata& operator=(const Metadata&) = delete;

  // Reads the JSON. False if it is malformed, which is reported at `span`.
  bool read(std::string_view json, Span span, Diagnostics& diagnostics);

  // The object that meta[key][index] names.
  std::variant<MetaValue, MetaError> find(std::string_view key, size_t index) const;

 private:
  struct Graph;
  std::unique_ptr<Graph> graph_;
};

}  // namespace relay::text
