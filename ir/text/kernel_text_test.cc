// Kernels as text: what is printed reads back, and each mistake has its place.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "base/cat.h"
#include "ir/analysis.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "ir/text/test_operators.h"
#include "kernel/batched.h"
#include "kernel/builder.h"

namespace relay::text {
namespace {

PrintOptions plain() {
  PrintOptions options;
  options.header = false;
  return options;
}

// The module's text, after checking that it reads back.
std::string round_trip(const Module& m) {
  const std::string first = print(m, plain());
  Diagnostics diagnostics;
  ParseOptions options;
  options.validate_kernels = false;
  const Result<Module> again = parse("printed", first, diagnostics, test_operators(), options);
  if (!again) {
    ADD_FAILURE() << first << diagnostics.render(options.into.context().sources());
    return first;
  }
  EXPECT_TRUE(alpha_equal(m, *again)) << first << "\n" << print(*again, plain());
  EXPECT_EQ(print(*again, plain()), first);
  return first;
}

std::string slugs(std::string_view input, bool validate = false) {
  Diagnostics diagnostics;
  ParseOptions options;
  options.validate_kernels = validate;
  const Result<Module> m = parse("input", std::string(input), diagnostics, test_operators(), options);
  EXPECT_EQ(static_cast<bool>(m), !diagnostics.has_errors());
  if (m) round_trip(*m);
  return join(diagnostics.all(), ", ", [&](const Diagnostic& d) {
    const auto at = options.into.context().sources().position(d.span().file, d.span().begin);
    return cat(at.line, ":", at.column, " ", d.slug().name());
  });
}

TEST(KernelText, Dense) {
  Module m;
  kernel::ExprPool& pool = m.context().pool();
  kernel::Builder k(pool);
  const kernel::Expr n = pool.shape_variable("n");
  const kernel::Tensor x = k.input("x", kFloat32, {n, k.index(8)}),
                       w = k.input("w", kFloat32, {k.index(4), k.index(8)});
  const kernel::Tensor dense =
      k.reduce("dense", kFloat32, {n, k.index(4)}, {k.index(8)}, k.sum(kFloat32),
               [&](kernel::Indices i, kernel::Indices r) { return x(i[0], r[0]) * w(i[1], r[0]); });
  const kernel::Tensor y = k.compute("y", kFloat32, {n, k.index(4)}, [&](kernel::Indices i) {
    return max(dense.at(i), k.constant(kFloat32, 0));
  });
  m.set_kernel("layer",
               m.context().arena().make<kernel::Kernel>(k.finish("layer", "nn.dense + nn.relu", {y})));
  EXPECT_EQ(round_trip(m), R"(kernel @layer(x: float32[n, 8], w: float32[4, 8]) -> (y: float32[n, 4]) {
  origin "nn.dense + nn.relu";
  temporary dense: float32[n, 4];
  for i0 in n {
    for i1 in 4 {
      for r0 in 8 {
        block dense {
          spatial vi0 in n = i0;
          spatial vi1 in 4 = i1;
          reduction vr0 in 8 = r0;
          reads dense[vi0, vi1], x[vi0, vr0], w[vi1, vr0];
          writes dense[vi0, vi1];
          init {
            dense[vi0, vi1] = 0f;
          }
          dense[vi0, vi1] = dense[vi0, vi1] + x[vi0, vr0] * w[vi1, vr0];
        }
      }
    }
  }
  for i0 in n {
    for i1 in 4 {
      block y {
        spatial vi0 in n = i0;
        spatial vi1 in 4 = i1;
        reads dense[vi0, vi1];
        writes y[vi0, vi1];
        y[vi0, vi1] = max(dense[vi0, vi1], 0f);
      }
    }
  }
}
)");
}

TEST(KernelText, ABatchedKernelIsNamed) {
  Module m;
  kernel::ExprPool& pool = m.context().pool();
  kernel::Builder k(pool);
  const kernel::Tensor x = k.input("x", kFloat32, {k.index(4)});
  const kernel::Tensor y =
      k.compute("y", kFloat32, {k.index(4)}, [&](kernel::Indices i) { return x.at(i) * 2; });
  kernel::Kernel one = k.finish("one", "", {y});
  one.batched = m.context().symbol("the many");
  m.set_kernel("one", m.context().arena().make<kernel::Kernel>(one));
  m.set_kernel("the many",
               m.context().arena().make<kernel::Kernel>(kernel::batched(pool, one, {true}, "the many")));
  EXPECT_NE(round_trip(m).find("kernel @one(x: float32[4]) -> (y: float32[4]) {\n  batched @`the many`;\n"),
            std::string::npos);
}

// Expressions of every kind, in one store.
TEST(KernelText, Expressions) {
  const std::string_view kExprs[] = {"x[i] + 1f",
                                     "x[i] - y[0] * 2f",
                                     "(x[i] - y[0]) * 2f",
                                     "x[i] - (y[0] - 1f)",
                                     "x[i] / (y[0] / 3f)",
                                     "-x[i]",
                                     "-1.5f",
                                     "0.1f",
                                     "inff",
                                     "-nanf",
                                     "select(i < 3, x[i], 0f)",
                                     "select(i < 3 && (m == 0 || i >= m), x[i], 0f)",
                                     "select(!(i == 3), x[i], 0f)",
                                     "select(i != 3 && True, x[i], 0f)",
                                     "exp(tanh(x[i]))",
                                     "pow(x[i], 2f)",
                                     "float32(i)",
                                     "float32(int32(x[i]) + 2i32)",
                                     "float32(trunc_div(int32(x[i]), 2i32) // 3i32 % 4i32)",
                                     "float32(shift_left(bit_and(int8(i), 7i8), 1i8))",
                                     "float32(bit_xor(uint64(i), 18446744073709551615u64))",
                                     "min(x[i], max(y[0], 0.25f))",
                                     "x[(i + 3*m - 2) % 8]",
                                     "x[max(0, min(i - 1, 7))]",
                                     "x[i // 2 + 2*(i // 4)]",
                                     "x[(2*i + m) // (m + 1) % 8]",
                                     "select(isnan(x[i]), 0f, x[i])",
                                     "float32(0.1f16)",
                                     "float32(1.5bf16)",
                                     "float32(0.1f64)",
                                     "x[-i + 7]",
                                     "x[0 - 2*i + 14]",
                                     "select(-9223372036854775808 < i, 1f, 0f)"};
  for (std::string_view e : kExprs) {
    const std::string text =
        cat("kernel @k(x: float32[8], y: float32[m]) -> (z: float32[8]) {\n  for i in 8 {\n    z[i] = ", e,
            ";\n  }\n}\n");
    EXPECT_EQ(slugs(text), "") << text;
  }
}

TEST(KernelText, Statements) {
  EXPECT_EQ(slugs(R"(
kernel @`odd name`(x: float32[n, 8], `x y`: int8[]) -> (y: float32[n, 8]) {
  origin "a \"test\"";
  shape k;
  temporary t: float32[n];
  // comments are possible between statements
  parallel i in n {  // here too
    vectorized j in 8 {
      let a = x[i, j] * 2f;
      if (a < 0f) { y[i, j] = a; } else { y[i, j] = a + a; }
    }
    unrolled j in 8 { prefetch x[i + 3, j]; require (j < 8 + k, "never"); }
    local l: float32[8] {
      for j in 8 { l[j] = 1f; }
      shared s: float32[] { s[] = float32(`x y`[]); sequence { nothing; } sequence { } t[i] = s[]; }
    }
    block b {
      spatial v in n = i;
      reduction r in 1 = 0;
      where i < n;
      reads t[v];
      writes t[v];
      init { t[v] = 0f; }
      t[v] = t[v] + float32(r);
    }
  }
  block_x a in 1 { block_y b in 1 { block_z c in 1 { thread_x d in 1 { thread_y e in 1 { thread_z f in 1 { nothing; } } } } } }
}
def @main(%x: float32) { @`odd name`(%x) }
)"),
            "");
}

TEST(KernelText, StridesAndInstructions) {
  const std::string_view text = R"(kernel @k(x: float32[4, 4]) -> (y: float32[4, 4]) {
  temporary t: float32[4, 4] strides [8, 1];
  for i in 4 {
    shared u: float32[4] strides [2] {
      block b {
        spatial v in 4 = i;
        where i < 3;
        instruction "none";
        reads x[v, 0];
        writes t[v, 0], u[0];
        t[v, 0] = x[v, 0];
        u[0] = x[v, 0];
      }
    }
  }
}
)";
  Diagnostics diagnostics;
  ParseOptions options;
  options.validate_kernels = false;
  const Result<Module> m = parse("input", std::string(text), diagnostics, test_operators(), options);
  ASSERT_TRUE(m) << diagnostics.render(options.into.context().sources());
  EXPECT_EQ(round_trip(*m), text);
}

