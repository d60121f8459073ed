// What a program over values takes and gives, for its C interface: its types, numbered, and the
// tensors among them.
//
// Shape variables are bound by tensors that stand in the parameters themselves or in tuples of
// them; inside of a data type an extent that is not constant may be any (as in the interpreter).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/source.h"
#include "ir/module.h"

namespace relay::aot {

struct Interface {
  struct Entry {
    Type type;  // extents that are not constant are `?`
    // Types of the fields: of a tuple one list, of a data type one for each constructor.
    std::vector<std::vector<uint32_t>> fields = {};
    const DataTypeDef* data = nullptr;
  };
  std::vector<Entry> types;
  std::vector<std::string> names;  // of the parameters
  std::vector<uint32_t> parameters;
  uint32_t result = 0;
  bool tensors_only = true;  // no data types: a run can be of tensors
};

// Throws Refusal for what no caller can make or look at: functions, references and
// data types of them.
Interface find_interface(const Module& m, const Fn& main);
// The tables that support/value_run.cc reads, and their text as C++.
std::string print_interface(const Interface& interface);
// The types, the parameters and the result as lines of the header's comment.
std::vector<std::string> list_types(const Interface& interface);
// The keys `types`, `parameters` and `result` of the description.
void describe(const Interface& interface, nlohmann::ordered_json& description);

}  // namespace relay::aot
