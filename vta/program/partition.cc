#include "vta/program/partition.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "analysis/primitives.h"
#include "base/cat.h"
#include "ir/rewrite.h"
#include "ir/traverse.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "pattern/match.h"
#include "pattern/partition.h"
#include "vta/program/beginning.h"
#include "vta/program/region.h"

namespace relay::vta {
namespace {

using pattern::Pattern;

// A chain with more calls becomes several layers.
constexpr int kMostCalls = 16;

// --- what a region looks like ---

Pattern any_of(std::initializer_list<const op::OpDef*> all) {
  std::optional<Pattern> out;
  for (const op::OpDef* def : all) out = out ? *out | pattern::op(*def) : pattern::op(*def);
  return *out;
}

Pattern bytes() { return pattern::wildcard().with_dtype(kInt8); }
Pattern widened() { return pattern::call(pattern::op(op::kCast), bytes()); }

Pattern sums() {
  const auto constant = [] { return pattern::constant(); };
  return pattern::call(any_of({&op::kQnnDense, &op::kQnnConv2d, &op::kQnnConv2dTranspose}), bytes(),
                       constant(), constant(), constant(), constant(), constant()) |
         pattern::call(any_of({&op::kDense, &op::kMatmul, &op::kConv2d, &op::kConv2dTranspose}), bytes(),
                       constant()) |
         pattern::call(any_of({&op::kMaxPool2d, &op::kGlobalMaxPool2d}), bytes()) |
         pattern::call(pattern::op(op::kSum), widened().used_once());
}

// `layer_of` says which of these operators are steps.
Pattern step_behind(const Pattern& chain) {
  const auto any = [](const char* fusion) {
    return pattern::wildcard().with_attrs({{"fusion", std::string(fusion)}});
  };
  const auto operand = [] { return pattern::constant() | widened().used_once() | bytes(); };
  const Pattern only_here = chain.used_once();
  return pattern::call(any("elementwise"), only_here) |
         pattern::call(any("broadcast"), only_here, operand()) |
         pattern::call(any("broadcast"), operand(), only_here);
}

// A call is a step, if it can be, rather than the beginning. There is one beginning, so all
// lengths share its pattern.
Pattern chain_from(const Pattern& beginning) {
  Pattern out = beginning;
  for (int calls = 1; calls < kMostCalls; calls++) out = step_behind(out) | beginning;
  return out;
}

// Where two chains meet, one that begins with sums goes on.
Pattern chains() { return (chain_from(sums()) | chain_from(widened())).with_dtype(kInt8); }

// --- partitioning ---

class Partitioner {
 public:
  Partitioner(const Layout& layout, const ScheduleOptions& options)
      : layout_(layout), schedule_(options), pattern_(chains()) {}

  // What stands before a region that is taken was tried as a part of it. So rounds go on until
  // nothing is taken.
  Partitioned run(Module m) {
    for (const auto& [name, fn] : m.functions()) {
      for (Expr e : post_order(fn)) given_.insert(e);
    }
    for (;;) {
      look_at(m);
      if (!begins_) break;
      const Module next = pattern::partition(m, pattern_, options());
      if (next.same(m)) break;
      m = next;
    }
    out_.module = number(m);
    leave(m);
    return std::move(out_);
  }

 private:
  pattern::PartitionOptions options() {
    return {.attrs = {{"Primitive", int64_t{1}}, {std::string(kDevice), std::string(kDeviceName)}},
            .check = [this](const pattern::Match& match) { return take(match); },
            // Less than 0: a number that `number` replaces.
            .own_attrs =
                [this](const pattern::Match&) {
                  return std::vector<AttrArg>{{std::string(kLayer), -std::ssize(codes_)}};
                }};
  }

  void look_at(const Module& m) {
    refused_.clear();
    inside_kernels_.clear();
    facts_ = {};
    begins_ = false;
    for (const auto& [name, fn] : m.functions()) {
      const std::vector<Expr> order = post_order(fn);
      inside_kernels_.merge(analysis::inside_primitives(order));
      for (Expr e : order) {
        const auto* call = e->as<Call>();
        begins_ |= call && op::callee(*call) && !inside_kernels_.contains(e) && may_begin(*call);
        for_each_child(e, [&](Expr child) {
          Facts& facts = facts_[child];
          facts.user = e;
          facts.uses++;
        });
      }
    }
  }

