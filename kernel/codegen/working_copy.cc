#include "kernel/codegen/working_copy.h"

#include <optional>

#include "base/cat.h"
#include "kernel/codegen/expand.h"
#include "kernel/codegen/requirements.h"
#include "kernel/copy.h"
#include "kernel/limits.h"
#include "kernel/statements.h"

namespace relay::kernel::codegen {

WorkingCopy::WorkingCopy(const Kernel& k)
    : symbols_(arena_), pool_(arena_, symbols_), kernel_(Copier(pool_).kernel(k)) {
  body_ = expand(pool_, *kernel_);
  messages_ = requirements(*kernel_);
}

std::string cannot_compile(const Kernel& k) {
  constexpr int64_t kMostElements = int64_t{1} << 20;  // threads have stacks of a few megabytes
  std::string wrong = too_deep(k);
  if (!wrong.empty()) return cat("kernel ", k.name.text(), " cannot be compiled: ", wrong);
  visit(k.body, [&](Stmt s) {
    const auto* n = s->as<Allocate>();
    if (n == nullptr || !wrong.empty()) return;
    const Buffer& b = *n->buffer;
    const auto refuse = [&](const std::string& why) {
      wrong = cat("kernel ", k.name.text(), " cannot be compiled: its local buffer `", b.name.text(),
                  "` has ", why, ": make it a temporary");
    };
    const auto constant = [&](const char* what, List<Expr> all) {
      for (Expr e : all) {
        if (e->kind != ExprKind::kInt && wrong.empty())
          refuse(cat("the ", what, " `", show(e), "`, which is no constant"));
      }
    };
    constant("extent", b.shape);
    constant("stride", b.strides);
    if (!wrong.empty()) return;
    const std::optional<int64_t> extent = memory_extent(b);
    if (!extent || *extent > kMostElements) refuse(cat("more than ", kMostElements, " elements"));
  });
  return wrong;
}

}  // namespace relay::kernel::codegen
