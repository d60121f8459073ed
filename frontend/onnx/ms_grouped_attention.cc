// com.microsoft.GroupQueryAttention: heads of queries share heads of keys, whose past is in a
// buffer that each element of the batch has filled to a length of its own.
#include "base/cat.h"
#include "frontend/onnx/contributed.h"
#include "frontend/onnx/heads.h"
#include "frontend/onnx/ms_attention.h"

namespace relay::frontend {
namespace {

using namespace op;

enum Input : size_t {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLengths,
  kTotal,
  kCosines,
  kSines,
  kPositions,
  kBias,
  kFirstUnsupported
};

void refuse_what_is_not_supported(Node& n) {
  for (size_t i = kFirstUnsupported; i < n.inputs(); ++i) {
    if (n.has(i)) n.unsupported(cat("its input ", i, " is not supported"));
  }
  if (n.has(kPositions))
    n.unsupported("its input `position_ids` is not supported", "without it, positions follow from seqlens_k");
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (n.text(name, "NONE") != "NONE") n.unsupported(cat("its attribute `", name, "` is not supported"));
  }
  for (const char* name : {"kv_cache_bit_width", "sliding_window_cache", "qk_output"}) {
    if (n.integer(name, 0) != 0) n.unsupported(cat(name, "=", n.integer(name, 0), " is not supported"));
  }
  if (n.integer("smooth_softmax", -1) > 0) n.unsupported("smooth_softmax=1 is not supported");
  if (n.integer("causal", 1) != 1) n.unsupported("causal=0 is not supported");
  n.without_effect({"q_norm_epsilon", "k_norm_epsilon", "qk_norm_epsilon"});  // for inputs refused above
}

// How far the steps of this run are, for each element of the batch.
struct Progress {
  Dim steps, past;  // of this run, and of the buffer
  Dim total;        // the longest sequence with this run
  Expr lengths;     // (batch): of each sequence with this run, int64
  Expr before;      // (batch): without it
};

Progress progress_of(Node& n, Dim batch, Dim steps) {
  Progress p{steps, n.has(kPastKey) ? n.tensor(kPastKey).dims[2] : Dim(0), steps, nullptr, nullptr};
  const auto whole = [&](int64_t v) { return n.builder().constant(Tensor::scalar_int(kInt64, v)); };
  p.lengths = n.call(kAdd, {n.cast(n.reshape(n.input(kLengths), {batch}), kInt64), whole(1)});
  const Expr none = n.call(kZerosLike, {p.lengths});
  if (!n.has(kPastKey)) {  // the run is the first one
    p.before = none;
    return p;
  }
  const std::vector<Dim> total = n.dims(kTotal, "total_sequence_length");
  n.require(total.size() == 1, "its total_sequence_length must be one number");
  p.total = max(p.past, total[0]);
  // The first run begins at 0, whatever the lengths are: shorter sequences are padded behind.
  const Expr rest = n.call(kSubtract, {p.lengths, extent_of(n, n.input(kQuery), 1)});
  const Expr first =
      n.call(kEqual, {extent_of(n, n.input(kQuery), 1), n.cast(n.reshape(n.input(kTotal), {}), kInt64)});
  p.before = n.call(kWhere, {first, none, rest});
  return p;
}

// The buffer with the steps of this run behind those before, and zeros from there on.
Expr appended(Node& n, Expr past, Expr now, const Progress& p) {
  if (!past) return now;
  const std::vector<Dim> dims = dims_of(now);
  const Expr both = n.concatenate({past, now}, 2);
  const auto number = [&](int64_t v) { return n.builder().constant(Tensor::scalar_int(kInt64, v)); };
  const Expr place = n.expand_dims(steps_from(n, number(0), p.total), 1);  // (total, 1)
  const Expr before = n.expand_dims(p.before, 1, 3);                       // (batch, 1, 1, 1)
  const Expr new_place = n.call(kSubtract, {place, before});
  const Expr is_past = n.call(kLess, {new_place, number(0)}),
             is_filled = n.call(kLess, {new_place, extent_of(n, now, 2)});
  const Expr source = n.call(kWhere, {is_past, place, n.call(kAdd, {new_place, extent_of(n, past, 2)})});
  const Expr known = n.call(kWhere, {is_filled, source, number(0)});
  const std::vector<Dim> shape{dims[0], dims[1], p.total, dims[3]};
  const Expr index = n.call(kBroadcastTo, {known}, {{"shape", shape}});
  const Expr found = n.call(kGather, {both, index}, {{"axis", int64_t{2}}});
  return n.call(kWhere, {is_filled, found, n.scalar(type_of(now).dtype, 0)});
}

struct Projections {
  Expr q, k, v;
};

// Three tensors, or all in the first one.
Projections projections(Node& n, int64_t heads, int64_t shared) {
  if (n.has(kKey)) {
    return {split_heads(n, n.input(kQuery), heads, "query"), split_heads(n, n.input(kKey), shared, "key"),
            split_heads(n, n.input(kValue), shared, "value")};
  }
  n.require(!n.has(kValue), "it has values and no keys");
  const Expr all = split_heads(n, n.input(kQuery), heads + 2 * shared, "packed query, key and value");
  return {n.slice(all, 1, 0, heads), n.slice(all, 1, heads, heads + shared),
          n.slice(all, 1, heads + shared, heads + 2 * shared)};
}

Results grouped_attention(Node& n) {
  refuse_what_is_not_supported(n);
  const int64_t heads = n.integer("num_heads"), shared = n.integer("kv_num_heads");
  n.require(heads > 0 && shared > 0 && heads < (1 << 24) && heads % shared == 0,
            "its heads of queries cannot share its heads of keys");
  n.require(n.rank(kQuery) == 3, "its query must have batch, steps and width");
  n.require(n.has(kPastKey) == n.has(kPastValue), "it has a past of keys or of values alone");
  if (n.has(kPastKey))
    n.require(n.rank(kPastKey) == 4 && n.rank(kPastValue) == 4, "its past must have four dimensions");
  const std::vector<Dim> query = dims_of(n.input(kQuery));
  const Progress p = progress_of(n, query[0], query[1]);
  Projections x = projections(n, heads, shared);
  if (n.integer("do_rotary", 0) != 0) {
    const RotaryTables tables{n.input(kCosines), n.input(kSines), n.integer("rotary_interleaved", 0) != 0};
    const Expr positions = steps_from(n, n.expand_dims(p.before, 1), p.steps);
    x.q = rotated(n, x.q, positions, tables), x.k = rotated(n, x.k, positions, tables);
  } else {
    n.without_effect({"rotary_interleaved"});
  }
  DotProducts d{x.q, appended(n, n.has(kPastKey) ? n.input(kPastKey) : nullptr, x.k, p),
                appended(n, n.has(kPastValue) ? n.input(kPastValue) : nullptr, x.v, p)};
  d.scale = scale_of_heads(n.real("scale", 0), type_of(x.q).dims[3]);
  d.softcap = n.real("softcap", 0);
  const Dim keys = type_of(d.k).dims[2];
  const int64_t window = n.integer("local_window_size", -1);
  n.require(window == -1 || window > 0, "its attribute `local_window_size` is out of range");
  const std::optional<int64_t> left = window > 0 ? std::optional(window - 1) : std::nullopt;
  const Expr seen =
      both_masks(n, window_mask(n, p.steps, keys, {p.before, left, 0}), length_mask(n, p.lengths, keys));
  const DType dtype = type_of(x.q).dtype;
  d.bias = bias_of(n, seen, n.has(kBias) ? n.input(kBias) : nullptr, dtype);
  return {join_heads(n, attend(n, d).y), d.k, d.v};
}

constexpr Row kRows[] = {
    {"com.microsoft.GroupQueryAttention", 1, grouped_attention,
     "position_ids, sinks, quantised buffers, norms of heads, the scores as a result"},
};

}  // namespace

std::span<const Row> ms_grouped_attention_rows() { return kRows; }

}  // namespace relay::frontend
