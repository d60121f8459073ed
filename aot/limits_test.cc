// The limits of code ahead of time: what they refuse, and that C++ compilers take what stands
// just inside of them.
#include "aot/limits.h"

#include "aot/listing.h"
#include "aot/testing.h"
#include "toolchain/subprocess.h"

namespace relay::aot {
namespace {

// `before` so many times, then `inside`, then `after` as many times.
std::string nest(int times, std::string_view before, std::string_view inside, std::string_view after) {
  std::string out;
  for (int i = 0; i < times; ++i) out += before;
  out += inside;
  for (int i = 0; i < times; ++i) out += after;
  return out;
}

constexpr std::string_view kHead =
    "type Nat { Zero, Succ(Nat), }\n"
    "def @main(%c: Tensor[(), bool], %x: Tensor[(), float32]) {\n"
    "  let %z = if (%c) { Zero } else { Succ(Zero) };\n";

std::string thens(int n) { return cat(kHead, nest(n, "if (%c) { ", "%x", " } else { 1f }"), "}"); }
std::string elses(int n) { return cat(kHead, nest(n, "if (%c) { 1f } else { ", "%x", " }"), "}"); }
std::string operands(int n) {
  return cat(kHead, nest(n, "add(1f, if (%c) { ", "%x", " } else { 1f })"), "}");
}
std::string conditions(int n) {
  return cat(kHead, "if (", nest(n, "if (", "%c", ") { False } else { %c }"), ") { 1f } else { %x } }");
}
std::string subjects(int n) {
  return cat(kHead, "match (", nest(n, "match (", "%z", ") { Zero => Succ(Zero), Succ(_) => Zero }"),
             ") { Zero => 1f, Succ(_) => %x } }");
}
// Each arm binds a path that is one step longer.
std::string paths(int n) {
  std::string out(kHead);
  for (int i = 0; i < n; ++i)
    out += cat("match (", i == 0 ? "%z" : cat("%z", i), ") { Zero => 1f, Succ(%z", i + 1, ") => ");
  return cat(out, "%x", nest(n, "", "", "}"), "}");
}
std::string pattern(int n) {
  return cat(kHead, "match (%z) { ", nest(n, "Succ(", "_", ")"), " => 1f, _ => %x } }");
}
std::string tuple_pattern(int n) {
  return cat(kHead, "let %t = if (%c) { ", nest(n, "(", "%x", ",)"), " } else { ", nest(n, "(", "1f", ",)"),
             " };\n match (%t) { ", nest(n, "(", "%y", ",)"), " => %y } }");
}
std::string tuple_result(int n) {
  return cat(kHead, "if (%c) { ", nest(n, "(", "%x", ",)"), " } else { ", nest(n, "(", "1f", ",)"), " } }");
}
std::string pairs(int n) {
  std::string out = cat(kHead, "let %a0 = if (%c) { %x } else { 1f };\n");
  for (int i = 0; i < n; ++i) out += cat("let %a", i + 1, " = (%a", i, ", %a", i, ");\n");
  return cat(out, "%a", n, "}");
}
// Of a function that is called, and that nobody inlines.
std::string pairs_parameter(int n) {
  std::string out = cat(kHead, "let %a0 = %x;\n");
  for (int i = 0; i < n; ++i) out += cat("let %a", i + 1, " = (%a", i, ", %a", i, ");\n");
  return cat(out, "let %f = fn (%p) { if (%c) { %f(%p) } else { 1f } };\n%f(%a", n, ") }");
}
std::string arms(int n) {
  std::string out =
      cat("type Nat { Zero, Succ(Nat), }\n"
          "def @main(%c: Tensor[(), bool], %x: Tensor[(), float32]) {\n"
          "  let %z = if (%c) { Zero } else { Succ(Zero) };\n  match ((");
  const int width = 80;
  for (int i = 0; i < width; ++i) out += "%z, ";
  out += ")) { ";
  for (int arm = 0; arm < n; ++arm) {
    out += "(";
    for (int i = 0; i < width; ++i)
      out += i == arm % width ? "Succ(_), " : i == arm / width ? "Zero, " : "_, ";
    out += cat(") => ", arm, "f, ");
  }
  return cat(out, "_ => %x } }");
}

// Without passes that take branches away: the slug of the error, or nothing and the program.
std::string slug_of(const std::string& text, std::string* message = nullptr,
                    const passes::Pipeline& pipeline = passes::default_pipeline(0)) {
  Diagnostics diagnostics;
  ParseOptions parsing;
  parsing.max_nesting = 1'000'000;
  const Result<Module> parsed = parse("test", text, diagnostics, op::operators(), parsing);
  const Result<Module> lowered =
      parsed ? passes::run_pipeline(*parsed, pipeline, {}, diagnostics) : Result<Module>(kReported);
  if (!lowered) return "not lowered: " + diagnostics.render(parsing.into.context().sources()).substr(0, 500);
  const Result<Program> made = make_program(*lowered, "main", diagnostics);
  if (message) *message = diagnostics.render(parsing.into.context().sources());
  if (made) return {};
  return std::string(diagnostics.all().front().slug().name());
}

struct Limit {
  const char* name;
  std::string (*program)(int n);
  int most;  // so deep it may be
  std::string_view slug;
};

constexpr Limit kLimits[] = {
    {"thens", thens, 228, "nesting-too-deep"},
    {"elses", elses, 228, "nesting-too-deep"},
    {"operands", operands, 114, "nesting-too-deep"},
    {"conditions", conditions, 227, "nesting-too-deep"},
    {"subjects", subjects, 225, "nesting-too-deep"},
    {"paths", paths, 76, "nesting-too-deep"},
    {"pattern", pattern, 63, "nesting-too-deep"},
    {"tuple_pattern", tuple_pattern, 63, "nesting-too-deep"},
    {"tuple_result", tuple_result, 199, "nesting-too-deep"},
    {"pairs", pairs, 15, "value-too-large"},
};

class Limits : public testing::TestWithParam<Limit> {};

TEST_P(Limits, RefuseWhatIsDeeperAndNothingElse) {
  const Limit& limit = GetParam();
  std::string message;
  EXPECT_EQ(slug_of(limit.program(limit.most), &message), "") << message;
  for (const int n : {limit.most + 1, 10'000}) {
    EXPECT_EQ(slug_of(limit.program(n), &message), limit.slug) << n;
    EXPECT_NE(message.find("the engines `interp` and `jit` run any program"), std::string::npos) << message;
  }
}

INSTANTIATE_TEST_SUITE_P(Forms, Limits, testing::ValuesIn(kLimits),
                         [](const auto& info) { return std::string(info.param.name); });

// What a function is given is passed on whole: nobody takes its type apart.
TEST(LimitsTest, ParametersMayShareAnyNumberOfParts) {
  std::string message;
  EXPECT_EQ(slug_of(pairs_parameter(10'000), &message), "") << message;
}

// A program without `if` and `match` is as deep as it likes, and so are operands.
TEST(LimitsTest, OperandsAreOfAnyDepth) {
  const std::string loop =
      "def @f(%c: Tensor[(), bool], %x: Tensor[(), float32]) -> Tensor[(), float32] { if (%c) { %x } else { "
      "@f(%c, %x) } }\n"
      "def @main(%c: Tensor[(), bool], %x: Tensor[(), float32]) { ";
  constexpr int kDeep = 9'000;  // two values each are fewer than kMostValues
  for (const std::string& body :
       {nest(kDeep, "@f(%c, ", "%x", ")"), nest(kDeep, "ref_read(ref(", "@f(%c, %x)", "))"),
        nest(kDeep, "(", "@f(%c, %x)", ",).0")}) {
    std::string message;
    EXPECT_EQ(slug_of(cat(loop, body, " }"), &message), "") << message;
  }
}

TEST(LimitsTest, FunctionsOfTooManyValues) {
  const auto program = [](int n) { return cat(kHead, nest(n, "ref_read(ref(", "%x", "))"), " }"); };
  std::string message;
  EXPECT_EQ(slug_of(program(9'990), &message), "") << message;
  EXPECT_EQ(slug_of(program(10'000), &message), "function-too-large");
  EXPECT_NE(message.find("computes more than 20000 values [function-too-large]"), std::string::npos)
      << message;
  // Another function has as much room again.
  const std::string inner = cat("let %f = fn () { ", nest(9'000, "ref_read(ref(", "%x", "))"), " };\n");
  EXPECT_EQ(slug_of(cat(kHead, inner, nest(9'000, "ref_read(ref(", "%f()", "))"), " }"), &message), "")
      << message;
}

// A match of which no small tree of decisions can be made asks arm by arm.
TEST(LimitsTest, ManyArmsAreOneStatement) {
  std::string message;
  EXPECT_EQ(slug_of(arms(1000), &message), "") << message;
}

// --- what compilers take -------------------------------------------------------------------------

class DeepestCode : public testing::TestWithParam<std::string> {};

TEST_P(DeepestCode, Compiles) {
  for (const Limit& limit : kLimits) {
    TemporaryFolder folder;
    ASSERT_EQ(folder.make(), "");
    Diagnostics diagnostics;
    ParseOptions parsing;
    const Result<Module> parsed =
        parse("test", limit.program(limit.most), diagnostics, op::operators(), parsing);
    ASSERT_TRUE(parsed);
    const Result<Module> lowered =
        passes::run_pipeline(*parsed, passes::default_pipeline(0), {}, diagnostics);
    ASSERT_TRUE(lowered);
    const Result<Program> made = make_program(*lowered, "main", diagnostics);
    ASSERT_TRUE(made);
    Variant variant{&*made, target::target_of("sse2")};
    const Sources sources = emit(variant, {.kernel_files = 1});
    ASSERT_EQ(write_file_atomically(folder.path() + "/listing.cc", listing(sources)), "");
    ASSERT_EQ(write_weights_beside(folder.path(), sources), "");
    const toolchain::Finished done = toolchain::run(
        {GetParam(), "-std=c++17", "-fPIC", "-msse2", "-O0", "-c", "listing.cc"}, folder.path(), 240);
    EXPECT_EQ(done.exit_code, 0) << limit.name << "\n" << done.output.substr(0, 2000) << done.problem;
  }
}

INSTANTIATE_TEST_SUITE_P(Compilers, DeepestCode, testing::Values("g++", "clang++-19", "clang++-14"),
                         [](const auto& test) {
                           std::string name;
                           for (const char c : test.param) name += isalnum(c) ? c : c == '+' ? 'x' : '_';
                           return name;
                         });

}  // namespace
}  // namespace relay::aot
