// How names and strings are written.
#pragma once

#include <string>
#include <string_view>

namespace relay::text {

// Letters, digits, `_`, and `/` between them; not starting with a digit or `/`.
bool plain_name(std::string_view name);
// Words that begin a form of expression or a definition.
bool keyword(std::string_view name);

// The name if it is plain, else between backquotes: `conv 1`.
std::string quoted_name(std::string_view name);
// As above for the names of operators and attributes, which may be plain names joined by dots.
std::string quoted_dotted_name(std::string_view name);
// A name where keywords, dtypes and the like stand too: those are quoted.
std::string quoted_word(std::string_view name);
// Between double quotes, with escapes.
std::string quoted_string(std::string_view text);

// The text that was written between quotes, with escapes resolved: \\ \" \` \n \r \t \xHH. An
// unknown escape stands for itself, because the established format has none.
std::string unescaped(std::string_view inside);

}  // namespace relay::text
