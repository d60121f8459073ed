#include "kernel/native/kernels.h"

#include <gtest/gtest.h>

#include "base/cat.h"

namespace relay::kernel::native {
namespace {

TEST(CompiledKernels, CodeThatTheProcessorCannotRunIsRefused) {
  CompiledKernels kernels;
  constexpr bool kX86 = target::kHere == target::Isa::kX86_64;
  const target::Target foreign = target::target_of(kX86 ? "aarch64" : "sse2");
  const std::string wrong = kernels.compile({}, {.target = foreign});
  EXPECT_NE(wrong.find(cat("`", foreign.text, "`")), std::string::npos) << wrong;
}

}  // namespace
}  // namespace relay::kernel::native
