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

// After a mistake: goes on behind the next `;` of an enclosing block, or at the closing
// bracket of an enclosing construct, whose value is then poison. Only the first mistake of a
// construct is reported.
bool Parser::recover(State& state) {
  // Limits end the definition: what follows is most likely nested as deeply.
  if (depth_ > options_.max_nesting) return false;
  lexer_.set_arithmetic(false);
  lexer_.set_quiet(true);
  size_t inner = 0;  // brackets that were opened while skipping
  for (;; next()) {
    if (at_definition()) {
      lexer_.set_quiet(false);
      return false;
    }
    const Token& t = peek();
    if (t.is("(") || t.is("[") || t.is("{")) {
      ++inner;
      continue;
    }
    const bool closer = t.is(")") || t.is("}");
    if (closer || t.is("]")) {
      if (inner > 0) {
        --inner;
        continue;
      }
      if (!closer) continue;
    } else if (!t.is(";") || inner > 0) {
      continue;
    }
    // Which open construct is this the end of?
    const bool brace = t.is("}");
    size_t found = frames_.size();
    while (found > 0) {
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
        if (!one || several) break;
      }
      if (closer && brace && braced) break;
      // A `)` never ends what stands in braces.
      if (closer && !brace && braced) found = 1;
      if (closer && !brace && round) break;
      --found;
    }
    if (found == 0) {
      if (closer && !brace) continue;  // a bracket too many
      lexer_.set_quiet(false);
      return false;
    }
    lexer_.set_quiet(false);
    std::optional<Frame> binding;
    if (frames_.size() > found) {
      if (!closer) binding = frames_[found];
      operands_.resize(frames_[found].operands);
      items_.resize(frames_[found].items);
    }
    while (frames_.size() > found) drop_frame();
    if (closer) {
      if (top().step == Step::kArm && !matches_.back().pattern) matches_.back().pattern = builder_.wildcard();
      value_ = poison_;
      value_begin_ = t.span.begin;
      state = closed();
      return true;
    }
    next();
    if (binding && binding->step == Step::kLet) {
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
    return true;
  }
}

}  // namespace relay::text
