// fuse: operator calls are gathered into functions marked `Primitive`, each of which
// becomes one kernel.
//
// A call joins the group of its immediate post-dominator (the nearest later call through which all
// uses of its value flow) if every call on the way can be computed element by element. What may be
// joined follows from the operators' fusion classes alone. Groups never cross a scope: code in a
// branch stays in the branch.
//
// Reductions share a group where everything goes along the same rows, as in a normalisation: a
// row is computed from one end to the other while it is in the cache. So do two products of
// matrices in attention, where the rows of the first, once normalised, are the rows that the
// second one multiplies.
//
// Operators that only change a shape (OpDef::view) and stand alone stay outside: they need
// no kernel at all.
//
// User kernels join like operators, in the class that follows from what they read and write
// (analysis/user_kernels.h). One that cannot be read so, or may trap, stays as it is, and so does
// one that nothing joins.
#include <algorithm>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/primitives.h"
#include "analysis/views.h"
#include "ir/analysis.h"
#include "ir/rewrite.h"
#include "kernel/execute.h"
#include "kernel/schedule/cost.h"
#include "op/apply.h"
#include "op/ops.h"
#include "op/registry.h"
#include "passes/pass.h"
#include "passes/shared_lets.h"

namespace relay::passes {
namespace {

using op::Fusion;

// One call of the dataflow graph.
struct Site {
  const Call* call;
  const op::OpDef* def;  // null: a kernel of the program
  Fusion fusion;
  std::vector<size_t> users;  // sites of the same scope, in order; complete unless `escapes`
  bool escapes = false;       // something else uses the value too
  bool checked = false;       // compares extents when the program runs: equal ones are not known to be
  // The post-dominator tree: sites come after their producers, so users have higher indices.
  size_t post_dominator = SIZE_MAX;  // SIZE_MAX: the end of the scope
  uint32_t depth = 0;
  Fusion on_the_way = Fusion::kElementwise;  // the most demanding class on any path to it, both ends excluded
  size_t group = 0;                          // union-find parent; the representative is the last site
  size_t group_size = 1;
};

class Fuser {
 public:
  // `most`: calls in one group; `longest`: a row of scores in attention, 0 for no attention.
  Fuser(const Module& m, Expr root, const target::Cpu& cpu, size_t most, int64_t longest)
      : context_(m.context()),
        cpu_(cpu),
        kernels_(m),
        root_(root),
        most_(most),
        longest_(longest),
        scopes_(scopes(root)),
        effects_(m, root) {}

  Expr run() {
    collect();
    find_post_dominators();
    // Expensive calls choose their elementwise followers first; then elementwise ones join what
    // follows them; then injective ones, which read elements from elsewhere, join what follows, up
    // to and including a reduction. Forwards, so that a group that has just grown can go on
    // growing at its new end.
    for (int phase = 0; phase < 3; ++phase) {
      for (size_t i = 0; i < sites_.size(); ++i) join(i, phase);
    }
    for (size_t i = 0; i < sites_.size(); ++i) members_[find(i)].push_back(i);
    for (size_t i = 0; i < sites_.size(); ++i) join_rows(i);
    for (size_t i = 0; i < sites_.size(); ++i) join_attention(i);
    return extract();
  }

 private:
  // Tensors in, tensors out, pure enough to be moved next to its use within its scope.
  bool eligible(const Call& call, const op::OpDef* def) const {
    return def && def->lower && def->effects != op::Effects::kEffect && call.type;
  }

  std::optional<Site> site_for(const Call& call) {
    const op::OpDef* def = op::callee(call);
    if (const kernel::Kernel* k = kernels_.callee(&call)) {
      const auto fusion = call.type && !kernels_.may_trap(call, *k) ? kernels_.fusion(*k) : std::nullopt;
      return fusion ? std::optional(Site{&call, nullptr, *fusion, {}}) : std::nullopt;
    }
    if (!eligible(call, def)) return std::nullopt;
    const analysis::Fit fit = analysis::fit_of(context_, call, *def);
    if (fit == analysis::Fit::kUnknown) return std::nullopt;
    Site site{&call, def, def->fusion, {}};
    site.checked = fit == analysis::Fit::kChecked;
    return site;
  }

