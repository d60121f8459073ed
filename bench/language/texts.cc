#include "bench/language/texts.h"

#include "base/cat.h"

namespace relay::bench {
namespace {

// Three expressions a line: a call, and two operands that are leaves.
std::string graph(int nodes) {
  std::string out = "def @main(%x: Tensor[(n, 64), float32]) {\n  %0 = nn.relu(%x);\n";
  const int lines = nodes / 3;
  for (int i = 1; i < lines; ++i) out += cat("  %", i, " = add(%", i - 1, ", %x);\n");
  return out + cat("  %", lines - 1, "\n}\n");
}

std::string lets(int nodes) {
  std::string out = "def @main(%x0: Tensor[(n, 64), float32]) {\n";
  const int lines = nodes / 4;
  for (int i = 1; i <= lines; ++i) out += cat("  let %x", i, " = multiply(%x", i - 1, ", 2f);\n");
  return out + cat("  %x", lines, "\n}\n");
}

// A network's convolution, bias and activation, over and over, with attributes and
// annotated weights.
std::string layers(int nodes) {
  const int blocks = nodes / 12;
  std::string out =
      "def @main(%x: Tensor[(1, 16, 32, 32), float32], %w: Tensor[(16, 16, 3, 3), float32], %b: Tensor[(16), "
      "float32]) {\n";
  out += "  %0 = nn.relu(%x);\n";
  int last = 0;
  for (int i = 0; i < blocks; ++i) {
    out += cat("  %", last + 1, " = nn.conv2d(%", last,
               ", %w, padding=[1, 1, 1, 1], channels=16, kernel_size=[3, 3]);\n");
    out += cat("  %", last + 2, " = nn.bias_add(%", last + 1, ", %b);\n");
    out += cat("  %", last + 3, " = add(nn.relu(%", last + 2, "), %", last, ");\n");
    last += 3;
  }
  return out + cat("  %", last, "\n}\n");
}

std::string functions(int nodes) {
  std::string out = "def @f0[A](%x: A) -> A { %x }\n";
  const int count = nodes / 8;
  for (int i = 1; i < count; ++i) {
    out += cat("def @f", i, "(%x: float32, %y) { @f", i - 1, i == 1 ? "(%x)" : "(%x, add(%x, 1f))", " }\n");
  }
  return out;
}

// Data types, matches and closures.
std::string lists(int nodes) {
  std::string out = "type List[A] { Cons(A, List[A]), Nil }\n";
  const int count = nodes / 20;
  for (int i = 0; i < count; ++i) {
    out += cat("def @g", i,
               "[A](%l: List[A], %f: fn(A) -> A) -> List[A] {\n  match (%l) {\n    Cons(%h, Cons(%g, %t)) => "
               "Cons(%f(%h), Cons(%f(%g), @g",
               i, "(%t, %f))),\n    Cons(%h, Nil) => Cons(%f(%h), Nil),\n    Nil => Nil,\n  }\n}\n");
  }
  return out;
}

std::string polymorphic_lets(int nodes) {
  std::string out = "def @main(%x: float32) {\n";
  const int lines = nodes / 8;
  for (int i = 1; i <= lines; ++i)
    out += cat("  let %f", i, " = fn (%a, %b) { (%b, %a) };\n  let %y", i, " = %f", i, "(%x, 1);\n");
  return out + cat("  %y", lines, ".0\n}\n");
}

constexpr Text kTexts[] = {
    {"graph", "graph bindings of elementwise calls, symbolic dims", graph},
    {"lets", "a chain of lets", lets},
    {"layers", "convolution, bias, activation, sum", layers},
    {"functions", "global functions that call each other, half annotated", functions},
    {"lists", "generic recursion with match over a data type", lists},
    {"polymorphic lets", "local functions without annotations, generalised", polymorphic_lets},
};

}  // namespace

std::span<const Text> texts() { return kTexts; }

}  // namespace relay::bench
