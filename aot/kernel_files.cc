#include "aot/kernel_files.h"

#include <algorithm>
#include <cctype>

#include "base/cat.h"
#include "kernel/print/print.h"

namespace relay::aot {

namespace {

// What is printed after the name of a kernel: its messages, its tables, the parts of its loops.
bool ends_like_a_part(std::string_view name) {
  constexpr std::string_view kEnds[] = {"_messages", "_inputs",  "_outputs", "_extents",
                                        "_calls",    "_closure", "_part",    "_range"};
  return std::any_of(std::begin(kEnds), std::end(kEnds), [&](auto end) { return name.ends_with(end); });
}

}  // namespace

std::string KernelNames::name(Symbol kernel, std::string_view prefix) {
  const std::string_view text = kernel.text();
  // As `lower` calls its kernels; others are called what the program says.
  const bool numbered =
      text.size() > 1 && text[0] == 'k' && std::isdigit(static_cast<unsigned char>(text[1]));
  const std::string wanted = cat(prefix, numbered ? "" : "kernel_", text);
  std::string out = names_.unique(wanted);
  while (ends_like_a_part(out)) out = names_.unique(wanted);
  return out;
}

std::vector<std::string> pointer_types(const kernel::Kernel& k) {
  std::vector<std::string> types;
  for (const auto* b : k.inputs) types.push_back(cat("const ", kernel::print::memory_type(b->dtype), "*"));
  for (const auto* b : k.outputs) types.push_back(cat(kernel::print::memory_type(b->dtype), "*"));
  for (const auto* b : k.temporaries) types.push_back(cat(kernel::print::memory_type(b->dtype), "*"));
  return types;
}

std::string name_of_function(const kernel::Kernel& k) {
  return cat("the C function `", k.external->symbol.text(), "`");
}

std::vector<std::string> spread(std::vector<std::string> kernels, size_t files) {
  std::stable_sort(kernels.begin(), kernels.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<std::string> out(std::clamp<size_t>(files, 1, std::max<size_t>(kernels.size(), 1)));
  for (size_t i = 0; i < kernels.size(); ++i) out[i % out.size()] += kernels[i];
  return out;
}

}  // namespace relay::aot
