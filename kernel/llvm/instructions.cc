#include "kernel/llvm/instructions.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsX86.h>

#include "base/check.h"

namespace relay::kernel::llvm {
namespace {

// c += the dot products of one group of numbers, the same for all lanes, with each group of b.
struct Dot {
  std::string_view name;
  bool target::Features::* had;
  ::llvm::Intrinsic::ID intrinsic;
  Type* (*groups)(Instructions&);  // of a and b
  Type* (*sums)(Instructions&);    // of c
};

constexpr unsigned kLanes = 16;
Type* words(Instructions& make) { return ::llvm::FixedVectorType::get(make.getInt32Ty(), kLanes); }
Type* floats(Instructions& make) { return ::llvm::FixedVectorType::get(make.getFloatTy(), kLanes); }
Type* bfloat16s(Instructions& make) { return ::llvm::FixedVectorType::get(make.getBFloatTy(), 2 * kLanes); }

constexpr Dot kDots[] = {
    {"vdpbf16ps", &target::Features::bf16_dot, ::llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, bfloat16s,
     floats},
    {"vpdpbusd", &target::Features::int8_dot, ::llvm::Intrinsic::x86_avx512_vpdpbusd_512, words, words},
};

const Dot* find(std::string_view name) {
  for (const Dot& d : kDots) {
    if (d.name == name) return &d;
  }
  return nullptr;
}

}  // namespace

bool has_instruction(const Rules& rules, std::string_view name) {
  const Dot* d = find(name);
  return d && rules.features.*d->had;
}

void emit_instruction(Instructions& make, std::string_view name, const std::vector<Value*>& addresses) {
  const Dot* d = find(name);
  CHECK(d && addresses.size() == 3, "an instruction that the code generator does not know");
  const ::llvm::Align any(1);
  Type *groups = d->groups(make), *sums = d->sums(make);
  Value* group = make.CreateAlignedLoad(make.getInt32Ty(), addresses[0], any);
  Value* a = make.CreateBitCast(make.CreateVectorSplat(kLanes, group), groups);
  Value* b = make.CreateAlignedLoad(groups, addresses[1], any);
  Value* c = make.CreateAlignedLoad(sums, addresses[2], any);
  make.CreateAlignedStore(make.CreateIntrinsic(d->intrinsic, {}, {c, a, b}), addresses[2], any);
}

}  // namespace relay::kernel::llvm
