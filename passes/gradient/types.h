// Types of functions whose floats carry something along.
//
//   Tensor[s, float32]       (Tensor[s, float32], ref(Tensor[s, float32]))     value, adjoint so far
//                            or (Tensor[s, float32], Tensor[s, float32])       value, tangent
//   Tensor[s, int32]         itself
//   tuples, functions, cells and data types: their parts likewise
//   a type parameter         itself: what it stands for becomes such a type
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "passes/gradient/program.h"

namespace relay::passes::gradient {

// What a tensor of floats carries along: a cell for its adjoint, or its tangent.
enum class Carried : uint8_t { kAdjoint, kTangent };
std::string_view suffix(Carried carried);  // of the names of functions and data types that carry it

class CarriedTypes {
 public:
  // Adds data types to `out`: one beside each that has tensors of floats in its own declaration.
  CarriedTypes(const Program& program, Carried carried, Module& out);

  Type of(Type t);  // null stays null
  const Constructor* ctor(const Constructor* c) const;

 private:
  Type of_parts(Type t);
  bool changes(const DataTypeDef& def);

  Context& context_;
  const Carried carried_;
  std::unordered_map<Type, Type> known_;
  std::map<Symbol, std::string, Module::ByName> data_types_;  // new names
  std::unordered_map<const Constructor*, const Constructor*> ctors_;
};

}  // namespace relay::passes::gradient
