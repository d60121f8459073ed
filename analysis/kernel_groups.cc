#include "analysis/kernel_groups.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "analysis/effects.h"
#include "analysis/primitives.h"
#include "analysis/user_kernels.h"
#include "analysis/views.h"
#include "ir/analysis.h"
#include "op/ops.h"
#include "op/registry.h"

namespace relay::analysis {
namespace {

using op::Fusion;

// One call of the dataflow graph.
struct Site {
  const Call* call;
  const op::OpDef* def;  // null: a user kernel
  Fusion fusion;
  std::vector<size_t> users;  // sites of the same scope, in order; complete unless `escapes`
  bool escapes = false;       // something else uses the value too
  bool checked = false;       // compares extents when the program runs: equal ones are not known to be
  // The post-dominator tree: sites come after their producers, so users have higher indices.
  size_t post_dominator = SIZE_MAX;  // SIZE_MAX: the end of the scope
  uint32_t depth = 0;
  Fusion on_the_way = Fusion::kElementwise;  // the most demanding class on any path to it, both ends excluded
  size_t group = 0;                          // union-find parent; the representative is the last site
  size_t group_size = 1, group_additions = 0;
};

bool is_addition(const Site& s) { return s.def == &op::kAdd; }

class Grouping {
 public:
  Grouping(const Module& m, Expr root, const kernel::schedule::Accepts& accepts, const GroupLimits& limits)
      : context_(m.context()),
        accepts_(accepts),
        kernels_(m),
        root_(root),
        limits_(limits),
        scopes_(scopes(root)),
        effects_(m, root) {}

  KernelGroups run() {
    collect();
    find_post_dominators();
    for (size_t i = 0; i < sites_.size(); ++i) {
      members_[i] = {i};
      sites_[i].group_additions = is_addition(sites_[i]);
    }
    // Expensive calls choose their elementwise followers first; then elementwise ones join what
    // follows them; then injective ones, which read elements from elsewhere, join what follows, up
    // to and including a reduction. Forwards, so that a group that has just grown can go on
    // growing at its new end.
    for (int phase = 0; phase < 3; ++phase) {
      for (size_t i = 0; i < sites_.size(); ++i) join(i, phase);
    }
    for (size_t i = 0; i < sites_.size(); ++i) join_rows(i);
    for (size_t i = 0; i < sites_.size(); ++i) join_attention(i);
    return groups();
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
    const Fit fit = fit_of(context_, call, *def);
    if (fit == Fit::kUnknown) return std::nullopt;
    Site site{&call, def, def->fusion, {}};
    site.checked = fit == Fit::kChecked;
    return site;
  }

