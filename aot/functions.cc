// The functions of a program as C++ (see program.h).
//
// A value of the program is a local variable of type Value. A shared node is evaluated where its
// scope begins, as the language defines it (docs/semantics.md, "Sharing"). Every function begins by
// asking whether the run goes on, and what gives no value ends it.
#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "aot/arenas.h"
#include "aot/captures.h"
#include "aot/decisions.h"
#include "aot/extents.h"
#include "aot/kernel_calls.h"
#include "aot/ports.h"
#include "aot/program.h"
#include "aot/tail_position.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/escape.h"
#include "base/failure.h"
#include "ir/analysis.h"
#include "ir/traverse.h"
#include "kernel/execute.h"
#include "op/apply.h"
#include "op/registry.h"

namespace relay::aot {
namespace {

// The program's names for functions and variables. Nothing else in the text begins like these, and
// the number makes each unique.
std::string unique_name(std::string_view kind, std::string_view name, size_t number) {
  constexpr size_t kLongest = 32;  // with the number it stays a whole identifier
  return c_identifier(cat(kind, name.substr(0, kLongest), "_", number));
}
std::string function_name(std::string_view prefix, std::string_view name, size_t number) {
  return cat(prefix, unique_name("fn_", name, number));
}
std::string variable_name(std::string_view name, size_t number) { return unique_name("let_", name, number); }

// A function literal, or a global function: the same to its caller but for what it has captured.
struct Function {
  const Fn* fn = nullptr;
  std::string name;
  const Scopes* scopes = nullptr;                         // of the global function around it
  const NodeMap<std::vector<Expr>>* mentioned = nullptr;  // captures.h, likewise
  const Var* self = nullptr;                              // by which a closure calls itself
  std::vector<Expr> captures = {};
  std::vector<const kernel::ExprNode*> extents = {};  // shape variables that it takes from around it
  bool gives_outputs = false;                         // tail_position.h
};

class Printer {
 public:
  Printer(const Program& p, std::string_view prefix, DeviceLibrary& device_library,
          const std::function<uint64_t(size_t)>& offset)
      : p_(p), prefix_(prefix), device_library_(device_library), offset_(offset), calls_(p, device_library) {}

  std::string print() {
    const std::set<Symbol> in_tail_position = functions_in_tail_position(p_);
    for (Symbol name : p_.functions) {
      Function f{p_.module.function(name.text()), function_name(prefix_, name.text(), next_++)};
      f.gives_outputs = in_tail_position.contains(name);
      scopes_.push_back(std::make_unique<Scopes>(scopes(f.fn->body)));
      f.scopes = scopes_.back().get();
      captures_.push_back(std::make_unique<NodeMap<std::vector<Expr>>>(find_captures(f.fn->body, *f.scopes)));
      f.mentioned = captures_.back().get();
      globals_[std::string(name.text())] = functions_.size();
      functions_.push_back(f);
    }
    for (size_t i = 0; i < p_.plan.constants.size(); ++i) constant(i);
    std::string bodies;
    for (size_t i = 0; i < functions_.size(); ++i) bodies += function(i);  // closures are added on the way
    std::string declarations;
    for (const Function& f : functions_) declarations += cat(signature(f), ";\n", any_signature(f), ";\n");
    return cat(calls_.print(), wrappers_, declarations, "\n", bodies, "Value ", prefix_,
               "run_main(Run& run, Value* args) {\n  return ", calls_.any_deferred() ? "flushed(run, " : "",
               "finish(run, ", functions_.front().name, "_any(run, Value(), args))",
               calls_.any_deferred() ? ")" : "", ";\n}\n");
  }

 private:
  void constant(size_t i) {
    std::vector<std::string> extents;
    for (int64_t e : p_.plan.constants[i].shape()) extents.push_back(cat(e));
    wrappers_ +=
        cat("Value constant_", prefix_, i, "(Run& run) {\n",
            print_tensor("  ", "v", extents, cat("make_view(run, run.weights + ", offset_(i), ", "), ")"),
            "  return v;\n}\n");
  }

  // --- Functions ---------------------------------------------------------------------------------

  // The closure itself comes first; a global function is given nothing for it.
  std::string signature(const Function& f) const {
    std::vector<std::string> parameters{"Run& run", "const Value& self"};
    for (size_t i = 0; i < f.fn->params.size(); ++i) parameters.push_back(cat("[[maybe_unused]] Value a", i));
    return cat("[[maybe_unused]] Value ", f.name, "(", join(parameters, ", "), ")");
  }
  static std::string any_signature(const Function& f) {
    return cat("[[maybe_unused]] Value ", f.name, "_any(Run& run, const Value& self, Value* args)");
  }

