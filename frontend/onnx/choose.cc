#include "frontend/onnx/choose.h"

#include "base/cat.h"
#include "frontend/onnx/sequences.h"

namespace relay::frontend {

Expr choose(Node& n, Expr test, Expr yes, Expr no) {
  Builder& b = n.builder();
  const Type type = joined_type(n.context(), yes->type, no->type);
  if (!type) {
    n.unsupported(
        cat("it gives ", show(yes->type, 80), " or ", show(no->type, 80), ", and only a run tells which"));
  }
  return b.with_type(b.if_(test, widened(b, yes, type), widened(b, no, type)), type);
}

}  // namespace relay::frontend
