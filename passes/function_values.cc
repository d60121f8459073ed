#include "passes/function_values.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/reachable.h"
#include "ir/rewrite.h"
#include "passes/first_problem.h"
#include "passes/function_types.h"
#include "passes/inner_pass.h"

namespace relay::passes {
namespace {

// Of all function literals together: one in the other may capture the same things again and again.
constexpr size_t kMostCaptured = 1000000;

class Converter {
 public:
  Converter(const Module& m, const std::set<Symbol>& used, FunctionForm form)
      : before_(m), out_(m), context_(m.context()), b_(context_), types_(out_, used), form_(form) {}

  // The module with data in the place of functions; nothing if it is out of reach.
  std::optional<Module> run() {
    for (const auto& [name, fn] : before_.functions()) find_values(fn);
    for (const auto& [name, fn] : before_.functions()) {
      function_ = name;
      convert(*fn);
      if (!problem_.empty()) return std::nullopt;
    }
    declare();
    return out_;
  }

  const std::string& problem() const { return problem_; }

 private:
  // A function literal that is a value, and the global function that has its code.
  struct Literal {
    const Constructor* ctor;  // holds what it captures
    const Global* code;
    std::vector<const Var*> captured, params;
    const Var* closure;  // kCodes: the parameter that holds what is captured
    Expr body;
    Type result;
    Span span;
  };

  // Notes which function literals are values, and which lets name them.
  void find_values(const Fn* root) {
    for (Expr e : post_order(root->body)) {
      const auto* call = e->as<Call>();
      for_each_child(e, [&](Expr child) {
        if (child->as<Fn>() && !(call && call->callee == child)) values_.insert(child);
      });
      if (const auto* let = e->as<Let>(); let && let->value->as<Fn>()) names_[let->value].push_back(let->x);
    }
    if (root->body->as<Fn>()) values_.insert(root->body);
  }

  // --- functions of the module -----------------------------------------------------------------

  void convert(const Fn& fn) {
    for (Expr e : post_order(fn.body)) {
      const SpanScope at(b_, e->span);
      now_[e] = node(e);
      if (!problem_.empty()) return;
    }
    const Expr now = function(fn);
    if (now != &fn) out_.set_function(function_.text(), now->as<Fn>());
  }

  const Var* variable(const Var* v) {
    Expr& now = now_[v];
    if (!now) {
      const Type annotation = types_.of(v->annotation), type = types_.of(v->type);
      const SpanScope at(b_, v->span);
      const bool same = annotation == v->annotation && type == v->type;
      now = same ? v : b_.with_type(b_.var(v->name.text(), annotation), type);
    }
    return now->as<Var>();
  }

  // The function with its parts converted; itself if they are the same.
  Expr function(const Fn& fn) {
    std::vector<const Var*> params;
    for (const Var* p : fn.params) params.push_back(variable(p));
    const Expr body = now_.get(fn.body);
    const Type result = types_.of(fn.result);
    if (body == fn.body && result == fn.result && std::equal(params.begin(), params.end(), fn.params.begin()))
      return &fn;
    const SpanScope at(b_, fn.span);
    return b_.fn(params, body, result, fn.attrs);
  }

  // --- expressions -----------------------------------------------------------------------------

  Expr node(Expr e) {
    if (const auto* v = e->as<Var>()) return variable(v);
    if (const auto* call = e->as<Call>()) return this->call(*call);
    const auto* fn = e->as<Fn>();
    if (!fn) return is_leaf(e) && !e->as<CtorRef>() ? e : rebuilt(e);
    const Expr now = function(*fn);
    called_[e] = now;
    return values_.contains(e) ? lifted(*now->as<Fn>(), *fn) : now;
  }

  Expr rebuilt(Expr e) {
    if (const auto* ctor = e->as<CtorRef>()) {
      const Constructor* now = types_.ctor(ctor->ctor);
      return now == ctor->ctor ? e : b_.ctor(*now);
    }
    std::vector<Expr> children;
    std::vector<Type> type_args;
    const auto* call = e->as<Call>();
    for_each_child(e, [&](Expr child) {
      const bool is_called = call && children.empty() && child->as<Fn>();
      children.push_back(is_called ? called_.get(child) : now_.get(child));
    });
    if (call) {
      for (Type t : call->type_args) type_args.push_back(types_.of(t));
    }
    return rebuild(context_, e,
                   {.children = children,
                    .var = [&](const Var* v) { return variable(v); },
                    .ctor = [&](const Constructor* c) { return types_.ctor(c); },
                    .type = types_.of(e->type),
                    .type_args = type_args});
  }

