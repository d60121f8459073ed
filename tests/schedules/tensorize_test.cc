// tensorize, the intrinsics, and the machine instructions in compiled code.
#include "base/file.h"
#include "kernel/instructions.h"
#include "kernel/llvm/compile.h"
#include "kernel/print/prelude.h"
#include "kernel/print/print.h"
#include "kernel/schedule/primitives/intrinsics.h"
#include "target/host.h"
#include "tests/schedules/common.h"
#include "toolchain/subprocess.h"

namespace relay::kernel::schedule::primitives {
namespace {

class Tensorize : public SchedulePrimitives {
 protected:
  const std::vector<std::string> tiles_ = {"split y.0 4", "split y.2 4", "split y.4 4",
                                           "reorder y 0 2 4 1 3 5", "decompose_reduction y.2"};
  static std::vector<std::string> with(std::vector<std::string> steps, const std::string& last) {
    steps.push_back(last);
    return steps;
  }
  std::vector<std::string> lanes(const std::string& intrinsic) {
    return {"split y.1 16", "reorder y 0 1 3 2 4", "decompose_reduction y.2",
            cat("tensorize y.3 ", intrinsic)};
  }
  Kernel bytes() { return make().packed_product(kUInt8, kInt8, kInt32, 4); }
  Kernel halves() { return make().packed_product(kBFloat16, kBFloat16, kFloat32, 2); }

  Kernel with_dots(const Kernel& k, const std::string& intrinsic) {
    Schedule s(k);
    for (const std::string& step : lanes(intrinsic)) EXPECT_EQ(s.apply(step), "");
    return s.kernel();
  }
  static toolchain::CompileOptions options_for(const std::string& target) {
    toolchain::CompileOptions options;
    options.target = target::target_of(target);
    return options;
  }

  // Compiled with the instruction, on whole numbers, which it does not round.
  void expect_same_with(const Kernel& k, const std::string& intrinsic, const std::string& target) {
    const toolchain::CompileOptions options = options_for(target);
    if (std::string wrong = target::cannot_run(options.target); !wrong.empty()) GTEST_SKIP() << wrong;
    const std::vector<native::Case> cases = {{intrinsic, with_dots(k, intrinsic), some_inputs(k)}};
    EXPECT_EQ(native::disagreements(cases, options), "") << "as C++";
    EXPECT_EQ(native::disagreements(cases, options, 1, llvm::compile), "") << "by LLVM";
  }

