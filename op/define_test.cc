#include "op/define.h"

#include <gtest/gtest.h>

#include "ir/context.h"

namespace relay::op {
namespace {

struct Everything {
  bool flag = false;
  int64_t number = 3;
  double real = 1;
  std::string text = "NCHW";
  DType dtype = kFloat32;
  Dim dim = 2;
  std::vector<int64_t> numbers = {1, 2};
  std::vector<Dim> dims = {};
  std::optional<int64_t> maybe;
  static constexpr auto kFields =
      fields(field("flag", &Everything::flag, ""), field("number", &Everything::number, ""),
             field("real", &Everything::real, ""), field("text", &Everything::text, ""),
             field("dtype", &Everything::dtype, ""), field("dim", &Everything::dim, ""),
             field("numbers", &Everything::numbers, ""), field("dims", &Everything::dims, ""),
             field("maybe", &Everything::maybe, ""));
};

struct Needed {
  int64_t units = 0;
  static constexpr auto kFields = fields(field("units", &Needed::units, "").required());
};

// The first mistake, as "name reason".
template <class A>
std::string mistake(Context& c, const std::vector<AttrArg>& attrs) {
  std::vector<AttrError> errors;
  read_attrs<A>(c.attrs(attrs), errors);
  return errors.empty() ? "" : errors[0].name + " " + errors[0].reason;
}

TEST(Attributes, HaveDefaults) {
  Context c;
  const auto a = read_attrs<Everything>(c.attrs({}));
  EXPECT_EQ(a.number, 3);
  EXPECT_EQ(a.numbers, (std::vector<int64_t>{1, 2}));
  EXPECT_FALSE(a.maybe);
}

TEST(Attributes, AreConvertedWhereNothingIsLost) {
  Context c;
  const auto a = read_attrs<Everything>(c.attrs({{"flag", int64_t{1}},
                                                 {"real", int64_t{2}},
                                                 {"dtype", std::string("int8")},
                                                 {"numbers", int64_t{7}},
                                                 {"dim", c.shape_variable("n")},
                                                 {"dims", std::vector<Dim>{c.shape_variable("n"), 4}},
                                                 {"maybe", int64_t{5}}}));
  EXPECT_TRUE(a.flag);
  EXPECT_EQ(a.real, 2);
  EXPECT_EQ(a.dtype, kInt8);
  EXPECT_EQ(a.numbers, (std::vector<int64_t>{7}));
  EXPECT_EQ(show(a.dim), "n");
  EXPECT_EQ(a.dims.size(), 2u);
  EXPECT_EQ(a.maybe, 5);
  EXPECT_FALSE(read_attrs<Everything>(c.attrs({{"maybe", NoAttr{}}})).maybe);
}

TEST(Attributes, SayWhatIsWrong) {
  Context c;
  EXPECT_EQ(mistake<Everything>(c, {{"flag", int64_t{2}}}), "flag must be True or False, not `2`");
  EXPECT_EQ(mistake<Everything>(c, {{"number", std::string("x")}}), "number must be an integer, not `\"x\"`");
  EXPECT_EQ(mistake<Everything>(c, {{"number", true}}), "number must be an integer, not `True`");
  EXPECT_EQ(mistake<Everything>(c, {{"text", int64_t{1}}}), "text must be a string, not `1`");
  EXPECT_EQ(mistake<Everything>(c, {{"dtype", std::string("float33")}}),
            "dtype must be the name of a dtype, not `\"float33\"`");
  EXPECT_EQ(mistake<Everything>(c, {{"numbers", std::vector<std::string>{"a"}}}),
            "numbers must be a list of integers, not `[\"a\"]`");
  EXPECT_TRUE(mistake<Everything>(c, {{"colour", int64_t{1}}}).starts_with("colour is unknown; there are "));
  EXPECT_EQ(mistake<Needed>(c, {}), "units is missing");
  EXPECT_THROW(read_attrs<Needed>(c.attrs({})), RelationError);
}

TEST(Attributes, DescribeThemselves) {
  using Words = std::pair<std::string, std::string>;
  EXPECT_EQ(describe_attr(true), (Words{"bool", "True"}));
  EXPECT_EQ(describe_attr(1.0), (Words{"float", "1.0"}));
  EXPECT_EQ(describe_attr(1e-5), (Words{"float", "1e-05"}));
  EXPECT_EQ(describe_attr(std::string("NCHW")), (Words{"string", "\"NCHW\""}));
  EXPECT_EQ(describe_attr(std::vector<int64_t>{1, 2}), (Words{"ints", "[1, 2]"}));
  EXPECT_EQ(describe_attr(std::optional<int64_t>()), (Words{"int?", "None"}));
  EXPECT_EQ(describe_attr(std::optional<DType>(kInt8)), (Words{"dtype?", "\"int8\""}));
}

}  // namespace
}  // namespace relay::op
