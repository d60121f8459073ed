// What the whole command line has besides its commands: help of each, version, completion, and what
// is said of wrong use.
#pragma once

#include <string>

#include "tools/options/options.h"
#include "tools/session.h"

namespace relay::tools {

// All commands of `relay`, and the options that every one of them has.
void add_commands(CommandLine& line, Session& session);

// What is wrong with a command line that was refused, with the nearest name for a misspelt command
// or option, and where to look.
std::string misuse(Command app, const Parsed& refused);

// `relay --version`: of Relay, and of each format that it reads and writes (CHANGELOG.md says what
// their numbers promise).
void print_version(const Session& session);

}  // namespace relay::tools
