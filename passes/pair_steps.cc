// pair-steps: two steps of a recurrence share what they read of a weight that is too large for the
// caches near a core.
//
//   h1 = f(h0 W),  h2 = f(h1 W)       with an f that makes each unit of the state of that unit's gates
//
// A step multiplies one row by the weight, so it takes as long as the weight takes to be read. All
// of h1 must be known before h2 is, but as soon as some units of h1 are, their terms of h1 W may be
// summed. So units are computed in blocks, the last block first, and the terms of the blocks that
// are known are summed for both steps at once, as two rows. With two blocks, 0 and 1, and W[k, c]
// for the part of the weight that multiplies block k and gives the gates of block c:
//
//   first step     block 1:  h0 W[., 1]
//                  block 0:  h0[1] W[1, 0] + h0[0] W[0, 0],
//                            and with the same read of W[1, 0] the terms h1[1] W[1, 0]
//   second step    block 0:  those terms + h1[0] W[0, 0]
//                  block 1:  h1 W[., 1]
//
// Two blocks read 7/8 of the bytes, four 13/16. The second step takes the blocks in the order that
// begins with what was read last.
//
// Sums are taken in another order than before, as an algorithm for convolutions does it. Between
// two products of one weight, the state must depend on the first one unit by unit: elementwise
// calls and slices of gates. Whatever else is in f (a second product, a normalisation) leaves these
// steps as they are. No weight is kept twice: all its uses must be steps.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/primitives.h"
#include "analysis/views.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "kernel/schedule/cost.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"

namespace relay::passes {
namespace {

using op::Fusion;

// The units of a value: elements [offset, offset + units) along its last axis.
struct Place {
  Expr e;
  int64_t offset;
  friend bool operator<(const Place& a, const Place& b) {
    return a.e->id != b.e->id ? a.e->id < b.e->id : a.offset < b.offset;
  }
};

struct Step {
  const Call* product;
  // How the units of its argument follow from the step before, what is needed first at the
  // beginning, and what is needed as a whole.
  std::vector<Place> cell = {};
  std::vector<Expr> wholes = {};
  std::vector<Expr> blocks = {};  // of the product, once they are made
};

struct Weight {
  const Constant* constant;
  size_t output_axis;
  int64_t units, gates;
};

// Steps of which each depends on the one before. Two and two are pairs, the last one may be alone.
struct Chain {
  Weight weight;
  std::vector<Step> steps;
  std::set<Place> known = {};                             // places of all cells
  std::map<std::pair<Place, int64_t>, Expr> parts = {};   // of a place, by block
  std::map<std::pair<Place, int64_t>, Expr> joined = {};  // of a state: blocks [offset, the number) together
  std::map<int64_t, std::pair<Expr, Expr>> weights = {};  // by block: for the units up to it, and after it
};

const TensorType* tensor_type(Expr e) { return e->type ? e->type->as<TensorType>() : nullptr; }

// The constant extent along the last axis, or -1.
int64_t last_extent(Expr e) {
  const TensorType* t = tensor_type(e);
  return t && t->rank() > 0 && t->dims[t->rank() - 1].is_const() ? t->dims[t->rank() - 1].value() : -1;
}

// Where a slice along the last axis alone, without gaps, begins.
std::optional<int64_t> begin_of_slice(Expr e) {
  const auto slice = analysis::slice_view(e);
  if (!slice || slice->axis + 1 != slice->of->rank()) return std::nullopt;
  return slice->begin;
}

class Pairs {
 public:
  Pairs(const Module& m, Symbol name, int64_t least_bytes, int64_t blocks, int64_t panel)
      : context_(m.context()),
        root_(m.function(name.text())),
        order_(post_order(root_)),
        scopes_(scopes(root_)),
        inside_kernel_(analysis::inside_primitives(order_)),
        least_bytes_(least_bytes),
        blocks_(blocks),
        panel_(panel) {}

