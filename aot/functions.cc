// The functions of a program as C++ (see program.h).
//
// A value of the program is a local variable of type Value. A shared node is evaluated where its scope begins, as the
// language defines it (docs/semantics.md, "Sharing"). Every function begins by asking whether the run goes on, and what
// gives no value ends it.
#include <algorithm>
#include <map>
#include <set>

#include "aot/program.h"
#include "base/cat.h"
#include "base/check.h"
#include "ir/analysis.h"
#include "ir/traverse.h"
#include "kernel/execute.h"
#include "kernel/print/dialect.h"
#include "op/apply.h"
#include "op/registry.h"

namespace relay::aot {
namespace {

using KernelName = std::function<std::string(const kernel::Kernel&)>;

// A letter or digit stays, all else becomes `_`; a number makes it unique.
std::string identifier(std::string_view name, size_t number) {
  std::string out;
  for (char c : name.substr(0, 40)) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return cat(out, "_", number);
}

// A function literal, or a global function: the same to its caller but for what it has captured.
struct Function {
  const Fn* fn = nullptr;
  std::string name;
  const Scopes* scopes = nullptr;  // of the global function around it
  const Var* self = nullptr;       // by which a closure calls itself
  std::vector<Expr> captures = {};
};

class Printer {
 public:
  Printer(const Program& p, std::string_view prefix, const KernelName& kernel_name,
          const std::function<uint64_t(size_t)>& offset)
      : p_(p),
        main_(p.module.function(p.functions.front().text())),
        prefix_(prefix),
        kernel_name_(kernel_name),
        offset_(offset) {}

  std::string print() {
    for (Symbol name : p_.functions) {
      Function f{p_.module.function(name.text()), cat(prefix_, identifier(name.text(), next_++))};
      scopes_.push_back(std::make_unique<Scopes>(scopes(f.fn->body)));
      f.scopes = scopes_.back().get();
      globals_[std::string(name.text())] = functions_.size();
      functions_.push_back(f);
    }
    for (const kernel::Kernel* k : p_.kernels) kernel(*k);
    for (size_t i = 0; i < p_.plan.constants.size(); ++i) constant(i);
    std::string bodies;
    for (size_t i = 0; i < functions_.size(); ++i) bodies += function(i);  // closures are added on the way
    std::string declarations;
    for (const Function& f : functions_) declarations += cat(signature(f), ";\n", any_signature(f), ";\n");
    return cat(kernels_, declarations, "\n", bodies, run_plan());
  }

 private:
  // --- Kernels: what makes their results and runs them -------------------------------------------------------------

  std::string extent_of(kernel::Expr e, const kernel::Kernel& k) const {
    if (e->kind == kernel::ExprKind::kInt) return cat(e->int_value);
    if (e->kind == kernel::ExprKind::kVar) {
      for (size_t i = 0; i < k.inputs.size(); ++i) {
        const auto& shape = k.inputs[i]->shape;
        for (size_t d = 0; d < shape.size(); ++d) {
          if (shape[d] == e) return cat("extent(x", i, ", ", d, ")");
        }
      }
    }
    return arithmetic(e, [&](kernel::Expr part) { return extent_of(part, k); });
  }

  // Sums, products and what else extents are made of.
  static std::string arithmetic(kernel::Expr e, const std::function<std::string(kernel::Expr)>& print) {
    const auto joined = [&](const char* sign) {
      std::vector<std::string> parts;
      for (const kernel::ExprNode* a : e->args) parts.push_back(print(a));
      return cat("(", join(parts, sign), ")");
    };
    const auto called = [&](const char* name) {
      return cat(name, "(", print(e->args[0]), ", ", print(e->args[1]), ")");
    };
    switch (e->kind) {
      case kernel::ExprKind::kAdd: return joined(" + ");
      case kernel::ExprKind::kMul: return joined(" * ");
      case kernel::ExprKind::kFloorDiv: return called("floor_div");
      case kernel::ExprKind::kFloorMod: return called("floor_mod");
      case kernel::ExprKind::kMin: return called("least");
      case kernel::ExprKind::kMax: return called("greatest");
      default: CHECK(false, cat("an extent is `", show(e), "`")); return {};
    }
  }

