// What the engines jit and graph would compile for 64-bit ARM: the kernels of the operators of
// tests/exec/op, scheduled for NEON and compiled by LLVM, give what the reference executor gives.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <deque>
#include <random>
#include <set>

#include "base/cat.h"
#include "base/failure.h"
#include "kernel/execute.h"
#include "kernel/print/print.h"
#include "kernel/statements.h"
#include "kernel/walk.h"
#include "runtime/compare.h"
#include "tests/aarch64/emulated_kernels.h"
#include "tests/support/lowered_programs.h"

namespace relay::tests {
namespace {

constexpr double kUlpsOfFormulas = 4;  // as much as operators such as exp may be away
// Of a corner of a box: a centre less half of an exponential, so that digits cancel.
constexpr double kUlpsOfCorners = 16 * kUlpsOfFormulas;

double ulps_of(const std::string& name) {
  return name.find("multibox_transform_loc") == std::string::npos ? kUlpsOfFormulas : kUlpsOfCorners;
}

// Is something of it computed by a formula (kernel/codegen/functions.inc), where the executor asks
// the machine's own function?
bool has_formula(const kernel::Kernel& k) {
  using kernel::Math;
  bool found = false;
  kernel::visit(k.body, [&](kernel::Stmt s) {
    for (kernel::Expr e : kernel::expressions(s)) {
      kernel::for_each_node(e, [&](const kernel::ExprNode* n) {
        const bool is_exact = n->kind != kernel::ExprKind::kMath || n->fn == Math::kSqrt ||
                              (n->fn >= Math::kFloor && n->fn != Math::kPow && n->fn != Math::kAtan2);
        found |= !is_exact;
        return !found;
      });
    }
  });
  return found;
}

bool has_float8(const kernel::Kernel& k) {
  const std::vector<const kernel::Buffer*> buffers = kernel::all_buffers(k);
  return std::any_of(buffers.begin(), buffers.end(), [](const kernel::Buffer* b) {
    return b->dtype == kFloat8E4M3 || b->dtype == kFloat8E5M2;
  });
}

// Values for a kernel's inputs: every shape variable is 3, 4, 5 or so.
std::optional<std::vector<Tensor>> inputs_of(const kernel::Kernel& k, std::mt19937& random) {
  std::unordered_map<const kernel::ExprNode*, int64_t> variables;
  for (kernel::Expr e : kernel::shape_parameters(k))
    variables[e.get()] = 3 + static_cast<int64_t>(random() % 4);
  std::vector<Tensor> out;
  for (const kernel::Buffer* b : k.inputs) {
    Shape shape;
    for (kernel::Expr e : b->shape) {
      const std::optional<int64_t> extent = kernel::evaluate(e, variables);
      if (!extent || *extent < 0) return std::nullopt;
      shape.push_back(*extent);
    }
    Tensor t(b->dtype, shape);
    for (int64_t i = 0; i < t.size(); ++i) {
      if (b->dtype.is_float())
        t.set(i, (static_cast<double>(random() % 401) - 200) / 64);
      else
        t.set_int(i, static_cast<int64_t>(random() % (b->dtype.is_bool() ? 2 : 4)));
    }
    out.push_back(std::move(t));
  }
  return out;
}

// Some programs are there to exceed every memory.
bool is_small(const kernel::Kernel& k, const std::vector<Tensor>& inputs) {
  constexpr int64_t kMostElements = 1 << 20;
  const auto variables = kernel::bind_shapes(k, inputs);
  for (const auto* list : {&k.outputs, &k.temporaries}) {
    for (const kernel::Buffer* b : *list) {
      int64_t elements = 1;
      for (kernel::Expr e : kernel::memory_shape(*b)) {
        const std::optional<int64_t> extent = kernel::evaluate(e, variables);
        if (!extent || *extent < 0 || *extent > kMostElements) return false;
        elements *= *extent;
        if (elements > kMostElements) return false;
      }
    }
  }
  return true;
}

// Extents that a kernel reads are those that another kernel told from the same data. Any others may
// lie outside of that data.
bool extents_fit(const kernel::Kernel& k, const std::vector<Tensor>& inputs) {
  if (k.read_extents.empty()) return true;
  try {
    kernel::execute(k, inputs);
  } catch (const kernel::BadKernel&) {
    return false;
  } catch (const Trap&) {
  }
  return true;
}

class Programs {
 public:
  void add(const tools::TestFile& file) {
    for_each_lowered(file, target::target_of("aarch64:neon"),
                     [&](const std::string& function, const Module& lowered) {
                       modules_.push_back(lowered);
                       for (const auto& [symbol, kernel] : lowered.kernels())
                         add(cat(file.path, " @", function, " ", symbol.text()), *kernel);
                     });
  }
  const std::vector<EmulatedCall>& calls() const { return calls_; }

 private:
  void add(std::string name, const kernel::Kernel& k) {
    if (k.external || !kernel::codegen::cannot_compile(k).empty() || has_float8(k)) return;
    if (!texts_.insert(show(k)).second) return;
    std::optional<std::vector<Tensor>> inputs = inputs_of(k, random_);
    if (inputs && is_small(k, *inputs) && extents_fit(k, *inputs))
      calls_.push_back({std::move(name), &k, std::move(*inputs)});
  }

  std::mt19937 random_{1};
  std::deque<Module> modules_;  // which the kernels are of
  std::set<std::string> texts_;
  std::vector<EmulatedCall> calls_;
};

TEST(Aarch64Kernels, GiveWhatTheReferenceGives) {
  for (const std::string file : {"/usr/bin/aarch64-linux-gnu-g++", "/usr/bin/qemu-aarch64"})
    ASSERT_EQ(access(file.c_str(), R_OK), 0) << file << " is not there: ./dev install";
  Programs programs;
  for (const std::string& path : tools::test_files_beneath("tests/exec/op"))
    programs.add(tools::read_test_file(path));
  EXPECT_GT(programs.calls().size(), 500u);
  std::vector<EmulatedResult> results;
  ASSERT_EQ(run_emulated(programs.calls(), results), "");
  size_t traps = 0;
  for (size_t i = 0; i < results.size(); ++i) {
    const EmulatedCall& call = programs.calls()[i];
    std::string trap;
    std::vector<Tensor> want;
    try {
      want = kernel::execute(*call.kernel, call.inputs);
    } catch (const Trap& t) {
      trap = t.what();
    }
    EXPECT_EQ(results[i].trap, trap) << call.name;
    traps += !trap.empty();
    if (!trap.empty() || !results[i].trap.empty()) continue;
    for (size_t r = 0; r < want.size(); ++r) {
      const Comparison c = has_formula(*call.kernel)
                               ? compare_ulps(results[i].outputs[r], want[r], ulps_of(call.name))
                               : compare_exact(results[i].outputs[r], want[r]);
      EXPECT_TRUE(c.ok) << call.name << ": " << show(c, want[r].shape());
    }
  }
  std::printf("%zu kernels, of which %zu trap\n", results.size(), traps);
}

}  // namespace
}  // namespace relay::tests
