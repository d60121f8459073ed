// Static dataflow over shape variables: one artifact for all extents, through its C interface.
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "aot/testing.h"
#include "kernel/expr.h"

namespace relay::aot {
namespace {

// Has a workspace, a view, an output that is copied, and extents that follow from n.
constexpr std::string_view kRows = R"(
def @main(%x: Tensor[(n, 8), float32], %y: Tensor[(2*n), float32]) {
  let %h = nn.softmax(add(%x, 1f));
  (sum(nn.softmax(multiply(%h, %h)), axis=[1]), reshape(%h, newshape=[n*8]), %y)
}
)";
const Compiled& rows() {
  static const Compiled c(kRows);
  return c;
}
const Compiled& bounded() {
  static const Compiled c(kRows, {.bounds = {{"n", 100}}});
  return c;
}

struct RowRun : Session {
  using Session::Session;
  std::vector<float> x, y;
  int64_t x_shape[2] = {0, 8}, y_shape[1] = {0};
  DLTensor out[3] = {};

  // The context gives the memory of the results.
  relay_status go(int64_t n, int64_t m) {
    x.assign(static_cast<size_t>(n * 8), 0.25f);
    y.assign(static_cast<size_t>(m), 3);
    x_shape[0] = n, y_shape[0] = m;
    const DLTensor in[] = {{x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, x_shape, nullptr, 0},
                           {y.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, y_shape, nullptr, 0}};
    const DLTensor* inputs[] = {&in[0], &in[1]};
    DLTensor* outputs[] = {&out[0], &out[1], &out[2]};
    for (DLTensor& t : out) t = {};
    return api->run(context, inputs, 2, outputs, 3);
  }
  bool right(int64_t n) const {
    const auto at = [&](size_t i, int64_t k) { return static_cast<const float*>(out[i].data)[k]; };
    bool same =
        out[0].ndim == 1 && out[0].shape[0] == n && out[1].shape[0] == 8 * n && out[2].shape[0] == 2 * n;
    for (int64_t k = 0; same && k < n; ++k)
      same = std::abs(at(0, k) - 1) < 1e-6f && at(1, 8 * k + 3) == 0.125f;
    for (int64_t k = 0; same && k < 2 * n; ++k) same = at(2, k) == 3;
    return same;
  }
};

TEST(DynamicPlan, RunsAtEveryExtent) {
  RowRun r(rows());
  for (int64_t n : {0, 1, 15, 16, 17, 1000}) {
    ASSERT_EQ(r.go(n, 2 * n), RELAY_OK) << r.said();
    EXPECT_TRUE(r.right(n)) << n;
  }
}

TEST(DynamicPlan, ExtentsThatDoNotFitAreRefusedByName) {
  RowRun r(rows());
  EXPECT_EQ(r.go(4, 9), RELAY_USAGE);
  EXPECT_NE(r.said().find("input `y` must have shape (2*n = 8), it has (9)"), std::string::npos) << r.said();
  r.x_shape[1] = 7;
  EXPECT_EQ(r.go(4, 8), RELAY_USAGE);
  EXPECT_NE(r.said().find("input `x` must have shape (n = 4, 8), it has (4, 7)"), std::string::npos)
      << r.said();
  r.x_shape[1] = 8;
  ASSERT_EQ(r.go(4, 8), RELAY_OK) << r.said();
  // A result in memory of the caller has the extents of this run.
  const DLTensor in[] = {{r.x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, r.x_shape, nullptr, 0},
                         {r.y.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, r.y_shape, nullptr, 0}};
  const DLTensor* inputs[] = {&in[0], &in[1]};
  std::vector<float> sums(5);
  int64_t shape[] = {5};
  DLTensor own = {sums.data(), {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, nullptr, 0};
  DLTensor* outputs[] = {&own, &r.out[1], &r.out[2]};
  EXPECT_EQ(r.api->run(r.context, inputs, 2, outputs, 3), RELAY_USAGE);
  EXPECT_NE(r.said().find("must have shape (n = 4), it has (5)"), std::string::npos) << r.said();
  shape[0] = 4;
  EXPECT_EQ(r.api->run(r.context, inputs, 2, outputs, 3), RELAY_OK) << r.said();
  EXPECT_NEAR(sums[3], 1, 1e-6);
}

// Others describe a tensor without elements by all sorts of strides: those of NumPy for (0, 8) are
// (8, 1), those of PyTorch for (3, 0) are (1, 1).
TEST(DynamicPlan, StridesOfATensorWithoutElementsMeanNothing) {
  const Compiled c("def @main(%x: Tensor[(n, m), float32]) { %x + 1f }");
  Session r(c);
  float element = 0;
  int64_t shape[] = {0, 0}, strides[] = {1, 1};
  const DLTensor in = {&element, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  DLTensor out = in;
  const DLTensor* inputs[] = {&in};
  DLTensor* outputs[] = {&out};
  for (const std::array<int64_t, 2> extents : {std::array<int64_t, 2>{3, 0}, {0, 8}, {0, 0}}) {
    shape[0] = extents[0], shape[1] = extents[1];
    EXPECT_EQ(r.api->run(r.context, inputs, 1, outputs, 1), RELAY_OK) << r.said();
  }
  shape[0] = shape[1] = 3;
  EXPECT_EQ(r.api->run(r.context, inputs, 1, outputs, 1), RELAY_USAGE);
  EXPECT_NE(r.said().find("not dense and row-major"), std::string::npos) << r.said();
  shape[0] = shape[1] = INT64_MAX;  // nothing is multiplied that does not fit
  EXPECT_EQ(r.api->run(r.context, inputs, 1, outputs, 1), RELAY_USAGE);
  EXPECT_NE(r.said().find("more bytes than there can be"), std::string::npos) << r.said();
}

TEST(DynamicPlan, DescribesItsExtents) {
  RowRun r(bounded());
  const auto d = nlohmann::json::parse(r.api->model_describe(r.model));
  EXPECT_EQ(d["inputs"][0]["dims"], nlohmann::json::parse(R"(["n", 8])"));
  EXPECT_EQ(d["inputs"][1]["dims"], nlohmann::json::parse(R"(["2*n"])"));
  EXPECT_EQ(d["outputs"][1]["dims"], nlohmann::json::parse(R"(["8*n"])"));
  EXPECT_EQ(d["bounds"], nlohmann::json::parse(R"({"n": 100})"));
}

TEST(DynamicPlan, MemoryGrowsToTheLargestRunAndNoFurther) {
  Counting memory{-1};
  {
    RowRun r(rows(), &memory.api);
    std::mt19937 random(5);
    ASSERT_EQ(r.go(512, 1024), RELAY_OK) << r.said();
    const int requests = memory.requests;
    for (int k = 0; k < 2000; ++k) {
      const auto n = static_cast<int64_t>(random() % 513);
      ASSERT_EQ(r.go(n, 2 * n), RELAY_OK) << r.said();
      ASSERT_TRUE(r.right(n)) << n;
    }
    EXPECT_EQ(memory.requests, requests);
    ASSERT_EQ(r.go(2048, 4096), RELAY_OK) << r.said();
    EXPECT_TRUE(r.right(2048));
  }
  EXPECT_EQ(memory.live, 0);
}

// C: above its bound an extent is refused, and below it a run asks for no workspace.
TEST(DynamicPlan, BoundsAreKeptAndPaidForAtTheBeginning) {
  Counting memory{-1};
  {
    RowRun r(bounded(), &memory.api);
    EXPECT_EQ(r.go(101, 202), RELAY_USAGE);
    EXPECT_NE(r.said().find("`n` is 101, the model was compiled for at most 100"), std::string::npos)
        << r.said();
    const int requests = memory.requests;
    for (int64_t n : {1, 50, 100}) ASSERT_EQ(r.go(n, 2 * n), RELAY_OK) << r.said();
    EXPECT_TRUE(r.right(100));
    EXPECT_EQ(memory.requests, requests + 9);  // three held outputs, each of which grew twice: no workspace
  }
  EXPECT_EQ(memory.live, 0);
}

// The workspace holds what is left of x from row m on: the more, the smaller m is.
constexpr std::string_view kRest = R"(
def @main(%x: Tensor[(n, 8), float32], %y: Tensor[(m, 8), float32]) {
  nn.softmax(multiply(nn.softmax(strided_slice(%x, begin=[m], end=[n])), 2f))
}
)";
struct RestRun : Session {
  using Session::Session;
  std::vector<float> x, result;

  // The result goes to memory of the caller.
  relay_status go(int64_t n, int64_t m) {
    const int64_t left = std::max<int64_t>(n - m, 0);
    x.assign(static_cast<size_t>(8 * std::max(n, m)) + 1, 0.25f);
    result.assign(static_cast<size_t>(8 * left) + 1, 0);
    int64_t x_shape[] = {n, 8}, y_shape[] = {m, 8}, shape[] = {left, 8};
    const DLTensor in[] = {{x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, x_shape, nullptr, 0},
                           {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, y_shape, nullptr, 0}};
    DLTensor out = {result.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
    const DLTensor* inputs[] = {&in[0], &in[1]};
    DLTensor* outputs[] = {&out};
    return api->run(context, inputs, 2, outputs, 1);
  }
};

TEST(DynamicPlan, BoundsPayForExtentsThatFallWithAVariable) {
  const Compiled c(kRest, {.bounds = {{"n", 100}, {"m", 100}}});
  Counting memory{-1};
  {
    RestRun r(c, &memory.api);
    const auto d = nlohmann::json::parse(r.api->model_describe(r.model));
    EXPECT_GE(d["workspace_bytes"], 100 * 8 * 4);
    const int requests = memory.requests;
    const int64_t live = memory.live;
    for (const auto& [n, m] : {std::pair(100, 100), std::pair(3, 70), std::pair(60, 20), std::pair(100, 0)}) {
      ASSERT_EQ(r.go(n, m), RELAY_OK) << r.said();
      if (n > m) {
        EXPECT_NEAR(r.result[0], 0.125, 1e-6);
      }
    }
    EXPECT_EQ(memory.requests, requests) << "no run allocates";
    EXPECT_EQ(memory.live, live);
  }
  EXPECT_EQ(memory.live, 0);
}

TEST(DynamicPlan, WithoutABoundForEachVariableTheWorkspaceFollowsTheRuns) {
  const Compiled c(kRest, {.bounds = {{"m", 100}}});
  Counting memory{-1};
  RestRun r(c, &memory.api);
  EXPECT_EQ(nlohmann::json::parse(r.api->model_describe(r.model))["workspace_bytes"], 0);
  const int64_t before = memory.live;
  ASSERT_EQ(r.go(50, 0), RELAY_OK) << r.said();
  EXPECT_GT(memory.live, before);
}

// C: a run takes what the formula of the plan says, to the byte.
TEST(DynamicPlan, TheWorkspaceIsWhatTheFormulaSays) {
  const Compiled c(kRest);
  const Result<Program> program = program_of(kRest);
  ASSERT_TRUE(program.ok());
  const Dim formula = passes::workspace_formula(program->plan);
  ASSERT_TRUE(formula.is_symbolic());
  const TensorType &x = *program->plan.inputs[0].type, &y = *program->plan.inputs[1].type;
  for (const auto& [n, m] : {std::pair(7, 7), std::pair(1, 0), std::pair(100, 33), std::pair(5000, 1)}) {
    Counting memory{-1};
    RestRun r(c, &memory.api);
    const int64_t before = memory.live;
    ASSERT_EQ(r.go(n, m), RELAY_OK) << r.said();
    const auto wanted = kernel::evaluate(formula.symbolic(),
                                         {{x.dims[0].symbolic().get(), n}, {y.dims[0].symbolic().get(), m}});
    EXPECT_EQ(memory.live - before, wanted.value()) << show(formula) << " at n = " << n << ", m = " << m;
  }
}

// C: what falls with one variable and rises with another has the bounds of each.
TEST(DynamicPlan, TheLargestWorkspaceFollowsFromBounds) {
  const Result<Program> program = program_of(kRest);
  ASSERT_TRUE(program.ok());
  const passes::Plan& plan = program->plan;
  const kernel::Expr n = plan.inputs[0].type->dims[0].symbolic(), m = plan.inputs[1].type->dims[0].symbolic();
  kernel::Bounds bounds;
  EXPECT_EQ(passes::most_workspace_bytes(plan, bounds), std::nullopt);
  bounds.set(m, {0, 10});
  EXPECT_EQ(passes::most_workspace_bytes(plan, bounds), std::nullopt);
  bounds.set(n, {0, 100});
  const auto at =
      kernel::evaluate(passes::workspace_formula(plan).symbolic(), {{n.get(), 100}, {m.get(), 0}});
  EXPECT_EQ(passes::most_workspace_bytes(plan, bounds), static_cast<uint64_t>(at.value()));
  bounds.set(n, {0, INT64_MAX / 2});
  EXPECT_EQ(passes::most_workspace_bytes(plan, bounds), std::nullopt) << "no memory is that large";
}

TEST(DynamicPlan, WithoutMemoryThereIsALimitAndNoLeak) {
  const int refusals = refuse_each_request<RowRun>(
      rows(),
      [](RowRun& r) {
        const relay_status first = r.go(10, 20);
        return first == RELAY_OK ? r.go(1000, 2000) : first;
      },
      [](RowRun& r) { return r.right(1000); });
  EXPECT_GE(refusals, 8);  // the model, a context, its workspace and outputs, twice
}

// Extents whose product is no number of bytes, of tensors without elements.
TEST(DynamicPlan, ExtentsThatNoMemoryHasAreALimit) {
  const Compiled c(R"(
def @main(%x: Tensor[(n, 0), float32], %y: Tensor[(m, 0), float32]) {
  nn.softmax(add(sum(%x, axis=[1], keepdims=True), reshape(sum(%y, axis=[1]), newshape=[1, m])))
}
)");
  RowRun r(c);
  int64_t huge[] = {int64_t{1} << 40, 0};
  const DLTensor in[] = {{nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, huge, nullptr, 0},
                         {nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, huge, nullptr, 0}};
  const DLTensor* inputs[] = {&in[0], &in[1]};
  DLTensor* outputs[] = {&r.out[0]};
  EXPECT_EQ(r.api->run(r.context, inputs, 2, outputs, 1), RELAY_LIMIT) << r.said();
}

}  // namespace
}  // namespace relay::aot
