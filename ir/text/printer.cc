// Writes expressions and modules.
//
// A scope is written as its bindings and then its value. What is still to be written lies on an
// explicit stack, and text is only ever appended, so that time and memory are linear in the text,
// however deeply the program is nested.
#include "ir/text/printer.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/cat.h"
#include "base/escape.h"
#include "ir/analysis.h"
#include "ir/text/layout.h"
#include "ir/text/library.h"
#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "ir/text/print_kernel.h"
#include "ir/text/print_type.h"

namespace relay {
namespace text {
namespace {

constexpr size_t kMostType = 200;  // characters of a type in a comment
constexpr int kMostIndent =
    40;  // levels; deeper ones are not indented further, or texts would grow quadratically

// `None` is a value of attributes too, but no constructor stands among those; and Option
// is read elsewhere.
std::string ctor_name(const Constructor& c) { return c.name == "None" ? "None" : quoted_word(c.name.text()); }

class Printer {
 public:
  explicit Printer(const PrintOptions& options, const Module* module) : options_(options), module_(module) {}

  std::string module();
  std::string expression(Expr e);

 private:
  enum class Task : uint8_t {
    kText,
    kPart,
    kBinding,
    kStatement,
    kOperand,
    kScope,
    kLetItem,
    kMatchShapeItem,
    kLine,
    kIn,
    kOut,
    kEnd,
    kBound,
    kComment,
    kLeaveTypes
  };
  struct Pending {
    Task task;
    Expr e = nullptr;
    uint32_t number = 0;  // kScope: the scope around it; kEnd: where the text of e begins; kBound: its number
    std::string_view text = {};  // of something that outlives the printer
  };

  void function(Symbol name, const Fn& fn);
  void data_type(const DataTypeDef& def);
  void begin(Expr root);
  void run();

  // Appended at once.
  void fn_header(const Fn& fn);
  void leaf(Expr e);
  void pattern(Pattern p);
  void var(const Var* v);
  void annotated(const Var* v);
  void type(Type t);
  void attrs_after(bool first, const Attrs& attrs);
  std::string callee_name(Expr e);
  std::string constant(const Constant& c);
  std::string side_name(const Constant& c);
  void line();

  // Put on the stack, last first.
  void later(Task task, Expr e = nullptr, uint32_t number = 0) { pending_.push_back({task, e, number, {}}); }
  void later(std::string_view text) { pending_.push_back({Task::kText, nullptr, 0, text}); }
  void statement(Expr e);
  void operand(Expr e);
  void scope(Expr body, uint32_t around);
  void let_item(const Let& let);
  void match_shape_item(const Call& call);
  void call(const Call& c);
  void match_arms(const Match& m);
  void braces(Expr body, uint32_t around, bool one_line);
  bool simple(Expr body, uint32_t around) const { return layout_->simple(body, around); }
  uint32_t scope_of(Expr e) const { return layout_->scoped().scope_of.get(e); }

  const PrintOptions& options_;
  const Module* module_;
  std::string out_;
  int indent_ = 0;
  uint32_t next_graph_ = 0;
  std::vector<Pending> pending_;
  std::optional<Layout> layout_;
  NodeMap<uint32_t> graph_;  // number + 1 of what is bound by `%n =`

  std::unordered_map<const Var*, std::string> names_;
  std::unordered_set<std::string> taken_;
  std::unordered_map<std::string, uint32_t> suffix_;
  std::unordered_map<Symbol, int> type_params_;

