#include "passes/external_regions.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "analysis/effects.h"
#include "analysis/external_functions.h"
#include "base/cat.h"
#include "base/check.h"
#include "ir/analysis.h"
#include "ir/builder.h"
#include "ir/rewrite.h"
#include "pattern/partition.h"
#include "pattern/text.h"

namespace relay::passes {
namespace {

// --- composites ----------------------------------------------------------------------------------

std::vector<pattern::Pattern> read_patterns(const ExternalPatterns& table) {
  std::vector<pattern::Pattern> out;
  for (const ExternalPattern& p : table.patterns) {
    Diagnostics diagnostics;
    const Result<pattern::Pattern> read =
        pattern::parse(std::string(p.name), std::string(p.text), diagnostics);
    CHECK(read.ok(), cat("the pattern ", p.name, " is no pattern"));
    out.push_back(*read);
  }
  return out;
}

Expr with_composites(Context& context, Expr root, const ExternalPatterns& table,
                     const std::vector<pattern::Pattern>& patterns) {
  for (size_t i = 0; i < patterns.size(); ++i) {
    pattern::PartitionOptions options;
    options.attrs.push_back({std::string(analysis::kComposite), std::string(table.patterns[i].name)});
    options.check = [&](const pattern::Match& m) { return table.takes(context, m); };
    root = pattern::partition(context, patterns[i], root, options);
  }
  return root;
}

// The call of a composite of the table; null if the expression is something else.
const Call* composite_call(Expr e, const ExternalPatterns& table) {
  const auto* call = e->as<Call>();
  const auto* fn = call ? call->callee->as<Fn>() : nullptr;
  const AttrValue* name = fn ? fn->attrs.find(analysis::kComposite) : nullptr;
  if (!name || name->kind != AttrKind::kString) return nullptr;
  const auto is_it = [&](const ExternalPattern& p) { return name->string.text() == p.name; };
  return std::any_of(table.patterns.begin(), table.patterns.end(), is_it) ? call : nullptr;
}

// --- functions of the module ---------------------------------------------------------------------

// Adds functions to the module: one for all that are equal.
class Functions {
 public:
  Functions(Module& m, std::string_view compiler) : m_(m), compiler_(compiler) {}

  // Its name.
  std::string add(const Fn* fn) {
    const uint64_t hash = structural_hash(fn);
    for (auto [it, end] = made_.equal_range(hash); it != end; ++it) {
      if (alpha_equal(it->second.first, fn)) return it->second.second;
    }
    std::string name;
    do {
      name = cat(compiler_, "_", next_++);
    } while (m_.function(name) || m_.kernel(name));
    m_.set_function(name, fn);
    made_.emplace(hash, std::pair(fn, name));
    return name;
  }

 private:
  Module& m_;
  const std::string_view compiler_;
  size_t next_ = 0;
  std::multimap<uint64_t, std::pair<const Fn*, std::string>> made_;
};

// Gives regions of composites in one function to functions of their own.
class Lifting {
 public:
  Lifting(const Module& m, Expr root, const ExternalPatterns& table, bool merges, Functions& functions)
      : context_(m.context()),
        root_(root),
        table_(table),
        merges_(merges),
        functions_(functions),
        order_(post_order(root)),
        scopes_(scopes(root)),
        effects_(m, root) {}

  Expr run() {
    for (Expr e : order_) {
      for_each_child(e, [&](Expr child) { users_[child].push_back(e); });
    }
    // Users come first: a composite joins the region that all of them are in.
    for (size_t i = order_.size(); i-- > 0;) {
      if (const Call* call = composite_call(order_[i], table_)) place(*call);
    }
    return regions_.empty() ? root_ : rebuild();
  }

 private:
  void place(const Call& call) {
    const uint32_t joined = merges_ ? region_to_join(call) : 0;
    if (joined == 0) regions_.emplace_back();
    region_of_[&call] = joined == 0 ? static_cast<uint32_t>(regions_.size()) : joined;
    const uint32_t region = region_of_[&call];
    regions_[region - 1].push_back(&call);
    noticed_.resize(regions_.size());
    noticed_[region - 1].erase(&call);
    for (Expr arg : call.args) {
      if (!effects_.silent(arg)) noticed_[region - 1].insert(arg);
    }
  }

