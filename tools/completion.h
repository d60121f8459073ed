// The names on the command line: of commands, options and values, for a shell that completes them.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "tools/session.h"

namespace relay::tools {

std::vector<std::string> command_names(const CLI::App& app);
const CLI::App* find_command(const CLI::App& app, const std::string& name);  // null if there is none

// "--engine", "-O", "--opt-level": all options of a command and those that every command has.
std::vector<std::string> option_names(const CLI::App& command);

// What the last of `words`, all after `relay`, may become; empty where a file is meant or nothing
// is known. The type names of options say what their values are: ENGINE, TARGET, PASSES, OPERATOR,
// COMMAND, or {so,package} for a choice.
std::vector<std::string> completions(const CLI::App& app, const std::vector<std::string>& words);

// Is this what the scripts of `relay completion` run, `relay completion --words -- WORD...`?
// Then it prints the completions. The words are of an unfinished command line, so that nothing
// else may read them.
bool complete_words(const CLI::App& app, int argc, char** argv, const Session& session);

}  // namespace relay::tools