  // The callee is still evaluated first.
  Expr call(const Call& n) {
    if (is_known_callee(n.callee)) return rebuilt(&n);
    const auto* type = n.callee->type->as<FnType>();
    std::vector<Expr> args{now_.get(n.callee)};
    for (Expr arg : n.args) args.push_back(now_.get(arg));
    return b_.call(b_.global(caller(types_.number(type))), args, {}, types_.of(n.type));
  }

  // The global function that calls a value of this type of functions.
  std::string caller(size_t number) {
    while (callers_.size() <= number) callers_.push_back(fresh_name(before_, cat("call_", callers_.size())));
    return callers_[number];
  }

  // --- function literals -----------------------------------------------------------------------

  // The value that takes the place of a function literal, whose code becomes a global function.
  Expr lifted(const Fn& fn, const Fn& original) {
    std::vector<const Var*> captured = free_vars(&fn), selves;
    for (const Var* name : names_[&original]) {
      if (std::erase(captured, variable(name)) > 0) selves.push_back(variable(name));
    }
    captured_ += captured.size();
    if (captured_ > kMostCaptured) return refuse("its functions capture too much in all", fn.span);
    std::vector<Type> fields;
    for (const Var* x : captured) {
      const Type t = x->type;
      if (!t || t->has_symbolic_dim || t->has_type_var || t->has_hole)
        return refuse(cat("a function captures %", x->name.text(), " of type ", relay::show(t)), fn.span);
      fields.push_back(t);
    }
    const size_t number = types_.number(original.type->as<FnType>());
    if (literals_.size() <= number) literals_.resize(number + 1);
    Literal made = code_of(fn, captured, selves, number, fields);
    made.result = types_.of(original.type->as<FnType>()->result);
    literals_[number].push_back(made);
    return value(number, made, std::vector<Expr>(captured.begin(), captured.end()));
  }

  Literal code_of(const Fn& fn, const std::vector<const Var*>& captured,
                  const std::vector<const Var*>& selves, size_t number, const std::vector<Type>& fields) {
    Literal made{};
    made.span = fn.span;
    made.ctor = constructor(number, fields);
    made.code = b_.global(fresh_name(out_, cat(function_.text(), "_code_", codes_++)));
    const SpanScope at(b_, fn.span);
    std::unordered_map<const Var*, Expr> by;
    const auto fresh = [&](const Var* x, bool annotated) {
      const Var* now =
          b_.with_type(b_.var(x->name.text(), annotated ? x->type : nullptr), x->type)->as<Var>();
      by[x] = now;
      return now;
    };
    // What a pattern binds needs no type.
    for (const Var* x : captured) made.captured.push_back(fresh(x, form_ == FunctionForm::kTags));
    for (const Var* x : fn.params) made.params.push_back(fresh(x, true));
    const Type held = context_.data_type(holder(number).text(), {});
    made.closure = b_.with_type(b_.var("captured", held), held)->as<Var>();
    const Expr self = form_ == FunctionForm::kCodes
                          ? closure(number, made.code, made.closure)
                          : value(number, made, {made.captured.begin(), made.captured.end()});
    for (const Var* x : selves) by[x] = self;
    made.body = refresh(context_, substitute(context_, fn.body, by));
    // The name is taken from now on; `declare` knows what all of them are.
    out_.set_function(made.code->name.text(), b_.fn({}, made.body));
    return made;
  }

  // The next one that holds what a literal of the type captures.
  const Constructor* constructor(size_t number, const std::vector<Type>& fields) {
    Constructor out{};
    out.data_type = holder(number);
    out.tag = static_cast<uint32_t>(literals_[number].size());
    out.name = context_.symbol(fresh_name(before_, cat(out.data_type.text(), "_", out.tag)));
    out.fields = context_.arena().list(fields);
    return context_.arena().make<Constructor>(out);
  }

  // The data type whose constructors hold what literals of the type capture.
  Symbol holder(size_t number) {
    if (form_ == FunctionForm::kTags) return types_.name(number);
    while (holders_.size() <= number)
      holders_.push_back(context_.symbol(fresh_name(before_, cat("Captured_", holders_.size()))));
    return holders_[number];
  }