  void collect() {
    const Scopes& scopes = scopes_;
    const std::vector<Expr> order = post_order(root_);
    const std::unordered_set<Expr> fused_before = analysis::inside_primitives(order);
    for (Expr e : order) {
      if (const auto* fn = e->as<Fn>()) function_with_[fn->body] = fn;
    }
    for (Expr e : order) {
      const auto* call = e->as<Call>();
      std::optional<Site> site = call && !fused_before.contains(e) ? site_for(*call) : std::nullopt;
      if (!site) continue;
      site_of_[e] = sites_.size();
      site->group = sites_.size();
      sites_.push_back(std::move(*site));
    }
    // A shared call is evaluated where its scope begins; in a group it would be where the group's
    // last call stands. And what follows in a group may not need all of a value, so that a trap in
    // it would not happen.
    for (Site& s : sites_) {
      s.escapes = (scopes.uses.get(s.call) > 1 && !effects_.steady(s.call)) ||
                  (s.def && analysis::may_trap_on_values(*s.call, *s.def));
    }
    for (Expr e : order) {
      const auto user = site_of_.find(e);
      // Arguments of a call, and the fields of a tuple argument, are uses by the call.
      const auto use = [&](Expr value) {
        const auto producer = site_of_.find(value);
        if (producer == site_of_.end()) return;
        Site& p = sites_[producer->second];
        const bool same_scope =
            user != site_of_.end() && scopes.scope_of.get(value) == scopes.scope_of.get(e);
        if (same_scope) {
          if (p.users.empty() || p.users.back() != user->second) p.users.push_back(user->second);
        } else {
          p.escapes = true;
        }
      };
      if (user != site_of_.end()) {
        for (Expr arg : e->as<Call>()->args) {
          use(arg);
          if (const auto* tuple = arg->as<Tuple>()) {
            for (Expr field : tuple->fields) use(field);
          }
        }
      } else if (e->kind == ExprKind::kTuple && only_arguments(e, scopes)) {
        continue;  // counted above
      } else {
        for_each_child(e, use);
      }
    }
    if (auto it = site_of_.find(root_); it != site_of_.end()) sites_[it->second].escapes = true;
    if (const auto* fn = root_->as<Fn>()) {
      if (auto it = site_of_.find(fn->body); it != site_of_.end()) sites_[it->second].escapes = true;
    }
  }

  // A tuple that is used once, by an eligible call: an argument list rather than a value.
  bool only_arguments(Expr tuple, const Scopes& scopes) {
    if (tuple_users_.empty()) {
      for (const Site& s : sites_) {
        for (Expr arg : s.call->args) {
          if (arg->kind == ExprKind::kTuple) ++tuple_users_[arg];
        }
      }
    }
    auto it = tuple_users_.find(tuple);
    return it != tuple_users_.end() && it->second == scopes.uses.get(tuple);
  }

  void find_post_dominators() {
    for (size_t i = sites_.size(); i-- > 0;) {
      Site& s = sites_[i];
      if (s.escapes || s.users.empty()) {
        s.depth = 1;
        continue;
      }
      size_t meet = s.users[0];
      Fusion way = Fusion::kElementwise;
      for (size_t k = 1; k < s.users.size(); ++k) meet = common(meet, s.users[k], way);
      s.post_dominator = meet;
      s.on_the_way = way;
      s.depth = meet == SIZE_MAX ? 1 : sites_[meet].depth + 1;
    }
  }

  // The nearest common post-dominator of two sites; `way` becomes the most demanding class met
  // on the way there.
  size_t common(size_t a, size_t b, Fusion& way) {
    const auto up = [&](size_t x) {
      way = std::max({way, sites_[x].fusion, sites_[x].on_the_way});
      return sites_[x].post_dominator;
    };
    while (a != b) {
      if (a == SIZE_MAX || b == SIZE_MAX) return SIZE_MAX;
      if (sites_[a].depth >= sites_[b].depth) {
        a = up(a);
      } else {
        b = up(b);
      }
    }
    return a;
  }

