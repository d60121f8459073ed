#include "target/target.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <type_traits>

#include "base/file.h"
#include "target/host.h"
#include "target/instructions.h"
#include "target/machines.h"

namespace relay::target {
namespace {

// What is measured is kept in the folder of the test.
[[maybe_unused]] const int kCache = setenv("XDG_CACHE_HOME", (testing::TempDir() + "/cache").c_str(), 1);

TEST(Targets, EveryMachineIsReadFromItsNamesAndFromItsText) {
  std::set<std::string_view> names;
  for (const Machine& m : machines()) {
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
    const Target t = target_of(m.name);
    EXPECT_EQ(t.gpu, m.gpu);
    EXPECT_EQ(t.vta, m.vta);
    if (m.vta) continue;  // has the processor of this machine
    EXPECT_EQ(t.text, m.name);
    EXPECT_EQ(t.cpu, m.cpu);
    if (!m.short_name.empty()) {
      EXPECT_TRUE(names.insert(m.short_name).second) << m.short_name;
      EXPECT_EQ(target_of(m.short_name), t);
    }
    if (!m.is_processor()) continue;
    EXPECT_EQ(target_of("cpu:" + std::string(m.short_name)), t);
  }
}

TEST(Targets, ShortNamesStandForOneMachine) {
  EXPECT_EQ(target_of("cpu:avx2").cpu.lanes(), 8);
  EXPECT_EQ(target_of("cuda").text, "cuda:sm_90");
  EXPECT_EQ(target_of("cuda:sm_80").gpu->capability, 80);
  EXPECT_EQ(target_of("cpu:aarch64").cpu.isa, Isa::kAarch64);
}

// A target of zeros would have no loop to choose.
static_assert(!std::is_default_constructible_v<Cpu> && !std::is_default_constructible_v<Gpu> &&
              !std::is_default_constructible_v<Vta> && !std::is_default_constructible_v<Target>);

TEST(Targets, TheTableHasEveryNumber) {
  for (const Machine& m : machines()) {
    for (int64_t n : {m.cpu.vector_bytes, m.cpu.vector_registers, m.cpu.products_per_cycle, m.cpu.line_bytes,
                      m.cpu.l1.bytes, m.cpu.l2.bytes, m.cpu.l3.bytes, m.cpu.l1.bytes_per_cycle,
                      m.cpu.l2.bytes_per_cycle, m.cpu.l3.bytes_per_cycle})
      EXPECT_GT(n, 0) << m.name;
    EXPECT_FALSE(m.gpu && m.vta) << m.name;
    if (!m.gpu) continue;
    for (int64_t n : {m.gpu->capability, m.gpu->shared_bytes, m.gpu->warp}) EXPECT_GT(n, 0) << m.name;
    EXPECT_EQ(m.name, "cuda:sm_" + std::to_string(m.gpu->capability));
  }
}

TEST(Targets, EachProcessorRunsTheCodeOfThoseBeforeIt) {
  const std::vector<std::string> names = native_names();
  for (size_t i = 1; i < names.size(); ++i) {
    const std::vector<std::string> less = needs(target_of(names[i - 1]).cpu),
                                   more = needs(target_of(names[i]).cpu);
    EXPECT_GT(more.size() + (i == 1 ? 1 : 0), less.size()) << names[i];
    // AVX2 stands for SSE2, and AVX-512 for AVX2.
    if (i < 3) continue;
    for (const std::string& n : less) EXPECT_NE(std::find(more.begin(), more.end(), n), more.end()) << n;
  }
}

TEST(Targets, BracesOverrideNumbers) {
  const Target t = target_of("avx2{l2=512K,l1=49152}");
  EXPECT_EQ(t.text, "cpu:avx2{l1=48K,l2=512K}") << "in one order, with units";
  EXPECT_EQ(t.cpu.l1.bytes, 48 << 10);
  EXPECT_EQ(t.cpu.l2.bytes, 512 << 10);
  EXPECT_EQ(t.cpu.l3, target_of("avx2").cpu.l3);
  EXPECT_EQ(target_of(t.text), t);
  EXPECT_EQ(target_of("avx2{line=64}").text, "cpu:avx2") << "what the table says needs no words";
}

TEST(Targets, AnAcceleratorHasNumbersAndAHost) {
  const Target usual = target_of("vta");
  EXPECT_EQ(*usual.vta, Vta(1, 16, 32 << 10, 32 << 10, 256 << 10, 128 << 10, 2));
  EXPECT_EQ(usual.cpu, target_of("native").cpu);
  EXPECT_EQ(host_of(usual), target_of("native"));
  EXPECT_EQ(target_of(usual.text), usual) << usual.text;
  EXPECT_TRUE(usual.text.starts_with("vta{host=")) << usual.text << ": it means the same everywhere";

  const Target t = target_of("vta{l2=512K,inp=16384,block=8,threads=1,host=cpu:avx2}");
  EXPECT_EQ(t.text, "vta{host=avx2,block=8,inp=16K,threads=1,l2=512K}");
  EXPECT_EQ(target_of(t.text), t);
  EXPECT_EQ(*t.vta, Vta(1, 8, 32 << 10, 16 << 10, 256 << 10, 128 << 10, 1));
  EXPECT_EQ(host_of(t), target_of("avx2{l2=512K}"));
  EXPECT_EQ(target_of("vta{host=avx2,block=16}").text, "vta{host=avx2}");
  EXPECT_EQ(target_of("vta{batch=2,uop=8K,wgt=512K,acc=1M,host=aarch64}").text,
            "vta{host=aarch64,batch=2,uop=8K,wgt=512K,acc=1M}");
}

TEST(Targets, AHostIsATargetWithoutItsDevice) {
  EXPECT_EQ(with_vta(target_of("avx2{l1=48K}")), target_of("vta{host=avx2,l1=48K}"));
  EXPECT_EQ(with_vta(target_of("native")), target_of("vta"));
  EXPECT_EQ(host_of(target_of("cuda")), default_target());
  for (const char* name : {"native", "sse2", "avx512-vnni{l1=48K}", "aarch64"})
    EXPECT_EQ(host_of(target_of(name)), target_of(name)) << name;
}

TEST(Targets, WhatNamesNoTargetIsReported) {
  const auto refused = [](std::string_view text, std::string_view why) {
    Diagnostics diagnostics;
    EXPECT_FALSE(parse_target(text, diagnostics).ok()) << text;
    ASSERT_EQ(diagnostics.all().size(), 1u);
    EXPECT_EQ(diagnostics.all()[0].slug().name(), "bad-target");
    EXPECT_NE(diagnostics.all()[0].message().find(why), std::string::npos) << diagnostics.all()[0].message();
    EXPECT_NE(wrong_target(text).find(why), std::string::npos) << wrong_target(text);
  };
  refused("z80", "no target `z80`");
  refused("avx3", "did you mean `avx2`?");
  refused("cuda:sm_12", "no target `cuda:sm_12`");
  refused("cuda:avx2", "no target `cuda:avx2`");
  refused("cpu:cuda", "no target `cpu:cuda`");
  refused("aarch64:avx2", "no target");
  refused("avx2{l2=512K", "no closing brace");
  refused("avx2{}", "no number of a target ``");
  refused("avx2{l4=1M}", "no number of a target `l4`");
  refused("avx2{l2}", "`l2` has no value");
  refused("avx2{l2=}", "`l2` cannot be ``");
  refused("avx2{l2=512Q}", "`l2` cannot be `512Q`");
  refused("avx2{l2=0}", "from 1K to 1024G");
  refused("avx2{l2=9223372036854775807G}", "`l2` cannot be");
  refused("avx2{l2=-1K}", "`l2` cannot be");
  refused("avx2{l1=K}", "`l1` cannot be `K`");
  refused("cuda{l2=1M}", "is a GPU");
  refused("vtx", "no target `vtx`; did you mean `vta`?");
  refused("cpu:vta", "no target `cpu:vta`");
  refused("vta{", "no closing brace");
  refused("vta{}", "no number of a target ``");
  refused("vta{blocks=8}",
          "did you mean `block`? There are: host, batch, block, uop, inp, wgt, acc, threads, line");
  refused("avx2{block=8}", "no number of a target `block`");
  refused("vta{block}", "`block` has no value: block=16");
  refused("vta{block=12}", "`block` cannot be `12`: it is a power of two from 4 to 64");
  refused("vta{block=128}", "from 4 to 64");
  refused("vta{batch=0}", "a power of two from 1 to 16");
  refused("vta{inp=32M}", "from 4 to 16M");
  refused("vta{inp=-4}", "`inp` cannot be `-4`");
  refused("vta{threads=3}", "it is a number from 1 to 2");
  refused("vta{host}", "`host` has no value: host=native");
  refused("vta{host=}", "no host ``");
  refused("vta{host=cuda}", "no host `cuda`");
  refused("vta{host=vta}", "no host `vta`");
  refused("vta{host=avx3}", "did you mean `avx2`?");
  refused("avx2{host=sse2}", "no number of a target `host`");
  EXPECT_EQ(wrong_target("avx2"), "");
}

TEST(Targets, NativeIsTheBestThatThisProcessorRuns) {
  const Target native = target_of("native");
  for (const char* same : {"cpu", "cpu:native", ""}) EXPECT_EQ(target_of(same), native) << same;
  EXPECT_EQ(target_of(native.text), native) << "the text is that of a machine, which any machine knows";
  EXPECT_EQ(cannot_run(native), "");
  const std::vector<std::string> names = native_names();
  const auto place = std::find(names.begin(), names.end(), native.text);
  ASSERT_NE(place, names.end());
  for (auto better = place + 1; better != names.end(); ++better)
    EXPECT_NE(cannot_run(target_of(*better)), "") << *better;
}

TEST(Targets, MeasuredNumbersAreOfThisProcessor) {
  const std::string file = measured_file();
  ASSERT_TRUE(file.starts_with(testing::TempDir())) << file;
  EXPECT_EQ(measured_numbers().numbers + measured_numbers().wrong, "") << "nothing was measured";
  ASSERT_EQ(save_measured("l1=48K,l2=2M"), "");
  EXPECT_EQ(measured_numbers().numbers, "l1=48K,l2=2M");
  ASSERT_EQ(save_measured(numbers_of_system()), "");
  EXPECT_EQ(measured_numbers().wrong, "");
  EXPECT_EQ(measured_numbers().numbers, numbers_of_system());
  const auto refused = [&](const std::string& text, std::string_view why) {
    ASSERT_EQ(write_file_atomically(file, text), "");
    EXPECT_EQ(measured_numbers().numbers, "") << text;
    EXPECT_NE(measured_numbers().wrong.find(why), std::string::npos) << measured_numbers().wrong;
  };
  refused("Another 4004\nl1=48K\n", "of another processor");
  refused("", "of another processor");
  refused(processor_name() + "\nl4=1M\n", "no number of a target `l4`");
  refused(processor_name() + "\nl1=1M}{l2=1M\n", "relay doctor --measure");
}

TEST(Targets, WhatCannotRunHereSaysWhy) {
  EXPECT_NE(cannot_run(target_of("cuda")).find("is a GPU"), std::string::npos);
  EXPECT_NE(cannot_run(target_of("vta")).find("has an accelerator"), std::string::npos);
  const Target foreign = baseline(kHere == Isa::kX86_64 ? Isa::kAarch64 : Isa::kX86_64);
  EXPECT_NE(cannot_run(foreign).find(foreign.text), std::string::npos);
  const std::vector<std::string> needed{"avx65536", "another"};
  EXPECT_EQ(first_missing(needed), "avx65536");
  EXPECT_EQ(first_missing({}), "");
  EXPECT_EQ(lacks_for("future", needed), "this processor has no avx65536, which the target `future` needs");
  EXPECT_EQ(lacks_for("future", {}), "");
}

TEST(Targets, CompilersAreToldTheSameAsLlvm) {
  const Cpu vnni = target_of("avx512-vnni").cpu;
  EXPECT_EQ(llvm_names(vnni).features, "+avx512f,+avx512bw,+avx512dq,+avx512vl,+fma,+f16c,+avx512vnni");
  EXPECT_EQ(llvm_names(vnni).vector_width, "512");
  for (const Machine& m : machines()) {
    if (!m.is_processor() || m.cpu.isa != Isa::kX86_64) continue;
    std::string features;
    for (const std::string& flag : compiler_flags(m.cpu)) {
      ASSERT_TRUE(flag.starts_with("-m")) << flag;
      if (flag.find('=') == std::string::npos) features += (features.empty() ? "+" : ",+") + flag.substr(2);
    }
    EXPECT_EQ(features, llvm_names(m.cpu).features) << m.name;
  }
  EXPECT_EQ(llvm_names(baseline(Isa::kAarch64).cpu).triple, "aarch64-unknown-linux-gnu");
  EXPECT_TRUE(needs(baseline(Isa::kAarch64).cpu).empty()) << "any such processor runs it";
}

}  // namespace
}  // namespace relay::target