  // Twice (arenas.h): what the first time adds for closures and constructors, the second
  // time adds again.
  std::string function(size_t index) {
    const size_t next = next_, functions = functions_.size(), text = wrappers_.size();
    const std::set<std::string> constructors = constructors_;
    arenas_ = {};
    function_once(index);
    arenas_.plan(device_library_.has_arenas(), [&](kernel::Expr e) { return print_extent(e, at_entry_); });
    next_ = next;
    functions_.erase(functions_.begin() + static_cast<ptrdiff_t>(functions), functions_.end());
    wrappers_.resize(text);
    constructors_ = constructors;
    return function_once(index);
  }

  std::string function_once(size_t index) {
    const Function f = functions_[index];
    text_.clear();
    names_.clear();
    renamed_.clear();
    extents_.clear();
    indent_ = "    ";
    current_ = index;
    for (size_t i = 0; i < f.captures.size(); ++i) names_[f.captures[i]] = cat("field(self, ", i, ")");
    for (size_t i = 0; i < f.extents.size(); ++i) {
      extents_[f.extents[i]] = cat("n", i);
      line(cat("const int64_t n", i, " = *data<int64_t>(field(self, ", f.captures.size() + i, "));"));
    }
    if (f.self) names_[f.self] = "self";
    std::vector<Place> places;
    for (size_t i = 0; i < f.fn->params.size(); ++i) {
      names_[f.fn->params[i]] = cat("a", i);
      add_places(f.fn->params[i]->type, cat("a", i), places);
    }
    bind_extents(places);
    at_entry_ = extents_;
    scope(f.fn->body, "");
    std::vector<std::string> args{"run", "self"};
    for (size_t i = 0; i < f.fn->params.size(); ++i)
      args.push_back(cat("static_cast<Value&&>(args[", i, "])"));
    return cat(signature(f), " {\n  (void)self;\n  for (;;) {\n    if (!run.enter()) return {};\n", text_,
               "  }\n}\n", any_signature(f), " {\n  (void)args;\n  return ", f.name, "(", join(args, ", "),
               ");\n}\n\n");
  }

  // An extent of a parameter, as C++, and the dim that its type has there.
  struct Place {
    std::string extent;
    const TensorType* type;
    size_t dim;
    Dim asked() const { return type->dims[dim]; }
  };

  static void add_places(Type type, const std::string& value, std::vector<Place>& out) {
    if (const auto* tuple = type->as<TupleType>()) {
      for (uint32_t i = 0; i < tuple->fields.size(); ++i)
        add_places(tuple->fields[i], cat("field(", value, ", ", i, ")"), out);
    } else if (const auto* t = type->as<TensorType>()) {
      for (size_t d = 0; d < t->rank(); ++d) out.push_back({cat("extent(", value, ", ", d, ")"), t, d});
    }
  }

  // The shape variables of parameters: where one stands alone, or else by a dim like `2*n + 1`. A
  // shape that the types do not allow ends the run.
  void bind_extents(const std::vector<Place>& places) {
    const auto trap = [&](const std::string& condition, const Place& p) {
      line(cat("if (", condition, ") return run.trap(",
               c_string(cat(kWrongShape, "an argument of a function is not ", show(p.type), ": dimension ",
                            p.dim, " is not ", show(p.asked()))),
               ");"));
    };
    const auto bind = [&](kernel::Expr v, const std::string& value) {
      const std::string n = extents_[v.get()] = cat("n", extents_.size());
      line(cat("[[maybe_unused]] const int64_t ", n, " = ", value, ";"));
      return n;
    };
    std::vector<const Place*> others, checked;
    for (const Place& p : places) {
      const Dim dim = p.asked();
      if (dim.is_symbolic() && dim.symbolic()->kind == kernel::ExprKind::kVar &&
          !extents_.contains(dim.symbolic().get())) {
        bind(dim.symbolic(), p.extent);
        continue;
      }
      if (dim.is_symbolic()) others.push_back(&p);
      if (!dim.is_unknown()) checked.push_back(&p);
    }
    std::vector<kernel::Expr> asked;
    for (const Place* p : others) asked.push_back(p->asked().symbolic());
    std::unordered_set<const kernel::ExprNode*> known;
    for (const auto& [variable, name] : extents_) known.insert(variable);
    for (const kernel::ExtentRule& rule : kernel::extent_rules(asked, known)) {
      const Place& p = *others[rule.extent];
      const std::string rest = extent_of(Dim(rule.rest));
      trap(cat(bind(rule.variable, cat("difference_of(", p.extent, ", ", rest, ") / ", rule.coefficient)),
               " < 0"),
           p);
    }
    for (const Place* p : checked) {
      const auto is_known = [&](kernel::Expr v) { return extents_.contains(v.get()); };
      if (p->asked().is_symbolic() && !is_printable(p->asked().symbolic(), is_known)) continue;
      trap(cat(p->extent, " != ", extent_of(p->asked())), *p);
    }
  }