TEST(KernelText, SharedAndDeepExpressionsAreAbbreviated) {
  Module m;
  kernel::ExprPool& pool = m.context().pool();
  kernel::Builder k(pool);
  const kernel::Tensor x = k.input("x", kFloat32, {k.index(8)});
  const kernel::Tensor y = k.compute("y", kFloat32, {k.index(8)}, [&](kernel::Indices i) {
    kernel::Expr e = x.at(i);
    for (int step = 0; step < 60; ++step) e = e * kernel::tanh(e) + kernel::exp(e);
    return e;
  });
  m.set_kernel("k", m.context().arena().make<kernel::Kernel>(k.finish("k", "", {y})));
  const std::string text = round_trip(m);
  EXPECT_LT(text.size(), 20000u);
  EXPECT_NE(text.find("let t = "), std::string::npos);
}

TEST(KernelText, ExtentsThatAreReadFromAnInput) {
  const auto with = [](std::string_view fact, std::string_view input = "e: int64[2]") {
    return cat(
        "kernel @k(", input, ") -> (y: int64[m, 2*m]) {\n", fact,
        "\nfor i in m { for j in 2*m { block y { spatial v in m = i; spatial w in 2*m = j; writes y[v, w]; "
        "y[v, w] = v; } } }\n}");
  };
  EXPECT_EQ(slugs(with("shape m = e[1];"), true), "");
  EXPECT_EQ(slugs(with("shape m = e[2];"), true), "1:8 invalid-kernel");
  EXPECT_EQ(slugs(with("shape m = e[0];", "e: int32[2]"), true), "1:8 invalid-kernel");
  EXPECT_EQ(slugs(with("shape m = e[0];", "e: int64[m]"), true), "1:8 invalid-kernel");
  EXPECT_EQ(slugs(with("shape m = e[0]; shape m = e[1];"), true), "1:8 invalid-kernel");
  EXPECT_EQ(slugs(with("shape m = y[0];")), "2:11 unknown-buffer");
  EXPECT_EQ(slugs(with("shape m = 1;")), "2:11 expected-name");
  EXPECT_EQ(slugs(with("shape m = e;")), "2:12 expected-token");
  EXPECT_EQ(slugs(with("shape m = e[m];")), "2:13 expected-expression");
  EXPECT_EQ(slugs(with("shape m = e[1f];")), "2:13 index-not-int64");
  // Which input, and which element of it, are part of the kernel.
  Diagnostics diagnostics;
  ParseOptions options;
  const Result<Module> a = parse("a", with("shape m = e[0];"), diagnostics, test_operators(), options),
                       b = parse("b", with("shape m = e[1];"), diagnostics, test_operators(), options);
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_FALSE(alpha_equal(*a, *b));
}

