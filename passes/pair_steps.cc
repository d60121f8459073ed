// pair-steps: two steps of a recurrence share what they read of a weight that is too large for the
// caches near a core (step_chains.h says which steps these are).
//
//   h1 = f(h0 W),  h2 = f(h1 W)       with an f that makes each unit of the state of that unit's gates
//
// All of h1 must be known before h2 is, but as soon as some units of h1 are, their terms of h1 W
// may be summed. So units are computed in blocks, the last block first, and the terms of the blocks
// that are known are summed for both steps at once, as twice as many rows. With two blocks, 0 and
// 1, and W[k, c] for the part of the weight that multiplies block k and gives the gates of block c:
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
// Sums are taken in another order than before, as an algorithm for convolutions does it. Parts of a
// sum of float16 or bfloat16 stay in float32 until they are added up. The weight is cut into parts,
// and none is kept twice.
//
// Before: recurrences are unrolled, and their products joined. After: the same states; weights that
// are read twice in turn are read once.
#include <algorithm>
#include <map>
#include <unordered_map>

#include "analysis/views.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "kernel/schedule/cost.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "op/tensor/common.h"
#include "passes/pass.h"
#include "passes/step_chains.h"

namespace relay::passes {
namespace {

// A chain, and what is made of it.
struct Chain {
  StepChain found;
  std::vector<std::vector<Expr>> blocks = {};             // of the product of each step
  std::map<std::pair<Units, int64_t>, Expr> parts = {};   // of units, by block
  std::map<std::pair<Units, int64_t>, Expr> joined = {};  // of a state: blocks [offset, the number) together
  std::map<int64_t, std::pair<Expr, Expr>> weights = {};  // by block: for the units up to it, and after it
};

class Pairs {
 public:
  Pairs(Context& context, const Fn* fn, std::vector<StepChain> chains, int64_t blocks)
      : context_(context), root_(fn), blocks_(blocks) {
    for (size_t c = 0; c < chains.size(); ++c) {
      const std::vector<ChainStep>& steps = chains[c].steps;
      for (size_t i = 0; i < steps.size(); ++i) {
        products_.emplace(steps[i].product, std::pair(c, i));
        for (const Units& u : steps[i].cell) {
          if (chains[c].is_state(u)) states_.emplace(u.e, std::pair(c, i));
        }
      }
      chains_.push_back({std::move(chains[c])});
      chains_.back().blocks.resize(chains_.back().found.steps.size());
    }
  }