  std::string extent_of(Dim d) const {
    return d.is_const() ? cat(d.value()) : print_extent(d.symbolic(), extents_);
  }
  static std::string print_extent(kernel::Expr e, const Extents& names) {
    return aot::print_extent(e, [&](kernel::Expr v) {
      const auto it = names.find(v.get());
      CHECK(it != names.end(), cat("extent `", show(v), "` is not known"));
      return it->second;
    });
  }

  void line(const std::string& text) { text_ += cat(indent_, text, "\n"); }
  void open(const std::string& text) {
    line(text);
    indent_ += "  ";
    arenas_.begin_block();
  }
  void close(const std::string& text) {
    arenas_.end_block();
    indent_.resize(indent_.size() - 2);
    line(text);
  }
  // Closes a block and opens the next one on the same line.
  void reopen(const std::string& text) {
    close(text);
    indent_ += "  ";
    arenas_.begin_block();
  }

  // A new variable with this value, which ends the function if there is none.
  std::string variable(const std::string& value, std::string_view name = "v") {
    return named(cat(name, "_", next_++), value);
  }
  std::string named(const std::string& v, const std::string& value) {
    line(cat("Value ", v, " = ", value, ";"));
    line(cat("if (!", v, ") return {};"));
    return v;
  }

  // An expression has this value from here on, until `forget`.
  void set_name(Expr e, std::string value) {
    std::string& name = names_[e];
    renamed_.emplace_back(e, std::exchange(name, std::move(value)));
  }
  // Expressions have the values that they had when `renamed_` was as long as this.
  void forget(size_t length) {
    for (; renamed_.size() > length; renamed_.pop_back()) {
      auto& [e, before] = renamed_.back();
      if (before.empty()) {
        names_.erase(e);
      } else {
        names_[e] = std::move(before);
      }
    }
  }

  // The expression of a scope: to the variable `into`, or as the function's result
  // if that is empty.
  void scope(Expr body, const std::string& into) {
    begin_scope(body);
    result(body, into);
  }
  void begin_scope(Expr body) {
    for (Expr shared : shared_in(body)) {
      if (!names_.contains(shared)) set_name(shared, borrow(shared));
    }
  }
  // What is evaluated where the scope begins, in order.
  std::vector<Expr> shared_in(Expr body) const {
    const Scopes& all = *functions_[current_].scopes;
    const Scopes::Scope& scope = all.all[all.scope_of_body.get(body)];
    if (scope.body != body) return {};
    return {scope.shared.begin(), scope.shared.end()};
  }

  // The value of an expression that stands last.
  void result(Expr e, const std::string& into) {
    for (const Let* let; (let = e->as<Let>()) != nullptr && !names_.contains(e);) {
      bind(*let);
      e = let->body;
      begin_scope(e);
    }
    if (!names_.contains(e)) {
      if (const auto* n = e->as<If>()) return branches(*n, into);
      if (const auto* n = e->as<Match>()) return arms(*n, into);
      if (const auto* call = e->as<Call>(); call && into.empty() && last_call(*call)) return;
    }
    size_t output = 0;
    const std::string value =
        into.empty() && functions_[current_].gives_outputs ? give(e, output) : evaluate(e);
    line(into.empty() ? cat("return ", value, ";") : cat(into, " = ", value, ";"));
  }

  // What the program gives, from this output on.
  std::string give(Expr e, size_t& output) {
    if (const auto* tuple = e->as<Tuple>(); tuple && !names_.contains(e)) {
      std::vector<std::string> parts{"run", "0"};
      for (Expr f : tuple->fields) parts.push_back(give(f, output));
      return variable(cat("make_node(", join(parts, ", "), ")"));
    }
    std::string value = evaluate(e);
    if (e->type->as<TensorType>()) arenas_.give(value, output);
    std::vector<passes::PlanPort> ports;
    add_ports(e->type, "", ports);
    output += ports.size();
    return value;
  }

  void bind(const Let& let) {
    if (const auto* fn = let.value->as<Fn>(); fn && !names_.contains(let.value)) {
      set_name(let.x, closure(*fn, let.x));
    } else {
      // A name of its own, also for what has one: values do not change.
      set_name(let.x, borrow(let.value));
    }
  }

  void branches(const If& n, const std::string& into) {
    const std::string condition = borrow(n.cond);
    const size_t before = renamed_.size();
    text_ += calls_.flush(indent_);
    arenas_.use(condition);
    arenas_.fork();
    std::vector<std::string> lines;
    const std::string is_true = device_library_.truth(condition, next_++, lines);
    for (const std::string& l : lines) line(l);
    open(cat("if (", is_true, ") {"));
    scope(n.then_branch, into);
    forget(before);
    arenas_.next_way();
    reopen("} else {");
    scope(n.else_branch, into);
    forget(before);
    close("}");
    arenas_.end_fork();
  }

