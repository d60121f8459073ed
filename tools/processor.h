// The processor's name, as the system tells it.
#pragma once

#include <string>

namespace relay::tools {

std::string processor_name();

}  // namespace relay::tools
