#include "kernel/in_place.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

#include "kernel/distinct_places.h"
#include "kernel/polynomial.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

using Substitution = std::unordered_map<const ExprNode*, Expr>;

// The loop around all that the kernel does; null if there is none.
const For* outermost_loop(Stmt s) {
  while (const auto* a = s->as<Allocate>()) s = a->body;
  return s->as<For>();
}
// What the loop does one after the other.
std::vector<Stmt> parts_of(const For& loop) {
  Stmt s = loop.body;
  while (const auto* a = s->as<Allocate>()) s = a->body;
  const auto* all = s->as<Seq>();
  return all ? std::vector<Stmt>(all->body.begin(), all->body.end()) : std::vector<Stmt>{s};
}

// Walks a kernel and looks for what keeps an input and an output apart.
class Sharing {
 public:
  Sharing(const Buffer* input, const Buffer* output, Stmt body)
      : input_(input), output_(output), body_(body), outermost_(outermost_loop(body)) {
    if (!outermost_) return;
    const std::vector<Stmt> parts = parts_of(*outermost_);
    for (size_t i = 0; i < parts.size(); ++i) parts_[parts[i]] = i;
  }

  bool is_proved() {
    struct Pending {
      Stmt statement;
      size_t depth;  // in loops
      size_t part;   // of the outermost loop's
    };
    std::vector<Pending> pending{{body_, 0, 0}};
    while (!pending.empty()) {
      const auto [s, depth, around] = pending.back();
      pending.pop_back();
      loops_.resize(depth);
      const auto own = parts_.find(s);
      part_ = own == parts_.end() ? around : own->second;
      ++order_;
      if (!enter(s)) return false;
      std::vector<Stmt> inner = children(s);
      for (size_t i = inner.size(); i-- > 0;) pending.push_back({inner[i], loops_.size(), part_});
    }
    std::erase_if(early_, [&](const Access& read) {
      return std::any_of(written_.begin(), written_.end(),
                         [&](const Access& write) { return replaces(write, read); });
    });
    return are_apart() && (early_.empty() || rounds_are_apart());
  }

 private:
  struct Loop {
    Expr var;
    bool in_grid;  // threads go through it

    bool operator==(const Loop& other) const { return var == other.var; }
  };
  // An element that is read or written, by its place in memory.
  struct Access {
    Expr at;
    size_t part, order;
    std::vector<Loop> loops;
    Interval range;  // of `at`
  };
  Access access(Expr at) const { return {at, part_, order_, loops_, bounds_.of(at)}; }

  // Is it the element that was read, earlier in the same round of all loops around the store?
  static bool replaces(const Access& write, const Access& read) {
    const size_t around = write.loops.size();
    return write.at == read.at && read.order < write.order && read.loops.size() >= around &&
           std::equal(write.loops.begin(), write.loops.end(), read.loops.begin()) &&
           std::none_of(
               read.loops.begin() + static_cast<std::ptrdiff_t>(around), read.loops.end(),
               [](const Loop& l) { return l.in_grid; });
  }

  Expr outside(Expr e) const { return substitute(e, iters_); }
  bool touches(const List<Region>& regions) const {
    return std::any_of(regions.begin(), regions.end(),
                       [&](const Region& r) { return r.buffer == input_ || r.buffer == output_; });
  }

  // Where the element lies in the buffer, over the loops around.
  Expr offset(ExprPool& pool, const Buffer& b, const std::vector<Expr>& indices) const {
    if (indices.empty()) return pool.integer(0);
    std::vector<Expr> places;
    for (Expr i : indices) places.push_back(outside(i));
    return flat_offset(b, places, bounds_);
  }

  // Notes the elements of the input that are read for something else than their own replacement.
  // False if the output is read.
  bool read(Expr e, Expr replaced = {}) {
    bool allowed = true;
    for_each_load(e, [&](const ExprNode* load) {
      allowed = allowed && load->buffer != output_;
      if (load->buffer != input_) return;
      const Expr at = offset(*load->pool, *input_, {load->args.begin(), load->args.end()});
      if (!replaced || at != replaced) early_.push_back(access(at));
    });
    return allowed;
  }

  bool enter(Stmt s) {
    if (const auto* store = s->as<Store>()) return enter_store(*store);
    if (s->kind == StmtKind::kPrefetch) return true;
    for (Expr e : expressions(s)) {
      if (!read(e)) return false;
    }
    if (const auto* loop = s->as<For>()) {
      const Expr extent = outside(loop->extent);
      bounds_.bind(loop->var, extent);
      loops_.push_back({loop->var, loop->how >= ForKind::kBlockX});
    } else if (const auto* block = s->as<Block>()) {
      if (!block->instruction.empty() && (touches(block->reads) || touches(block->writes))) return false;
      for (const BlockIter& i : block->iters) iters_[i.var.get()] = outside(i.binding);
    }
    return true;
  }

