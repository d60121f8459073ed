#include <algorithm>

#include "base/cat.h"
#include "frontend/onnx/loops.h"
#include "frontend/onnx/recurrent.h"

namespace relay::frontend {

using namespace op;

RecurrentLayer::RecurrentLayer(Node& node, int64_t gate_count, const std::vector<std::string>& defaults,
                               RecurrentProducts special)
    : n(node), gates(gate_count), products(std::move(special)) {
  // Before version 7 it said whether the first result is wanted, which its name says too.
  if (n.opset() < 7) n.without_effect({"output_sequence"});
  const int64_t layout = n.integer("layout", 0);
  n.require(layout == 0 || layout == 1, "its attribute `layout` must be 0 or 1");
  batch_first = layout == 1;
  n.require(n.rank(0) == 3, "its input must have three dimensions");
  n.require(n.rank(1) == 3 && n.rank(2) == 3, "its weights must have three dimensions");
  x = n.importer().name_extents(n.input(0), "x");
  if (batch_first) x = n.transpose(x, {1, 0, 2});
  dtype = type_of(x).dtype;
  steps = type_of(x).dims[0];
  batch = type_of(x).dims[1];
  const std::string direction = n.text("direction", "forward");
  n.require(direction == "forward" || direction == "reverse" || direction == "bidirectional",
            "its attribute `direction` is unknown");
  directions = direction == "bidirectional" ? 2 : 1;
  reverse = direction == "reverse";
  read_weights();
  activations = read_activations(n, defaults, directions);
  if (n.attribute("clip")) clip = n.real("clip", 0);
  read_lengths();
}

void RecurrentLayer::read_weights() {
  const Dim width = n.tensor(2).dims[products.hidden_axis];
  if (!width.is_const() && !n.attribute("hidden_size"))
    n.unsupported("the shape of its weights must be known",
                  "fix the dynamic axis with --input-shapes, or give the node its `hidden_size`");
  hidden = width.is_const() ? width.value() : n.integer("hidden_size");
  constexpr int64_t kMost = int64_t{1} << 40;  // so that nothing overflows
  n.require(hidden > 0 && hidden < kMost && n.integer("hidden_size", hidden) == hidden,
            "its attribute `hidden_size` contradicts its weights");
  const Dim all(gates * hidden);
  const auto fits = [](Dim own, Dim wanted) { return !own.is_const() || own == wanted; };
  for (const size_t weights : {1, 2}) {
    std::vector<Dim> wanted(3, Dim::unknown());
    wanted[0] = directions;
    wanted[3 - products.hidden_axis] = all;
    if (weights == 2) wanted[products.hidden_axis] = hidden;
    const auto& own = n.tensor(weights).dims;
    n.require(fits(own[0], wanted[0]), "its weights are for another number of directions");
    n.require(fits(own[3 - products.hidden_axis], all), "its weights are for another number of gates");
    compare(weights, wanted);
  }
  if (n.has(3)) {
    n.require(n.rank(3) == 2 && fits(n.tensor(3).dims[1], all * Dim(2)),
              "its bias must have two numbers for each row of the weights");
    compare(3, {Dim(directions), all * Dim(2)});
  }
}

void RecurrentLayer::compare(size_t input, const std::vector<Dim>& wanted) {
  std::vector<Dim> open = wanted;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (n.tensor(input).dims[i].is_const()) open[i] = Dim::unknown();
  }
  compared[input] = n.importer().match_extents(n.input(input), open, "weights");
}

