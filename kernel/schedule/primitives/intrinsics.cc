#include "kernel/schedule/primitives/intrinsics.h"

#include "kernel/instructions.h"
#include "kernel/statements.h"

namespace relay::kernel::schedule::primitives {
namespace {

// c[i, j] = c[i, j] + a[i, k] * b[k, j], all of them 4x4: no machine's, for trying tensorize without one.
Kernel product_of_tiles(ExprPool& pool, bool implementation) {
  Arena& arena = pool.arena();
  const Expr four = pool.integer(4);
  uint32_t id = 0;
  const auto buffer = [&](std::string_view name) -> const Buffer* {
    return arena.make<Buffer>(id++, pool.symbols().intern(name), kFloat32,
                              arena.list(std::vector<Expr>{four, four}), Scope::kGlobal);
  };
  const Buffer *a = buffer("a"), *b = buffer("b"), *c = buffer("c");
  const Expr i = pool.variable("i"), j = pool.variable("j"), k = pool.variable("k");
  const Expr vi = pool.variable("vi"), vj = pool.variable("vj"), vk = pool.variable("vk");
  const std::vector<BlockIter> iters{{vi, four, IterKind::kSpatial, i},
                                     {vj, four, IterKind::kSpatial, j},
                                     {vk, four, IterKind::kReduction, k}};
  const Expr value = pool.load(c, {vi, vj}) + pool.load(a, {vi, vk}) * pool.load(b, {vk, vj});
  Stmt body = make_block(pool, "tile", iters, {}, nullptr, make_store(arena, c, {vi, vj}, value));
  const auto loop = [&](Expr var, ForKind how) { body = make_for(arena, var, four, how, body); };
  if (implementation) {
    loop(j, ForKind::kVectorized);
    loop(k, ForKind::kUnrolled);
    loop(i, ForKind::kUnrolled);
  } else {
    loop(k, ForKind::kSerial);
    loop(j, ForKind::kSerial);
    loop(i, ForKind::kSerial);
  }
  Kernel out{};
  out.name = pool.symbols().intern("tile_4x4x4");
  out.inputs = arena.list(std::vector<const Buffer*>{a, b});
  out.outputs = arena.list(std::vector<const Buffer*>{c});
  out.body = body;
  return out;
}

// What one instruction does is implemented by a block that names it.
Kernel described(ExprPool& pool, std::string_view instruction) {
  return find_instruction(instruction)->description(pool);
}
Kernel done_by(ExprPool& pool, std::string_view instruction) {
  Kernel k = described(pool, instruction);
  k.body = make_block(pool, instruction, {}, {}, nullptr, k.body, pool.symbols().intern(instruction));
  return k;
}

constexpr Intrinsic kIntrinsics[] = {
    {"dot_16x2_bf16", [](ExprPool& p) { return described(p, "vdpbf16ps"); },
     [](ExprPool& p) { return done_by(p, "vdpbf16ps"); }},
    {"dot_16x4_u8s8", [](ExprPool& p) { return described(p, "vpdpbusd"); },
     [](ExprPool& p) { return done_by(p, "vpdpbusd"); }},
    {"tile_4x4x4", [](ExprPool& p) { return product_of_tiles(p, false); },
     [](ExprPool& p) { return product_of_tiles(p, true); }},
};

}  // namespace

std::span<const Intrinsic> intrinsics() { return kIntrinsics; }

const Intrinsic* find_intrinsic(std::string_view name) {
  for (const Intrinsic& i : kIntrinsics) {
    if (i.name == name) return &i;
  }
  return nullptr;
}

}  // namespace relay::kernel::schedule::primitives