  void kernel(const kernel::Kernel& k) {
    const std::string name = kernel_name_(k);
    std::vector<std::string> parameters{"Run& run"}, arguments{"run.parallel"};
    for (size_t i = 0; i < k.inputs.size(); ++i) {
      parameters.push_back(cat("const Value& x", i));
      arguments.push_back(cat("data<const ", kernel::memory_type(k.inputs[i]->dtype), ">(x", i, ")"));
    }
    std::string out = cat("Value call_", name, "(", join(parameters, ", "), ") {\n");
    size_t made = 0;
    for (const auto* list : {&k.outputs, &k.temporaries}) {
      for (const kernel::Buffer* b : *list) {
        const std::string y = cat("y", made++);
        std::vector<std::string> extents;
        for (kernel::Expr e : b->shape) extents.push_back(extent_of(e, k));
        out += tensor("  ", y, extents, cat("make_tensor(run, ", b->dtype.bytes(), ", "), ")");
        arguments.push_back(cat("data<", kernel::memory_type(b->dtype), ">(", y, ")"));
      }
    }
    for (kernel::Expr e : kernel::shape_parameters(k)) arguments.push_back(extent_of(e, k));
    out += cat("  const int32_t status = ", name, "(", join(arguments, ", "), ");\n");
    out += cat("  if (status != 0) return run.trap(", name, "_messages[status - 1]);\n");
    if (k.outputs.size() == 1) {
      out += "  return y0;\n}\n";
    } else {
      std::vector<std::string> results{"run", "0"};
      for (size_t i = 0; i < k.outputs.size(); ++i) results.push_back(cat("y", i));
      out += cat("  return make_node(", join(results, ", "), ");\n}\n");
    }
    kernels_ += out;
  }

  void constant(size_t i) {
    std::vector<std::string> extents;
    for (int64_t e : p_.plan.constants[i].shape()) extents.push_back(cat(e));
    kernels_ += cat("Value constant_", prefix_, i, "(Run& run) {\n",
                    tensor("  ", "v", extents, cat("make_view(run, run.weights + ", offset_(i), ", "), ")"),
                    "  return v;\n}\n");
  }

  // A tensor with these extents, made by `before rank, extents after`; the function ends if there is none.
  static std::string tensor(const std::string& indent, const std::string& name,
                            const std::vector<std::string>& extents, const std::string& before,
                            const std::string& after) {
    std::string out;
    std::string list = "nullptr";
    if (!extents.empty()) {
      list = name + "_extents";
      out = cat(indent, "const int64_t ", list, "[] = {", join(extents, ", "), "};\n");
    }
    return out + cat(indent, "Value ", name, " = ", before, extents.size(), ", ", list, after, ";\n", indent,
                     "if (!", name, ") return {};\n");
  }

  // --- Functions ---------------------------------------------------------------------------------------------------

  // The closure itself comes first; a global function is given nothing for it.
  std::string signature(const Function& f) const {
    std::vector<std::string> parameters{"Run& run", "const Value& self"};
    for (size_t i = 0; i < f.fn->params.size(); ++i) parameters.push_back(cat("[[maybe_unused]] Value a", i));
    return cat("[[maybe_unused]] Value ", f.name, "(", join(parameters, ", "), ")");
  }
  static std::string any_signature(const Function& f) {
    return cat("[[maybe_unused]] Value ", f.name, "_any(Run& run, const Value& self, Value* args)");
  }

  std::string function(size_t index) {
    const Function f = functions_[index];
    text_.clear();
    names_.clear();
    extents_.clear();
    indent_ = "    ";
    current_ = index;
    for (size_t i = 0; i < f.captures.size(); ++i) names_[f.captures[i]] = cat("field(self, ", i, ")");
    if (f.self) names_[f.self] = "self";
    for (size_t i = 0; i < f.fn->params.size(); ++i) {
      names_[f.fn->params[i]] = cat("a", i);
      bind_extents(f.fn->params[i]->type, cat("a", i));
    }
    scope(f.fn->body, "");
    std::vector<std::string> args{"run", "self"};
    for (size_t i = 0; i < f.fn->params.size(); ++i)
      args.push_back(cat("static_cast<Value&&>(args[", i, "])"));
    return cat(signature(f), " {\n  (void)self;\n  for (;;) {\n    if (!run.enter()) return {};\n", text_,
               "  }\n}\n", any_signature(f), " {\n  (void)args;\n  return ", f.name, "(", join(args, ", "),
               ");\n}\n\n");
  }

