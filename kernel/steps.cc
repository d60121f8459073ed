#include "kernel/steps.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/cat.h"
#include "kernel/limits.h"
#include "kernel/statements.h"
#include "kernel/step_writes.h"

namespace relay::kernel {
namespace {

using Map = std::unordered_map<const ExprNode*, Expr>;

bool loads(Expr e, const Buffer* b) {
  bool found = false;
  for_each_load(e, [&](const ExprNode* n) { found |= n->buffer == b; });
  return found;
}

bool mentions_node(Expr e, Expr node) {
  bool found = false;
  for_each_node(e, [&](const ExprNode* n) {
    found |= n == node.get();
    return !found;
  });
  return found;
}

bool is_over_shapes(Expr e) {
  if (e->has_load) return false;
  const std::vector<Expr> all = variables(e);
  return std::all_of(all.begin(), all.end(), [](Expr v) { return v->shape_variable; });
}

bool is_thread(ForKind how) {
  switch (how) {
    case ForKind::kSerial:
    case ForKind::kParallel:
    case ForKind::kVectorized:
    case ForKind::kUnrolled: return false;
    default: return true;
  }
}

class Reader {
 public:
  Reader(const Kernel& k, ExprPool& pool, uint32_t& next_id) : pool_(pool), next_id_(next_id) {
    out_.steps = read(k.body, {}, {}, {});
    if (!out_.reason.empty()) out_.steps.clear();
  }
  Steps take() { return std::move(out_); }

 private:
  using List = std::vector<Step>;

  void refuse(std::string reason) {
    if (out_.reason.empty()) out_.reason = std::move(reason);
  }

  // The expression at this place of the program: iterators are their bindings, and a buffer that
  // begins anew in each iteration is a part of a wider one.
  Expr here(Expr e, const Map& by) {
    e = substitute(e, by);
    if (wide_.empty()) return e;
    return rewrite_loads(e, [&](const ExprNode* n) -> Expr {
      const auto found = wide_.find(n->buffer);
      if (found == wide_.end()) return {};
      std::vector<Expr> at = found->second.prefix;
      at.insert(at.end(), n->args.begin(), n->args.end());
      return pool_.load(found->second.buffer, at);
    });
  }

  // A kernel is nested at most kDeepestNest deep.
  List read(Stmt s, std::vector<StepAxis> axes, std::vector<Expr> conditions, const Map& by) {
    switch (s->kind) {
      case StmtKind::kFor: {
        const auto* n = s->as<For>();
        const Expr extent = substitute(n->extent, by);
        if (is_thread(n->how)) refuse("it says what threads of a GPU do");
        if (!is_over_shapes(extent))
          refuse(cat("how often the loop `", show(n->var), "` runs depends on more than shapes"));
        axes.push_back({n->var, extent});
        return read(n->body, axes, conditions, by);
      }
      case StmtKind::kBlock: return block(*s->as<Block>(), axes, conditions, by);
      case StmtKind::kStore: return store(*s->as<Store>(), axes, conditions, by);
      case StmtKind::kIf: {
        const auto* n = s->as<If>();
        const Expr holds = here(n->condition, by);
        std::vector<Expr> inside = conditions;
        inside.push_back(holds);
        std::vector<List> branches{read(n->then_branch, axes, inside, by)};
        if (n->else_branch) {
          inside.back() = logical_not(holds);
          branches.push_back(read(n->else_branch, axes, inside, by));
        }
        for (const List& steps : branches) {
          for (const Step& step : steps) {
            if (loads(holds, step.buffer))
              refuse(cat("a condition around the writes of `", step.buffer->name.text(), "` reads it"));
          }
        }
        return joined(std::move(branches), axes);
      }
      case StmtKind::kSeq: {
        std::vector<List> parts;
        for (Stmt c : s->as<Seq>()->body) parts.push_back(read(c, axes, conditions, by));
        return joined(std::move(parts), axes);
      }
      case StmtKind::kAllocate: {
        const auto* n = s->as<Allocate>();
        if (!axes.empty()) widen(*n->buffer, axes);
        return read(n->body, axes, conditions, by);
      }
      case StmtKind::kRequire:  // the kernel itself says so before
      case StmtKind::kNop:
      case StmtKind::kPrefetch: return {};
    }
    return {};
  }

  void widen(const Buffer& b, const std::vector<StepAxis>& axes) {
    Wide wide;
    std::vector<Expr> shape;
    for (const StepAxis& a : axes) {
      shape.push_back(a.extent);
      wide.prefix.push_back(a.var);
    }
    shape.insert(shape.end(), b.shape.begin(), b.shape.end());
    Arena& arena = pool_.arena();
    wide.buffer = arena.make<Buffer>(next_id_++, b.name, b.dtype, arena.list(shape), Scope::kGlobal);
    wide_[&b] = std::move(wide);
  }

