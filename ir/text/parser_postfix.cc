// What follows an operand: calls and their arguments, projections, infix operators.
#include <utility>

#include "base/cat.h"
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

}  // namespace relay::text
