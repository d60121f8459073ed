// Weights above 2 GB, which no 32-bit offset reaches: compiled into a file of their own, found by a
// program and read from there.
#include <filesystem>
#include <fstream>

#include "base/cat.h"
#include "frontend/data/npy.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

constexpr int64_t kRows = 540000, kColumns = 1024;  // 2.2 GB of float32

// Zeros, but for the first element of the first and of the last row. The file has holes, so that
// it takes no room.
void write_weights(const std::string& path) {
  const int64_t bytes = kRows * kColumns * 4;
  std::string head =
      cat(R"({"w":{"dtype":"F32","shape":[)", kRows, ",", kColumns, R"(],"data_offsets":[0,)", bytes, "]}}");
  head.resize((head.size() + 7) / 8 * 8, ' ');
  const auto length = static_cast<uint64_t>(head.size());
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << head;
  const auto element = [&](int64_t row, float value) {
    out.seekp(static_cast<std::streamoff>(sizeof length + head.size()) + row * kColumns * 4);
    out.write(reinterpret_cast<const char*>(&value), sizeof value);
  };
  element(0, 0.5f);
  element(kRows - 1, 7.5f);
  out.close();
  ASSERT_TRUE(out) << path;
  std::filesystem::resize_file(path, sizeof length + head.size() + static_cast<uint64_t>(bytes));
}

class LargeWeights : public Cli {};

TEST_F(LargeWeights, AreReadFromTheirFile) {
  write_weights(path("large.safetensors"));
  write("large.relay",
        "def @main(%rows: Tensor[(2), int64]) {\n"
        "  strided_slice(take(const(\"w\"), %rows, axis=0, mode=\"clip\"), begin=[0], end=[2], axes=[1])\n"
        "}\n");
  Invocation patient;
  patient.seconds = 600;
  works({"compile", "large.relay", "--emit", "exe", "--weights-file", "-o", "rows"}, patient);
  EXPECT_GT(std::filesystem::file_size(path("rows.safetensors")), uint64_t{1} << 31);
  EXPECT_LT(std::filesystem::file_size(path("rows")), uint64_t{1} << 20);
  write("rows.npy",
        frontend::data::npy_bytes(Tensor::of<int64_t>(kInt64, {2}, std::vector<int64_t>{kRows - 1, 0})));
  const Ended ended = run({.command = {path("rows"), "rows.npy"}, .folder = path("")});
  EXPECT_EQ(ended.exit_code, kOk) << ended.err;
  EXPECT_EQ(ended.out, "output: float32 (2, 2)\n7.5 0\n0.5 0\n");
}

}  // namespace
}  // namespace relay::tests
