// The text of scalar expressions.
#include "base/cat.h"
#include "kernel/buffer.h"
#include "kernel/expr.h"
#include "kernel/limits.h"

namespace relay::kernel {
namespace {

// Precedences of the `.relay` grammar for dims, and of C++ where it has the operator.
enum Precedence { kLowest, kOrLevel, kAndLevel, kCompare, kSum, kProduct, kUnary, kPrimary };

struct Shown {
  std::string text;
  Precedence level;
};

std::string at_least(const Shown& s, Precedence level) {
  return s.level < level ? "(" + s.text + ")" : s.text;
}

class Shower {
 public:
  // What is too much has a text, too: nobody needs to read all of it.
  Shown shown(const ExprNode* n) {
    if (depth_ == kDeepestExpr || left_ == 0) return {"...", kPrimary};
    --left_;
    ++depth_;
    Shown out = form(n);
    --depth_;
    return out;
  }

 private:
  Shown infix(const ExprNode* n, std::string_view op, Precedence level) {
    std::string out = at_least(shown(n->args[0]), level);
    for (size_t i = 1; i < n->args.size(); ++i) {
      out += cat(" ", op, " ", at_least(shown(n->args[i]), static_cast<Precedence>(level + 1)));
    }
    return {out, level};
  }

  Shown call(std::string_view name, const ExprNode* n) {
    return {cat(name, "(", join(n->args, ", ", [&](const ExprNode* a) { return shown(a).text; }), ")"),
            kPrimary};
  }

  Shown sum(const ExprNode* n) {
    std::string out;
    for (size_t i = 0; i < n->args.size(); ++i) {
      std::string part = at_least(shown(n->args[i]), kProduct);
      if (i == 0) {
        out = part;
      } else if (part[0] == '-') {
        out += " - " + part.substr(1);
      } else {
        out += " + " + part;
      }
    }
    return {out, kSum};
  }

  // The coefficient is kept last in the node and shown first, as people write it.
  Shown product(const ExprNode* n) {
    std::string out;
    const bool scaled = n->args.back()->kind == ExprKind::kInt;
    if (scaled) out = n->args.back()->int_value == -1 ? "-" : cat(n->args.back()->int_value, "*");
    for (size_t i = 0; i + (scaled ? 1 : 0) < n->args.size(); ++i) {
      if (i > 0) out += "*";
      out += at_least(shown(n->args[i]), kPrimary);
    }
    return {out, kProduct};
  }

  Shown form(const ExprNode* n) {
    switch (n->kind) {
      case ExprKind::kInt:
        if (n->dtype.is_bool()) return {n->int_value ? "true" : "false", kPrimary};
        return {cat(n->int_value), n->int_value < 0 ? kUnary : kPrimary};
      case ExprKind::kFloat: return {cat(n->float_value, "f"), n->float_value < 0 ? kUnary : kPrimary};
      case ExprKind::kVar: return {n->name.str(), kPrimary};
      case ExprKind::kAdd: return sum(n);
      case ExprKind::kMul: return n->dtype == kInt64 ? product(n) : infix(n, "*", kProduct);
      case ExprKind::kSub: return infix(n, "-", kSum);
      case ExprKind::kDiv: return infix(n, "/", kProduct);
      case ExprKind::kFloorDiv: return infix(n, "//", kProduct);
      case ExprKind::kFloorMod: return infix(n, "%", kProduct);
      case ExprKind::kTruncDiv: return call("trunc_div", n);
      case ExprKind::kTruncMod: return call("trunc_mod", n);
      case ExprKind::kMin: return call("min", n);
      case ExprKind::kMax: return call("max", n);
      case ExprKind::kBroadcast: return call("broadcast", n);
      case ExprKind::kBitAnd: return call("bit_and", n);
      case ExprKind::kBitOr: return call("bit_or", n);
      case ExprKind::kBitXor: return call("bit_xor", n);
      case ExprKind::kShiftLeft: return call("shift_left", n);
      case ExprKind::kShiftRight: return call("shift_right", n);
      case ExprKind::kEqual: return infix(n, "==", kCompare);
      case ExprKind::kNotEqual: return infix(n, "!=", kCompare);
      case ExprKind::kLess: return infix(n, "<", kCompare);
      case ExprKind::kLessEqual: return infix(n, "<=", kCompare);
      case ExprKind::kAnd: return infix(n, "&&", kAndLevel);
      case ExprKind::kOr: return infix(n, "||", kOrLevel);
      case ExprKind::kNot: return {"!" + at_least(shown(n->args[0]), kPrimary), kUnary};
      case ExprKind::kSelect: return call("select", n);
      case ExprKind::kCast: return call(n->dtype.name(), n);
      case ExprKind::kLoad: {
        std::string indices = join(n->args, ", ", [&](const ExprNode* a) { return shown(a).text; });
        return {cat(n->buffer->name.text(), "[", indices, "]"), kPrimary};
      }
      case ExprKind::kMath: return call(name(n->fn), n);
    }
    return {"?", kPrimary};
  }

  size_t left_ = 20'000;  // parts
  uint32_t depth_ = 0;
};

}  // namespace

std::string show(Expr e) { return Shower().shown(e.get()).text; }

}  // namespace relay::kernel