  size_t find(size_t i) {
    while (sites_[i].group != i) i = sites_[i].group = sites_[sites_[i].group].group;
    return i;
  }

  // The most demanding class within a site's group.
  Fusion class_of_group(size_t i) {
    auto it = group_class_.find(find(i));
    return it == group_class_.end() ? sites_[find(i)].fusion : it->second;
  }

  static bool one_tensor(const Site& s) { return s.call->type->as<TensorType>() != nullptr; }

  // Does the second have the shape of the first?
  static bool keeps_shape(const Site& a, const Site& b) {
    const auto* x = a.call->type->as<TensorType>();
    const auto* y = b.call->type->as<TensorType>();
    return x && y && x->dims == y->dims && !b.checked;
  }

  void join(size_t i, int phase) {
    const Site& s = sites_[i];
    const size_t sink = s.post_dominator;
    if (sink == SIZE_MAX || find(i) == find(sink) || !one_tensor(s)) return;
    const Fusion own = class_of_group(i);
    const Fusion last = class_of_group(sink);
    bool fits = false;
    if (phase == 0) {
      // After a convolution or a product: elementwise work on exactly its elements.
      fits = own == Fusion::kOutputFusable && s.on_the_way <= Fusion::kBroadcast &&
             last <= Fusion::kBroadcast && keeps_shape(s, sites_[sink]) && way_keeps_shape(i, sink);
    } else if (phase == 1) {
      // Elementwise work joins what follows, up to and including a reduction, which reads each
      // element once. It also joins the elementwise work after a convolution.
      const bool epilogue = last == Fusion::kOutputFusable && sites_[sink].fusion <= Fusion::kBroadcast;
      fits = own <= Fusion::kBroadcast && s.on_the_way <= Fusion::kInjective &&
             (last <= Fusion::kReduction || (epilogue && !reaches_anchor(i, sink)));
      if (last == Fusion::kReduction) fits = fits && way_is_at_most(i, sink, Fusion::kInjective);
    } else {
      // A reduction, too, reads each element once, from wherever it is.
      fits = own <= Fusion::kInjective && s.on_the_way <= Fusion::kInjective &&
             (last <= Fusion::kInjective ||
              (last == Fusion::kReduction && way_is_at_most(i, sink, Fusion::kInjective)));
    }
    if (!fits) return;
    merge(i, sink);
  }

  // All sites on paths from i to the sink, both excluded.
  std::vector<size_t> between(size_t i, size_t sink) {
    std::vector<size_t> found, pending = sites_[i].users;
    std::unordered_set<size_t> seen;
    while (!pending.empty()) {
      const size_t x = pending.back();
      pending.pop_back();
      if (x == sink || !seen.insert(x).second) continue;
      found.push_back(x);
      pending.insert(pending.end(), sites_[x].users.begin(), sites_[x].users.end());
    }
    return found;
  }

  bool way_keeps_shape(size_t i, size_t sink) {
    for (size_t x : between(i, sink)) {
      if (!keeps_shape(sites_[i], sites_[x])) return false;
    }
    return true;
  }

  bool way_is_at_most(size_t i, size_t sink, Fusion most) {
    for (size_t x : between(i, sink)) {
      if (sites_[x].fusion > most) return false;
    }
    return true;
  }

  // Would joining put elementwise work in front of the group's convolution, where it would be
  // done many times?
  bool reaches_anchor(size_t i, size_t sink) {
    for (size_t user : sites_[i].users) {
      if (find(user) == find(sink) && sites_[user].fusion == Fusion::kOutputFusable) return true;
    }
    for (size_t x : between(i, sink)) {
      if (sites_[x].fusion == Fusion::kOutputFusable) return true;
    }
    return false;
  }

