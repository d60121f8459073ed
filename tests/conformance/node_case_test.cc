// When a result is what ONNX wants. Nothing of the `onnx` wheel is needed.
#include "tests/conformance/node_case.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"

namespace relay::tests {
namespace {

Tensor tensor(DType dtype, const std::vector<double>& values) {
  Tensor t(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) t.set(static_cast<int64_t>(i), values[i]);
  return t;
}

NodeCase wanting(std::vector<Tensor> tensors) {
  NodeCase out;
  out.wanted = std::move(tensors);
  out.relative = 1e-3;
  out.absolute = 1e-7;
  return out;
}

TEST(WrongResult, IsWithinWhatTheCaseAllows) {
  const NodeCase c = wanting({tensor(kFloat32, {1000, 2})});
  EXPECT_EQ(wrong_result(c, {tensor(kFloat32, {1000.9, 2})}, {}), "");
  EXPECT_NE(wrong_result(c, {tensor(kFloat32, {1001.5, 2})}, {}).find("tensor 0: worst at [0]"),
            std::string::npos);
}

TEST(WrongResult, IsWithinWhatWeAllow) {
  const NodeCase c = wanting({tensor(kFloat32, {0, 2})});
  EXPECT_NE(wrong_result(c, {tensor(kFloat32, {1e-5, 2})}, {}), "");
  EXPECT_EQ(wrong_result(c, {tensor(kFloat32, {1e-5, 2})}, {[](int64_t) { return 2e-5; }}), "");
}

TEST(WrongResult, IntegersAreEqual) {
  const NodeCase c = wanting({tensor(kInt64, {100000})});
  EXPECT_EQ(wrong_result(c, {tensor(kInt64, {100000})}, {}), "");
  EXPECT_NE(wrong_result(c, {tensor(kInt64, {100001})}, {}), "");
}

TEST(WrongResult, Bfloat16MayBeTwoStepsAway) {
  const NodeCase c = wanting({tensor(kBFloat16, {1})});
  EXPECT_EQ(wrong_result(c, {tensor(kBFloat16, {1.0078125})}, {}), "");
  EXPECT_NE(wrong_result(c, {tensor(kBFloat16, {1.03125})}, {}), "");
}

TEST(WrongResult, ShapesDtypesAndCountsMustBeTheSame) {
  const NodeCase c = wanting({tensor(kFloat32, {1, 2})});
  EXPECT_NE(wrong_result(c, {tensor(kFloat32, {1})}, {}), "");
  EXPECT_NE(wrong_result(c, {tensor(kInt64, {1, 2})}, {}), "");
  EXPECT_EQ(wrong_result(c, {}, {}), "it gives 0 tensors, and ONNX 1");
}

TEST(WrongResult, OfDrawnNumbersTheFormCounts) {
  NodeCase c = wanting({tensor(kFloat32, {0, 1})});
  c.is_random = true;
  EXPECT_EQ(wrong_result(c, {tensor(kFloat32, {1, 0})}, {}), "");
  EXPECT_NE(wrong_result(c, {tensor(kFloat32, {1})}, {}), "");
}

TEST(LoadCase, AFolderThatNobodyCollectedIsAnError) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  CaseRefusal why;
  EXPECT_THROW(load_case(folder.path(), Module(), false, why), std::runtime_error);
  EXPECT_EQ(write_file_atomically(folder.path() + "/case.json", "no JSON"), "");
  EXPECT_THROW(load_case(folder.path(), Module(), false, why), std::runtime_error);
}

TEST(LoadCase, AModelThatIsNoneIsRefusedWithItsSlug) {
  TemporaryFolder folder;
  ASSERT_EQ(folder.make(), "");
  EXPECT_EQ(write_file_atomically(folder.path() + "/case.json", "{}"), "");
  EXPECT_EQ(write_file_atomically(folder.path() + "/model.onnx", "?"), "");
  CaseRefusal why;
  EXPECT_FALSE(load_case(folder.path(), Module(), false, why));
  EXPECT_EQ(why.slug, "onnx-malformed");
  EXPECT_TRUE(why.blames_model);
}

}  // namespace
}  // namespace relay::tests
