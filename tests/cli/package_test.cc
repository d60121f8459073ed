// `relay compile --emit package`: what it writes, found by CMake and by pkg-config, built
// with, run, and moved.
#include <unistd.h>

#include <filesystem>

#include "base/cat.h"
#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

namespace fs = std::filesystem;

constexpr const char kCmake[] = "/usr/bin/cmake";

class Package : public Cli {
 protected:
  static std::string deploy() { return of_checkout("examples/deploy"); }
  static std::string images() { return of_checkout("examples/models/mnist_8/digits/images.npy"); }

  Ended runs(const Words& command, std::map<std::string, std::string> environment = {}) const {
    return run({.command = command, .folder = path(""), .environment = std::move(environment)});
  }
  void prints(const Words& command, const std::string& out,
              std::map<std::string, std::string> environment = {}) const {
    const Ended ended = runs(command, std::move(environment));
    EXPECT_EQ(ended.exit_code, 0) << ended.err;
    EXPECT_EQ(ended.out, out);
  }
  // The programs of examples/deploy, by CMake.
  void build(const std::string& folder, const std::string& prefix) const {
    const Ended configured =
        runs({kCmake, "-S", deploy(), "-B", folder, "-D", "CMAKE_PREFIX_PATH=" + prefix});
    ASSERT_EQ(configured.exit_code, 0) << configured.out << configured.err;
    const Ended built = runs({kCmake, "--build", folder});
    ASSERT_EQ(built.exit_code, 0) << built.out << built.err;
  }
  // examples/deploy/deploy.c, as the documentation does it with pkg-config.
  void build_by_hand(const std::string& program, const std::string& prefix) const {
    const Ended built = runs({"/bin/sh", "-c",
                              cat("cc ", deploy(),
                                  "/deploy.c $(pkg-config --cflags --libs mnist) "
                                  "-Wl,-rpath,$(pkg-config --variable=libdir mnist) -o ",
                                  program)},
                             {{"PKG_CONFIG_PATH", prefix + "/lib/pkgconfig"}});
    ASSERT_EQ(built.exit_code, 0) << built.err;
  }
  // Whether CMake takes the package in `prefix` for this version, as find_package is told it.
  bool found(const std::string& prefix, const std::string& version) const {
    write("CMakeLists.txt", cat("cmake_minimum_required(VERSION 3.19)\nproject(finds LANGUAGES NONE)\n"
                                "find_package(net ",
                                version, " CONFIG REQUIRED)\n"));
    fs::remove_all(path("finds"));
    const Ended ended =
        runs({kCmake, "-S", path(""), "-B", "finds", "-D", "CMAKE_PREFIX_PATH=" + path(prefix)});
    if (ended.exit_code != 0) {
      EXPECT_NE(ended.err.find("considered but not accepted"), std::string::npos) << ended.err;
    }
    return ended.exit_code == 0;
  }
};

TEST_F(Package, IsFoundByCMakeAndByPkgConfigWhereverItIsMoved) {
  works({"compile", mnist(), "--emit", "package", "-o", "all", "--package-name", "mnist", "--weights-file"});
  works({"compile", deploy() + "/sums.relay", "--emit", "package", "-o", "all", "--package-name", "sums"});
  const auto all_run = [&](const std::string& folder) {
    prints({path(folder + "/deploy"), images(), "72"}, "7\n");
    prints({path(folder + "/deploy_threads"), images(), "0", "31"}, "0\n3\n");
    prints({path(folder + "/sums"), "1", "2", "3", "10", "20", "30"}, "1 2 3\n11 22 33\n");
  };
  build("build", path("all"));
  all_run("build");
  build_by_hand("by_hand", path("all"));
  prints({path("by_hand"), images(), "45"}, "4\n");

  fs::create_directory(path("else where"));
  fs::rename(path("all"), path("else where/moved"));
  // The library is looked for by its soname.
  prints({path("by_hand"), images(), "45"}, "4\n", {{"LD_LIBRARY_PATH", path("else where/moved/lib")}});
  build("again", path("else where/moved"));
  all_run("again");
  fs::rename(path("else where/moved"), path("third"));
  build_by_hand("by_hand", path("third"));
  prints({path("by_hand"), images(), "45"}, "4\n");
}

TEST_F(Package, HasAVersion) {
  write_sum("m.relay");
  works({"compile", "m.relay", "--emit", "package", "-o", "net", "--package-version", "2.1"});
  for (const std::string version : {"", "2", "2.0", "2.1", "2.1 EXACT", "1.0...<3", "1...2.1", "2.1...5"})
    EXPECT_TRUE(found("net", version)) << version;
  for (const std::string version : {"1", "2.2", "3", "2.0 EXACT", "1...<2.1", "2.2...3"})
    EXPECT_FALSE(found("net", version)) << version;
  works({"compile", "m.relay", "--emit", "package", "-o", "of_interface", "--package-name", "net"});
  EXPECT_TRUE(found("of_interface", "2 EXACT"));
  prints({"/usr/bin/pkg-config", "--modversion", "net"}, "2.1\n",
         {{"PKG_CONFIG_PATH", path("net/lib/pkgconfig")}});
}

