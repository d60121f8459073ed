// LinearAttention and CausalConvWithState: layers that carry a state from step to step, as
// recurrent ones do, in the place of attention.
#include "base/cat.h"
#include "frontend/onnx/heads.h"
#include "frontend/onnx/loops.h"
#include "op/tensor/common.h"

namespace relay::frontend {
namespace {

using namespace op;

// --- LinearAttention -----------------------------------------------------------------------------
//
// The state of a head is a matrix S of (size of keys, size of values). Each step
//   lets it decay:      S = exp(g) * S             (rules gated and gated_delta)
//   corrects the value: v = beta * (v - k S)       (rules delta and gated_delta)
//   and writes:         S = S + k' v,  y = scale * q S

enum Input : size_t { kQuery, kKey, kValue, kPast, kDecay, kBeta };

struct Layer {
  Node& n;
  int64_t heads, shared;       // of queries, and of keys and values
  Dim steps, batch, matrices;  // batch * shared
  Dim key_size, value_size;
  bool gated = false, corrected = false;

  int64_t group() const { return heads / shared; }
  Expr call(const OpDef& op, Expr a, Expr b) { return n.call(op, {a, b}); }
};

// Where only a run tells, the run compares.
bool may_equal(Dim a, Dim b) { return prove_equal(a, b) != kernel::Proof::kRefuted; }
bool can_divide(Dim width, int64_t heads) { return !width.is_const() || width.value() % heads == 0; }

Layer read_layer(Node& n) {
  const std::string rule = n.text("update_rule", "gated_delta");
  n.require(rule == "linear" || rule == "gated" || rule == "delta" || rule == "gated_delta",
            "its attribute `update_rule` is unknown");
  Layer l{n, n.integer("q_num_heads"), n.integer("kv_num_heads")};
  l.gated = rule == "gated" || rule == "gated_delta";
  l.corrected = rule == "delta" || rule == "gated_delta";
  n.require(l.gated == n.has(kDecay), cat("its rule ", rule, l.gated ? " needs" : " has no", " decay"));
  n.require(l.corrected == n.has(kBeta), cat("its rule ", rule, l.corrected ? " needs" : " has no", " beta"));
  n.require(l.shared > 0 && l.heads > 0 && l.heads < (1 << 24) && l.heads % l.shared == 0,
            "its heads of queries must be a multiple of those of keys");
  for (const size_t i : {kQuery, kKey, kValue}) {
    n.require(n.rank(i) == 3, "its queries, keys and values must have 3 dimensions");
    for (const Dim d : n.tensor(i).dims) {
      if (d.is_unknown())
        n.unsupported("the shape of its inputs depends on the data",
                      "fix the dynamic axes with --input-shapes");
    }
  }
  l.batch = n.tensor(kQuery).dims[0];
  l.matrices = l.batch * Dim(l.shared);
  const Dim queries = n.tensor(kQuery).dims[2], keys = n.tensor(kKey).dims[2],
            values = n.tensor(kValue).dims[2];
  n.require(keys != Dim(0) && can_divide(keys, l.shared) && can_divide(values, l.shared),
            "the widths of its keys and values must be multiples of their number of heads");
  l.key_size = floor_div(keys, l.shared), l.value_size = floor_div(values, l.shared);
  n.require(can_divide(queries, l.heads) && may_equal(queries, l.key_size * Dim(l.heads)),
            "its queries and keys have other sizes");
  n.integer("chunk_size", 64);  // how fast others compute the same
  l.steps = n.tensor(kQuery).dims[1];
  n.require(l.steps != Dim(0), "its sequence is empty");
  return l;
}

// Input i, whose batch and steps are those of the queries; its width is `width`, or its own if that
// is unknown. A run compares what is open.
Expr input_of(Layer& l, size_t i, std::string_view what, Dim width = Dim::unknown()) {
  const TensorType& t = l.n.tensor(i);
  l.n.require(t.rank() == 3 && may_equal(t.dims[0], l.batch) && may_equal(t.dims[1], l.steps) &&
                  may_equal(t.dims[2], width),
              cat("its ", what, " have other extents than its queries"));
  return l.n.importer().match_extents(l.n.input(i), {l.batch, l.steps, width}, what);
}

// (batch, steps, heads * size) as (matrices, heads / shared, steps, size), in float32.
Expr by_matrix(Layer& l, Expr e, int64_t heads, std::string_view what) {
  const Expr split = l.n.cast(split_heads(l.n, e, heads, what), kFloat32);
  return l.n.reshape(split, {l.matrices, Dim(heads / l.shared), l.steps, type_of(split).dims[3]});
}

// The tensor with this extent along the axis, where it had that or 1: only a run tells which, and
// traps otherwise.
Expr stretched(Layer& l, Expr e, size_t axis, Dim wanted) {
  std::vector<Dim> dims = dims_of(e);
  dims[axis] = wanted;
  std::vector<Expr> shape;
  for (const Dim d : dims) shape.push_back(l.n.reshape(l.n.importer().materialise(d), {Dim(1)}));
  const Expr all = l.n.call(kDynBroadcastTo, {e, l.n.concatenate(shape, 0)});
  return l.n.importer().match_extents(all, dims, "stretched");
}

// How much of the state stays at each step: (matrices, 1, steps, size of keys or 1)
Expr decay_of(Layer& l) {
  const Expr decay = input_of(l, kDecay, "decay");
  const Dim width = dims_of(decay)[2], each = Dim(l.shared) * l.key_size;
  l.n.require(may_equal(width, Dim(l.shared)) || may_equal(width, each),
              "its decay must have one number for each head, or for each element of its keys");
  const Expr out = l.n.call(kExp, {by_matrix(l, decay, l.shared, "decay")});
  return width.is_const() && each.is_const() ? out : stretched(l, out, 3, l.key_size);
}

// (matrices, 1, steps, 1)
Expr beta_of(Layer& l) {
  const Expr beta = input_of(l, kBeta, "beta");
  const Dim width = dims_of(beta)[2];
  l.n.require(may_equal(width, Dim(l.shared)) || may_equal(width, Dim(1)),
              "its beta must have one number for each head, or one for all");
  if (width == Dim(l.shared)) return by_matrix(l, beta, l.shared, "beta");
  return by_matrix(l, stretched(l, beta, 2, Dim(l.shared)), l.shared, "beta");
}

// What the steps read: (matrices, rows, steps, size), and of one step (matrices, rows, size).
struct Parts {
  Expr q, k, v, decay, beta;  // decay and beta are null where the rule has none

