// RNN, GRU and LSTM, written out step by step for a sequence whose length is known.
//
// The products with the inputs of all steps are one matrix product; what a step adds is the
// product with the state.
#include <algorithm>
#include <map>

#include "base/cat.h"
#include "frontend/onnx/importer.h"

namespace relay::frontend {
namespace {

using namespace op;

struct Layer {
  Node& n;
  int64_t steps = 0, hidden = 0, directions = 1, gates = 0;
  Dim batch;
  DType dtype;
  bool batch_first = false;
  std::vector<std::string> activations;  // of one direction after the other
  std::optional<double> clip;

  Expr add(Expr a, Expr b) { return n.call(kAdd, {a, b}); }
  Expr multiply(Expr a, Expr b) { return n.call(kMultiply, {a, b}); }
  Expr product(Expr a, Expr b) { return n.call(kMatmul, {a, b}, {{"transpose_b", true}}); }

  // Activation i of the direction.
  Expr activate(int64_t direction, size_t i, Expr e) {
    if (clip) e = n.call(kClip, {e}, {{"a_min", -*clip}, {"a_max", *clip}});
    const size_t each = activations.size() / static_cast<size_t>(directions);
    const std::string& name = activations[static_cast<size_t>(direction) * each + i];
    if (name == "sigmoid") return n.call(kSigmoid, {e});
    if (name == "tanh") return n.call(kTanh, {e});
    if (name == "relu") return n.call(kMaximum, {e, n.scalar(dtype, 0)});
    n.unsupported(cat("activation `", name.substr(0, 40), "` is not supported"),
                  "Sigmoid, Tanh and Relu are");
  }

  // Part `direction` of a tensor whose first axis is the direction.
  Expr of_direction(size_t input, int64_t direction) {
    const Expr e = n.input(input);
    return n.squeeze(directions == 1 ? e : n.slice(e, 0, direction, direction + 1), {0});
  }
  // Gates [first, last) of rows that hold all gates side by side.
  Expr gate(Expr e, int64_t first, int64_t last) {
    const auto axis = type_of(e).rank() - 1;
    return n.slice(e, axis, first * hidden, last * hidden);
  }
};

Layer read_layer(Node& n, int64_t gates, const std::vector<std::string>& defaults) {
  Layer l{n};
  l.gates = gates;
  l.batch_first = n.integer("layout", 0) != 0;
  const TensorType& x = n.tensor(0);
  n.require(x.rank() == 3, "its input must have three dimensions");
  n.require(n.rank(1) == 3 && n.rank(2) == 3, "its weights must have three dimensions");
  l.dtype = x.dtype;
  const Dim steps = x.dims[l.batch_first ? 1 : 0];
  l.batch = x.dims[l.batch_first ? 0 : 1];
  if (!steps.is_const())
    n.unsupported("the length of its sequence must be known", "fix the dynamic axis with --input-shapes");
  l.steps = steps.value();
  if (l.steps > n.importer().options().unrolled_steps) {
    throw Refusal{"limit-unrolled-steps",
                  cat("its sequence of ", l.steps, " steps is longer than the limit of ",
                      n.importer().options().unrolled_steps),
                  "feed the sequence in parts, with the last state of one as the first of the next"};
  }
  n.require(l.steps > 0, "its sequence is empty");
  const Dim hidden = n.tensor(2).dims[2];
  if (!hidden.is_const())
    n.unsupported("the shape of its weights must be known", "fix the dynamic axis with --input-shapes");
  l.hidden = hidden.value();
  n.require(l.hidden > 0 && n.integer("hidden_size", l.hidden) == l.hidden,
            "its attribute `hidden_size` contradicts its weights");

  const std::string direction = n.text("direction", "forward");
  n.require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
            "its attribute `direction` is unknown");
  l.directions = direction == "bidirectional" ? 2 : 1;
  for (const size_t weights : {1, 2}) {
    const Dim own = n.tensor(weights).dims[0];
    if (!own.is_const())
      n.unsupported("the shape of its weights must be known", "fix the dynamic axis with --input-shapes");
    n.require(own == Dim(l.directions), "its weights are for another number of directions");
  }

