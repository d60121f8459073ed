#include "interp/captures.h"

#include "ir/fields.h"
#include "ir/traverse.h"

namespace relay::interp {
namespace {

// The innermost function around each scope. The scopes of bodies are in `bodies`.
struct Functions {
  std::vector<const Fn*> around;  // null outside of all
  std::unordered_map<const Fn*, uint32_t> bodies;
};

Functions functions_of(const std::vector<Expr>& order, const Scopes& all) {
  Functions out;
  out.around.resize(all.all.size());
  for (Expr e : order) {
    const auto* fn = e->as<Fn>();
    if (!fn) continue;
    out.bodies[fn] = all.opens.get(e);
    out.around[all.opens.get(e)] = fn;
  }
  // Parents come before children.
  for (size_t s = 1; s < all.all.size(); ++s) {
    if (!out.around[s]) out.around[s] = out.around[all.all[s].parent];
  }
  return out;
}

// Where a variable is bound; outside of the expression if it has none.
struct Home {
  uint32_t scope = 0;
  const Fn* named = nullptr;  // the function that a let gives this name
};

std::unordered_map<Expr, Home> homes_of(const std::vector<Expr>& order, const Scopes& all) {
  std::unordered_map<Expr, Home> out;
  for (Expr e : order) {
    uint32_t scope = all.opens.get(e);
    match(
        e,
        [&](const Fn& n) {
          for (const Var* p : n.params) out[p] = {scope};
        },
        [&](const Let& n) { out[n.x] = {scope, n.value->as<Fn>()}; },
        [&](const Match& n) {
          for (const Arm& arm : n.arms) {
            for_each_pattern(arm.pattern, [&](Pattern p) {
              if (p->var) out[p->var] = {scope};
            });
            ++scope;
          }
        },
        [](const auto& n) {
          static_assert(!binds_variables<std::decay_t<decltype(n)>>, "where are they bound?");
        });
  }
  return out;
}

}  // namespace

std::unordered_map<const Fn*, std::vector<Expr>> captures_in(Expr root, const Scopes& all) {
  const std::vector<Expr> order = post_order(root);
  const Functions functions = functions_of(order, all);
  const std::unordered_map<Expr, Home> homes = homes_of(order, all);

  // Of what may be captured, in order: the scopes that mention it.
  std::vector<Expr> bound;
  std::unordered_map<Expr, std::vector<uint32_t>> mentions;
  for (Expr e : order) {
    size_t child = 0, opened = 0;
    for_each_child(e, [&](Expr part) {
      uint32_t scope = all.scope_of.get(e);
      if (opens_scope(e, child++)) scope = all.opens.get(e) + static_cast<uint32_t>(opened++);
      const bool is_shared = !is_leaf(part) && all.uses.get(part) > 1;
      if (!is_shared && !part->as<Var>()) return;
      std::vector<uint32_t>& scopes = mentions[part];
      if (scopes.empty()) bound.push_back(part);
      scopes.push_back(scope);
    });
  }

  std::unordered_map<const Fn*, std::vector<Expr>> out;
  for (const auto& [fn, body] : functions.bodies) out[fn];
  for (Expr e : bound) {
    const auto it = homes.find(e);
    const Home home = it != homes.end() ? it->second : Home{e->as<Var>() ? 0 : all.scope_of.get(e)};
    for (const uint32_t scope : mentions.at(e)) {
      // Outwards, function by function. On the way to the root, numbers of scopes fall.
      for (const Fn* fn = functions.around[scope]; fn && fn != home.named;) {
        const uint32_t body = functions.bodies.at(fn);
        std::vector<Expr>& captured = out[fn];
        if (body <= home.scope || (!captured.empty() && captured.back() == e)) break;
        captured.push_back(e);
        fn = functions.around[all.all[body].parent];
      }
    }
  }
  return out;
}

}  // namespace relay::interp
