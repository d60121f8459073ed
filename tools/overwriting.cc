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

bool is_named_for(const std::string& path, const ModelForm& form, Session& session) {
  for (const std::string_view suffix : {".relay", ".onnx", ".json", ".so"}) {
    if (suffix == form.suffix || !path.ends_with(suffix)) continue;
    const std::string better = std::filesystem::path(path).replace_extension(form.suffix).string();
    return session.fail(kUsage,
                        cat("-o ", path, ": this would be ", form.name, ", which has a name like ", better));
  }
  return true;
}

}  // namespace relay::tools