  // The shape variables that a parameter's type mentions alone, and a check where one is met again.
  void bind_extents(Type type, const std::string& value) {
    if (const auto* tuple = type->as<TupleType>()) {
      for (uint32_t i = 0; i < tuple->fields.size(); ++i) {
        bind_extents(tuple->fields[i], cat("field(", value, ", ", i, ")"));
      }
      return;
    }
    const auto* t = type->as<TensorType>();
    for (size_t d = 0; t && d < t->rank(); ++d) {
      if (!t->dims[d].is_symbolic()) continue;
      const kernel::Expr e = t->dims[d].symbolic();
      if (e->kind != kernel::ExprKind::kVar) continue;
      const auto [it, fresh] = extents_.emplace(e.get(), cat("n", extents_.size()));
      const std::string found = cat("extent(", value, ", ", d, ")");
      if (fresh) {
        line(cat("[[maybe_unused]] const int64_t ", it->second, " = ", found, ";"));
      } else {
        line(cat("if (", it->second, " != ", found,
                 ") return run.trap(\"an argument of a function has another extent than its type says\");"));
      }
    }
  }

  std::string extent_of(Dim d) {
    if (d.is_const()) return cat(d.value());
    return extent_of(d.symbolic());
  }
  std::string extent_of(kernel::Expr e) {
    if (e->kind == kernel::ExprKind::kInt) return cat(e->int_value);
    if (e->kind == kernel::ExprKind::kVar) {
      const auto it = extents_.find(e.get());
      CHECK(it != extents_.end(), cat("extent `", show(e), "` is not known"));
      return it->second;
    }
    return arithmetic(e, [&](kernel::Expr part) { return extent_of(part); });
  }

  void line(const std::string& text) { text_ += cat(indent_, text, "\n"); }
  void open(const std::string& text) {
    line(text);
    indent_ += "  ";
  }
  void close(const std::string& text) {
    indent_.resize(indent_.size() - 2);
    line(text);
  }

  // A new variable with this value, which ends the function if there is none.
  std::string variable(const std::string& value, std::string_view name = "v") {
    const std::string v = identifier(name, next_++);
    line(cat("Value ", v, " = ", value, ";"));
    line(cat("if (!", v, ") return {};"));
    return v;
  }

  // The expression of a scope: to the variable `into`, or as the function's result if that is empty.
  void scope(Expr body, const std::string& into) {
    const Scopes& all = *functions_[current_].scopes;
    const uint32_t s = all.scope_of_body.get(body);
    if (all.all[s].body == body) {
      for (Expr shared : all.all[s].shared) {
        if (!names_.contains(shared)) names_[shared] = evaluate(shared, /*shared=*/true);
      }
    }
    result(body, into);
  }

  // The value of an expression that stands last.
  void result(Expr e, const std::string& into) {
    if (!names_.contains(e)) {
      if (const auto* let = e->as<Let>()) {
        bind(*let);
        return scope(let->body, into);
      }
      if (const auto* n = e->as<If>()) return branches(*n, into);
      if (const auto* n = e->as<Match>()) return arms(*n, into);
      if (const auto* call = e->as<Call>(); call && into.empty() && last_call(*call)) return;
    }
    const std::string value = evaluate(e, false);
    line(into.empty() ? cat("return ", value, ";") : cat(into, " = ", value, ";"));
  }

  void bind(const Let& let) {
    if (const auto* fn = let.value->as<Fn>(); fn && !names_.contains(let.value)) {
      names_[let.x] = closure(*fn, let.x);
    } else {
      // A name of its own, also for what has one: values do not change.
      names_[let.x] = evaluate(let.value, false);
    }
  }

