// Parameters that have no gradient: they are constants beside those that have one.
//
// A constant may be a value of a data type, such as a list or a tree. What goes through it with
// floats takes each of them in a pair (types.h). So a function makes such a value of it:
//
//   type Tree { Leaf(float32), Node(Tree, Tree) }
//   def @Tree_constant_1(%x: Tree) -> Tree_augmented {
//     match (%x) {
//       Leaf(%a) => Leaf_augmented((%a, ref(zeros_like(%a)))),
//       Node(%a, %b) => Node_augmented(@Tree_constant_1(%a), @Tree_constant_1(%b))
//     }
//   }
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace relay::passes::gradient {

// Why a value of the type can be no constant of a gradient, as a clause; empty if it can be one. It
// can if it is made of tensors, tuples and data types of these.
std::string why_no_constant(const Module& m, Type type);

// The types of a constructor's fields in a value of this data type.
std::vector<Type> field_types(const Module& m, const DataType& type, const Constructor& ctor);

}  // namespace relay::passes::gradient
