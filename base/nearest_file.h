// Which file a misspelt path may mean.
#pragma once

#include <string>

#include "base/diagnostics.h"

namespace relay {

// Adds "did you mean `PATH`?" as a note, if nothing is at the path and a file in the same folder
// has a name like it. Of large folders 2,000 entries are looked at.
void suggest_file(Diagnostic& d, const std::string& path);

}  // namespace relay
