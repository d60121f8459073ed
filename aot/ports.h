// Ports, the tensors that an artifact takes and gives: in its description, in its header, and in
// the tables of its source.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "aot/extents.h"
#include "kernel/execute.h"
#include "passes/plan_memory.h"

namespace relay::aot {

// The tensors of a type that stand in tuples, in order, as ports called after `name`.
void add_ports(Type t, const std::string& name, std::vector<passes::PlanPort>& out);

// The extents that ports ask for and that are not constant: first the shape variables that inputs
// tell, those that stand alone somewhere before the others, then expressions over them. A table of
// a port has -1 - i for extent i.
class PortExtents {
 public:
  PortExtents(const std::vector<passes::PlanPort>& inputs, const std::vector<passes::PlanPort>& outputs);
  // What a port's table has for the dim: the extent if it is constant, else a number of this
  // list, else kUnknown.
  std::string entry(Dim d) const;
  // kVariableCount, the largest values of variables that have one, the texts for messages, and the
  // functions that work out the variables that stand alone nowhere, and extents.
  std::string print(const std::map<std::string, int64_t>& bounds) const;
  // What the variables may be, by their largest values.
  kernel::Bounds ranges(const std::map<std::string, int64_t>& bounds) const;
  // The variable as C++, where `variables` has the values of all.
  std::string name(kernel::Expr variable) const;
  bool has(kernel::Expr variable) const { return places_.contains(variable->id); }

 private:
  // A variable that follows from an extent of an input.
  struct Rule {
    size_t input, dim;
    kernel::ExtentRule rule;
  };
  std::string print_rules() const;

  std::vector<kernel::Expr> list_;
  std::vector<Rule> rules_;
  std::map<uint32_t, size_t> places_;  // by the expressions' ids
  size_t variables_ = 0;
};

int dlpack_code(DType d);  // DLDataTypeCode

// Outputs that may lie on an input, the same for all variants of an artifact.
using InPlace = std::vector<passes::InPlacePair>;

// The first keys of the description: whose artifact it is, and its ports.
nlohmann::ordered_json describe_ports(std::string_view model_name, const passes::Plan& plan,
                                      const InPlace& in_place);

// NAME.h: relay.h and dlpack.h in one file, so that a program needs nothing else, after a comment
// that begins with `title`, lists the ports and ends with the lines of `more`.
std::string print_header(std::string_view title, const passes::Plan& plan, const InPlace& in_place,
                         const std::vector<std::string>& more);

// The tables that support/tensors.cc reads. `takes_tensors`: is a run of the ports
// and nothing else?
std::string print_ports(const passes::Plan& plan, const PortExtents& extents, const InPlace& in_place,
                        bool takes_tensors);

}  // namespace relay::aot
