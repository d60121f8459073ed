// Programs of a few lines that have every form, for trials of failing allocation.
#pragma once

#include <string_view>

namespace relay::tests {

// Data types and match, closures, a cell, recursion, a generic function, a kernel,
// operators, constants.
inline constexpr std::string_view kLanguage = R"(
type List[A] { Cons(A, List[A]), Nil }
kernel @twice(x: float32[n]) -> (y: float32[n]) {
  for i in n {
    block y {
      spatial v in n = i;
      reads x[v];
      writes y[v];
      y[v] = x[v] * 2f;
    }
  }
}
def @map[A, B](%f: fn (A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Nil => Nil, Cons(%h, %t) => Cons(%f(%h), @map(%f, %t)) }
}
def @sum(%l: List[Tensor[(3), float32]], %so_far: Tensor[(3), float32]) -> Tensor[(3), float32] {
  match (%l) { Nil => %so_far, Cons(%h, %t) => @sum(%t, add(%h, %so_far)) }
}
def @numbers(%n: int32, %x: Tensor[(3), float32]) -> List[Tensor[(3), float32]] {
  if (equal(%n, 0)) { Nil } else { Cons(@twice(%x), @numbers(subtract(%n, 1), add(%x, 1f))) }
}
def @main(%x: Tensor[(3), float32], %n: int32) {
  let %calls = ref(0);
  let %scaled = fn (%y: Tensor[(3), float32]) {
    let %u = ref_write(%calls, add(ref_read(%calls), 1));
    multiply(%y, add(%x, tensor([1, 2, 3], float32)))
  };
  let %total = @sum(@map(%scaled, @numbers(%n, %x)), zeros(shape=[3], dtype="float32"));
  (nn.softmax(%total), ref_read(%calls))
}
)";

// Static dataflow: products, a reduction, weights.
inline constexpr std::string_view kNetwork = R"(
def @main(%x: Tensor[(2, 4), float32]) {
  let %h = nn.relu(nn.dense(%x, full(0.5f, shape=[8, 4], dtype="float32")));
  let %y = nn.softmax(nn.dense(add(%h, tensor([[1, 2, 3, 4, 5, 6, 7, 8]], float32)),
                               full(0.25f, shape=[3, 8], dtype="float32")));
  (%y, sum(%y, axis=[1]))
}
)";

// The same forms as an ONNX model, in protobuf's text format. A shape that only constants tell is
// followed through nodes.
inline constexpr std::string_view kOnnxModel = R"(
ir_version: 8 opset_import { version: 13 }
graph {
  name: "g"
  input { name: "x" type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } dim { dim_value: 4 } } } } }
  input { name: "c" type { tensor_type { elem_type: 9 shape { } } } }
  initializer { name: "w" data_type: 1 dims: 4 dims: 3
    float_data: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] }
  initializer { name: "two" data_type: 7 dims: 1 int64_data: [2] }
  node { op_type: "MatMul" input: "x" input: "w" output: "p" }
  node { op_type: "Shape" input: "p" output: "s" }
  node { op_type: "Mul" input: "s" input: "two" output: "s2" }
  node { op_type: "Div" input: "s2" input: "two" output: "s3" }
  node { op_type: "Reshape" input: "p" input: "s3" output: "r" }
  node { op_type: "If" input: "c" output: "y"
    attribute { name: "then_branch" type: GRAPH g { name: "t"
      node { op_type: "Relu" input: "r" output: "a" } output { name: "a" } } }
    attribute { name: "else_branch" type: GRAPH g { name: "e"
      node { op_type: "Softmax" input: "r" output: "b" } output { name: "b" } } } }
  output { name: "y" }
}
)";

}  // namespace relay::tests