TEST_F(Package, TheSameModelGivesTheSameBytes) {
  write_sum("m.relay");
  write("licence.txt", "do what you want\n");
  const auto make = [&](const std::string& folder) {
    works({"compile", "m.relay", "--emit", "package", "-o", folder, "--package-name", "net", "--licence",
           "licence.txt"});
  };
  make("a");
  make("b/c");
  size_t files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(path("a"))) {
    if (!entry.is_regular_file()) continue;
    const std::string name = entry.path().lexically_relative(path("a")).string();
    EXPECT_EQ(read("a/" + name), read("b/c/" + name)) << name;
    ++files;
  }
  EXPECT_EQ(files, 6u);
  EXPECT_EQ(read("a/share/licenses/net/LICENCE"), "do what you want\n");
  EXPECT_NE(
      works({"compile", "m.relay", "--emit", "package", "-o", "net", "--json"}).find("\"name\":\"net\""),
      std::string::npos);
}

TEST_F(Package, OfALibraryForAGpuIsLikeOthers) {
  write_sum("m.relay");
  const Ended made = relay({"compile", "m.relay", "--emit", "package", "-o", "net", "--target", "cuda"});
  if (made.exit_code == kUnsupported) GTEST_SKIP() << made.err;
  ASSERT_EQ(made.exit_code, kOk) << made.err;
  write("main.c",
        "#include <stdio.h>\n#include \"net.h\"\n"
        "int main(void) { return printf(\"%u\\n\", relay_get_api()->abi_version) < 0; }\n");
  const Ended built = runs({"/bin/sh", "-c", "cc main.c $(pkg-config --cflags --libs net) -o main"},
                           {{"PKG_CONFIG_PATH", path("net/lib/pkgconfig")}});
  ASSERT_EQ(built.exit_code, 0) << built.err;
  prints({path("main")}, "2\n", {{"LD_LIBRARY_PATH", path("net/lib")}});
}

TEST_F(Package, IsCalledAfterItsFolder) {
  write_sum("m.relay");
  works({"compile", "m.relay", "--emit", "package"});
  EXPECT_TRUE(exists("model/lib/libmodel.so"));
  fs::create_directory(path("here"));
  works({"compile", "m.relay", "--emit", "package", "-o", "here/../there/"});
  EXPECT_TRUE(exists("there/include/there.h"));
}

TEST_F(Package, NamesAndVersionsThatNoneCanHaveAreRefused) {
  write_sum("m.relay");
  const Words words{"compile", "m.relay", "--emit", "package"};
  const auto with = [&](const Words& more) {
    Words all = words;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  for (const std::string name : {"my-net", "2x", "a b", "gr\xc3\xb6\xc3\x9f", "net.so", "net{0}", "a@b"}) {
    refused(with({"-o", name}), kUsage, {name, "--package-name"});
    refused(with({"-o", "net", "--package-name", name}), kUsage, {name, "--package-name"});
  }
  refused(with({"-o", "/"}), kUsage, {"``", "--package-name"});
  refused(with({"-o", "net", "--package-name", "../net"}), kUsage, {"../net"});
  for (const std::string version : {"v1", "1.", "1.2.3.4.5", "1.0-beta"})
    refused(with({"--package-version", version}), kUsage, {version, "1.2.0"});
  refused({"compile", "m.relay", "-o", "m.so", "--package-version", "1"}, kUsage, {"--emit package"});
  refused({"compile", "m.relay", "--emit", "cpp", "--package-name", "net"}, kUsage, {"--emit package"});
  refused({"compile", "m.relay", "--emit", "cuda", "--target", "cuda", "--package-name", "net"}, kUsage,
          {"--emit package"});
}

TEST_F(Package, WhatCannotBeWrittenIsNamed) {
  write_sum("m.relay");
  const auto make = [](const std::string& folder) {
    return Words{"compile", "m.relay", "--emit", "package", "--package-name", "net", "-o", folder};
  };
  refused(make("m.relay"), kLimit, {"m.relay", "Not a directory"});
  refused(make("m.relay/x"), kLimit, {"m.relay/x", "Not a directory"});
  refused(make("/proc/relay-test"), kLimit, {"/proc/relay-test"});
  fs::create_directory(path("taken"));
  write("taken/lib", "what was there\n");
  refused(make("taken"), kLimit, {"taken/lib", "Not a directory"});
  fs::create_directories(path("folder/include/net.h"));
  refused(make("folder"), kLimit, {"folder/include/net.h", "folder"});
  refused(make("new/folder"), kLimit, {"[file-unwritable]", "temporary"}, {.file_bytes = 4096});
}

TEST_F(Package, AReadOnlyFolderIsNamed) {
  write_sum("m.relay");
  fs::create_directory(path("locked"));
  fs::permissions(path("locked"), fs::perms::owner_read | fs::perms::owner_exec);
  if (access(path("locked").c_str(), W_OK) == 0) GTEST_SKIP() << "permissions do not bind this user";
  refused({"compile", "m.relay", "--emit", "package", "-o", "locked/x"}, kLimit,
          {"locked/x", "Permission denied"});
}

}  // namespace
}  // namespace relay::tests
