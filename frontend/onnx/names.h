// Texts of a model, made fit for messages and for names of ours.
#pragma once

#include <string>
#include <string_view>

namespace relay::frontend {

// Printable and not too long: what is not ASCII text is written \xNN.
std::string printable(std::string_view text, size_t most = 120);

// A name for a shape variable: letters, digits and underscores, not a word of the language.
std::string identifier(std::string_view text);

}  // namespace relay::frontend