  template <class F>
  Parts each(const F& f) const {
    return {f(q), f(k), f(v), decay ? f(decay) : nullptr, beta ? f(beta) : nullptr};
  }
};

// One step: changes the state and returns what is read of it, (matrices, heads / shared,
// size of values).
Expr step(Layer& l, const Parts& now, Expr& state) {
  const auto column = [&](Expr e) { return l.n.transpose(e, {0, 2, 1}); };
  if (now.decay) state = l.call(kMultiply, state, column(now.decay));
  Expr value = now.v;
  if (now.beta) {
    const Expr old = l.call(kBatchMatmul, now.k, state);
    value = l.call(kMultiply, now.beta, l.call(kSubtract, value, old));
  }
  state = l.call(kAdd, state, l.call(kMultiply, column(now.k), value));
  return l.call(kBatchMatmul, now.q, state);
}

// What all steps read, (matrices, heads / shared, steps, size of values), written out step by step.
Expr unrolled(Layer& l, const Parts& parts, Expr& state) {
  std::vector<Expr> results;
  for (int64_t t = 0; t < l.steps.value(); ++t) {
    const Parts now = parts.each([&](Expr e) { return l.n.squeeze(l.n.slice(e, 2, t, t + 1), {2}); });
    results.push_back(l.n.expand_dims(step(l, now, state), 2));
  }
  return l.n.concatenate(results, 2);
}

// The same by a loop.
Expr looped(Layer& l, const Parts& parts, Expr& state) {
  LoopForm form;
  form.name = l.n.proto().name();
  const Parts held = parts.each([&](Expr e) { return form.hold(l.n, e); });
  form.trips = form.hold(l.n, extent(l.n, held.q, 2));
  form.count = l.steps;
  form.states = {state};
  form.body = [&](Expr t, const std::vector<Expr>& states) -> std::optional<LoopStep> {
    LoopStep out;
    out.states = states;
    const Parts now = held.each([&](Expr e) { return element(l.n, e, t, 2); });
    out.rows = {step(l, now, out.states[0])};
    return out;
  };
  const std::vector<Expr> parts_of_loop = *make_loop(l.n, form);
  state = parts_of_loop[0];
  return l.n.transpose(parts_of_loop[1], {1, 2, 0, 3});
}

// The states before: (batch, shared, size of keys, size of values).
Expr past_of(Layer& l) {
  const std::vector<Dim> wanted{l.batch, Dim(l.shared), l.key_size, l.value_size};
  const std::vector<Dim> dims = dims_of(l.n.input(kPast));
  bool fits = dims.size() == wanted.size();
  for (size_t i = 0; fits && i < dims.size(); ++i) fits = may_equal(dims[i], wanted[i]);
  l.n.require(fits, "its past state must have batch, heads, and the sizes of its keys and values");
  return l.n.importer().match_extents(l.n.input(kPast), wanted, "past");
}

Results linear_attention(Node& n) {
  Layer l = read_layer(n);
  const std::vector<Dim> state_dims{l.matrices, l.key_size, l.value_size};
  const DType dtype = n.dtype(kQuery), state_dtype = n.has(kPast) ? n.dtype(kPast) : dtype;
  const Parts parts{
      by_matrix(l, input_of(l, kQuery, "queries", l.key_size * Dim(l.heads)), l.heads, "queries"),
      by_matrix(l, input_of(l, kKey, "keys", l.key_size * Dim(l.shared)), l.shared, "keys"),
      by_matrix(l, input_of(l, kValue, "values", l.value_size * Dim(l.shared)), l.shared, "values"),
      l.gated ? decay_of(l) : nullptr, l.corrected ? beta_of(l) : nullptr};
  Expr state = n.has(kPast)
                   ? n.reshape(n.cast(past_of(l), kFloat32), state_dims)
                   : n.call(kZeros, std::span<const Expr>(), {{"shape", state_dims}, {"dtype", kFloat32}});
  // As recurrent layers are: written out while it is short.
  const bool is_short = l.steps.is_const() && l.steps.value() <= n.importer().options().unrolled_steps &&
                        n.importer().unroll(l.steps.value());
  Expr y = is_short ? unrolled(l, parts, state) : looped(l, parts, state);
  y = l.call(kMultiply, y, scale_of(n, n.real("scale", 0), l.key_size, kFloat32, 1));
  y = n.reshape(y, {l.batch, Dim(l.heads), l.steps, l.value_size});
  const Expr present = n.reshape(state, {l.batch, Dim(l.shared), l.key_size, l.value_size});
  return {n.cast(join_heads(n, y), dtype), n.cast(present, state_dtype)};
}

// --- CausalConvWithState -------------------------------------------------------------------------

// Each channel of x by itself; the result is as long as `steps`. Of a weight whose extents only a
// run tells, each element of the result has its window: they are multiplied, and added up.
Expr by_channels(Node& n, Expr x, Expr weight, Dim steps) {
  const Dim channels = type_of(weight).dims[0], width = type_of(weight).dims[2];
  if (channels.is_const() && width.is_const()) {
    return n.call(kConv1d, {x, weight},
                  {{"groups", channels.value()},
                   {"channels", channels.value()},
                   {"kernel_size", std::vector<int64_t>{width.value()}}});
  }
  const std::vector<Dim> window{steps, width};
  const Expr where = n.call(kAdd, {n.places(window, 0), n.places(window, 1)});
  const Expr windows = n.call(kTake, {x, where}, {{"axis", int64_t{2}}, {"mode", "fast"}});
  return n.call(kSum, {n.call(kMultiply, {windows, weight})}, {{"axis", std::vector<int64_t>{3}}});
}

// The first elements see what was before, or zeros.
Results causal_convolution(Node& n) {
  const Expr x = n.input(0);
  const TensorType& w = n.tensor(1);
  n.require(type_of(x).rank() == 3 && w.rank() == 3, "its input and weight must have 3 dimensions");
  for (const Dim d : {w.dims[0], w.dims[2], type_of(x).dims[2]}) {
    if (d.is_unknown()) n.unsupported("the shape of its input or weight depends on the data");
    n.require(d != Dim(0) || d == type_of(x).dims[2], "its weight is empty");
  }
  n.require(!w.dims[1].is_const() || w.dims[1] == Dim(1), "its weight must have one input channel");
  Importer& importer = n.importer();
  const Expr weight = importer.match_extents(
      n.input(1), {w.dims[0].is_const() ? w.dims[0] : type_of(x).dims[1], Dim(1), w.dims[2]}, "weight");
  const Dim reach = w.dims[2] - Dim(1);
  Expr padded = x;
  if (n.has(3)) {
    n.require(n.rank(3) == 3 && prove_equal(n.tensor(3).dims[2], reach) != kernel::Proof::kRefuted,
              cat("its past_state must have ", show(reach), " elements for each channel"));
    const Dim any = Dim::unknown();
    padded = n.concatenate({importer.match_extents(n.input(3), {any, any, reach}, "past"), x}, 2);
  } else {
    padded = zero_padded(n.builder(), x, {{Dim(0), Dim(0)}, {Dim(0), Dim(0)}, {reach, Dim(0)}});
  }
  Expr y = by_channels(n, padded, weight, type_of(x).dims[2]);
  if (n.has(2)) y = n.call(kBiasAdd, {y, n.input(2)}, {{"axis", int64_t{1}}});
  const std::string activation = n.text("activation", "none");
  n.require(activation == "none" || activation == "silu" || activation == "swish",
            "its attribute `activation` is unknown");
  if (activation != "none") {
    const DType dtype = type_of(y).dtype;
    const Expr wide = n.cast(y, dtype.bits < 32 ? kFloat32 : dtype);
    y = n.cast(n.call(kMultiply, {wide, n.call(kSigmoid, {wide})}), dtype);
  }
  const Dim end = type_of(padded).dims[2];
  const Expr last = n.call(kStridedSlice, {padded},
                           {{"begin", std::vector<Dim>{end - reach}},
                            {"end", std::vector<Dim>{end}},
                            {"axes", std::vector<int64_t>{2}}});
  return {y, last};
}

constexpr Row kRows[] = {
    {"CausalConvWithState", 27, causal_convolution},
    {"LinearAttention", 27, linear_attention},
};

}  // namespace

std::span<const Row> linear_attention_rows() { return kRows; }

}  // namespace relay::frontend
