#include "frontend/data/npz.h"

#include <gtest/gtest.h>
#include <zip.h>

#include "base/cat.h"
#include "frontend/data/npy.h"

namespace relay::frontend::data {
namespace {

Tensor numbers(std::initializer_list<int> values) {
  return Tensor::of<int>(kFloat32, {static_cast<int64_t>(values.size())}, std::vector<int>(values));
}

std::string archive(const NamedTensors& tensors) {
  Diagnostics d;
  Result<std::string> bytes = npz_bytes(tensors, d);
  EXPECT_TRUE(bytes.ok()) << d.render({});
  return bytes.ok() ? *bytes : "";
}

// A zip archive of raw entries, compressed.
std::string zip_of(const std::vector<std::pair<std::string, std::string>>& entries) {
  zip_error_t error;
  zip_source_t* buffer = zip_source_buffer_create(nullptr, 0, 0, &error);
  zip_source_keep(buffer);
  zip_t* zip = zip_open_from_source(buffer, ZIP_TRUNCATE, &error);
  for (const auto& [name, text] : entries) {
    zip_source_t* part = zip_source_buffer(zip, text.data(), text.size(), 0);
    zip_file_add(zip, name.c_str(), part, ZIP_FL_ENC_UTF_8);
  }
  zip_close(zip);
  zip_source_open(buffer);
  zip_stat_t facts;
  zip_source_stat(buffer, &facts);
  std::string out(facts.size, '\0');
  zip_source_read(buffer, out.data(), out.size());
  zip_source_close(buffer);
  zip_source_free(buffer);
  return out;
}

Diagnostics refusal(const std::string& bytes, const Limits& limits = {}) {
  Diagnostics d;
  EXPECT_FALSE(parse_npz(bytes, "x.npz", limits, d).ok());
  EXPECT_EQ(d.errors(), 1u);
  return d;
}
std::string message(const Diagnostics& d) { return d.errors() ? d.all().front().message() : ""; }

TEST(Npz, RoundTripKeepsOrderAndNames) {
  const NamedTensors tensors{
      {"z", numbers({1, 2})}, {"a/b:0", numbers({})}, {"ä", Tensor::scalar_int(kInt64, 7)}};
  Diagnostics d;
  const Result<NamedTensors> back = parse_npz(archive(tensors), "x.npz", {}, d);
  ASSERT_TRUE(back.ok()) << d.render({});
  ASSERT_EQ(back->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*back)[i].name, tensors[i].name);
    EXPECT_TRUE(identical((*back)[i].value, tensors[i].value));
  }
}

TEST(Npz, EqualTensorsGiveEqualBytes) {
  EXPECT_EQ(archive({{"x", numbers({1})}}), archive({{"x", numbers({1})}}));
}

TEST(Npz, AnEmptyArchive) {
  Diagnostics d;
  const Result<NamedTensors> back = parse_npz(archive({}), "x.npz", {}, d);
  ASSERT_TRUE(back.ok()) << d.render({});
  EXPECT_TRUE(back->empty());
}

TEST(Npz, ReadsCompressedArchives) {
  Diagnostics d;
  const Result<NamedTensors> back =
      parse_npz(zip_of({{"x.npy", npy_bytes(Tensor(kFloat32, {100, 100}))}}), "x.npz", {}, d);
  ASSERT_TRUE(back.ok()) << d.render({});
  EXPECT_EQ(back->front().value.size(), 10000);
}

TEST(Npz, RefusesWhatIsNotSound) {
  const std::string good = archive({{"x", numbers({1, 2})}});
  const std::pair<std::string, std::string> bad[] = {
      {"", "not a .npz archive"},
      {"\x93NUMPY", "not a .npz archive"},
      {"PK", "not a sound archive"},
      {good.substr(0, good.size() / 2), "not a sound archive"},
      {good.substr(0, good.size() - 1), "not a sound archive"},
      {zip_of({{"x.txt", "hello"}}), "`x.txt` is not a .npy file"},
      {zip_of({{"x.npy", "hello"}}), "x.npz: x.npy"},
      {zip_of({{"x.npy", ""}}), "not a .npy file"},
      {zip_of({{"dir/", ""}}), "is not a .npy file"},
  };
  for (const auto& [bytes, expected] : bad) {
    const std::string said = message(refusal(bytes));
    EXPECT_NE(said.find(expected), std::string::npos) << said << " <- " << expected;
  }
}

TEST(Npz, RefusesADamagedEntry) {
  std::string bytes = archive({{"x", numbers({1, 2, 3, 4})}});
  bytes[150] = static_cast<char>(bytes[150] ^ 1);  // within the data: the checksum sees it
  EXPECT_NE(message(refusal(bytes)).find("damaged"), std::string::npos);
}

TEST(Npz, RefusesABomb) {
  const std::string bytes = zip_of({{"x.npy", std::string(200 << 20, '\0')}});
  ASSERT_LT(bytes.size(), 1u << 20);
  const Diagnostics d = refusal(bytes);
  EXPECT_EQ(d.all().front().slug().name(), "limit-archive");
}

TEST(Npz, RefusesMoreThanTheLimits) {
  const std::string bytes = archive({{"x", numbers({1})}, {"y", numbers({2})}});
  Limits few;
  few.tensors = 1;
  EXPECT_EQ(refusal(bytes, few).all().front().slug().name(), "limit-tensors");
  Limits small;
  small.total_bytes = 200;
  EXPECT_EQ(refusal(bytes, small).all().front().slug().name(), "limit-archive");
}

TEST(Npz, RefusesTheSameNameTwice) {
  std::string bytes = archive({{"x", numbers({1})}, {"y", numbers({2})}});
  for (size_t at; (at = bytes.find("y.npy")) != std::string::npos;) bytes[at] = 'x';
  EXPECT_NE(message(refusal(bytes)).find("`x` twice"), std::string::npos);
}

TEST(Npz, NamesThatCannotBeWritten) {
  const std::pair<NamedTensors, std::string> bad[] = {
      {{{"x", numbers({1})}, {std::string("a\0b", 3), numbers({1})}},
       "the name of tensor 1, `a\\x00b`, contains a zero byte; rename it"},
      {{{"a", numbers({1})}, {"a", numbers({1})}}, "two tensors are called `a`; rename one"}};
  for (const auto& [tensors, expected] : bad) {
    Diagnostics d;
    EXPECT_FALSE(npz_bytes(tensors, d).ok());
    ASSERT_EQ(d.errors(), 1u);
    EXPECT_EQ(d.all().front().slug().name(), "npz-unwritable");
    EXPECT_NE(d.render({}).find(expected), std::string::npos) << d.render({});
  }
}

}  // namespace
}  // namespace relay::frontend::data
