#include "passes/gradient/program.h"

#include <algorithm>
#include <set>
#include <span>
#include <unordered_map>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/function_graph.h"
#include "ir/traverse.h"
#include "ir/type_parts.h"
#include "passes/gradient/adjoints.h"
#include "passes/gradient/constants.h"
#include "passes/gradient/type_sizes.h"

namespace relay::passes::gradient {
namespace {

// More `if` inside one another than this are not differentiated as a straight line: each of them
// evaluates what is inside once more.
constexpr uint32_t kMostNestedIfs = 8;

// Of the calls from a root to a function, a message shows so many: the last ones.
constexpr size_t kMostShownCalls = 8;

// May the function stand in a straight line? Functions may only be called, and called at once.
bool is_straight_function(const Fn* fn) {
  if (!fn->type_params.empty()) return false;
  std::set<Expr> called{fn};
  const std::vector<Expr> order = post_order(fn);
  NodeMap<uint32_t> depth;
  for (Expr e : order) {
    const auto* call = e->as<Call>();
    if (call && !called.insert(call->callee).second && call->callee->as<Fn>()) return false;
    for_each_child(e, [&](Expr child) { depth[e] = std::max(depth[e], depth.get(child)); });
    depth[e] += e->kind == ExprKind::kIf;
    if (depth.get(e) > kMostNestedIfs) return false;
  }
  return std::all_of(order.begin(), order.end(), [&](Expr e) {
    switch (e->kind) {
      case ExprKind::kFn:
      case ExprKind::kGlobal:
      case ExprKind::kOpRef: return called.contains(e);
      case ExprKind::kCtorRef:
      case ExprKind::kMatch:
      case ExprKind::kRefNew:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite: return false;
      case ExprKind::kConstant:
      case ExprKind::kVar:
      case ExprKind::kTuple:
      case ExprKind::kProj:
      case ExprKind::kCall:
      case ExprKind::kLet:
      case ExprKind::kIf: return is_of_tensors(e->type);
    }
    return false;
  });
}

}  // namespace

Program::Program(const Module& m, std::vector<Wanted> roots, Diagnostics& diagnostics)
    : module_(m), roots_(std::move(roots)), diagnostics_(diagnostics) {
  for (const Wanted& wanted : roots_) {
    const Symbol root = m.context().symbol(wanted.root);
    reached_.push_back(root);
    mentioned_.emplace(root, Mention{root, Span::none()});
  }
  for (size_t i = 0; i < reached_.size(); ++i) {
    const Symbol by = reached_[i];
    for (Expr e : post_order(m.function(by.text()))) {
      const auto* global = e->as<Global>();
      if (!global || !m.function(global->name.text())) continue;
      if (!mentioned_.emplace(global->name, Mention{by, global->span}).second) continue;
      std::string own = gradient::own_gradient(m.function(global->name.text()));
      if (own.empty())
        reached_.push_back(global->name);
      else
        own_gradients_[global->name] = std::move(own);
    }
  }
}

namespace {

std::string named_function(const Fn* fn, std::string_view attribute) {
  const AttrValue* given = fn->attrs.find(attribute);
  if (!given) return {};
  return given->kind == AttrKind::kString && !given->string.text().empty() ? given->string.str()
                                                                           : show(*given);
}

}  // namespace

std::string own_gradient(const Fn* fn) { return named_function(fn, kGradientAttribute); }

std::string own_tangent(const Fn* fn) { return named_function(fn, kTangentAttribute); }

std::string Program::own_gradient(Symbol function) const {
  const auto found = own_gradients_.find(function);
  return found == own_gradients_.end() ? std::string() : found->second;
}

void Program::refuse_wrong_gradients() const {
  for (const auto& [name, gradient] : own_gradients_) {
    const Fn* fn = module_.function(name.text());
    const Fn* back = module_.function(gradient);
    const auto* type = fn->type->as<FnType>();
    Context& context = module_.context();
    std::vector<Type> args(type->args.begin(), type->args.end());
    const Type adjoints = context.tuple_type(args);
    args.push_back(type->result);
    const Type wanted = context.fn_type({}, args, adjoints);
    const bool tensors = type->type_params.empty() && is_of_tensors(adjoints) && is_of_tensors(type->result);
    if (tensors && back && back->type == wanted) continue;
    Diagnostic& d = diagnostics_.error(
        fn->span, "bad-attribute",
        !tensors ? cat("`@", name.text(),
                       "` has the attribute `Gradient`, and not only tensors as parameters and result")
        : back   ? cat("the gradient of `@", name.text(), "` would be of the type `", show(wanted, 200),
                       "`; `@", gradient, "` is of the type `", show(back->type, 200), "`")
               : cat("the gradient of `@", name.text(), "` is no function of the module: `@", gradient, "`"));
    if (!tensors) continue;
    d.note(
        "a gradient takes the arguments and the adjoint of the result, and gives a tuple of the arguments' "
        "adjoints");
  }
}

std::string Program::new_name(std::string_view of, std::string_view suffix) const {
  std::string name = cat(of, suffix);
  const auto is_taken = [&] {
    return module_.function(name) || module_.kernel(name) || module_.data_type(name) ||
           module_.constructor(name);
  };
  while (is_taken()) name += "_";
  return name;
}

// A function comes after those that it calls. So functions that call themselves, perhaps through
// others, never have their turn.
std::set<Symbol, Module::ByName> Program::straight() const {
  std::map<Symbol, std::vector<Symbol>, Module::ByName> callers;
  std::map<Symbol, size_t, Module::ByName> open;
  for (Symbol name : reached_) open[name] = 0;
  for (Symbol name : reached_) {
    for (Symbol callee : mentioned_globals(function(name))) {
      if (!open.contains(callee)) continue;
      callers[callee].push_back(name);
      ++open[name];
    }
  }
  std::vector<Symbol> pending;
  for (Symbol name : reached_) {
    if (open[name] == 0) pending.push_back(name);
  }
  std::set<Symbol, Module::ByName> out;
  while (!pending.empty()) {
    const Symbol name = pending.back();
    pending.pop_back();
    if (!is_straight_function(function(name))) continue;
    out.insert(name);
    for (Symbol caller : callers[name]) {
      if (--open[caller] == 0) pending.push_back(caller);
    }
  }
  return out;
}

namespace {

std::string not_of_tensors(Type type) {
  return cat("it is of the type `", show(type, 100), "`, and only tensors and tuples of them have one");
}

}  // namespace

void Program::refuse_parameter(size_t root, size_t index) const {
  const Var* p = function(reached_[root])->params[index];
  if (is_of_tensors(p->type)) return;
  const std::string why = why_no_constant(module_, p->type), what = cat("parameter `%", p->name.text(), "`");
  if (roots_[root].of(index)) {
    Diagnostic& d = refuse(reached_[root], p->span, what, not_of_tensors(p->type));
    if (why.empty())
      d.note(
          "`wrt` may name the others: what it leaves out, and what a function expression in `grad` uses, is "
          "constant");
  } else if (!why.empty()) {
    refuse(reached_[root], p->span, what, cat("it is of the type `", show(p->type, 100), "`, and ", why));
  }
}

bool Program::is_differentiable() const {
  const size_t errors = diagnostics_.errors();
  refuse_deep_tuples();
  TensorCount count;
  for (size_t i = 0; i < roots_.size(); ++i) {
    const Symbol root = reached_[i];
    const Fn* fn = function(root);
    for (size_t p = 0; p < fn->params.size(); ++p) refuse_parameter(i, p);
    const Expr body = fn->body;
    if (!is_of_tensors(body->type)) refuse(root, body->span, "the result", not_of_tensors(body->type));
    if (diagnostics_.errors() == errors && count.of(fn->type) > kMostTensors) {
      refuse(root, fn->span, "the function",
             cat("its parameters and its result have more than ", kMostTensors, " tensors"));
    }
  }
  // A straight line makes of a value what its result depends on. Others carry each tensor of it.
  const size_t carried = is_straight() ? 0 : reached_.size();
  for (size_t i = 0; i < carried && diagnostics_.errors() == errors; ++i) {
    const std::vector<Expr> all = post_order(function(reached_[i]));
    const auto large = std::find_if(all.begin(), all.end(),
                                    [&](Expr e) { return e->type && count.of(e->type) > kMostTensors; });
    if (large != all.end())
      refuse(reached_[i], (*large)->span, "the value", cat("it has more than ", kMostTensors, " tensors"));
  }
  refuse_wrong_gradients();
  for (size_t i = 0; i < roots_.size() && diagnostics_.errors() == errors; ++i) {
    const Expr body = function(reached_[i])->body;
    if (!holds_floats(body->type)) refuse(reached_[i], body->span, "the result", "no float is in it");
  }
  return diagnostics_.errors() == errors;
}

void Program::refuse_deep_tuples() const {
  TupleDepth depth;
  for (Symbol name : reached_) {
    for (Expr e : post_order(module_.function(name.text()))) {
      if (!e->type || depth.of(e->type) <= kMostNestedTuples) continue;
      diagnostics_.error(e->span, "nesting-too-deep",
                         cat("`gradient` takes tuples that are nested at most ", kMostNestedTuples, " deep"));
      return;
    }
  }
}

bool Program::is_root(Symbol function) const { return mentioned_.at(function).by == function; }

Diagnostic& Program::refuse(Symbol function, Span at, std::string_view what, std::string_view reason) const {
  Diagnostic& d = diagnostics_.error(at, "not-differentiable", cat(what, " has no gradient: ", reason));
  std::string path = cat("@", function.text());
  size_t shown = 0;
  Symbol f = function;
  while (!is_root(f)) {
    const Mention& mention = mentioned_.at(f);
    if (shown++ >= kMostShownCalls && !is_root(mention.by)) {
      while (!is_root(f)) f = mentioned_.at(f).by;
      path = cat("@", f.text(), " -> ... -> ", path);
      break;
    }
    d.label(mention.at, cat("`@", mention.by.text(), "` uses `@", f.text(), "` here"));
    f = mention.by;
    path = cat("@", f.text(), " -> ", path);
  }
  if (!is_root(function)) d.note(cat("the gradient of `@", f.text(), "` comes here by `", path, "`"));
  return d;
}

}  // namespace relay::passes::gradient