  bool take(const pattern::Match& match) {
    if (inside_kernels_.contains(match.root())) return false;
    NodeMap<bool> region;
    for (Expr e : match.region()) region[e] = true;
    const Inside inside = [&](Expr e) { return region.get(e); };
    const std::vector<const Call*> chain = chain_of(match.root(), inside);
    Diagnostics d;
    Result<LayerCode> code = kReported;
    if (const Result<RegionLayer> layer = layer_of(chain, inside, d))
      code = compile_layer(layer->layer, layer->constants, layout_, schedule_, d);
    if (!code) {
      refused_.emplace(chain.front(), d.all().front().message());
      return false;
    }
    codes_.push_back(std::move(*code));
    return true;
  }

  // --- layers ---

  // Device functions get the numbers of layers, in the order of their calls. One that was there
  // before is compiled; it is no device function if it has no code.
  Module number(const Module& m) {
    NodeMap<std::optional<int64_t>> numbers;
    for (const auto& [name, root] : m.functions()) {
      for (Expr e : post_order(root)) {
        const auto* call = e->as<Call>();
        const auto* fn = call ? call->callee->as<Fn>() : nullptr;
        if (!fn || !is_device_function(*fn) || numbers.get(fn)) continue;
        std::optional<DeviceLayer> layer = layer_of_function(*fn);
        if (!layer) continue;
        numbers[fn] = std::ssize(out_.layers);
        layer->name = cat("layer ", out_.layers.size(), ": ", layer->name);
        out_.layers.push_back(std::move(*layer));
      }
    }
    return rewrite(m, [&](Builder& b, Expr e) -> Expr {
      const auto* fn = e->as<Fn>();
      if (!fn || !is_device_function(*fn)) return e;
      std::vector<AttrArg> attrs = op::attr_args(fn->attrs, kLayer);
      if (const std::optional<int64_t> number = numbers.get(fn)) {
        attrs.push_back({std::string(kLayer), *number});
      } else {
        std::erase_if(attrs, [](const AttrArg& a) { return a.name == kDevice; });
      }
      return with_attrs(b, *fn, attrs);
    });
  }

  static Expr with_attrs(Builder& b, const Fn& fn, const std::vector<AttrArg>& attrs) {
    const Attrs now = b.context().attrs(attrs);
    if (now == fn.attrs) return &fn;
    SpanScope at(b, fn.span);
    const Fn* out = b.fn({fn.params.begin(), fn.params.end()}, fn.body, fn.result, now,
                         {fn.type_params.begin(), fn.type_params.end()}, {fn.where.begin(), fn.where.end()});
    return b.with_type(out, fn.type);
  }

  std::optional<DeviceLayer> layer_of_function(const Fn& fn) {
    const Inside inside = [](Expr e) { return e->kind != ExprKind::kVar; };
    const std::vector<const Call*> chain = chain_of(fn.body, inside);
    Diagnostics d;
    if (chain.empty()) return std::nullopt;
    Result<RegionLayer> region = layer_of(chain, inside, d);
    const TensorType* result = known_tensor(fn.body);
    if (!region || !result || result->dtype != kInt8) return std::nullopt;
    Result<LayerCode> code = code_of(fn, *region, d);
    const auto parameter = [&](Expr e) {
      const auto at = std::find(fn.params.begin(), fn.params.end(), e);
      return at == fn.params.end() ? std::nullopt : std::optional<size_t>(at - fn.params.begin());
    };
    const std::optional<size_t> input = parameter(region->input);
    if (!code || !input) return std::nullopt;
    DeviceLayer out{.name = region->name,
                    .layer = std::move(region->layer),
                    .constants = std::move(region->constants),
                    .code = std::move(*code),
                    .input = *input,
                    .axes = std::move(region->axes)};
    for (Expr tensor : region->tensors) {
      out.tensors.push_back(tensor ? parameter(tensor) : std::nullopt);
      if (tensor && !out.tensors.back()) return std::nullopt;
    }
    return out;
  }

