// Packages: their names and versions, and what is left where one cannot be written.
// tests/cli/package_test.cc builds with them.
#include "aot/package.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.h"

namespace relay::aot {
namespace {

namespace fs = std::filesystem;

TEST(PackageName, IsACIdentifier) {
  for (const std::string name : {"mnist", "_", "Net_2", "x"}) EXPECT_TRUE(is_package_name(name)) << name;
  for (const std::string name :
       {"", "2x", "my-net", "a.b", "a b", "a/b", "gr\xc3\xb6\xc3\x9f", "a\n", "@NAME@"})
    EXPECT_FALSE(is_package_name(name)) << name;
}

TEST(PackageVersion, IsOneNumberToFour) {
  for (const std::string version : {"1", "0.1", "10.20.30", "1.2.3.4", "999999999"})
    EXPECT_TRUE(is_package_version(version)) << version;
  for (const std::string version :
       {"", ".", "1.", ".1", "1..2", "1.2.3.4.5", "v1", "1-2", "-1", " 1", "1234567890"})
    EXPECT_FALSE(is_package_version(version)) << version;
  EXPECT_TRUE(is_package_version(default_package_version()));
}

class WritePackage : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(folder_.make(), "");
    sources_.header = "header";
    sources_.weights = std::string("weights");
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  Package package(const std::string& folder) const {
    return {path(folder), "net", "1.2", "licence", Weights::kFile};
  }
  bool write(const Package& p) const {
    Diagnostics diagnostics;
    const bool done = write_package(p, sources_, "library", diagnostics).ok();
    EXPECT_EQ(done, diagnostics.all().empty());
    for (const Diagnostic& d : diagnostics.all()) EXPECT_EQ(d.slug().name(), "file-unwritable");
    return done;
  }
  std::string read(const std::string& name) const {
    std::string text;
    EXPECT_EQ(read_file(path(name), 1 << 20, text), "");
    return text;
  }

 private:
  TemporaryFolder folder_;
  Sources sources_;
};

TEST_F(WritePackage, FillsItsFolder) {
  const Package p = package("a/b/");
  EXPECT_EQ(cannot_write(p), "");
  EXPECT_FALSE(fs::exists(path("a"))) << "asking makes nothing";
  ASSERT_TRUE(write(p));
  EXPECT_EQ(read("a/b/include/net.h"), "header");
  EXPECT_EQ(read("a/b/lib/libnet.so"), "library");
  EXPECT_EQ(read("a/b/lib/net.safetensors"), "weights");
  EXPECT_EQ(read("a/b/share/licenses/net/LICENCE"), "licence");
  for (const std::string file :
       {"lib/cmake/net/netConfig.cmake", "lib/cmake/net/netConfigVersion.cmake", "lib/pkgconfig/net.pc"}) {
    const std::string text = read("a/b/" + file);
    EXPECT_EQ(text.find('@'), text.find("@NAME")) << file << ": a value is missing:\n" << text;
    EXPECT_EQ(text.find(path("")), std::string::npos) << file << " holds a path";
  }
  EXPECT_TRUE(write(p)) << "what is there is replaced";
}

TEST_F(WritePackage, LeavesNothingWhereItFails) {
  fs::create_directories(path("taken/lib"));
  ASSERT_EQ(write_file_atomically(path("taken/lib/pkgconfig"), "a file"), "");
  EXPECT_NE(cannot_write(package("taken")), "");
  EXPECT_FALSE(write(package("taken")));
  EXPECT_FALSE(fs::exists(path("taken/include")));
  EXPECT_FALSE(fs::exists(path("taken/lib/cmake")));
  EXPECT_EQ(read("taken/lib/pkgconfig"), "a file");

  fs::create_directories(path("folder/include/net.h"));
  EXPECT_NE(cannot_write(package("folder")), "");
  EXPECT_FALSE(write(package("folder")));
  EXPECT_FALSE(fs::exists(path("folder/lib")));

  ASSERT_EQ(write_file_atomically(path("file"), "a file"), "");
  EXPECT_NE(cannot_write(package("file")), "");
  EXPECT_FALSE(write(package("file")));
}

}  // namespace
}  // namespace relay::aot
