#include "aot/arenas.h"

#include <gtest/gtest.h>

#include "aot/testing.h"

namespace relay::aot {
namespace {

// The C++ of a program that mentions no kernel's loops.
std::string text(std::string_view program) {
  for (const SourceFile& f : sources_of(program, {kAnyProcessor}, {}).files) {
    if (f.name == "model.cc") return f.text;
  }
  return {};
}

size_t count(const std::string& text, std::string_view what) {
  size_t n = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
  return n;
}

// A product of a square matrix of ones, shared by its side, is itself.
std::string chain(std::string_view shape, int steps) {
  std::string out = cat("def @main(%c: bool, %x0: Tensor[", shape,
                        ", float32], %w: Tensor[(256, 256), float32]) {\n", "if (%c) {\n");
  for (int i = 0; i < steps; ++i) {
    out += cat("let %y", i, " = nn.dense(%x", i, ", %w);\n", "let %x", i + 1, " = nn.softmax(%y", i, ");\n");
  }
  return cat(out, "%x", steps, " } else { %x0 } }");
}

struct ChainRun : Session {
  std::vector<float> x, w = std::vector<float>(256 * 256, 0);
  DLTensor out = {};
  using Session::Session;

  // The weights are zeros: every row becomes the same share of one everywhere.
  void go(int64_t rows, bool through) {
    x.assign(static_cast<size_t>(rows) * 256, 3.0f);
    int64_t shape[] = {rows, 256}, square[] = {256, 256};
    const DLTensor in[] = {{&through, {kDLCPU, 0}, 0, {kDLBool, 8, 1}, nullptr, nullptr, 0},
                           {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0},
                           {w.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, square, nullptr, 0}};
    const DLTensor* inputs[] = {&in[0], &in[1], &in[2]};
    DLTensor* outputs[] = {&out};
    out = {};
    ASSERT_EQ(api->run(context, inputs, 3, outputs, 1), RELAY_OK) << said();
    const float expected = through ? 1.0f / 256 : 3.0f;
    for (int64_t i = 0; i < rows * 256; ++i)
      ASSERT_NEAR(static_cast<const float*>(out.data)[i], expected, 1e-6) << i;
  }
};

// Ten products and ten normalised results take no more memory than what is alive at
// once, and the result.
TEST(Arenas, AChainTakesTheMemoryOfWhatIsAliveAtOnce) {
  constexpr int64_t kMatrix = 256 * 256 * 4, kMost = 6 * kMatrix;
  for (const char* shape : {"(256, 256)", "(n, 256)"}) {
    const Compiled c(chain(shape, 10));
    Counting memory{-1};
    {
      ChainRun r(c, &memory.api);
      r.go(256, false);
      r.go(256, true);
      EXPECT_LT(memory.live, kMost) << shape;
      EXPECT_GT(memory.live, kMatrix) << "the run took its memory from here";
    }
    EXPECT_EQ(memory.live, 0);
  }
}

TEST(Arenas, ExtentsMayChangeFromRunToRun) {
  const Compiled c(chain("(n, 256)", 4));
  ChainRun r(c);
  for (int64_t rows : {3, 200, 0, 1, 64}) r.go(rows, true);
}

TEST(Arenas, NoneIsHeldWhileAFunctionRuns) {
  const std::string code = text(R"(
def @down(%n: int32, %x: Tensor[(8, 8), float32]) -> Tensor[(8, 8), float32] {
  if (%n == 0) { %x } else {
    let %y = @down(%n - 1, nn.softmax(nn.dense(%x, %x)));
    nn.softmax(nn.dense(%y, %y))
  }
}
def @main(%n: int32, %x: Tensor[(8, 8), float32]) { @down(%n, %x) }
)");
  const size_t end = code.find(".end();"), call = code.find("finish(run, fn_down");
  ASSERT_NE(end, std::string::npos);
  ASSERT_NE(call, std::string::npos);
  EXPECT_LT(end, call);
  EXPECT_GE(count(code, "const Borrowed"), 2u) << "before the call and after it";
}

// What a function gives, passes, captures, stores or needs after a call belongs to nobody's arena.
TEST(Arenas, WhatEscapesIsCounted) {
  for (const char* body :
       {"%y", "(%y, %x)", "Cons(%y, Nil)", "{ let %r = ref(%x); ref_write(%r, %y); ref_read(%r) }",
        "fn () { nn.dense(%y, %y) }", "@other(%n, %y)", "nn.dense(%y, @other(%n, nn.softmax(%y)))",
        "if (%n == 1) { %y } else { %x }", "reshape(%y, newshape=[64])"}) {
    const std::string code = text(cat(R"(
type List[A] { Cons(A, List[A]), Nil }
def @other(%n: int32, %x: Tensor[(8, 8), float32]) -> Tensor[(8, 8), float32] {
  if (%n == 0) { %x } else { @other(%n - 1, %x) }
}
def @user(%n: int32, %x: Tensor[(8, 8), float32]) { let %y = nn.dense(%x, %x); )",
                                      body, R"( }
def @main(%n: int32, %x: Tensor[(8, 8), float32]) {
  let %f = ref(@user);
  (ref_read(%f)(%n, %x), @other(%n, %x)).1
}
)"));
    ASSERT_NE(code.find("call_"), std::string::npos) << body;
    // Conditions are read at once, and lie in arenas.
    size_t borrowed = 0;
    for (size_t at = code.find("const Borrowed"); at != std::string::npos;
         at = code.find("const Borrowed", at + 1)) {
      const std::string line = code.substr(at, code.find('\n', at) - at);
      borrowed += line.find("equal") == std::string::npos;
    }
    EXPECT_EQ(borrowed, 0u) << body << "\n" << code.substr(code.find("user"));
  }
}

// The caller's memory is written by the kernel, where the program gives what one writes at
// the end of a way.
TEST(Arenas, ResultsAreWrittenToTheCallersMemory) {
  const std::string program = R"(
def @main(%c: bool, %x: Tensor[(n, 8), float32]) {
  let %y = nn.softmax(%x);
  if (%c) { (reshape(nn.relu(%x + 1f), newshape=[8, n]), (%y, nn.relu(%y) * 2f)) } else { (reshape(%y, newshape=[8, n]), (%x, %y)) }
}
)";
  const std::string code = text(program);
  EXPECT_NE(code.find("output(run, 0))"), std::string::npos);
  EXPECT_NE(code.find("output(run, 2))"), std::string::npos);
  EXPECT_EQ(code.find("output(run, 1))"), std::string::npos)
      << "what is made before the condition is given twice";

  const Compiled c(program);
  Session s(c);
  std::vector<float> x(24, 1.0f),
      out[3] = {std::vector<float>(24), std::vector<float>(24), std::vector<float>(24)};
  int64_t shape[] = {3, 8}, turned[] = {8, 3};
  for (bool way : {true, false, true}) {
    const DLTensor in[] = {{&way, {kDLCPU, 0}, 0, {kDLBool, 8, 1}, nullptr, nullptr, 0},
                           {x.data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0}};
    DLTensor to[] = {{out[0].data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, turned, nullptr, 0},
                     {out[1].data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0},
                     {out[2].data(), {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0}};
    const DLTensor* inputs[] = {&in[0], &in[1]};
    DLTensor* outputs[] = {&to[0], &to[1], &to[2]};
    ASSERT_EQ(s.api->run(s.context, inputs, 2, outputs, 3), RELAY_OK) << s.said();
    const float wanted[2][3] = {{1.0f / 8, 1.0f, 1.0f / 8}, {2.0f, 1.0f / 8, 2.0f / 8}};
    for (size_t i = 0; i < 3; ++i) {
      for (float v : out[i]) EXPECT_NEAR(v, wanted[way][i], 1e-6) << i;
    }
    // A tensor of another shape is refused, also after a run that wrote the right ones.
    to[2].shape = turned;
    EXPECT_EQ(s.api->run(s.context, inputs, 2, outputs, 3), RELAY_USAGE);
  }
}

// A view shows what lies in an arena, and keeps nothing of it.
TEST(Arenas, AViewOfWhatIsBorrowedDoesNotKeepIt) {
  const std::string code = text(R"(
def @main(%c: bool, %x: Tensor[(8, 8), float32]) {
  if (%c) { nn.softmax(nn.dense(reshape(nn.dense(%x, %x), newshape=[4, 16]), ones(shape=[8, 16], dtype="float32"))) }
  else { nn.dense(ones(shape=[4, 8], dtype="float32"), %x) }
}
)");
  ASSERT_NE(code.find("make_view(run, v_"), std::string::npos);
  const size_t view = code.find("make_view(run, v_");
  EXPECT_EQ(code.substr(view, code.find('\n', view) - view).find("Value("), std::string::npos);
}

// Extents whose product is no number of bytes, of tensors without elements.
TEST(Arenas, ExtentsThatNoMemoryHasAreALimit) {
  const Compiled c(R"(
def @main(%c: bool, %x: Tensor[(n, 0), float32], %y: Tensor[(m, 0), float32]) {
  if (%c) {
    sum(nn.softmax(nn.dense(nn.softmax(reshape(sum(%x, axis=[1]), newshape=[n, 1])),
                            nn.softmax(reshape(sum(%y, axis=[1]), newshape=[m, 1])))))
  } else { 0.0f }
}
)");
  Session s(c);
  int64_t huge[] = {int64_t{1} << 40, 0};
  bool yes = true;
  const DLTensor in[] = {{&yes, {kDLCPU, 0}, 0, {kDLBool, 8, 1}, nullptr, nullptr, 0},
                         {nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, huge, nullptr, 0},
                         {nullptr, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, huge, nullptr, 0}};
  const DLTensor* inputs[] = {&in[0], &in[1], &in[2]};
  DLTensor out = {};
  DLTensor* outputs[] = {&out};
  EXPECT_EQ(s.api->run(s.context, inputs, 3, outputs, 1), RELAY_LIMIT) << s.said();
  yes = false;
  EXPECT_EQ(s.api->run(s.context, inputs, 3, outputs, 1), RELAY_OK) << s.said();
}

}  // namespace
}  // namespace relay::aot
