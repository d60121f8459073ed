#include "tests/sweep/known.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

namespace relay::sweep {
namespace {

std::vector<Known> read(const std::string& text) {
  const std::string path = testing::TempDir() + "/known.txt";
  std::ofstream(path) << text;
  return read_known(path);
}

TEST(Known, ALineHasFiveParts) {
  EXPECT_EQ(read("# of nothing\n\nsweep | add | off | * | why\n").size(), 1u);
  for (const char* wrong :
       {"add | off | * | why\n", "sweep | add | | * | why\n", "all | add | off | * | why\n", "sweep\n"})
    EXPECT_THROW(read(wrong), std::runtime_error) << wrong;
}

TEST(Known, WhatExplainsNothingIsNamed) {
  const auto all = read(
      "sweep | add | off | * | one\n"
      "sweep | add | trap | int8 | two\n"
      "gradients | add | off | * | three\n"
      "sweep | mul | off | * | four\n");
  KnownOf known(all, kSweep, "add");
  EXPECT_EQ(known.unused(), "sweep | add | off | *\nsweep | add | trap | int8\n");
  ASSERT_NE(known.explain("jit -O2: it is off", "add(%x)"), nullptr);
  EXPECT_EQ(known.explain("jit -O2: another trap", "add(%x: float32)"), nullptr);
  EXPECT_EQ(known.unused(), "sweep | add | trap | int8\n");
  EXPECT_EQ(known.explain("jit -O2: another trap", "add(%x: int8)")->reason, "two");
  EXPECT_EQ(known.unused(), "");
  EXPECT_EQ(KnownOf(all, kGradient, "mul").unused(), "");
}

TEST(Known, TheListOfTheProjectIsRead) { EXPECT_FALSE(read_known("tests/sweep/known.txt").empty()); }

}  // namespace
}  // namespace relay::sweep