TEST(KernelText, StatementsThatDifferMakeKernelsThatDiffer) {
  const auto with = [](std::string_view statement) {
    return cat(
        "kernel @k(x: float32[8], z: float32[8]) -> (y: float32[8]) {\n  for i in 8 {\n    ", statement,
        "\n    block y { spatial v in 8 = i; reads x[v], z[v]; writes y[v]; y[v] = x[v] + z[v]; }\n  }\n}");
  };
  const std::vector<std::string> all{with(""),
                                     with("prefetch x[i];"),
                                     with("prefetch x[i + 1];"),
                                     with("prefetch z[i];"),
                                     with("require (i < 8, \"never\");"),
                                     with("require (i < 9, \"never\");"),
                                     with("require (i < 8, \"not now\");")};
  for (size_t i = 0; i < all.size(); ++i) {
    for (size_t j = 0; j < all.size(); ++j) {
      Diagnostics diagnostics;
      ParseOptions options;
      const Result<Module> a = parse("a", all[i], diagnostics, test_operators(), options),
                           b = parse("b", all[j], diagnostics, test_operators(), options);
      ASSERT_TRUE(a.ok() && b.ok()) << all[i] << "\n" << all[j];
      EXPECT_EQ(alpha_equal(*a, *b), i == j) << all[i] << "\n" << all[j];
    }
  }
}