  // The variables that the pattern binds of a value which it fits.
  void bind_pattern(Pattern p, const std::string& value) {
    if (p->kind == PatternKind::kVar) set_name(p->var, value);
    for (uint32_t i = 0; i < p->fields.size(); ++i)
      bind_pattern(p->fields[i], cat("field(", value, ", ", i, ")"));
  }

  void arms(const Match& n, const std::string& into) {
    const std::string value = evaluate(n.value);
    const std::optional<Decision> tree = decide(n, p_.module);
    if (!tree) return arms_in_turn(n, value, into);
    // An arm that several ways lead to is written once, after the decision.
    if (most_ways(*tree) <= 1) {
      return decision(*tree, value, [&](size_t arm) { take_arm(n, arm, value, into); });
    }
    const std::string chosen = cat("arm_", next_++);
    line(cat("uint32_t ", chosen, " = 0;"));
    decision(*tree, value, [&](size_t arm) { line(cat(chosen, " = ", arm, ";")); });
    take_chosen(n, chosen, value, into);
  }

  void take_chosen(const Match& n, const std::string& chosen, const std::string& value,
                   const std::string& into) {
    open(cat("switch (", chosen, ") {"));
    arenas_.fork();
    for (size_t i = 0; i < n.arms.size(); ++i) {
      if (i > 0) arenas_.next_way();
      // The value is one of these: the last one needs no test.
      open(i + 1 < n.arms.size() ? cat("case ", i, ": {") : "default: {");
      take_arm(n, i, value, into);
      line("break;");
      close("}");
    }
    arenas_.end_fork();
    close("}");
  }

  void take_arm(const Match& n, size_t arm, const std::string& value, const std::string& into) {
    const size_t before = renamed_.size();
    bind_pattern(n.arms[arm].pattern, value);
    scope(n.arms[arm].body, into);
    forget(before);
  }

  static size_t most_ways(const Decision& tree) {
    std::map<size_t, size_t> ways;
    const auto count = [&](const auto& self, const Decision& d) -> void {
      if (d.arm) ++ways[*d.arm];
      for (const auto& [tag, next] : d.cases) self(self, next);
      if (d.otherwise) self(self, *d.otherwise);
    };
    count(count, tree);
    size_t most = 0;
    for (const auto& [arm, number] : ways) most = std::max(most, number);
    return most;
  }

  void decision(const Decision& d, const std::string& value, const std::function<void(size_t)>& take) {
    if (d.arm) return take(*d.arm);
    if (d.is_leaf()) return line(cat("return run.trap(", c_string(kNoArm), ");"));
    std::string part = value;
    for (uint32_t i : d.path) part = cat("field(", part, ", ", i, ")");
    // The last way needs no test: nothing else is left.
    std::vector<std::pair<std::string, const Decision*>> ways;
    for (const auto& [tag, next] : d.cases) ways.emplace_back(cat(tag), &next);
    if (d.otherwise) ways.emplace_back("", d.otherwise.get());
    const bool is_switch = ways.size() > 2;
    if (is_switch) open(cat("switch (tag(", part, ")) {"));
    arenas_.fork();
    for (size_t i = 0; i < ways.size(); ++i) {
      const bool last = i + 1 == ways.size();
      if (i > 0) arenas_.next_way();
      if (is_switch) {
        open(last ? "default: {" : cat("case ", ways[i].first, ": {"));
      } else if (i == 0) {
        open(cat("if (tag(", part, ") == ", ways[i].first, ") {"));
      } else {
        reopen("} else {");
      }
      decision(*ways[i].second, value, take);
      if (is_switch) line("break;");
      if (is_switch || last) close("}");
    }
    arenas_.end_fork();
    if (is_switch) close("}");
  }

  // What the pattern asks of a value.
  void test(Pattern p, const std::string& value, std::vector<std::string>& conditions) const {
    if (p->kind == PatternKind::kCtor && p_.module.data_type(p->ctor->data_type.text())->ctors.size() > 1)
      conditions.push_back(cat("tag(", value, ") == ", p->ctor->tag));
    for (uint32_t i = 0; i < p->fields.size(); ++i)
      test(p->fields[i], cat("field(", value, ", ", i, ")"), conditions);
  }