  // The parts of a loop's body, each of which then has the loops for itself: no part may need what
  // another one writes in other iterations.
  List joined(std::vector<List> parts, const std::vector<StepAxis>& axes) {
    List out;
    for (List& part : parts) {
      for (const Step& before : out) {
        for (const Step& after : part) {
          if (!axes.empty() && !can_part(before, after, axes)) {
            refuse(cat("the loops around the writes of `", before.buffer->name.text(), "` and `",
                       after.buffer->name.text(), "` cannot be taken apart"));
          }
        }
      }
      out.insert(out.end(), part.begin(), part.end());
    }
    return out;
  }

  static bool step_loads(const Step& s, const Buffer* b) {
    const auto one = [&](Expr e) { return loads(e, b); };
    return one(s.value) || std::any_of(s.place.begin(), s.place.end(), one) ||
           std::any_of(s.conditions.begin(), s.conditions.end(), one) ||
           (s.kind != StepKind::kWrite && s.buffer == b);
  }

  // Each iteration of the loops writes elements of its own in `before`, and reads those alone in
  // `after`. If `after` writes over them, `before` does not see those of other iterations either.
  static bool can_part(const Step& before, const Step& after, const std::vector<StepAxis>& axes) {
    if (step_loads(before, after.buffer) && before.buffer != after.buffer) return false;
    if (before.buffer != after.buffer && !step_loads(after, before.buffer)) return true;
    for (const StepAxis& a : axes) {
      size_t d = 0;
      while (d < before.place.size() && before.place[d] != a.var) ++d;
      if (d == before.place.size()) return false;
      if (before.buffer == after.buffer && after.place[d] != a.var) return false;
      bool own = true;
      const auto look = [&](Expr e) {
        for_each_load(
            e, [&](const ExprNode* n) { own &= n->buffer != before.buffer || n->args[d] == a.var.get(); });
      };
      const auto look_at = [&](const Step& s) {
        look(s.value);
        for (Expr e : s.conditions) look(e);
        for (Expr e : s.place) look(e);
      };
      look_at(after);
      if (before.buffer == after.buffer) look_at(before);
      if (!own) return false;
    }
    return true;
  }

  List block(const Block& b, const std::vector<StepAxis>& axes, std::vector<Expr> conditions, Map by) {
    if (b.predicate) conditions.push_back(here(b.predicate, by));
    List first;
    size_t loops_around = 0;
    Map inside = by;
    for (const BlockIter& i : b.iters) inside[i.var.get()] = here(i.binding, by);
    if (b.init) {
      // The init runs where the reduction begins, which is once for the loops that no
      // reduction needs.
      std::vector<StepAxis> around;
      for (const StepAxis& a : axes) {
        const bool reduces = std::any_of(b.iters.begin(), b.iters.end(), [&](const BlockIter& i) {
          return i.kind == IterKind::kReduction && mentions(inside.at(i.var.get()), a.var);
        });
        if (!reduces) around.push_back(a);
      }
      loops_around = around.size();
      const auto depends = [&](Expr e) {
        const std::vector<Expr> all = variables(e);
        return std::any_of(all.begin(), all.end(), [&](Expr v) {
          return !v->shape_variable &&
                 std::none_of(around.begin(), around.end(), [&](const StepAxis& a) { return a.var == v; });
        });
      };
      first = read(b.init, around, conditions, inside);
      for (const Step& s : first) {
        if (depends(s.value) || std::any_of(s.place.begin(), s.place.end(), depends) ||
            std::any_of(s.conditions.begin(), s.conditions.end(), depends))
          refuse(cat("the init of block `", b.name.text(), "` depends on the loops of its reduction"));
        for (const Step& other : first) {
          if (step_loads(s, other.buffer))
            refuse(cat("the init of block `", b.name.text(), "` reads what it writes"));
        }
      }
    }
    List then = read(b.body, axes, conditions, inside);
    for (const Step& s : first) {
      for (const Step& t : then) {
        if (step_loads(s, t.buffer))
          refuse(cat("the init of block `", b.name.text(), "` reads what the block writes"));
      }
      if (!begins_once(s, loops_around, then))
        refuse(
            cat("the init of block `", b.name.text(), "` may begin an element again that was begun before"));
    }
    first.insert(first.end(), then.begin(), then.end());
    return first;
  }

