// Gradients of kernels of a program: both ways, of both orders, against central differences.
#include <gtest/gtest.h>

#include <string>

#include "analysis/testing.h"
#include "kernel/validate.h"
#include "passes/gradient/testing.h"

namespace relay::passes::gradient {
namespace {

using analysis::testing::checked;
using testing::after;
using testing::check_tangent;
using testing::checked_gradient;

struct Case {
  const char* name;
  const char* text;
};

class KernelGradients : public ::testing::TestWithParam<Case> {};

Module typed() {
  Result<Module> m = after(checked(KernelGradients::GetParam().text), "");
  EXPECT_TRUE(m);
  return *m;
}

TEST_P(KernelGradients, AreThoseOfDifferences) { checked_gradient(typed(), 1e-6); }

TEST_P(KernelGradients, HaveGradients) {
  const Result<Module> first = after(typed(), "gradient");
  ASSERT_TRUE(first);
  checked_gradient(*first, 1e-6);
}

TEST_P(KernelGradients, AgreeWithTangents) { check_tangent(typed(), 1e-6); }

TEST_P(KernelGradients, AgreeWithTangentsOfGradients) {
  for (const char* first : {"gradient", "forward-gradient"}) check_tangent(*after(typed(), first), 1e-6);
}

TEST_P(KernelGradients, AreValidKernels) {
  for (const char* pass : {"gradient", "forward-gradient", "gradient,gradient"}) {
    const Result<Module> m = after(typed(), pass);
    ASSERT_TRUE(m);
    for (const auto& [name, k] : m->kernels()) {
      for (const std::string& wrong : kernel::validate(*k))
        ADD_FAILURE() << pass << ": @" << name.text() << ": " << wrong << "\n" << show(*k);
    }
  }
}

const Case kCases[] = {
    {"Elementwise",
     R"(kernel @k(x: float64[n], z: float64[n]) -> (y: float64[n]) {
          for i in n { block y { spatial v in n = i; reads x[v], z[v]; writes y[v];
            y[v] = select(x[v] < 0.7f64, x[v] * z[v], exp(x[v]) / (z[v] + 1f64)) - max(x[v], z[v]) * sqrt(x[v]); } }
        }
        def @main(%x: Tensor[(n), float64], %z: Tensor[(n), float64]) { sin(@k(%x, multiply(%z, %x))) })"},
    {"Functions",
     R"(kernel @k(x: float64[n], z: float64[n]) -> (y: float64[n, 3]) {
          for i in n { block y { spatial v in n = i; spatial c in 1 = 0; reads x[v], z[v]; writes y[v, c];
            y[v, c] = exp(x[v]) * expm1(z[v]) + log(x[v]) * log2(z[v]) + log10(x[v]) * log1p(z[v]) + sqrt(x[v]) / rsqrt(z[v]); } }
          for i in n { block more { spatial v in n = i; spatial c in 1 = 0; reads x[v], z[v]; writes y[v, c + 1];
            y[v, c + 1] = sin(x[v]) * cos(z[v]) + tan(x[v]) * asin(z[v] * 0.5f64) + acos(x[v] * 0.5f64) * atan(z[v]) + sinh(x[v]) * cosh(z[v]); } }
          for i in n { block most { spatial v in n = i; spatial c in 1 = 0; reads x[v], z[v]; writes y[v, c + 2];
            y[v, c + 2] = tanh(x[v]) * asinh(z[v]) + acosh(x[v] + 1f64) * atanh(z[v] * 0.5f64) + erf(x[v]) * abs(z[v] - 0.6f64)
              + pow(x[v], z[v]) * atan2(x[v], z[v]) + fmod(x[v] * 5f64, z[v]) * floor(z[v] * 3f64); } }
        }
        def @main(%x: Tensor[(n), float64], %z: Tensor[(n), float64]) { @k(%x, %z) })"},
    {"Product",
     R"(kernel @k(x: float64[n, k], w: float64[m, k]) -> (y: float64[n, m]) {
          for i in n { for j in m { for l in k {
            block y { spatial a in n = i; spatial b in m = j; reduction c in k = l;
              reads y[a, b], x[a, c], w[b, c]; writes y[a, b];
              init { y[a, b] = 0f64; }
              y[a, b] = y[a, b] + x[a, c] * w[b, c]; } } } }
        }
        def @main(%x: Tensor[(n, 2), float64], %w: Tensor[(4, 2), float64]) { tanh(@k(%x, %w)) })"},
    {"StridedConvolution",
     R"(kernel @k(x: float64[2, 7], w: float64[3, 2, 3]) -> (y: float64[3, 4]) {
          for o in 3 { for h in 4 { for c in 2 { for r in 3 {
            block y { spatial vo in 3 = o; spatial vh in 4 = h; reduction vc in 2 = c; reduction vr in 3 = r;
              reads y[vo, vh], x[vc, 0:7], w[vo, vc, vr]; writes y[vo, vh];
              init { y[vo, vh] = 0f64; }
              y[vo, vh] = y[vo, vh] + select(1 <= 2*vh + vr && 2*vh + vr < 8, x[vc, 2*vh + vr - 1], 0f64) * w[vo, vc, vr]; } } } } }
        }
        def @main(%x: Tensor[(2, 7), float64], %w: Tensor[(3, 2, 3), float64]) { multiply(@k(%x, %w), @k(%x, %w)) })"},
    {"SoftmaxOfRows",
     R"(kernel @k(x: float64[3, 4]) -> (y: float64[3, 4]) {
          temporary m: float64[3];
          for i in 3 {
            for j in 4 { block m { spatial a in 3 = i; reduction b in 4 = j; reads m[a], x[a, b]; writes m[a];
              init { m[a] = -inff64; }
              m[a] = max(m[a], x[a, b]); } }
            local s: float64[1] {
              for j in 4 { block s { spatial a in 3 = i; reduction b in 4 = j; reads s[0], x[a, b], m[a]; writes s[0];
                init { s[0] = 0f64; }
                s[0] = s[0] + exp(x[a, b] - m[a]); } }
              for j in 4 { block y { spatial a in 3 = i; spatial b in 4 = j; reads x[a, b], m[a], s[0]; writes y[a, b];
                y[a, b] = exp(x[a, b] - m[a]) / s[0]; } }
            }
          }
        }
        def @main(%x: Tensor[(3, 4), float64], %w: Tensor[(3, 4), float64]) { multiply(@k(%x), %w) })"},
    {"ProductOfElements",
     R"(kernel @k(x: float64[2, 3, 2]) -> (y: float64[2]) {
          for i in 2 { for j in 3 { for l in 2 {
            block y { spatial a in 2 = i; reduction b in 3 = j; reduction c in 2 = l; reads y[a], x[a, b, c]; writes y[a];
              init { y[a] = 1f64; }
              y[a] = y[a] * x[a, b, c]; } } } }
        }
        def @main(%x: Tensor[(2, 3, 2), float64]) { exp(@k(%x)) })"},
    {"Recurrence",
     R"(kernel @k(x: float64[n], h: float64[1]) -> (y: float64[n + 1]) {
          block first { reads h[0]; writes y[0]; y[0] = h[0]; }
          for i in n { block y { reduction v in n = i; reads y[v], x[v]; writes y[v + 1];
            y[v + 1] = y[v] * x[v] + sin(x[v]); } }
        }
        def @main(%x: Tensor[(4), float64], %h: Tensor[(1), float64]) { multiply(@k(%x, %h), @k(%x, %h)) })"},
    {"TwoStepsBack",
     R"(kernel @k(x: float64[5]) -> (y: float64[5]) {
          for i in 5 { block y { reduction v in 5 = i; reads y[0:5], x[v]; writes y[v];
            y[v] = select(v < 2, x[v], y[v - 1] * x[v] + y[v - 2]); } }
        }
        def @main(%x: Tensor[(5), float64]) { sin(@k(%x)) })"},
    {"Gather",
     R"(kernel @k(x: float64[4, 2], i: int64[3]) -> (y: float64[3, 2]) {
          for a in 3 { for b in 2 { block y { spatial va in 3 = a; spatial vb in 2 = b; reads x[0:4, vb], i[va]; writes y[va, vb];
            y[va, vb] = x[i[va], vb] * x[va, vb]; } } }
        }
        def @main(%x: Tensor[(4, 2), float64], %i: Tensor[(3), int64]) { exp(@k(%x, %i)) })"},
    {"Scatter",
     R"(kernel @k(x: float64[3], i: int64[3]) -> (y: float64[4]) {
          for a in 4 { block fill { spatial v in 4 = a; writes y[v]; y[v] = 0f64; } }
          for a in 3 { block y { reduction v in 3 = a; reads y[0:4], x[v], i[v]; writes y[0:4];
            y[i[v]] = y[i[v]] + x[v] * x[v]; } }
        }
        def @main(%x: Tensor[(3), float64], %i: Tensor[(3), int64]) { sin(@k(%x, %i)) })"},
    {"Pooling",
     R"(kernel @k(x: float64[6]) -> (y: float64[5]) {
          for i in 5 { for j in 2 { block y { spatial v in 5 = i; reduction r in 2 = j; reads y[v], x[v + r]; writes y[v];
            init { y[v] = -inff64; }
            y[v] = max(y[v], x[v + r]); } } }
        }
        def @main(%x: Tensor[(6), float64]) { exp(@k(%x)) })"},
    {"WrittenOver",
     R"(kernel @k(x: float64[4]) -> (y: float64[4], last: int32[4]) {
          temporary t: float64[4];
          for i in 4 { block t { spatial v in 4 = i; reads x[v]; writes t[v]; t[v] = x[v] * x[v]; } }
          for i in 4 { block y { spatial v in 4 = i; reads t[v]; writes y[v]; y[v] = sin(t[v]); } }
          for i in 2 { block again { spatial v in 2 = i; reads x[v], t[0:4], y[v + 2]; writes t[v + 1];
            t[v + 1] = exp(x[v]) + y[v + 2]; } }
          for i in 4 { block more { spatial v in 4 = i; reads y[v], t[v]; writes y[v]; y[v] = y[v] + t[v] * t[v]; } }
          for i in 4 { block last { spatial v in 4 = i; reads x[v]; writes last[v]; last[v] = select(x[v] < 1f64, 1i32, 2i32); } }
        }
        def @main(%x: Tensor[(4), float64]) { let %r = @k(%x); (tanh(%r.0), %r.1) })"},
    {"Branches",
     R"(kernel @k(x: float64[6]) -> (y: float64[6]) {
          for i in 6 {
            if (i < 2) { block first { spatial v in 6 = i; reads x[v]; writes y[v]; y[v] = sin(x[v]); } }
            else { block second { spatial v in 6 = i; reads x[0:6]; writes y[v]; y[v] = x[v] * x[v - 2]; } }
          }
        }
        def @main(%x: Tensor[(6), float64]) { exp(@k(%x)) })"},
    // 2 to the power of 60 terms, were they not shared.
    {"SharedTerms",
     R"(kernel @k(x: float64[2]) -> (y: float64[2]) {
          for i in 2 { block y { spatial v in 2 = i; reads x[v]; writes y[v]; let a0 = x[v] * x[v];
            let a1 = a0 + a0; let a2 = a1 + a1; let a3 = a2 + a2; let a4 = a3 + a3;
            let a5 = a4 + a4; let a6 = a5 + a5; let a7 = a6 + a6; let a8 = a7 + a7;
            let a9 = a8 + a8; let a10 = a9 + a9; let a11 = a10 + a10; let a12 = a11 + a11;
            let a13 = a12 + a12; let a14 = a13 + a13; let a15 = a14 + a14; let a16 = a15 + a15;
            let a17 = a16 + a16; let a18 = a17 + a17; let a19 = a18 + a18; let a20 = a19 + a19;
            let a21 = a20 + a20; let a22 = a21 + a21; let a23 = a22 + a22; let a24 = a23 + a23;
            let a25 = a24 + a24; let a26 = a25 + a25; let a27 = a26 + a26; let a28 = a27 + a27;
            let a29 = a28 + a28; let a30 = a29 + a29; let a31 = a30 + a30; let a32 = a31 + a31;
            let a33 = a32 + a32; let a34 = a33 + a33; let a35 = a34 + a34; let a36 = a35 + a35;
            let a37 = a36 + a36; let a38 = a37 + a37; let a39 = a38 + a38; let a40 = a39 + a39;
            let a41 = a40 + a40; let a42 = a41 + a41; let a43 = a42 + a42; let a44 = a43 + a43;
            let a45 = a44 + a44; let a46 = a45 + a45; let a47 = a46 + a46; let a48 = a47 + a47;
            let a49 = a48 + a48; let a50 = a49 + a49; let a51 = a50 + a50; let a52 = a51 + a51;
            let a53 = a52 + a52; let a54 = a53 + a53; let a55 = a54 + a54; let a56 = a55 + a55;
            let a57 = a56 + a56; let a58 = a57 + a57; let a59 = a58 + a58; let a60 = a59 + a59;
            y[v] = a60 * 0.000000000000000001f64; } }
        }
        def @main(%x: Tensor[(2), float64]) { sin(@k(%x)) })"},
    {"OperatorsAroundEachOther",
     R"(def @main(%x: Tensor[(1, 1, 4, 4), float64]) {
          image.dilation2d(image.dilation2d(%x, ones(shape=[1, 2, 2], dtype="float64")),
                           ones(shape=[1, 2, 2], dtype="float64"))
        })"},
    {"InClosuresAndRecursion",
     R"(kernel @k(x: float64[n]) -> (y: float64[n]) {
          for i in n { block y { spatial v in n = i; reads x[v]; writes y[v]; y[v] = x[v] * x[v]; } }
        }
        def @apply(%f: fn(Tensor[(2), float64]) -> Tensor[(2), float64], %x: Tensor[(2), float64], %n: int32) -> Tensor[(2), float64] {
          if (equal(%n, 0)) { @k(sin(%x)) } else { %f(@apply(%f, %x, subtract(%n, 1))) }
        }
        def @main(%x: Tensor[(2), float64], %n: int32) { @apply(@k, %x, %n) })"},
};

INSTANTIATE_TEST_SUITE_P(All, KernelGradients, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace relay::passes::gradient
