// A line for each warning of driver/weaker.h.
#pragma once

#include <string_view>

#include "base/cat.h"
#include "driver/weaker.h"
#include "tools/session.h"

namespace relay::tools {

inline void say_weaker_form(std::string_view engine, const driver::Prepared& p, const Session& s) {
  const Diagnostics warnings = driver::weaker_form(engine, p);
  for (const Diagnostic& d : warnings.all()) s.say(cat("relay: ", d.message(), "\n"));
}

}  // namespace relay::tools
