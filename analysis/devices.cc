#include "analysis/devices.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/cat.h"
#include "ir/rewrite.h"
#include "ir/type_parts.h"
#include "op/annotation/device.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"

namespace relay::analysis {
namespace {

// What the program says of a set, and where.
struct Demand {
  std::string device;
  Span where;
};

// Sets of values that are on one device. A set of functions has parts: one for each parameter, and
// one for the result. They are made when something asks for them, so that types are not walked.
class Sets {
 public:
  uint32_t value() { return add(false); }
  uint32_t function() { return add(true); }

  uint32_t root(uint32_t i) {
    while (sets_[i].parent != i) i = sets_[i].parent = sets_[sets_[i].parent].parent;
    return i;
  }

  // Of a set of functions with so many parameters: the set of one of them, or of the result, which
  // comes last. Of a set that is no longer one of functions: itself.
  uint32_t part(uint32_t i, size_t params, size_t which, Type type) {
    i = root(i);
    if (!sets_[i].is_function) return i;
    if (sets_[i].parts.empty()) {
      std::vector<uint32_t> parts;
      const auto* fn = type->as<FnType>();
      for (size_t p = 0; p <= params; ++p) {
        const Type of = fn && fn->args.size() == params ? (p < params ? fn->args[p] : fn->result) : nullptr;
        parts.push_back(add(of && of->as<FnType>()));
      }
      sets_[i].parts = std::move(parts);
      hand_on_demand(i);
    }
    return which < sets_[i].parts.size() ? sets_[i].parts[which] : i;
  }

  // Both are on one device. Returns two demands that differ, if there are such.
  std::optional<std::pair<Demand, Demand>> unite(uint32_t a, uint32_t b) {
    std::optional<std::pair<Demand, Demand>> conflict;
    std::vector<std::pair<uint32_t, uint32_t>> pending{{a, b}};
    while (!pending.empty()) {
      auto [x, y] = pending.back();
      pending.pop_back();
      x = root(x), y = root(y);
      if (x == y) continue;
      // The one that stays: of a function and a value the value, else the one with parts.
      if (sets_[x].is_function != sets_[y].is_function ? sets_[x].is_function : sets_[x].parts.empty())
        std::swap(x, y);
      Set& stays = sets_[x];
      Set& goes = sets_[y];
      goes.parent = x;
      if (goes.demand && stays.demand && goes.demand->device != stays.demand->device && !conflict)
        conflict.emplace(*stays.demand, *goes.demand);
      if (!stays.demand) stays.demand = goes.demand;
      goes.demand.reset();
      for (size_t i = 0; i < goes.parts.size(); ++i) {
        const uint32_t other = !stays.is_function ? x : i < stays.parts.size() ? stays.parts[i] : x;
        pending.emplace_back(other, goes.parts[i]);
      }
      goes.parts.clear();
      if (const auto before = hand_on_demand(x); before && !conflict) conflict = before;
    }
    return conflict;
  }

  // The set has this device. Returns what was said before, if that was another one.
  std::optional<Demand> demand(uint32_t i, const Demand& d) {
    i = result(i);
    if (sets_[i].demand && sets_[i].demand->device != d.device) return sets_[i].demand;
    if (!sets_[i].demand) sets_[i].demand = d;
    return std::nullopt;
  }

  const std::optional<Demand>& demanded(uint32_t i) { return sets_[result(i)].demand; }

 private:
  struct Set {
    uint32_t parent;
    bool is_function;
    std::vector<uint32_t> parts = {};
    std::optional<Demand> demand = {};
  };

  uint32_t add(bool is_function) {
    sets_.push_back({static_cast<uint32_t>(sets_.size()), is_function});
    return static_cast<uint32_t>(sets_.size() - 1);
  }

  // What was said of functions before they had parts is of their result.
  std::optional<std::pair<Demand, Demand>> hand_on_demand(uint32_t i) {
    if (sets_[i].parts.empty() || !sets_[i].demand) return std::nullopt;
    const Demand d = *std::exchange(sets_[i].demand, std::nullopt);
    const std::optional<Demand> before = demand(i, d);
    return before ? std::optional(std::pair(*before, d)) : std::nullopt;
  }

  // What a function gives in the end. A function of itself ends where nothing more is known.
  uint32_t result(uint32_t i) {
    i = root(i);
    for (size_t steps = sets_.size(); steps-- > 0 && !sets_[i].parts.empty();)
      i = root(sets_[i].parts.back());
    return i;
  }

  std::vector<Set> sets_;
};

class Planner {
 public:
  Planner(const Module& m, Diagnostics& diagnostics) : m_(m), diagnostics_(diagnostics) {}

  Devices run(std::string_view usual) {
    for (const auto& [name, fn] : m_.functions()) globals_[name] = set_of(fn);
    std::vector<Expr> all;
    for (const auto& [name, fn] : m_.functions()) {
      for (Expr e : post_order(fn)) all.push_back(e);
    }
    for (Expr e : all) relate(e);
    Devices out;
    out.says_any = says_any_;
    const auto tell = [&](Expr e) {
      const std::optional<Demand>& d = sets_.demanded(set_of(e));
      out.all.insert(out.of[e] = d ? d->device : std::string(usual));
    };
    for (Expr e : all) {
      if (e->kind != ExprKind::kOpRef && e->kind != ExprKind::kCtorRef) tell(e);
      for_each_binder(e, [&](const Var* v) { tell(v); });
    }
    return out;
  }

 private:
  uint32_t set_of(Expr e) {
    uint32_t& known = set_of_[e];
    if (known == 0) known = 1 + (e->type && e->type->as<FnType>() ? sets_.function() : sets_.value());
    return known - 1;
  }

