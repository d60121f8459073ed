// Headers of functions, and the scopes of names.
#include <set>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/text/parser_impl.h"

namespace relay::text {

const Var* Parser::lookup(Symbol name) const {
  const auto it = locals_.find(name);
  return it == locals_.end() || it->second.empty() ? nullptr : it->second.back();
}

void Parser::bind(const Var* var) {
  locals_[var->name].push_back(var);
  bound_.push_back(var->name);
}

void Parser::leave_scope(size_t mark) {
  while (bound_.size() > mark) {
    locals_[bound_.back()].pop_back();
    bound_.pop_back();
  }
}

// [A, B]   [A, B, C where Broadcast(A, B, C)]
bool Parser::type_params(std::vector<const TypeVar*>& out, std::vector<Type>* where) {
  if (!take("[")) return true;
  const size_t outer = types_.mark();
  return list("]", [&] {
    if (peek().kind != TokenKind::kName) return expected("the name of a type parameter", "expected-name");
    out.push_back(types_.declare(module_.context().symbol(next().name()), outer));
    if (!where || !peek().is_word("where")) return true;
    const Span at = next().span;
    if (in_relation_) {
      error(at, "nested-relation",
            "a function type among the types of a relation has no relations of its own");
      return false;
    }
    do {
      if (!relation(*where)) return false;
    } while (take(",") && !peek().is("]"));
    return peek().is("]") || expected("`,` or `]`");
  });
}

// Broadcast(A, B, C)   nn.dense(A, B, C, units=8)
bool Parser::relation(std::vector<Type>& out) {
  if (peek().kind != TokenKind::kName)
    return expected("a relation, like `Broadcast(A, B, C)`", "expected-name");
  std::string name = next().name();
  while (peek().is(".") && lexer_.peek_second().kind == TokenKind::kName) {
    next();
    name += cat(".", next().name());
  }
  if (!need("(", "before the types of a relation")) return false;
  std::vector<Type> parts;
  std::vector<Attr> attrs;
  in_relation_ = true;
  const bool good = list(")", [&] {
    if (at_attribute()) return attributes(attrs, ")");
    parts.push_back(type());
    return parts.back() != nullptr;
  });
  in_relation_ = false;
  if (!good) return false;
  if (parts.empty()) return expected("the types of the relation before `)`", "expected-type");
  Context& context = module_.context();
  out.push_back(context.relation_type(name, parts, context.intern_attrs(std::move(attrs))));
  return true;
}

// Other languages write the type of a parameter before its name.
bool Parser::expected_parameter() {
  constexpr std::string_view kWhat = "a parameter, like `%x`";
  const Token t = peek(), behind = lexer_.peek_second();
  if (t.is_word("Tensor") && behind.is("["))
    return expected(kWhat, "missing-sigil", "a type stands behind the name: `%x: Tensor[(3), float32]`");
  const bool is_named = behind.kind == TokenKind::kLocal || behind.kind == TokenKind::kName;
  if (t.kind == TokenKind::kName && !t.quoted && is_named && DType::parse(t.text)) {
    return expected(kWhat, "missing-sigil",
                    cat("a type stands behind the name: `%", behind.text, ": ", t.text, "`"));
  }
  return expected_name(kWhat, "%");
}

// [A](%x: T, %y, attr=1) -> R. The parameters are in scope afterwards.
bool Parser::fn_header(FnHeader& header) {
  header.scope = bound_.size();
  header.types = types_.mark();
  if (!type_params(header.type_params, &header.where)) return false;
  if (!need("(", "before the parameters", Place::kParameters)) return false;
  std::vector<Attr> attrs;
  const auto param = [&]() -> bool {
    if (at_attribute()) return attributes(attrs, ")");
    if (peek().kind != TokenKind::kLocal) return expected_parameter();
    const Token name = next();
    if (take("{")) {  // {virtual_device=...}: where it lives is not ours to say
      std::vector<Attr> ignored;
      if (!attributes(ignored, "}")) return false;
      if (!need("}", "after the attributes of the parameter")) return false;
    }
    Type annotation = nullptr;
    if (take(":") && !read_annotation(annotation)) return false;
    SpanScope span(builder_, name.span);
    header.params.push_back(builder_.var(name.name(), annotation));
    return true;
  };
  if (!list(")", param)) return false;
  header.attrs = module_.context().intern_attrs(std::move(attrs));
  if (take("->") && !read_annotation(header.result)) return false;
  // Of equal names in one list the first one is meant.
  for (size_t i = header.params.size(); i-- > 0;) bind(header.params[i]);
  return true;
}

// A graph binding may be used outside the scope in which it was written, and may then mention
// variables that do not exist there. Sharing means evaluation in the lowest scope that contains all
// uses, so that is what is checked.
void Parser::check_scopes(const Fn* fn) {
  const Scopes scoped = scopes(fn);
  // Euler numbers of the tree of scopes: one scope is inside another if its interval is.
  std::vector<uint32_t> enter(scoped.all.size()), leave(scoped.all.size());
  std::vector<std::vector<uint32_t>> inner(scoped.all.size());
  for (uint32_t i = 1; i < scoped.all.size(); ++i) inner[scoped.all[i].parent].push_back(i);
  uint32_t clock = 0;
  std::vector<std::pair<uint32_t, bool>> pending{{0, false}};
  while (!pending.empty()) {
    const auto [scope, closing] = pending.back();
    pending.pop_back();
    (closing ? leave : enter)[scope] = clock++;
    if (closing) continue;
    pending.emplace_back(scope, true);
    for (uint32_t i : inner[scope]) pending.emplace_back(i, false);
  }
  // The scopes that each variable is bound in: of its binder, the children that open scopes in
  // which it is known.
  std::unordered_map<const Var*, std::vector<uint32_t>> known_in;
  const std::vector<Expr> order = post_order(fn);
  for (Expr e : order) {
    relay::match(
        e,
        [&](const Fn& f) {
          for (const Var* p : f.params) known_in[p].push_back(scoped.opens.get(&f));
        },
        [&](const Let& let) {
          known_in[let.x].push_back(scoped.opens.get(&let));
          if (const auto* f = let.value->as<Fn>()) known_in[let.x].push_back(scoped.opens.get(f));
        },
        [&](const Match& m) {
          uint32_t opened = scoped.opens.get(&m);
          for (const Arm& arm : m.arms) {
            for_each_pattern(arm.pattern, [&](Pattern p) {
              if (p->var) known_in[p->var].push_back(opened);
            });
            ++opened;
          }
        },
        [](const auto& n) {
          static_assert(!binds_variables<std::decay_t<decltype(n)>>, "where are its variables known?");
        });
  }
  std::set<uint32_t> reported;
  for (Expr user : order) {
    uint32_t position = 0, opened = 0;
    for_each_child(user, [&](Expr child) {
      const bool own_scope = opens_scope(user, position++);
      const uint32_t use = own_scope ? scoped.opens.get(user) + opened++ : scoped.scope_of.get(user);
      const auto* var = child->as<Var>();
      const auto known = var ? known_in.find(var) : known_in.end();
      if (known == known_in.end()) return;
      for (uint32_t scope : known->second) {
        if (enter[scope] <= enter[use] && leave[use] <= leave[scope]) return;
      }
      if (!reported.insert(var->id).second) return;
      error(user->span, "variable-out-of-scope",
            cat("this is used where `%", var->name.text(), "` is not in scope"))
          .label(var->span, cat("`%", var->name.text(), "` is bound here"))
          .note("a graph binding is evaluated in the smallest scope that contains all its uses");
    });
  }
}

}  // namespace relay::text
