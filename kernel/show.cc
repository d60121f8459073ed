// The text of kernels, for people and goldens.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/cat.h"
#include "base/escape.h"
#include "kernel/fields.h"
#include "kernel/limits.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

std::string_view keyword(ForKind how) {
  switch (how) {
    case ForKind::kSerial: return "for";
    case ForKind::kParallel: return "parallel for";
    case ForKind::kVectorized: return "vectorized for";
    case ForKind::kUnrolled: return "unrolled for";
    case ForKind::kBlockX: return "block.x for";
    case ForKind::kBlockY: return "block.y for";
    case ForKind::kBlockZ: return "block.z for";
    case ForKind::kThreadX: return "thread.x for";
    case ForKind::kThreadY: return "thread.y for";
    case ForKind::kThreadZ: return "thread.z for";
  }
  return "for";
}

std::string_view word(Scope scope) {
  switch (scope) {
    case Scope::kGlobal: return "global";
    case Scope::kShared: return "shared";
    case Scope::kLocal: return "local";
  }
  return "global";
}

std::string shape_of(const Buffer* b) {
  const auto list = [](List<Expr> all) { return join(all, ", ", [](Expr e) { return show(e); }); };
  const std::string strides = b->strides.empty() ? "" : cat(" strides [", list(b->strides), "]");
  return cat(b->dtype.name(), "[", list(b->shape), "]", strides);
}
std::string declared(const Buffer* b) { return cat(b->name.text(), ": ", shape_of(b)); }

std::string text(const Region& r) {
  std::string out = cat(r.buffer->name.text(), "[");
  for (size_t d = 0; d < r.min.size(); ++d) {
    if (d > 0) out += ", ";
    out += show(r.min[d]);
    if (!r.extent[d].is_int(1)) out += cat(" : ", show(r.min[d] + r.extent[d]));
  }
  return out + "]";
}

std::string text(List<Region> regions) {
  return join(regions, ", ", [](const Region& r) { return text(r); });
}

// Whatever names are in it, it stays one line.
std::string line(int indent, std::string_view what) {
  return cat(std::string(static_cast<size_t>(indent) * 2, ' '), harmless(what, ""), "\n");
}

std::string text(const List<Expr>& list) {
  return join(list, ", ", [](Expr e) { return show(e); });
}

std::string operand(Expr e) { return show(e); }
std::string operand(Symbol word) { return cat("\"", word.text(), "\""); }

// A statement that only looks (fields.h): its word and its fields.
template <class T>
std::string looking(const T& n) {
  static_assert(only_looks<T>, "this statement has a text of its own");
  std::vector<std::string> operands;
  for_each_field(n, [&](const auto& field) { operands.push_back(operand(field)); });
  return cat(T::kWord, operands.empty() ? "" : " ", join(operands, ", "));
}

std::string text(Stmt s, int indent, uint32_t depth);

std::string text(const Block& b, int indent, uint32_t depth) {
  const auto& [name, iters, reads, writes, predicate, init, body, instruction] = fields(b);
  std::string out = line(indent, cat("block ", name.text(), ":"));
  for (const BlockIter& i : iters) {
    const auto& [var, extent, kind, binding] = fields(i);
    out += line(indent + 1, cat(kind == IterKind::kSpatial ? "spatial " : "reduction ", show(var), " in ",
                                show(extent), " = ", show(binding)));
  }
  if (predicate) out += line(indent + 1, cat("where ", show(predicate)));
  if (!instruction.empty()) out += line(indent + 1, cat("instruction ", instruction.text()));
  if (!reads.empty()) out += line(indent + 1, cat("reads ", text(reads)));
  if (!writes.empty()) out += line(indent + 1, cat("writes ", text(writes)));
  if (init) out += line(indent + 1, "init:") + text(init, indent + 2, depth);
  return out + text(body, indent + 1, depth);
}

// `depth`: of statements around it. Kernels do not nest them more deeply than the limit, but this
// shows what is no kernel yet, too.
std::string text(Stmt s, int indent, uint32_t depth) {
  if (depth++ == kDeepestNest) return line(indent, "...");
  return match(
      s,
      [&](const For& n) {
        const auto& [var, extent, how, body] = fields(n);
        return line(indent, cat(keyword(how), " ", show(var), " in ", show(extent), ":")) +
               text(body, indent + 1, depth);
      },
      [&](const Block& n) { return text(n, indent, depth); },
      [&](const Store& n) {
        const auto& [buffer, indices, value] = fields(n);
        return line(indent, cat(buffer->name.text(), "[", text(indices), "] = ", show(value)));
      },
      [&](const Seq& n) {
        const auto& [body] = fields(n);
        return join(body, "", [&](Stmt c) { return text(c, indent, depth); });
      },
      [&](const If& n) {
        const auto& [condition, then_branch, else_branch] = fields(n);
        std::string out =
            line(indent, cat("if ", show(condition), ":")) + text(then_branch, indent + 1, depth);
        if (else_branch) out += line(indent, "else:") + text(else_branch, indent + 1, depth);
        return out;
      },
      [&](const Allocate& n) {
        const auto& [buffer, body] = fields(n);
        return line(indent, cat(word(buffer->scope), " ", declared(buffer))) + text(body, indent, depth);
      },
      [&](const Prefetch& n) {
        const auto& [buffer, indices] = fields(n);
        return line(indent, cat("prefetch ", buffer->name.text(), "[", text(indices), "]"));
      },
      [&](const auto& n) { return line(indent, looking(n)); });
}

}  // namespace

std::string show(Stmt s, int indent) { return text(s, indent, 0); }

std::string show(const Kernel& k) {
  const auto list = [](List<const Buffer*> buffers) { return join(buffers, ", ", declared); };
  std::string head = cat("kernel ", k.name.text(), "(", list(k.inputs), ") -> (", list(k.outputs), ")");
  if (!k.origin.empty()) head += cat("  ", line_comment("//", k.origin.text()));
  std::string out = line(0, head);
  for (const ReadExtent& r : k.read_extents)
    out +=
        line(1, cat("shape ", show(r.variable), " = ", k.inputs[r.input]->name.text(), "[", r.element, "]"));
  for (const Buffer* t : k.temporaries) out += line(1, cat("temporary ", declared(t)));
  if (k.external) {
    const auto extent = [](Expr e) { return show(e); };
    return out + line(1, cat("call \"", k.external->symbol.text(), "\"(",
                             join(k.external->extents, ", ", extent), ")"));
  }
  return out + show(k.body, 1);
}

std::vector<Expr> shape_parameters(const Kernel& k) {
  const auto by_name = [](Expr a, Expr b) { return a->name.text() < b->name.text(); };
  std::set<Expr, decltype(by_name)> found(by_name);
  const auto collect = [&](Expr e) {
    for (Expr v : variables(e)) {
      if (v->shape_variable) found.insert(v);
    }
  };
  for (const Buffer* b : all_buffers(k)) {
    for (const auto& list : {b->shape, b->strides}) {
      for (Expr e : list) collect(e);
    }
  }
  visit(k.body, [&](Stmt s) {
    for (Expr e : expressions(s)) collect(e);
  });
  if (k.external) {
    for (Expr e : k.external->extents) collect(e);
  }
  return {found.begin(), found.end()};
}

}  // namespace relay::kernel
