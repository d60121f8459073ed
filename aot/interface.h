// What a program over values takes and gives, for its C interface: its types, numbered, and the tensors among them.
//
// Shape variables are bound by tensors that stand in the parameters themselves or in tuples of them; inside of a data type
// an extent that is not constant may be any (as in the interpreter).
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aot/extents.h"
#include "ir/module.h"
#include "passes/plan_memory.h"

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

// Throws Refusal for what no caller can make or look at: functions, references and data types of them.
Interface find_interface(const Module& m, const Fn& main);
// The tables that support/value_run.cc reads, and their text as C++.
std::string print_interface(const Interface& interface);
// The keys `types`, `parameters` and `result` of the description.
void describe(const Interface& interface, nlohmann::ordered_json& description);

// The tensors of a type that stand in tuples, in order, as ports called after `name`.
void add_ports(Type t, const std::string& name, std::vector<passes::PlanPort>& out);

// The extents that ports ask for and that are not constant: first the shape variables that inputs mention alone, then
// expressions over them. A table of a port has -1 - i for extent i.
class PortExtents {
 public:
  PortExtents(const std::vector<passes::PlanPort>& inputs, const std::vector<passes::PlanPort>& outputs);
  // What a port's table has for the dim: the extent if it is constant, else a number of this list, else kUnknown.
  std::string entry(Dim d) const;
  size_t variables() const { return variables_; }
  // kVariableCount, the largest values of variables that have one, the texts for messages, and the function that works an
  // extent out.
  std::string print(const std::map<std::string, int64_t>& bounds) const;
  // The variable as C++, where `variables` has the values of all.
  std::string name(kernel::Expr variable) const;
  bool has(kernel::Expr variable) const { return places_.contains(variable->id); }

 private:
  std::vector<kernel::Expr> list_;
  std::map<uint32_t, size_t> places_;  // by the expressions' ids
  size_t variables_ = 0;
};

}  // namespace relay::aot
