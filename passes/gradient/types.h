// Types of augmented functions: what values become that carry their gradients along.
//
//   Tensor[s, float32]       (Tensor[s, float32], ref(Tensor[s, float32]))     value, adjoint so far
//   Tensor[s, int32]         itself
//   tuples, functions, cells and data types: their parts likewise
//   a type parameter         itself: what it stands for becomes such a type
#pragma once

#include <string>
#include <unordered_map>

#include "passes/gradient/program.h"

namespace relay::passes::gradient {

class AugmentedTypes {
 public:
  // Adds data types to `out`: one beside each that has tensors of floats in its own declaration.
  AugmentedTypes(const Program& program, Module& out);

  Type of(Type t);  // null stays null
  const Constructor* ctor(const Constructor* c) const;

 private:
  Type of_parts(Type t);
  bool changes(const DataTypeDef& def);

  Context& context_;
  std::unordered_map<Type, Type> known_;
  std::map<Symbol, std::string, Module::ByName> data_types_;  // new names
  std::unordered_map<const Constructor*, const Constructor*> ctors_;
};

}  // namespace relay::passes::gradient