  // One arm after the other. Compilers end, or take minutes, at some thousands of `else if`: clang
  // 14 and 19 at 20000.
  void arms_in_turn(const Match& n, const std::string& value, const std::string& into) {
    constexpr size_t kMostElseIfs = 256;
    if (n.arms.size() <= kMostElseIfs) return else_ifs(n, value, into);
    const std::string chosen = cat("arm_", next_++);
    const size_t none = n.arms.size();
    line(cat("uint32_t ", chosen, " = ", none, ";"));
    for (size_t i = 0; i < n.arms.size(); ++i) {
      std::vector<std::string> conditions{cat(chosen, " == ", none)};
      test(n.arms[i].pattern, value, conditions);
      line(cat("if (", join(conditions, " && "), ") ", chosen, " = ", i, ";"));
    }
    if (!n.total) line(cat("if (", chosen, " == ", none, ") return run.trap(", c_string(kNoArm), ");"));
    take_chosen(n, chosen, value, into);
  }

  void else_ifs(const Match& n, const std::string& value, const std::string& into) {
    bool open_else = false, always = false;
    const auto begin_way = [&](const std::string& head) {
      if (open_else) {
        arenas_.next_way();
        reopen(cat("} else ", head));
      } else {
        open(head);
      }
      open_else = true;
    };
    arenas_.fork();
    for (size_t i = 0; i < n.arms.size() && !always; ++i) {
      std::vector<std::string> conditions;
      test(n.arms[i].pattern, value, conditions);
      // Of a match that covers everything, the last arm fits if the others do not.
      always = conditions.empty() || (n.total && i + 1 == n.arms.size());
      begin_way(always ? "{" : cat("if (", join(conditions, " && "), ") {"));
      take_arm(n, i, value, into);
    }
    if (!always) {
      begin_way("{");
      line(cat("return run.trap(", c_string(kNoArm), ");"));
    }
    close("}");
    arenas_.end_fork();
  }

  std::vector<std::string> arguments(const Call& call) {
    std::vector<std::string> out;
    for (Expr a : call.args) out.push_back(evaluate(a));
    return out;
  }

  // The global function or the closure under its own name that is called; null if it
  // is something else.
  const Function* direct(Expr callee) const {
    if (const auto* global = callee->as<Global>()) {
      const auto it = globals_.find(std::string(global->name.text()));
      return it == globals_.end() ? nullptr : &functions_[it->second];
    }
    const Function& f = functions_[current_];
    return f.self != nullptr && callee == f.self ? &f : nullptr;
  }

  // A call whose value is the function's: of the function itself it is a loop, others are made
  // later. False if it is no call of a function.
  bool last_call(const Call& call) {
    if (op::callee(call) || call.callee->as<CtorRef>()) return false;
    if (const auto* g = call.callee->as<Global>(); g && p_.module.kernel(g->name.text())) return false;
    const Function* f = direct(call.callee);
    if (f == &functions_[current_]) {
      const std::vector<std::string> args = arguments(call);
      // Arguments may be parameters: they are all read before one is written.
      for (size_t i = 0; i < args.size(); ++i) line(cat("Value t", i, " = ", args[i], ";"));
      for (size_t i = 0; i < args.size(); ++i) line(cat("a", i, " = static_cast<Value&&>(t", i, ");"));
      line("continue;");
      return true;
    }
    const std::string callee = f ? "" : evaluate(call.callee);
    std::vector<std::string> args = arguments(call);
    args.insert(args.begin(), f ? cat(f->name, "_any, Value()") : cat(callee, "->code, ", callee));
    args.insert(args.begin(), "run");
    line(cat("return later(", join(args, ", "), ");"));
    return true;
  }

  // The value of an expression as the text of a variable or a path to one.
  std::string evaluate(Expr e) {
    std::string value = borrow(e);
    arenas_.keep(value);
    return value;
  }
  // For a use that tells `arenas_` itself when it reads the value. Operands of operands may
  // be of any depth.
  std::string borrow(Expr root) {
    std::vector<Step> steps{{Do::kVisit, root}};
    std::vector<std::string> values;  // of operands whose user is not finished
    const auto take = [&] {
      std::string value = std::move(values.back());
      values.pop_back();
      return value;
    };
    while (!steps.empty()) {
      const Step step = steps.back();
      steps.pop_back();
      switch (step.what) {
        case Do::kVisit:
          if (const auto it = names_.find(step.e); it != names_.end()) {
            values.push_back(it->second);
          } else {
            visit(step.e, steps);
          }
          break;
        case Do::kName: set_name(step.e, take()); break;
        case Do::kScope: visit_scope(step.e, steps); break;
        case Do::kForget: forget(step.number); break;
        case Do::kFinish: {
          const std::vector<std::string> operands(values.end() - static_cast<ptrdiff_t>(step.number),
                                                  values.end());
          values.resize(values.size() - step.number);
          values.push_back(finish(step.e, operands));
          break;
        }
      }
    }
    return take();
  }