  // The groups of two sites and of all between them; none if some of these gives more
  // than one tensor.
  std::vector<size_t> groups_between(size_t i, size_t sink) {
    std::vector<size_t> groups{find(i)};
    const auto add = [&](size_t x) {
      if (std::find(groups.begin(), groups.end(), find(x)) == groups.end()) groups.push_back(find(x));
    };
    add(sink);
    for (size_t x : between(i, sink)) {
      if (!one_tensor(sites_[x])) return {};
      add(x);
    }
    return groups;
  }

  void merge(size_t i, size_t sink) {
    const std::vector<size_t> groups = groups_between(i, sink);
    // Two expensive calls cannot share a group.
    const auto anchors = std::count_if(groups.begin(), groups.end(), [&](size_t group) {
      return class_of_group(group) >= Fusion::kReduction;
    });
    if (anchors <= 1) unite(groups, find(sink));
  }

  // Makes them one, with `target` as its name, unless that would be too large.
  void unite(const std::vector<size_t>& groups, size_t target) {
    size_t size = 0;
    Fusion highest = Fusion::kElementwise;
    for (size_t group : groups) {
      size += sites_[group].group_size;
      highest = std::max(highest, class_of_group(group));
    }
    if (size > most_ || groups.empty()) return;
    std::vector<size_t> members;
    for (size_t group : groups) {
      members.insert(members.end(), members_[group].begin(), members_[group].end());
      sites_[group].group = target;
    }
    members_[target] = std::move(members);
    sites_[target].group_size = size;
    group_class_[target] = highest;
  }

  // The rows that a call goes along by its own nature: those of its argument.
  static const TensorType* rows_of(const Site& s) {
    if (!s.def || !s.def->by_rows || s.call->args.empty()) return nullptr;
    const auto* x = s.call->args[0]->type->as<TensorType>();
    return x && s.def->by_rows(s.call->attrs, x->rank()) ? x : nullptr;
  }

  // A row that does not stay in the cache gains nothing, and threads had better share it.
  bool is_long(const TensorType& rows) const {
    const Dim length = rows.dims[rows.rank() - 1];
    return length.is_const() && length.value() > kernel::schedule::row_at_work(cpu_);
  }

  // Is every row of the call's result made of the rows in the same places of its arguments?
  static bool goes_along(const Site& s, const List<Dim>& rows) {
    if (s.checked) return false;
    if (const TensorType* own = rows_of(s)) return own->dims == rows;
    const auto* y = s.call->type->as<TensorType>();
    if (!y || s.fusion > Fusion::kBroadcast || y->rank() != rows.size() || rows.empty()) return false;
    for (size_t d = 0; d + 1 < rows.size(); ++d) {
      if (y->dims[d] != rows[d]) return false;
    }
    return y->dims[rows.size() - 1] == rows[rows.size() - 1] || y->dims[rows.size() - 1] == Dim(1);
  }

  // What goes along rows joins what comes after it along the same rows, whatever is
  // reduced on the way.
  void join_rows(size_t i) {
    const size_t sink = sites_[i].post_dominator;
    if (sink == SIZE_MAX || find(i) == find(sink) || !one_tensor(sites_[i])) return;
    const std::vector<size_t> groups = groups_between(i, sink);
    const TensorType* rows = nullptr;
    for (size_t group : groups) {
      for (size_t x : members_[group]) rows = rows == nullptr ? rows_of(sites_[x]) : rows;
    }
    if (rows == nullptr || is_long(*rows)) return;
    for (size_t group : groups) {
      for (size_t x : members_[group]) {
        if (!goes_along(sites_[x], rows->dims)) return;
      }
    }
    unite(groups, find(sink));
  }

  // Does the call keep a matrix of so many rows and columns, or one value for each of its rows?
  static bool keeps_rows(const Site& s, Dim rows, Dim columns) {
    const auto* y = s.call->type->as<TensorType>();
    if (s.checked || !y || y->dtype != kFloat32 || y->rank() < 2 || y->dims[y->rank() - 2] != rows)
      return false;
    const Dim length = y->dims[y->rank() - 1];
    if (const TensorType* own = rows_of(s)) return own->dims[own->rank() - 1] == columns;
    if (s.def && s.def->view) {
      const auto* x = s.call->args[0]->type->as<TensorType>();
      return length == columns && x && x->rank() > 0 && x->dims[x->rank() - 1] == columns;
    }
    return s.fusion <= Fusion::kBroadcast && (length == columns || length == Dim(1));
  }