  void unite(uint32_t a, uint32_t b, Expr at) {
    if (const auto conflict = sets_.unite(a, b)) report(at, conflict->first, conflict->second);
  }
  void unite(Expr a, Expr b, Expr at) { unite(set_of(a), set_of(b), at); }

  void report(Expr at, const Demand& one, const Demand& other) {
    if (std::exchange(reported_[at], true)) return;
    Diagnostic& d = diagnostics_.error(
        at->span, "bad-attribute",
        cat("a value is asked to be on two devices, `", one.device, "` and `", other.device, "`"));
    d.label(one.where, cat("on `", one.device, "`"));
    d.label(other.where, cat("on `", other.device, "`"));
    d.note(
        "`device_copy` brings a value to another device; `on_device` without `constrain_result` lets "
        "`plan-devices` insert it");
  }

  void demand(uint32_t set, std::string_view device, Expr at) {
    const std::string name = op::device_name(device);
    if (name.empty()) return;
    says_any_ = true;
    const Demand now{name, at->span};
    if (const auto before = sets_.demand(set, now)) report(at, *before, now);
  }

  // What holds between an expression and its parts.
  void relate(Expr e) {
    if (const auto* call = e->as<Call>()) return relate_call(*call);
    if (const auto* fn = e->as<Fn>()) return relate_function(*fn);
    if (const auto* global = e->as<Global>()) {
      // All that a kernel takes and gives is on one device.
      const auto it = globals_.find(global->name);
      return unite(set_of(e), it != globals_.end() ? it->second : sets_.value(), e);
    }
    if (e->kind == ExprKind::kOpRef || e->kind == ExprKind::kCtorRef)
      return unite(set_of(e), sets_.value(), e);
    if (const auto* let = e->as<Let>()) {
      unite(let->x, let->value, e);
      unite(e, let->body, e);
    } else if (const auto* branches = e->as<If>()) {  // the condition is read by who runs the program
      unite(e, branches->then_branch, e);
      unite(e, branches->else_branch, e);
    } else if (const auto* match = e->as<Match>()) {
      for_each_binder(e, [&](const Var* v) { unite(v, match->value, e); });
      for (const Arm& arm : match->arms) unite(e, arm.body, e);
    } else if (const auto* write = e->as<RefWrite>()) {
      unite(write->ref, write->value, e);
    } else {
      for_each_child(e, [&](Expr child) { unite(e, child, e); });
    }
  }

  void relate_function(const Fn& fn) {
    const size_t params = fn.params.size();
    const auto part = [&](size_t i) { return sets_.part(set_of(&fn), params, i, fn.type); };
    for (size_t i = 0; i < params; ++i) unite(part(i), set_of(fn.params[i]), &fn);
    unite(part(params), set_of(fn.body), &fn);
    if (const AttrValue* result = fn.attrs.find(kResultDevice); result && result->kind == AttrKind::kString)
      demand(set_of(fn.body), result->string.text(), &fn);
    const AttrValue* devices = fn.attrs.find(kParamDevices);
    for (size_t i = 0; devices && i < devices->list.size() && i < params; ++i) {
      if (devices->list[i].kind == AttrKind::kString)
        demand(set_of(fn.params[i]), devices->list[i].string.text(), &fn);
    }
  }

  void relate_call(const Call& call) {
    const op::OpDef* def = op::callee(call);
    if (def == &op::kOnDevice) return relate_on_device(call);
    if (def == &op::kDeviceCopy) return relate_copy(call);
    if (def || call.callee->as<CtorRef>()) {
      for (Expr arg : call.args) unite(&call, arg, &call);
      return;
    }
    const size_t params = call.args.size();
    const auto part = [&](size_t i) { return sets_.part(set_of(call.callee), params, i, call.callee->type); };
    for (size_t i = 0; i < params; ++i) unite(part(i), set_of(call.args[i]), &call);
    unite(part(params), set_of(&call), &call);
  }

  void relate_on_device(const Call& call) {
    const auto a = op::read_attrs<op::OnDeviceAttrs>(call.attrs);
    if (!is_of_tensors(call.type) || a.constrain_body == a.constrain_result)
      unite(&call, call.args[0], &call);
    if (a.constrain_body) demand(set_of(call.args[0]), a.virtual_device, &call);
    if (a.constrain_result) demand(set_of(&call), a.virtual_device, &call);
  }

  void relate_copy(const Call& call) {
    const auto a = op::read_attrs<op::DeviceCopyAttrs>(call.attrs);
    if (!is_of_tensors(call.type)) unite(&call, call.args[0], &call);
    demand(set_of(call.args[0]), a.src_virtual_device, &call);
    demand(set_of(&call), a.dst_virtual_device, &call);
  }

  const Module m_;
  Diagnostics& diagnostics_;
  Sets sets_;
  NodeMap<uint32_t> set_of_;  // from 1
  std::map<Symbol, uint32_t, Module::ByName> globals_;
  bool says_any_ = false;
  NodeMap<bool> reported_;
};

}  // namespace

Module without_devices(const Module& m) {
  return rewrite(m, [](Builder&, Expr e) -> Expr {
    const op::OpDef* def = op::callee(e);
    return def == &op::kOnDevice || def == &op::kDeviceCopy ? e->as<Call>()->args[0] : e;
  });
}

Devices devices_of(const Module& m, std::string_view usual, Diagnostics& diagnostics) {
  return Planner(m, diagnostics).run(usual);
}

}  // namespace relay::analysis
