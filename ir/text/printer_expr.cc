// The text of expressions, from the stack of what is still to be written.
#include "base/cat.h"
#include "base/escape.h"
#include "ir/text/print_type.h"
#include "ir/text/printer_impl.h"

namespace relay::text {
namespace {

constexpr size_t kMostType = 200;  // characters of a type in a comment

}  // namespace

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

}  // namespace relay::text
