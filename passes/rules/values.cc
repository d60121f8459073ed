#include "passes/rules/values.h"

#include <algorithm>

#include "op/nn/bias_add.h"
#include "op/ops.h"
#include "op/reduce/variance.h"
#include "op/registry.h"
#include "op/tensor/join.h"
#include "op/tensor/repeat.h"
#include "op/tensor/slice.h"
#include "op/tensor/transpose.h"

namespace relay::passes::rules {
namespace {

using Of = std::span<const Looked>;
using Result = std::optional<decltype(AttrArg::value)>;

Result dims_of(Expr e) {
  const TensorType* t = tensor_of(e);
  if (!t) return std::nullopt;
  for (Dim d : t->dims) {
    if (d.is_unknown()) return std::nullopt;
  }
  return std::vector<Dim>(t->dims.begin(), t->dims.end());
}

// The ranges of one slice after another.
std::optional<std::vector<Range>> both_ranges(Expr first, Expr second) {
  auto out = ranges_of(first);
  const auto then = ranges_of(second);
  if (!out || !then || out->size() != then->size()) return std::nullopt;
  for (size_t i = 0; i < out->size(); ++i) {
    int64_t moved;
    if (__builtin_mul_overflow((*then)[i].begin, (*out)[i].step, &moved) ||
        __builtin_add_overflow((*out)[i].begin, moved, &(*out)[i].begin) ||
        __builtin_mul_overflow((*out)[i].step, (*then)[i].step, &(*out)[i].step))
      return std::nullopt;
    (*out)[i].count = (*then)[i].count;
  }
  return out;
}

// As the call says it: from the end if negative. Nothing for operators that no rule asks about.
std::optional<int64_t> axis_attribute(const Call& call) {
  const op::OpDef* def = op::callee(call);
  if (def == &op::kBiasAdd) return op::read_attrs<op::BiasAddAttrs>(call.attrs).axis;
  if (def == &op::kConcatenate) return op::read_attrs<op::ConcatenateAttrs>(call.attrs).axis;
  if (def == &op::kRepeat) return op::read_attrs<op::RepeatAttrs>(call.attrs).axis;
  if (def == &op::kReverse) return op::read_attrs<op::ReverseAttrs>(call.attrs).axis;
  if (def == &op::kSplit) return op::read_attrs<op::SplitAttrs>(call.attrs).axis;
  return std::nullopt;
}

// Nothing if the call is no reduction whose terms all count alike.
std::optional<op::ReduceAttrs> reduction_attributes(const Call& call) {
  const op::OpDef* def = op::callee(call);
  if (def == &op::kVariance) {
    const auto attrs = op::read_attrs<op::VarianceAttrs>(call.attrs);
    return attrs.unbiased ? std::nullopt : std::optional<op::ReduceAttrs>(attrs);
  }
  const bool reduces =
      def == &op::kMax || def == &op::kMean || def == &op::kMin || def == &op::kProd || def == &op::kSum;
  return reduces ? std::optional(op::read_attrs<op::ReduceAttrs>(call.attrs)) : std::nullopt;
}

enum class Side : uint8_t { kBegin, kEnd, kStep };

// One attribute of a slice by these ranges.
Result attribute(const std::optional<std::vector<Range>>& ranges, Side side) {
  if (!ranges) return std::nullopt;
  std::vector<int64_t> ints;
  std::vector<Dim> dims;
  for (const Range& r : *ranges) {
    ints.push_back(r.step);
    const bool whole = !r.count.is_const();  // then it is all of the axis: see ranges_of
    const Dim last =
        whole ? Dim((int64_t{1} << 31) - 1) : Dim(r.begin) + (r.count + Dim(-1)) * Dim(r.step) + Dim(1);
    dims.push_back(side == Side::kBegin ? Dim(r.begin) : r.count == Dim(0) ? Dim(r.begin) : last);
    if (dims.back().is_unknown()) return std::nullopt;
  }
  if (side == Side::kStep) return ints;
  return dims;
}

Result one_number(Expr e) {
  const auto* c = e->as<Constant>();
  if (!c || c->value->size() != 1) return std::nullopt;
  return c->value->get(0);
}

constexpr Value kValues[] = {
    {"composed", "the axes of a transposition that does both, the first one first",
     [](Of a) -> Result {
       const auto first = axes_of(a[0].e), second = axes_of(a[1].e);
       if (!first || !second || first->size() != second->size()) return std::nullopt;
       std::vector<int64_t> out;
       for (int64_t axis : *second) out.push_back((*first)[static_cast<size_t>(axis)]);
       return out;
     }},
    {"dtype", "the dtype of the elements",
     [](Of a) -> Result {
       const TensorType* t = tensor_of(a[0].e);
       if (!t) return std::nullopt;
       return t->dtype;
     }},
    {"number", "the number that a constant is", [](Of a) { return one_number(a[0].e); }},
    {"part_begin", "where a slice of a concatenation begins in this part",
     [](Of a) {
       return attribute(part_of_slice(a[0].e, a[1].e, static_cast<size_t>(a[2].number)), Side::kBegin);
     }},
    {"part_end", "where a slice of a concatenation ends in this part",
     [](Of a) {
       return attribute(part_of_slice(a[0].e, a[1].e, static_cast<size_t>(a[2].number)), Side::kEnd);
     }},
    {"part_steps", "the steps of a slice, for all axes",
     [](Of a) { return attribute(ranges_of(a[0].e), Side::kStep); }},
    {"reduced", "the one axis that a sum or the like reduces",
     [](Of a) -> Result {
       const auto axes = reduced_axes(a[0].e);
       if (!axes || axes->size() != 1) return std::nullopt;
       return static_cast<int64_t>(axes->front());
     }},
    {"shape", "the extents", [](Of a) { return dims_of(a[0].e); }},
    {"slice_begin", "where a slice of a slice begins",
     [](Of a) { return attribute(both_ranges(a[0].e, a[1].e), Side::kBegin); }},
    {"slice_end", "where a slice of a slice ends",
     [](Of a) { return attribute(both_ranges(a[0].e, a[1].e), Side::kEnd); }},
    {"slice_steps", "the steps of a slice of a slice",
     [](Of a) { return attribute(both_ranges(a[0].e, a[1].e), Side::kStep); }},
};

}  // namespace

std::span<const Value> all_values() { return kValues; }

const Value* find_value(std::string_view name) {
  const auto found =
      std::find_if(std::begin(kValues), std::end(kValues), [&](const Value& v) { return v.name == name; });
  return found == std::end(kValues) ? nullptr : found;
}

std::optional<std::vector<Range>> ranges_of(Expr slice) {
  if (op::callee(slice) != &op::kStridedSlice) return std::nullopt;
  const auto& call = *slice->as<Call>();
  const TensorType *from = tensor_of(call.args[0]), *to = tensor_of(slice);
  if (!from || !to) return std::nullopt;
  std::vector<Range> out(from->rank());
  for (size_t i = 0; i < out.size(); ++i) out[i].count = to->dims[i];
  for (const op::SliceRange& r :
       op::slice_ranges(op::read_attrs<op::StridedSliceAttrs>(call.attrs), from->dims)) {
    if (!r.begin.is_const() || r.stride < 1) return std::nullopt;
    // What has no known number of elements is the whole axis.
    const bool whole = r.begin == Dim(0) && r.stride == 1 && to->dims[r.axis] == from->dims[r.axis];
    if (!to->dims[r.axis].is_const() && !whole) return std::nullopt;
    out[r.axis].begin = r.begin.value();
    out[r.axis].step = r.stride;
  }
  return out;
}

std::optional<std::vector<int64_t>> axes_of(Expr transpose) {
  if (op::callee(transpose) != &op::kTranspose) return std::nullopt;
  const auto& call = *transpose->as<Call>();
  const TensorType* from = tensor_of(call.args[0]);
  if (!from) return std::nullopt;
  const auto axes = op::transposed_axes(op::read_attrs<op::TransposeAttrs>(call.attrs), from->rank());
  return std::vector<int64_t>(axes.begin(), axes.end());
}

std::optional<size_t> axis_of(Expr e) {
  const auto* call = e->as<Call>();
  if (!call) return std::nullopt;
  const TensorType* t = tensor_of(e);
  if (!t && e->type && e->type->as<TupleType>() && !e->type->as<TupleType>()->fields.empty())
    t = e->type->as<TupleType>()->fields[0]->as<TensorType>();
  const std::optional<int64_t> given = axis_attribute(*call);
  if (!given || !t) return std::nullopt;
  const int64_t axis = *given;
  return static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(t->rank()) : axis);
}

