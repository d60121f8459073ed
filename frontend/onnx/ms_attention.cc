// com.microsoft: Attention, MultiHeadAttention, and rotary embedding by itself.
#include "frontend/onnx/ms_attention.h"
#include "base/cat.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/heads.h"

namespace relay::frontend {

using namespace op;

Expr rotated(Node& n, Expr x, Expr positions, const RotaryTables& tables) {
  const auto angles = [&](Expr table) {  // (batch, 1, steps, half)
    n.require(type_of(table).rank() == 2, "its tables of cosines and sines must be matrices");
    const std::vector<AttrArg> rows{{"axis", int64_t{0}}, {"mode", std::string("fast")}};
    return n.expand_dims(n.call(kTake, {table, positions}, rows), 1);
  };
  return rotate(n, x, angles(tables.cosines), angles(tables.sines), tables.interleaved);
}

Expr steps_from(Node& n, Expr first, Dim steps) {
  if (steps.is_unknown()) n.unsupported("the number of its steps depends on the data");
  return n.call(kAdd, {n.cast(first, kInt64), n.places({steps})});
}

Expr with_past(Node& n, Expr past, Expr now) { return past ? n.concatenate({past, now}, 2) : now; }

namespace {

// What is added to the scores: `filter` where a key is masked. The mask says by 1 and 0 which keys
// are shown, for each (batch, key) or (batch, query, key); or for each element of the batch how
// many are; or (2 * batch) where they end and where they begin.
Expr bias_of_mask(Node& n, Expr mask, Dim batch, Dim keys, double filter, DType dtype) {
  const TensorType& t = type_of(mask);
  const Expr zero = n.scalar(t.dtype, 0);
  Expr shown;
  if (t.rank() == 2) {
    shown = n.expand_dims(n.call(kGreater, {mask, zero}), 1, 2);
  } else if (t.rank() == 3) {
    shown = n.expand_dims(n.call(kGreater, {mask, zero}), 1);
  } else if (t.rank() == 1 && prove_equal(t.dims[0], batch) == kernel::Proof::kProved) {
    shown = length_mask(n, mask, keys);
  } else if (t.rank() == 1 && prove_equal(t.dims[0], batch * Dim(2)) == kernel::Proof::kProved) {
    const auto half = [&](Dim from, Dim to) {
      const std::vector<Dim> begin{from}, end{to};
      const Expr e =
          n.call(kStridedSlice, {mask}, {{"begin", begin}, {"end", end}, {"axes", std::vector<int64_t>{0}}});
      return n.reshape(e, {batch});
    };
    shown = both_masks(n, length_mask(n, half(Dim(0), batch), keys),
                       n.call(kLogicalNot, {length_mask(n, half(batch, batch * Dim(2)), keys)}));
  } else {
    n.unsupported(cat("a mask of shape ", show(mask->type, 80), " is not supported"),
                  "(batch), (2 * batch), (batch, keys) and (batch, queries, keys) are");
  }
  return n.call(kWhere, {shown, n.scalar(dtype, 0), n.scalar(dtype, filter)});
}

// The inputs of one attention, of whichever operator.
struct Asked {
  Expr q, k, v;  // (batch, heads, steps, size), without the past
  Expr past_k = nullptr, past_v = nullptr;
  Expr mask = nullptr, bias = nullptr;  // as the operator has them
};
struct Answer {
  Expr y, k, v;  // keys and values with the past
};

Answer answer(Node& n, const Asked& a) {
  const Expr k = with_past(n, a.past_k, a.k), v = with_past(n, a.past_v, a.v);
  const DType dtype = type_of(a.q).dtype;
  const Dim batch = type_of(a.q).dims[0], queries = type_of(a.q).dims[2], keys = type_of(k).dims[2];
  DotProducts d{a.q, k, v};
  d.scale = scale_of_heads(n.real("scale", 0), type_of(a.q).dims[3]);
  d.can_hide = false;
  d.bias = a.bias;
  const double filter = n.real("mask_filter_value", -10000);
  if (a.mask) {
    const Expr added = bias_of_mask(n, a.mask, batch, keys, filter, dtype);
    d.bias = d.bias ? n.call(kAdd, {d.bias, added}) : added;
  }
  if (n.integer("unidirectional", 0) != 0) {
    // Queries are the last steps.
    const Expr before = a.past_k ? extent_of(n, a.past_k, 2) : nullptr;
    d.bias = bias_of(n, window_mask(n, queries, keys, {before, std::nullopt, 0}), d.bias, dtype);
  }
  return {join_heads(n, attend(n, d).y), k, v};
}

// --- Attention: the projections are in it --------------------------------------------------------

enum Input : size_t { kData, kWeights, kBias, kMask, kPast, kScoreBias, kPastLength };

// The columns of queries, keys and values among those of the weights.
std::vector<int64_t> widths_of(Node& n, int64_t heads) {
  const Dim all = n.tensor(kWeights).dims[1];
  if (!all.is_const())
    n.unsupported("the shape of its weights must be known", "fix the dynamic axis with --input-shapes");
  std::vector<int64_t> widths = n.integers("qkv_hidden_sizes");
  if (widths.empty()) {
    n.require(all.value() % 3 == 0, "the columns of its weights have no thirds");
    widths.assign(3, all.value() / 3);
  }
  n.require(widths.size() == 3, "its attribute `qkv_hidden_sizes` has not three numbers");
  for (const int64_t w : widths) {
    n.require(w > 0 && w <= all.value() && w % heads == 0,
              "its queries, keys or values cannot be divided into heads");
  }
  n.require(widths[0] == widths[1] && widths[2] <= all.value() - 2 * widths[0] &&
                2 * widths[0] + widths[2] == all.value(),
            "its queries, keys and values are not as wide as its weights");
  return widths;
}

Results attention(Node& n) {
  n.require(n.rank(kData) == 3 && n.rank(kWeights) == 2, "its data and weights must have 3 and 2 dimensions");
  for (const char* flag : {"do_rotary", "past_present_share_buffer"}) {
    if (n.integer(flag, 0) != 0) n.unsupported(cat(flag, "=1 is not supported"));
  }
  n.without_effect({"rotary_embedding_dim"});
  if (n.has(kPastLength)) n.unsupported("its input `past_sequence_length` is not supported");
  const int64_t heads = n.integer("num_heads");
  n.require(heads > 0 && heads < (1 << 24), "its attribute `num_heads` is out of range");
  const std::vector<int64_t> widths = widths_of(n, heads);
  Expr projected = n.call(kMatmul, {n.input(kData), n.input(kWeights)});
  if (n.has(kBias)) projected = n.call(kAdd, {projected, n.input(kBias)});
  int64_t at = 0;
  std::vector<Expr> parts;
  for (const int64_t w : widths) {
    parts.push_back(split_heads(n, n.slice(projected, 2, at, at + w), heads, "projection"));
    at += w;
  }
  Asked a{parts[0], parts[1], parts[2]};
  if (n.has(kPast)) {
    n.require(n.rank(kPast) == 5, "its past must have five dimensions");
    const auto half = [&](int64_t i) { return n.squeeze(n.slice(n.input(kPast), 0, i, i + 1), {0}); };
    a.past_k = half(0), a.past_v = half(1);
  }
  if (n.has(kMask)) a.mask = n.input(kMask);
  if (n.has(kScoreBias)) a.bias = n.input(kScoreBias);
  const Answer out = answer(n, a);
  if (!n.wants(1)) return {out.y};
  if (widths[2] != widths[0]) n.unsupported("keys and values of two sizes have no common `present`");
  return {out.y, n.call(kStack, {n.builder().tuple({out.k, out.v})}, {{"axis", int64_t{0}}})};
}

// --- MultiHeadAttention: the projections are its inputs ------------------------------------------

enum HeadsInput : size_t {
  kQuery,
  kKey,
  kValue,
  kProjectionBias,
  kKeyMask,
  kAttentionBias,
  kPastKey,
  kPastValue
};

// One of the tensors that are packed into one, (batch, steps, heads, count, size), as
// (batch, heads, steps, size).
Expr unpacked(Node& n, Expr packed, int64_t i) {
  return n.transpose(n.squeeze(n.slice(packed, 3, i, i + 1), {3}), {0, 2, 1, 3});
}

// Columns [from, from + heads * size) of the bias of all three, as (heads, 1, size).
Expr bias_of_heads(Node& n, Expr x, int64_t heads, int64_t from) {
  const Dim size = type_of(x).dims[3];
  if (!size.is_const()) n.unsupported("the size of its heads must be known");
  const Expr part = n.slice(n.input(kProjectionBias), 0, from, from + heads * size.value());
  return n.reshape(part, {Dim(heads), Dim(1), size});
}

Asked inputs_of_heads(Node& n, int64_t heads) {
  Asked a{};
  const auto by_rank = [&](size_t i, std::string_view what) {
    return n.rank(i) == 4 ? n.input(i) : split_heads(n, n.input(i), heads, what);
  };
  if (n.rank(kQuery) == 5) {
    for (const size_t i : {kKey, kValue}) n.require(!n.has(i), "its query holds keys and values already");
    a.q = unpacked(n, n.input(kQuery), 0), a.k = unpacked(n, n.input(kQuery), 1);
    a.v = unpacked(n, n.input(kQuery), 2);
  } else {
    a.q = split_heads(n, n.input(kQuery), heads, "query");
    if (!n.has(kKey)) n.unsupported("without keys its query must be (batch, steps, heads, 3, size)");
    if (n.rank(kKey) == 5) {
      n.require(!n.has(kValue), "its key holds values already");
      a.k = unpacked(n, n.input(kKey), 0), a.v = unpacked(n, n.input(kKey), 1);
    } else {
      a.k = by_rank(kKey, "key"), a.v = by_rank(kValue, "value");
    }
  }
  if (n.has(kProjectionBias)) {
    int64_t from = 0;
    for (Expr* x : {&a.q, &a.k, &a.v}) {
      const Expr bias = bias_of_heads(n, *x, heads, from);
      *x = n.call(kAdd, {*x, bias});
      from += heads * type_of(bias).dims[2].value();
    }
  }
  return a;
}

Results multi_head_attention(Node& n) {
  for (const size_t i : {8, 9}) {
    if (n.has(i)) n.unsupported(cat("its input ", i, ", for a buffer that is shared, is not supported"));
  }
  const int64_t heads = n.integer("num_heads");
  n.require(heads > 0 && heads < (1 << 24), "its attribute `num_heads` is out of range");
  Asked a = inputs_of_heads(n, heads);
  n.require(n.has(kPastKey) == n.has(kPastValue), "it has a past of keys or of values alone");
  if (n.has(kPastKey)) a.past_k = n.input(kPastKey), a.past_v = n.input(kPastValue);
  if (n.has(kKeyMask)) a.mask = n.input(kKeyMask);
  if (n.has(kAttentionBias)) a.bias = n.input(kAttentionBias);
  const Answer out = answer(n, a);
  return {out.y, out.k, out.v};
}

// --- RotaryEmbedding -----------------------------------------------------------------------------

// (batch, steps, heads * size), or with the heads apart. Positions are (batch, steps), or one
// number: that of the first step.
Results rotary_embedding(Node& n) {
  if (n.integer("is_packed_batching", 0) != 0) n.unsupported("is_packed_batching=1 is not supported");
  n.without_effect({"scale"});  // no runtime reads it
  const bool joined = n.rank(0) == 3;
  const Expr cosines = n.input(2);
  n.require(type_of(cosines).rank() == 2, "its tables of cosines and sines must be matrices");
  int64_t heads = n.integer("num_heads", 0);
  const int64_t turned = n.integer("rotary_embedding_dim", 0);
  if (joined && heads == 0) {
    const Dim width = n.tensor(0).dims[2], half = type_of(cosines).dims[1];
    if (!width.is_const() || !half.is_const())
      n.unsupported("the size of its heads must be known", "fix the dynamic axis with --input-shapes");
    n.require(turned == 0 && half.value() > 0 && width.value() % (2 * half.value()) == 0,
              "its attribute `num_heads` is missing, and its tables do not say the size of a head");
    heads = width.value() / (2 * half.value());
  }
  const Expr x = joined ? split_heads(n, n.input(0), heads, "input") : n.input(0);
  n.require(type_of(x).rank() == 4, "its input must have three or four dimensions");
  n.require(turned == 0 || type_of(cosines).dims[1] == Dim(turned / 2),
            "its attribute `rotary_embedding_dim` contradicts its tables");
  Expr positions = n.input(1);
  if (type_of(positions).rank() == 1)
    positions = n.expand_dims(steps_from(n, n.reshape(positions, {}), type_of(x).dims[2]), 0);
  const Expr y = rotated(n, x, positions, {cosines, n.input(3), n.integer("interleaved", 0) != 0});
  return {joined ? join_heads(n, y) : y};
}

constexpr Row kRows[] = {
    {"com.microsoft.Attention", 1, attention,
     "do_rotary=1, past_present_share_buffer=1, masks of four dimensions"},
    {"com.microsoft.MultiHeadAttention", 1, multi_head_attention, "shared buffers, the scores as a result"},
    {"com.microsoft.RotaryEmbedding", 1, rotary_embedding, "is_packed_batching=1"},
};

}  // namespace

std::span<const Row> ms_attention_rows() { return kRows; }

}  // namespace relay::frontend
