// Kernels as text.
//
// The kernel is first copied into a context of its own, with variables and buffers made in the
// order of the text: canonical sums are ordered by the age of their variables, and so the text
// reads back to a kernel that prints alike.
#include "ir/text/print_kernel.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/cat.h"
#include "ir/context.h"
#include "ir/import.h"
#include "ir/text/kernel_words.h"
#include "ir/text/literal.h"
#include "ir/text/names.h"
#include "kernel/external.h"
#include "kernel/fields.h"
#include "kernel/statements.h"
#include "kernel/walk.h"

namespace relay::text {
namespace {

using kernel::Buffer;
using kernel::Expr;
using kernel::ExprKind;
using kernel::ExprNode;
using kernel::Kernel;
using kernel::Stmt;

// An expression whose text would have more parts than this, or be nested more deeply, is
// cut up by `let`s.
constexpr uint64_t kMostParts = 64;
constexpr uint32_t kDeepest = 40;

enum Level { kOr = 1, kAnd, kCompare, kSum, kProduct, kUnary, kPrimary };

bool negative_factor(const ExprNode* n) {
  return n->kind == ExprKind::kInt && n->int_value < 0 && n->int_value != INT64_MIN;
}
// A term of a sum that is written after a minus.
bool negative_term(const ExprNode* n) {
  if (n->dtype != kInt64) return false;
  return negative_factor(n) || (n->kind == ExprKind::kMul && negative_factor(n->args.back()));
}
bool scaled(const ExprNode* n) { return n->dtype == kInt64 && n->args.back()->kind == ExprKind::kInt; }

Level level_of(const ExprNode* n) {
  switch (n->kind) {
    case ExprKind::kInt: return !n->dtype.is_bool() && n->int_value < 0 ? kUnary : kPrimary;
    case ExprKind::kFloat: return std::signbit(n->float_value) ? kUnary : kPrimary;
    case ExprKind::kAdd:
    case ExprKind::kSub: return kSum;
    case ExprKind::kMul:
    case ExprKind::kDiv:
    case ExprKind::kFloorDiv:
    case ExprKind::kFloorMod: return kProduct;
    case ExprKind::kEqual:
    case ExprKind::kNotEqual:
    case ExprKind::kLess:
    case ExprKind::kLessEqual: return kCompare;
    case ExprKind::kAnd: return kAnd;
    case ExprKind::kOr: return kOr;
    case ExprKind::kNot: return kUnary;
    default: return kPrimary;
  }
}

std::string number(const ExprNode* n, bool negate) {
  if (n->kind == ExprKind::kFloat) {
    // float32 is kept rounded; the smaller ones are kept as doubles, so that the double is
    // what is written.
    if (n->dtype == kFloat32 && !std::isnan(n->float_value)) {
      return show_element(Tensor::scalar(kFloat32, n->float_value), 0, false);
    }
    std::string text = show_double(n->float_value);
    text.pop_back();  // its suffix
    return cat(text, suffix_of(n->dtype));
  }
  if (n->dtype.is_bool()) return n->int_value != 0 ? "True" : "False";
  if (n->dtype == kUInt64) return cat(static_cast<uint64_t>(n->int_value), "u64");
  // int64 is the dtype of indices, and needs no suffix here; int32 does.
  const std::string_view suffix = n->dtype == kInt64 ? "" : n->dtype == kInt32 ? "i32" : suffix_of(n->dtype);
  return cat(negate ? -n->int_value : n->int_value, suffix);
}

class KernelText {
 public:
  std::string of(std::string_view name, const Kernel& k);

