// RNN, GRU and LSTM: what a step of each computes.
#include "frontend/onnx/recurrent.h"

namespace relay::frontend {
namespace {

using namespace op;

Results rnn(Node& n) {
  RecurrentLayer l(n, 1, {"tanh"});
  return l.run(false, {5}, [&](int64_t d, const Direction& direction, Expr x, std::vector<Expr>& states) {
    states[0] = l.gate_value(d, 0, l.add(x, l.product(states[0], direction.recurrent)));
  });
}

// Gates z, r, h.
Results gru(Node& n) {
  RecurrentLayer l(n, 3, {"sigmoid", "tanh"});
  const bool before_reset = n.integer("linear_before_reset", 0) != 0;
  // The bias of the candidate is added before the reset gate only in that form.
  return l.run(before_reset, {5},
               [&](int64_t d, const Direction& direction, Expr x, std::vector<Expr>& states) {
                 const Expr h = states[0];
                 Expr gates, candidate;
                 if (before_reset) {
                   Expr y = l.product(h, direction.recurrent);
                   if (direction.recurrent_bias) y = l.add(y, direction.recurrent_bias);
                   gates = l.gate_value(d, 0, l.add(l.gate(x, 0, 2), l.gate(y, 0, 2)));
                   candidate = l.multiply(l.gate(gates, 1, 2), l.gate(y, 2, 3));
                 } else {
                   const int64_t size = l.hidden;
                   const Expr first = n.slice(direction.recurrent, 0, 0, 2 * size),
                              second = n.slice(direction.recurrent, 0, 2 * size, 3 * size);
                   gates = l.gate_value(d, 0, l.add(l.gate(x, 0, 2), l.product(h, first)));
                   candidate = l.product(l.multiply(l.gate(gates, 1, 2), h), second);
                 }
                 const Expr z = l.gate(gates, 0, 1);
                 const Expr next = l.gate_value(d, 1, l.add(l.gate(x, 2, 3), candidate));
                 states[0] = l.add(l.multiply(l.one_minus(z), next), l.multiply(z, h));
               });
}

}  // namespace

Results lstm_layer(RecurrentLayer& l) {
  Node& n = l.n;
  const int64_t coupled = n.integer("input_forget", 0);
  n.require(coupled == 0 || coupled == 1, "its attribute `input_forget` must be 0 or 1");
  const bool peepholes = n.has(7);
  if (peepholes) {
    n.require(n.rank(7) == 2, "its peepholes must have two dimensions");
    const Dim length = n.tensor(7).dims[1];
    n.require(!length.is_const() || length == Dim(3 * l.hidden), "it has another number of peepholes");
  }
  return l.run(false, {5, 6}, [&](int64_t d, const Direction& direction, Expr x, std::vector<Expr>& states) {
    const Expr c = states[1], y = l.add(x, l.weighed(states[0], d, direction));
    Expr in = l.gate(y, 0, 1), out = l.gate(y, 1, 2), forget = l.gate(y, 2, 3);
    const auto peephole = [&](int64_t i) { return l.gate(l.of_direction(7, d), i, i + 1); };
    if (peepholes) {
      in = l.add(in, l.multiply(peephole(0), c));
      forget = l.add(forget, l.multiply(peephole(2), c));
    }
    in = l.gate_value(d, 0, in);
    forget = coupled == 1 ? l.one_minus(in) : l.gate_value(d, 0, forget);
    const Expr next = l.add(l.multiply(forget, c), l.multiply(in, l.gate_value(d, 1, l.gate(y, 3, 4))));
    if (peepholes) out = l.add(out, l.multiply(peephole(1), next));
    states[1] = next;
    // The last activation is not clipped: clipping is of what goes into the gates.
    states[0] = l.multiply(l.gate_value(d, 0, out), l.activated(d, 2, next));
  });
}

namespace {

Results lstm(Node& n) {
  RecurrentLayer l(n, 4, kLstmActivations);
  return lstm_layer(l);
}

constexpr Row kRows[] = {
    {"GRU", 1, gru},
    {"LSTM", 1, lstm},
    {"RNN", 1, rnn},
};

}  // namespace

std::span<const Row> recurrent_rows() { return kRows; }

}  // namespace relay::frontend
