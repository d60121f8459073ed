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
#include "aot/extents.h"
#include "aot/function_text.h"
#include "aot/generated_function.h"
#include "aot/kernel_calls.h"
#include "aot/match_arms.h"
#include "aot/operands.h"
#include "aot/parameter_extents.h"
#include "aot/ports.h"
#include "aot/program.h"
#include "aot/tail_position.h"
#include "aot/views.h"
#include "aot/wrappers.h"
#include "base/cat.h"
#include "base/check.h"
#include "ir/analysis.h"
#include "op/apply.h"
#include "op/registry.h"

namespace relay::aot {
namespace {

class Printer {
 public:
  Printer(const Program& p, std::string_view prefix, DeviceLibrary& device_library,
          const std::function<uint64_t(size_t)>& offset)
      : p_(p),
        prefix_(prefix),
        device_library_(device_library),
        offset_(offset),
        calls_(p, device_library),
        wrappers_(prefix, device_library, calls_) {}

  std::string print() {
    const std::set<Symbol> in_tail_position = functions_in_tail_position(p_);
    for (Symbol name : p_.functions) {
      GeneratedFunction f{p_.module.function(name.text()),
                          function_name(prefix_, name.text(), text_.number())};
      f.gives_outputs = in_tail_position.contains(name);
      scopes_.push_back(std::make_unique<Scopes>(scopes(f.fn->body)));
      f.scopes = scopes_.back().get();
      captures_.push_back(std::make_unique<NodeMap<std::vector<Expr>>>(find_captures(f.fn->body, *f.scopes)));
      f.mentioned = captures_.back().get();
      globals_[std::string(name.text())] = functions_.size();
      functions_.push_back(f);
    }
    for (size_t i = 0; i < p_.plan.constants.size(); ++i)
      wrappers_.add_constant(i, p_.plan.constants[i].shape(), offset_(i));
    std::string bodies;
    for (size_t i = 0; i < functions_.size(); ++i) bodies += function(i);  // closures are added on the way
    std::string declarations;
    for (const GeneratedFunction& f : functions_)
      declarations += cat(f.signature(), ";\n", f.any_signature(), ";\n");
    return cat(calls_.print(), wrappers_.text(), declarations, "\n", bodies, "Value ", prefix_,
               "run_main(Run& run, Value* args) {\n  return ", calls_.any_deferred() ? "flushed(run, " : "",
               "finish(run, ", functions_.front().name, "_any(run, Value(), args))",
               calls_.any_deferred() ? ")" : "", ";\n}\n");
  }

 private:
  // --- Functions ---------------------------------------------------------------------------------

  // Twice (arenas.h): what the first time adds for closures and constructors, the second
  // time adds again.
  std::string function(size_t index) {
    const size_t number = text_.next_number(), functions = functions_.size();
    const Wrappers::Mark wrappers = wrappers_.mark();
    arenas_ = {};
    function_once(index);
    arenas_.plan(device_library_.has_arenas(),
                 [&](kernel::Expr e) { return print_extent(Dim(e), at_entry_); });
    text_.set_next_number(number);
    functions_.erase(functions_.begin() + static_cast<ptrdiff_t>(functions), functions_.end());
    wrappers_.rewind(wrappers);
    return function_once(index);
  }

  std::string function_once(size_t index) {
    const GeneratedFunction f = functions_[index];
    text_.begin("    ");
    extents_.clear();
    current_ = index;
    for (size_t i = 0; i < f.captures.size(); ++i) text_.set_name(f.captures[i], cat("field(self, ", i, ")"));
    for (size_t i = 0; i < f.extents.size(); ++i) {
      extents_[f.extents[i]] = cat("n", i);
      text_.line(cat("const int64_t n", i, " = *data<int64_t>(field(self, ", f.captures.size() + i, "));"));
    }
    if (f.self) text_.set_name(f.self, "self");
    for (size_t i = 0; i < f.fn->params.size(); ++i) text_.set_name(f.fn->params[i], cat("a", i));
    bind_extents(text_, *f.fn, extents_);
    at_entry_ = extents_;
    scope(f.fn->body, "");
    std::vector<std::string> args{"run", "self"};
    for (size_t i = 0; i < f.fn->params.size(); ++i)
      args.push_back(cat("static_cast<Value&&>(args[", i, "])"));
    return cat(f.signature(), " {\n  (void)self;\n  for (;;) {\n    if (!run.enter()) return {};\n",
               text_.text(), "  }\n}\n", f.any_signature(), " {\n  (void)args;\n  return ", f.name, "(",
               join(args, ", "), ");\n}\n\n");
  }

