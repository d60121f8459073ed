#include "base/nearest_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/file.h"

namespace relay {
namespace {

class NearestFile : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(folder_.make(), "");
    for (const std::string name : {"net.relay", "net.onnx", "weights.npz"}) std::ofstream(path(name)) << "x";
  }
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  // The notes of an error about the path.
  std::vector<std::string> notes(const std::string& path) const {
    Diagnostics diagnostics;
    suggest_file(diagnostics.error(Span::none(), "file-unreadable", "cannot read it"), path);
    return diagnostics.all().front().notes();
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(NearestFile, NamesAFileBesideIt) {
  EXPECT_EQ(notes(path("nets.relay")), std::vector<std::string>{"did you mean `" + path("net.relay") + "`?"});
  EXPECT_EQ(notes(path("wieghts.npz")),
            std::vector<std::string>{"did you mean `" + path("weights.npz") + "`?"});
}

TEST_F(NearestFile, NamesNoneWithoutANeed) {
  EXPECT_TRUE(notes(path("net.relay")).empty());  // it is there
  EXPECT_TRUE(notes(path("something_else.relay")).empty());
  EXPECT_TRUE(notes(path("no/such/folder/net.relay")).empty());
  EXPECT_TRUE(notes("").empty());
}

TEST_F(NearestFile, LooksInTheFolderOfTheProcess) {
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(std::filesystem::path(path("x")).parent_path());
  EXPECT_EQ(notes("nett.relay"), std::vector<std::string>{"did you mean `net.relay`?"});
  std::filesystem::current_path(before);
}

}  // namespace
}  // namespace relay