  // `uses`: how often the module has each constant, by where its elements are.
  void find_chains(const std::map<const void*, size_t>& uses) {
    std::map<std::pair<const void*, uint32_t>, std::vector<const Call*>> products;  // by weight and scope
    std::vector<std::pair<const void*, uint32_t>> found;
    for (Expr e : order_) {
      const auto* call = e->as<Call>();
      const std::optional<Weight> weight = call ? weight_of(*call) : std::nullopt;
      if (!weight) continue;
      const std::pair key(weight->constant->value->data(), scopes_.scope_of.get(e));
      std::vector<const Call*>& all = products[key];
      if (all.empty()) found.push_back(key);
      all.push_back(call);
    }
    for (const auto& key : found) {
      const std::vector<const Call*>& all = products.at(key);
      const auto known = uses.find(key.first);
      if (all.size() < 2 || known == uses.end() || known->second != all.size()) continue;
      if (std::optional<Chain> chain = chain_of(all)) {
        for (size_t i = 1; i < all.size(); ++i) {
          for (const Place& p : chain->steps[i].cell) {
            if (is_state(*chain, p)) states_.emplace(p.e, std::pair(chains_.size(), i));
          }
        }
        for (size_t i = 0; i < all.size(); ++i)
          products_.insert_or_assign(all[i], std::pair(chains_.size(), i));
        chains_.push_back(std::move(*chain));
      }
    }
  }

  // The function with its chains in pairs; null if there are none, or each of several
  // waits for another.
  Expr rebuild() {
    if (chains_.empty()) return nullptr;
    std::vector<Expr> ordered;
    if (!order_again(ordered)) return nullptr;
    Builder b(context_);
    for (Expr e : ordered) {
      SpanScope at(b, e->span);
      if (const auto s = states_.find(e); s != states_.end()) {
        Chain& chain = chains_[s->second.first];
        const size_t step = s->second.second;
        if (e == chain.steps[step].product->args[0]) make_input(b, chain, step);
        now_[e] = state(b, chain, e, 0, blocks_);
      } else if (const auto p = products_.find(e); p != products_.end()) {
        now_[e] = whole_product(b, chains_[p->second.first], p->second.second);
      } else {
        std::vector<Expr> children;
        for_each_child(e, [&](Expr child) { children.push_back(now_.get(child)); });
        now_[e] = with_children(context_, e, children);
      }
    }
    return now_.get(root_);
  }

 private:
  static constexpr int64_t kRow = 1;  // more rows would have more to do than to read

  // Of a product of one row with a large constant weight that has some gates for each
  // unit of the row.
  std::optional<Weight> weight_of(const Call& call) {
    const auto product = analysis::product_view(&call);
    if (!product || product->batched || product->left_transposed || !product->is_of(kFloat32))
      return std::nullopt;
    const Constant* weight = product->weight();
    const TensorType& x = *product->left;
    if (!weight || inside_kernel_.contains(&call) || x.rank() != 2 || !x.is_static() ||
        x.dims[0].value() != kRow)
      return std::nullopt;
    const size_t axis = product->column_axis();
    const Shape& shape = weight->value->shape();
    const int64_t outputs = shape[axis], units = shape[1 - axis];
    if (units == 0 || outputs % units != 0 || units % (blocks_ * panel_) != 0 ||
        4 * outputs * units < least_bytes_)
      return std::nullopt;
    return Weight{weight, axis, units, outputs / units};
  }

  std::optional<Chain> chain_of(const std::vector<const Call*>& products) {
    Chain chain{*weight_of(*products[0]), {}};
    NodeMap<size_t> latest;  // the number of the last product that it depends on, from 1
    size_t next = 0;
    for (Expr e : order_) {
      size_t& own = latest[e];
      for_each_child(e, [&](Expr child) { own = std::max(own, latest.get(child)); });
      if (next == products.size() || e != products[next]) continue;
      // Each depends on the one before.
      if (own != next || op::callee(e) != op::callee(products[0]) ||
          e->as<Call>()->attrs != products[0]->attrs ||
          (next > 0 && products[next]->args[0] == products[next - 1]))
        return std::nullopt;
      own = ++next;
    }
    for (size_t i = 0; i < products.size(); ++i) {
      chain.steps.push_back({products[i]});
      if (i > 0 && !follow(chain, i, latest)) return std::nullopt;
    }
    return chain;
  }

  // Finds out how the units of the argument of step i follow from the product before. False if they
  // do not, unit by unit.
  bool follow(Chain& chain, size_t i, const NodeMap<size_t>& latest) {
    Step& step = chain.steps[i];
    const Expr before = chain.steps[i - 1].product;
    const uint32_t scope = scopes_.scope_of.get(before);
    std::vector<std::pair<Place, bool>> pending{{{step.product->args[0], 0}, false}};
    while (!pending.empty()) {
      const auto [place, done] = pending.back();
      pending.pop_back();
      const Expr e = place.e;
      if (done) {
        step.cell.push_back(place);
        continue;
      }
      if (e == before) {
        if (place.offset % chain.weight.units != 0) return false;
        continue;
      }
      if (chain.known.contains(place)) continue;
      if (latest.get(e) < i) {
        step.wholes.push_back(e);
        continue;
      }
      if (is_state(chain, place) && states_.contains(e)) return false;  // another chain makes it
      chain.known.insert(place);
      const std::optional<std::vector<Place>> args = arguments(place, i, latest, step.wholes);
      if (!args || scopes_.scope_of.get(e) != scope) return false;
      pending.push_back({place, true});
      for (const Place& a : *args) pending.push_back({a, false});
    }
    return true;
  }

