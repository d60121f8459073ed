// plan-devices: decides on which device each value is, and inserts the copies between devices.
//
//   add(on_device(exp(%x), virtual_device="cuda:0"), %y)
//     becomes   add(device_copy(exp(%x), src_virtual_device="cuda:0", dst_virtual_device="cpu:0"), %y)
//
// A program says so at a few places: by `on_device`, by `device_copy`, and by the attributes
// `param_devices` and `virtual_device` of functions. analysis/devices.h says what follows from it.
// What nothing is said of is on cpu:0. A copy stands where `on_device` lets values change their
// device, and nowhere else. A value that is asked to be on two devices is an error that names both
// places. Cells, functions and data types are not copied.
//
// Afterwards the program says it everywhere: a function has the devices of its parameters and of
// its result as attributes. An expression is on the device of the nearest `on_device` around it,
// else on that of the function's result. A variable is where its value is.
//
// Where all values are on one device, nothing is left of what the program says.
//
// Before: `fuse` goes after. After: running the pass again changes nothing.
#include <string>
#include <vector>

#include "analysis/devices.h"
#include "analysis/fused.h"
#include "ir/builder.h"
#include "ir/rewrite.h"
#include "ir/type_parts.h"
#include "op/annotation/device.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/each_function.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

constexpr std::string_view kUsualDevice = "cpu:0";

// Writes one function anew.
class Placement {
 public:
  Placement(Context& context, const analysis::Devices& devices)
      : context_(context), devices_(devices), b_(context), one_device_(devices.all.size() <= 1) {}

  Expr run(const Fn* root) {
    for (Expr e : post_order(root)) {
      b_.set_span(e->span);
      now_[e] = placed(e);
    }
    return now_.get(root);
  }

 private:
  const std::string& device(Expr e) const { return devices_.of.get(e); }

  Expr placed(Expr e) {
    const op::OpDef* def = op::callee(e);
    if (def == &op::kOnDevice || def == &op::kDeviceCopy) return between(*e->as<Call>());
    const auto* fn = e->as<Fn>();
    std::vector<Expr> children;
    const bool is_call = e->as<Call>() != nullptr;
    for_each_child(e, [&](Expr child) {
      const bool is_callee = is_call && children.empty();
      children.push_back(is_callee ? now_.get(child) : beside(child, device(e)));
    });
    const Expr out = with_children(context_, e, children);
    return fn ? with_attributes(*fn, *out->as<Fn>()) : out;
  }

  // `on_device` or `device_copy`: a copy where the devices differ. Only tensors, and tuples of
  // them, are copied: a cell is itself, and a function may hold one.
  Expr between(const Call& call) {
    const Expr from = call.args[0];
    const std::string &here = device(from), &there = device(&call);
    if (here == there || !is_of_tensors(call.type)) {
      if (one_device_) return now_.get(from);
      return call.attrs == says(here) && now_.get(from) == from ? &call : fixed(from);
    }
    const Attrs attrs = context_.attrs({{"src_virtual_device", here}, {"dst_virtual_device", there}});
    const Expr arg = beside(from, there);
    if (op::callee(call) == &op::kDeviceCopy && call.attrs == attrs && arg == from) return &call;
    return b_.call(b_.op(op::kDeviceCopy), {arg}, attrs, call.type);
  }

  // The child of something on the other device: it says where it is, unless it is there, or is
  // something of which variables and functions say so.
  Expr beside(Expr child, const std::string& other) {
    const bool says = child->kind == ExprKind::kConstant || !is_leaf(child);
    if (one_device_ || !says || device(child) == other || !is_of_tensors(child->type)) return now_.get(child);
    return fixed(child);
  }

  Attrs says(const std::string& device) const {
    return context_.attrs({{"virtual_device", device}, {"constrain_result", true}});
  }

  // Says that the expression is where it is. What says so already is left alone.
  Expr fixed(Expr e) {
    const Expr now = now_.get(e);
    const Attrs attrs = says(device(e));
    if (op::callee(now) == &op::kOnDevice && now->as<Call>()->attrs == attrs) return now;
    Expr& made = fixed_[e];
    if (!made) made = b_.call(b_.op(op::kOnDevice), {now}, attrs, e->type);
    return made;
  }

  Expr with_attributes(const Fn& was, const Fn& fn) {
    std::vector<AttrArg> attrs;
    for (const AttrArg& a : op::attr_args(fn.attrs)) {
      if (a.name != analysis::kParamDevices && a.name != analysis::kResultDevice) attrs.push_back(a);
    }
    if (!one_device_) {
      std::vector<std::string> params;
      for (const Var* x : was.params) params.push_back(device(x));
      attrs.push_back({std::string(analysis::kParamDevices), params});
      attrs.push_back({std::string(analysis::kResultDevice), device(was.body)});
    }
    const Attrs now = context_.attrs(attrs);
    if (now == fn.attrs) return &fn;
    const Expr out = b_.fn(fn.params, fn.body, fn.result, now, fn.type_params, fn.where);
    return b_.with_type(out, was.type);
  }

  Context& context_;
  const analysis::Devices& devices_;
  Builder b_;
  const bool one_device_;
  NodeMap<Expr> now_, fixed_;
};

Module run(const Module& m, const PassContext& pass) {
  if (analysis::is_fused(m)) {
    pass.stays("`fuse` has put calls into kernels: `plan-devices` goes before it");
    return m;
  }
  const size_t errors = pass.diagnostics.errors();
  const analysis::Devices devices = analysis::devices_of(m, kUsualDevice, pass.diagnostics);
  if (pass.diagnostics.errors() > errors || !devices.says_any) return m;
  return with_each_function(m, [&](const Fn* fn) { return Placement(m.context(), devices).run(fn); });
}

}  // namespace

const Pass kPlanDevices = {
    .name = "plan-devices",
    .doc = "decide on which device each value is, and insert copies between devices",
    .run = run,
};

}  // namespace relay::passes
