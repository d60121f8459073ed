// Habits of other languages: what people write by habit, and what is written here instead.
//
// One table has all of them, so that each place of the parser that expected something else can add
// the remedy to its message.
#pragma once

#include <cstdint>
#include <string_view>

#include "ir/text/lexer.h"

namespace relay::text {

// Where the parser is when it finds a token that does not belong there.
enum class Place : uint8_t {
  kNone,          // where nothing is written by habit
  kDefinition,    // before a definition, and behind the name of a type without constructors
  kParameters,    // before the parameters of a function
  kBody,          // before the body of a function
  kLet,           // before the name that a `let` binds
  kBinding,       // behind that name
  kOperand,       // before an expression
  kAfterOperand,  // behind an expression, where a bracket closes or a `;` stands
  kAfterScalar,   // behind a scalar expression of a kernel
  kPattern,       // before a pattern
  kType,          // before a type
};

// Returns the remedy as a note, or "" if the token there is no habit that we know.
std::string_view habit(Place place, const Token& found);

}  // namespace relay::text