// Lengths that are all those of the sequence say nothing.
void RecurrentLayer::read_lengths() {
  if (!n.has(4)) return;
  n.require(n.rank(4) == 1 && n.dtype(4).is_int(), "its sequence lengths must be a list of integers");
  const Dim given = n.tensor(4).dims[0];
  n.require(!given.is_const() || !batch.is_const() || given == batch,
            "it has another number of sequence lengths than sequences");
  if (const std::optional<Tensor> known = n.known(4); known && steps.is_const()) {
    const std::vector<int64_t> all = known->ints();
    if (std::all_of(all.begin(), all.end(), [&](int64_t v) { return v == steps.value(); })) return;
    n.require(std::all_of(all.begin(), all.end(), [&](int64_t v) { return v >= 0 && v <= steps.value(); }),
              "its sequence lengths must be between 0 and the number of steps");
  }
  const Expr all = n.importer().match_extents(n.input(4), {batch}, "lengths");
  lengths = n.expand_dims(n.cast(all, kInt64), 1);
}

Expr RecurrentLayer::activated(int64_t direction, size_t i, Expr e) {
  const size_t each = activations.size() / static_cast<size_t>(directions);
  return activate(n, activations[static_cast<size_t>(direction) * each + i], e);
}

Expr RecurrentLayer::gate_value(int64_t direction, size_t i, Expr e) {
  if (clip) e = n.call(kClip, {e}, {{"a_min", -*clip}, {"a_max", *clip}});
  return activated(direction, i, e);
}

Expr RecurrentLayer::of_direction(size_t input, int64_t direction) {
  const auto found = compared.find(input);
  const Expr e = found == compared.end() ? n.input(input) : found->second;
  return n.squeeze(directions == 1 ? e : n.slice(e, 0, direction, direction + 1), {0});
}

Expr RecurrentLayer::gate(Expr e, int64_t first, int64_t last) {
  return n.slice(e, type_of(e).rank() - 1, first * hidden, last * hidden);
}

Direction RecurrentLayer::project(int64_t d, bool keep_apart) {
  const Dim width = type_of(x).dims[2];
  const int64_t all = gates * hidden;
  const Expr rows = n.reshape(x, {steps * batch, width});
  Expr y = products.weigh ? products.weigh(rows, 1, d) : product(rows, of_direction(1, d));
  Direction out;
  if (n.has(3)) {
    const Expr bias = of_direction(3, d);
    const Expr own = n.slice(bias, 0, 0, all), other = n.slice(bias, 0, all, 2 * all);
    if (keep_apart) out.recurrent_bias = other;
    y = add(y, keep_apart ? own : add(own, other));
  }
  out.projected = n.reshape(y, {steps, batch, all});
  out.recurrent = of_direction(2, d);
  return out;
}

Expr RecurrentLayer::initial_state(size_t input, int64_t d) {
  const std::vector<Dim> dims{batch, hidden};
  if (!n.has(input)) {
    return n.call(kZeros, std::span<const Expr>(), {{"shape", dims}, {"dtype", dtype}});
  }
  const Expr e = n.input(input);
  n.require(type_of(e).rank() == 3, "its initial state must have three dimensions");
  const Expr own =
      batch_first ? n.squeeze(directions == 1 ? e : n.slice(e, 1, d, d + 1), {1}) : of_direction(input, d);
  for (size_t i = 0; i < 2; ++i) {
    const Dim given = dims_of(own)[i];
    n.require(!given.is_const() || !dims[i].is_const() || given == dims[i],
              "its initial state has another shape");
  }
  return n.importer().match_extents(own, dims, "state");
}

// Changes the states, and returns the output of the step. A sequence that has no step t keeps its
// states and gives zeros.
Expr RecurrentLayer::one_step(int64_t d, const Direction& direction, Expr row, Expr t,
                              std::vector<Expr>& states, const Step& step) {
  const std::vector<Expr> before = states;
  step(d, direction, row, states);
  if (!lengths) return states[0];
  const Expr runs = n.call(kLess, {t, lengths});
  const Expr output = n.call(kWhere, {runs, states[0], n.scalar(dtype, 0)});
  for (size_t i = 0; i < states.size(); ++i) states[i] = n.call(kWhere, {runs, states[i], before[i]});
  return output;
}