  std::map<std::string, Tensor> elided_;
  uint32_t next_constant_ = 0;
};

// ---- Names ----

void Printer::var(const Var* v) {
  auto [it, fresh] = names_.try_emplace(v);
  if (fresh) {
    const std::string base = v->name.empty() ? "v" : v->name.str();
    std::string name = base;
    while (!taken_.insert(name).second) name = cat(base, "_", ++suffix_[base]);
    it->second = "%" + quoted_name(name);
  }
  out_ += it->second;
}

void Printer::type(Type t) {
  out_ += print_type(t, [&](Symbol name) {
    const auto it = type_params_.find(name);
    return it != type_params_.end() && it->second > 0;
  });
}

void Printer::annotated(const Var* v) {
  const auto begin = static_cast<uint32_t>(out_.size());
  var(v);
  if (options_.ranges) (*options_.ranges)[v] = {1, begin, static_cast<uint32_t>(out_.size())};
  if (v->annotation) {
    out_ += ": ";
    type(v->annotation);
  }
}

// The constant's entry in the side file.
std::string Printer::side_name(const Constant& c) {
  std::map<std::string, Tensor>& entries = options_.constants ? *options_.constants : elided_;
  const auto same = [&](const Tensor& t) {
    return t.data() == c.value->data() && t.shape() == c.value->shape();
  };
  const std::string base = c.name.str();
  std::string name = base;
  for (uint32_t i = 1;; ++i) {
    if (base.empty()) name = cat("c", next_constant_++);
    const auto [it, fresh] = entries.try_emplace(name, *c.value);
    if (fresh || (!base.empty() && same(it->second))) return name;
    if (!base.empty()) name = cat(base, "_", i);
  }
}

std::string Printer::constant(const Constant& c) {
  const bool aside = options_.constants || options_.elide;
  if (aside && (c.value->size() > options_.most_elements || !c.name.empty())) {
    return cat("const(", quoted_string(side_name(c)), ")");
  }
  if (c.name.empty()) return show_tensor(*c.value);
  return cat("const(", quoted_string(c.name.text()), ", ", show_tensor(*c.value), ")");
}

std::string Printer::callee_name(Expr e) {
  if (const auto* ref = e->as<CtorRef>()) return ctor_name(*ref->ctor);
  const auto* ref = e->as<OpRef>();
  const std::string_view name = options_.operators ? options_.operators->name(*ref->op) : "?";
  const bool hidden = module_ && module_->constructor(name);
  return cat(hidden ? "op " : "", quoted_dotted_name(name));
}

void Printer::leaf(Expr e) {
  if (const auto* c = e->as<Constant>()) {
    out_ += constant(*c);
  } else if (const auto* v = e->as<Var>()) {
    var(v);
  } else if (const auto* g = e->as<Global>()) {
    out_ += "@" + quoted_name(g->name.text());
  } else {
    const auto* ctor = e->as<CtorRef>();
    // The name alone of a constructor without fields is a call of it.
    if (ctor && ctor->ctor->fields.empty()) out_ += "ctor ";
    out_ += callee_name(e);
  }
}

// ---- Small parts ----

void Printer::line() {
  out_ += '\n';
  out_.append(static_cast<size_t>(std::min(indent_, kMostIndent)) * 2, ' ');
}

void Printer::attrs_after(bool first, const Attrs& attrs) {
  if (attrs.empty()) return;
  if (!first) out_ += ", ";
  out_ += print_attrs(attrs);
}

// [A](%x: T, attr=1) -> R
void Printer::fn_header(const Fn& fn) {
  for (const TypeVar* v : fn.type_params) ++type_params_[v->name];
  if (!fn.type_params.empty()) {
    out_ +=
        cat("[", join(fn.type_params, ", ", [](const TypeVar* v) { return quoted_word(v->name.text()); }));
    for (size_t i = 0; i < fn.where.size(); ++i) {
      out_ += i == 0 ? " where " : ", ";
      type(fn.where[i]);
    }
    out_ += "]";
  }
  out_ += "(";
  for (size_t i = 0; i < fn.params.size(); ++i) {
    if (i > 0) out_ += ", ";
    annotated(fn.params[i]);
  }
  attrs_after(fn.params.empty(), fn.attrs);
  out_ += ")";
  if (fn.result) {
    out_ += " -> ";
    type(fn.result);
  }
}

void Printer::pattern(Pattern p) {
  struct Open {
    Pattern p;
    size_t next;
  };
  std::vector<Open> open{{p, 0}};
  while (!open.empty()) {
    Open& o = open.back();
    if (o.next == 0) {
      if (o.p->kind == PatternKind::kWildcard) out_ += "_";
      if (o.p->kind == PatternKind::kVar) annotated(o.p->var);
      if (o.p->kind == PatternKind::kCtor) out_ += ctor_name(*o.p->ctor);
      const bool fields = !o.p->fields.empty() || o.p->kind == PatternKind::kTuple;
      if (!fields) {
        open.pop_back();
        continue;
      }
      out_ += "(";
    }
    if (o.next == o.p->fields.size()) {
      if (o.p->kind == PatternKind::kTuple && o.p->fields.size() == 1) out_ += ",";
      out_ += ")";
      open.pop_back();
      continue;
    }
    if (o.next > 0) out_ += ", ";
    open.push_back({o.p->fields[o.next++], 0});
  }
}

// ---- Expressions ----

// An operand: a leaf, a reference to a binding, or an expression small enough to stand here.
void Printer::operand(Expr e) {
  if (const uint32_t number = graph_.get(e)) {
    out_ += cat("%", number - 1);
  } else if (is_leaf(e)) {
    if (options_.ranges && e->kind != ExprKind::kVar) {
      const auto begin = static_cast<uint32_t>(out_.size());
      leaf(e);
      (*options_.ranges)[e] = {1, begin, static_cast<uint32_t>(out_.size())};
    } else {
      leaf(e);
    }
  } else {
    statement(e);
  }
}

// The expression itself, where anything may stand.
void Printer::statement(Expr e) {
  if (graph_.get(e) || is_leaf(e)) return operand(e);
  if (options_.ranges) later(Task::kEnd, e, static_cast<uint32_t>(out_.size()));
  relay::match(
      e,
      [&](const Tuple& n) {
        out_ += "(";
        later(n.fields.size() == 1 ? ",)" : ")");
        for (size_t i = n.fields.size(); i-- > 0;) {
          later(Task::kOperand, n.fields[i]);
          if (i > 0) later(", ");
        }
      },
      [&](const Proj& n) {
        // The dot after a number would be read as part of it.
        const bool number = n.tuple->kind == ExprKind::kConstant;
        if (number) out_ += "(";
        later(Task::kPart, &n, n.index);
        later(number ? ")." : ".");
        later(Task::kOperand, n.tuple);
      },
      [&](const Fn& n) {
        out_ += "fn ";
        fn_header(n);
        out_ += " ";
        later(Task::kLeaveTypes, e);
        braces(n.body, scope_of(e), simple(n.body, scope_of(e)));
      },
      [&](const Call& n) { call(n); },
      [&](const Let&) {
        out_ += "(";
        ++indent_;
        line();
        later(")");
        later(Task::kLine);
        later(Task::kOut);
        later(Task::kLetItem, e);
      },
      [&](const If& n) {
        const uint32_t here = scope_of(e);
        const bool one_line = simple(n.then_branch, here) && simple(n.else_branch, here);
        // `else if` where the branch is nothing but an `if`.
        const bool chained = !one_line && layout_->only_if(n.else_branch, here);
        out_ += "if (";
        if (chained) {
          later(Task::kStatement, n.else_branch);
        } else {
          braces(n.else_branch, here, one_line);
        }
        later(" else ");
        braces(n.then_branch, here, one_line);
        later(") ");
        later(Task::kOperand, n.cond);
      },
      [&](const Match& n) {
        out_ += n.total ? "match (" : "match? (";
        match_arms(n);
        later(") {");
        later(Task::kOperand, n.value);
      },
      [&](const RefNew& n) {
        out_ += "ref(";
        later(")");
        later(Task::kOperand, n.value);
      },
      [&](const RefRead& n) {
        out_ += "ref_read(";
        later(")");
        later(Task::kOperand, n.ref);
      },
      [&](const RefWrite& n) {
        out_ += "ref_write(";
        later(")");
        later(Task::kOperand, n.value);
        later(", ");
        later(Task::kOperand, n.ref);
      },
      []<OneOf<Constant, Var, Global, OpRef, CtorRef> Leaf>(const Leaf&) {
        CHECK(false, "leaves are operands");
      });
}

// A call of a constructor without fields, which is written as its name alone.
bool is_name_alone(const Call& c) {
  const auto* ctor = c.callee->as<CtorRef>();
  return ctor && ctor->ctor->fields.empty() && c.args.empty() && c.attrs.empty();
}

void Printer::call(const Call& c) {
  const auto* ctor = c.callee->as<CtorRef>();
  if (ctor || c.callee->kind == ExprKind::kOpRef) {
    out_ += callee_name(c.callee);
    if (is_name_alone(c)) return;
  }
  later(")");
  if (!c.attrs.empty()) later(Task::kPart, &c);
  for (size_t i = c.args.size(); i-- > 0;) {
    later(Task::kOperand, c.args[i]);
    if (i > 0) later(", ");
  }
  later("(");
  // A name alone would take the brackets for its own.
  const auto* inner = c.callee->as<Call>();
  if (inner && is_name_alone(*inner) && !graph_.get(inner)) later("()");
  if (!ctor && c.callee->kind != ExprKind::kOpRef) later(Task::kOperand, c.callee);
}

// { body }, put on the stack.
void Printer::braces(Expr body, uint32_t around, bool one_line) {
  if (one_line) {
    later(" }");
    later(Task::kScope, body, around);
    later("{ ");
    return;
  }
  later("}");
  later(Task::kLine);
  later(Task::kOut);
  later(Task::kScope, body, around);
  later(Task::kIn);
  later("{");
}

void Printer::match_arms(const Match& m) {
  const uint32_t here = scope_of(&m);
  later("}");
  if (m.arms.empty()) return;
  later(Task::kLine);
  later(Task::kOut);
  for (size_t i = m.arms.size(); i-- > 0;) {
    later(",");
    if (simple(m.arms[i].body, here)) {
      later(Task::kScope, m.arms[i].body, here);
    } else {
      braces(m.arms[i].body, here, false);
    }
    later(Task::kPart, &m, static_cast<uint32_t>(i));
    later(i > 0 ? Task::kLine : Task::kIn);
  }
}

// let x = value; body   (or `value;` if the variable is of no use)
void Printer::let_item(const Let& let) {
  const uint32_t here = scope_of(&let);
  const bool plain = let.x->name == "_" && !let.x->annotation && layout_->scoped().uses.get(let.x) == 0;
  if (!plain) {
    out_ += "let ";
    annotated(let.x);
    out_ += " = ";
  }
  later(Task::kScope, let.body, here);
  later(Task::kLine);
  later(Task::kComment, let.value);
  later(";");
  later(Task::kStatement, let.value);
}

// match_shape x: T = value; body
void Printer::match_shape_item(const Call& call) {
  const Fn& fn = *layout_->shape_match(&call);
  out_ += "match_shape ";
  annotated(fn.params[0]);
  out_ += " = ";
  later(Task::kScope, fn.body, scope_of(&fn));
  later(Task::kLine);
  later(Task::kComment, call.args[0]);
  later(";");
  later(Task::kStatement, call.args[0]);
}

// The bindings of a scope, a line each, then its value.
void Printer::scope(Expr body, uint32_t around) {
  const std::optional<uint32_t> own = layout_->own_scope(body, around);
  const std::vector<Expr>& bound = own ? layout_->bound(*own) : Layout::none();
  if (own && body->kind == ExprKind::kLet) {
    if (options_.ranges) later(Task::kEnd, body, static_cast<uint32_t>(out_.size()));
    later(Task::kLetItem, body);
  } else if (own && layout_->shape_match(body)) {
    if (options_.ranges) later(Task::kEnd, body, static_cast<uint32_t>(out_.size()));
    later(Task::kMatchShapeItem, body);
  } else {
    if (own && !simple(body, around)) later(Task::kComment, body);
    later(Task::kStatement, body);
  }
  for (size_t i = bound.size(); i-- > 0;) {
    later(Task::kLine);
    later(Task::kComment, bound[i]);
    later(";");
    later(Task::kBinding, bound[i]);
  }
}

void Printer::run() {
  while (!pending_.empty()) {
    const Pending p = pending_.back();
    pending_.pop_back();
    switch (p.task) {
      case Task::kText: out_ += p.text; break;
      case Task::kPart:  // what a form has besides operands and fixed text
        if (p.e->kind == ExprKind::kProj) {
          out_ += cat(p.number);
        } else if (const auto* c = p.e->as<Call>()) {
          attrs_after(c->args.empty(), c->attrs);
        } else if (const auto* m = p.e->as<Match>()) {
          pattern(m->arms[p.number].pattern);
          out_ += " => ";
        }
        break;
      case Task::kBinding: {
        const uint32_t number = next_graph_++;
        out_ += cat("%", number, " = ");
        later(Task::kBound, p.e, number);  // later lines refer to it
        statement(p.e);
        break;
      }
      case Task::kStatement: statement(p.e); break;
      case Task::kOperand: operand(p.e); break;
      case Task::kScope: scope(p.e, p.number); break;
      case Task::kLetItem: let_item(*p.e->as<Let>()); break;
      case Task::kMatchShapeItem: match_shape_item(*p.e->as<Call>()); break;
      case Task::kLine: line(); break;
      case Task::kIn:
        ++indent_;
        line();
        break;
      case Task::kOut: --indent_; break;
      case Task::kEnd: (*options_.ranges)[p.e] = {1, p.number, static_cast<uint32_t>(out_.size())}; break;
      case Task::kBound: graph_[p.e] = p.number + 1; break;
      case Task::kComment:
        if (options_.types && p.e->type) {
          out_ += "  " + line_comment("//", relay::show(p.e->type, kMostType));
        }
        break;
      case Task::kLeaveTypes:
        for (const TypeVar* v : p.e->as<Fn>()->type_params) --type_params_[v->name];
        break;
    }
  }
}

void Printer::begin(Expr root) {
  names_.clear();
  taken_.clear();
  suffix_.clear();
  layout_.emplace(root, options_.most_inline);
}

std::string Printer::expression(Expr e) {
  begin(e);
  for (const Var* v : free_vars(e)) {
    out_ += "free_var ";
    annotated(v);
    out_ += ";\n";
  }
  scope(e, 0);
  run();
  return std::move(out_);
}

// ---- Modules ----

void Printer::function(Symbol name, const Fn& fn) {
  begin(&fn);
  const auto start = static_cast<uint32_t>(out_.size());
  out_ += "def @" + quoted_name(name.text());
  fn_header(fn);
  out_ += " {";
  ++indent_;
  line();
  for (const Var* v : free_vars(&fn)) {
    out_ += "free_var ";
    annotated(v);
    out_ += ";";
    line();
  }
  scope(fn.body, scope_of(&fn));
  run();
  --indent_;
  line();
  out_ += "}\n";
  for (const TypeVar* v : fn.type_params) --type_params_[v->name];
  if (options_.ranges) (*options_.ranges)[&fn] = {1, start, static_cast<uint32_t>(out_.size() - 1)};
}

void Printer::data_type(const DataTypeDef& def) {
  for (const TypeVar* v : def.params) ++type_params_[v->name];
  out_ += cat(def.is_extern ? "extern type " : "type ", quoted_word(def.name.text()));
  if (!def.params.empty()) {
    out_ +=
        cat("[", join(def.params, ", ", [](const TypeVar* v) { return quoted_word(v->name.text()); }), "]");
  }
  if (!def.is_extern) {
    out_ += " {\n";
    for (const Constructor* c : def.ctors) {
      out_ += "  " + ctor_name(*c);
      if (!c->fields.empty()) {
        out_ += "(";
        for (size_t i = 0; i < c->fields.size(); ++i) {
          if (i > 0) out_ += ", ";
          type(c->fields[i]);
        }
        out_ += ")";
      }
      out_ += ",\n";
    }
    out_ += "}";
  }
  out_ += "\n";
  for (const TypeVar* v : def.params) --type_params_[v->name];
}

std::string Printer::module() {
  if (options_.header) out_ += "#[version = \"0.0.5\"]\n";
  bool first = true;
  const auto separate = [&] {
    if (!first) out_ += "\n";
    first = false;
  };
  // The library to import a definition from; empty: it is printed.
  const auto library = [&](Span span) {
    return options_.imports ? library_of(module_->context().sources(), span) : std::string_view();
  };
  std::set<std::string_view> libraries;
  for (const auto& [name, def] : module_->data_types()) libraries.insert(library(def->span));
  for (const auto& [name, fn] : module_->functions()) libraries.insert(library(fn->span));
  libraries.erase(std::string_view());
  if (!libraries.empty()) separate();
  for (std::string_view name : libraries) out_ += cat("import ", quoted_string(name), "\n");
  for (const auto& [name, def] : module_->data_types()) {
    if (!library(def->span).empty()) continue;
    separate();
    data_type(*def);
  }
  for (const auto& [name, kernel] : module_->kernels()) {
    separate();
    out_ += print_kernel(name.text(), *kernel);
  }
  for (const auto& [name, fn] : module_->functions()) {
    if (!library(fn->span).empty()) continue;
    separate();
    function(name, *fn);
  }
  return std::move(out_);
}

}  // namespace
}  // namespace text

std::string print(const Module& m, const PrintOptions& options) {
  return text::Printer(options, &m).module();
}
std::string print(Expr e, const PrintOptions& options) {
  return text::Printer(options, nullptr).expression(e);
}

}  // namespace relay