  enum class Do : uint8_t { kVisit, kFinish, kName, kScope, kForget };
  struct Step {
    Do what;
    Expr e;
    size_t number = 0;  // of operands, or the length of `renamed_`
  };

  // Pushes what is to be done for the value of an expression, last step first.
  void visit(Expr e, std::vector<Step>& steps) {
    if (const auto* let = e->as<Let>()) {
      steps.push_back({Do::kForget, e, renamed_.size()});
      steps.push_back({Do::kScope, let->body});
      if (const auto* fn = let->value->as<Fn>(); fn && !names_.contains(let->value)) {
        set_name(let->x, closure(*fn, let->x));
      } else {
        steps.push_back({Do::kName, let->x});
        steps.push_back({Do::kVisit, let->value});
      }
      return;
    }
    const std::vector<Expr> operands = operands_of(e);
    steps.push_back({Do::kFinish, e, operands.size()});
    for (size_t i = operands.size(); i-- > 0;) steps.push_back({Do::kVisit, operands[i]});
  }

  void visit_scope(Expr body, std::vector<Step>& steps) {
    steps.push_back({Do::kVisit, body});
    const std::vector<Expr> all = shared_in(body);
    for (size_t i = all.size(); i-- > 0;) {
      if (names_.contains(all[i])) continue;
      steps.push_back({Do::kName, all[i]});
      steps.push_back({Do::kVisit, all[i]});
    }
  }

  // What is evaluated where the expression stands, in order. Control forms evaluate
  // theirs in blocks.
  std::vector<Expr> operands_of(Expr e) const {
    std::vector<Expr> out;
    switch (e->kind) {
      case ExprKind::kConstant:
      case ExprKind::kVar:
      case ExprKind::kGlobal:
      case ExprKind::kOpRef:
      case ExprKind::kCtorRef:
      case ExprKind::kFn:
      case ExprKind::kIf:
      case ExprKind::kMatch: return out;
      case ExprKind::kTuple:
      case ExprKind::kProj:
      case ExprKind::kLet:
      case ExprKind::kRefNew:
      case ExprKind::kRefRead:
      case ExprKind::kRefWrite: for_each_child(e, [&](Expr child) { out.push_back(child); }); return out;
      case ExprKind::kCall: break;
    }
    const auto* call = e->as<Call>();
    // Of a view all arguments: one that is only there for its shape may trap.
    if (op::callee(*call)) return {call->args.begin(), call->args.end()};
    const auto* global = call->callee->as<Global>();
    const bool is_kernel = global && p_.module.kernel(global->name.text());
    if (!is_kernel && !call->callee->as<CtorRef>() && !direct(call->callee)) out.push_back(call->callee);
    out.insert(out.end(), call->args.begin(), call->args.end());
    return out;
  }

  std::string finish(Expr e, const std::vector<std::string>& operands) {
    // A kernel call and a view may read what lies in an arena; all else keeps what it is given.
    if (!e->as<Call>()) keep(operands);
    switch (e->kind) {
      case ExprKind::kConstant:
        return variable(cat("constant_", prefix_, p_.constants.at(e), "(run)"), "weight");
      case ExprKind::kVar:
        CHECK(false, cat("variable %", e->as<Var>()->name.text(), " has no value"));
        return {};
      case ExprKind::kGlobal: {
        if (const kernel::Kernel* k = p_.module.kernel(e->as<Global>()->name.text())) return kernel_value(*k);
        const Function* f = direct(e);
        return variable(cat("make_closure(run, ", f->name, "_any)"));
      }
      case ExprKind::kOpRef: CHECK(false, "an operator has no value"); return {};
      case ExprKind::kCtorRef: return constructor(*e->as<CtorRef>());
      case ExprKind::kTuple: return variable(made("make_node", "0", operands));
      case ExprKind::kProj: return variable(cat("field(", operands[0], ", ", e->as<Proj>()->index, ")"));
      case ExprKind::kFn: return closure(*e->as<Fn>(), nullptr);
      case ExprKind::kCall: return called(*e->as<Call>(), operands);
      case ExprKind::kLet: CHECK(false, "a let is evaluated in steps"); return {};
      case ExprKind::kIf:
      case ExprKind::kMatch: {
        const std::string v = cat("v_", next_++);
        line(cat("Value ", v, ";"));
        open("{");
        const size_t before = renamed_.size();
        if (const auto* n = e->as<If>()) {
          branches(*n, v);
        } else {
          arms(*e->as<Match>(), v);
        }
        forget(before);
        close("}");
        return v;
      }
      case ExprKind::kRefNew: return variable(cat("make_reference(run, ", copy(operands[0]), ")"));
      case ExprKind::kRefRead: return variable(cat("field(", operands[0], ", 0)"));
      case ExprKind::kRefWrite: {
        line(cat("write(", operands[0], ", ", operands[1], ");"));
        return variable("make_node(run, 0)");
      }
    }
    return {};
  }

