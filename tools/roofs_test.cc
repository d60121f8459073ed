#include "tools/roofs.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "base/parallel.h"
#include "target/host.h"

namespace relay::tools {
namespace {

Roofs example() {
  Roofs r;
  r.processor = target::processor_name();
  r.cores = usable_cores();
  r.peaks = {{"sse2", "float32 multiply-add", {10, 40}},
             {"avx2", "float32 multiply-add", {20, 60}},
             {"avx2", "int8 dot", {80, 320}}};
  r.readings = {{1024, {100, 400}}, {4096, {50, 200}}, {16384, {52, 60}}, {65536, {10, 12}}};
  r.l1_bytes = 4096;
  r.trials = 3;
  return r;
}

// What is kept by this test is kept in a folder of its own.
class KeptRoofs : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(folder_.make(), "");
    setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1);
  }
  std::string wrong() {
    Roofs r;
    return load_roofs(r);
  }
  void expect_remedy(std::string_view what) {
    EXPECT_NE(wrong().find(what), std::string::npos) << wrong();
    EXPECT_NE(wrong().find("relay doctor --measure"), std::string::npos) << wrong();
  }
  TemporaryFolder folder_;
};

TEST(Roofs, APeakIsOfItsTargetAndAtMostThatOfAllCores) {
  const Roofs r = example();
  EXPECT_EQ(r.peak(target::target_of("sse2"), 1), 10);
  EXPECT_EQ(r.peak(target::target_of("avx2"), 2), 40);
  EXPECT_EQ(r.peak(target::target_of("avx2"), 8), 60);
  EXPECT_EQ(r.peak(target::target_of("cpu:avx2"), 1), 20);
  EXPECT_EQ(r.peak(target::target_of("avx512-vnni"), 1), 20)
      << "what it shares with another set is measured once";
  EXPECT_EQ(r.peak(target::target_of("native"), 1), 20);
  EXPECT_EQ(Roofs().peak(target::target_of("native"), 1), 0);
}

TEST(Roofs, ABandwidthIsABoundForItsSizeAndLargerOnes) {
  const Roofs r = example();
  EXPECT_EQ(r.bandwidth(100, 1), 100);
  EXPECT_EQ(r.bandwidth(4095, 1), 100);  // it may be as fast as the smaller set
  EXPECT_EQ(r.bandwidth(4096, 1), 52);   // noise does not make a larger set faster than a smaller one
  EXPECT_EQ(r.bandwidth(20000, 1), 52);
  EXPECT_EQ(r.bandwidth(1e12, 1), 10);
  EXPECT_EQ(r.bandwidth(1e12, 4), 12);
  for (double bytes = 1; bytes < 1e7; bytes *= 1.5)
    EXPECT_GE(r.bandwidth(bytes, 1), r.bandwidth(bytes * 1.5, 1));
}

TEST_F(KeptRoofs, ComeBackAsTheyWere) {
  ASSERT_EQ(save_roofs(example()), "");
  Roofs back;
  ASSERT_EQ(load_roofs(back), "");
  EXPECT_EQ(json_of(back), json_of(example()));
}

TEST_F(KeptRoofs, OfAnotherMachineAreNotUsed) {
  expect_remedy("not measured");
  Roofs other = example();
  other.processor = "Another 4004";
  ASSERT_EQ(save_roofs(other), "");
  expect_remedy("Another 4004");
  other = example();
  other.cores += 1;
  ASSERT_EQ(save_roofs(other), "");
  expect_remedy("cores");
}

TEST_F(KeptRoofs, AFileOfOthersIsSaidToBeSo) {
  for (const char* text : {"", "{}", "[1, 2]", R"({"version": 1, "processor": 3})", "{\"version\":"}) {
    ASSERT_EQ(make_folders(cache_folder()), "");
    ASSERT_EQ(write_file_atomically(roofs_file(), text), "");
    expect_remedy("roofs.json");
  }
  ASSERT_EQ(write_file_atomically(roofs_file(), R"({"version": 999})"), "");
  expect_remedy("another version");
}

TEST(Roofs, AreShownByCache) {
  const std::string text = show(example());
  EXPECT_NE(text.find("avx2 int8 dot"), std::string::npos) << text;
  EXPECT_NE(text.find("read L1 of 4 KiB (in 1 KiB)"), std::string::npos) << text;
  EXPECT_NE(text.find("read memory (in 64 KiB)"), std::string::npos) << text;
  EXPECT_EQ(text.find("L2"), std::string::npos) << "its size is not known";
  EXPECT_EQ(text.find("others had"), std::string::npos) << text;
  Roofs noisy = example();
  noisy.disturbed = 0.25;
  EXPECT_NE(show(noisy).find("25 % of the time"), std::string::npos) << show(noisy);
}

}  // namespace
}  // namespace relay::tools
