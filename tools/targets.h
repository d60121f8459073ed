// The targets of one artifact, as `relay compile --target` names them.
#pragma once

#include <string>
#include <vector>

#include "kernel/native/toolchain.h"

namespace relay::tools {

// What is wrong with the name of a target that need not be of this machine; empty if nothing is.
std::string wrong_foreign_target(const std::string& name);

// Of names with which nothing is wrong, and that are of no GPU.
std::vector<kernel::native::Target> targets_of(const std::vector<std::string>& names);

// One library is of one machine: what is wrong if these are not; empty if they are.
std::string several_machines(const std::vector<kernel::native::Target>& targets);

// Why a target would never be chosen; empty if each can be.
std::string never_chosen(const std::vector<std::string>& targets);

}  // namespace relay::tools
