// The words of kernels' texts, shared by parser and printer.
#pragma once

#include <optional>
#include <string_view>

#include "kernel/kernel.h"

namespace relay::text {

struct LoopWord {
  kernel::ForKind how;
  std::string_view word;
};
inline constexpr LoopWord kLoopWords[] = {{kernel::ForKind::kSerial, "for"},
                                          {kernel::ForKind::kParallel, "parallel"},
                                          {kernel::ForKind::kVectorized, "vectorized"},
                                          {kernel::ForKind::kUnrolled, "unrolled"},
                                          {kernel::ForKind::kBlockX, "block_x"},
                                          {kernel::ForKind::kBlockY, "block_y"},
                                          {kernel::ForKind::kBlockZ, "block_z"},
                                          {kernel::ForKind::kThreadX, "thread_x"},
                                          {kernel::ForKind::kThreadY, "thread_y"},
                                          {kernel::ForKind::kThreadZ, "thread_z"}};
inline std::string_view word(kernel::ForKind how) {
  for (const LoopWord& w : kLoopWords) {
    if (w.how == how) return w.word;
  }
  return "for";
}

struct ScopeWord {
  kernel::Scope scope;
  std::string_view word;
};
inline constexpr ScopeWord kScopeWords[] = {
    {kernel::Scope::kGlobal, "global"}, {kernel::Scope::kShared, "shared"}, {kernel::Scope::kLocal, "local"}};
inline std::string_view word(kernel::Scope scope) {
  for (const ScopeWord& w : kScopeWords) {
    if (w.scope == scope) return w.word;
  }
  return "global";
}

// Kinds of expression that are written as functions.
struct FunctionWord {
  kernel::ExprKind kind;
  std::string_view word;
  size_t args = 2;
};
inline constexpr FunctionWord kFunctionWords[] = {{kernel::ExprKind::kMin, "min"},
                                                  {kernel::ExprKind::kMax, "max"},
                                                  {kernel::ExprKind::kBroadcast, "broadcast"},
                                                  {kernel::ExprKind::kTruncDiv, "trunc_div"},
                                                  {kernel::ExprKind::kTruncMod, "trunc_mod"},
                                                  {kernel::ExprKind::kBitAnd, "bit_and"},
                                                  {kernel::ExprKind::kBitOr, "bit_or"},
                                                  {kernel::ExprKind::kBitXor, "bit_xor"},
                                                  {kernel::ExprKind::kShiftLeft, "shift_left"},
                                                  {kernel::ExprKind::kShiftRight, "shift_right"},
                                                  {kernel::ExprKind::kSelect, "select", 3}};
inline std::string_view function_word(kernel::ExprKind kind) {
  for (const FunctionWord& w : kFunctionWords) {
    if (w.kind == kind) return w.word;
  }
  return "unknown";
}

}  // namespace relay::text