TEST(KernelText, Mistakes) {
  struct Row {
    std::string_view input, slugs;
  };
  const Row kRows[] = {
      {"z[i] = 1f;", ""},
      {"z[i] = 1;", "3:8 wrong-stored-dtype"},
      {"z[i] = x[i] + 1;", "3:8 operand-dtypes-differ"},
      {"z[i] = x[i] // 2f;", "3:8 wrong-operand-dtype"},
      {"z[i] = float32(i / 2);", "3:16 wrong-operand-dtype"},
      {"z[1f] = 1f;", "3:3 index-not-int64"},
      {"z[i, i] = 1f;", "3:3 wrong-index-count"},
      {"z[i] = x[];", "3:8 wrong-index-count"},
      {"z[j] = 1f;", "3:3 unknown-variable"},
      {"q[i] = 1f;", "3:1 unknown-buffer"},
      {"z[i] = q[i];", "3:8 unknown-buffer"},
      {"z[i] = frob(1f);", "3:8 unknown-function"},
      {"z[i] = exp(1f, 2f);", "3:8 wrong-arguments"},
      {"z[i] = exp(1);", "3:8 wrong-operand-dtype"},
      {"z[i] = select(1, 1f, 2f);", "3:8 wrong-operand-dtype"},
      {"z[i] = float32(i // 0);", "3:16 division-by-zero"},
      {"z[i] = float32(trunc_mod(i, 0));", "3:16 division-by-zero"},
      {"z[i] = float32(300i8);", "3:16 literal-out-of-range"},
      {"z[i] = 1.5;", "3:8 missing-suffix"},
      {"z[i] = 1q;", "3:8 unknown-suffix"},
      {"z[i] = ;", "3:8 expected-expression"},
      {"z[i] 1f;", "3:6 expected-token"},
      {"frob;", "3:1 expected-statement"},
      {"1;", "3:1 expected-statement"},
      {"for j 8 { }", "3:7 expected-token"},
      {"for j in 1f { }", "3:10 index-not-int64"},
      {"if (i) { }", "3:5 condition-not-bool"},
      {"require (i < 2, 3);", "3:17 expected-token"},
      {"prefetch w[i];", "3:10 unknown-buffer"},
      {"prefetch i;", "3:10 unknown-buffer"},
      {"block b { reads q[1]; }", "3:17 unknown-buffer"},
      {"block b { reads x[1, 2]; }", "3:17 wrong-index-count"},
  };
  for (const Row& row : kRows) {
    EXPECT_EQ(slugs(cat("kernel @k(x: float32[8]) -> (z: float32[8]) {\nfor i in 8 { block b { spatial v in "
                        "8 = i; writes z[v]; z[v] = 1f; }\n",
                        row.input, "\n} }")),
              row.slugs)
        << row.input;
  }
  const auto with_block = [](std::string_view index) {
    return cat("kernel @k() -> (z: float32[8]) { for i in 8 { block b { spatial v in 8 = i; writes z[v]; z[",
               index, "] = 1f; } } }");
  };
  EXPECT_EQ(slugs(with_block("v"), true), "");
  EXPECT_EQ(slugs(with_block("v + 8"), true), "1:8 invalid-kernel");
  EXPECT_EQ(slugs("def @k() { 1 } kernel @k() -> () { }"), "1:23 redefined-global");
  EXPECT_EQ(slugs("kernel @k() -> () { } def @k() { 1 }"), "1:27 redefined-global");
  EXPECT_EQ(slugs("kernel @k(x float32[]) -> () { } def @k() { 1.5 }"),
            "1:13 expected-token, 1:45 missing-suffix");
}

