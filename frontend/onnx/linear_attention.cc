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
  int64_t key_size = 0, value_size = 0;
  bool gated = false, corrected = false;
  double scale = 0;

  int64_t group() const { return heads / shared; }
  Expr call(const OpDef& op, Expr a, Expr b) { return n.call(op, {a, b}); }
};

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
    if (!n.tensor(i).dims[2].is_const())
      n.unsupported("the widths of its inputs must be known", "fix the dynamic axes with --input-shapes");
  }
  l.batch = n.tensor(kQuery).dims[0];
  l.matrices = l.batch * Dim(l.shared);
  const int64_t keys = n.tensor(kKey).dims[2].value(), values = n.tensor(kValue).dims[2].value();
  n.require(keys > 0 && keys % l.shared == 0 && values % l.shared == 0,
            "the widths of its keys and values must be multiples of their number of heads");
  l.key_size = keys / l.shared, l.value_size = values / l.shared;
  const int64_t queries = n.tensor(kQuery).dims[2].value();
  n.require(queries % l.heads == 0 && queries / l.heads == l.key_size,
            "its queries and keys have other sizes");
  n.integer("chunk_size", 64);  // how fast others compute the same
  l.scale = scale_of_heads(n.real("scale", 0), Dim(l.key_size));
  l.steps = n.tensor(kQuery).dims[1];
  if (l.steps.is_unknown() || l.batch.is_unknown())
    n.unsupported("the shape of its queries depends on the data", "fix the dynamic axes with --input-shapes");
  n.require(l.steps != Dim(0), "its sequence is empty");
  return l;
}

// An input of (batch, steps, heads * size) as (matrices, heads / shared, steps, size), in float32.
Expr by_matrix(Layer& l, size_t i, int64_t heads, std::string_view what) {
  const Expr split = l.n.cast(split_heads(l.n, l.n.input(i), heads, what), kFloat32);
  return l.n.reshape(split, {l.matrices, Dim(heads / l.shared), l.steps, type_of(split).dims[3]});
}

// How much of the state stays at each step: (matrices, 1, steps, size of keys or 1)
Expr decay_of(Layer& l) {
  const TensorType& t = l.n.tensor(kDecay);
  l.n.require(t.rank() == 3 && (t.dims[2] == Dim(l.shared) || t.dims[2] == Dim(l.shared * l.key_size)),
              "its decay must have one number for each head, or for each element of its keys");
  return l.n.call(kExp, {by_matrix(l, kDecay, l.shared, "decay")});
}

// (matrices, 1, steps, 1)
Expr beta_of(Layer& l) {
  const TensorType& t = l.n.tensor(kBeta);
  l.n.require(t.rank() == 3 && (t.dims[2] == Dim(l.shared) || t.dims[2] == Dim(1)),
              "its beta must have one number for each head, or one for all");
  if (t.dims[2] == Dim(l.shared)) return by_matrix(l, kBeta, l.shared, "beta");
  const Expr each = l.n.call(kRepeat, {l.n.input(kBeta)}, {{"repeats", l.shared}, {"axis", int64_t{0}}});
  return l.n.expand_dims(l.n.cast(each, kFloat32), 1);
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

Results linear_attention(Node& n) {
  Layer l = read_layer(n);
  const std::vector<Dim> state_dims{l.matrices, Dim(l.key_size), Dim(l.value_size)};
  const DType dtype = n.dtype(kQuery), state_dtype = n.has(kPast) ? n.dtype(kPast) : dtype;
  const Parts parts{by_matrix(l, kQuery, l.heads, "queries"), by_matrix(l, kKey, l.shared, "keys"),
                    by_matrix(l, kValue, l.shared, "values"), l.gated ? decay_of(l) : nullptr,
                    l.corrected ? beta_of(l) : nullptr};
  Expr state = n.has(kPast)
                   ? n.reshape(n.cast(n.input(kPast), kFloat32), state_dims)
                   : n.call(kZeros, std::span<const Expr>(), {{"shape", state_dims}, {"dtype", kFloat32}});
  // As recurrent layers are: written out while it is short.
  const bool is_short = l.steps.is_const() && l.steps.value() <= n.importer().options().unrolled_steps &&
                        n.importer().unroll(l.steps.value());
  Expr y = is_short ? unrolled(l, parts, state) : looped(l, parts, state);
  y = l.call(kMultiply, y, n.scalar(kFloat32, l.scale));
  y = n.reshape(y, {l.batch, Dim(l.heads), l.steps, Dim(l.value_size)});
  const Expr present = n.reshape(state, {l.batch, Dim(l.shared), Dim(l.key_size), Dim(l.value_size)});
  return {n.cast(join_heads(n, y), dtype), n.cast(present, state_dtype)};
}

// --- CausalConvWithState -------------------------------------------------------------------------

// Each channel by itself; the first elements see what was before, or zeros.
Results causal_convolution(Node& n) {
  const Expr x = n.input(0);
  const TensorType& w = n.tensor(1);
  n.require(type_of(x).rank() == 3 && w.rank() == 3, "its input and weight must have 3 dimensions");
  const Dim channels = w.dims[0];
  if (!channels.is_const() || !w.dims[2].is_const()) n.unsupported("the shape of its weight must be known");
  const int64_t reach = w.dims[2].value() - 1;
  n.require(reach >= 0 && channels.value() > 0, "its weight is empty");
  n.require(w.dims[1] == Dim(1), "its weight must have one input channel");
  Expr padded = x;
  if (n.has(3)) {
    n.require(n.rank(3) == 3 && n.tensor(3).dims[2] == Dim(reach),
              cat("its past_state must have ", reach, " elements for each channel"));
    padded = n.concatenate({n.input(3), x}, 2);
  } else {
    padded = zero_padded(n.builder(), x, {{Dim(0), Dim(0)}, {Dim(0), Dim(0)}, {Dim(reach), Dim(0)}});
  }
  Expr y = n.call(kConv1d, {padded, n.input(1)},
                  {{"groups", channels.value()},
                   {"channels", channels.value()},
                   {"kernel_size", std::vector<int64_t>{reach + 1}}});
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
                           {{"begin", std::vector<Dim>{end - Dim(reach)}},
                            {"end", std::vector<Dim>{end}},
                            {"axes", std::vector<int64_t>{2}}});
  return {y, last};
}

constexpr Row kRows[] = {
    {"CausalConvWithState", 27, causal_convolution, "weights of open extents"},
    {"LinearAttention", 27, linear_attention},
};

}  // namespace

std::span<const Row> linear_attention_rows() { return kRows; }

}  // namespace relay::frontend