  void branches(const If& n, const std::string& into) {
    const std::string condition = evaluate(n.cond, false);
    const auto before = names_;
    open(cat("if (truth(", condition, ")) {"));
    scope(n.then_branch, into);
    names_ = before;
    indent_.resize(indent_.size() - 2);
    open("} else {");
    scope(n.else_branch, into);
    names_ = before;
    close("}");
  }

  // What the pattern asks of a value, and the variables that it binds.
  void test(Pattern p, const std::string& value, std::vector<std::string>& conditions) {
    switch (p->kind) {
      case PatternKind::kWildcard: return;
      case PatternKind::kVar: names_[p->var] = value; return;
      case PatternKind::kCtor: {
        const DataTypeDef* def = p_.module.data_type(p->ctor->data_type.text());
        if (def->ctors.size() > 1) conditions.push_back(cat("tag(", value, ") == ", p->ctor->tag));
        break;
      }
      case PatternKind::kTuple: break;
    }
    for (uint32_t i = 0; i < p->fields.size(); ++i)
      test(p->fields[i], cat("field(", value, ", ", i, ")"), conditions);
  }

  void arms(const Match& n, const std::string& into) {
    const std::string value = evaluate(n.value, false);
    const auto before = names_;
    bool open_else = false, always = false;
    for (const Arm& arm : n.arms) {
      std::vector<std::string> conditions;
      test(arm.pattern, value, conditions);
      // Of a match that covers everything, the last arm fits if the others do not.
      always = conditions.empty() || (n.total && &arm == &n.arms.back());
      if (open_else) indent_.resize(indent_.size() - 2);
      const std::string head = always ? "{" : cat("if (", join(conditions, " && "), ") {");
      open(open_else ? cat("} else ", head) : head);
      open_else = true;
      scope(arm.body, into);
      names_ = before;
      if (always) break;
    }
    if (!always) {
      if (open_else) indent_.resize(indent_.size() - 2);
      open(open_else ? "} else {" : "{");
      line("return run.trap(\"no arm of the match fits the value\");");
      open_else = true;
    }
    close("}");
  }

  std::vector<std::string> arguments(const Call& call) {
    std::vector<std::string> out;
    for (Expr a : call.args) out.push_back(evaluate(a, false));
    return out;
  }

  // The global function or the closure under its own name that is called; null if it is something else.
  const Function* direct(Expr callee) const {
    if (const auto* global = callee->as<Global>()) {
      const auto it = globals_.find(std::string(global->name.text()));
      return it == globals_.end() ? nullptr : &functions_[it->second];
    }
    const Function& f = functions_[current_];
    return f.self != nullptr && callee == f.self ? &f : nullptr;
  }

  // A call whose value is the function's: of the function itself it is a loop, others are made later. False if it is
  // no call of a function.
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
    const std::string callee = f ? "" : evaluate(call.callee, false);
    std::vector<std::string> args = arguments(call);
    args.insert(args.begin(), f ? cat(f->name, "_any, Value()") : cat(callee, "->code, ", callee));
    args.insert(args.begin(), "run");
    line(cat("return later(", join(args, ", "), ");"));
    return true;
  }

