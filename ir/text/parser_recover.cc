// What the parser does after a mistake inside an expression.
#include "ir/text/parser_impl.h"

namespace relay::text {

// Gives up the construct on top.
void Parser::drop_frame() {
  switch (top().step) {
    case Step::kSequence: leave_scope(top().scope); break;
    case Step::kLet:
    case Step::kMatchShape:
    case Step::kGraph:
    case Step::kBinary: break;
    case Step::kScrutinee: matches_.pop_back(); break;
    case Step::kFn:
      leave_scope(headers_.back().scope);
      types_.leave(headers_.back().types);
      headers_.pop_back();
      close();
      break;
    case Step::kArm:
      leave_scope(matches_.back().scope);
      matches_.pop_back();
      close();
      break;
    default: close();
  }
  pop();
}

// Skips to the next `;` or closing bracket that is of an enclosing construct; false if the
// definition ends before. Brackets that open on the way are skipped whole.
bool Parser::skip_to_end_of_construct() {
  size_t inner = 0;
  for (; !at_definition(); next()) {
    const Token& t = peek();
    if (t.is("(") || t.is("[") || t.is("{")) {
      ++inner;
    } else if (t.is(")") || t.is("}") || t.is("]")) {
      if (inner == 0 && !t.is("]")) return true;
      if (inner > 0) --inner;
    } else if (t.is(";") && inner == 0) {
      return true;
    }
  }
  return false;
}

// How many frames are open when the construct that the token ends is on top; 0 if it ends none.
size_t Parser::construct_ended_by(const Token& t) const {
  const bool brace = t.is("}"), closer = brace || t.is(")");
  for (size_t found = frames_.size(); found > 0; --found) {
    const Step step = frames_[found - 1].step;
    const bool braced = step == Step::kBlock || step == Step::kFn || step == Step::kThen ||
                        (step == Step::kElse && !frames_[found - 1].bare) || step == Step::kArm;
    const bool round =
        step == Step::kParen || step == Step::kArgs || step == Step::kCondition || step == Step::kRef;
    if (!closer && step == Step::kSequence) {
      const Step owner = found > 1 ? frames_[found - 2].step : Step::kBlock;
      // Parentheses are more often left open than they hold several items.
      const bool binds = frames_.size() > found &&
                         (frames_[found].step == Step::kLet || frames_[found].step == Step::kMatchShape ||
                          frames_[found].step == Step::kGraph);
      const bool several = owner == Step::kParen && (binds || items_.size() > frames_[found - 1].items);
      const bool one =
          owner == Step::kArgs || owner == Step::kRef || owner == Step::kCondition || owner == Step::kParen;
      if (!one || several) return found;
    }
    if (brace && braced) return found;
    if (closer && !brace && round) return found;
    // A `)` never ends what stands in braces.
    if (closer && !brace && braced) return 0;
  }
  return 0;
}

// Behind the `;` of a block's item, `binding` if it has one, which is then poison.
void Parser::resume_after_item(const std::optional<Frame>& binding, State& state) {
  next();
  if (binding && (binding->step == Step::kLet || binding->step == Step::kMatchShape)) {
    if (!binding->bare) bind(binding->var);
    items_.push_back({binding->var, poison_, binding->begin});
  } else if (binding && binding->step == Step::kGraph) {
    graph_[std::string(binding->name)] = poison_;
  }
  state = State::kItem;
  if (peek().is("}") || peek().is(")")) {
    value_ = poison_;
    state = end_sequence();
  }
}

// After a mistake: goes on behind the next `;` of an enclosing block, or at the closing
// bracket of an enclosing construct, whose value is then poison. Only the first mistake of a
// construct is reported.
bool Parser::recover(State& state) {
  // Limits end the definition: what follows is most likely nested as deeply.
  if (depth_ > options_.max_nesting) return false;
  lexer_.set_arithmetic(false);
  lexer_.set_quiet(true);
  size_t found = 0;
  while (found == 0) {
    found = skip_to_end_of_construct() ? construct_ended_by(peek()) : 0;
    if (found > 0) break;
    if (at_definition() || !peek().is(")")) {
      lexer_.set_quiet(false);
      return false;
    }
    next();  // a bracket too many
  }
  lexer_.set_quiet(false);
  const Token t = peek();
  const bool closer = !t.is(";");
  std::optional<Frame> binding;
  if (frames_.size() > found) {
    if (!closer) binding = frames_[found];
    operands_.resize(frames_[found].operands);
    items_.resize(frames_[found].items);
  }
  while (frames_.size() > found) drop_frame();
  if (!closer) {
    resume_after_item(binding, state);
    return true;
  }
  if (top().step == Step::kArm && !matches_.back().pattern) matches_.back().pattern = builder_.wildcard();
  value_ = poison_;
  value_begin_ = t.span.begin;
  state = closed();
  return true;
}

}  // namespace relay::text