  Result<LayerCode> code_of(const Fn& fn, const RegionLayer& region, Diagnostics& d) {
    const AttrValue* number = fn.attrs.find(kLayer);
    if (given_.contains(&fn)) return compile_layer(region.layer, region.constants, layout_, schedule_, d);
    return std::move(codes_.at(static_cast<size_t>(-number->integer - 1)));
  }

  // --- what stays ---

  void leave(const Module& m) {
    std::vector<Expr> roots;
    for (const auto& [name, fn] : m.functions()) roots.push_back(fn);
    const pattern::Graph graph(roots);
    pattern::Matcher steps(step_behind(pattern::wildcard()), graph);
    for (const auto& [name, fn] : m.functions()) {
      for (Expr e : post_order(fn)) {
        const auto* call = e->as<Call>();
        if (!call || !op::callee(*call) || inside_kernels_.contains(e) || !may_begin(*call)) continue;
        out_.left.push_back({call->span, op::callee(*call)->name, why_left(*call, steps)});
      }
    }
  }

  std::string why_left(const Call& call, pattern::Matcher& steps) const {
    const auto found = refused_.find(&call);
    if (found != refused_.end()) return reason_of(call, found->second);
    Diagnostics d;
    if (!begin_layer(call, {}, d)) return reason_of(call, d.all().front().message());
    const Expr end = end_of_chain(&call, steps);
    const DType dtype = known_tensor(end)->dtype;
    if (dtype == kInt8) return cat("no layer of at most ", kMostCalls, " calls begins with it");
    const Facts& facts = facts_.get(end);
    const op::OpDef* user = facts.uses == 1 ? op::callee(facts.user) : nullptr;
    const std::string who = user             ? cat("`", user->name, "` reads")
                            : facts.uses > 1 ? cat(facts.uses, " places of the program read")
                                             : std::string("the program reads");
    return cat(who, " its numbers of ", dtype.name(), ", and a VTA stores int8");
  }

  // Messages begin with the operator that they are about, and `left` names `call` already.
  static std::string reason_of(const Call& call, const std::string& message) {
    const std::string name = cat("`", op::callee(call)->name, "`: ");
    return message.starts_with(name) ? message.substr(name.size()) : message;
  }

  // Where steps end that begin with this call.
  Expr end_of_chain(Expr e, pattern::Matcher& steps) const {
    for (;;) {
      const Facts& facts = facts_.get(e);
      const auto* user = facts.uses == 1 ? facts.user->as<Call>() : nullptr;
      if (!user || !op::callee(*user) || may_begin(*user)) return e;
      const TensorType* type = known_tensor(user);
      if (!type || !type->dtype.is_signed_int() || type->dtype.bits > 32) return e;
      if (!steps.match(user)) return e;
      e = user;
    }
  }

  struct Facts {
    Expr user = nullptr;  // one of them
    size_t uses = 0;
  };

  const Layout& layout_;
  const ScheduleOptions& schedule_;
  const Pattern pattern_;
  std::unordered_set<Expr> given_;  // before the first round
  std::vector<LayerCode> codes_;    // of the regions that were taken
  // Of this round's module.
  std::unordered_map<Expr, std::string> refused_;  // by what begins the chain: why, of the longest
  std::unordered_set<Expr> inside_kernels_;
  NodeMap<Facts> facts_;
  bool begins_ = false;  // there is a call that may begin a layer
  Partitioned out_;
};

}  // namespace

bool is_device_function(const Fn& fn) {
  const AttrValue* device = fn.attrs.find(kDevice);
  return device && device->kind == AttrKind::kString && device->string == kDeviceName;
}

Partitioned partition(const Module& m, const Layout& layout, const ScheduleOptions& options) {
  return Partitioner(layout, options).run(m);
}

}  // namespace relay::vta
