#include <unordered_set>

#include "base/cat.h"
#include "kernel/instructions.h"
#include "kernel/schedule/primitives/intrinsics.h"
#include "kernel/schedule/primitives/primitives.h"
#include "kernel/simplify.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

// The implementation on pieces of the buffers that the operands stand for.
class Instance {
 public:
  Instance(ExprPool& pool, const Kernel& implementation, const std::vector<Operand>& operands,
           const Kernel& into)
      : pool_(pool), into_(into) {
    size_t i = 0;
    for (const auto& list : {implementation.inputs, implementation.outputs}) {
      for (const Buffer* b : list) operand_of_[b] = &operands[i++];
    }
  }

  Stmt of(Stmt body) {
    return rewrite(pool_.arena(), refresh(pool_, body), [&](Stmt s) { return statement(s); });
  }
  const std::string& problem() const { return problem_; }

 private:
  Stmt statement(Stmt s) {
    if (const auto* n = s->as<Store>()) {
      const Operand& o = *operand_of_.at(n->buffer);
      const Expr value = rewrite_loads(n->value, [&](const ExprNode* l) {
        const Operand& from = *operand_of_.at(l->buffer);
        return pool_.load(from.buffer, place(from, {l->args.begin(), l->args.end()}));
      });
      return make_store(pool_.arena(), o.buffer, place(o, {n->indices.begin(), n->indices.end()}), value);
    }
    const auto* b = s->as<Block>();
    if (b == nullptr) return s;
    std::string name(b->name.text());
    for (int i = 1; find_block(into_.body, name) != nullptr || !names_.insert(name).second; ++i)
      name = cat(b->name.text(), "_", i);
    Stmt made = make_block(pool_, name, {b->iters.begin(), b->iters.end()}, b->predicate, b->init, b->body,
                           b->instruction);
    if (!b->instruction.empty() && problem_.empty()) operands_of(*made->as<Block>(), problem_);
    return made;
  }
  static std::vector<Expr> place(const Operand& o, const std::vector<Expr>& at) {
    std::unordered_map<const ExprNode*, Expr> by;
    for (size_t d = 0; d < at.size(); ++d) by[o.coordinates[d].get()] = at[d];
    std::vector<Expr> out;
    for (Expr e : o.at) out.push_back(substitute(e, by));
    return out;
  }

  ExprPool& pool_;
  const Kernel& into_;
  std::unordered_map<const Buffer*, const Operand*> operand_of_;
  std::unordered_set<std::string> names_;
  std::string problem_;
};

}  // namespace

Outcome tensorize(const Kernel& k, const LoopName& name, std::string_view intrinsic_name) {
  const Intrinsic* intrinsic = find_intrinsic(intrinsic_name);
  if (intrinsic == nullptr) {
    return Outcome::refused(cat("there is no intrinsic `", intrinsic_name, "`; there are: ",
                                join(intrinsics(), ", ", [](const Intrinsic& i) { return i.name; })));
  }
  std::string reason;
  const std::vector<const For*> loops = perfect_nest(k, name, reason);
  if (loops.empty()) return Outcome::refused(reason);
  const Outcome blocked = blockize(k, name);
  if (!blocked) return blocked;
  // The block that blockize made is the one that was not there.
  const Block* outer = nullptr;
  for (const Block* b : blocks(blocked->body)) {
    if (find_block(k.body, b->name.text()) == nullptr && find_block(b->body, name.block)) outer = b;
  }
  if (outer == nullptr) return Outcome::refused(cat("block `", name.block, "` has no loops to replace"));

  ExprPool& pool = *pool_of(k);
  const auto refuse = [&] {
    return Outcome::refused(cat("block `", name.block, "` is not `", intrinsic_name, "`: ", reason));
  };
  const std::optional<std::vector<Operand>> operands =
      match(intrinsic->description(pool), outer->body, reason);
  if (!operands) return refuse();
  const Kernel implementation = intrinsic->implementation(pool);
  Instance instance(pool, implementation, *operands, *blocked);
  Stmt body = instance.of(implementation.body);
  reason = instance.problem();
  if (!reason.empty()) return refuse();
  Stmt made = make_block(pool, outer->name.text(), {outer->iters.begin(), outer->iters.end()},
                         outer->predicate, outer->init, body);
  return with_body(*blocked, replace(pool.arena(), blocked->body, outer, made));
}

}  // namespace relay::kernel::schedule::primitives
