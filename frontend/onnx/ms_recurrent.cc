// com.microsoft.DynamicQuantizeLSTM: the weights are integers, and integers are made of the
// sequence and of each state when the model runs.
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/quantised.h"
#include "frontend/onnx/recurrent.h"

namespace relay::frontend {
namespace {

using namespace op;

// The weights (directions, rows, gates * hidden) at input 1 or 2 have scales at input 8 or 10, and
// zero points behind those: one for each direction, or one for each column of it.
Expr quantised_product(RecurrentLayer& l, Expr rows, size_t input, int64_t d) {
  Node& n = l.n;
  const size_t scale = 6 + 2 * input;
  const DynamicallyQuantised q = quantised_dynamically(n, rows);
  const Expr a = n.call(kSubtract, {n.cast(q.integers, kInt32), n.cast(q.zero_point, kInt32)});
  const Expr b = n.call(
      kSubtract, {n.cast(l.of_direction(input, d), kInt32), n.cast(l.of_direction(scale + 1, d), kInt32)});
  const Expr sums = n.call(kMatmul, {a, b}, {{"out_dtype", kInt32}});
  const Expr scales = n.call(kMultiply, {q.scale, l.of_direction(scale, d)});
  return n.call(kMultiply, {n.cast(sums, kFloat32), scales});
}

// A state is quantised for all rows of the batch at once, as ONNX Runtime does with one thread.
Results dynamically_quantised_lstm(Node& n) {
  n.require(n.dtype(0) == kFloat32, "its input must be float32");
  for (const size_t i : {8, 9, 10, 11})
    n.require(n.rank(i) == 1 || n.rank(i) == 2, "its scales and zero points must have one or two dimensions");
  RecurrentLayer* layer = nullptr;
  RecurrentProducts products;
  products.hidden_axis = 1;
  products.weigh = [&](Expr rows, size_t input, int64_t d) {
    return quantised_product(*layer, rows, input, d);
  };
  RecurrentLayer l(n, 4, kLstmActivations, std::move(products));
  layer = &l;
  return lstm_layer(l);
}

constexpr Row kRows[] = {
    {"com.microsoft.DynamicQuantizeLSTM", 1, dynamically_quantised_lstm},
};

}  // namespace

std::span<const Row> ms_recurrent_rows() { return kRows; }

}  // namespace relay::frontend