RecurrentLayer::Outcome RecurrentLayer::unrolled(int64_t d, const Direction& direction,
                                                 std::vector<Expr> states, const Step& step) {
  const int64_t count = steps.value();
  std::vector<Expr> rows(static_cast<size_t>(count));
  for (int64_t s = 0; s < count; ++s) {
    const int64_t t = goes_back(d) ? count - 1 - s : s;
    const Expr row =
        n.squeeze(count == 1 ? direction.projected : n.slice(direction.projected, 0, t, t + 1), {0});
    const Expr number = n.builder().constant(Tensor::scalar_int(kInt64, t));
    const Expr output = one_step(d, direction, row, number, states, step);
    if (n.wants(0)) rows[static_cast<size_t>(t)] = n.expand_dims(output, 0);
  }
  return {n.wants(0) ? n.concatenate(rows, 0) : nullptr, states};
}

RecurrentLayer::Outcome RecurrentLayer::looped(int64_t d, const Direction& direction,
                                               std::vector<Expr> states, const Step& step) {
  LoopForm form;
  form.name = n.proto().name();
  // Products with all inputs, and parts of weights, are computed once.
  Direction once;
  once.projected = form.hold(n, direction.projected);
  once.recurrent = form.hold(n, direction.recurrent);
  if (direction.recurrent_bias) once.recurrent_bias = form.hold(n, direction.recurrent_bias);
  form.trips = form.hold(n, extent(n, once.projected, 0));
  form.count = steps;
  form.states = std::move(states);
  form.backwards = {goes_back(d)};
  form.body = [&](Expr i, const std::vector<Expr>& now) -> std::optional<LoopStep> {
    Expr t = i;
    if (goes_back(d)) {
      const Expr one = n.builder().constant(Tensor::scalar_int(kInt64, 1));
      t = n.call(kSubtract, {n.call(kSubtract, {form.trips, one}), i});
    }
    LoopStep out;
    out.states = now;
    const Expr output = one_step(d, once, element(n, once.projected, t, 0), t, out.states, step);
    if (n.wants(0)) out.rows = {output};
    return out;
  };
  std::vector<Expr> parts = *make_loop(n, form);
  Outcome out;
  if (n.wants(0)) {
    out.outputs = parts.back();
    parts.pop_back();
  }
  out.last = std::move(parts);
  return out;
}

Results RecurrentLayer::run(bool keep_apart, const std::vector<size_t>& state_inputs, const Step& step) {
  const bool is_short = steps.is_const() && steps.value() > 0 &&
                        steps.value() <= n.importer().options().unrolled_steps &&
                        n.importer().unroll(steps.value() * directions);
  std::vector<Expr> outputs;  // of each direction, with an axis for the direction
  std::vector<std::vector<Expr>> last(state_inputs.size());
  for (int64_t d = 0; d < directions; ++d) {
    const Direction direction = project(d, keep_apart);
    std::vector<Expr> states;
    for (size_t input : state_inputs) states.push_back(initial_state(input, d));
    const Outcome own = is_short ? unrolled(d, direction, std::move(states), step)
                                 : looped(d, direction, std::move(states), step);
    if (own.outputs) outputs.push_back(n.expand_dims(own.outputs, 1));
    for (size_t i = 0; i < own.last.size(); ++i) last[i].push_back(n.expand_dims(own.last[i], 0));
  }
  Results out;
  for (const std::vector<Expr>& parts : last) {
    const Expr state = n.concatenate(parts, 0);
    out.push_back(batch_first ? n.transpose(state, {1, 0, 2}) : state);
  }
  Expr all = out[0];  // nobody looks at it
  if (!outputs.empty()) {
    all = n.concatenate(outputs, 1);
    if (batch_first) all = n.transpose(all, {2, 0, 1, 3});
  }
  out.insert(out.begin(), all);
  return out;
}

}  // namespace relay::frontend