  // The expression of a scope: to the variable `into`, or as the function's result
  // if that is empty.
  void scope(Expr body, const std::string& into) {
    begin_scope(body);
    result(body, into);
  }
  void begin_scope(Expr body) {
    for (Expr shared : shared_in(body)) {
      if (!text_.has_name(shared)) text_.set_name(shared, borrow(shared));
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
    for (const Let* let; (let = e->as<Let>()) != nullptr && !text_.has_name(e);) {
      bind(*let);
      e = let->body;
      begin_scope(e);
    }
    if (!text_.has_name(e)) {
      if (const auto* n = e->as<If>()) return branches(*n, into);
      if (const auto* n = e->as<Match>()) return arms(*n, into);
      if (const auto* call = e->as<Call>(); call && into.empty() && last_call(*call)) return;
    }
    size_t output = 0;
    const std::string value =
        into.empty() && functions_[current_].gives_outputs ? give(e, output) : evaluate(e);
    text_.line(into.empty() ? cat("return ", value, ";") : cat(into, " = ", value, ";"));
  }

  // What the program gives, from this output on.
  std::string give(Expr e, size_t& output) {
    if (const auto* tuple = e->as<Tuple>(); tuple && !text_.has_name(e)) {
      std::vector<std::string> parts{"run", "0"};
      for (Expr f : tuple->fields) parts.push_back(give(f, output));
      return text_.variable(cat("make_node(", join(parts, ", "), ")"));
    }
    std::string value = evaluate(e);
    if (e->type->as<TensorType>()) arenas_.give(value, output);
    std::vector<passes::PlanPort> ports;
    add_ports(e->type, "", ports);
    output += ports.size();
    return value;
  }

  void bind(const Let& let) {
    if (const auto* fn = let.value->as<Fn>(); fn && !text_.has_name(let.value)) {
      text_.set_name(let.x, closure(*fn, let.x));
    } else {
      // A name of its own, also for what has one: values do not change.
      text_.set_name(let.x, borrow(let.value));
    }
  }

  void branches(const If& n, const std::string& into) {
    const std::string condition = borrow(n.cond);
    const size_t before = text_.mark();
    text_.add(calls_.flush(text_.indent()));
    arenas_.use(condition);
    arenas_.fork();
    std::vector<std::string> lines;
    const std::string is_true = device_library_.truth(condition, text_.number(), lines);
    for (const std::string& l : lines) text_.line(l);
    text_.open(cat("if (", is_true, ") {"));
    scope(n.then_branch, into);
    text_.forget(before);
    arenas_.next_way();
    text_.reopen("} else {");
    scope(n.else_branch, into);
    text_.forget(before);
    text_.close("}");
    arenas_.end_fork();
  }

  void arms(const Match& n, const std::string& into) {
    const std::string value = evaluate(n.value);
    print_arms(text_, arenas_, p_.module, n, value, [&](size_t arm) { scope(n.arms[arm].body, into); });
  }

  std::vector<std::string> arguments(const Call& call) {
    std::vector<std::string> out;
    for (Expr a : call.args) out.push_back(evaluate(a));
    return out;
  }

  // The global function or the closure under its own name that is called; null if it
  // is something else.
  const GeneratedFunction* direct(Expr callee) const {
    if (const auto* global = callee->as<Global>()) {
      const auto it = globals_.find(std::string(global->name.text()));
      return it == globals_.end() ? nullptr : &functions_[it->second];
    }
    const GeneratedFunction& f = functions_[current_];
    return f.self != nullptr && callee == f.self ? &f : nullptr;
  }

  // A call whose value is the function's: of the function itself it is a loop, others are made
  // later. False if it is no call of a function.
  bool last_call(const Call& call) {
    if (op::callee(call) || call.callee->as<CtorRef>()) return false;
    if (const auto* g = call.callee->as<Global>(); g && p_.module.kernel(g->name.text())) return false;
    const GeneratedFunction* f = direct(call.callee);
    if (f == &functions_[current_]) {
      const std::vector<std::string> args = arguments(call);
      // Arguments may be parameters: they are all read before one is written.
      for (size_t i = 0; i < args.size(); ++i) text_.line(cat("Value t", i, " = ", args[i], ";"));
      for (size_t i = 0; i < args.size(); ++i) text_.line(cat("a", i, " = static_cast<Value&&>(t", i, ");"));
      text_.line("continue;");
      return true;
    }
    const std::string callee = f ? "" : evaluate(call.callee);
    std::vector<std::string> args = arguments(call);
    args.insert(args.begin(), f ? cat(f->name, "_any, Value()") : cat(callee, "->code, ", callee));
    args.insert(args.begin(), "run");
    text_.line(cat("return later(", join(args, ", "), ");"));
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
          if (const std::string* name = text_.name(step.e)) {
            values.push_back(*name);
          } else {
            visit(step.e, steps);
          }
          break;
        case Do::kName: text_.set_name(step.e, take()); break;
        case Do::kScope: visit_scope(step.e, steps); break;
        case Do::kForget: text_.forget(step.number); break;
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
    size_t number = 0;  // of operands, or a mark of `text_`
  };

  // Pushes what is to be done for the value of an expression, last step first.
  void visit(Expr e, std::vector<Step>& steps) {
    if (const auto* let = e->as<Let>()) {
      steps.push_back({Do::kForget, e, text_.mark()});
      steps.push_back({Do::kScope, let->body});
      if (const auto* fn = let->value->as<Fn>(); fn && !text_.has_name(let->value)) {
        text_.set_name(let->x, closure(*fn, let->x));
      } else {
        steps.push_back({Do::kName, let->x});
        steps.push_back({Do::kVisit, let->value});
      }
      return;
    }
    const std::vector<Expr> operands =
        operands_of(e, p_.module, [&](Expr callee) { return direct(callee) != nullptr; });
    steps.push_back({Do::kFinish, e, operands.size()});
    for (size_t i = operands.size(); i-- > 0;) steps.push_back({Do::kVisit, operands[i]});
  }

  void visit_scope(Expr body, std::vector<Step>& steps) {
    steps.push_back({Do::kVisit, body});
    const std::vector<Expr> all = shared_in(body);
    for (size_t i = all.size(); i-- > 0;) {
      if (text_.has_name(all[i])) continue;
      steps.push_back({Do::kName, all[i]});
      steps.push_back({Do::kVisit, all[i]});
    }
  }

  std::string finish(Expr e, const std::vector<std::string>& operands) {
    // A kernel call and a view may read what lies in an arena; all else keeps what it is given.
    if (!e->as<Call>()) keep(operands);
    switch (e->kind) {
      case ExprKind::kConstant:
        return text_.variable(cat("constant_", prefix_, p_.constants.at(e), "(run)"), "weight");
      case ExprKind::kVar:
        CHECK(false, cat("variable %", e->as<Var>()->name.text(), " has no value"));
        return {};
      case ExprKind::kGlobal: {
        if (const kernel::Kernel* k = p_.module.kernel(e->as<Global>()->name.text()))
          return text_.variable(cat("make_closure(run, ", wrappers_.kernel(*k), ")"));
        const GeneratedFunction* f = direct(e);
        return text_.variable(cat("make_closure(run, ", f->name, "_any)"));
      }
      case ExprKind::kOpRef: CHECK(false, "an operator has no value"); return {};
      case ExprKind::kCtorRef: return constructor(*e->as<CtorRef>());
      case ExprKind::kTuple: return text_.variable(made("make_node", "0", operands));
      case ExprKind::kProj:
        return text_.variable(cat("field(", operands[0], ", ", e->as<Proj>()->index, ")"));
      case ExprKind::kFn: return closure(*e->as<Fn>(), nullptr);
      case ExprKind::kCall: return called(*e->as<Call>(), operands);
      case ExprKind::kLet: CHECK(false, "a let is evaluated in steps"); return {};
      case ExprKind::kIf:
      case ExprKind::kMatch: {
        const std::string v = cat("v_", text_.number());
        text_.line(cat("Value ", v, ";"));
        text_.open("{");
        const size_t before = text_.mark();
        if (const auto* n = e->as<If>()) {
          branches(*n, v);
        } else {
          arms(*e->as<Match>(), v);
        }
        text_.forget(before);
        text_.close("}");
        return v;
      }
      case ExprKind::kRefNew: return text_.variable(cat("make_reference(run, ", copy(operands[0]), ")"));
      case ExprKind::kRefRead: return text_.variable(cat("field(", operands[0], ", 0)"));
      case ExprKind::kRefWrite: {
        text_.line(cat("write(", operands[0], ", ", operands[1], ");"));
        return text_.variable("make_node(run, 0)");
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

  std::string called(const Call& call, const std::vector<std::string>& operands) {
    if (const auto it = p_.doubted.find(&call); it != p_.doubted.end())
      compare_extents(text_, it->second, operands, extents_);
    if (const op::OpDef* def = op::callee(call)) {
      return print_view(text_, arenas_, calls_, extents_, *def, p_.views.at(&call), operands);
    }
    if (const auto* g = call.callee->as<Global>()) {
      if (const kernel::Kernel* k = p_.module.kernel(g->name.text())) return kernel_call(call, *k, operands);
    }
    keep(operands);
    if (const auto* ref = call.callee->as<CtorRef>())
      return text_.variable(made("make_node", cat(ref->ctor->tag), operands));
    for (const std::string& l : arenas_.call_function()) text_.line(l);
    if (const GeneratedFunction* f = direct(call.callee)) {
      const std::string_view self = call.callee->as<Global>() ? "Value()" : "self";
      return text_.variable(cat("finish(run, ", made(f->name, self, operands), ")"));
    }
    return text_.variable(cat("call(run, ", join(operands, ", "), ")"));
  }

  // A deferred call keeps what it reads.
  std::string kernel_call(const Call& call, const kernel::Kernel& k,
                          const std::vector<std::string>& operands) {
    if (!k.batched.empty()) {
      keep(operands);
      return text_.variable(calls_.call(k, operands));
    }
    const std::string v = cat("v_", text_.number());
    const auto is_known = [&](kernel::Expr e) { return at_entry_.contains(e.get()); };
    Arenas::Placed placed = arenas_.call_kernel(k.outputs.size() == 1 ? v : "", operands, [&] {
      return written_by(p_.module.context(), call, k, is_known);
    });
    for (const std::string& l : placed.lines) text_.line(l);
    const std::string value = calls_.call(k, operands, std::move(placed.places));
    text_.line(placed.is_borrowed ? cat("const Borrowed ", v, "(", value, ");")
                                  : cat("Value ", v, " = ", value, ";"));
    text_.line(cat("if (!", v, ") return {};"));
    return v;
  }

  // A constructor as a value: without fields its constant, unless `ctor` makes a function of it.
  std::string constructor(const CtorRef& ref) {
    const Constructor& c = *ref.ctor;
    if (c.fields.empty() && !ref.type->as<FnType>())
      return text_.variable(cat("make_node(run, ", c.tag, ")"));
    return text_.variable(cat("make_closure(run, ", wrappers_.constructor(c), ")"));
  }

  // What the function mentions of what has a value here.
  std::vector<Expr> captured(const Fn& fn, const Var* self) const {
    std::vector<Expr> out;
    for (Expr e : functions_[current_].mentioned->get(&fn)) {
      if (e != self && text_.has_name(e)) out.push_back(e);
    }
    return out;
  }

  std::string closure(const Fn& fn, const Var* self) {
    const std::string_view name = self ? self->name.text() : "function";
    GeneratedFunction f{&fn, function_name(prefix_, name, text_.number()), functions_[current_].scopes,
                        functions_[current_].mentioned, self};
    f.captures = captured(fn, self);
    // The search goes through the functions inside, too: for nests of them without an extent, it
    // would take the square of their depth to find nothing.
    if (!extents_.empty()) {
      f.extents = find_captured_extents(
          fn, p_.views, [&](Expr e) { return text_.has_name(e); },
          [&](kernel::Expr v) { return extents_.contains(v.get()); });
    }
    std::vector<std::string> held{"run", f.name + "_any"};
    for (Expr e : f.captures) {
      arenas_.keep(*text_.name(e));
      held.push_back(copy(*text_.name(e)));
    }
    for (const auto* extent : f.extents)
      held.push_back(text_.variable(cat("make_extent(run, ", extents_.at(extent), ")"), "extent"));
    functions_.push_back(f);
    return text_.named(variable_name(name, text_.number()), cat("make_closure(", join(held, ", "), ")"));
  }

  const Program& p_;
  std::string prefix_;
  DeviceLibrary& device_library_;
  const std::function<uint64_t(size_t)>& offset_;
  KernelCalls calls_;
  std::vector<std::unique_ptr<Scopes>> scopes_;
  std::vector<std::unique_ptr<NodeMap<std::vector<Expr>>>> captures_;
  std::deque<GeneratedFunction> functions_;  // which stay where they are while closures are added
  std::map<std::string, size_t> globals_;
  Wrappers wrappers_;
  // Of the function that is being printed.
  size_t current_ = 0;
  Extents extents_, at_entry_;  // those that are known where the function begins
  Arenas arenas_;
  FunctionText text_{arenas_};
};

}  // namespace

std::string print_functions(const Program& program, std::string_view prefix, DeviceLibrary& device_library,
                            const std::function<uint64_t(size_t)>& offset) {
  return Printer(program, prefix, device_library, offset).print();
}

}  // namespace relay::aot