  // The number of the region that may take the call; 0 if there is none. What it has as arguments
  // is evaluated elsewhere among the region's other arguments afterwards, which nothing may notice.
  uint32_t region_to_join(const Call& call) {
    const std::vector<Expr>& users = users_[&call];
    if (users.empty()) return 0;
    const uint32_t region = region_of_.get(users.front());
    const auto is_inside = [&](Expr user) {
      return region_of_.get(user) == region && scopes_.scope_of.get(user) == scopes_.scope_of.get(&call);
    };
    if (region == 0 || !std::all_of(users.begin(), users.end(), is_inside)) return 0;
    const std::set<Expr>& noticed = noticed_[region - 1];
    if (noticed.size() > noticed.count(&call)) return 0;
    return std::all_of(call.args.begin(), call.args.end(), [&](Expr arg) { return effects_.silent(arg); })
               ? region
               : 0;
  }

  Expr rebuild() {
    std::unordered_map<Expr, uint32_t> number_of_last;
    for (uint32_t i = 0; i < regions_.size(); ++i) {
      // The user of all others was placed first.
      number_of_last.emplace(regions_[i].front(), i);
      std::reverse(regions_[i].begin(), regions_[i].end());
    }
    for (Expr e : order_) {
      if (const auto last = number_of_last.find(e); last != number_of_last.end()) {
        now_[e] = call_of(regions_[last->second]);
      } else if (region_of_.get(e) == 0) {
        std::vector<Expr> children;
        for_each_child(e, [&](Expr child) { children.push_back(now_.get(child)); });
        now_[e] = with_children(context_, e, children);
      }
    }
    return now_.get(root_);
  }

  // The region's calls are in evaluation order; the last one is its result.
  Expr call_of(const std::vector<const Call*>& calls) {
    Builder b(context_);
    const Call& last = *calls.back();
    b.set_span(last.span);
    NodeMap<Expr> inside;
    std::vector<const Var*> params;
    std::vector<Expr> args;
    for (const Call* call : calls) {
      std::vector<Expr> children{call->callee};
      for (Expr arg : call->args) {
        if (!inside.get(arg)) {
          const auto* var = arg->as<Var>();
          const std::string name = var ? var->name.str() : cat("x", params.size());
          params.push_back(b.with_type(b.var(name, arg->type), arg->type)->as<Var>());
          args.push_back(now_.get(arg));
          inside[arg] = params.back();
        }
        children.push_back(inside.get(arg));
      }
      inside[call] = with_children(context_, call, children);
    }
    const Attrs attrs = context_.attrs({{std::string(analysis::kCompiler), std::string(table_.compiler)}});
    const std::string name = functions_.add(b.fn(params, inside.get(&last), nullptr, attrs));
    return b.call(b.global(name), args, {}, last.type);
  }

  Context& context_;
  const Expr root_;
  const ExternalPatterns& table_;
  const bool merges_;
  Functions& functions_;
  const std::vector<Expr> order_;
  const Scopes scopes_;
  analysis::Effects effects_;
  NodeMap<std::vector<Expr>> users_;
  NodeMap<uint32_t> region_of_;                    // number in regions_, from 1
  std::vector<std::vector<const Call*>> regions_;  // each with users before what they use
  std::vector<std::set<Expr>> noticed_;            // of each: arguments from outside that are not silent
  NodeMap<Expr> now_;
};

}  // namespace

Module with_external_regions(const Module& m, const ExternalPatterns& table, bool merges) {
  const std::vector<pattern::Pattern> patterns = read_patterns(table);
  Module out = m;
  Functions functions(out, table.compiler);
  for (const auto& [name, fn] : m.functions()) {
    if (fn->attrs.find(analysis::kCompiler)) continue;
    const Expr composites = with_composites(m.context(), fn, table, patterns);
    const Expr now = Lifting(m, composites, table, merges, functions).run();
    if (now != fn) out.set_function(name.text(), now->as<Fn>());
  }
  return out;
}

}  // namespace relay::passes