  if (!n.importer().unroll(l.steps * l.directions)) {
    throw Refusal{"limit-unrolled-steps",
                  cat("the recurrent layers up to it have more steps than the limit of ",
                      n.importer().options().all_unrolled_steps),
                  "shorten the sequences with --input-shapes, or divide the model"};
  }

  for (int64_t d = 0; d < l.directions; ++d)
    l.activations.insert(l.activations.end(), defaults.begin(), defaults.end());
  if (const std::vector<std::string> given = n.texts("activations"); !given.empty()) {
    n.require(given.size() == l.activations.size(), "its attribute `activations` has a wrong length");
    l.activations = given;
  }
  for (std::string& name : l.activations) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  }
  if (n.attribute("clip")) l.clip = n.real("clip", 0);
  if (n.has(4)) {
    const Tensor lengths = n.constant(4, "sequence lengths");
    for (int64_t v : lengths.ints()) {
      if (v != l.steps) n.unsupported("sequences that are shorter than the others are not supported");
    }
  }
  return l;
}

// All that one direction needs; the inputs of all steps are multiplied already.
struct Direction {
  Expr projected = nullptr;       // [steps, batch, gates * hidden]
  Expr recurrent = nullptr;       // [gates * hidden, hidden]
  Expr recurrent_bias = nullptr;  // [gates * hidden] or null
};

// `keep_apart`: the bias of the recurrence is not merged with that of the input.
Direction project(Layer& l, int64_t d, bool keep_apart) {
  Node& n = l.n;
  Expr x = n.input(0);
  if (l.batch_first) x = n.transpose(x, {1, 0, 2});
  const Dim width = type_of(x).dims[2];
  const int64_t all = l.gates * l.hidden;
  Expr y = l.product(n.reshape(x, {Dim(l.steps) * l.batch, width}), l.of_direction(1, d));
  Direction out;
  if (n.has(3)) {
    const Expr bias = l.of_direction(3, d);
    const Expr own = n.slice(bias, 0, 0, all), other = n.slice(bias, 0, all, 2 * all);
    if (keep_apart) out.recurrent_bias = other;
    y = l.add(y, keep_apart ? own : l.add(own, other));
  }
  out.projected = n.reshape(y, {l.steps, l.batch, all});
  out.recurrent = l.of_direction(2, d);
  return out;
}

Expr initial_state(Layer& l, size_t input, int64_t d) {
  Node& n = l.n;
  if (!n.has(input)) {
    return n.call(kZeros, std::span<const Expr>(),
                  {{"shape", std::vector<Dim>{l.batch, l.hidden}}, {"dtype", l.dtype}});
  }
  const Expr e = n.input(input);
  n.require(type_of(e).rank() == 3, "its initial state must have three dimensions");
  if (!l.batch_first) return l.of_direction(input, d);
  return n.squeeze(l.directions == 1 ? e : n.slice(e, 1, d, d + 1), {1});
}

// Runs the steps of every direction. `step(direction index, Direction, x of this step, states)`
// changes the states, of which the first is the output.
template <class Step>
Results run(Layer& l, bool keep_apart, const std::vector<size_t>& state_inputs, const Step& step) {
  Node& n = l.n;
  const bool reverse = n.text("direction", "forward") == "reverse";
  std::vector<std::vector<Expr>> outputs(
      static_cast<size_t>(l.steps));  // of each step, by direction: [1, batch, hidden]
  std::vector<std::vector<Expr>> last(state_inputs.size());
  for (int64_t d = 0; d < l.directions; ++d) {
    const Direction direction = project(l, d, keep_apart);
    std::vector<Expr> states;
    for (size_t input : state_inputs) states.push_back(initial_state(l, input, d));
    for (int64_t s = 0; s < l.steps; ++s) {
      const int64_t t = reverse || d == 1 ? l.steps - 1 - s : s;
      const Expr x =
          n.squeeze(l.steps == 1 ? direction.projected : n.slice(direction.projected, 0, t, t + 1), {0});
      step(d, direction, x, states);
      if (n.wants(0)) outputs[static_cast<size_t>(t)].push_back(n.expand_dims(states[0], 0));
    }
    for (size_t i = 0; i < states.size(); ++i) last[i].push_back(n.expand_dims(states[i], 0));
  }
  Results out(1);
  if (n.wants(0)) {
    std::vector<Expr> rows;
    for (const std::vector<Expr>& parts : outputs) rows.push_back(n.expand_dims(n.concatenate(parts, 0), 0));
    out[0] = n.concatenate(rows, 0);
    if (l.batch_first) out[0] = n.transpose(out[0], {2, 0, 1, 3});
  } else {
    out[0] = last[0][0];  // nobody looks at it
  }
  for (const std::vector<Expr>& parts : last) {
    const Expr state = n.concatenate(parts, 0);
    out.push_back(l.batch_first ? n.transpose(state, {1, 0, 2}) : state);
  }
  return out;
}

