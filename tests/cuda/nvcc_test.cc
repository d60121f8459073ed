// nvcc compiles every kernel that is made for a GPU of the programs of tests/exec,
// without a warning.
#include <gtest/gtest.h>

#include <map>

#include "aot/cuda/build.h"
#include "base/cat.h"
#include "base/file.h"
#include "base/parallel.h"
#include "kernel/print/print.h"
#include "tests/support/lowered_programs.h"
#include "toolchain/subprocess.h"

namespace relay::tests {
namespace {

constexpr size_t kKernelsOfAFile = 250;
constexpr int kMostSeconds = 1500;

// The kernels' texts under names of their own, each text once.
class Kernels {
 public:
  void add(const tools::TestFile& file) {
    for_each_lowered(file, target::target_of("cuda"), [&](const std::string&, const Module& lowered) {
      for (const auto& [symbol, kernel] : lowered.kernels()) add(*kernel);
    });
  }

  std::vector<std::string> files() const {
    std::vector<std::string> out;
    size_t number = 0;
    for (const auto& [text, name] : texts_) {
      if (number++ % kKernelsOfAFile == 0) out.push_back(kernel::print::prelude(kernel::print::kCudaDialect));
      std::string named = text;
      for (size_t at = 0; (at = named.find("KERNEL", at)) != std::string::npos;) named.replace(at, 6, name);
      out.back() += named;
    }
    return out;
  }
  size_t size() const { return texts_.size(); }

 private:
  void add(const kernel::Kernel& k) {
    if (!kernel::codegen::cannot_compile(k).empty()) return;
    texts_.emplace(kernel::print::print(k, kernel::print::kCudaDialect, {.function = "KERNEL"}).text,
                   cat("k", texts_.size()));
  }

  std::map<std::string, std::string> texts_;
};

TEST(Nvcc, CompilesEveryKernelOfTheExecPrograms) {
  std::string nvcc;
  if (std::string wrong = aot::cuda::find_nvcc(nvcc); !wrong.empty()) GTEST_SKIP() << wrong;
  Kernels kernels;
  for (const std::string& path : tools::test_files_beneath("tests/exec"))
    kernels.add(tools::read_test_file(path));
  EXPECT_GT(kernels.size(), 500u);
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  std::vector<std::vector<std::string>> commands;
  for (const std::string& text : kernels.files()) {
    const std::string name = cat("kernels_", commands.size());
    ASSERT_EQ(write_file_atomically(cat(folder.path(), "/", name, ".cu"), text), "");
    commands.push_back({nvcc, "-std=c++17", "-arch=sm_90", "-Werror", "all-warnings", "-cubin", name + ".cu",
                        "-o", name + ".cubin"});
  }
  const auto done = toolchain::run_all(commands, folder.path(), kMostSeconds, usable_cores());
  for (size_t i = 0; i < done.size(); ++i)
    EXPECT_EQ(done[i].exit_code, 0) << join(commands[i], " ") << "\n"
                                    << done[i].output.substr(0, 4000) << done[i].problem;
  std::printf("nvcc compiled %zu kernels in %zu files\n", kernels.size(), done.size());
}

}  // namespace
}  // namespace relay::tests
