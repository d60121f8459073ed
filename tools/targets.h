// The targets of one artifact, as `relay compile --target` names them.
#pragma once

#include <string>
#include <vector>

#include "target/target.h"

namespace relay::tools {

// What is wrong with the name of a target for code that runs here; empty if nothing is. That this
// processor lacks some instructions the engine says.
std::string wrong_target_here(const std::string& name);

// What is wrong with names of targets with commas between them; empty if nothing is.
std::string wrong_targets(const std::string& names);

// In order, of texts with which nothing is wrong.
std::vector<target::Target> targets_of(const std::vector<std::string>& texts);

// One library is of one machine: what is wrong if these are not; empty if they are.
std::string several_machines(const std::vector<target::Target>& targets);

// What is wrong with a target that has an accelerator; empty if it has none.
std::string accelerator(const target::Target& target);

// Why a target would never be chosen; empty if each can be.
std::string never_chosen(const std::vector<target::Target>& targets);

}  // namespace relay::tools