  List store(const Store& n, const std::vector<StepAxis>& axes, const std::vector<Expr>& conditions,
             const Map& by) {
    Step s;
    const auto wide = wide_.find(n.buffer);
    s.buffer = wide == wide_.end() ? n.buffer : wide->second.buffer;
    s.axes = axes;
    s.conditions = conditions;
    if (wide != wide_.end()) s.place = wide->second.prefix;
    for (Expr e : n.indices) s.place.push_back(here(e, by));
    s.value = here(n.value, by);
    const Expr own = pool_.load(s.buffer, s.place);
    take_sum_apart(s, own);
    return {std::move(s)};
  }

  // t = c ? e : t is t = e under a condition, and t = t + e a sum.
  void take_sum_apart(Step& s, Expr own) {
    while (s.value->kind == ExprKind::kSelect && s.value->args[2] == own.get() &&
           !mentions_node(s.value->args[0], own)) {
      s.conditions.push_back(s.value->args[0]);
      s.value = s.value->args[1];
    }
    if (!s.buffer->dtype.is_float()) return;
    // Terms may share theirs, so only the one way to the own element is followed.
    std::unordered_set<const ExprNode*> with_own;
    for (const ExprNode* n : post_order(s.value)) {
      const auto has_it = [&](const ExprNode* a) { return with_own.contains(a); };
      if (own == n || std::any_of(n->args.begin(), n->args.end(), has_it)) with_own.insert(n);
    }
    std::vector<std::pair<Expr, bool>> terms, pending{{s.value, false}};
    bool found = false;
    while (!pending.empty()) {
      const auto [e, minus] = pending.back();
      pending.pop_back();
      if (!with_own.contains(e.get())) {
        terms.emplace_back(e, minus);
      } else if (e == own && !minus && !found) {
        found = true;
      } else if (e->kind == ExprKind::kAdd || e->kind == ExprKind::kSub) {
        pending.emplace_back(e->args[1], minus != (e->kind == ExprKind::kSub));
        pending.emplace_back(e->args[0], minus);
      } else {
        return;
      }
    }
    if (!found || terms.empty()) return;
    Expr sum;
    for (const auto& [e, minus] : terms) {
      if (!sum) {
        sum = minus ? -e : e;
      } else {
        sum = minus ? sum - e : sum + e;
      }
    }
    s.kind = StepKind::kAdd;
    s.value = sum;
  }

  struct Wide {
    const Buffer* buffer = nullptr;
    std::vector<Expr> prefix;
  };
  ExprPool& pool_;
  uint32_t& next_id_;
  std::unordered_map<const Buffer*, Wide> wide_;
  Steps out_;
};

// Gives the reductions that are no sums a form that has a derivative.
class Reductions {
 public:
  Reductions(ExprPool& pool, uint32_t next_id) : pool_(pool), next_id_(next_id) {}

  Steps run(const std::vector<Step>& steps) {
    for (const Step& s : steps) {
      const Expr own = pool_.load(s.buffer, s.place);
      const bool goes_on =
          s.kind == StepKind::kWrite && s.buffer->dtype.is_float() &&
          (mentions_node(s.value, own) || std::any_of(s.conditions.begin(), s.conditions.end(),
                                                      [&](Expr c) { return mentions_node(c, own); }));
      const auto reads = [&](Expr e) { return loads(e, s.buffer); };
      const bool decides = std::any_of(s.place.begin(), s.place.end(), reads) ||
                           (!goes_on && std::any_of(s.conditions.begin(), s.conditions.end(), reads));
      if (decides) {
        out_.reason = cat("where `", s.buffer->name.text(), "` is written depends on what it holds");
        return std::move(out_);
      }
      if (!goes_on) {
        out_.steps.push_back(s);
      } else if (!extremum(s, own) && !unrolled(s, own)) {
        out_.reason =
            cat("how `", s.buffer->name.text(), "` goes on from its own elements is not understood");
        return std::move(out_);
      }
    }
    return std::move(out_);
  }

 private:
  bool extremum(Step s, Expr own) {
    const bool is_one = s.value->kind == ExprKind::kMax || s.value->kind == ExprKind::kMin;
    if (!is_one || !s.conditions.empty() || out_.steps.empty() || !has_own_place(s)) return false;
    const Step& before = out_.steps.back();
    if (before.buffer != s.buffer || before.kind != StepKind::kWrite || !covers(before) ||
        !before.value.is_const())
      return false;
    const size_t other = s.value->args[0] == own.get() ? 1 : 0;
    if (s.value->args[1 - other] != own.get() || loads(s.value->args[other], s.buffer)) return false;
    s.kind = StepKind::kExtremum;
    s.extremum = s.value->kind;
    s.value = s.value->args[other];
    out_.steps.push_back(std::move(s));
    return true;
  }

