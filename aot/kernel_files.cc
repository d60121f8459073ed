#include "aot/kernel_files.h"

#include <algorithm>
#include <cctype>

#include "base/cat.h"
#include "kernel/print/print.h"

namespace relay::aot {

std::string KernelNames::name(Symbol kernel, std::string_view prefix) {
  const std::string_view text = kernel.text();
  // As `lower` calls its kernels; others are called what the program says.
  const bool numbered =
      text.size() > 1 && text[0] == 'k' && std::isdigit(static_cast<unsigned char>(text[1]));
  const std::string wanted = cat(prefix, numbered ? "" : "kernel_", text);
  std::string out = names_.unique(wanted);
  while (out.ends_with("_messages")) out = names_.unique(wanted);
  return out;
}

std::vector<std::string> pointer_types(const kernel::Kernel& k) {
  std::vector<std::string> types;
  for (const auto* b : k.inputs) types.push_back(cat("const ", kernel::memory_type(b->dtype), "*"));
  for (const auto* b : k.outputs) types.push_back(cat(kernel::memory_type(b->dtype), "*"));
  for (const auto* b : k.temporaries) types.push_back(cat(kernel::memory_type(b->dtype), "*"));
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