TEST(KernelText, CFunctions) {
  const auto with = [](std::string_view rest) {
    return cat("extern kernel @k(x: float32[n, 2 * m + n]) -> (z: float32[m])", rest);
  };
  struct Row {
    std::string_view rest, slugs;
  };
  const Row kRows[] = {
      {R"( symbol "f";)", ""},
      {R"( symbol "f"();)", ""},
      {R"( symbol "f"(m, n);)", ""},  // what it would be told anyway
      {R"( symbol "f"(n, 2 * m // 3, 7);)", ""},
      {R"( symbol "f"(n))", "1:76 missing-semicolon"},
      {R"( symbol "f" {})", "1:74 missing-semicolon"},
      {R"( symbol f;)", "1:70 expected-token"},
      {R"( "f";)", "1:63 expected-token"},
      {R"( symbol "f"(k);)", "1:74 unknown-variable"},
      {R"( symbol "f"(n < m);)", "1:74 index-not-int64"},
      {R"( symbol "f"(x[0, 0]);)", "1:74 index-not-int64"},
      {R"( symbol "f g";)", "1:70 bad-symbol"},
      {R"( symbol "f"; def @k() { 1 })", "1:79 redefined-global"},
      {R"( symbol "f"; kernel @k() -> () { })", "1:82 redefined-global"},
  };
  for (const Row& row : kRows) EXPECT_EQ(slugs(with(row.rest)), row.slugs) << row.rest;
  EXPECT_EQ(slugs(R"(extern kernel @k(x: int8[n * m]) -> (z: int8[n]) symbol "f";)"),
            "1:15 undetermined-extent");
  EXPECT_EQ(slugs(R"(extern kernel @k(x: int64[n]) -> (z: int8[]) symbol "f"(x[0]);)"),
            "1:15 undetermined-extent");
  EXPECT_EQ(slugs(R"(extern kernel @k() -> () symbol "f";)", true), "1:15 invalid-kernel");
  EXPECT_EQ(slugs("extern kernel"), "1:14 expected-name");
}

TEST(KernelText, LimitsHold) {
  std::string deep_loops, deep_expr = "1f", chain = "1f", sum = "i";
  for (int i = 0; i < 300; ++i) deep_loops += cat("for i", i, " in 1 { ");
  for (int i = 0; i < 300; ++i) deep_expr = cat("exp(", deep_expr, ")");
  for (int i = 0; i < 600; ++i) chain += " + 1f";
  for (int i = 0; i < 5000; ++i) sum += " + i";
  const auto with = [](std::string_view e) {
    return cat("kernel @k() -> (z: float32[8]) { for i in 8 { z[i] = ", e, "; } }");
  };
  EXPECT_EQ(slugs(cat("kernel @k() -> () { ", deep_loops)).substr(7), "nesting-too-deep");
  EXPECT_EQ(slugs(with(deep_expr)).substr(6), "nesting-too-deep");
  EXPECT_EQ(slugs(with(chain)), "1:54 expression-too-complex");
  EXPECT_EQ(slugs(with(cat("float32(", sum, ")"))), "1:62 expression-too-complex");
}

