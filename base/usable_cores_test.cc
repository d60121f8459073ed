#include "base/usable_cores.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace relay {
namespace {

TEST(UsableCores, OfAQuota) {
  EXPECT_EQ(cores_of_quota("200000 100000\n"), 2u);
  EXPECT_EQ(cores_of_quota("150000 100000"), 2u);  // rounded up
  EXPECT_EQ(cores_of_quota("1000 100000"), 1u);
  EXPECT_EQ(cores_of_quota("max 100000"), 0u);
  for (const char* no_limit : {"", "max", "100000", "0 100000", "100000 0", "x 1", "100000 x"})
    EXPECT_EQ(cores_of_quota(no_limit), 0u) << no_limit;
  EXPECT_EQ(cores_of_quota("18446744073709551615 1"), UINT_MAX);
}

class Groups : public testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = folder_ / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  unsigned cores() const {
    return cores_of_group((folder_ / "membership").c_str(), (folder_ / "groups").c_str());
  }

 private:
  const std::filesystem::path folder_ = std::filesystem::path(testing::TempDir()) /
                                        testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(Groups, TheLeastLimitOfAGroupAndThoseAroundItCounts) {
  write("membership", "0::/user/box\n");
  EXPECT_EQ(cores(), 0u);  // no limits at all
  write("groups/user/box/cpu.max", "max 100000\n");
  EXPECT_EQ(cores(), 0u);
  write("groups/user/cpu.max", "300000 100000\n");
  EXPECT_EQ(cores(), 3u);
  write("groups/user/box/cpu.max", "200000 100000\n");
  EXPECT_EQ(cores(), 2u);
  write("groups/user/box/cpu.max", "800000 100000\n");
  EXPECT_EQ(cores(), 3u);
}

TEST_F(Groups, InsideOfAContainerTheGroupIsTheRoot) {
  write("membership", "0::/\n");
  write("groups/cpu.max", "400000 100000\n");
  EXPECT_EQ(cores(), 4u);
}

TEST_F(Groups, MembershipOfAnotherForm) {
  EXPECT_EQ(cores(), 0u);  // there is no such file
  write("groups/cpu.max", "100000 100000\n");
  write("membership", "4:cpu,cpuacct:/box\n1:name=systemd:/box\n");  // of version 1 only
  EXPECT_EQ(cores(), 0u);
  write("membership", "1:name=systemd:/box\n0::/box\n");
  EXPECT_EQ(cores(), 1u);
  write("membership", "0::");
  EXPECT_EQ(cores(), 0u);
}

TEST(UsableCores, AtLeastOne) { EXPECT_GE(usable_cores(), 1u); }

}  // namespace
}  // namespace relay
