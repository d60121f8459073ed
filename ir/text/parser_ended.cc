// What a completed operand becomes in the construct that waits for it.
#include "base/cat.h"
#include "ir/text/parser_impl.h"

namespace relay::text {

Parser::State Parser::deliver() {
  Frame& f = top();
  switch (f.step) {
    case Step::kLet: {
      if (!need_after(";", "after the value of a `let`")) return State::kFailed;
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
      if (!need_after(";", "after the value of a `match_shape`")) return State::kFailed;
      bind(f.var);
      items_.push_back({f.var, value_, f.begin, true});
      pop();
      return State::kItem;
    case Step::kGraph:
      if (!need_after(";", "after the value of a graph binding")) return State::kFailed;
      graph_[std::string(f.name)] = value_;
      pop();
      return State::kItem;
    case Step::kScrutinee: {
      if (!need_after("{", "before the arms of a `match`")) return State::kFailed;
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
  switch (top().step) {
    case Step::kParen: return close_paren();
    case Step::kArgs:
      operands_.push_back(value_);
      failed_ = false;
      if (comma_or(")", operands_.size() - top().operands, Place::kAfterOperand)) return next_argument();
      return failed_ ? State::kFailed : finish_call();
    case Step::kBlock: {
      const uint32_t begin = top().begin;
      if (!need_after("}", "after the last expression of a block")) return State::kFailed;
      pop();
      close();
      return value(value_, begin);
    }
    case Step::kFn: return close_function();
    case Step::kCondition:
    case Step::kThen:
    case Step::kElse: return close_part_of_if();
    case Step::kArm: {
      MatchState& m = matches_.back();
      m.arms.push_back({m.pattern, value_});
      leave_scope(m.scope);
      failed_ = false;
      if (comma_or("}", m.arms.size(), Place::kAfterOperand)) return next_arm();
      if (failed_) return State::kFailed;
      return finish_match();
    }
    case Step::kRef: return close_reference();
    default: break;
  }
  CHECK(false, "a sequence ended in a frame that has no brackets");
  return State::kFailed;
}

Parser::State Parser::close_paren() {
  operands_.push_back(value_);
  const bool comma = peek().is(",");
  const Frame paren = top();
  const size_t fields = operands_.size() - paren.operands;
  failed_ = false;
  if (comma_or(")", fields, Place::kAfterOperand)) {
    if (!take(")")) return sequence();
  } else if (failed_) {
    return State::kFailed;
  }
  pop();
  close();
  if (fields > 1 || comma) {
    SpanScope span(builder_, here_from(paren.begin));
    value_ = builder_.tuple(std::span<const Expr>(operands_.data() + paren.operands, fields));
  }
  operands_.resize(paren.operands);
  return value(value_, paren.begin);
}

Parser::State Parser::close_function() {
  if (!need_after("}", "after the body of the function")) return State::kFailed;
  const FnHeader h = std::move(headers_.back());
  headers_.pop_back();
  pop();
  close();
  leave_scope(h.scope);
  types_.leave(h.types);
  SpanScope span(builder_, here_from(h.begin));
  return value(builder_.fn(h.params, value_, h.result, h.attrs, h.type_params, h.where), h.begin);
}

Parser::State Parser::close_part_of_if() {
  Frame& f = top();
  if (f.step == Step::kCondition) {
    if (!need_after(")", "after the condition")) return State::kFailed;
    f.first = value_;
    f.step = Step::kThen;
    return need_after("{", "before the first branch of an `if`") ? sequence() : State::kFailed;
  }
  if (f.step == Step::kElse)
    return need_after("}", "after the second branch of an `if`") ? close_if() : State::kFailed;
  if (!need_after("}", "after the first branch of an `if`")) return State::kFailed;
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
  return need("{", "before the second branch of an `if`") ? sequence() : State::kFailed;
}

Parser::State Parser::close_reference() {
  operands_.push_back(value_);
  const Frame ref = top();
  const size_t wanted = ref.name == "ref_write" ? 2 : 1;
  if (operands_.size() - ref.operands < wanted)
    return need_after(",", "and the value to write") ? sequence() : State::kFailed;
  take(",");
  if (!need_after(")", cat("after ", wanted == 2 ? "two arguments" : "one argument", " of `", ref.name, "`")))
    return State::kFailed;
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