  bool enter_store(const Store& s) {
    for (Expr i : s.indices) {
      if (!read(i)) return false;
    }
    if (s.buffer != output_) return read(s.value);
    const Expr at = offset(*s.value->pool, *output_, {s.indices.begin(), s.indices.end()});
    written_.push_back(access(at));
    return read(s.value, at) && is_written_once(at);
  }

  // Does each round of the loops around have a place of its own? Offsets with open strides are not
  // looked into.
  bool is_written_once(Expr at) const {
    const std::vector<polynomial::Term> terms = polynomial::terms(at);
    const auto is_open = [](const ExprNode* atom) {
      const std::vector<Expr> all = variables(atom);
      return !std::all_of(all.begin(), all.end(), [](Expr v) { return v->shape_variable; });
    };
    const bool strided = std::any_of(terms.begin(), terms.end(), [&](const polynomial::Term& t) {
      return t.atoms.size() > 1 && std::any_of(t.atoms.begin(), t.atoms.end(), is_open);
    });
    std::vector<Expr> loops;
    for (const Loop& l : loops_) loops.push_back(l.var);
    return !strided && are_distinct({at}, loops, bounds_);
  }

  // No two stores write the same place.
  bool are_apart() const {
    for (size_t i = 0; i < written_.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (!are_apart(written_[i], written_[j])) return false;
      }
    }
    return !written_.empty();
  }
  bool are_apart(const Access& a, const Access& b) const {
    const Interval &x = a.range, &y = b.range;
    if ((x.high && y.low && *x.high < *y.low) || (y.high && x.low && *y.high < *x.low)) return true;
    // Loops that are around both are in other rounds for the one than for the other.
    const bool alone = std::none_of(a.loops.begin(), a.loops.end(), [&](const Loop& l) {
      return std::find(b.loops.begin(), b.loops.end(), l) != b.loops.end();
    });
    return alone && (bounds_.proves_less(a.at, b.at) || bounds_.proves_less(b.at, a.at));
  }

  // Is each access in the part of memory that its round of the outermost loop has for itself, and
  // are the early ones in statements before all that write?
  // (Threads of a grid wait for each other only where buffers say so.)
  bool rounds_are_apart() const {
    if (!outermost_) return false;
    const Expr round = outermost_->var;
    int64_t size = 0;  // of such a part, in elements
    for (const polynomial::Term& t : polynomial::terms(written_.front().at)) {
      if (t.atoms.size() == 1 && t.atoms[0] == round.get()) size = t.coefficient;
    }
    const auto is_own = [&](const Access& a) {
      if (std::any_of(a.loops.begin(), a.loops.end(), [](const Loop& l) { return l.in_grid; })) return false;
      const Expr rest = a.at - round * size;
      const Interval inside = bounds_.of(rest);
      return !mentions(rest, round) && inside.low && inside.high && *inside.low >= 0 && *inside.high < size;
    };
    size_t first_written = SIZE_MAX;
    for (const Access& w : written_) first_written = std::min(first_written, w.part);
    return size > 0 && std::all_of(written_.begin(), written_.end(), is_own) &&
           std::all_of(early_.begin(), early_.end(),
                       [&](const Access& r) { return is_own(r) && r.part < first_written; });
  }

  const Buffer *input_, *output_;
  Stmt body_;
  const For* outermost_;
  std::unordered_map<Stmt, size_t> parts_;
  Substitution iters_;  // iterators of blocks by variables of loops
  Bounds bounds_;       // of the variables of loops
  std::vector<Loop> loops_;
  size_t part_ = 0, order_ = 0;  // of the statement
  std::vector<Access> written_;
  std::vector<Access> early_;  // reads of the input
};

}  // namespace

bool may_share(const Kernel& k, size_t input, size_t output) {
  const Buffer *x = k.inputs[input], *y = k.outputs[output];
  if (k.external || x->dtype != y->dtype) return false;
  const std::optional<int64_t> from = memory_extent(*x), to = memory_extent(*y);
  if (from && to && *from != *to) return false;
  return Sharing(x, y, k.body).is_proved();
}

std::set<size_t> sharing_parameters(const Kernel& k) {
  std::set<size_t> out;
  for (size_t i = 0; i < k.inputs.size(); ++i) {
    for (size_t o = 0; o < k.outputs.size(); ++o) {
      if (may_share(k, i, o)) out.insert({i, k.inputs.size() + o});
    }
  }
  return out;
}

}  // namespace relay::kernel
