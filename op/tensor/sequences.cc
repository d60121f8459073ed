// sequence_mask, reverse_sequence: a batch of sequences, of which each has a length of its own.
#include <algorithm>
#include <cmath>

#include "base/cat.h"
#include "kernel/scalar.h"
#include "op/domain.h"
#include "op/ops.h"
#include "op/tensor/common.h"

namespace relay::op {
namespace {

// The lengths must be integers, one for each sequence.
void require_lengths(Relation& r, size_t batch_axis) {
  require(r, 1, Domain::kInteger);
  r.require_rank(1, 1);
  r.same(r.tensor(1).dims[0], r.tensor(0).dims[batch_axis], 1, "number of lengths", 0);
}

// --- sequence_mask -------------------------------------------------------------------------------

struct SequenceMaskAttrs {
  double mask_value = 0;
  int64_t axis = 0;
  static constexpr auto kFields = fields(
      field("mask_value", &SequenceMaskAttrs::mask_value, "what is beyond the length"),
      field("axis", &SequenceMaskAttrs::axis, "of the sequences: 0 or 1; the other one is the batch's"));

  size_t along() const { return static_cast<size_t>(axis); }
  size_t batch() const { return 1 - along(); }
};

// The mask as the dtype holds it.
double rounded_mask(const SequenceMaskAttrs& a, DType d) {
  if (d.is_float()) return kernel::scalar::round_to(d, a.mask_value);
  return kernel::scalar::to_real(kFloat64, d, kernel::scalar::to_integer(d, a.mask_value));
}

// sequence_mask(x, n)[i] = x[i] where the index along the axis is less than n[b], mask_value elsewhere
//
// where b is the index along the other one of the first two axes.
//
//   (Tensor[s, d], Tensor[(batch), e]) -> Tensor[s, d]
//   C1: data has at least two axes.   C2: axis is 0 or 1.
//   C3: the lengths are integers, one for each sequence.   C4: d can hold the mask_value.
Type relate_mask(Relation& r, const SequenceMaskAttrs& a) {
  const TensorType& x = r.tensor(0);
  r.require(x.rank() >= 2, 0, cat("expected at least two axes, found rank ", x.rank()));         // C1
  r.require(a.axis == 0 || a.axis == 1, kAttributes, cat("axis must be 0 or 1, not ", a.axis));  // C2
  require_lengths(r, a.batch());                                                                 // C3
  const bool holds = x.dtype.is_float() || rounded_mask(a, x.dtype) == a.mask_value;
  r.require(holds, kAttributes, cat("mask_value is no number of ", x.dtype.name()));  // C4
  return &x;
}

void evaluate_mask(const SequenceMaskAttrs& a, Args in, Results out) {
  const double mask = rounded_mask(a, in[0].dtype());
  int64_t n = 0;
  for_each_index(in[0].shape(), [&](const std::vector<int64_t>& i) {
    if (i[a.along()] < index_of(in[1], i[a.batch()])) {
      copy_element(in[0], n, out[0], n);
    } else if (in[0].dtype().is_float()) {
      out[0].set(n, mask);
    } else {
      out[0].set_int(n, kernel::scalar::to_integer(in[0].dtype(), mask));
    }
    ++n;
  });
}

std::vector<kernel::Tensor> lower_mask(kernel::Builder& k, const SequenceMaskAttrs& a, const Lowering& c) {
  const double rounded = rounded_mask(a, c.dtype());
  const kernel::Expr mask = c.dtype().is_float()
                                ? k.constant(c.dtype(), rounded)
                                : c.pool.integer(kernel::scalar::to_integer(c.dtype(), rounded), c.dtype());
  return {k.compute("sequence_mask", c.dtype(), c.shape(), [&](kernel::Indices i) {
    const std::vector<kernel::Expr> sequence{i[a.batch()]};
    return select(less(i[a.along()], index_at(c.in[1], sequence)), c.in[0].at(i), mask);
  })};
}

std::vector<Expr> differentiate_mask(Builder& b, const SequenceMaskAttrs& a, const Site& c) {
  return {call(b, kSequenceMask, {c.dy, c.args[1]}, {{"axis", a.axis}}), nullptr};
}

// --- reverse_sequence ----------------------------------------------------------------------------

struct ReverseSequenceAttrs {
  int64_t seq_axis = 1;
  int64_t batch_axis = 0;
  static constexpr auto kFields =
      fields(field("seq_axis", &ReverseSequenceAttrs::seq_axis, "of the sequences, from the end if negative"),
             field("batch_axis", &ReverseSequenceAttrs::batch_axis,
                   "along which there is one after the other, from the end if negative"));
};

// reverse_sequence(x, n)[.., i, ..] = x[.., n[b] - 1 - i, ..] where i < n[b], x[.., i, ..] elsewhere
//
// where i is the index along seq_axis and b the one along batch_axis. A length counts as 0 if it is
// negative, and as the extent if it is larger.
//
//   (Tensor[s, d], Tensor[(batch), e]) -> Tensor[s, d]
//   C1: seq_axis and batch_axis are in [-rank, rank).   C2: they are two axes.
//   C3: the lengths are integers, one for each sequence.
Type relate_reverse(Relation& r, const ReverseSequenceAttrs& a) {
  const TensorType& x = r.tensor(0);
  const size_t along = r.axis(a.seq_axis, x.rank()), batch = r.axis(a.batch_axis, x.rank());     // C1
  r.require(along != batch, kAttributes, cat("seq_axis and batch_axis are both axis ", along));  // C2
  require_lengths(r, batch);                                                                     // C3
  return &x;
}

void evaluate_reverse(const ReverseSequenceAttrs& a, Args in, Results out) {
  const size_t along = from_front(a.seq_axis, in[0].rank()), batch = from_front(a.batch_axis, in[0].rank());
  std::vector<int64_t> from;
  fill_from(in[0], out[0], [&](const std::vector<int64_t>& i) -> const std::vector<int64_t>& {
    from = i;
    const int64_t length = std::min(index_of(in[1], i[batch]), in[0].shape()[along]);
    if (i[along] < length) from[along] = length - 1 - i[along];
    return from;
  });
}

std::vector<kernel::Tensor> lower_reverse(kernel::Builder& k, const ReverseSequenceAttrs& a,
                                          const Lowering& c) {
  const kernel::Tensor x = c.in[0];
  const size_t along = from_front(a.seq_axis, x.rank()), batch = from_front(a.batch_axis, x.rank());
  return {k.compute("reverse_sequence", c.dtype(), c.shape(), [&](kernel::Indices i) {
    std::vector<kernel::Expr> from = copy_of(i);
    const std::vector<kernel::Expr> sequence{i[batch]};
    const kernel::Expr length = min(index_at(c.in[1], sequence), x.dim(along));
    from[along] = select(less(i[along], length), length - 1 - i[along], i[along]);
    return x.at(from);
  })};
}

std::vector<Expr> differentiate_reverse(Builder& b, const ReverseSequenceAttrs& a, const Site& c) {
  return {
      call(b, kReverseSequence, {c.dy, c.args[1]}, {{"seq_axis", a.seq_axis}, {"batch_axis", a.batch_axis}}),
      nullptr};
}

}  // namespace

const OpDef kSequenceMask = define<SequenceMaskAttrs>({
    .name = "sequence_mask",
    .doc = "Replace by one number what is beyond the length of each sequence of a batch.",
    .params = {{"data", "the sequences"}, {"valid_length", "of each sequence"}},
    .fusion = Fusion::kInjective,
    .relate = relate_mask,
    .evaluate = evaluate_mask,
    .differentiate = differentiate_mask,
    .lower = lower_mask,
});

const OpDef kReverseSequence = define<ReverseSequenceAttrs>({
    .name = "reverse_sequence",
    .doc = "Reverse the beginning of each sequence of a batch, as far as its length says.",
    .params = {{"data", "the sequences"}, {"seq_lengths", "how many elements of each are reversed"}},
    .fusion = Fusion::kInjective,
    .relate = relate_reverse,
    .evaluate = evaluate_reverse,
    .differentiate = differentiate_reverse,
    .lower = lower_reverse,
});

}  // namespace relay::op