  // What both code generators make of the kernel: the library's instructions, and LLVM's.
  std::string code(const Kernel& k, const std::string& target) {
    std::string llvm;
    EXPECT_EQ(llvm::show_instructions(k, options_for(target), llvm), "");
    return disassembly(k, options_for(target)) + llvm;
  }
  std::string disassembly(const Kernel& k, const toolchain::CompileOptions& options) {
    TemporaryFolder folder;
    EXPECT_EQ(folder.make(), "");
    const std::string library = folder.path() + "/kernel.so";
    const print::Printed printed = print::print(k, print::kCppDialect, {.function = "kernel_0"});
    const std::string text =
        cat(print::prelude(), "extern \"C\" __attribute__((visibility(\"default\"))) ", printed.text);
    EXPECT_EQ(toolchain::build_library({{"kernel.cc", text}}, options, folder.path(), library), "") << text;
    const toolchain::Finished f = toolchain::run({"objdump", "-d", library}, "", 60);
    EXPECT_EQ(f.exit_code, 0) << f.problem;
    return f.output;
  }
};

TEST_F(Tensorize, EveryImplementationDoesWhatTheDescriptionSays) {
  for (const Intrinsic& i : intrinsics()) {
    SCOPED_TRACE(i.name);
    // The output goes on from what it holds: copy that from an input first.
    const auto started = [&](Kernel k) {
      Arena& arena = pool().arena();
      const Buffer* out = k.outputs[0];
      Buffer* start = arena.make<Buffer>(*out);
      start->id = 99;
      start->name = pool().symbols().intern("start");
      std::vector<BlockIter> iters;
      std::vector<Expr> at;
      for (Expr e : out->shape) {
        at.push_back(pool().variable("v"));
        iters.push_back({at.back(), e, IterKind::kSpatial, pool().variable("s")});
      }
      Stmt copy =
          make_block(pool(), "start", iters, {}, nullptr, make_store(arena, out, at, pool().load(start, at)));
      for (size_t d = iters.size(); d-- > 0;)
        copy = make_for(arena, iters[d].binding, iters[d].extent, ForKind::kSerial, copy);
      std::vector<const Buffer*> inputs(k.inputs.begin(), k.inputs.end());
      inputs.push_back(start);
      k.inputs = arena.list(inputs);
      k.body = make_sequence(arena, {copy, k.body});
      return k;
    };
    const Kernel description = started(i.description(pool())),
                 implementation = started(i.implementation(pool()));
    EXPECT_EQ(join(validate(description), "\n"), "");
    EXPECT_EQ(join(validate(implementation), "\n"), "");
    const std::vector<Values> in = some_inputs(description);
    expect_results(execute(description, in), implementation, in);
  }
}

TEST_F(Tensorize, TilesOfFour) {
  const std::string text = done(make().product(8, 8, 8), with(tiles_, "tensorize y.3 tile_4x4x4"));
  expect_text(text,
              "unrolled for i in 4:\n            unrolled for k in 4:\n              vectorized for j in 4:");
  expect_no_text(text, "block y:");
  done(make().product(8, 8, 8), with(with(tiles_, "tensorize y.3 tile_4x4x4"), "parallel y_o.0"));
  // Columns outside of rows: the transposed tile is the product of the transposed tiles, the
  // other way round.
  done(make().product(8, 8, 8), with(with(tiles_, "reorder y 4 3 5"), "tensorize y.3 tile_4x4x4"));
}
TEST_F(Tensorize, DotProductsOfBytes) {
  const std::string text = done(bytes(), lanes("dot_16x4_u8s8"));
  expect_text(text, "instruction vpdpbusd");
  const Kernel k = with_dots(bytes(), "dot_16x4_u8s8");
  expect_text(code(k, "avx512-vnni"), "vpdpbusd ");
  expect_text(code(k, "avx512-vnni"), "@llvm.x86.avx512.vpdpbusd.512");
  expect_no_text(code(k, "avx512"), "vpdpbusd");
}
TEST_F(Tensorize, DotProductsOfBFloat16) {
  const std::string text = done(halves(), lanes("dot_16x2_bf16"));
  expect_text(text, "instruction vdpbf16ps");
  const Kernel k = with_dots(halves(), "dot_16x2_bf16");
  expect_text(code(k, "avx512-bf16"), "vdpbf16ps ");
  expect_text(code(k, "avx512-bf16"), "@llvm.x86.avx512bf16.dpbf16ps.512");
  expect_no_text(code(k, "avx512-vnni"), "dpbf16ps");
}
TEST_F(Tensorize, TheMachinesDotProductsOfBytesGiveTheSame) {
  expect_same_with(bytes(), "dot_16x4_u8s8", "avx512-vnni");
}
TEST_F(Tensorize, TheMachinesDotProductsOfBFloat16GiveTheSame) {
  expect_same_with(halves(), "dot_16x2_bf16", "avx512-bf16");
}

TEST_F(Tensorize, Refuses) {
  const Kernel k = make().product(8, 8, 8);
  refused(k, with(tiles_, "tensorize y.3 tile_9"),
          "there is no intrinsic `tile_9`; there are: dot_16x2_bf16, dot_16x4_u8s8, tile_4x4x4");
  refused(k, with(tiles_, "tensorize y.9 tile_4x4x4"),
          "block `y` stands in 6 loops, and loop 9 was asked for");
  refused(k, with(tiles_, "tensorize y.2 tile_4x4x4"),
          "block `y` is not `tile_4x4x4`: the loops are of extents 2, 4, 4, 4, and `tile_4x4x4` has 4, 4, 4");
  refused(k,
          {"split y.0 4", "split y.2 4", "split y.4 4", "reorder y 0 2 4 1 3 5", "tensorize y.0 tile_4x4x4"},
          "block `y` is not `tile_4x4x4`: block `y` has an init: decompose it");
  refused(k, with(with(tiles_, "reorder y 3 5 4"), "tensorize y.3 tile_4x4x4"),
          "block `y` is not `tile_4x4x4`: it does not compute what `tile_4x4x4` does");
  refused(make().layer(), {"tensorize relu.0 tile_4x4x4"},
          "block `relu` is not `tile_4x4x4`: the loops are of extents 7, 5, and `tile_4x4x4` has 4, 4, 4");
  refused(make().product(6, 8, 8), {"split y.0 4", "reorder y 0 2 3 1", "tensorize y.3 tile_4x4x4"},
          "the predicate of block `y` mentions `i0_inner`");
  refused(make().packed_product(kInt8, kInt8, kInt32, 4), lanes("dot_16x4_u8s8"),
          "block `y` is not `dot_16x4_u8s8`: it does not compute what `vpdpbusd` does");
}
TEST_F(Tensorize, WhatIsReadIsNotWritten) {
  // The product of y itself: each element would be read after others are written.
  Kernel k = make().product(8, 8, 8);
  for (const std::string& step : tiles_) {
    Schedule s(k);
    ASSERT_EQ(s.apply(step), "");
    k = s.kernel();
  }
  k.body = rewrite(pool().arena(), k.body, [&](Stmt n) -> Stmt {
    const auto* store = n->as<Store>();
    if (store == nullptr) return n;
    const Expr value = rewrite_loads(store->value, [&](const ExprNode* load) {
      const Buffer* from = load->buffer == k.inputs[0] ? k.outputs[0] : load->buffer;
      return pool().load(from, {load->args.begin(), load->args.end()});
    });
    return make_store(pool().arena(), store->buffer, {store->indices.begin(), store->indices.end()}, value);
  });
  refused(k, {"tensorize y.3 tile_4x4x4"}, "block `y` is not `tile_4x4x4`: `y` is read and written");
}
TEST_F(Tensorize, OperandsOfInstructionsAreContiguous) {
  // b has its groups outside of its columns.
  Builder k(pool());
  const Tensor a = k.input("a", kUInt8, {k.index(3), k.index(16)}),
               b = k.input("b", kInt8, {k.index(16), k.index(32)});
  const Tensor y =
      k.reduce("y", kInt32, {k.index(3), k.index(32)}, {k.index(4), k.index(4)}, k.sum(kInt32),
               [&](Indices i, Indices r) {
                 return cast(kInt32, a(i[0], r[0] * 4 + r[1])) * cast(kInt32, b(r[0] * 4 + r[1], i[1]));
               });
  refused(
      k.finish("k", "", {y}), lanes("dot_16x4_u8s8"),
      "block `y` is not `dot_16x4_u8s8`: operand `b` of `vpdpbusd` does not lie in `b` element by element");
}
TEST_F(Tensorize, ABlockThatDoesNotDoWhatItsInstructionDoesIsRefused) {
  Schedule s(bytes());
  for (const std::string& step : lanes("dot_16x4_u8s8")) ASSERT_EQ(s.apply(step), "");
  const auto named = [&](std::string_view instruction) {
    Kernel k = s.kernel();
    k.body = rewrite(pool().arena(), k.body, [&](Stmt n) -> Stmt {
      const auto* b = n->as<Block>();
      if (b == nullptr || b->instruction.empty()) return n;
      Block copy = *b;
      copy.instruction = pool().symbols().intern(instruction);
      return pool().arena().make<Block>(copy);
    });
    return join(validate(k), "\n");
  };
  EXPECT_EQ(named("vpdpbusd"), "");
  EXPECT_EQ(
      named("vdpbf16ps"),
      "block `vpdpbusd`: instruction `vdpbf16ps`: the loops are of extents 16, 4, and `vdpbf16ps` has 16, 2");
  EXPECT_EQ(
      named("halt"),
      "block `vpdpbusd`: instruction `halt`: there is no instruction `halt`; there are: vdpbf16ps, vpdpbusd");
}

}  // namespace
}  // namespace relay::kernel::schedule::primitives
