#include "frontend/data/inputs.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/cat.h"
#include "base/file.h"

namespace relay::frontend::data {
namespace {

class Inputs : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(folder_.make(), ""); }
  std::string path(std::string_view name) const { return cat(folder_.path(), "/", name); }

  void write(const std::string& where, const NamedTensors& tensors, Role role = Role::kInput) {
    Diagnostics d;
    ASSERT_TRUE(write_tensors(where, tensors, role, d).ok()) << d.render({});
  }
  std::string refusal(const std::string& where, const std::vector<std::string>& names) {
    Diagnostics d;
    EXPECT_FALSE(read_named(where, names, Role::kInput, {}, d).ok());
    return d.render({});
  }

  TemporaryFolder folder_;
  const NamedTensors two_{{"x", Tensor::scalar(kFloat32, 1)}, {"a/b:0", Tensor::scalar(kInt64, 2)}};
};

TEST_F(Inputs, EveryFormOfSeveralTensors) {
  for (const char* name : {"in.npz", "in", "test_data_set_0", "in.safetensors"}) {
    write(path(name), two_);
    Diagnostics d;
    const std::vector<std::string> names{"x", "a/b:0"};
    const Result<NamedTensors> back = read_named(path(name), names, Role::kInput, {}, d);
    ASSERT_TRUE(back.ok()) << name << d.render({});
    ASSERT_EQ(back->size(), 2u);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ((*back)[i].name, two_[i].name);
      EXPECT_TRUE(identical((*back)[i].value, two_[i].value)) << name;
    }
  }
  EXPECT_TRUE(std::filesystem::exists(path("test_data_set_0/input_1.pb")));
  EXPECT_TRUE(std::filesystem::exists(path("in/a%2Fb:0.npy")));
}

TEST_F(Inputs, UnderscoresStandForSlashesAndColons) {
  const std::vector<std::string> names{"x", "a/b:0"};
  for (const char* file : {"a_b_0", "a_b:0", "a%2Fb_0", "a%2Fb:0"}) {
    const std::string folder = path(cat("in ", file));
    write(folder, {{"x", two_[0].value}, {file, two_[1].value}});
    // As it is: write_tensors would escape the percent sign.
    std::filesystem::rename(cat(folder, "/", file_name_of(file), ".npy"), cat(folder, "/", file, ".npy"));
    Diagnostics d;
    const Result<NamedTensors> back = read_named(folder, names, Role::kInput, {}, d);
    if (std::string_view(file) == "a%2Fb_0") {
      EXPECT_FALSE(back.ok());  // one way or the other
      continue;
    }
    ASSERT_TRUE(back.ok()) << file << d.render({});
    EXPECT_TRUE(identical((*back)[1].value, two_[1].value)) << file;
  }
}