  void keep(const std::vector<std::string>& values) {
    for (const std::string& value : values) arenas_.keep(value);
  }
  // `function(run, first, values...)`.
  static std::string made(std::string_view function, std::string_view first,
                          const std::vector<std::string>& values) {
    return cat(function, "(run, ", first, join(values, "", [](const std::string& v) { return ", " + v; }),
               ")");
  }

  static std::string copy(const std::string& value) { return cat("Value(", value, ")"); }

  // The first operand's elements under another shape.
  std::string view(const std::vector<std::string>& operands, const op::OpDef& def, const View& view) {
    const std::string& x = operands[0];
    // The view waits for elements of deferred calls, and extents that it opens are asked for later.
    if (calls_.any_deferred()) arenas_.keep(x);
    for (const View::Opened& o : view.opened) {
      arenas_.keep(operands[o.arg]);
      extents_[o.variable.get()] = cat("extent(", operands[o.arg], ", ", o.axis, ")");
    }
    for (const op::DimCheck& check : view.checks) {
      const std::string a = extent_of(check.a), b = extent_of(check.b);
      const std::string one = cat(op::one_fits_first(check) ? cat(" && ", a, " != 1") : "",
                                  op::one_fits_second(check) ? cat(" && ", b, " != 1") : "");
      line(cat("if (", a, " != ", b, one, ") return run.trap(",
               c_string(cat(kWrongShape, "`", def.name, "`: ", show(check.a), " and ", show(check.b), " ",
                            op::what_is_wrong(check))),
               ");"));
    }
    std::vector<std::string> extents;
    for (Dim d : view.dims) extents.push_back(extent_of(d));
    const std::string v = cat("v_", next_++);
    const std::string keeper = arenas_.is_borrowed(x) ? "" : cat(", ", copy(x));
    text_ += calls_.any_deferred()
                 ? print_tensor(indent_, v, extents, cat("view_of(run, ", x, ", "), ")")
                 : print_tensor(indent_, v, extents, cat("make_view(run, ", x, "->data, "), cat(keeper, ")"));
    arenas_.show(v, x);
    return v;
  }

  std::string called(const Call& call, const std::vector<std::string>& operands) {
    if (const op::OpDef* def = op::callee(call)) return view(operands, *def, p_.views.at(&call));
    if (const auto* g = call.callee->as<Global>()) {
      if (const kernel::Kernel* k = p_.module.kernel(g->name.text())) return kernel_call(call, *k, operands);
    }
    keep(operands);
    if (const auto* ref = call.callee->as<CtorRef>())
      return variable(made("make_node", cat(ref->ctor->tag), operands));
    for (const std::string& l : arenas_.call_function()) line(l);
    if (const Function* f = direct(call.callee)) {
      const std::string_view self = call.callee->as<Global>() ? "Value()" : "self";
      return variable(cat("finish(run, ", made(f->name, self, operands), ")"));
    }
    return variable(cat("call(run, ", join(operands, ", "), ")"));
  }

  // A deferred call keeps what it reads.
  std::string kernel_call(const Call& call, const kernel::Kernel& k,
                          const std::vector<std::string>& operands) {
    if (!k.batched.empty()) {
      keep(operands);
      return variable(calls_.call(k, operands));
    }
    const std::string v = cat("v_", next_++);
    const auto is_known = [&](kernel::Expr e) { return at_entry_.contains(e.get()); };
    Arenas::Placed placed = arenas_.call_kernel(k.outputs.size() == 1 ? v : "", operands, [&] {
      return written_by(p_.module.context(), call, k, is_known);
    });
    for (const std::string& l : placed.lines) line(l);
    const std::string value = calls_.call(k, operands, std::move(placed.places));
    line(placed.is_borrowed ? cat("const Borrowed ", v, "(", value, ");")
                            : cat("Value ", v, " = ", value, ";"));
    line(cat("if (!", v, ") return {};"));
    return v;
  }

  // A constructor as a value: without fields its constant, unless `ctor` makes a function of it.
  // Constructors of any types that have the same tag and as many fields share the function.
  std::string constructor(const CtorRef& ref) {
    const Constructor& c = *ref.ctor;
    if (c.fields.empty() && !ref.type->as<FnType>()) return variable(cat("make_node(run, ", c.tag, ")"));
    const std::string name = cat(prefix_, "make_", c.tag, "_of_", c.fields.size());
    if (constructors_.insert(name).second) {
      std::vector<std::string> args{"run", cat(c.tag)};
      for (size_t i = 0; i < c.fields.size(); ++i) args.push_back(cat("static_cast<Value&&>(args[", i, "])"));
      wrappers_ += cat("Value ", name, "(Run& run, const Value&, Value*", c.fields.empty() ? "" : " args",
                       ") {\n  return make_node(", join(args, ", "), ");\n}\n");
    }
    return variable(cat("make_closure(run, ", name, ")"));
  }

