// dynamic-to-static: an operator whose shape is an argument becomes the one whose shape is an
// attribute, where that argument is a constant.
//
//   dyn.reshape(%x, tensor([2, -1], int64))   becomes   reshape(%x, newshape=[2, -1])
//
// So extents that were `?` become known, and with them more constants: `fold-constants` computes
// what depends on shapes, and this pass may then find more to do.
//
// A call that must fail stays, as its failure belongs to the run. So does a whole function that is
// wrong with the extents that became known.
//
// Before: types are known. After: no operator `dyn.*` of the table has constants for all that its
// attributes could say, but those that stay.
#include <algorithm>
#include <optional>
#include <vector>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "op/apply.h"
#include "op/dyn/view.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/tensor/attributes.h"
#include "passes/pass.h"
#include "typecheck/check.h"

namespace relay::passes {
namespace {

// What an argument becomes.
enum class As : uint8_t {
  kArgument,  // it stays one
  kList,      // an attribute with the elements of a vector
  kNumber,    // an attribute with one integer
  kReal,      // an attribute with one number
  kPairs,     // an attribute with the rows of a matrix of two columns
  kNothing,   // it means nothing
};

struct Parameter {
  As as;
  std::string_view attribute = {};
};

struct Row {
  const op::OpDef *dynamic, *known;
  std::vector<Parameter> parameters;
};

const std::vector<Row>& rows() {
  static const Parameter kStays = {As::kArgument}, kShape = {As::kList, "shape"};
  static const std::vector<Row> all = {
      {&op::kDynReshape, &op::kReshape, {kStays, {As::kList, "newshape"}}},
      {&op::kDynBroadcastTo, &op::kBroadcastTo, {kStays, kShape}},
      {&op::kDynFull, &op::kFull, {kStays, kShape}},
      {&op::kDynZeros, &op::kZeros, {kShape}},
      {&op::kDynOnes, &op::kOnes, {kShape}},
      {&op::kDynTile, &op::kTile, {kStays, {As::kList, "reps"}}},
      {&op::kDynExpandDims, &op::kExpandDims, {kStays, {As::kNumber, "axis"}}},
      {&op::kDynSqueeze, &op::kSqueeze, {kStays, {As::kList, "axis"}}},
      {&op::kDynStridedSlice,
       &op::kStridedSlice,
       {kStays, {As::kList, "begin"}, {As::kList, "end"}, {As::kList, "strides"}}},
      {&op::kDynPad, &op::kPad, {kStays, {As::kPairs, "pad_width"}, kStays}},
      {&op::kDynOneHot, &op::kOneHot, {kStays, kStays, kStays, {As::kNumber, "depth"}}},
      {&op::kDynResize2d, &op::kResize2d, {kStays, {As::kList, "size"}, {As::kNothing, "roi"}}},
      {&op::kDynUpsampling, &op::kUpsampling, {kStays, {As::kReal, "scale_h"}, {As::kReal, "scale_w"}}},
      {&op::kDynUpsampling3d,
       &op::kUpsampling3d,
       {kStays, {As::kReal, "scale_d"}, {As::kReal, "scale_h"}, {As::kReal, "scale_w"}}},
      {&op::kDynSparseToDense, &op::kSparseToDense, {kStays, kStays, kStays, {As::kList, "output_shape"}}},
  };
  return all;
}

// The attribute that an argument becomes.
AttrArg attribute_of(Context& context, const Parameter& p, const Tensor& t) {
  const std::string name(p.attribute);
  if (p.as == As::kNumber) return {name, t.get_int(0)};
  if (p.as == As::kReal) return {name, t.get(0)};
  if (p.as == As::kList) return {name, t.ints()};
  std::vector<std::pair<Dim, Dim>> widths;
  for (int64_t i = 0; i + 1 < t.size(); i += 2) widths.emplace_back(Dim(t.get_int(i)), Dim(t.get_int(i + 1)));
  return {name, op::pad_width(context, widths)};
}

// Does the operator with attributes read these numbers in another way?
bool means_another(const Call& call, const Row& row, const Parameter& p, const Tensor& t) {
  // Attributes have a sign, and a -1 may be a code.
  const auto is_too_large = [](int64_t n) { return n < 0; };
  if (t.dtype().is_unsigned_int()) {
    const std::vector<int64_t> numbers = t.ints();
    if (std::any_of(numbers.begin(), numbers.end(), is_too_large)) return true;
  }
  // An empty list of axes says nothing there, and all axes here.
  if (row.dynamic == &op::kDynSqueeze && t.size() == 0) return true;
  // Numbers below -1 are codes of `reshape` alone, and so is a 0, unless the call takes it for one.
  if (row.dynamic == &op::kDynReshape) {
    const bool zero_is_extent = op::read_attrs<op::DynReshapeAttrs>(call.attrs).allowzero;
    for (const int64_t n : t.ints()) {
      if (n < -1 || (n == 0 && zero_is_extent)) return true;
    }
  }
  return p.as == As::kList && !t.dtype().is_int();
}

// The call of the operator with attributes; null if there is none.
Expr made_static(relay::Builder& b, const Call& call) {
  const auto row =
      std::find_if(rows().begin(), rows().end(), [&](const Row& r) { return r.dynamic == op::callee(call); });
  if (row == rows().end() || !call.type || call.args.size() != row->parameters.size()) return nullptr;
  std::vector<Expr> args;
  std::vector<AttrArg> attrs;
  const auto is_replaced = [&](const std::string& name) {
    return std::any_of(row->parameters.begin(), row->parameters.end(),
                       [&](const Parameter& p) { return p.attribute == name; });
  };
  for (AttrArg& a : op::attr_args(call.attrs)) {
    const bool is_default = a.name == "allowzero" || a.name == "out_dtype";
    if (!is_replaced(a.name) && !is_default) attrs.push_back(std::move(a));
  }
  for (size_t i = 0; i < call.args.size(); ++i) {
    const Parameter& p = row->parameters[i];
    const auto* c = call.args[i]->as<Constant>();
    if (p.as == As::kArgument) {
      args.push_back(call.args[i]);
      continue;
    }
    if (!c || means_another(call, *row, p, *c->value)) return nullptr;
    if (p.as != As::kNothing) attrs.push_back(attribute_of(b.context(), p, *c->value));
  }
  const SpanScope at(b, call.span);
  try {
    const Expr now = op::call(b, *row->known, args, attrs);
    const TensorType* type = now->type ? now->type->as<TensorType>() : nullptr;
    const auto* before = call.type->as<TensorType>();
    const bool fits = type && before && type->dtype == before->dtype && type->rank() == before->rank();
    return fits ? now : nullptr;
  } catch (const op::RelationError&) {
    return nullptr;  // it fails when it runs
  }
}

// Extents that are known may make an operator wrong in all runs. That is a trap of these runs and
// no error of the program. So functions change one by one where not all of them can.
Module with_those_that_fit(const Module& m, const Module& all, const PassContext& context) {
  Module out = m;
  for (const auto& [name, fn] : all.functions()) {
    if (m.function(name.text()) == fn) continue;
    Module next = out;
    next.set_function(name.text(), fn);
    Diagnostics wrong;
    if (typecheck::check(next, wrong)) {
      out = std::move(next);
      continue;
    }
    context.stays(
        cat("with static shapes `@", name.text(), "` would not type check: ", wrong.all().front().message()));
  }
  return out;
}

Module run(const Module& m, const PassContext& context) {
  Module all = m;
  for (const auto& [name, fn] : m.functions()) {
    const Expr now = rewrite(m.context(), fn, [](relay::Builder& b, Expr e) -> Expr {
      const auto* call = e->as<Call>();
      const Expr known = call && op::callee(*call) ? made_static(b, *call) : nullptr;
      return known ? known : e;
    });
    if (now != fn) all.set_function(name.text(), now->as<Fn>());
  }
  Diagnostics wrong;
  return all.same(m) || typecheck::check(all, wrong) ? all : with_those_that_fit(m, all, context);
}

}  // namespace

const Pass kDynamicToStatic = {
    .name = "dynamic-to-static",
    .doc = "replace operators `dyn.*` by those with attributes where shapes are constants",
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
