// Warnings about a program that an engine runs, but in a weaker form than usual.
#pragma once

#include <string_view>

#include "base/diagnostics.h"
#include "driver/engines.h"

namespace relay::driver {

// One warning where the passes refused the program and the engine runs its operators one by one,
// with the slug and the place of the first refusal. Else a warning for each function that runs by
// its body. Nothing if the engine runs the program as it runs others, or not at all.
Diagnostics weaker_form(std::string_view engine, const Prepared& prepared);

}  // namespace relay::driver
