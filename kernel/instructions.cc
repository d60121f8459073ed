#include "kernel/instructions.h"

#include <algorithm>

#include "base/cat.h"
#include "kernel/builder.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel {
namespace {

// c[lane] = c[lane] + wide(a[k]) * wide(b[lane, k]): one row of four-byte groups against sixteen.
Kernel dot_of_groups(ExprPool& pool, std::string_view name, DType a_type, DType b_type, DType c_type,
                     int64_t lanes, int64_t group) {
  Arena& arena = pool.arena();
  uint32_t id = 0;
  const auto buffer = [&](std::string_view text, DType dtype,
                          const std::vector<int64_t>& shape) -> const Buffer* {
    std::vector<Expr> extents;
    for (int64_t e : shape) extents.push_back(pool.integer(e));
    return arena.make<Buffer>(id++, pool.symbols().intern(text), dtype, arena.list(extents), Scope::kGlobal);
  };
  const Buffer *a = buffer("a", a_type, {group}), *b = buffer("b", b_type, {lanes, group}),
               *c = buffer("c", c_type, {lanes});
  const Expr i = pool.variable("i"), k = pool.variable("k"), vi = pool.variable("vi"),
             vk = pool.variable("vk");
  const std::vector<BlockIter> iters{{vi, pool.integer(lanes), IterKind::kSpatial, i},
                                     {vk, pool.integer(group), IterKind::kReduction, k}};
  const Expr product = cast(c_type, pool.load(a, {vk})) * cast(c_type, pool.load(b, {vi, vk}));
  Stmt body =
      make_block(pool, "dot", iters, {}, nullptr, make_store(arena, c, {vi}, pool.load(c, {vi}) + product));
  body = make_for(arena, k, pool.integer(group), ForKind::kSerial, body);
  body = make_for(arena, i, pool.integer(lanes), ForKind::kSerial, body);
  Kernel out{};
  out.name = pool.symbols().intern(name);
  out.inputs = arena.list(std::vector<const Buffer*>{a, b});
  out.outputs = arena.list(std::vector<const Buffer*>{c});
  out.body = body;
  return out;
}

// Sums of four products of an unsigned and a signed byte, in sixteen lanes.
Kernel vpdpbusd(ExprPool& pool) { return dot_of_groups(pool, "vpdpbusd", kUInt8, kInt8, kInt32, 16, 4); }
// Sums of two products of bfloat16, in sixteen lanes. The instruction rounds once for both
// products and flushes what is subnormal, so its results may differ in the last places from those
// of the description.
Kernel vdpbf16ps(ExprPool& pool) {
  return dot_of_groups(pool, "vdpbf16ps", kBFloat16, kBFloat16, kFloat32, 16, 2);
}

constexpr Instruction kInstructions[] = {{"vdpbf16ps", vdpbf16ps}, {"vpdpbusd", vpdpbusd}};

// A nest of loops of constant extents around one store, with the bindings of its blocks filled in.
struct Nest {
  std::vector<const For*> loops;
  const Buffer* buffer = nullptr;
  std::vector<Expr> indices;
  Expr value;
};

std::optional<Nest> take_apart(Stmt s, std::string& reason) {
  Nest out;
  std::unordered_map<const ExprNode*, Expr> bindings;
  while (true) {
    if (const auto* f = s->as<For>()) {
      out.loops.push_back(f);
      s = f->body;
    } else if (const auto* b = s->as<Block>()) {
      if (b->predicate || b->init) {
        reason = cat("block `", b->name.text(), "` has ", b->init ? "an init: decompose it" : "a predicate");
        return std::nullopt;
      }
      for (const BlockIter& i : b->iters) bindings[i.var.get()] = substitute(i.binding, bindings);
      s = b->body;
    } else if (const auto* st = s->as<Store>()) {
      out.buffer = st->buffer;
      for (Expr e : st->indices) out.indices.push_back(substitute(e, bindings));
      out.value = substitute(st->value, bindings);
      return out;
    } else {
      reason = "it is more than one store in loops";
      return std::nullopt;
    }
  }
}

class Matcher {
 public:
  Matcher(const Nest& description, const Nest& nest) : description_(description), nest_(nest) {
    for (size_t i = 0; i < nest.loops.size(); ++i)
      loop_of_[description.loops[i]->var.get()] = nest.loops[i]->var;
  }

  bool run() {
    return access(description_.buffer, description_.indices, nest_.buffer, nest_.indices) &&
           value(description_.value.get(), nest_.value.get());
  }
  const Operand* find(const Buffer* operand) const {
    const auto it = found_.find(operand);
    return it == found_.end() ? nullptr : &it->second;
  }

 private:
  bool value(const ExprNode* d, const ExprNode* n) {
    if (d->kind != n->kind || d->dtype != n->dtype || d->fn != n->fn) return false;
    if (d->kind != ExprKind::kLoad && d->args.size() != n->args.size()) return false;
    switch (d->kind) {
      case ExprKind::kInt: return d->int_value == n->int_value;
      case ExprKind::kFloat: return d->float_value == n->float_value;
      case ExprKind::kVar: return false;  // values that depend on the place: no description has them
      case ExprKind::kLoad:
        return access(d->buffer, {d->args.begin(), d->args.end()}, n->buffer,
                      {n->args.begin(), n->args.end()});
      default: break;
    }
    const auto in_order = [&](size_t first, size_t second) {
      const auto saved = found_;
      if (value(d->args[0], n->args[first]) && (d->args.size() < 2 || value(d->args[1], n->args[second])))
        return true;
      found_ = saved;
      return false;
    };
    if (d->args.size() > 2) {
      for (size_t i = 0; i < d->args.size(); ++i) {
        if (!value(d->args[i], n->args[i])) return false;
      }
      return true;
    }
    const bool commutes = d->kind == ExprKind::kAdd || d->kind == ExprKind::kMul;
    return in_order(0, 1) || (commutes && in_order(1, 0));
  }

