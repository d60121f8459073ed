// The machine that reads expressions.
//
// Each open construct is a Frame; what was read last is value_. The states: an item of a sequence
// begins (kItem), an operand begins (kOperand), an operand was read and calls or projections may
// follow (kValue), an infix operator may follow (kReduce), an operand is complete and goes to the
// frame that waits for it (kEnded).
#include "base/cat.h"
#include "ir/text/library.h"
#include "ir/text/parser_impl.h"

namespace relay::text {
void Parser::push(Step step, uint32_t begin) {
  Frame f{};
  f.step = step;
  f.begin = begin;
  f.operands = static_cast<uint32_t>(operands_.size());
  f.items = static_cast<uint32_t>(items_.size());
  f.scope = bound_.size();
  frames_.push_back(f);
}

Parser::State Parser::sequence() {
  push(Step::kSequence, peek().span.begin);
  return State::kItem;
}

// A bracket was taken: inside stands a sequence.
Parser::State Parser::opened(Step step, uint32_t begin) {
  push(step, begin);
  if (!open({lexer_.file(), begin, lexer_.end_of_last()})) return State::kFailed;
  return sequence();
}

Parser::State Parser::value(Expr e, uint32_t begin) {
  value_ = e;
  value_begin_ = begin;
  return State::kValue;
}

Expr Parser::run_expression() {
  State state = sequence();
  for (;;) {
    switch (state) {
      case State::kItem: state = begin_item(); break;
      case State::kOperand: state = operand(); break;
      case State::kValue: state = postfix(); break;
      case State::kReduce: state = reduce(); break;
      case State::kEnded: state = deliver(); break;
      case State::kDone: return value_;
      case State::kFailed:
        if (!recover(state)) return nullptr;
        break;
    }
  }
}

// ---- Sequences: items separated by `;` ----

Parser::State Parser::begin_item() {
  const Token& t = peek();
  errors_at_item_ = diagnostics_.errors();
  const Step owner = frames_.size() > 1 ? frames_[frames_.size() - 2].step : Step::kBlock;
  const bool round =
      owner == Step::kParen || owner == Step::kArgs || owner == Step::kCondition || owner == Step::kRef;
  if (t.is("}") && !round) {
    expected("an expression: what stands in braces has a value", "missing-result",
             items_.size() > top().items ? "the value is the last expression, with no `;` behind it" : "");
    return State::kFailed;
  }
  if (t.is_word("let")) return let_item();
  if (t.is_word("match_shape") && lexer_.peek_second().kind == TokenKind::kLocal) return match_shape_item();
  if (t.kind == TokenKind::kGraph && lexer_.peek_second().is("=")) return graph_item();
  if (t.is_word("free_var")) return free_variable();
  return State::kOperand;
}

Parser::State Parser::let_item() {
  const uint32_t begin = next().span.begin;
  if (peek().kind != TokenKind::kLocal && !peek().is_word("_")) {
    expected_name("a variable after `let`, like `%x`", "%", Place::kLet);
    bind_names_of_tuple();
    return State::kFailed;
  }
  const Token name = next();
  Type annotation = nullptr;
  if ((take(":") && !read_annotation(annotation)) ||
      !need("=", "after the variable of a `let`", Place::kBinding)) {
    return broken_binding(name, begin);
  }
  push(Step::kLet, begin);
  SpanScope span(builder_, name.span);
  top().var = builder_.var(name.name(), annotation);
  if (peek().is_word("fn")) {  // functions may call themselves
    bind(top().var);
    top().bare = true;
    pending_lets_.emplace(top().var, false);
  }
  return State::kOperand;
}

// Of `let (%a, %b) = ...`, which there is not: the names are bound to what could not be read.
void Parser::bind_names_of_tuple() {
  for (Token t = peek(); t.is("(") || t.is(",") || t.is(")") || t.kind == TokenKind::kLocal; t = peek()) {
    next();
    if (t.kind != TokenKind::kLocal) continue;
    SpanScope span(builder_, t.span);
    const Var* var = builder_.var(t.name());
    bind(var);
    items_.push_back({var, poison_, t.span.begin});
  }
}

// match_shape %x: T = value; body   is   (fn (%x: T) { body })(value)
Parser::State Parser::match_shape_item() {
  const uint32_t begin = next().span.begin;
  const Token name = next();
  Type shape = nullptr;
  if (!need(":", "before the type that `match_shape` looks for") || !read_annotation(shape) ||
      !need("=", "after the type that `match_shape` looks for")) {
    return broken_binding(name, begin);
  }
  push(Step::kMatchShape, begin);
  SpanScope span(builder_, name.span);
  top().var = builder_.var(name.name(), shape);
  return State::kOperand;
}

Parser::State Parser::broken_binding(const Token& name, uint32_t begin) {
  push(Step::kLet, begin);
  SpanScope span(builder_, name.span);
  top().var = builder_.var(name.name());
  return State::kFailed;
}

Parser::State Parser::graph_item() {
  const Token number = next();
  next();  // =
  push(Step::kGraph, number.span.begin);
  top().name = number.text;
  return State::kOperand;
}

Parser::State Parser::free_variable() {
  next();
  if (peek().kind != TokenKind::kLocal) {
    expected_name("a variable after `free_var`, like `%x`", "%");
    return State::kFailed;
  }
  const Token name = next();
  Type annotation = nullptr;
  if (take(":") && !read_annotation(annotation)) return State::kFailed;
  if (!need(";", "after a free variable")) return State::kFailed;
  if (module_mode_ && !lone_) {
    error(name.span, "free-variable", cat("`%", name.name(), "` is free; functions of a module have none"))
        .note("make it a parameter of the function");
  }
  SpanScope span(builder_, name.span);
  declare(name.name(), annotation);
  return State::kItem;
}

// Known from here to the end of the text: below everything that scopes bind.
void Parser::declare(std::string_view name, Type annotation) {
  const Var* var = builder_.var(name, annotation);
  free_variables_.push_back(var);
  auto& known = locals_[var->name];
  known.insert(known.begin(), var);
}

// ---- Operands ----

Parser::State Parser::operand() {
  const Token& t = peek();
  const uint32_t begin = t.span.begin;
  switch (t.kind) {
    case TokenKind::kNumber: return number_operand();
    case TokenKind::kMeta: return metadata_operand();
    case TokenKind::kName: return name_operand();
    case TokenKind::kLocal: {
      const Token name = next();
      if (const Var* var = lookup(module_.context().symbol(name.name()))) {
        if (auto it = pending_lets_.find(var); it != pending_lets_.end()) it->second = true;
        return value(var, begin);
      }
      Diagnostic& d =
          error(name.span, "unknown-variable", cat("there is no variable `%", name.name(), "` here"));
      if (peek().is("=")) {
        d.note(cat("`let %", name.name(), " = ...;` names a value"));
        return value(poison_, begin);
      }
      suggest(d, name.name(), "%", [&] {
        std::vector<std::string> names;
        for (Symbol s : bound_) names.push_back(s.str());
        return names;
      });
      return value(poison_, begin);
    }
    case TokenKind::kGraph: {
      const Token number = next();
      used_graph_ = true;
      const auto it = graph_.find(std::string(number.text));
      if (it != graph_.end()) return value(it->second, begin);
      error(number.span, "unknown-graph-binding", cat("`%", number.text, "` is not bound before this"))
          .note(cat("a graph binding is written `%", number.text, " = ...;` above its uses"));
      return value(poison_, begin);
    }
    case TokenKind::kGlobal: {
      const Token name = next();
      SpanScope span(builder_, name.span);
      const Global* g = builder_.global(name.name());
      used_globals_.emplace_back(g->name, name.span);
      return value(g, begin);
    }
    default: break;
  }
  if (t.is("(")) {
    next();
    if (take(")")) {
      SpanScope span(builder_, here_from(begin));
      return value(builder_.tuple({}), begin);
    }
    return opened(Step::kParen, begin);
  }
  if (t.is("{")) {
    next();
    return opened(Step::kBlock, begin);
  }
  if (t.is("-")) return number_operand();
  expected_at(Place::kOperand, "an expression", "expected-expression");
  return State::kFailed;
}

// Keywords that begin a form of expression. `special` is set if the name at hand is one.
Parser::State Parser::special_operand(bool& special) {
  const Token t = peek();
  const uint32_t begin = t.span.begin;
  special = true;
  if (t.is_word("fn")) {
    next();
    FnHeader header;
    header.begin = begin;
    if (!fn_header(header) || !need("{", "before the body of the function", Place::kBody)) {
      leave_scope(header.scope);
      types_.leave(header.types);
      return State::kFailed;
    }
    headers_.push_back(std::move(header));
    return opened(Step::kFn, begin);
  }
  if (t.is_word("if")) {
    next();
    if (!need("(", "before the condition")) return State::kFailed;
    return opened(Step::kCondition, begin);
  }
  if (t.is_word("match")) {
    next();
    MatchState m;
    m.total = !take("?");
    m.begin = begin;
    matches_.push_back(std::move(m));
    push(Step::kScrutinee, begin);
    return State::kOperand;
  }
  if (t.is_word("ref") || t.is_word("ref_read") || t.is_word("ref_write")) {
    next();
    if (!need("(", cat("after `", t.text, "`"))) return State::kFailed;
    push(Step::kRef, begin);
    top().name = t.text;
    if (!open(t.span)) return State::kFailed;
    return sequence();
  }
  if (t.is_word("True") || t.is_word("False")) {
    next();
    Tensor truth(kBool, {});
    truth.set_int(0, t.text == "True");
    return value(constant(truth, {}, t.span), begin);
  }
  if (t.is_word("tensor")) return tensor_operand();
  if (t.is_word("const")) return constant_operand();
  if (!t.quoted && (t.text.starts_with("inf") || t.text.starts_with("nan"))) {
    const std::optional<Number> n = split_number(t.text, false);
    if (n && dtype_of_suffix(n->suffix)) return number_operand();
  }
  special = false;
  return State::kFailed;
}

// A form with a keyword, a constructor, or an operator.
Parser::State Parser::name_operand() {
  bool special = false;
  const State state = special_operand(special);
  if (special) return state;

  // `ctor name` and `op name` say which of the two is meant, and mean the bare function value.
  bool only_ctor = false, only_op = false;
  const uint32_t begin = peek().span.begin;
  if ((peek().is_word("ctor") || peek().is_word("op")) && lexer_.peek_second().kind == TokenKind::kName) {
    only_ctor = next().text == "ctor";
    only_op = !only_ctor;
  }
  if (peek().is_word("def")) {
    expected_at(Place::kOperand, "an expression", "expected-expression");
    return State::kFailed;
  }
  const bool reserved = keyword_as_name("an expression");
  const Token first = next();
  if (reserved) return State::kFailed;
  std::string name = first.name();
  Span span = first.span;
  const Constructor* ctor = only_op ? nullptr : find_ctor(name);
  if (!ctor && !only_ctor) {
    // Names of operators may have dots.
    while (peek().is(".") && lexer_.peek_second().kind == TokenKind::kName) {
      next();
      const Token part = next();
      name += cat(".", part.name());
      span = cover(span, part.span);
    }
  }
  SpanScope scope(builder_, here_from(begin));
  if (ctor) {
    const CtorRef* ref = builder_.ctor(*ctor);
    // A constructor without fields is called by its name alone.
    if (ctor->fields.empty() && !only_ctor && !peek().is("(")) return value(builder_.call(ref, {}), begin);
    return value(ref, begin);
  }
  const op::OpDef* op = operators_.find && !only_ctor ? operators_.find(name) : nullptr;
  if (op) return value(builder_.op(*op), begin);
  if (!only_ctor && !only_op && peek().is("(") && operators_.reads && operators_.reads(name))
    return value(read_calls_.stand_in(builder_, name), begin);
  if (broken_types_ && !name.empty() && name[0] >= 'A' && name[0] <= 'Z') {
    return value(poison_, begin);  // most likely of a type that could not be read
  }
  Diagnostic& d =
      only_ctor ? error(span, "unknown-constructor", cat("there is no constructor `", name, "`"))
                : error(span, "unknown-operator", cat("there is no operator or constructor `", name, "`"));
  if (!only_ctor && lookup(module_.context().symbol(name))) {
    d.note(cat("did you mean `%", name, "`?"));  // a variable without its sign
    return value(poison_, begin);
  }
  if (const std::string_view remedy = habit(Place::kOperand, first); !remedy.empty() && name == first.text) {
    d.note(std::string(remedy));
    return State::kFailed;  // what follows is no text of ours
  }
  if (explain_absent(operators_, d, name) || explain_import(d, name)) return value(poison_, begin);
  suggest(d, name, "", [&] {
    std::vector<std::string> names = operators_.names ? operators_.names() : std::vector<std::string>();
    for (std::string& c : ctor_names()) names.push_back(std::move(c));
    return names;
  });
  return value(poison_, begin);
}

}  // namespace relay::text