  void collect() {
    const Scopes& scopes = scopes_;
    const std::vector<Expr> order = post_order(root_);
    const std::unordered_set<Expr> fused_before = inside_primitives(order);
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
                  (s.def && may_trap_on_values(*s.call, *s.def));
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

  // Is it computed by a kernel that can add something to it?
  bool can_add_itself(Expr e) {
    const auto it = site_of_.find(e);
    return it != site_of_.end() && class_of_group(it->second) == Fusion::kOutputFusable;
  }

  // Returns how many tensors the additions of these groups sum: products of the groups, and what
  // they read from outside in the shape of the sum. Returns 0 if none of them can add itself to the
  // others: then smaller kernels only read and write more. Linear in the groups.
  size_t addends(const std::vector<size_t>& groups) {
    std::unordered_set<Expr> inside, summed;
    size_t products = 0;
    for (size_t group : groups) {
      for (size_t x : members_[group]) {
        inside.insert(sites_[x].call);
        products += sites_[x].fusion == Fusion::kOutputFusable;
      }
    }
    for (size_t group : groups) {
      for (size_t x : members_[group]) {
        const Call& call = *sites_[x].call;
        if (!is_addition(sites_[x])) continue;
        for (Expr arg : call.args) {
          if (arg->type == call.type && !inside.contains(arg)) summed.insert(arg);
        }
      }
    }
    const bool can_be_less =
        products > 0 || std::any_of(summed.begin(), summed.end(), [&](Expr e) { return can_add_itself(e); });
    return can_be_less ? summed.size() + products : 0;
  }

  // Makes them one, with `target` as its name, unless that would be too large.
  void unite(const std::vector<size_t>& groups, size_t target) {
    size_t size = 0, additions = 0;
    Fusion highest = Fusion::kElementwise;
    for (size_t group : groups) {
      size += sites_[group].group_size;
      additions += sites_[group].group_additions;
      highest = std::max(highest, class_of_group(group));
    }
    if (size > limits_.most_calls || groups.empty()) return;
    // Counted where there may be so many: two of each addition, and one product of each group.
    if (2 * additions + groups.size() > limits_.most_addends && addends(groups) > limits_.most_addends)
      return;
    std::vector<size_t> members;
    for (size_t group : groups) {
      members.insert(members.end(), members_[group].begin(), members_[group].end());
      sites_[group].group = target;
    }
    members_[target] = std::move(members);
    sites_[target].group_size = size;
    sites_[target].group_additions = additions;
    group_class_[target] = highest;
  }

  // The rows that a call goes along by its own nature: those of its argument.
  static const TensorType* rows_of(const Site& s) {
    if (!s.def || !s.def->by_rows || s.call->args.empty()) return nullptr;
    const auto* x = s.call->args[0]->type->as<TensorType>();
    return x && s.def->by_rows(s.call->attrs, x->rank()) ? x : nullptr;
  }

  // A row that does not stay near the processor gains nothing, and threads had better share it.
  bool is_long(const TensorType& rows) const {
    const Dim length = rows.dims[rows.rank() - 1];
    return length.is_const() && length.value() > accepts_.longest_row;
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
    if (s.checked || !y || y->rank() < 2 || y->dims[y->rank() - 2] != rows) return false;
    // A condition, such as `isnan` of a row that is masked as a whole, is computed
    // where it is used.
    const bool is_condition = y->dtype.is_bool() && s.fusion <= Fusion::kBroadcast;
    if (y->dtype != kFloat32 && !is_condition) return false;
    const Dim length = y->dims[y->rank() - 1];
    if (const TensorType* own = rows_of(s)) return own->dims[own->rank() - 1] == columns;
    if (s.def && s.def->view) {
      const auto* x = s.call->args[0]->type->as<TensorType>();
      return length == columns && x && x->rank() > 0 && x->dims[x->rank() - 1] == columns;
    }
    return s.fusion <= Fusion::kBroadcast && (length == columns || length == Dim(1));
  }

  // The product `i` and the next one, if what lies between goes along the rows of the first and
  // something normalises them. Where only the run knows how many scores there are, the kernel asks.
  void join_attention(size_t i) {
    const int64_t longest = std::min(accepts_.longest_score_row, limits_.longest_attention);
    if (longest == 0) return;
    // The panels of a constant weight are made beforehand, but for products of batches.
    const auto is_product = [&](size_t x) {
      const auto product = product_view(sites_[x].call);
      return product && (product->batched || !product->weight());
    };
    const auto* scores = sites_[i].call->type->as<TensorType>();
    if (!is_product(i) || !scores || scores->dtype != kFloat32 || scores->rank() < 2) return;
    const Dim rows = scores->dims[scores->rank() - 2], columns = scores->dims[scores->rank() - 1];
    if (rows.is_const() && rows.value() < accepts_.fewest_score_rows) return;
    if (columns.is_const() && columns.value() > longest) return;
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
    const auto first = product_view(sites_[i].call), product = product_view(&last);
    const bool multiplies_rows =
        product && !product->left_transposed && inside(last.args[0]) && !inside(last.args[1]);
    if (!multiplies_rows || members_[find(sink)].size() != 1) return;
    // Of matrices, keys and values have a row for each score. Weights of two layers have not: a
    // kernel of both would put them into panels at each call, and win nothing.
    const bool has_keys = first->batched || (first->right_transposed && !product->right_transposed);
    if (!has_keys) return;
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

  // Those that compute something.
  KernelGroups groups() {
    std::vector<std::vector<const Call*>> by_site(sites_.size());
    for (size_t i = 0; i < sites_.size(); ++i) by_site[find(i)].push_back(sites_[i].call);
    KernelGroups out;
    for (size_t i = 0; i < sites_.size(); ++i) {
      std::vector<const Call*>& calls = by_site[i];
      const auto is_view = [](const Call* c) {
        const op::OpDef* def = op::callee(*c);
        return def && def->view;
      };
      if (!calls.empty() && !std::all_of(calls.begin(), calls.end(), is_view))
        out.push_back(std::move(calls));
    }
    return out;
  }

  Context& context_;
  const kernel::schedule::Accepts accepts_;
  UserKernels kernels_;
  Expr root_;
  const GroupLimits& limits_;
  const Scopes scopes_;
  std::vector<Site> sites_;  // in post-order
  std::unordered_map<Expr, size_t> site_of_;
  std::unordered_map<Expr, uint32_t> tuple_users_;
  std::unordered_map<size_t, Fusion> group_class_;
  std::unordered_map<size_t, std::vector<size_t>> members_;  // of groups
  Effects effects_;
};

}  // namespace

KernelGroups kernel_groups(const Module& m, Expr root, const kernel::schedule::Accepts& accepts,
                           const GroupLimits& limits) {
  return Grouping(m, root, accepts, limits).run();
}

}  // namespace relay::analysis