// Large kernels, valid and not: reading and checking them takes seconds at most.
TEST(KernelText, HostileTextsEndSoon) {
  const auto stores = [](std::string_view index, size_t times) {
    std::string out =
        "kernel @k(x: float32[n]) -> (z: float32[8]) { for i in 8 { block b { spatial v in 8 = i; reads "
        "x[v]; writes z[v]; ";
    for (size_t i = 0; i < times; ++i) out += cat("z[", index, "] = x[", index, "] + ", i, "f;\n");
    return out + "} } }";
  };
  std::string sum = "0", shapes, blocks;
  for (size_t i = 0; i < 4000; ++i) sum += cat(" + n", i);
  for (size_t i = 0; i < 4000; ++i) shapes += cat(i > 0 ? ", " : "", "b", i, ": int8[n", i, "]");
  for (size_t i = 0; i < 8000; ++i)
    blocks += cat("for i in 8 { block b", i, " { spatial v in 8 = i; writes z[v]; z[v] = 1f; } }\n");
  std::string sums = cat("kernel @k(", shapes, ") -> (z: float32[8]) { for i in 8 { ");
  for (size_t i = 0; i < 40; ++i) sums += cat("z[", sum, "] = 1f; ");
  std::string externals,
      long_extent = cat("extern kernel @k(", shapes, ") -> (z: float32[8]) symbol \"k\"(", sum);
  for (size_t i = 0; i < 15000; ++i)
    externals +=
        cat("extern kernel @k", i, "(x: int8[n]) -> (y: int8[n]) symbol \"k\"", i % 3 ? "" : "(n, n)", ";\n");
  for (const std::string& text :
       {stores("v", 30000), stores("(v + n) % 8", 20000), stores("v // n", 20000), sums + "} }", externals,
        long_extent + ");", cat("kernel @k() -> (z: float32[8]) { ", blocks, "}")}) {
    const auto start = std::clock();
    Diagnostics diagnostics;
    const Result<Module> m = parse("input", text, diagnostics, test_operators());
    const double took = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_LT(took, 20.0) << text.substr(0, 200);
    std::printf("%zu bytes: %.2f s, %zu errors\n", text.size(), took, diagnostics.errors());
  }
}

TEST(KernelText, DamagedTexts) {
  const std::string good = R"(kernel @k(x: float32[n, 8], w: int8[]) -> (y: float32[n, 8]) {
  origin "o"; temporary t: float32[n];
  parallel i in n { vectorized j in 8 {
      let a = x[i, j] * 2f;
      if (a < 0f && i // 2 == 3 % n) { y[i, j] = a; } else { y[i, j] = select(isnan(a), -1f, min(a, 2f)); }
      prefetch x[i + 1, j]; require (j < 8, "never"); }
    local l: float32[8] { l[0] = float32(w[]); sequence { nothing; } }
    block b { spatial v in n = i; reduction r in 4 = 0; where i < n; reads t[v], x[v, 0 : 4]; writes t[v];
      init { t[v] = 0f; } t[v] = t[v] + x[v, r]; } } }
extern kernel @c(x: float32[n, 8], w: int8[]) -> (y: float32[2 * n]) symbol "c_name"(n, 8 * n // 3);
)";
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random); };
  size_t accepted = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string text = good;
    for (size_t edits = 1; edits > 0; --edits) {
      const size_t at = below(text.size());
      switch (below(4)) {
        case 0: text.erase(at, 1 + below(5)); break;
        case 1: text[at] = text[below(text.size())]; break;
        case 2: text.insert(at, 1, "0123456789 abijnxy_,[](){};:=+-*/%<>!&|\"@"[below(42)]); break;
        default: text.insert(below(text.size()), text.substr(at, 1 + below(8))); break;
      }
    }
    Diagnostics diagnostics;
    ParseOptions options;
    options.validate_kernels = i % 2 == 0;
    const Result<Module> m = parse("input", text, diagnostics, test_operators(), options);
    ASSERT_EQ(static_cast<bool>(m), !diagnostics.has_errors()) << text;
    if (!m) continue;
    ++accepted;
    round_trip(*m);
    ASSERT_FALSE(HasFailure()) << text;
  }
  EXPECT_GT(accepted, 150u);
}

}  // namespace
}  // namespace relay::text
