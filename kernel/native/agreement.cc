#include "kernel/native/agreement.h"

#include "base/cat.h"
#include "base/failure.h"
#include "kernel/execute.h"
#include "runtime/compare.h"

namespace relay::kernel::native {
namespace {

struct Outcome {
  std::vector<relay::Tensor> results;
  std::string trap;
};

template <class F>
Outcome outcome(F run) {
  try {
    return {run(), {}};
  } catch (const Trap& t) {
    return {{}, t.what()};
  }
}

}  // namespace

std::string disagreements(const std::vector<Case>& cases, const toolchain::CompileOptions& options,
                          unsigned threads, const CodeGenerator& compile) {
  std::vector<const Kernel*> kernels;
  for (const Case& c : cases) kernels.push_back(&c.kernel);
  CompiledKernels compiled;
  if (std::string wrong = compile(kernels, options, compiled); !wrong.empty()) return wrong;

  std::string out;
  const Threads pool(threads);
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    const Outcome want = outcome([&] { return execute(c.kernel, c.inputs); });
    const Outcome got = outcome([&] { return compiled.run(i, c.kernel, c.inputs, pool.parallel()); });
    if (got.trap != want.trap) out += cat(c.name, ": trap `", got.trap, "`, wanted `", want.trap, "`\n");
    for (size_t r = 0; r < want.results.size() && r < got.results.size(); ++r) {
      const relay::Tensor& a = got.results[r];
      const Comparison result =
          c.ulps == 0 ? compare_exact(a, want.results[r]) : compare_ulps(a, want.results[r], c.ulps);
      if (!result.ok) out += cat(c.name, ": result ", r, ": ", show(result, a.shape()), "\n");
    }
  }
  return out;
}

}  // namespace relay::kernel::native
