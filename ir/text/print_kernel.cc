#include "ir/text/print_kernel.h"

#include "base/cat.h"

namespace relay::text {

std::string print_kernel(std::string_view name, const kernel::Kernel& k) { return cat("// ", name, "\n", show(k)); }

}  // namespace relay::text
