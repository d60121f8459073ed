// The heads of attention: splitting and joining them, which keys a query sees, scaled dot
// products, and rotated positions.
//
// The attention operators of ONNX and of com.microsoft differ in their inputs and attributes; what
// they compute is here once. Tensors with heads are (batch, heads, steps, size) everywhere.
#pragma once

#include <functional>
#include <limits>

#include "frontend/onnx/node.h"

namespace relay::frontend {

// (batch, steps, heads * size) as (batch, heads, steps, size). Refuses the node if the width is no
// multiple of `heads`; `what` names the tensor in messages.
Expr split_heads(Node& n, Expr x, int64_t heads, std::string_view what);
// (batch, heads, steps, size) as (batch, steps, heads * size).
Expr join_heads(Node& n, Expr x);

// The extent of an axis as a scalar of int64, also where only a run tells it.
Expr extent_of(Node& n, Expr x, size_t axis);

// --- Masks ---------------------------------------------------------------------------------------
//
// Booleans that broadcast with (batch, heads, queries, keys). A null mask shows every key.

// What is added to the score of a key that is hidden.
inline constexpr double kHidden = -std::numeric_limits<double>::infinity();

// Query i stands at place p = before + i, and sees the keys from p - left to p + right. `before` is
// null for 0, a scalar, or one number for each element of the batch. A missing bound is no bound.
struct KeyWindow {
  Expr before = nullptr;
  std::optional<int64_t> left = {}, right = {};
};
Expr window_mask(Node& n, Dim queries, Dim keys, const KeyWindow& window);
// The first `lengths[b]` keys, where lengths is (batch).
Expr length_mask(Node& n, Expr lengths, Dim keys);
// What both masks show.
Expr both_masks(Node& n, Expr a, Expr b);
// What is added to the scores: `added`, or 0 if that is null, where the mask shows a key, and -inf
// elsewhere. Null if both are.
Expr bias_of(Node& n, Expr mask, Expr added, DType dtype);

// --- Scaled dot products -------------------------------------------------------------------------

struct DotProducts {
  Expr q;                // (batch, heads, queries, size)
  Expr k, v;             // (batch, fewer heads, keys, sizes): successive heads of queries share one of these
  double scale = 1;      // of the scores; 0: 1 / sqrt(size)
  double softcap = 0;    // the scores become softcap * tanh(scores / softcap); 0: they stay
  Expr bias = nullptr;   // added to the scores, and broadcast with them
  bool can_hide = true;  // may the bias hide all keys of a query? Its result is 0 then, not NaN
  std::optional<DType> softmax = {};  // computes the softmax in this dtype, not that of the scores
  // What the model does with the scores before the softmax, and with its result; empty: nothing.
  std::function<Expr(Expr)> change_scores = {}, change_shares = {};
};
struct Attended {
  Expr y;                               // (batch, heads, queries, size of v), of the dtype of q
  Expr scores, capped, biased, shares;  // (batch, heads, queries, keys), step by step
};
Attended attend(Node& n, const DotProducts& a);

// 1 / sqrt(size) for heads of this size, unless `given` is another scale than 0. Returns 0 where
// only a run tells the size, which means the same to `attend`.
double scale_of_heads(double given, Dim size);
// That scale to the power of `exponent`, also where it follows from a size that only a run tells.
Expr scale_of(Node& n, double given, Dim size, DType dtype, double exponent);

// --- Rotated positions ---------------------------------------------------------------------------

// Pairs of elements along the last axis are turned by angles, as complex numbers are. `cosines` and
// `sines` broadcast with one half of what is turned: the first 2 * (their last extent) elements.
// The pairs are neighbours if `interleaved`; else element i of both halves.
Expr rotate(Node& n, Expr x, Expr cosines, Expr sines, bool interleaved);

}  // namespace relay::frontend
