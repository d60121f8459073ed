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
#include "kernel/statements.h"

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
  const std::string& name = names_.emplace(b, unique(b->name.text())).first->second;
  const std::string scope = with_scope || b->scope != kernel::Scope::kGlobal ? cat(word(b->scope), " ") : "";
  return cat(scope, name, ": ", b->dtype.name(), "[", exprs(b->shape), "]",
             b->strides.empty() ? "" : cat(" strides [", exprs(b->strides), "]"));
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
      const auto it = names_.find(n->buffer);
      return later((it != names_.end() ? it->second : quoted_word(n->buffer->name.text())) + "[");
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
    std::string out = names_.contains(r.buffer) ? names_[r.buffer] : quoted_word(r.buffer->name.text());
    out += "[";
    for (size_t d = 0; d < r.min.size(); ++d) {
      if (d > 0) out += ", ";
      out += expr(r.min[d]);
      if (!r.extent[d].is_int(1)) out += cat(" : ", expr(r.min[d] + r.extent[d]));
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

// Loop nests are shallow (other parts of the compiler recurse over them as well).
void KernelText::statement(Stmt s, int indent) {
  const auto saved = abbreviations_;
  const size_t names_before = in_use_.size();
  switch (s->kind) {
    case kernel::StmtKind::kFor: {
      const auto* n = s->as<kernel::For>();
      const std::string extent = expr(n->extent);
      const std::string& var = names_.emplace(n->var.get(), unique(n->var->name.text())).first->second;
      line(indent, cat(word(n->how), " ", var, " in ", extent, " {"));
      body(n->body, indent + 1);
      line(indent, "}");
      break;
    }
    case kernel::StmtKind::kBlock: block(*s->as<kernel::Block>(), indent); break;
    case kernel::StmtKind::kStore: {
      const auto* n = s->as<kernel::Store>();
      std::vector<Expr> roots(n->indices.begin(), n->indices.end());
      roots.push_back(n->value);
      abbreviate(roots, indent);
      const std::string name =
          names_.contains(n->buffer) ? names_[n->buffer] : quoted_word(n->buffer->name.text());
      line(indent, cat(name, "[", exprs(n->indices), "] = ", expr(n->value), ";"));
      break;
    }
    case kernel::StmtKind::kSeq:
      line(indent, "sequence {");
      for (Stmt child : s->as<kernel::Seq>()->body) statement(child, indent + 1);
      line(indent, "}");
      break;
    case kernel::StmtKind::kIf: {
      const auto* n = s->as<kernel::If>();
      abbreviate({n->condition}, indent);
      line(indent, cat("if (", expr(n->condition), ") {"));
      abbreviations_ = saved;
      body(n->then_branch, indent + 1);
      if (n->else_branch) {
        line(indent, "} else {");
        body(n->else_branch, indent + 1);
      }
      line(indent, "}");
      break;
    }
    case kernel::StmtKind::kAllocate: {
      const auto* n = s->as<kernel::Allocate>();
      line(indent, declared(n->buffer, true) + " {");
      body(n->body, indent + 1);
      line(indent, "}");
      break;
    }
    case kernel::StmtKind::kRequire: {
      const auto* n = s->as<kernel::Require>();
      abbreviate({n->condition}, indent);
      line(indent, cat("require (", expr(n->condition), ", ", quoted_string(n->message.text()), ");"));
      break;
    }
    case kernel::StmtKind::kPrefetch: {
      const auto* n = s->as<kernel::Prefetch>();
      abbreviate({n->indices.begin(), n->indices.end()}, indent);
      const std::string name =
          names_.contains(n->buffer) ? names_[n->buffer] : quoted_word(n->buffer->name.text());
      line(indent, cat("prefetch ", name, "[", exprs(n->indices), "];"));
      break;
    }
    case kernel::StmtKind::kNop: line(indent, "nothing;"); break;
  }
  abbreviations_ = saved;
  for (; in_use_.size() > names_before; in_use_.pop_back()) taken_.erase(in_use_.back());
}

void KernelText::block(const kernel::Block& b, int indent) {
  line(indent, cat("block ", quoted_word(b.name.text()), " {"));
  for (const kernel::BlockIter& i : b.iters) {
    const std::string extent = expr(i.extent), binding = expr(i.binding);
    const std::string& var = names_.emplace(i.var.get(), unique(i.var->name.text())).first->second;
    line(indent + 1, cat(i.kind == kernel::IterKind::kSpatial ? "spatial " : "reduction ", var, " in ",
                         extent, " = ", binding, ";"));
  }
  if (b.predicate) line(indent + 1, cat("where ", expr(b.predicate), ";"));
  if (!b.instruction.empty()) line(indent + 1, cat("instruction ", quoted_string(b.instruction.text()), ";"));
  if (!b.reads.empty()) line(indent + 1, cat("reads ", regions(b.reads), ";"));
  if (!b.writes.empty()) line(indent + 1, cat("writes ", regions(b.writes), ";"));
  if (b.init) {
    line(indent + 1, "init {");
    body(b.init, indent + 2);
    line(indent + 1, "}");
  }
  body(b.body, indent + 1);
  line(indent, "}");
}

std::string KernelText::of(std::string_view name, const Kernel& k) {
  // Shape variables are known by their names; nothing else may have those.
  std::set<std::string> shapes;
  for (Expr v : kernel::shape_parameters(k)) shapes.insert(v->name.str());
  taken_.insert(shapes.begin(), shapes.end());
  for (const auto& list : {k.inputs, k.outputs, k.temporaries}) {
    for (const Buffer* b : list) {
      for (Expr e : b->shape) {
        for (Expr v : kernel::variables(e)) shapes.erase(v->name.str());
      }
    }
  }
  const auto all = [&](const List<const Buffer*>& list) {
    return join(list, ", ", [&](const Buffer* b) { return declared(b, false); });
  };
  const std::string inputs = all(k.inputs), outputs = all(k.outputs);
  if (k.external) {
    const List<Expr>& extents = k.external->extents;
    const std::vector<Expr> usual = kernel::default_extents(k);
    const bool says_them = !std::equal(extents.begin(), extents.end(), usual.begin(), usual.end());
    line(0,
         cat("extern kernel @", quoted_name(name), "(", inputs, ") -> (", outputs, ") symbol ",
             quoted_string(k.external->symbol.text()), says_them ? cat("(", exprs(extents), ")") : "", ";"));
    return std::move(out_);
  }
  line(0, cat("kernel @", quoted_name(name), "(", inputs, ") -> (", outputs, ") {"));
  if (!k.origin.empty()) line(1, cat("origin ", quoted_string(k.origin.text()), ";"));
  if (!k.batched.empty()) line(1, cat("batched @", quoted_name(k.batched.text()), ";"));
  for (const kernel::ReadExtent& r : k.read_extents) {
    shapes.erase(r.variable->name.str());
    line(1, cat("shape ", quoted_word(r.variable->name.text()), " = ", names_[k.inputs[r.input]], "[",
                r.element, "];"));
  }
  for (const std::string& v : shapes) line(1, cat("shape ", quoted_word(v), ";"));
  for (const Buffer* t : k.temporaries) line(1, cat("temporary ", declared(t, false), ";"));
  body(k.body, 1);
  line(0, "}");
  return std::move(out_);
}

}  // namespace

std::string print_kernel(std::string_view name, const Kernel& k) {
  Context scratch;
  Importer importer(scratch);
  for (const Buffer* b : kernel::all_buffers(k)) importer.buffer(b);
  kernel::visit(k.body, [&](Stmt s) {
    const auto age = [&](Expr v) { importer.bind(v, scratch.pool().variable(v->name.text(), v->dtype)); };
    if (const auto* loop = s->as<kernel::For>()) age(loop->var);
    if (const auto* block = s->as<kernel::Block>()) {
      for (const kernel::BlockIter& i : block->iters) age(i.var);
    }
  });
  return KernelText().of(name, *importer.kernel(k));
}

}  // namespace relay::text