Results rnn(Node& n) {
  Layer l = read_layer(n, 1, {"tanh"});
  return run(l, false, {5}, [&](int64_t d, const Direction& direction, Expr x, std::vector<Expr>& states) {
    states[0] = l.activate(d, 0, l.add(x, l.product(states[0], direction.recurrent)));
  });
}

// Gates z, r, h.
Results gru(Node& n) {
  Layer l = read_layer(n, 3, {"sigmoid", "tanh"});
  const bool before_reset = n.integer("linear_before_reset", 0) != 0;
  return run(l, before_reset, {5},
             [&](int64_t d, const Direction& direction, Expr x, std::vector<Expr>& states) {
               const Expr h = states[0], one = n.scalar(l.dtype, 1);
               Expr gates, candidate;
               if (before_reset) {
                 Expr y = l.product(h, direction.recurrent);
                 if (direction.recurrent_bias) y = l.add(y, direction.recurrent_bias);
                 gates = l.activate(d, 0, l.add(l.gate(x, 0, 2), l.gate(y, 0, 2)));
                 candidate = l.multiply(l.gate(gates, 1, 2), l.gate(y, 2, 3));
               } else {
                 const int64_t size = l.hidden;
                 const Expr first = n.slice(direction.recurrent, 0, 0, 2 * size),
                            second = n.slice(direction.recurrent, 0, 2 * size, 3 * size);
                 gates = l.activate(d, 0, l.add(l.gate(x, 0, 2), l.product(h, first)));
                 candidate = l.product(l.multiply(l.gate(gates, 1, 2), h), second);
               }
               const Expr z = l.gate(gates, 0, 1);
               const Expr next = l.activate(d, 1, l.add(l.gate(x, 2, 3), candidate));
               states[0] = l.add(l.multiply(n.call(kSubtract, {one, z}), next), l.multiply(z, h));
             });
}

// Gates i, o, f, c.
Results lstm(Node& n) {
  Layer l = read_layer(n, 4, {"sigmoid", "tanh", "tanh"});
  if (n.integer("input_forget", 0) != 0) n.unsupported("input_forget=1 is not supported");
  const bool peepholes = n.has(7);
  if (peepholes) n.require(n.rank(7) == 2, "its peepholes must have two dimensions");
  return run(l, false, {5, 6}, [&](int64_t d, const Direction& direction, Expr x, std::vector<Expr>& states) {
    const Expr c = states[1], y = l.add(x, l.product(states[0], direction.recurrent));
    Expr in = l.gate(y, 0, 1), out = l.gate(y, 1, 2), forget = l.gate(y, 2, 3);
    const auto peephole = [&](int64_t i) { return l.gate(l.of_direction(7, d), i, i + 1); };
    if (peepholes) {
      in = l.add(in, l.multiply(peephole(0), c));
      forget = l.add(forget, l.multiply(peephole(2), c));
    }
    in = l.activate(d, 0, in);
    forget = l.activate(d, 0, forget);
    const Expr next = l.add(l.multiply(forget, c), l.multiply(in, l.activate(d, 1, l.gate(y, 3, 4))));
    if (peepholes) out = l.add(out, l.multiply(peephole(1), next));
    states[1] = next;
    out = l.activate(d, 0, out);
    // The last activation is not clipped: clipping is of what goes into the gates.
    const std::optional<double> clip = std::exchange(l.clip, std::nullopt);
    states[0] = l.multiply(out, l.activate(d, 2, next));
    l.clip = clip;
  });
}

constexpr Row kRows[] = {
    {"GRU", 7, gru},
    {"LSTM", 7, lstm},
    {"RNN", 7, rnn},
};

}  // namespace

std::span<const Row> recurrent_rows() { return kRows; }

}  // namespace relay::frontend