  // The product `i` and the next one, if what lies between goes along the rows of the first and
  // something normalises them. Of few rows there are few scores, and little is won.
  void join_attention(size_t i) {
    constexpr int64_t kFewestRows = 16;
    const auto is_product = [&](size_t x) { return sites_[x].def == &op::kBatchMatmul; };
    const auto* scores = sites_[i].call->type->as<TensorType>();
    if (!is_product(i) || !scores || scores->dtype != kFloat32) return;
    const Dim rows = scores->dims[1], columns = scores->dims[2];
    if (!rows.is_const() || !columns.is_const()) return;
    if (rows.value() < kFewestRows || columns.value() > longest_) return;
    size_t sink = sites_[i].post_dominator;
    while (sink != SIZE_MAX && !is_product(sink)) sink = sites_[sink].post_dominator;
    if (sink == SIZE_MAX) return;
    const std::vector<size_t> groups = groups_between(i, sink);
    const auto inside = [&](Expr e) {
      const auto it = site_of_.find(e);
      return it != site_of_.end() &&
             std::find(groups.begin(), groups.end(), find(it->second)) != groups.end();
    };
    const Call& last = *sites_[sink].call;
    const auto product = analysis::product_view(&last);
    const bool multiplies_rows =
        product && !product->left_transposed && inside(last.args[0]) && !inside(last.args[1]);
    if (!multiplies_rows || members_[find(sink)].size() != 1) return;
    bool normalised = false;
    for (size_t group : groups) {
      for (size_t x : members_[group]) {
        if (x == i || x == sink) continue;
        if (!keeps_rows(sites_[x], rows, columns)) return;
        normalised |= rows_of(sites_[x]) != nullptr;
      }
    }
    if (normalised) unite(groups, find(sink));
  }

  // Replaces the last call of each group by a call of a function that holds the group.
  Expr extract() {
    std::vector<std::vector<size_t>> members(sites_.size());
    for (size_t i = 0; i < sites_.size(); ++i) members[find(i)].push_back(i);
    std::unordered_map<Expr, size_t> group_of_last;
    for (size_t g = 0; g < sites_.size(); ++g) {
      if (members[g].empty()) continue;
      const bool only_view = std::all_of(members[g].begin(), members[g].end(),
                                         [&](size_t i) { return sites_[i].def && sites_[i].def->view; });
      const bool only_kernel = members[g].size() == 1 && !sites_[members[g][0]].def;
      if (only_view || only_kernel) continue;
      if (auto shapes = shape_arguments(members[g])) {
        group_of_last[sites_[members[g].back()].call] = g;
        shape_arguments_[g] = std::move(*shapes);
      }
    }
    // Bottom-up: when the last call of a group is met its outside arguments have been
    // rewritten already.
    NodeMap<Expr> now;
    for (Expr e : post_order(root_)) {
      const auto it = group_of_last.find(e);
      if (it != group_of_last.end()) {
        now[e] = primitive(members[it->second], shape_arguments_[it->second], now);
        continue;
      }
      std::vector<Expr> children;
      for_each_child(e, [&](Expr child) { children.push_back(now.get(child)); });
      now[e] = with_children(context_, e, children);
    }
    return now.get(root_);
  }

  // What the group takes from outside, in evaluation order: the effects of arguments happen in
  // that order, too.
  std::vector<Expr> taken(const std::vector<size_t>& members) {
    std::unordered_set<Expr> calls, seen;
    for (size_t i : members) calls.insert(sites_[i].call);
    std::vector<Expr> out, pending{sites_[members.back()].call};
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      if (!seen.insert(e).second) continue;
      if (!calls.contains(e)) {
        out.push_back(e);
        continue;
      }
      const size_t before = pending.size();
      for (Expr arg : e->as<Call>()->args) {
        const auto* tuple = arg->as<Tuple>();
        if (!tuple) pending.push_back(arg);
        for (size_t i = 0; tuple && i < tuple->fields.size(); ++i) pending.push_back(tuple->fields[i]);
      }
      std::reverse(pending.begin() + static_cast<ptrdiff_t>(before), pending.end());
    }
    return out;
  }