  // A kernel as a value: a function that calls it.
  std::string kernel_value(const kernel::Kernel& k) {
    const std::string name = cat(prefix_, "value_", device_library_.name(k));
    if (constructors_.insert(name).second) {
      std::vector<std::string> args;
      for (size_t i = 0; i < k.inputs.size(); ++i) args.push_back(cat("args[", i, "]"));
      wrappers_ += cat("Value ", name, "(Run& run, const Value&, Value* args) {\n  return ",
                       calls_.call(k, args), ";\n}\n");
    }
    return variable(cat("make_closure(run, ", name, ")"));
  }

  // What the function mentions of what has a value here.
  std::vector<Expr> captured(const Fn& fn, const Var* self) const {
    std::vector<Expr> out;
    for (Expr e : functions_[current_].mentioned->get(&fn)) {
      if (e != self && names_.contains(e)) out.push_back(e);
    }
    return out;
  }

  // The shape variables that the function mentions in what is printed of it, of those that are
  // known here. What has a value here is captured, so its own shape variables are not asked for:
  // they may be those of a branch that has ended. In the order in which they were made.
  std::vector<const kernel::ExprNode*> captured_extents(const Fn& fn) const {
    if (extents_.empty()) return {};
    std::map<uint32_t, const kernel::ExprNode*> found;
    const auto add = [&](kernel::Expr v) {
      if (extents_.contains(v.get())) found[v->id] = v.get();
    };
    const auto enter = [&](Expr e) {
      if (names_.contains(e)) return false;
      if (const auto* inner = e->as<Fn>()) {
        std::vector<kernel::Expr> dims;
        for (const Var* p : inner->params) add_extents(p->type, dims);
        for (kernel::Expr dim : dims) {
          for (kernel::Expr v : kernel::variables(dim)) add(v);
        }
      } else if (const auto view = p_.views.find(e); view != p_.views.end()) {
        const auto mention = [&](Dim d) {
          if (d.is_symbolic()) (void)is_printable(d.symbolic(), [&](kernel::Expr v) { return add(v), true; });
        };
        for (Dim d : view->second.dims) mention(d);
        for (const op::DimCheck& check : view->second.checks) mention(check.a), mention(check.b);
      }
      return true;
    };
    walk(&fn, enter, [](Expr) {});
    std::vector<const kernel::ExprNode*> out;
    for (const auto& [id, variable] : found) out.push_back(variable);
    return out;
  }

  std::string closure(const Fn& fn, const Var* self) {
    const std::string_view name = self ? self->name.text() : "function";
    Function f{&fn, function_name(prefix_, name, next_++), functions_[current_].scopes,
               functions_[current_].mentioned, self};
    f.captures = captured(fn, self);
    f.extents = captured_extents(fn);
    std::vector<std::string> held{"run", f.name + "_any"};
    for (Expr e : f.captures) {
      arenas_.keep(names_.at(e));
      held.push_back(copy(names_.at(e)));
    }
    for (const auto* extent : f.extents)
      held.push_back(variable(cat("make_extent(run, ", extents_.at(extent), ")"), "extent"));
    functions_.push_back(f);
    return named(variable_name(name, next_++), cat("make_closure(", join(held, ", "), ")"));
  }

  const Program& p_;
  std::string prefix_;
  DeviceLibrary& device_library_;
  const std::function<uint64_t(size_t)>& offset_;
  KernelCalls calls_;
  std::vector<std::unique_ptr<Scopes>> scopes_;
  std::vector<std::unique_ptr<NodeMap<std::vector<Expr>>>> captures_;
  std::deque<Function> functions_;  // which stay where they are while closures are added
  std::map<std::string, size_t> globals_;
  std::set<std::string> constructors_;
  std::string wrappers_;  // of constants, constructors and kernels
  size_t next_ = 0;
  // Of the function that is being printed.
  size_t current_ = 0;
  std::string text_, indent_;
  std::unordered_map<Expr, std::string> names_;
  std::vector<std::pair<Expr, std::string>> renamed_;  // and what its name was before; empty if it had none
  Extents extents_, at_entry_;                         // those that are known where the function begins
  Arenas arenas_;
};

}  // namespace

std::string print_functions(const Program& program, std::string_view prefix, DeviceLibrary& device_library,
                            const std::function<uint64_t(size_t)>& offset) {
  return Printer(program, prefix, device_library, offset).print();
}

}  // namespace relay::aot
