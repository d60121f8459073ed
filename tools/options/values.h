// Numbers on the command line: counts, sizes and seconds are read here, for every option
// of every command.
//
// Each function returns a check for an option (`.check(count(1, 8))`). A text that is no
// such number is refused with what the option takes: "--threads: `-1` is not a whole number
// from 1 to 1024".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/options/options.h"

namespace relay::tools {

// A whole number in decimal digits, without a sign.
Check count(uint64_t least, uint64_t most);
// The same without an upper bound of its own.
Check count_from(uint64_t least);
// A number of bytes, 1 at least: "2GB", "1.5 GiB", "300 MB", "4096". Units are powers of 1024.
Check size();
// A time in seconds, 0 or more: "0.5", "1e3".
Check seconds();
// A number, perhaps with a fraction.
Check number(double least, double most);

// One of these words: "there is no form `pack`; did you mean `package`? There are: so, package".
Check one_of(std::string what, std::vector<std::string> words);

// Readers behind them; nullopt if the text is something else or does not fit 64 bits.
std::optional<uint64_t> parse_count(std::string_view text);
std::optional<uint64_t> parse_size(std::string_view text);
std::optional<double> parse_number(std::string_view text);  // finite

}  // namespace relay::tools