  // A tensor that a function is given, and the extents that its type tells.
  struct Source {
    Expr value;
    std::vector<kernel::Expr> extents;
  };

  static void add_extents(const TensorType& t, std::vector<kernel::Expr>& out) {
    for (Dim d : t.dims) {
      if (d.is_symbolic()) out.push_back(d.symbolic());
    }
  }

  // A kernel is told the shapes of what it takes and nothing else. Where these do not determine its
  // own, as of zeros(shape=[n]), it takes tensors that the functions around are given as well, of
  // which it reads the extents alone. Nothing if that does not do.
  std::optional<std::vector<Expr>> shape_arguments(const std::vector<size_t>& members) {
    std::vector<kernel::Expr> given, needed;
    const auto dims = [](Type root, std::vector<kernel::Expr>& out) {
      for (const TensorType* t : op::flatten(std::vector<Type>{root})) add_extents(*t, out);
    };
    for (Expr e : taken(members)) dims(e->type, given);
    for (size_t i : members) dims(sites_[i].call->type, needed);
    std::vector<Expr> out;
    auto known = kernel::determined_by(given);
    for (kernel::Expr e : needed) {
      for (kernel::Expr v : kernel::variables(e)) {
        if (known.contains(v.get())) continue;
        const std::vector<Source> sources = sources_that_tell(v, given, sites_[members.back()].call);
        if (sources.empty()) return std::nullopt;
        for (const Source& source : sources) {
          out.push_back(source.value);
          given.insert(given.end(), source.extents.begin(), source.extents.end());
        }
        known = kernel::determined_by(given);
      }
    }
    return out;
  }

  // What tells this extent, where others are given: one tensor if that is enough, else no more than
  // are needed. Inner functions are asked first. None if there is nothing that does.
  std::vector<Source> sources_that_tell(kernel::Expr extent, const std::vector<kernel::Expr>& given,
                                        Expr call) const {
    const auto tell = [&](std::span<const Source> sources) {
      std::vector<kernel::Expr> all = given;
      for (const Source& s : sources) all.insert(all.end(), s.extents.begin(), s.extents.end());
      return kernel::determined_by(all).contains(extent.get());
    };
    std::vector<Source> together;
    for (uint32_t s = scopes_.scope_of.get(call);; s = scopes_.all[s].parent) {
      if (const auto fn = function_with_.find(scopes_.all[s].body); fn != function_with_.end()) {
        for (Source& source : sources_of(*fn->second)) {
          if (tell({&source, 1})) return {source};
          together.push_back(std::move(source));
        }
        if (tell(together)) break;
      }
      if (s == scopes_.all[s].parent) return {};
    }
    for (size_t i = together.size(); i-- > 0;) {
      Source last = std::move(together[i]);
      together.erase(together.begin() + static_cast<ptrdiff_t>(i));
      if (!tell(together)) together.insert(together.begin() + static_cast<ptrdiff_t>(i), std::move(last));
    }
    return together;
  }

  // The function's parameters with extents, and those in tuples.
  std::vector<Source> sources_of(const Fn& fn) const {
    relay::Builder b(context_);
    std::vector<Source> out;
    std::vector<Expr> pending(fn.params.begin(), fn.params.end());
    std::reverse(pending.begin(), pending.end());
    // A tuple of tuples that share their fields may have more than anybody looks at.
    for (size_t looked = 0; !pending.empty() && looked < kMostSources; ++looked) {
      const Expr e = pending.back();
      pending.pop_back();
      if (!e->type) continue;
      if (const auto* t = e->type->as<TensorType>()) {
        Source source{e, {}};
        add_extents(*t, source.extents);
        if (!source.extents.empty()) out.push_back(std::move(source));
      } else if (const auto* tuple = e->type->as<TupleType>()) {
        for (size_t i = tuple->fields.size(); i-- > 0;)
          pending.push_back(b.with_type(b.proj(e, static_cast<uint32_t>(i)), tuple->fields[i]));
      }
    }
    return out;
  }