 private:
  std::string unique(std::string_view wanted);
  std::string declared(const Buffer* b, bool with_scope);
  const std::string& bound(Expr v) { return names_.emplace(v.get(), unique(v->name.text())).first->second; }
  std::string name_of(const Buffer* b) const {
    const auto it = names_.find(b);
    return it != names_.end() ? it->second : quoted_word(b->name.text());
  }
  std::string expr(Expr e);
  void parts_of(const ExprNode* n, bool negate, Level least);
  void infix(const ExprNode* n, std::string_view op, Level left, Level right);
  void call(std::string_view name, const ExprNode* n);
  std::string exprs(const List<Expr>& list) {
    return join(list, ", ", [&](Expr e) { return expr(e); });
  }
  std::string regions(const List<kernel::Region>& list);
  void abbreviate(const std::vector<Expr>& roots, int indent);
  void body(Stmt s, int indent);
  void statement(Stmt s, int indent);
  void block(const kernel::Block& b, int indent);
  std::string operand(Expr e) { return expr(e); }
  std::string operand(Symbol word) { return quoted_string(word.text()); }
  // A statement that only looks (kernel/fields.h): its word, and its fields in parentheses.
  template <class T>
  void looking(const T& n, int indent) {
    static_assert(kernel::only_looks<T>, "this statement has a text of its own");
    abbreviate(kernel::expressions(&n), indent);
    std::vector<std::string> operands;
    for_each_field(n, [&](const auto& field) { operands.push_back(operand(field)); });
    line(indent, operands.empty() ? cat(T::kWord, ";") : cat(T::kWord, " (", join(operands, ", "), ");"));
  }
  void line(int indent, std::string_view text) {
    out_.append(static_cast<size_t>(std::min(indent, 40)) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }

  struct Part {
    const ExprNode* node = nullptr;
    bool negate = false;
    Level least = kOr;
    std::string text = {};
  };
  void later(std::string text) { parts_.push_back({nullptr, false, kOr, std::move(text)}); }
  void later(const ExprNode* n, Level least, bool negate = false) {
    parts_.push_back({n, negate, least, {}});
  }

  std::string out_;
  std::vector<Part> parts_;
  std::unordered_set<std::string> taken_;
  std::vector<std::string> in_use_;  // in the order in which they were taken; a statement gives its own back
  std::unordered_map<const void*, std::string> names_;  // of buffers and variables
  std::unordered_map<const ExprNode*, std::string> abbreviations_;
};

std::string KernelText::unique(std::string_view wanted) {
  const std::string base = wanted.empty() ? "v" : std::string(wanted);
  std::string name = base;
  for (uint32_t i = 1; !taken_.insert(name).second; ++i) name = cat(base, "_", i);
  in_use_.push_back(name);
  return quoted_word(name);
}

std::string KernelText::declared(const Buffer* b, bool with_scope) {
  const auto& [id, wanted, dtype, shape, scope, strides] = *b;
  const std::string& name = names_.emplace(b, unique(wanted.text())).first->second;
  return cat(with_scope || scope != kernel::Scope::kGlobal ? cat(word(scope), " ") : "", name, ": ",
             dtype.name(), "[", exprs(shape), "]",
             strides.empty() ? "" : cat(" strides [", exprs(strides), "]"));
}

// ---- Expressions ----

void KernelText::infix(const ExprNode* n, std::string_view op, Level left, Level right) {
  for (size_t i = n->args.size(); i-- > 1;) {
    later(n->args[i], right);
    later(cat(" ", op, " "));
  }
  later(n->args[0], left);
}

void KernelText::call(std::string_view name, const ExprNode* n) {
  later(")");
  for (size_t i = n->args.size(); i-- > 0;) {
    later(n->args[i], kOr);
    if (i > 0) later(", ");
  }
  later(cat(name, "("));
}

// Puts the parts of a node's text on the stack, last first.
void KernelText::parts_of(const ExprNode* n, bool negate, Level least) {
  const auto short_name = abbreviations_.find(n);
  if (short_name != abbreviations_.end()) return later(short_name->second);
  if (level_of(n) < least) {
    later(")");
    later(n, kOr, negate);
    later("(");
    return;
  }
  switch (n->kind) {
    case ExprKind::kInt:
    case ExprKind::kFloat: return later(number(n, negate));
    case ExprKind::kVar: {
      const auto it = names_.find(n);
      return later(it != names_.end() ? it->second : quoted_word(n->name.text()));
    }
    case ExprKind::kAdd:
      if (n->dtype != kInt64) return infix(n, "+", kSum, kProduct);
      for (size_t i = n->args.size(); i-- > 1;) {
        const bool minus = negative_term(n->args[i]) && !abbreviations_.contains(n->args[i]);
        later(n->args[i], kProduct, minus);
        later(minus ? " - " : " + ");
      }
      return later(n->args[0], kProduct);
    case ExprKind::kSub: return infix(n, "-", kSum, kProduct);
    case ExprKind::kMul: {
      if (n->dtype != kInt64) return infix(n, "*", kProduct, kUnary);
      // The coefficient is kept last and written first.
      const size_t factors = n->args.size() - (scaled(n) ? 1 : 0);
      for (size_t i = factors; i-- > 0;) {
        later(n->args[i], kPrimary);
        if (i > 0) later("*");
      }
      if (!scaled(n)) return;
      const int64_t value = n->args.back()->int_value;
      const bool unit = value == -1 && !negate, none = value == -1 && negate;
      if (!none) later(unit ? "-" : cat(negate ? -value : value, "*"));
      return;
    }
    case ExprKind::kDiv: return infix(n, "/", kProduct, kUnary);
    case ExprKind::kFloorDiv: return infix(n, "//", kProduct, kUnary);
    case ExprKind::kFloorMod: return infix(n, "%", kProduct, kUnary);
    case ExprKind::kEqual: return infix(n, "==", kSum, kSum);
    case ExprKind::kNotEqual: return infix(n, "!=", kSum, kSum);
    case ExprKind::kLess: return infix(n, "<", kSum, kSum);
    case ExprKind::kLessEqual: return infix(n, "<=", kSum, kSum);
    case ExprKind::kAnd: return infix(n, "&&", kAnd, kCompare);
    case ExprKind::kOr: return infix(n, "||", kOr, kAnd);
    case ExprKind::kNot: later(n->args[0], kPrimary); return later("!");
    case ExprKind::kCast: return call(n->dtype.name(), n);
    case ExprKind::kMath: return call(kernel::name(n->fn), n);
    case ExprKind::kLoad: {
      later("]");
      for (size_t i = n->args.size(); i-- > 0;) {
        later(n->args[i], kOr);
        if (i > 0) later(", ");
      }
      return later(name_of(n->buffer) + "[");
    }
    default: return call(function_word(n->kind), n);
  }
}

std::string KernelText::expr(Expr e) {
  std::string out;
  later(e.get(), kOr);
  while (!parts_.empty()) {
    Part p = std::move(parts_.back());
    parts_.pop_back();
    if (p.node) {
      parts_of(p.node, p.negate, p.least);
    } else {
      out += p.text;
    }
  }
  return out;
}

// Writes `let`s for parts that occur several times in a long expression or lie deep in it.
void KernelText::abbreviate(const std::vector<Expr>& roots, int indent) {
  struct Facts {
    uint64_t parts = 1;  // of its text, with what is abbreviated counted as one
    uint32_t depth = 1;
    uint32_t uses = 0;
    bool closed = false;  // its children are known
  };
  std::unordered_map<const ExprNode*, Facts> facts;
  std::vector<const ExprNode*> order;
  std::vector<std::pair<const ExprNode*, bool>> pending;
  for (size_t i = roots.size(); i-- > 0;) pending.emplace_back(roots[i].get(), false);
  while (!pending.empty()) {
    const auto [n, closing] = pending.back();
    pending.pop_back();
    if (closing) {
      order.push_back(n);
      continue;
    }
    if (facts[n].uses++ > 0) continue;
    pending.emplace_back(n, true);
    for (size_t i = n->args.size(); i-- > 0;) pending.emplace_back(n->args[i], false);
  }
  constexpr uint64_t kMany = 1 << 20;
  uint64_t whole = 0;
  for (const ExprNode* n : order) {
    Facts& f = facts[n];
    for (const ExprNode* a : n->args) f.parts = std::min(kMany, f.parts + facts[a].parts);
    whole = std::max(whole, f.parts);
  }
  for (const ExprNode* n : order) {
    Facts& f = facts[n];
    f.parts = 1;
    for (const ExprNode* a : n->args) {
      const bool cut = abbreviations_.contains(a);
      f.parts = std::min(kMany, f.parts + (cut ? 1 : facts[a].parts));
      f.depth = std::max(f.depth, cut ? 2 : facts[a].depth + 1);
    }
    const bool repeated = whole > kMostParts && f.uses > 1 && f.parts > 3;
    if (!repeated && f.depth < kDeepest) continue;
    if (n->args.empty()) continue;
    const std::string text = expr(n);
    const std::string name = unique("t");
    line(indent, cat("let ", name, " = ", text, ";"));
    abbreviations_.emplace(n, name);
  }
}

// ---- Statements ----

std::string KernelText::regions(const List<kernel::Region>& list) {
  return join(list, ", ", [&](const kernel::Region& r) {
    const auto& [buffer, min, extent] = fields(r);
    std::string out = name_of(buffer) + "[";
    for (size_t d = 0; d < min.size(); ++d) {
      if (d > 0) out += ", ";
      out += expr(min[d]);
      if (!extent[d].is_int(1)) out += cat(" : ", expr(min[d] + extent[d]));
    }
    return out + "]";
  });
}

// What stands between braces.
void KernelText::body(Stmt s, int indent) {
  const auto* sequence = s->as<kernel::Seq>();
  if (!sequence || sequence->body.size() < 2) return statement(s, indent);
  for (Stmt child : sequence->body) statement(child, indent);
}

// Kernels nest them kDeepestNest deep at most (kernel/limits.h).
void KernelText::statement(Stmt s, int indent) {
  const auto saved = abbreviations_;
  const size_t names_before = in_use_.size();
  kernel::match(
      s,
      [&](const kernel::For& n) {
        const auto& [var, extent, how, inside] = fields(n);
        const std::string times = expr(extent);
        line(indent, cat(word(how), " ", bound(var), " in ", times, " {"));
        body(inside, indent + 1);
        line(indent, "}");
      },
      [&](const kernel::Block& n) { block(n, indent); },
      [&](const kernel::Store& n) {
        const auto& [buffer, indices, value] = fields(n);
        std::vector<Expr> roots(indices.begin(), indices.end());
        roots.push_back(value);
        abbreviate(roots, indent);
        line(indent, cat(name_of(buffer), "[", exprs(indices), "] = ", expr(value), ";"));
      },
      [&](const kernel::Seq& n) {
        const auto& [all] = fields(n);
        line(indent, "sequence {");
        for (Stmt child : all) statement(child, indent + 1);
        line(indent, "}");
      },
      [&](const kernel::If& n) {
        const auto& [condition, then_branch, else_branch] = fields(n);
        abbreviate({condition}, indent);
        line(indent, cat("if (", expr(condition), ") {"));
        abbreviations_ = saved;
        body(then_branch, indent + 1);
        if (else_branch) {
          line(indent, "} else {");
          body(else_branch, indent + 1);
        }
        line(indent, "}");
      },
      [&](const kernel::Allocate& n) {
        const auto& [buffer, inside] = fields(n);
        line(indent, declared(buffer, true) + " {");
        body(inside, indent + 1);
        line(indent, "}");
      },
      [&](const kernel::Prefetch& n) {
        const auto& [buffer, indices] = fields(n);
        abbreviate({indices.begin(), indices.end()}, indent);
        line(indent, cat("prefetch ", name_of(buffer), "[", exprs(indices), "];"));
      },
      [&](const auto& n) { looking(n, indent); });
  abbreviations_ = saved;
  for (; in_use_.size() > names_before; in_use_.pop_back()) taken_.erase(in_use_.back());
}

void KernelText::block(const kernel::Block& b, int indent) {
  const auto& [name, iters, reads, writes, predicate, init, inside, instruction] = fields(b);
  line(indent, cat("block ", quoted_word(name.text()), " {"));
  for (const kernel::BlockIter& i : iters) {
    const auto& [var, extent, kind, binding] = fields(i);
    const std::string times = expr(extent), value = expr(binding);
    line(indent + 1, cat(kind == kernel::IterKind::kSpatial ? "spatial " : "reduction ", bound(var), " in ",
                         times, " = ", value, ";"));
  }
  if (predicate) line(indent + 1, cat("where ", expr(predicate), ";"));
  if (!instruction.empty()) line(indent + 1, cat("instruction ", quoted_string(instruction.text()), ";"));
  if (!reads.empty()) line(indent + 1, cat("reads ", regions(reads), ";"));
  if (!writes.empty()) line(indent + 1, cat("writes ", regions(writes), ";"));
  if (init) {
    line(indent + 1, "init {");
    body(init, indent + 2);
    line(indent + 1, "}");
  }
  body(inside, indent + 1);
  line(indent, "}");
}

std::string KernelText::of(std::string_view name, const Kernel& k) {
  const auto& [own_name, ins, outs, temporaries, statements, origin, batched, read_extents, external] = k;
  // Shape variables are known by their names; nothing else may have those.
  std::set<std::string> shapes;
  for (Expr v : kernel::shape_parameters(k)) shapes.insert(v->name.str());
  taken_.insert(shapes.begin(), shapes.end());
  for (const auto& list : {ins, outs, temporaries}) {
    for (const Buffer* b : list) {
      for (Expr e : b->shape) {
        for (Expr v : kernel::variables(e)) shapes.erase(v->name.str());
      }
    }
  }
  const auto all = [&](const List<const Buffer*>& list) {
    return join(list, ", ", [&](const Buffer* b) { return declared(b, false); });
  };
  const std::string inputs = all(ins), outputs = all(outs);
  if (external) {
    const List<Expr>& extents = external->extents;
    const std::vector<Expr> usual = kernel::default_extents(k);
    const bool says_them = !std::equal(extents.begin(), extents.end(), usual.begin(), usual.end());
    line(0, cat("extern kernel @", quoted_name(name), "(", inputs, ") -> (", outputs, ") symbol ",
                quoted_string(external->symbol.text()), says_them ? cat("(", exprs(extents), ")") : "", ";"));
    return std::move(out_);
  }
  line(0, cat("kernel @", quoted_name(name), "(", inputs, ") -> (", outputs, ") {"));
  if (!origin.empty()) line(1, cat("origin ", quoted_string(origin.text()), ";"));
  if (!batched.empty()) line(1, cat("batched @", quoted_name(batched.text()), ";"));
  for (const kernel::ReadExtent& r : read_extents) {
    shapes.erase(r.variable->name.str());
    line(1, cat("shape ", quoted_word(r.variable->name.text()), " = ", names_[ins[r.input]], "[", r.element,
                "];"));
  }
  for (const std::string& v : shapes) line(1, cat("shape ", quoted_word(v), ";"));
  for (const Buffer* t : temporaries) line(1, cat("temporary ", declared(t, false), ";"));
  body(statements, 1);
  line(0, "}");
  return std::move(out_);
}

}  // namespace

std::string print_kernel(std::string_view name, const Kernel& k) {
  Context scratch;
  Importer importer(scratch);
  kernel::Copier& copier = importer.kernels();
  for (const Buffer* b : kernel::all_buffers(k)) copier.buffer(b);
  kernel::visit(k.body, [&](Stmt s) {
    for (Expr v : kernel::binders(s)) copier.bind(v, scratch.pool().variable(v->name.text(), v->dtype));
  });
  return KernelText().of(name, *copier.kernel(k));
}

}  // namespace relay::text