  //   all[i, 0] = t[i];  all[i, q + 1] = f(all[i, q], x[i, q]);  t[i] = all[i, number of steps]
  bool unrolled(const Step& s, Expr own) {
    if (!has_own_place(s)) return false;
    bool elsewhere = false;
    const auto look = [&](Expr e) {
      for_each_load(e, [&](const ExprNode* n) { elsewhere |= n->buffer == s.buffer && own != n; });
    };
    look(s.value);
    for (Expr e : s.conditions) look(e);
    if (elsewhere) return false;
    const std::vector<StepAxis> reduction = reduction_axes(s);
    Expr steps = pool_.integer(1);
    for (const StepAxis& a : reduction) steps = steps * a.extent;
    std::vector<Expr> shape(s.buffer->shape.begin(), s.buffer->shape.end());
    shape.push_back(steps + 1);
    Arena& arena = pool_.arena();
    const Buffer* all =
        arena.make<Buffer>(next_id_++, pool_.symbols().intern(cat(s.buffer->name.text(), "_steps")),
                           s.buffer->dtype, arena.list(shape), Scope::kGlobal);
    std::vector<StepAxis> spatial;
    for (const StepAxis& a : s.axes) {
      if (std::any_of(s.place.begin(), s.place.end(), [&](Expr p) { return p == a.var; }))
        spatial.push_back(a);
    }
    const auto at = [&](Expr q) {
      std::vector<Expr> place = s.place;
      place.push_back(q);
      return place;
    };
    const auto add = [&](const Buffer* b, std::vector<StepAxis> axes, std::vector<Expr> place, Expr value) {
      Step out;
      out.buffer = b;
      out.axes = std::move(axes);
      out.place = std::move(place);
      out.value = value;
      out_.steps.push_back(std::move(out));
    };
    add(all, spatial, at(pool_.integer(0)), own);
    const Expr q = pool_.variable("q");
    Map by;
    Expr rest = q;
    for (size_t i = reduction.size(); i-- > 0;) {
      by[reduction[i].var.get()] = i == 0 ? rest : floor_mod(rest, reduction[i].extent);
      rest = floor_div(rest, reduction[i].extent);
    }
    const Expr next = substitute(guarded(s.conditions, s.value, own), by);
    const Expr before = pool_.load(all, at(q));
    const Expr value = rewrite_loads(next, [&](const ExprNode* n) { return own == n ? before : Expr(); });
    std::vector<StepAxis> every = spatial;
    every.push_back({q, steps});
    add(all, every, at(q + 1), value);
    add(s.buffer, spatial, s.place, pool_.load(all, at(steps)));
    return true;
  }

  ExprPool& pool_;
  uint32_t next_id_;
  Steps out_;
};

}  // namespace

bool covers(const Step& s) {
  if (!s.conditions.empty()) return false;
  std::unordered_set<const ExprNode*> seen;
  for (size_t d = 0; d < s.place.size(); ++d) {
    if (s.place[d].is_int(0) && s.buffer->shape[d].is_int(1)) continue;
    const auto axis =
        std::find_if(s.axes.begin(), s.axes.end(), [&](const StepAxis& a) { return a.var == s.place[d]; });
    if (axis == s.axes.end() || axis->extent != s.buffer->shape[d]) return false;
    if (!seen.insert(axis->var.get()).second) return false;
  }
  return seen.size() == s.axes.size();
}

bool has_own_place(const Step& s) {
  Step all = s;
  all.conditions.clear();
  std::erase_if(all.axes, [&](const StepAxis& a) {
    return std::none_of(s.place.begin(), s.place.end(), [&](Expr p) { return mentions(p, a.var); });
  });
  return covers(all);
}

std::vector<StepAxis> reduction_axes(const Step& s) {
  std::vector<StepAxis> out;
  for (const StepAxis& a : s.axes) {
    if (std::none_of(s.place.begin(), s.place.end(), [&](Expr p) { return mentions(p, a.var); }))
      out.push_back(a);
  }
  return out;
}

Expr guarded(const std::vector<Expr>& conditions, Expr e, Expr other) {
  for (size_t i = conditions.size(); i-- > 0;) e = select(conditions[i], e, other);
  return e;
}

Steps steps_of(const Kernel& k) {
  ExprPool* pool = pool_of(k);
  if (std::string deep = too_deep(k); !deep.empty()) return {{}, std::move(deep)};
  if (k.external) return {{}, "it is a C function"};
  if (!k.read_extents.empty()) return {{}, "its extents depend on data"};
  if (pool == nullptr) return {{}, "it computes nothing"};
  uint32_t next_id = next_buffer_id(k);
  Steps read = Reader(k, *pool, next_id).take();
  return read.reason.empty() ? Reductions(*pool, next_id).run(read.steps) : read;
}

}  // namespace relay::kernel
