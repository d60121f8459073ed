// Texts as machines of several makers have them.
#include "target/system.h"

#include <gtest/gtest.h>

#include "base/cat.h"
#include "base/file.h"

namespace relay::target {
namespace {

// A server of two cores of Arm's Neoverse N1.
constexpr const char* kNeoverse = R"(processor	: 0
BogoMIPS	: 243.75
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x3
CPU part	: 0xd0c
CPU revision	: 1

processor	: 1
BogoMIPS	: 243.75
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm lrcpc dcpop asimddp ssbs
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x3
CPU part	: 0xd0c
CPU revision	: 1
)";

// A board with cores of two designs, a line for the board, and a model name that says nothing.
constexpr const char* kTwoDesigns = R"(processor	: 0
model name	: ARMv8 Processor rev 4 (v8l)
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x0
CPU part	: 0xd03
CPU revision	: 4

processor	: 1
model name	: ARMv8 Processor rev 2 (v8l)
Features	: fp asimd evtstrm aes pmull sha1 sha2 crc32
CPU implementer	: 0x41
CPU architecture: 8
CPU variant	: 0x0
CPU part	: 0xd08
CPU revision	: 2

Hardware	: a board
Revision	: c03111
Model		: A board, with a colon: 4
)";

constexpr const char* kXeon = R"(processor	: 0
vendor_id	: GenuineIntel
cpu family	: 6
model		: 143
model name	: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz
stepping	: 8

processor	: 1
model name	: Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz
)";

TEST(System, ProcessorsAreNamedByWhatLinuxSays) {
  EXPECT_EQ(name_in_cpuinfo(kXeon), "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz");
  EXPECT_EQ(name_in_cpuinfo(kNeoverse), "0x41:0xd0c r3p1") << "each design once";
  EXPECT_EQ(name_in_cpuinfo(kTwoDesigns), "0x41:0xd03 r0p4 + 0x41:0xd08 r0p2");
}

TEST(System, OddTextsHaveNoName) {
  for (const char* text :
       {"", "\n\n", "processor", ":", "model name", "model name\t:\n", "CPU revision\t: 1\n"})
    EXPECT_EQ(name_in_cpuinfo(text), "unnamed processor") << text;
  EXPECT_EQ(name_in_cpuinfo("CPU implementer: 0x41\nCPU revision: 0xzz"), "0x41: rp0xzz");
}

class Sysfs : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(folder_.make(), ""); }
  void cache(int index, const std::string& level, const std::string& type, const std::string& size) {
    const std::string at = cat(folder_.path(), "/index", index);
    ASSERT_EQ(make_folders(at), "");
    for (const auto& [name, text] :
         {std::pair("level", level), std::pair("type", type), std::pair("size", size)})
      ASSERT_EQ(write_file_atomically(cat(at, "/", name), text + "\n"), "");
  }
  int64_t bytes(int level) const { return cache_in_sysfs(folder_.path(), level); }

  TemporaryFolder folder_;
};

TEST_F(Sysfs, CachesOfDataAreFoundByTheirLevel) {
  cache(0, "1", "Data", "64K");
  cache(1, "1", "Instruction", "32K");
  cache(2, "2", "Unified", "1024K");
  EXPECT_EQ(bytes(1), 64 << 10);
  EXPECT_EQ(bytes(2), 1 << 20);
  EXPECT_EQ(bytes(3), 0);
}

TEST_F(Sysfs, InstructionsMayComeFirst) {
  cache(0, "1", "Instruction", "32K");
  cache(1, "1", "Data", "48K");
  EXPECT_EQ(bytes(1), 48 << 10);
}

TEST_F(Sysfs, WhatIsNoSizeIsNotKnown) {
  EXPECT_EQ(bytes(1), 0) << "the folder is empty";
  EXPECT_EQ(cache_in_sysfs("/nowhere", 1), 0);
  for (const std::string size :
       {"", "K", "64", "64M", "64KB", "-64K", "0K", "9223372036854775807K", "99999999999999999999K"}) {
    cache(0, "1", "Data", size);
    EXPECT_EQ(bytes(1), 0) << size;
  }
}

}  // namespace
}  // namespace relay::target