std::optional<std::vector<size_t>> reduced_axes(Expr e) {
  const auto* call = e->as<Call>();
  const auto attrs = call ? reduction_attributes(*call) : std::nullopt;
  const TensorType* from = attrs ? tensor_of(call->args[0]) : nullptr;
  if (!from) return std::nullopt;
  const std::vector<bool> reduced = op::reduced_axes(*attrs, from->rank());
  std::vector<size_t> out;
  for (size_t d = 0; d < reduced.size(); ++d) {
    if (reduced[d]) out.push_back(d);
  }
  return out;
}

std::optional<std::vector<Range>> part_of_slice(Expr slice, Expr concatenation, size_t part) {
  auto ranges = ranges_of(slice);
  const auto axis = axis_of(concatenation);
  const auto* call = concatenation->as<Call>();
  const auto* parts = call ? call->args[0]->as<Tuple>() : nullptr;
  if (!ranges || !axis || !parts || part >= parts->fields.size()) return std::nullopt;
  Range& range = (*ranges)[*axis];
  Dim before = 0;
  for (size_t i = 0; i < part; ++i) before = before + tensor_of(parts->fields[i])->dims[*axis];
  const Dim extent = tensor_of(parts->fields[part])->dims[*axis];
  if (!before.is_const() || !extent.is_const() || !range.count.is_const()) return std::nullopt;
  const int64_t count = range.count.value();
  range.begin -= before.value();
  if (count == 0 || range.begin < 0 || range.begin >= extent.value()) return std::nullopt;
  if ((count - 1) > (extent.value() - 1 - range.begin) / range.step) return std::nullopt;
  return ranges;
}

bool cuts_at_parts(Expr split, Expr concatenation) {
  const auto axis = axis_of(concatenation);
  const auto* call = concatenation->as<Call>();
  const auto* parts = call ? call->args[0]->as<Tuple>() : nullptr;
  const auto* cut = split->type ? split->type->as<TupleType>() : nullptr;
  if (op::callee(split) != &op::kSplit || !axis || axis != axis_of(split) || !parts || !cut) return false;
  return std::equal(parts->fields.begin(), parts->fields.end(), cut->fields.begin(), cut->fields.end(),
                    [](Expr part, Type type) { return provably_same(part->type, type); });
}

}  // namespace relay::passes::rules