TEST_F(Inputs, UnderscoresThatStandForTwoNamesAreRefused) {
  const Tensor one = Tensor::scalar(kFloat32, 1);
  write(path("in"), {{"a_b", one}});
  const std::string said = refusal(path("in"), {"a/b", "a:b"});
  for (const char* part : {"holds `a_b`, which is no input [tensor-unknown]", "is it meant for `a/b`?",
                           "is it meant for `a:b`?", "name the files `a%2Fb.npy`, `a:b.npy`"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
  // One that has this very name takes it.
  EXPECT_NE(refusal(path("in"), {"a/b", "a_b"}).find("no tensor for the input `a/b`"), std::string::npos);
  write(path("both"), {{"a_b", one}, {"a/b", one}});
  EXPECT_NE(refusal(path("both"), {"a/b"}).find("holds `a%2Fb` and `a_b`, both for the input `a/b`"),
            std::string::npos);
  Diagnostics d;
  const std::vector<std::string> names{"a/b", "a_b"};
  EXPECT_TRUE(read_named(path("both"), names, Role::kInput, {}, d).ok()) << d.render({});
}

TEST_F(Inputs, OneTensorWithoutAName) {
  write(path("x.npy"), {{"anything", Tensor::scalar(kFloat32, 3)}});
  Diagnostics d;
  const std::vector<std::string> names{"input"};
  const Result<NamedTensors> back = read_named(path("x.npy"), names, Role::kInput, {}, d);
  ASSERT_TRUE(back.ok()) << d.render({});
  EXPECT_EQ(back->front().name, "input");
}

TEST_F(Inputs, RolesOfATestDataSet) {
  write(path("test_data_set_0"), two_, Role::kInput);
  write(path("test_data_set_0"), {{"y", Tensor::scalar(kFloat32, 9)}}, Role::kOutput);
  Diagnostics d;
  EXPECT_EQ(read_tensors(path("test_data_set_0"), Role::kInput, {}, d)->size(), 2u);
  EXPECT_EQ(read_tensors(path("test_data_set_0"), Role::kOutput, {}, d)->size(), 1u);
}

TEST_F(Inputs, EveryMistakeIsReportedWithAHint) {
  write(path("in.npz"), {{"Input_Ids", Tensor(kInt64, {1})}, {"other", Tensor(kInt64, {1})}});
  const std::string said = refusal(path("in.npz"), {"input_ids", "mask"});
  EXPECT_NE(said.find("`Input_Ids`, which is no input"), std::string::npos) << said;
  EXPECT_NE(said.find("is it meant for `input_ids`?"), std::string::npos) << said;
  EXPECT_NE(said.find("`other`, which is no input"), std::string::npos) << said;
  // What is there under another name is not reported as missing too.
  EXPECT_EQ(said.find("no tensor for the input `input_ids`"), std::string::npos) << said;
  EXPECT_NE(said.find("no tensor for the input `mask`"), std::string::npos) << said;
}

TEST_F(Inputs, OneTensorDoesNotHideThatSeveralAreMissing) {
  write(path("in.npz"), {{"input", Tensor(kInt64, {1})}});
  const std::string said = refusal(path("in.npz"), {"input_ids", "input_mask"});
  for (const char* name : {"input_ids", "input_mask"}) {
    EXPECT_NE(said.find(cat("is it meant for `", name, "`?")), std::string::npos) << said;
    EXPECT_NE(said.find(cat("no tensor for the input `", name, "`")), std::string::npos) << said;
  }
}

TEST_F(Inputs, FixedTensorsMayBeLeftOutAndMustBeTheSame) {
  const std::vector<std::string> names{"x", "a/b:0"};
  const auto read = [&](const NamedTensors& there, const NamedTensors& fixed, Diagnostics& d) {
    write(path("in.npz"), there);
    return read_named(path("in.npz"), names, Role::kInput, {}, d, fixed);
  };
  for (const NamedTensors& there : {two_, NamedTensors{two_[0]}, NamedTensors{{"", two_[0].value}}}) {
    Diagnostics d;
    const Result<NamedTensors> back = read(there, {two_[1]}, d);
    ASSERT_TRUE(back.ok()) << d.render({});
    for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(identical((*back)[i].value, two_[i].value)) << i;
  }
  for (const Tensor& other : {Tensor::scalar(kInt64, 3), Tensor::scalar(kInt32, 2), Tensor(kInt64, {1})}) {
    Diagnostics d;
    EXPECT_FALSE(read(two_, {{"a/b:0", other}}, d).ok());
    EXPECT_NE(d.render({}).find("another `a/b:0` than it was fixed to [input-value-conflict]"),
              std::string::npos)
        << d.render({});
  }
}

TEST_F(Inputs, MoreNumberedTensorsThanInputs) {
  const NamedTensors three(3, {"", Tensor::scalar(kFloat32, 1)});
  write(path("test_data_set_0"), three);
  const std::string said = refusal(path("test_data_set_0"), {"x", "y"});
  EXPECT_NE(said.find("holds tensor number 2, and there are only 2 inputs, numbered from 0 [tensor-unknown]"),
            std::string::npos)
      << said;
  EXPECT_EQ(said.find("without a name"), std::string::npos) << said;
  EXPECT_EQ(said.find("no tensor for"), std::string::npos) << said;
}

TEST_F(Inputs, NamesThatDoNotMatchAreListed) {
  write(path("in.npz"), {{"a", Tensor(kInt64, {1})}, {"b", Tensor(kInt64, {1})}});
  Diagnostics d;
  const std::vector<std::string> names{"a", "mask"};
  EXPECT_FALSE(read_named(path("in.npz"), names, Role::kInput, {}, d).ok());
  ASSERT_EQ(d.errors(), 2u);
  const std::string file = cat("`", path("in.npz"), "`");
  EXPECT_EQ(render(d.all()[0], {}),
            cat("error: ", file,
                " holds `b`, which is no input [tensor-unknown]\nnote: the inputs: `a`, `mask`\n"));
  EXPECT_EQ(render(d.all()[1], {}),
            cat("error: ", file,
                " has no tensor for the input `mask` [tensor-missing]\nnote: it holds `a`, `b`\n"));
}

TEST_F(Inputs, RefusesWhatIsNotThere) {
  EXPECT_NE(refusal(path("nothing.npz"), {"x"}).find("No such file"), std::string::npos);
  EXPECT_NE(refusal(path("nothing"), {"x"}).find("no such file or folder"), std::string::npos);
  EXPECT_NE(refusal(path("nothing.npy"), {"x"}).find("No such file"), std::string::npos);
  EXPECT_NE(refusal(path("nothing.pb"), {"x"}).find("No such file"), std::string::npos);
  std::filesystem::create_directories(path("empty"));
  EXPECT_NE(refusal(path("empty"), {"x"}).find("no tensor for the input `x`"), std::string::npos);
}

TEST_F(Inputs, RefusesAnUnknownForm) {
  ASSERT_EQ(write_file_atomically(path("x.csv"), "1,2"), "");
  EXPECT_EQ(refusal(path("x.csv"), {"x"}), cat("error: cannot read tensors from `", path("x.csv"),
                                               "`: its form is unknown [tensors-unknown-form]\nnote: give "
                                               "x.npz, x.npy, x.safetensors, x.params, x.pb, "
                                               "a folder of NAME.npy, or a test_data_set_N/ folder\n"));
}

TEST_F(Inputs, RefusesOneTensorForTwoNames) {
  write(path("x.npy"), {{"", Tensor::scalar(kFloat32, 3)}});
  EXPECT_NE(refusal(path("x.npy"), {"x", "y"}).find("one tensor without a name"), std::string::npos);
}

TEST_F(Inputs, RefusesMoreThanTheLimits) {
  write(path("in"), two_);
  Limits few;
  few.tensors = 1;
  Diagnostics d;
  EXPECT_FALSE(read_tensors(path("in"), Role::kInput, few, d).ok());
  Limits small;
  small.total_bytes = 6;
  EXPECT_FALSE(read_tensors(path("in"), Role::kInput, small, d).ok());
  Limits short_files;
  short_files.file_bytes = 10;
  EXPECT_FALSE(read_tensors(path("in"), Role::kInput, short_files, d).ok());
  EXPECT_EQ(d.all().back().slug().name(), "limit-file-size");
  const std::string said = render(d.all().back(), {});
  EXPECT_NE(said.find(cat("`", path("in/a%2Fb:0.npy"), "` has 136 bytes, more than the limit of 10")),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("divide its tensors among several files"), std::string::npos) << said;
}

TEST_F(Inputs, RefusesToWriteSeveralTensorsToOneNpy) {
  Diagnostics d;
  EXPECT_FALSE(write_tensors(path("x.npy"), two_, Role::kOutput, d).ok());
  EXPECT_EQ(d.render({}),
            cat("error: `", path("x.npy"),
                "` can hold one tensor, not 2 [too-many-tensors]\nnote: write to x.npz or to a folder\n"));
}

TEST_F(Inputs, RefusesToWriteWhereThereIsNoFolder) {
  Diagnostics d;
  EXPECT_FALSE(write_tensors(path("no/such/folder/x.npz"), two_, Role::kOutput, d).ok());
  ASSERT_EQ(write_file_atomically(path("file"), "x"), "");
  EXPECT_FALSE(write_tensors(path("file/inside"), two_, Role::kOutput, d).ok());
}

TEST_F(Inputs, AFailedWriteLeavesNothingBehind) {
  std::filesystem::create_directories(path("x.npz"));  // a folder is in the way
  Diagnostics d;
  EXPECT_FALSE(write_tensors(path("x.npz"), two_, Role::kOutput, d).ok());
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) files += entry.exists();
  EXPECT_EQ(files, 1u);
}

TEST(FileNames, AreSafe) {
  EXPECT_EQ(file_name_of("conv1/weight:0"), "conv1%2Fweight:0");
  EXPECT_EQ(file_name_of("../x"), "%2E.%2Fx");
  EXPECT_EQ(file_name_of(std::string("a\0b%", 4)), "a%00b%25");
}

}  // namespace
}  // namespace relay::frontend::data