  Expr value(size_t number, const Literal& literal, const std::vector<Expr>& captured) {
    const Type held = context_.data_type(literal.ctor->data_type.text(), {});
    const Expr data = b_.call(b_.ctor(*literal.ctor), captured, {}, held);
    return form_ == FunctionForm::kTags ? data : closure(number, literal.code, data);
  }

  // kCodes: a value of the type of functions.
  Expr closure(size_t number, const Global* code, Expr captured) {
    return b_.call(b_.ctor(*pair_of(number)), {code, captured}, {}, types_.data_type(number));
  }

  // kCodes: the constructor of such a value.
  const Constructor* pair_of(size_t number) {
    if (pairs_.size() <= number) pairs_.resize(number + 1);
    if (!pairs_[number]) {
      const FnType* type = types_.function(number);
      std::vector<Type> takes{context_.data_type(holder(number).text(), {})};
      for (Type t : type->args) takes.push_back(types_.of(t));
      const std::vector<Type> fields{context_.fn_type({}, takes, types_.of(type->result)), takes[0]};
      Constructor ctor{};
      ctor.name = ctor.data_type = types_.name(number);
      ctor.fields = context_.arena().list(fields);
      pairs_[number] = context_.arena().make<Constructor>(ctor);
    }
    return pairs_[number];
  }

  // --- declarations ----------------------------------------------------------------------------

  void declare() {
    for (size_t i = 0; i < types_.count(); ++i) {  // more may be met on the way
      if (literals_.size() <= i) literals_.resize(i + 1);
      std::vector<const Constructor*> ctors;
      for (const Literal& l : literals_[i]) ctors.push_back(l.ctor);
      if (ctors.empty()) ctors.push_back(constructor(i, {}));  // nothing makes such a value
      declare(holder(i), ctors);
      if (form_ == FunctionForm::kCodes) declare(types_.name(i), {pair_of(i)});
      for (const Literal& l : literals_[i]) declare_code(l, literals_[i].size());
      declare_caller(i);
    }
  }

  void declare(Symbol name, const std::vector<const Constructor*>& ctors) {
    DataTypeDef def{};
    def.name = name;
    def.ctors = context_.arena().list(ctors);
    out_.set_data_type(context_.arena().make<DataTypeDef>(def));
  }

  Pattern holding(const Constructor* ctor, const std::vector<const Var*>& fields) {
    std::vector<Pattern> parts;
    for (const Var* x : fields) parts.push_back(b_.bind(x));
    return b_.ctor_pattern(*ctor, parts);
  }

  void declare_code(const Literal& l, size_t of) {
    const SpanScope at(b_, l.span);
    std::vector<const Var*> params = form_ == FunctionForm::kCodes ? std::vector{l.closure} : l.captured;
    params.insert(params.end(), l.params.begin(), l.params.end());
    Expr body = l.body;
    if (form_ == FunctionForm::kCodes) {
      const Arm arm{holding(l.ctor, l.captured), body};
      body = b_.match(l.closure, std::span(&arm, 1), of == 1);
    }
    out_.set_function(l.code->name.text(), b_.fn(params, body, l.result));
  }

  void declare_caller(size_t number) {
    const FnType* type = types_.function(number);
    const std::vector<Literal>& literals = literals_[number];
    const SpanScope at(b_, literals.empty() ? Span::none() : literals.front().span);
    const auto param = [&](std::string_view name, Type t) {
      return b_.with_type(b_.var(name, t), t)->as<Var>();
    };
    const auto field = [&](std::string_view name, Type t) {
      return b_.with_type(b_.var(name), t)->as<Var>();
    };
    std::vector<const Var*> params{param("f", types_.data_type(number))};
    std::vector<Expr> args;
    for (Type t : type->args) {
      params.push_back(param(cat("a", args.size()), types_.of(t)));
      args.push_back(params.back());
    }
    std::vector<Arm> arms;
    const auto add_arm = [&](const Constructor* ctor, Expr code, const std::vector<const Var*>& fields,
                             std::vector<Expr> first) {
      first.insert(first.end(), args.begin(), args.end());
      arms.push_back({holding(ctor, fields), b_.call(code, first)});
    };
    if (form_ == FunctionForm::kCodes) {
      const Constructor* pair = pair_of(number);
      const Var *code = field("code", pair->fields[0]), *captured = field("captured", pair->fields[1]);
      add_arm(pair, code, {code, captured}, {captured});
    } else {
      for (const Literal& l : literals) {
        std::vector<const Var*> fields;
        for (Type t : l.ctor->fields) fields.push_back(field(cat("c", fields.size()), t));
        add_arm(l.ctor, l.code, fields, {fields.begin(), fields.end()});
      }
    }
    // No value gets to a function that has none to call.
    const std::vector<Expr> same(params.begin(), params.end());
    const Expr body = arms.empty() ? static_cast<Expr>(b_.call(b_.global(caller(number)), same))
                                   : b_.match(params[0], arms, true);
    out_.set_function(caller(number), b_.fn(params, body, types_.of(type->result)));
  }