  // Of a call that works unit by unit: the units of its arguments. What all units share must
  // be there before.
  std::optional<std::vector<Place>> arguments(const Place& place, size_t i, const NodeMap<size_t>& latest,
                                              std::vector<Expr>& wholes) {
    const auto* call = place.e->as<Call>();
    const op::OpDef* def = call ? op::callee(*call) : nullptr;
    if (!def || inside_kernel_.contains(call) || analysis::may_trap(context_, *call, *def))
      return std::nullopt;
    if (def == &op::kStridedSlice) {
      const std::optional<int64_t> begin = begin_of_slice(call);
      if (!begin) return std::nullopt;
      return std::vector<Place>{{call->args[0], *begin + place.offset}};
    }
    if (!is_unitwise(*call, *def)) return std::nullopt;
    std::vector<Place> out;
    for (Expr arg : call->args) {
      if (last_extent(arg) == last_extent(call)) {
        out.push_back({arg, place.offset});
      } else if (is_shared(arg) && latest.get(arg) < i) {
        wholes.push_back(arg);
      } else {
        return std::nullopt;
      }
    }
    return out;
  }

  // An elementwise call whose attributes say nothing of extents.
  static bool is_unitwise(const Call& call, const op::OpDef& def) {
    if (def.effects == op::Effects::kEffect || last_extent(&call) <= 1) return false;
    return def.fusion == Fusion::kElementwise || (def.fusion == Fusion::kBroadcast && call.attrs.empty());
  }
  // One element for all units.
  static bool is_shared(Expr e) {
    const TensorType* t = tensor_type(e);
    return t && (t->rank() == 0 || last_extent(e) == 1);
  }

  // What is made before e is.
  std::vector<Expr> needs(Expr e) const {
    std::vector<Expr> out;
    if (const auto s = states_.find(e); s != states_.end()) {
      const std::vector<Step>& steps = chains_[s->second.first].steps;
      const size_t step = s->second.second;
      if (e != steps[step].product->args[0]) return {steps[step].product->args[0]};
      out = steps[step].wholes;
      out.push_back(steps[step - 1].product->args[0]);
    } else if (const auto p = products_.find(e); p != products_.end()) {
      const std::vector<Step>& steps = chains_[p->second.first].steps;
      const size_t step = p->second.second;
      const bool first = step % 2 == 0 && step + 1 < steps.size();
      out.push_back(steps[first ? step + 1 : step].product->args[0]);
    } else {
      for_each_child(e, [&](Expr child) { out.push_back(child); });
    }
    return out;
  }

  bool order_again(std::vector<Expr>& out) const {
    enum State : uint8_t { kNew, kBegun, kDone };
    NodeMap<uint8_t> state;
    std::vector<Expr> pending{root_};
    while (!pending.empty()) {
      const Expr e = pending.back();
      if (state.get(e) != kNew) {
        pending.pop_back();
        if (state.get(e) == kBegun) out.push_back(e);
        state[e] = kDone;
        continue;
      }
      state[e] = kBegun;
      const std::vector<Expr> before = needs(e);
      for (auto it = before.rbegin(); it != before.rend(); ++it) {
        if (state.get(*it) == kBegun) return false;
        if (state.get(*it) == kNew) pending.push_back(*it);
      }
    }
    return true;
  }

  // All units, and nothing else.
  static bool is_state(const Chain& chain, const Place& p) {
    return p.offset == 0 && last_extent(p.e) == chain.weight.units;
  }
  int64_t block_units(const Chain& chain) const { return chain.weight.units / blocks_; }

