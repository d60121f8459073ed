#include "tools/overwriting.h"

#include <filesystem>

#include "base/cat.h"

namespace relay::tools {

bool spares_inputs(std::span<const std::string> written, std::span<const std::string> read,
                   Session& session) {
  Diagnostics diagnostics;
  for (const std::string& to : written) {
    for (const std::string& from : read) {
      std::error_code absent;  // what is not there is replaced by nothing
      if (!std::filesystem::equivalent(to, from, absent)) continue;
      diagnostics
          .error(Span::none(), "output-is-input",
                 to == from ? cat("the output `", to, "` would replace a file that was read")
                            : cat("the output `", to, "` would replace `", from, "`, which was read"))
          .note("give the output another name or another folder");
      break;
    }
  }
  if (!diagnostics.has_errors()) return true;
  return session.fail(diagnostics, {});
}

}  // namespace relay::tools
