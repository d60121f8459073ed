// What RNN, GRU and LSTM have in common: a layer, its directions and its steps. Private to this
// folder.
//
// The products with the inputs of all steps are one matrix product; what a step adds is the
// product with the state. The steps of a short sequence of known length are written out; others
// are a loop.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "frontend/onnx/importer.h"

namespace relay::frontend {

// An activation of a gate, with the numbers that it takes.
struct Activation {
  std::string name;  // lower case
  double alpha = 0, beta = 0;
};

// Reads the attributes `activations`, `activation_alpha` and `activation_beta`: those of one
// direction after the other.
std::vector<Activation> read_activations(Node& n, const std::vector<std::string>& defaults,
                                         int64_t directions);
Expr activate(Node& n, const Activation& a, Expr e);

// All that one direction needs; the inputs of all steps are multiplied already.
struct Direction {
  Expr projected = nullptr;       // [steps, batch, gates * hidden]
  Expr recurrent = nullptr;       // [gates * hidden, hidden]
  Expr recurrent_bias = nullptr;  // [gates * hidden] or null
};

// How rows are multiplied by the weights of a layer, which need not be plain matrices.
struct RecurrentProducts {
  size_t hidden_axis = 2;  // of the weights of the state: the axis that is as long as a state
  // (rows, gates * hidden). Input 1 of the node weighs the sequence, 2 the state. Null: the product
  // with the transposed matrix of the direction, which all steps share.
  std::function<Expr(Expr rows, size_t input, int64_t direction)> weigh = {};
};

struct RecurrentLayer {
  // `gates` are those of a step, `defaults` the activations of a direction.
  RecurrentLayer(Node& n, int64_t gates, const std::vector<std::string>& defaults,
                 RecurrentProducts products = {});
  RecurrentLayer(const RecurrentLayer&) = delete;

  // Changes the states of a direction, of which the first is the output, by the input of a step.
  using Step = std::function<void(int64_t d, const Direction& direction, Expr x, std::vector<Expr>& states)>;
  // Runs all steps of every direction. `state_inputs` says which inputs of the node the states
  // begin with. `keep_apart`: the bias of the recurrence is not merged with that of the input.
  Results run(bool keep_apart, const std::vector<size_t>& state_inputs, const Step& step);

  Expr add(Expr a, Expr b) { return n.call(op::kAdd, {a, b}); }
  Expr multiply(Expr a, Expr b) { return n.call(op::kMultiply, {a, b}); }
  Expr product(Expr a, Expr b) { return n.call(op::kMatmul, {a, b}, {{"transpose_b", true}}); }
  Expr one_minus(Expr e) { return n.call(op::kSubtract, {n.scalar(dtype, 1), e}); }
  // The state times its weights.
  Expr weighed(Expr state, int64_t d, const Direction& direction) {
    return products.weigh ? products.weigh(state, 2, d) : product(state, direction.recurrent);
  }
  // Activation i of the direction, of what is clipped first, or of what is not.
  Expr gate_value(int64_t direction, size_t i, Expr e);
  Expr activated(int64_t direction, size_t i, Expr e);
  // Part `direction` of an input whose first axis is the direction.
  Expr of_direction(size_t input, int64_t direction);
  // Gates [first, last) of rows that hold all gates side by side.
  Expr gate(Expr e, int64_t first, int64_t last);

  Node& n;
  DType dtype;
  Dim steps, batch;
  int64_t hidden = 0, directions = 1, gates = 0;

 private:
  struct Outcome {
    Expr outputs = nullptr;  // [steps, batch, hidden]; null if nobody wants them
    std::vector<Expr> last;
  };

  void read_weights();
  // An input that is read by `of_direction` gets these extents where its own are open.
  void compare(size_t input, const std::vector<Dim>& wanted);
  void read_lengths();
  bool goes_back(int64_t d) const { return reverse || d == 1; }
  Direction project(int64_t d, bool keep_apart);
  Expr initial_state(size_t input, int64_t d);
  Expr one_step(int64_t d, const Direction& direction, Expr x, Expr t, std::vector<Expr>& states,
                const Step& step);
  Outcome unrolled(int64_t d, const Direction& direction, std::vector<Expr> states, const Step& step);
  Outcome looped(int64_t d, const Direction& direction, std::vector<Expr> states, const Step& step);

  RecurrentProducts products;
  Expr x = nullptr;                 // [steps, batch, width]
  Expr lengths = nullptr;           // of the sequences, [batch, 1] of int64; null if all have `steps`
  std::map<size_t, Expr> compared;  // inputs of which a run compares extents
  bool batch_first = false, reverse = false;
  std::vector<Activation> activations;  // of one direction after the other
  std::optional<double> clip;
};

// The layer with the steps of an LSTM, gates i, o, f, c.
Results lstm_layer(RecurrentLayer& l);
inline const std::vector<std::string> kLstmActivations{"sigmoid", "tanh", "tanh"};

}  // namespace relay::frontend