  static Expr slice(Builder& b, Expr e, int64_t axis, int64_t begin, int64_t end) {
    const TensorType& t = *tensor_type(e);
    if (begin == 0 && t.dims[static_cast<size_t>(axis)] == Dim(end)) return e;
    return op::call(b, op::kStridedSlice, {e},
                    {{"begin", std::vector<int64_t>{begin}},
                     {"end", std::vector<int64_t>{end}},
                     {"axes", std::vector<int64_t>{axis}}});
  }
  static Expr concatenate(Builder& b, const std::vector<Expr>& parts, int64_t axis) {
    if (parts.size() == 1) return parts[0];
    return op::call(b, op::kConcatenate, {b.tuple(parts)}, {{"axis", axis}});
  }

  // Blocks [first, last) of a state, or of the argument of the first step.
  Expr state(Builder& b, Chain& chain, Expr e, int64_t first, int64_t last) const {
    Expr& out = chain.joined[{{e, first}, last}];
    if (out) return out;
    const auto axis = static_cast<int64_t>(tensor_type(e)->rank()) - 1;
    std::vector<Expr> parts;
    for (int64_t c = first; c < last; ++c) {
      const auto part = chain.parts.find({{e, 0}, c});
      if (part == chain.parts.end())
        return out = slice(b, now_.get(e), axis, first * block_units(chain), last * block_units(chain));
      parts.push_back(part->second);
    }
    return out = concatenate(b, parts, axis);
  }
  Expr argument(Builder& b, Chain& chain, size_t step, int64_t first, int64_t last) const {
    return state(b, chain, chain.steps[step].product->args[0], first, last);
  }

  // The part of the weight that gives the gates of a block, for the blocks of the argument up to
  // it, and after it.
  const std::pair<Expr, Expr>& weights(Builder& b, Chain& chain, int64_t block) {
    std::pair<Expr, Expr>& out = chain.weights[block];
    if (out.first) return out;
    const Weight& w = chain.weight;
    const int64_t size = block_units(chain), middle = (block + 1) * size;
    const auto part = [&](int64_t begin, int64_t end) {
      std::vector<Value> gates;
      for (int64_t g = 0; g < w.gates; ++g) {
        std::vector<int64_t> first(2), last(2);
        first[w.output_axis] = g * w.units + block * size;
        last[w.output_axis] = first[w.output_axis] + size;
        first[1 - w.output_axis] = begin;
        last[1 - w.output_axis] = end;
        const std::vector<Value> args{Value(*w.constant->value)};
        const Attrs attrs = context_.attrs({{"begin", first}, {"end", last}});
        gates.push_back(op::evaluate(context_, op::kStridedSlice, args, attrs));
      }
      const std::vector<Value> args{Value::tuple(std::move(gates))};
      const Attrs attrs = context_.attrs({{"axis", static_cast<int64_t>(w.output_axis)}});
      return b.constant(op::evaluate(context_, op::kConcatenate, args, attrs).tensor());
    };
    out.first = part(0, middle);
    if (middle < w.units) out.second = part(middle, w.units);
    return out;
  }

  static Expr product(Builder& b, const Chain& chain, Expr x, Expr weight) {
    const auto like = *analysis::product_view(chain.steps[0].product);
    return op::call(b, *like.def, {x, weight}, like.attrs_for_other_columns());
  }

  // The blocks of step i's product, with the sums of the blocks after each that are there already.
  void make_product(Builder& b, Chain& chain, size_t i, int64_t block, Expr sums) {
    std::vector<Expr>& blocks = chain.steps[i].blocks;
    blocks.resize(static_cast<size_t>(blocks_));
    const Expr rest = product(b, chain, argument(b, chain, i, 0, block + 1), weights(b, chain, block).first);
    blocks[static_cast<size_t>(block)] = sums ? op::call(b, op::kAdd, {sums, rest}) : rest;
  }
  void make_alone(Builder& b, Chain& chain, size_t i) {
    for (int64_t c = blocks_; c-- > 0;) {
      const Expr later = weights(b, chain, c).second;
      make_product(b, chain, i, c,
                   later ? product(b, chain, argument(b, chain, i, c + 1, blocks_), later) : nullptr);
    }
  }

  // A block of a place.
  Expr part(Builder& b, Chain& chain, size_t i, const Place& place, int64_t block) {
    const Step& before = chain.steps[i - 1];
    const int64_t size = block_units(chain);
    if (place.e == before.product) {
      const int64_t gate = place.offset / chain.weight.units;
      return slice(b, before.blocks[static_cast<size_t>(block)], 1, gate * size, (gate + 1) * size);
    }
    Expr& out = chain.parts[{place, block}];
    if (out) return out;
    const Expr whole = now_.get(place.e);
    const auto axis = static_cast<int64_t>(tensor_type(place.e)->rank()) - 1;
    const int64_t begin = place.offset + block * size;
    return out = slice(b, whole, axis, begin, begin + size);
  }