  Expr primitive(const std::vector<size_t>& members, const std::vector<Expr>& shapes,
                 const NodeMap<Expr>& outside) {
    relay::Builder b(context_);
    std::unordered_map<Expr, Expr> inside;  // old expression -> its counterpart in the body
    std::vector<const Var*> params;
    std::vector<Expr> args;
    const auto add_param = [&](Expr e) {
      Expr typed = b.with_type(b.var("p" + std::to_string(params.size()), e->type), e->type);
      params.push_back(typed->as<Var>());
      return typed;
    };
    for (Expr e : taken(members)) {
      // Small constants become part of the code.
      if (const auto* c = e->as<Constant>(); c && c->value->size() == 1) {
        inside[e] = c;
        continue;
      }
      args.push_back(outside.get(e));
      inside[e] = add_param(e);
    }
    for (Expr e : shapes) {
      args.push_back(e);
      add_param(e);
    }
    Expr body = nullptr;
    for (size_t i : members) {
      const Call* call = sites_[i].call;
      b.set_span(call->span);
      std::vector<Expr> inner;
      for (Expr arg : call->args) {
        const auto* tuple = arg->as<Tuple>();
        if (!tuple) {
          inner.push_back(inside.at(arg));
          continue;
        }
        std::vector<Expr> fields;
        for (Expr field : tuple->fields) fields.push_back(inside.at(field));
        inner.push_back(b.with_type(b.tuple(fields), arg->type));
      }
      body = b.call(sites_[i].def ? b.op(*sites_[i].def) : call->callee, inner, call->attrs, call->type);
      inside[call] = body;
    }
    std::vector<Type> param_types;
    for (const Var* p : params) param_types.push_back(p->type);
    const Fn* fn = b.fn(params, body, body->type, context_.attrs({{"Primitive", true}}));
    Expr typed = b.with_type(fn, context_.fn_type({}, param_types, body->type));
    return b.call(typed, args, {}, body->type);
  }

  static constexpr size_t kMostSources = 4096;

  Context& context_;
  const target::Cpu& cpu_;
  analysis::UserKernels kernels_;
  Expr root_;
  size_t most_;
  int64_t longest_;
  const Scopes scopes_;
  std::unordered_map<Expr, const Fn*> function_with_;  // by its body
  std::vector<Site> sites_;                            // in post-order
  std::unordered_map<Expr, size_t> site_of_;
  std::unordered_map<Expr, uint32_t> tuple_users_;
  std::unordered_map<size_t, std::vector<Expr>> shape_arguments_;  // by group
  std::unordered_map<size_t, Fusion> group_class_;
  std::unordered_map<size_t, std::vector<size_t>>
      members_;  // of groups, once operators have joined by their classes
  analysis::Effects effects_;
};

Module fuse(const Module& m, const PassContext& pass) {
  Module out = m;
  for (const auto& [name, fn] : m.functions()) {
    if (fn->attrs.flag("Primitive")) continue;
    const size_t most = static_cast<size_t>(pass.value("max-ops"));
    Expr fused = Fuser(m, fn, pass.target.cpu, most, pass.value("attention")).run();
    if (fused != fn) out.set_function(name.text(), fused->as<Fn>());
  }
  return out;
}

// Several uses in a group are one use of the group.
Module run(const Module& m, const PassContext& pass) {
  return with_shared_lets(m, [&](const Module& now, analysis::TrapOrder) { return fuse(now, pass); });
}

}  // namespace

const Pass kFuse = {
    .name = "fuse",
    .doc = "gather operator calls into functions that become one kernel each",
    .parameters = {{"max-ops", 64, "the most operators in one kernel"},
                   {"attention", 4096, "the longest row of scores that attention becomes one kernel for"}},
    .run = run,
};

}  // namespace relay::passes
