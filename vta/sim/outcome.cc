#include "vta/sim/outcome.h"

#include "base/cat.h"
#include "vta/isa/text.h"

namespace relay::vta {

Refusal refusal(Slug slug, std::span<const Instruction> stream, size_t index, std::string cause) {
  return {slug, index, disassemble(stream[index]), std::move(cause)};
}

void report(const Refusal& r, Diagnostics& d) {
  d.error(Span::none(), r.slug, cat("instruction ", r.index, " `", r.text, "`: ", r.cause));
}

}  // namespace relay::vta