  // The value of an expression as the text of a variable or a path to one.
  std::string evaluate(Expr e, bool shared) {
    if (!shared) {
      if (const auto it = names_.find(e); it != names_.end()) return it->second;
    }
    switch (e->kind) {
      case ExprKind::kConstant: return cat("constant_", prefix_, p_.constants.at(e), "(run)");
      case ExprKind::kVar:
        CHECK(false, cat("variable %", e->as<Var>()->name.text(), " has no value"));
        return {};
      case ExprKind::kGlobal: {
        const Function* f = direct(e);
        CHECK(f, "a kernel has no value");
        return variable(cat("make_cell(run, Kind::kClosure, 0, ", f->name, "_any)"));
      }
      case ExprKind::kOpRef: CHECK(false, "an operator has no value"); return {};
      case ExprKind::kCtorRef: return constructor(*e->as<CtorRef>()->ctor);
      case ExprKind::kTuple: {
        std::vector<std::string> parts{"run", "0"};
        for (Expr f : e->as<Tuple>()->fields) parts.push_back(evaluate(f, false));
        return variable(cat("make_node(", join(parts, ", "), ")"));
      }
      case ExprKind::kProj:
        return variable(
            cat("field(", evaluate(e->as<Proj>()->tuple, false), ", ", e->as<Proj>()->index, ")"));
      case ExprKind::kFn: return closure(*e->as<Fn>(), nullptr);
      case ExprKind::kCall: return called(*e->as<Call>());
      case ExprKind::kLet:
      case ExprKind::kIf:
      case ExprKind::kMatch: {
        const std::string v = identifier("v", next_++);
        line(cat("Value ", v, ";"));
        open("{");
        const auto before = names_;
        if (const auto* let = e->as<Let>()) {
          bind(*let);
          scope(let->body, v);
        } else if (const auto* n = e->as<If>()) {
          branches(*n, v);
        } else {
          arms(*e->as<Match>(), v);
        }
        names_ = before;
        close("}");
        return v;
      }
      case ExprKind::kRefNew:
        return variable(cat("make_cell(run, Kind::kReference, 0, nullptr, ",
                            copy(evaluate(e->as<RefNew>()->value, false)), ")"));
      case ExprKind::kRefRead: return variable(cat("field(", evaluate(e->as<RefRead>()->ref, false), ", 0)"));
      case ExprKind::kRefWrite: {
        const std::string to = evaluate(e->as<RefWrite>()->ref, false);
        const std::string value = evaluate(e->as<RefWrite>()->value, false);
        line(cat("write(", to, ", ", value, ");"));
        return variable("make_node(run, 0)");
      }
    }
    return {};
  }

  static std::string copy(const std::string& value) { return cat("Value(", value, ")"); }

  std::string called(const Call& call) {
    if (const op::OpDef* def = op::callee(call)) {
      CHECK(def->view, "an operator without a kernel");
      const std::string x = evaluate(call.args[0], false);
      std::vector<std::string> extents;
      for (Dim d : call.type->as<TensorType>()->dims) extents.push_back(extent_of(d));
      const std::string v = identifier("v", next_++);
      text_ += tensor(indent_, v, extents, cat("make_view(run, ", x, "->data, "), cat(", ", copy(x), ")"));
      return v;
    }
    if (const auto* ref = call.callee->as<CtorRef>()) {
      std::vector<std::string> args = arguments(call);
      args.insert(args.begin(), cat("run, ", ref->ctor->tag));
      return variable(cat("make_node(", join(args, ", "), ")"));
    }
    if (const auto* g = call.callee->as<Global>()) {
      if (const kernel::Kernel* k = p_.module.kernel(g->name.text())) {
        std::vector<std::string> args = arguments(call);
        args.insert(args.begin(), "run");
        return variable(cat("call_", kernel_name_(*k), "(", join(args, ", "), ")"));
      }
    }
    if (const Function* f = direct(call.callee)) {
      const std::string name = f->name, self = call.callee->as<Global>() ? "Value()" : "self";
      std::vector<std::string> args = arguments(call);
      args.insert(args.begin(), cat("run, ", self));
      return variable(cat("finish(run, ", name, "(", join(args, ", "), "))"));
    }
    const std::string callee = evaluate(call.callee, false);
    std::vector<std::string> args = arguments(call);
    args.insert(args.begin(), cat("run, ", callee));
    return variable(cat("call(", join(args, ", "), ")"));
  }

  // A constructor as a value: a constant if it has no fields, else a function.
  std::string constructor(const Constructor& c) {
    if (c.fields.empty()) return variable(cat("make_node(run, ", c.tag, ")"));
    const std::string name = cat(prefix_, "make_", identifier(c.name.text(), c.tag));
    if (constructors_.insert(name).second) {
      std::vector<std::string> args{"run", cat(c.tag)};
      for (size_t i = 0; i < c.fields.size(); ++i) args.push_back(cat("static_cast<Value&&>(args[", i, "])"));
      kernels_ += cat("Value ", name, "(Run& run, const Value&, Value* args) {\n  return make_node(",
                      join(args, ", "), ");\n}\n");
    }
    return variable(cat("make_cell(run, Kind::kClosure, 0, ", name, ")"));
  }