  // The function with its chains in pairs; null if each of several waits for another.
  Expr rebuild() {
    std::vector<Expr> ordered;
    if (!order_again(ordered)) return nullptr;
    Builder b(context_);
    for (Expr e : ordered) {
      SpanScope at(b, e->span);
      if (const auto s = states_.find(e); s != states_.end()) {
        Chain& chain = chains_[s->second.first];
        const size_t step = s->second.second;
        if (e == chain.found.steps[step].product->args[0]) make_input(b, chain, step);
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
  // What is made before e is.
  std::vector<Expr> needs(Expr e) const {
    std::vector<Expr> out;
    if (const auto s = states_.find(e); s != states_.end()) {
      const std::vector<ChainStep>& steps = chains_[s->second.first].found.steps;
      const size_t step = s->second.second;
      if (e != steps[step].product->args[0]) return {steps[step].product->args[0]};
      out = steps[step].wholes;
      out.push_back(steps[step - 1].product->args[0]);
    } else if (const auto p = products_.find(e); p != products_.end()) {
      const std::vector<ChainStep>& steps = chains_[p->second.first].found.steps;
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

  int64_t block_units(const Chain& chain) const { return chain.found.weight.units / blocks_; }

  static Expr slice(Builder& b, Expr e, int64_t axis, int64_t begin, int64_t end) {
    const TensorType& t = op::tensor_type_of(e);
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
    const auto axis = static_cast<int64_t>(op::tensor_type_of(e).rank()) - 1;
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
    return state(b, chain, chain.found.steps[step].product->args[0], first, last);
  }

  // The part of the weight that gives the gates of a block, for the blocks of the argument up to
  // it, and after it.
  const std::pair<Expr, Expr>& weights(Builder& b, Chain& chain, int64_t block) {
    std::pair<Expr, Expr>& out = chain.weights[block];
    if (out.first) return out;
    const ChainWeight& w = chain.found.weight;
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

  // A product of a part of the weight. Sums of narrow floats that are to be added up stay wider.
  static Expr product(Builder& b, const Chain& chain, Expr x, Expr weight, bool is_sum) {
    const auto like = *analysis::product_view(chain.found.steps[0].product);
    std::vector<AttrArg> attrs = like.attrs_for_other_columns();
    if (is_sum && is_narrow(like.result->dtype)) attrs.push_back({"out_dtype", kFloat32});
    return op::call(b, *like.def, {x, weight}, attrs);
  }
  static bool is_narrow(DType d) { return d.is_float() && d.bits < 32; }

  // The blocks of step i's product, with the sums of the blocks after each that are there already.
  void make_product(Builder& b, Chain& chain, size_t i, int64_t block, Expr sums) {
    std::vector<Expr>& blocks = chain.blocks[i];
    blocks.resize(static_cast<size_t>(blocks_));
    Expr all = product(b, chain, argument(b, chain, i, 0, block + 1), weights(b, chain, block).first,
                       sums != nullptr);
    if (sums) all = op::call(b, op::kAdd, {sums, all});
    const DType dtype = op::tensor_type_of(chain.found.steps[i].product).dtype;
    if (op::tensor_type_of(all).dtype != dtype) all = op::call(b, op::kCast, {all}, {{"dtype", dtype}});
    blocks[static_cast<size_t>(block)] = all;
  }
  void make_alone(Builder& b, Chain& chain, size_t i) {
    for (int64_t c = blocks_; c-- > 0;) {
      const Expr later = weights(b, chain, c).second;
      make_product(b, chain, i, c,
                   later ? product(b, chain, argument(b, chain, i, c + 1, blocks_), later, true) : nullptr);
    }
  }

  // A block of some units.
  Expr part(Builder& b, Chain& chain, size_t i, const Units& units, int64_t block) {
    const Expr before = chain.found.steps[i - 1].product;
    const int64_t size = block_units(chain);
    if (units.e == before) {
      const int64_t gate = units.offset / chain.found.weight.units;
      return slice(b, chain.blocks[i - 1][static_cast<size_t>(block)], 1, gate * size, (gate + 1) * size);
    }
    Expr& out = chain.parts[{units, block}];
    if (out) return out;
    const Expr whole = now_.get(units.e);
    const auto axis = static_cast<int64_t>(op::tensor_type_of(units.e).rank()) - 1;
    const int64_t begin = units.offset + block * size;
    return out = slice(b, whole, axis, begin, begin + size);
  }

  // A block of all units between the product of step i - 1 and the argument of step i.
  void make_cell(Builder& b, Chain& chain, size_t i, int64_t block) {
    for (const Units& units : chain.found.steps[i].cell) {
      const Call& call = *units.e->as<Call>();
      const op::OpDef& def = *op::callee(call);
      SpanScope at(b, call.span);
      Expr made = nullptr;
      if (&def == &op::kStridedSlice) {
        made = part(b, chain, i, {call.args[0], *begin_of_slice(&call) + units.offset}, block);
      } else {
        std::vector<Expr> args;
        for (Expr arg : call.args) {
          args.push_back(last_extent(arg) == last_extent(&call)
                             ? part(b, chain, i, {arg, units.offset}, block)
                             : now_.get(arg));
        }
        made = op::call(b, def, args, op::attr_args(call.attrs));
      }
      chain.parts[{units, block}] = made;
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
          const Expr both = product(b, chain, rows, later, true);
          const int64_t count = chain.found.weight.rows;
          own = slice(b, both, 0, 0, count);
          sums[static_cast<size_t>(c)] = slice(b, both, 0, count, 2 * count);
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
    if (chain.blocks[i].empty()) make_alone(b, chain, i);
    const int64_t size = block_units(chain);
    std::vector<Expr> parts;
    for (int64_t g = 0; g < chain.found.weight.gates; ++g) {
      for (const Expr block : chain.blocks[i]) parts.push_back(slice(b, block, 1, g * size, (g + 1) * size));
    }
    return concatenate(b, parts, 1);
  }

  Context& context_;
  Expr root_;
  const int64_t blocks_;
  std::vector<Chain> chains_;
  // By expression: the chain and the step that has it between the product before and its own
  // argument, or is it.
  std::unordered_map<Expr, std::pair<size_t, size_t>> states_, products_;
  NodeMap<Expr> now_;
};

Module run(const Module& m, const PassContext& pass) {
  const int64_t blocks = pass.value("blocks");
  if (pass.target.gpu || blocks < 2) return m;
  const target::Cpu& cpu = pass.target.cpu;
  const ChainLimits limits{cpu, pass.value("cores"), blocks * kernel::schedule::kPanelVectors * cpu.lanes()};
  const ConstantUses uses = constant_uses(m);
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    std::vector<StepChain> chains = find_step_chains(m, fn, uses, limits);
    const Expr now = chains.empty() ? nullptr : Pairs(m.context(), fn, std::move(chains), blocks).rebuild();
    if (now) out.set_function(name.text(), now->as<Fn>());
  }
  return out;
}

}  // namespace

const Pass kPairSteps = {
    .name = "pair-steps",
    .doc = "let two steps of a recurrence share what they read of a large weight",
    .parameters = {{"blocks", 4, "of the units of a state; 0 keeps steps apart", 0, 64},
                   {"cores", 2, "whose caches do not hold the weight; 0: any weight will do", 0, 1024}},
    .skips_lets = true,
    .run = run,
};

}  // namespace relay::passes
