// The names on the command line: of commands, options and values, for a shell that completes them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/options/options.h"
#include "tools/session.h"

namespace relay::tools {

std::vector<std::string> command_names(Command app);
std::optional<Command> find_command(Command app, const std::string& name);

// "--engine", "-O", "--opt-level": all options of a command and those that every command has.
std::vector<std::string> option_names(Command command);

// What the last of `words`, all after `relay`, may become; empty where a file is meant or nothing
// is known. The type names of options say what their values are: ENGINE, TARGET, PASSES, OPERATOR,
// COMMAND, or {so,package} for a choice.
std::vector<std::string> completions(Command app, const std::vector<std::string>& words);

// Is this what the scripts of `relay completion` run, `relay completion --words -- WORD...`?
// Then it prints the completions. The words are of an unfinished command line, so that nothing
// else may read them.
bool complete_words(Command app, int argc, char** argv, const Session& session);

}  // namespace relay::tools
