// Attention and RotaryEmbedding of ONNX's own domain.
#include "base/cat.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/heads.h"
#include "frontend/onnx/importer.h"
#include "op/tensor/attributes.h"

namespace relay::frontend {
namespace {

using namespace op;

enum Input : size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kLengths };

// The inputs with heads, and the keys and values that were before in front of the new ones.
struct Heads {
  Expr q, k, v;
  bool split;  // they came as (batch, steps, heads * size)
};

Heads read_heads(Node& n) {
  const size_t rank = n.rank(kQ);
  n.require((rank == 3 || rank == 4) && n.rank(kK) == rank && n.rank(kV) == rank,
            "its queries, keys and values must all have 3 or all have 4 dimensions");
  const auto heads = [&](size_t i, const char* attribute, std::string_view what) {
    if (rank == 3) return split_heads(n, n.input(i), n.integer(attribute), what);
    const Dim own = n.tensor(i).dims[1], given(n.integer(attribute, own.is_const() ? own.value() : 1));
    n.require(!n.attribute(attribute) || own == given, cat("`", attribute, "` contradicts its ", what));
    return n.input(i);
  };
  Heads h{heads(kQ, "q_num_heads", "queries"), heads(kK, "kv_num_heads", "keys"),
          heads(kV, "kv_num_heads", "values"), rank == 3};
  n.require(n.has(kPastKey) == n.has(kPastValue), "its inputs past_key and past_value come together");
  n.require(!n.has(kPastKey) || !n.has(kLengths), "past_key and nonpad_kv_seqlen exclude each other");
  if (n.has(kPastKey)) {
    n.require(n.rank(kPastKey) == 4 && n.rank(kPastValue) == 4, "past_key and past_value need 4 dimensions");
    h.k = n.concatenate({n.input(kPastKey), h.k}, 2);
    h.v = n.concatenate({n.input(kPastValue), h.v}, 2);
  }
  return h;
}

// Which keys a query sees by its place.
Expr mask_by_place(Node& n, Dim queries, Dim keys) {
  KeyWindow window;
  const auto bound = [&](const char* name) -> std::optional<int64_t> {
    const int64_t size = n.integer(name, -1);
    n.require(size >= -1 && size < (int64_t{1} << 40), cat("its attribute `", name, "` is out of range"));
    return size < 0 ? std::nullopt : std::optional(size);
  };
  if (n.opset() >= 25) window.left = bound("left_window_size"), window.right = bound("right_window_size");
  if (n.integer("is_causal", 0) != 0) window.right = 0;
  if (!window.left && !window.right) return nullptr;
  if (n.has(kPastKey)) window.before = extent_of(n, n.input(kPastKey), 2);
  if (n.has(kLengths)) {
    const Expr count = extent_of(n, n.input(kQ), n.rank(kQ) - 2);
    window.before = n.call(kSubtract, {n.cast(n.input(kLengths), kInt64), count});
  }
  return window_mask(n, queries, keys, window);
}

// The mask at the input for as many keys: where it has fewer, it hides the others.
Expr mask_for(Node& n, Dim keys) {
  const Expr mask = n.input(kMask);
  const TensorType& t = type_of(mask);
  n.require(t.rank() >= 1 && t.rank() <= 4, "its mask must have one to four dimensions");
  const Dim have = t.dims[t.rank() - 1];
  if (have == keys || (have == Dim(1) && n.opset() < 24)) return mask;
  if (have == Dim(1))
    n.unsupported("its mask has one key: ONNX says that it is repeated, and that it hides all others",
                  "repeat the mask in the model, with Expand");
  const bool fewer = have.is_const() && keys.is_const() ? have.value() < keys.value() : n.has(kLengths);
  if (!fewer) return mask;
  std::vector<std::pair<Dim, Dim>> width(t.rank(), {Dim(0), Dim(0)});
  width.back().second = max(keys - have, Dim(0));
  const Expr hidden = n.scalar(t.dtype, t.dtype.is_float() ? kHidden : 0);
  return n.call(kPad, {mask, hidden}, {{"pad_width", pad_width(n.context(), width)}});
}

// What is added to the scores.
Expr bias(Node& n, Dim queries, Dim keys, DType dtype) {
  Expr mask = mask_by_place(n, queries, keys), added = nullptr;
  if (n.has(kLengths)) mask = both_masks(n, mask, length_mask(n, n.input(kLengths), keys));
  if (n.has(kMask)) {
    const Expr given = mask_for(n, keys);
    if (type_of(given).dtype.is_bool()) {
      mask = both_masks(n, mask, given);
    } else {
      added = n.cast(given, dtype);
    }
  }
  return bias_of(n, mask, added, dtype);
}

std::optional<DType> softmax_dtype(Node& n) {
  const int64_t given = n.integer("softmax_precision", 0);
  if (given == 0) return std::nullopt;
  const auto dtype = data::dtype_of_onnx(given);
  n.require(dtype && dtype->is_float(), "its attribute `softmax_precision` names no float");
  return dtype;
}

// 0 for that of the size of the heads.
double scale_of(Node& n) {
  const double given = n.real("scale", 0);
  n.require(given != 0 || !n.attribute("scale"), "its attribute `scale` is 0");
  return given;
}

Results attention(Node& n) {
  const Heads h = read_heads(n);
  const Dim queries = type_of(h.q).dims[2], keys = type_of(h.k).dims[2];
  DotProducts a{h.q, h.k, h.v};
  a.scale = scale_of(n);
  a.softcap = n.real("softcap", 0);
  n.require(a.softcap >= 0, "its attribute `softcap` is negative");
  a.bias = bias(n, queries, keys, type_of(h.q).dtype);
  // A causal mask alone shows the first key to everybody.
  a.can_hide = n.has(kMask) || n.has(kLengths) || (n.opset() >= 25 && n.integer("left_window_size", -1) >= 0);
  a.softmax = softmax_dtype(n);
  const Attended out = attend(n, a);
  const int64_t mode = n.integer("qk_matmul_output_mode", 0);
  n.require(mode >= 0 && mode <= 3, "its attribute `qk_matmul_output_mode` is out of range");
  const Expr steps[] = {out.scores, out.capped, out.biased, out.shares};
  return {h.split ? join_heads(n, out.y) : out.y, h.k, h.v, steps[mode]};
}

// --- FlexAttention -------------------------------------------------------------------------------

// Imports a graph of the node that makes one tensor of another of the same type.
Expr apply_graph(Node& n, const char* name, Expr x) {
  Importer& importer = n.importer();
  const ::onnx::GraphProto& graph = n.graph(name);
  n.require(graph.input_size() == 1 && graph.output_size() == 1,
            cat("its graph `", name, "` must have one input and one output"));
  NameScope scope{{}, &importer.scope()};
  Operand given;
  given.expr = x;
  scope.names.emplace(graph.input(0).name(), std::move(given));
  std::optional<std::vector<Operand>> results = importer.import_subgraph(graph, scope);
  if (!results) n.unsupported(cat("its graph `", name, "` cannot be imported"));
  const Expr y = importer.materialise((*results)[0]);
  const auto* type = y->type->as<TensorType>();
  n.require(type && type->dtype == type_of(x).dtype && type->rank() == 4,
            cat("its graph `", name, "` must keep rank and dtype"));
  return y;
}

// Attention with graphs of the model between its steps, all in the dtype of the softmax.
Results flex_attention(Node& n) {
  const DType dtype = n.dtype(kQ), wide = softmax_dtype(n).value_or(dtype.bits < 32 ? kFloat32 : dtype);
  DotProducts a{n.cast(n.input(kQ), wide), n.cast(n.input(kK), wide), n.cast(n.input(kV), wide)};
  n.require(n.rank(kQ) == 4, "its queries must have 4 dimensions");
  a.scale = scale_of(n);
  const auto graph = [&](const char* name) -> std::function<Expr(Expr)> {
    if (!n.attribute(name)) return {};
    return [&n, name](Expr x) { return apply_graph(n, name, x); };
  };
  a.change_scores = graph("score_mod"), a.change_shares = graph("prob_mod");
  return {n.cast(attend(n, a).y, dtype)};
}

// --- RotaryEmbedding -----------------------------------------------------------------------------

// The cosines or sines of each step: those of a place, or given for each. (batch, steps, half)
Expr angles(Node& n, size_t i) {
  const Expr cache = n.input(i);
  if (!n.has(3)) {
    n.require(type_of(cache).rank() == 3, "without position_ids its caches need 3 dimensions");
    return cache;
  }
  n.require(type_of(cache).rank() == 2 && n.rank(3) == 2,
            "with position_ids, these and its caches need 2 dimensions");
  return n.call(kTake, {cache, n.input(3)}, {{"axis", int64_t{0}}, {"mode", "fast"}});
}

Results rotary_embedding(Node& n) {
  Expr x = n.input(0);
  const std::vector<Dim> dims = dims_of(x);
  n.require(dims.size() == 3 || dims.size() == 4, "its input must have 3 or 4 dimensions");
  const bool heads_last = dims.size() == 3;  // (batch, steps, heads, size) once it is split
  if (heads_last) {
    const int64_t heads = n.integer("num_heads");
    n.require(heads > 0 && heads < (int64_t{1} << 31), "its attribute `num_heads` is out of range");
    n.require(!dims[2].is_const() || dims[2].value() % heads == 0,
              "its width cannot be divided among its heads");
    x = n.reshape(x, {dims[0], dims[1], Dim(heads), floor_div(dims[2], Dim(heads))});
  }
  if (!heads_last) {
    const int64_t heads = n.integer("num_heads", 0);
    n.require(heads == 0 || dims[1] == Dim(heads), "its attribute `num_heads` contradicts its input");
  }
  const int64_t axis = heads_last ? 2 : 1;
  const int64_t turned = n.integer("rotary_embedding_dim", 0);
  n.require(turned >= 0 && turned % 2 == 0, "its attribute `rotary_embedding_dim` must be even");
  const Dim wanted = turned > 0 ? Dim(turned) : type_of(x).dims[3];
  const auto table = [&](size_t i) {
    Expr e = angles(n, i);
    std::vector<Dim> shape = dims_of(e);
    n.require(!shape[2].is_const() || !wanted.is_const() || shape[2] * Dim(2) == wanted,
              cat("its caches have ", show(shape[2]), " angles for ", show(wanted), " elements"));
    if (turned > 0) shape[2] = Dim(turned / 2);
    return n.expand_dims(n.reshape(e, shape), axis);
  };
  const Expr cosines = table(1), sines = table(2);
  const Expr y = rotate(n, x, cosines, sines, n.integer("interleaved", 0) != 0);
  return {heads_last ? n.reshape(y, dims) : y};
}

constexpr Row kRows[] = {
    {"Attention", 23, attention},
    {"ai.onnx.preview.FlexAttention", 1, flex_attention},
    {"RotaryEmbedding", 23, rotary_embedding},
};

}  // namespace

std::span<const Row> attention_rows() { return kRows; }

}  // namespace relay::frontend