  // A block of all places between the product of step i - 1 and the argument of step i.
  void make_cell(Builder& b, Chain& chain, size_t i, int64_t block) {
    for (const Place& place : chain.steps[i].cell) {
      const Call& call = *place.e->as<Call>();
      const op::OpDef& def = *op::callee(call);
      SpanScope at(b, call.span);
      Expr made = nullptr;
      if (&def == &op::kStridedSlice) {
        made = part(b, chain, i, {call.args[0], *begin_of_slice(&call) + place.offset}, block);
      } else {
        std::vector<Expr> args;
        for (Expr arg : call.args) {
          args.push_back(last_extent(arg) == last_extent(&call)
                             ? part(b, chain, i, {arg, place.offset}, block)
                             : now_.get(arg));
        }
        made = op::call(b, def, args, op::attr_args(call.attrs));
      }
      chain.parts[{place, block}] = made;
    }
  }

  // The parts of the argument of step i, and with them both products of a pair where it
  // lies between them.
  void make_input(Builder& b, Chain& chain, size_t i) {
    const size_t before = i - 1;
    if (before % 2 == 0) {
      std::vector<Expr> sums(static_cast<size_t>(blocks_));  // of step i
      for (int64_t c = blocks_; c-- > 0;) {
        Expr own = nullptr;
        if (const Expr later = weights(b, chain, c).second) {
          const Expr rows = concatenate(
              b, {argument(b, chain, before, c + 1, blocks_), argument(b, chain, i, c + 1, blocks_)}, 0);
          const Expr both = product(b, chain, rows, later);
          own = slice(b, both, 0, 0, 1);
          sums[static_cast<size_t>(c)] = slice(b, both, 0, 1, 2);
        }
        make_product(b, chain, before, c, own);
        make_cell(b, chain, i, c);
      }
      for (int64_t c = 0; c < blocks_; ++c) make_product(b, chain, i, c, sums[static_cast<size_t>(c)]);
    } else {
      for (int64_t c = 0; c < blocks_; ++c) make_cell(b, chain, i, c);
    }
  }

  // For whoever reads a product otherwise than unit by unit, or after the last step.
  Expr whole_product(Builder& b, Chain& chain, size_t i) {
    Step& step = chain.steps[i];
    if (step.blocks.empty()) make_alone(b, chain, i);
    const int64_t size = block_units(chain);
    std::vector<Expr> parts;
    for (int64_t g = 0; g < chain.weight.gates; ++g) {
      for (const Expr block : step.blocks) parts.push_back(slice(b, block, 1, g * size, (g + 1) * size));
    }
    return concatenate(b, parts, 1);
  }

  Context& context_;
  Expr root_;
  const std::vector<Expr> order_;
  const Scopes scopes_;
  const std::unordered_set<Expr> inside_kernel_;
  const int64_t least_bytes_, blocks_, panel_;
  std::vector<Chain> chains_;
  // By expression: the chain and the step that has it between the product before and its own
  // argument, or is it.
  std::unordered_map<Expr, std::pair<size_t, size_t>> states_, products_;
  NodeMap<Expr> now_;
};

Module run(const Module& m, const PassContext& pass) {
  if (pass.target.gpu || pass.value("blocks") < 2) return m;
  std::map<const void*, size_t> uses;  // of constants, by where their elements are
  for (const auto& [name, fn] : m.functions()) {
    for (Expr e : post_order(fn)) {
      for_each_child(e, [&](Expr child) {
        if (const auto* c = child->as<Constant>()) ++uses[c->value->data()];
      });
    }
  }
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    Pairs pairs(m, name, pass.value("least-bytes"), pass.value("blocks"),
                kernel::schedule::kPanelVectors * pass.target.cpu.lanes());
    pairs.find_chains(uses);
    const Expr now = pairs.rebuild();
    if (now) out.set_function(name.text(), now->as<Fn>());
  }
  return out;
}

}  // namespace

const Pass kPairSteps = {
    .name = "pair-steps",
    .doc = "let two steps of a recurrence share what they read of a large weight",
    .parameters = {{"blocks", 4, "of the units of a state; 0 keeps steps apart", 0, 64},
                   {"least-bytes", 8 << 20, "of a weight; less may stay in the caches of two cores"}},
    .run = run,
};

}  // namespace relay::passes
