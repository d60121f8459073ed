// The machine that reads expressions.
//
// Each open construct is a Frame; what was read last is value_. The states: an item of a sequence
// begins (kItem), an operand begins (kOperand), an operand was read and calls or projections may
// follow (kValue), an infix operator may follow (kReduce), an operand is complete and goes to the
// frame that waits for it (kEnded).
#include "base/cat.h"
#include "ir/text/names.h"
#include "ir/text/parser_impl.h"

namespace relay::text {
namespace {

struct Infix {
  std::string_view token, op;
  uint8_t precedence;
};
constexpr Infix kInfix[] = {{"*", "multiply", 12}, {"/", "divide", 12},        {"+", "add", 10},
                            {"-", "subtract", 10}, {"<", "less", 8},           {"<=", "less_equal", 8},
                            {">", "greater", 8},   {">=", "greater_equal", 8}, {"==", "equal", 7},
                            {"!=", "not_equal", 7}};

const Infix* infix_of(const Token& t) {
  if (t.kind != TokenKind::kPunctuation) return nullptr;
  for (const Infix& i : kInfix) {
    if (i.token == t.text) return &i;
  }
  return nullptr;
}

}  // namespace

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
    expected_name("a variable after `let`, like `%x`", "%");
    return State::kFailed;
  }
  const Token name = next();
  Type annotation = nullptr;
  if ((take(":") && !read_annotation(annotation)) || !need("=", "after the variable of a `let`")) {
    return broken_binding(name);
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

// match_shape %x: T = value; body   is   (fn (%x: T) { body })(value)
Parser::State Parser::match_shape_item() {
  const uint32_t begin = next().span.begin;
  const Token name = next();
  Type shape = nullptr;
  if (!need(":", "before the type that `match_shape` looks for") || !read_annotation(shape) ||
      !need("=", "after the type that `match_shape` looks for")) {
    return broken_binding(name);
  }
  push(Step::kMatchShape, begin);
  SpanScope span(builder_, name.span);
  top().var = builder_.var(name.name(), shape);
  return State::kOperand;
}

Parser::State Parser::broken_binding(const Token& name) {
  bind(builder_.var(name.name()));
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
  const Var* var = builder_.var(name.name(), annotation);
  free_variables_.push_back(var);
  // Known from here to the end of the text: below everything that scopes bind.
  auto& known = locals_[var->name];
  known.insert(known.begin(), var);
  return State::kItem;
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
  expected("an expression", "expected-expression");
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
    if (!fn_header(header) || !need("{", "before the body of the function")) {
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
  if (explain_absent(operators_, d, name)) return value(poison_, begin);
  suggest(d, name, "", [&] {
    std::vector<std::string> names = operators_.names ? operators_.names() : std::vector<std::string>();
    for (std::string& c : ctor_names()) names.push_back(std::move(c));
    return names;
  });
  return value(poison_, begin);
}

// ---- What may follow an operand ----

namespace {
bool is_all_digits(const Token& t) {
  return t.kind == TokenKind::kNumber && t.text.find_first_not_of("0123456789") == std::string_view::npos;
}
}  // namespace

Parser::State Parser::postfix() {
  if (peek().is(".")) {
    next();
    // `%x.0.1` has two of them, so they are no number of the usual kind.
    Token digits;
    if (!lexer_.digits(digits) && is_all_digits(peek())) digits = next();
    if (digits.text.empty()) {
      expected("the number of a field after `.`", "expected-field",
               "the fields of a tuple are numbered: `%x.0`");
      return State::kFailed;
    }
    const std::optional<Number> n = split_number(digits.text, false);
    const std::optional<int64_t> index = n ? to_int64(*n) : std::nullopt;
    if (!index || *index > INT32_MAX) {
      error(digits.span, "literal-out-of-range", "no tuple has that many fields");
      return State::kFailed;
    }
    SpanScope span(builder_, here_from(value_begin_));
    value_ = builder_.proj(value_, static_cast<uint32_t>(*index));
    return State::kValue;
  }
  if (peek().is("(")) {
    const Span at = next().span;
    push(Step::kArgs, value_begin_);
    top().first = value_;
    if (!open(at)) return State::kFailed;
    return next_argument();
  }
  return State::kReduce;
}

Parser::State Parser::reduce() {
  const Infix* i = infix_of(peek());
  while (top().step == Step::kBinary && (!i || top().precedence >= i->precedence)) {
    const Frame f = top();
    pop();
    value_ = infix(f, value_);
    value_begin_ = f.begin;
  }
  if (!i) return State::kEnded;
  next();
  push(Step::kBinary, value_begin_);
  top().first = value_;
  top().precedence = i->precedence;
  top().name = i->op;
  return State::kOperand;
}

Expr Parser::infix(const Frame& f, Expr right) {
  const Span span = here_from(f.begin);
  const op::OpDef* op = operators_.find ? operators_.find(f.name) : nullptr;
  if (!op) {
    error(span, "unknown-operator",
          cat("there is no operator `", f.name, "`, which this infix operator stands for"));
    return poison_;
  }
  SpanScope scope(builder_, span);
  return builder_.call(builder_.op(*op), {f.first, right});
}

// ---- Arguments ----

Parser::State Parser::next_argument() {
  if (take(")")) return finish_call();
  const bool other_meta = peek().kind == TokenKind::kMeta && !peek().text.starts_with("meta[relay.Constant]");
  if (at_attribute() || other_meta) {
    std::vector<Attr> attrs;
    if (other_meta) {
      const Token token = next();
      const std::optional<AttrValue> meta = meta_attr(token);
      if (!meta) return State::kFailed;
      attrs.push_back({module_.context().symbol("attrs"), *meta});
    } else if (!attributes(attrs, ")")) {
      return State::kFailed;
    }
    if (!need(")", "after the attributes of a call")) return State::kFailed;
    call_attrs_ = module_.context().intern_attrs(std::move(attrs));
    return finish_call();
  }
  return sequence();
}

Parser::State Parser::finish_call() {
  const Frame f = top();
  pop();
  close();
  const Attrs attrs = std::exchange(call_attrs_, {});
  SpanScope span(builder_, here_from(f.begin));
  const std::span<const Expr> args(operands_.data() + f.operands, operands_.size() - f.operands);
  Expr call = nullptr;
  if (const std::string* name = read_calls_.name_of(f.first)) {
    Operators::Read read = operators_.read(builder_, *name, args, attrs);
    if (!read.e) error(builder_.span(), read.slug, cat("`", *name, "`: ", read.wrong));
    call = read.e ? read.e : poison_;
  } else {
    call = builder_.call(f.first, args, attrs);
  }
  operands_.resize(f.operands);
  return value(call, f.begin);
}

// ---- Completed operands ----

Parser::State Parser::deliver() {
  Frame& f = top();
  switch (f.step) {
    case Step::kLet: {
      if (!need(";", "after the value of a `let`")) return State::kFailed;
      const Frame let = f;
      pop();
      if (let.bare) {
        const bool mentioned = pending_lets_[let.var];
        pending_lets_.erase(let.var);
        // The value began with a function but is something else, so that the variable is not
        // known inside it.
        if (mentioned && value_->kind != ExprKind::kFn) {
          error(let.var->span, "used-in-own-value",
                cat("`%", let.var->name.text(), "` is used in its own value, which is not a function"))
              .label(value_->span, "this is its value")
              .note("only a function may use itself: `let %f = fn (...) { ... };`");
        }
      }
      if (!let.bare) bind(let.var);
      items_.push_back({let.var, value_, let.begin});
      return State::kItem;
    }
    case Step::kMatchShape:
      if (!need(";", "after the value of a `match_shape`")) return State::kFailed;
      bind(f.var);
      items_.push_back({f.var, value_, f.begin, true});
      pop();
      return State::kItem;
    case Step::kGraph:
      if (!need(";", "after the value of a graph binding")) return State::kFailed;
      graph_[std::string(f.name)] = value_;
      pop();
      return State::kItem;
    case Step::kScrutinee: {
      if (!need("{", "before the arms of a `match`")) return State::kFailed;
      MatchState& m = matches_.back();
      m.value = value_;
      m.scope = bound_.size();
      f.step = Step::kArm;
      if (!open({lexer_.file(), f.begin, lexer_.end_of_last()})) return State::kFailed;
      return next_arm();
    }
    case Step::kElse: return close_if();  // `else if`, without braces
    case Step::kSequence: {
      if (take(";")) {
        items_.push_back({nullptr, value_, value_begin_});
        return State::kItem;
      }
      return end_sequence();
    }
    default: break;
  }
  CHECK(false, "an operand ended in a frame that waits for a sequence");
  return State::kFailed;
}

Parser::State Parser::end_sequence() {
  const Frame f = top();
  for (size_t i = items_.size(); i-- > f.items;) {
    const Item& item = items_[i];
    SpanScope span(builder_, here_from(item.begin));
    if (item.matches_shape) {
      value_ = builder_.call(builder_.fn({&item.var, 1}, value_), {item.value});
      continue;
    }
    const Var* var = item.var ? item.var : builder_.var("_");
    value_ = builder_.let(var, item.value, value_);
  }
  items_.resize(f.items);
  leave_scope(f.scope);
  pop();
  if (frames_.empty()) return State::kDone;
  return closed();
}

Parser::State Parser::closed() {
  Frame& f = top();
  switch (f.step) {
    case Step::kParen: {
      operands_.push_back(value_);
      const bool comma = peek().is(",");
      const size_t fields = operands_.size() - f.operands;
      failed_ = false;
      if (comma_or(")", fields)) {
        if (!take(")")) return sequence();
      } else if (failed_) {
        return State::kFailed;
      }
      const Frame paren = f;
      pop();
      close();
      if (fields > 1 || comma) {
        SpanScope span(builder_, here_from(paren.begin));
        value_ = builder_.tuple(std::span<const Expr>(operands_.data() + paren.operands, fields));
      }
      operands_.resize(paren.operands);
      return value(value_, paren.begin);
    }
    case Step::kArgs:
      operands_.push_back(value_);
      failed_ = false;
      if (comma_or(")", operands_.size() - f.operands)) return next_argument();
      return failed_ ? State::kFailed : finish_call();
    case Step::kBlock: {
      const uint32_t begin = f.begin;
      if (!need("}", "after the last expression of a block")) return State::kFailed;
      pop();
      close();
      return value(value_, begin);
    }
    case Step::kFn: {
      if (!need("}", "after the body of the function")) return State::kFailed;
      const FnHeader h = std::move(headers_.back());
      headers_.pop_back();
      pop();
      close();
      leave_scope(h.scope);
      types_.leave(h.types);
      SpanScope span(builder_, here_from(h.begin));
      return value(builder_.fn(h.params, value_, h.result, h.attrs, h.type_params, h.where), h.begin);
    }
    case Step::kCondition:
      if (!need(")", "after the condition")) return State::kFailed;
      f.first = value_;
      f.step = Step::kThen;
      if (!need("{", "before the first branch of an `if`")) return State::kFailed;
      return sequence();
    case Step::kThen:
      if (!need("}", "after the first branch of an `if`")) return State::kFailed;
      f.second = value_;
      f.step = Step::kElse;
      if (!take_word("else")) {
        expected("`else`: every `if` has two branches", "missing-else",
                 "the value of an `if` is that of a branch; `()` is a value with nothing in it");
        pop();
        close();
        return State::kFailed;
      }
      if (peek().is_word("if")) {
        f.bare = true;
        return State::kOperand;
      }
      if (!need("{", "before the second branch of an `if`")) return State::kFailed;
      return sequence();
    case Step::kElse:
      if (!need("}", "after the second branch of an `if`")) return State::kFailed;
      return close_if();
    case Step::kArm: {
      MatchState& m = matches_.back();
      m.arms.push_back({m.pattern, value_});
      leave_scope(m.scope);
      failed_ = false;
      if (comma_or("}", m.arms.size())) return next_arm();
      if (failed_) return State::kFailed;
      return finish_match();
    }
    case Step::kRef: {
      operands_.push_back(value_);
      const size_t count = operands_.size() - f.operands;
      const size_t wanted = f.name == "ref_write" ? 2 : 1;
      if (count < wanted) {
        if (!need(",", "and the value to write")) return State::kFailed;
        return sequence();
      }
      take(",");
      if (!need(")", cat("after ", wanted == 2 ? "two arguments" : "one argument", " of `", f.name, "`"))) {
        return State::kFailed;
      }
      const Frame ref = f;
      pop();
      close();
      SpanScope span(builder_, here_from(ref.begin));
      const Expr* args = operands_.data() + ref.operands;
      const Expr made = ref.name == "ref"        ? Expr(builder_.ref_new(args[0]))
                        : ref.name == "ref_read" ? Expr(builder_.ref_read(args[0]))
                                                 : Expr(builder_.ref_write(args[0], args[1]));
      operands_.resize(ref.operands);
      return value(made, ref.begin);
    }
    default: break;
  }
  CHECK(false, "a sequence ended in a frame that has no brackets");
  return State::kFailed;
}

// The second branch is value_; an `if` that is itself the second branch of another
// ends that one too.
Parser::State Parser::close_if() {
  for (;;) {
    const Frame f = top();
    pop();
    close();
    SpanScope span(builder_, here_from(f.begin));
    value_ = builder_.if_(f.first, f.second, value_);
    value_begin_ = f.begin;
    if (frames_.empty() || top().step != Step::kElse || !top().bare) return State::kValue;
  }
}

Parser::State Parser::next_arm() {
  if (take("}")) return finish_match();
  MatchState& m = matches_.back();
  m.pattern = pattern();
  if (!m.pattern) return State::kFailed;
  if (!need("=>", "after the pattern of an arm")) return State::kFailed;
  return sequence();
}

Parser::State Parser::finish_match() {
  const MatchState m = std::move(matches_.back());
  matches_.pop_back();
  pop();
  close();
  SpanScope span(builder_, here_from(m.begin));
  return value(builder_.match(m.value, m.arms, m.total), m.begin);
}

}  // namespace relay::text
