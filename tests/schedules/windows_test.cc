// Pooling and nn.lrn in many sizes, paddings and layouts, scheduled for CPUs and GPUs: each kernel
// is well formed, and gives what the operators give. Kernels run on the reference executor, so that
// this takes no compiler.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "base/cat.h"
#include "interp/machine.h"
#include "ir/text/parser.h"
#include "op/operators.h"
#include "passes/runner.h"
#include "runtime/compare.h"
#include "typecheck/check.h"

namespace relay::tests {
namespace {

struct Machine {
  std::string name;
  passes::RunnerOptions options;
};

std::vector<Machine> machines() {
  std::vector<Machine> out;
  for (const char* name : {"sse2", "avx2", "avx512", "cuda"})
    out.push_back({name, {.target = target::target_of(name)}});
  for (Machine& m : out) m.options.verify = passes::Verify::kTypes;
  return out;
}

// Whole numbers, whose sums are exact in any order.
Tensor whole_numbers(const Shape& shape) {
  Tensor out(kFloat32, shape);
  std::mt19937 random(1);
  std::uniform_int_distribution<int> whole(-3, 3);
  for (int64_t i = 0; i < out.size(); ++i) out.set(i, whole(random));
  return out;
}

class Windows : public testing::Test {
 protected:
  // The call of %x on every machine. One that the checker refuses, as of a window larger than its
  // image, is left out.
  void expect_agreement(const std::string& call, const Shape& shape) {
    const std::string text = cat("def @main(%x: Tensor[(", join(shape, ", "), "), float32]) { ", call, " }");
    Diagnostics diagnostics;
    ParseOptions parsing;
    Result<Module> m = parse("m.relay", text, diagnostics, op::operators(), parsing);
    ASSERT_TRUE(m) << text << "\n" << diagnostics.render(parsing.into.context().sources());
    m = typecheck::check(*m, diagnostics);
    if (!m) return;
    ++accepted_;
    const Value x(whole_numbers(shape));
    const Tensor want = interp::Machine(*m).call("main", {x}).tensor();
    for (const Machine& machine : machines_) {
      Result<Module> made =
          passes::run_pipeline(*m, passes::default_pipeline(2), machine.options, diagnostics);
      ASSERT_TRUE(made) << machine.name << ": " << text << "\n" << diagnostics.render(m->context().sources());
      const Tensor got = interp::Machine(*made).call("main", {x}).tensor();
      const Comparison c = compare(got, want, [&](int64_t i) { return 4e-6 * std::fabs(want.get(i)); });
      EXPECT_TRUE(c.ok) << machine.name << ": " << text << "\n" << show(c, want.shape());
    }
  }

  const std::vector<Machine> machines_ = machines();
  int accepted_ = 0;
};

std::string list(const std::vector<int64_t>& values) { return cat("[", join(values, ", "), "]"); }

TEST_F(Windows, Pooling2d) {
  struct Image {
    Shape shape;
    std::string layout;
  };
  const std::vector<Image> images{{{1, 1, 2, 16}, "NCHW"}, {{1, 2, 5, 8}, "NCHW"},  {{1, 3, 7, 4}, "NCHW"},
                                  {{1, 4, 3, 8}, "NHWC"},  {{1, 16, 2, 3}, "HWNC"}, {{1, 1, 9, 32}, "NCHW"}};
  for (const Image& image : images) {
    for (const std::vector<int64_t>& size : {std::vector<int64_t>{3, 1}, {1, 3}, {3, 3}, {2, 5}}) {
      for (const std::vector<int64_t>& padding : {std::vector<int64_t>{1, 0}, {0, 1}, {2, 1}, {0, 2, 1, 0}}) {
        for (const std::string& more :
             {std::string(), std::string(", strides=[2, 1]"), std::string(", dilation=[2, 1]"),
              std::string(", ceil_mode=True, strides=[2]")}) {
          const std::string attributes = cat("pool_size=", list(size), ", padding=", list(padding),
                                             ", layout=\"", image.layout, "\"", more);
          expect_agreement(cat("nn.max_pool2d(%x, ", attributes, ")"), image.shape);
          for (const std::string_view count : {"True", "False"}) {
            expect_agreement(cat("nn.avg_pool2d(%x, ", attributes, ", count_include_pad=", count, ")"),
                             image.shape);
          }
        }
      }
    }
  }
  EXPECT_GT(accepted_, 800);
}

TEST_F(Windows, Pooling1d) {
  for (const Shape& shape : {Shape{1, 1, 16}, Shape{1, 8, 9}, Shape{2, 3, 64}}) {
    for (const int64_t size : {1, 2, 3, 7}) {
      for (const std::vector<int64_t>& padding : {std::vector<int64_t>{0}, {1}, {3, 1}}) {
        for (const std::string_view layout : {"NCW", "NWC"}) {
          const std::string attributes =
              cat("pool_size=", list({size}), ", padding=", list(padding), ", layout=\"", layout, "\"");
          expect_agreement(cat("nn.max_pool1d(%x, ", attributes, ")"), shape);
          for (const std::string_view count : {"True", "False"}) {
            expect_agreement(cat("nn.avg_pool1d(%x, ", attributes, ", count_include_pad=", count, ")"),
                             shape);
          }
        }
      }
    }
  }
  EXPECT_GT(accepted_, 150);
}

TEST_F(Windows, Neighbours) {
  for (const Shape& shape : {Shape{1, 3, 4, 4}, Shape{1, 3, 1, 1}, Shape{2, 8, 2, 4}, Shape{1, 0, 2, 2},
                             Shape{1, 2, 0, 2}, Shape{0, 2, 2}}) {
    for (const int64_t size : {1, 3, 5, 11}) {
      for (const int64_t axis : {0, 1, -1})
        expect_agreement(cat("nn.lrn(%x, size=", size, ", axis=", axis, ")"), shape);
    }
  }
  EXPECT_EQ(accepted_, 6 * 4 * 3);
}

}  // namespace
}  // namespace relay::tests
