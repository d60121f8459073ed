#include "toolchain/object_cache.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/cat.h"
#include "base/file.h"

namespace relay::toolchain {
namespace {

namespace fs = std::filesystem;

class ObjectCacheTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(folder_.make(), ""); }
  std::string file(const std::string& key) const { return folder_.path() + "/objects/" + key + ".object"; }
  size_t files() const {
    size_t n = 0;
    for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder_.path() + "/objects")) ++n;
    return n;
  }

  TemporaryFolder folder_;
  std::string got_;
};

TEST_F(ObjectCacheTest, GivesBackWhatWasStored) {
  const ObjectCache cache(folder_.path());
  EXPECT_FALSE(cache.load("a", got_));
  const std::string bytes("\0object\n\xff", 9);
  cache.store("a", bytes);
  EXPECT_TRUE(ObjectCache(folder_.path()).load("a", got_));
  EXPECT_EQ(got_, bytes);
  EXPECT_FALSE(cache.load("b", got_));
  cache.store("a", "");
  EXPECT_TRUE(cache.load("a", got_));
  EXPECT_EQ(got_, "");
}

TEST_F(ObjectCacheTest, WhatWasDamagedIsRemovedAndCanBeStoredAgain) {
  const ObjectCache cache(folder_.path());
  cache.store("a", std::string(1000, 'x'));
  std::string good;
  ASSERT_EQ(read_file(file("a"), 1 << 20, good), "");
  std::string flipped = good;
  flipped[900] = 'y';
  for (const std::string& bad :
       {std::string(), good.substr(0, 40), good.substr(0, 500), good + "x", flipped}) {
    std::ofstream(file("a"), std::ios::binary) << bad;
    EXPECT_FALSE(cache.load("a", got_)) << bad.size();
    EXPECT_FALSE(fs::exists(file("a")));
  }
  cache.store("a", "new");
  EXPECT_TRUE(cache.load("a", got_));
  EXPECT_EQ(got_, "new");
}

TEST_F(ObjectCacheTest, TheLeastRecentlyUsedGoFirst) {
  const ObjectCache cache(folder_.path(), 10000);
  const auto now = fs::file_time_type::clock::now();
  for (int i = 0; i < 10; ++i) {
    const std::string key = cat("k", i);
    cache.store(key, std::string(1000, 'x'));
    fs::last_write_time(file(key), now - std::chrono::hours(100 - i));
  }
  ASSERT_TRUE(cache.load("k0", got_));  // the oldest, but used now
  cache.trim();
  EXPECT_TRUE(cache.load("k0", got_));
  EXPECT_FALSE(cache.load("k1", got_));
  EXPECT_FALSE(cache.load("k2", got_));
  EXPECT_TRUE(cache.load("k9", got_));
  EXPECT_LT(files(), 8u);
  const size_t left = files();
  cache.trim();
  EXPECT_EQ(files(), left) << "what is below the bound stays";
}

TEST_F(ObjectCacheTest, AFolderThatCannotBeIsNoFailure) {
  for (const std::string& nowhere : {std::string(), std::string("/proc/relay"), file("a")}) {
    std::ofstream(folder_.path() + "/objects") << "a file, not a folder";
    const ObjectCache cache(nowhere);
    cache.store("a", "x");
    EXPECT_FALSE(cache.load("a", got_)) << nowhere;
    cache.trim();
  }
}

TEST_F(ObjectCacheTest, AFolderThatOthersMayWriteToIsNotUsed) {
  {
    ObjectCache(folder_.path()).store("a", "x");
  }
  const std::string objects = folder_.path() + "/objects";
  EXPECT_TRUE(ObjectCache(folder_.path()).load("a", got_));
  for (const fs::perms others : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(objects, fs::perms::owner_all | others);
    const ObjectCache cache(folder_.path());
    EXPECT_FALSE(cache.keeps());
    EXPECT_FALSE(cache.load("a", got_));
  }
  fs::permissions(objects, fs::perms::owner_all);
  EXPECT_TRUE(ObjectCache(folder_.path()).keeps());
  // A link may lead to a folder that somebody else chose.
  fs::rename(objects, folder_.path() + "/elsewhere");
  fs::create_directory_symlink("elsewhere", objects);
  EXPECT_FALSE(ObjectCache(folder_.path()).keeps());
}

TEST_F(ObjectCacheTest, WritersAtTheSameTimeLeaveWholeEntries) {
  const ObjectCache cache(folder_.path());
  std::vector<std::thread> writers;
  for (int t = 0; t < 4; ++t) {
    writers.emplace_back([&, t] {
      std::string got;
      for (int i = 0; i < 50; ++i) {
        cache.store("same", std::string(5000, static_cast<char>('a' + t)));
        if (cache.load("same", got)) {
          EXPECT_EQ(got, std::string(5000, got[0]));
        }
      }
    });
  }
  for (std::thread& t : writers) t.join();
  EXPECT_TRUE(cache.load("same", got_));
  EXPECT_EQ(files(), 1u) << "no temporary files are left";
}

TEST(FolderOfEnvironment, FollowsTheVariables) {
  const auto with = [](const char* relay, const char* xdg, const char* home) {
    setenv("RELAY_CACHE", relay, 1);
    setenv("XDG_CACHE_HOME", xdg, 1);
    setenv("HOME", home, 1);
    return ObjectCache::folder_of_environment();
  };
  EXPECT_EQ(with("", "/x", "/h"), "/x/relay");
  EXPECT_EQ(with("", "", "/h"), "/h/.cache/relay");
  EXPECT_EQ(with("", "", ""), "");
  EXPECT_EQ(with("", "relative", "/h"), "/h/.cache/relay");
  EXPECT_EQ(with("/mine", "/x", "/h"), "/mine");
  EXPECT_EQ(with("off", "/x", "/h"), "");
}

}  // namespace
}  // namespace relay::toolchain
