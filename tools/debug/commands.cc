#include "tools/debug/commands.h"

#include <fmt/format.h>

#include "base/cat.h"
#include "base/nearest.h"
#include "tools/debug/refused.h"
#include "tools/debug/session.h"

namespace relay::tools::debug {
namespace {

constexpr std::string_view kName =
    R"(NAME is a variable (%x or x), what the text binds (%3; the output of a line, for ONNX), or `result`: the value
that the last stop showed. A slice may follow: x[0, :, 3:5] takes element 0 of the first dimension, all of the
second and elements 3 and 4 of the third; negative numbers count from the end, a:b:c takes every c-th.
)";

constexpr std::string_view kStep =
    R"(Goes into the functions that are called. An expression stops when its operands have their values, and when it has
its own. Constants, variables, functions and lets are not worth a stop.
)";

constexpr std::string_view kNext =
    R"(From a value to what the same function does next, over the functions that it calls. An `if` or `match` is not
gone over: the next stop is within it.
)";

constexpr std::string_view kFinish =
    R"(The function is that of the frame which `up` and `down` chose. Calls in tail position belong to it.
)";

constexpr std::string_view kBreak =
    R"(WHERE is a line (12), FILE:LINE, an operator (nn.conv2d), a function (@main) or * for every call. Without
a condition the program stops at the first expression of the line, before each call of the operator, when its
arguments have their values, or where the function is entered. With one it stops at a value of theirs that meets it:
nan, inf, or min, max, mean, std or absmax compared with a number, as in `break nn.dense if absmax > 1e3`; or one of
several, as in `break * if nan|inf`, which finds where numbers go wrong. Of a tuple one tensor is enough.
A call in tail position gives a value of the function that it calls. It is one of the function that it stands in only
where a call that names that one waits for it.
)";

constexpr std::string_view kStatistics = R"(Mean and std are of the finite elements.
)";

constexpr std::string_view kRecord =
    R"(Breakpoints do not count. A line of JSON each: where, operator, shape, checksum and statistics.
)";

constexpr std::string_view kReplay =
    R"(FILE is what `record` wrote, perhaps of another version of the program: operators are compared in the order in
which they are evaluated, and lines of the text may have moved. Without a tolerance every bit counts; with one
the statistics may differ by that part of the largest magnitude. Breakpoints do not count.
)";

// In the order in which `help` lists them.
constexpr Command kCommands[] = {
    {"step", "s", "", "to the next expression, or to its value", kStep, true, &Session::step},
    {"next", "n", "", "over the expression at hand, to its value", kNext, true, &Session::next},
    {"finish", "f", "", "until the function returns, and show its value", kFinish, true, &Session::finish},
    {"continue", "c", "", "until a breakpoint, a failure or the end", "", true, &Session::go},
    {"restart", "", "", "from the beginning, with the same inputs and breakpoints", "", false,
     &Session::restart},
    {"break", "b", "WHERE [if CONDITION]", "stop at a line, an operator or a function", kBreak, false,
     &Session::add_breakpoint},
    {"breakpoints", "", "", "list the breakpoints and how often each has stopped", "", false,
     &Session::list_breakpoints},
    {"delete", "d", "N", "take breakpoint N away", "", false, &Session::delete_breakpoint},
    {"print", "p", "NAME", "a value, with its statistics", kName, false, &Session::print},
    {"shape", "", "NAME", "the shape of a tensor", kName, false, &Session::shape},
    {"dtype", "", "NAME", "the dtype of a tensor", kName, false, &Session::dtype},
    {"statistics", "", "NAME", "min, max, mean, std, how many nan, inf and zero", kStatistics, false,
     &Session::statistics},
    {"histogram", "", "NAME", "how the elements of a tensor spread", kName, false, &Session::histogram},
    {"env", "e", "", "the variables in scope", "", false, &Session::env},
    {"backtrace", "bt", "[N]", "the frames, innermost first (20, or N)", "", false, &Session::backtrace},
    {"up", "u", "[N]", "to the frame that called", "", false, &Session::up},
    {"down", "", "[N]", "back to the frame that was called", "", false, &Session::down},
    {"where", "w", "", "where the program stands", "", false, &Session::where},
    {"list", "l", "[LINE | @global]", "the text around the current place, or another", "", false,
     &Session::list},
    {"record", "", "FILE", "run from the beginning to the end, and write what every operator gives", kRecord,
     false, &Session::record},
    {"replay", "", "FILE [within TOLERANCE]",
     "run from the beginning to the first value that FILE has otherwise", kReplay, false, &Session::replay},
    {"help", "h", "[COMMAND]", "the commands, or one of them", "", false, &Session::help},
    {"quit", "q", "", "end the session", "", false, &Session::quit},
};

bool begins_command(std::string_view word, const Command& c) { return c.name.starts_with(word); }

}  // namespace

std::span<const Command> commands() { return kCommands; }

std::vector<std::string> commands_beginning(std::string_view word) {
  std::vector<std::string> out;
  for (const Command& c : kCommands) {
    if (begins_command(word, c)) out.emplace_back(c.name);
  }
  return out;
}

const Command& find_command(std::string_view word) {
  const Command* found = nullptr;
  for (const Command& c : kCommands) {
    if (c.name == word || (!c.letters.empty() && c.letters == word)) return c;
    if (begins_command(word, c)) found = &c;
  }
  const std::vector<std::string> alike = commands_beginning(word);
  if (alike.size() > 1) throw Refused(cat("`", word, "` may be ", join(alike, " or "), ": write more of it"));
  if (!found) {
    const std::string near = did_you_mean(word, names_of(kCommands, [](const Command& c) { return c.name; }));
    throw Refused(cat("there is no command `", word, "`; ", near.empty() ? "" : cat(near, " "),
                      "`help` lists those that there are"));
  }
  return *found;
}

std::string help_for_all() {
  std::string out;
  for (const Command& c : kCommands) {
    out += fmt::format("  {:<31} {}{}\n", cat(c.name, c.usage.empty() ? "" : " ", c.usage), c.summary,
                       c.letters.empty() ? std::string() : cat(" (", c.letters, ")"));
  }
  return out +
         "A command may be cut as short as it is unique, and to what stands in brackets at the end of its "
         "line.\n"
         "An empty line does the last stepping command again; a line that begins with # is a comment.\n"
         "`help COMMAND` says more.\n";
}

std::string help_for(const Command& c) {
  return cat("  ", c.name, c.usage.empty() ? "" : " ", c.usage, ": ", c.summary, "\n", c.details);
}

}  // namespace relay::tools::debug