  // Each index of the description is one of its loops, or 0; the other buffer's are sums of loops
  // and of what is fixed.
  bool access(const Buffer* operand, const std::vector<Expr>& d, const Buffer* buffer,
              const std::vector<Expr>& n) {
    if (operand->dtype != buffer->dtype) return false;
    ExprPool& pool = *nest_.value->pool;
    Operand o{operand, buffer, {}, {}, {}};
    std::unordered_map<const ExprNode*, Expr> at, zero;
    for (const For* f : nest_.loops) zero[f->var.get()] = pool.integer(0);
    for (Expr index : d) {
      o.coordinates.push_back(pool.variable("c"));
      if (!index.is_int(0)) at[loop_of_.at(index.get()).get()] = o.coordinates.back();
    }
    for (Expr index : n) {
      o.first.push_back(substitute(index, zero));
      o.at.push_back(substitute(index, at));
      for (const For* f : nest_.loops) {
        if (mentions(o.at.back(), f->var))
          return false;  // it varies with a loop that the operand has no dim for
      }
    }
    const auto [it, fresh] = found_.emplace(operand, o);
    if (fresh) return true;
    // All accesses of an operand must be to one piece of one buffer.
    std::unordered_map<const ExprNode*, Expr> same;
    for (size_t i = 0; i < o.coordinates.size(); ++i)
      same[o.coordinates[i].get()] = it->second.coordinates[i];
    if (it->second.buffer != buffer) return false;
    return std::equal(o.at.begin(), o.at.end(), it->second.at.begin(),
                      [&](Expr a, Expr b) { return substitute(a, same) == b; });
  }

  const Nest& description_;
  const Nest& nest_;
  std::unordered_map<const ExprNode*, Expr> loop_of_;
  std::unordered_map<const Buffer*, Operand> found_;
};

}  // namespace

std::span<const Instruction> instructions() { return kInstructions; }

const Instruction* find_instruction(std::string_view name) {
  for (const Instruction& i : kInstructions) {
    if (i.name == name) return &i;
  }
  return nullptr;
}

std::optional<std::vector<Operand>> match(const Kernel& description, Stmt statement, std::string& reason) {
  const std::optional<Nest> wanted = take_apart(description.body, reason),
                            nest = take_apart(statement, reason);
  if (!wanted || !nest) return std::nullopt;
  const auto extents = [](const Nest& n) {
    return join(n.loops, ", ", [](const For* f) { return show(f->extent); });
  };
  if (extents(*wanted) != extents(*nest)) {
    reason = cat("the loops are of extents ", extents(*nest), ", and `", description.name.text(), "` has ",
                 extents(*wanted));
    return std::nullopt;
  }
  Matcher matcher(*wanted, *nest);
  if (!matcher.run()) {
    reason = cat("it does not compute what `", description.name.text(), "` does");
    return std::nullopt;
  }
  std::vector<Operand> out;
  for (const auto& list : {description.inputs, description.outputs}) {
    for (const Buffer* b : list) out.push_back(*matcher.find(b));
  }
  for (size_t i = 0; i < description.inputs.size(); ++i) {
    if (out[i].buffer == out.back().buffer) {
      reason = cat("`", out[i].buffer->name.text(), "` is read and written");
      return std::nullopt;
    }
  }
  return out;
}

bool is_contiguous(const Operand& o) {
  Bounds bounds;
  for (size_t d = 0; d < o.coordinates.size(); ++d) bounds.bind(o.coordinates[d], o.operand->shape[d]);
  if (o.at.empty()) return true;
  const Expr in_buffer = flat_offset(*o.buffer, o.at, bounds) - flat_offset(*o.buffer, o.first, bounds);
  const Expr in_operand = flat_offset(*o.operand, o.coordinates, bounds);
  return in_operand ? bounds.proves_equal(in_buffer, in_operand) : simplify(in_buffer, bounds).is_int(0);
}

std::optional<std::vector<Operand>> operands_of(const Block& block, std::string& reason) {
  const Instruction* instruction = find_instruction(block.instruction.text());
  if (instruction == nullptr) {
    reason = cat("there is no instruction `", block.instruction.text(),
                 "`; there are: ", join(instructions(), ", ", [](const Instruction& i) { return i.name; }));
    return std::nullopt;
  }
  Expr any;
  visit(block.body, [&](Stmt s) {
    for (Expr e : expressions(s)) any = e;
  });
  if (!any || block.init) {
    reason = cat("it is not what `", instruction->name, "` does");
    return std::nullopt;
  }
  std::optional<std::vector<Operand>> found = match(instruction->description(*any->pool), block.body, reason);
  for (size_t i = 0; found && i < found->size(); ++i) {
    const Operand& o = (*found)[i];
    if (is_contiguous(o)) continue;
    reason = cat("operand `", o.operand->name.text(), "` of `", instruction->name, "` does not lie in `",
                 o.buffer->name.text(), "` element by element");
    return std::nullopt;
  }
  return found;
}

}  // namespace relay::kernel
