// Lists among the values of passes: "gradient{wrt=w+b}".
//
// A parameter whose `most` is kList takes items with `+` between them in the place of a number. Its
// value is how many there are. Each item is a value besides, `wrt=w`, whose number is its place
// from 1: so a list goes wherever the numbers of a pass go.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "passes/pass.h"

namespace relay::passes {

inline constexpr int64_t kList = -1;

inline bool is_list(const Parameter& p) { return p.most == kList; }

// The items in their order; empty if the pipeline gives none.
std::vector<std::string> list_of(const std::map<std::string, int64_t>& values, std::string_view parameter);

// Reads "w+b" into the values. False if an item is empty or comes twice.
bool read_list(std::string_view text, std::string_view parameter, std::map<std::string, int64_t>& values);

// "w+b": what `read_list` reads.
std::string show_list(const std::map<std::string, int64_t>& values, std::string_view parameter);

}  // namespace relay::passes