  // What the function mentions of what has a value here.
  std::vector<Expr> captured(const Fn& fn, const Var* self) const {
    std::vector<Expr> out, pending{fn.body};
    NodeMap<bool> seen;
    while (!pending.empty()) {
      const Expr e = pending.back();
      pending.pop_back();
      if (std::exchange(seen[e], true) || e == self) continue;
      if (names_.contains(e)) {
        out.push_back(e);
        continue;
      }
      for_each_child(e, [&](Expr child) { pending.push_back(child); });
    }
    return out;
  }

  std::string closure(const Fn& fn, const Var* self) {
    Function f{&fn, cat(prefix_, identifier(self ? self->name.text() : "function", next_++)),
               functions_[current_].scopes, self};
    f.captures = captured(fn, self);
    std::vector<std::string> held{"run", "Kind::kClosure", "0", f.name + "_any"};
    for (Expr e : f.captures) held.push_back(copy(names_.at(e)));
    functions_.push_back(f);
    return variable(cat("make_cell(", join(held, ", "), ")"), self ? self->name.text() : "function");
  }

  // --- The run -----------------------------------------------------------------------------------------------------

  // Inputs taken up, in the order of the ports, as the parameter's type has them.
  std::string input(Type t, size_t& next) {
    if (const auto* tensor_type = t->as<TensorType>()) {
      std::vector<std::string> extents;
      for (Dim d : tensor_type->dims) extents.push_back(extent_of(d));
      const std::string v = identifier("v", next_++);
      text_ += tensor(indent_, v, extents, cat("make_view(run, inputs[", next++, "], "), ")");
      return v;
    }
    std::vector<std::string> parts{"run", "0"};
    for (Type f : t->as<TupleType>()->fields) parts.push_back(input(f, next));
    return variable(cat("make_node(", join(parts, ", "), ")"));
  }
  void output(Type t, const std::string& value, size_t& next) {
    if (t->as<TensorType>()) {
      const size_t i = next++;
      line(cat("memcpy(outputs[", i, "], ", value, "->data, kOutputs[", i, "].bytes);"));
      return;
    }
    const auto& fields = t->as<TupleType>()->fields;
    for (uint32_t i = 0; i < fields.size(); ++i) output(fields[i], cat("field(", value, ", ", i, ")"), next);
  }

  std::string run_plan() {
    text_.clear();
    names_.clear();
    indent_ = "  ";
    size_t in = 0, out = 0;
    std::vector<std::string> args{"run", "Value()"};
    for (const Var* p : main_->params) args.push_back(input(p->type, in));
    const auto main =
        std::find_if(functions_.begin(), functions_.end(), [&](const Function& f) { return f.fn == main_; });
    const std::string v = variable(cat("finish(run, ", main->name, "(", join(args, ", "), "))"), "result");
    output(main_->body->type, v, out);
    return cat("Value ", prefix_, "run_main(Run& run, const void* const* inputs, void* const* outputs) {\n",
               "  (void)inputs, (void)outputs;\n", text_, "  return ", v, ";\n}\n");
  }

  const Program& p_;
  const Fn* main_;
  std::string prefix_;
  const KernelName& kernel_name_;
  const std::function<uint64_t(size_t)>& offset_;
  std::vector<std::unique_ptr<Scopes>> scopes_;
  std::vector<Function> functions_;
  std::map<std::string, size_t> globals_;
  std::set<std::string> constructors_;
  std::string kernels_;
  size_t next_ = 0;
  // Of the function that is being printed.
  size_t current_ = 0;
  std::string text_, indent_;
  std::unordered_map<Expr, std::string> names_;
  std::unordered_map<const kernel::ExprNode*, std::string> extents_;
};

}  // namespace

std::string print_functions(const Program& program, std::string_view prefix, const KernelName& kernel_name,
                            const std::function<uint64_t(size_t)>& offset) {
  return Printer(program, prefix, kernel_name, offset).print();
}

}  // namespace relay::aot