  Expr refuse(std::string why, Span at) {
    const std::string where = at.known() ? cat("at ", context_.sources().place(at), " ") : "";
    if (problem_.empty()) problem_ = cat(where, why);
    return b_.tuple(std::span<const Expr>());
  }

  const Module before_;
  Module out_;
  Context& context_;
  relay::Builder b_;
  FunctionTypes types_;
  const FunctionForm form_;
  Symbol function_;  // at hand
  std::unordered_set<Expr> values_;
  std::unordered_map<Expr, std::vector<const Var*>> names_;
  NodeMap<Expr> now_;
  NodeMap<Expr> called_;                        // of function literals: what is called in their place
  std::vector<std::vector<Literal>> literals_;  // by the number of their type, as all below
  std::vector<std::string> callers_;
  std::vector<Symbol> holders_;
  std::vector<const Constructor*> pairs_;
  size_t captured_ = 0, codes_ = 0;
  std::string problem_;
};

// Is a function literal a value that this form would replace?
bool has_function_values(const Module& m, FunctionForm form) {
  return !(form == FunctionForm::kTags ? breaks_defunctionalisation(m) : breaks_closure_conversion(m))
              .empty();
}

}  // namespace

Module with_function_data(const Module& m, const PassContext& pass, FunctionForm form) {
  if (!m.function("main")) {
    pass.stays("there is no @main");
    return m;
  }
  const Module reached = only_reachable_from(m, "main");
  if (!has_function_values(reached, form)) return m;
  std::optional<Module> now =
      checked_inside(with_declared_parameters(reached), pass, "with its type parameters declared");
  if (now) now = after_inner_pass(*now, kMonomorphise, pass, {{"all", 1}});
  if (now) now = after_inner_pass(only_reachable_from(*now, "main"), kEtaExpand, pass);
  if (now) now = checked_inside(with_function_literals(*now), pass, "with function literals");
  if (now) now = after_inner_pass(*now, kToBasicBlockForm, pass);
  if (!now) return m;
  std::set<Symbol> used;
  std::string problem = keeps_function_values(*now, used);
  if (problem.empty()) {
    Converter converter(*now, used, form);
    const std::optional<Module> out = converter.run();
    const std::optional<Module> typed =
        out ? checked_inside(*out, pass, "with functions as data") : std::nullopt;
    if (typed) return *typed;
    problem = converter.problem();
  }
  if (!problem.empty()) pass.stays(problem);
  return m;
}

std::string breaks_defunctionalisation(const Module& m) {
  return first_problem(m, [](Expr) -> Condition {
    return [](Expr e) -> std::string_view {
      const auto* call = e->as<Call>();
      bool found = call && !is_known_callee(call->callee);
      size_t position = 0;
      for_each_child(e, [&](Expr child) {
        const bool is_called = call && position++ == 0;
        found |= !is_called && child->type && child->type->as<FnType>();
      });
      return found ? "a function is a value" : "";
    };
  });
}

std::string breaks_closure_conversion(const Module& m) {
  return first_problem(m, [](Expr) -> Condition {
    return [](Expr e) -> std::string_view {
      const auto* call = e->as<Call>();
      bool found = false;
      size_t position = 0;
      for_each_child(e, [&](Expr child) {
        const bool is_called = call && position++ == 0;
        found |= !is_called && child->as<Fn>();
      });
      return found ? "a function literal is a value" : "";
    };
  });
}

}  // namespace relay::passes
