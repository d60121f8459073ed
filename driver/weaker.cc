#include "driver/weaker.h"

#include "base/cat.h"

namespace relay::driver {

Diagnostics weaker_form(std::string_view engine, const Prepared& prepared) {
  Diagnostics out;
  if (!prepared.run) return out;
  for (const Diagnostic& d : prepared.refusal.all()) {
    const bool refused = d.severity() == Severity::kError;
    if (prepared.refusal.has_errors() && !refused) continue;
    Diagnostic& warning = out.warning(
        d.span(), d.slug(),
        cat("engine `", engine, "`", refused ? " compiles operators one by one" : "", ": ", d.message()));
    for (const auto& [span, text] : d.labels()) warning.label(span, text);
    if (!refused) continue;
    if (const size_t more = prepared.refusal.errors() - 1)
      warning.note(
          cat("the passes refuse the program for ", more, more == 1 ? " more reason" : " more reasons"));
    break;
  }
  return out;
}

}  // namespace relay::driver
