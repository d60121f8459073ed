// A text from outside (a model, a command line, a file) within text that Relay writes. One function
// for each kind of place; whatever the text is, it stays in that place.
//
// Callers hand over the raw text. Nobody else escapes, and tests/arch looks for writers that forget
// to. JSON has a header of its own, base/json_text.h.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace relay {

// --- C, C++, CUDA ---

// Letters, digits and underscores of the text, at most 48 of them. All else becomes an underscore;
// a text without a letter or digit becomes "unnamed". The result is no keyword, no name of the
// compiler's or of the standard library's macros, does not begin with `relay_` and neither begins
// nor ends with an underscore.
std::string c_identifier(std::string_view text);

// A string literal, quotes included, of printable ASCII. It is one of the assembler's too.
std::string c_string(std::string_view text);

// A comment up to the end of a line, which is the caller's: line_comment("//", "softmax") == "//
// softmax". The text becomes printable ASCII and does not end in a backslash, so the next line is
// code again. LLVM's mark is ";".
std::string line_comment(std::string_view mark, std::string_view text);

// A comment of C with these lines, each after " * " but the first. None of them can end it.
std::string block_comment(std::span<const std::string> lines);

// --- Relay's own texts ---

// The text between such marks, with the escapes that ir/text reads: \\ \n \r \t \xHH, and a
// backslash before the mark.
std::string relay_quoted(std::string_view text, char mark);

// --- HTML ---

// The text as the content of an element, or as the value of an attribute between quotes of either
// kind. Control characters become \x1b, because HTML cannot write them; line ends and tabs stay.
std::string html_text(std::string_view text);

// --- Shells, terminals ---

// One word of a command, in quotes if it needs them.
std::string shell_word(std::string_view word);

// A terminal would obey control characters: all but those in `keep` become \x1b.
std::string harmless(std::string_view text, std::string_view keep = "\n");

}  // namespace relay
