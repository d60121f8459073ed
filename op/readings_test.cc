// Names that are no operators: what their calls are read as, and which have no meaning.
#include "op/readings.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "op/absent.h"
#include "op/registry.h"

namespace relay::op {
namespace {

template <class List>
bool sorted_by_name(const List& list) {
  return std::is_sorted(list.begin(), list.end(),
                        [](const auto& a, const auto& b) { return a.name < b.name; });
}

// Both are looked up by bisection, and a name means one thing.
TEST(Names, AreSortedAndMeanOneThing) {
  EXPECT_TRUE(sorted_by_name(readings()));
  EXPECT_TRUE(sorted_by_name(absent_operators()));
  for (const Reading& r : readings()) {
    EXPECT_EQ(find_reading(r.name), &r);
    EXPECT_EQ(find(r.name), nullptr) << r.name;
    EXPECT_EQ(why_absent(r.name), "") << r.name;
    EXPECT_TRUE(r.means.starts_with(r.name)) << r.means;
    EXPECT_TRUE(r.doc.ends_with(".")) << r.doc;
  }
  for (const Absent& a : absent_operators()) {
    EXPECT_EQ(why_absent(a.name), a.reason);
    EXPECT_EQ(find(a.name), nullptr) << a.name;
    EXPECT_FALSE(a.reason.ends_with(".")) << a.reason;
  }
  EXPECT_EQ(find_reading("debu"), nullptr);
  EXPECT_EQ(why_absent("torch_o"), "");
}

TEST(Readings, OfAnIdentityIsTheArgumentItself) {
  Context context;
  Builder b(context);
  const Expr x = b.var("x");
  EXPECT_EQ(read(*find_reading("debug"), b, {&x, 1}, {}), x);
  EXPECT_THROW(read(*find_reading("debug"), b, {}, {}), RelationError);
  EXPECT_THROW(read(*find_reading("debug"), b, {&x, 1}, context.attrs({{"device", int64_t{1}}})),
               RelationError);
}

}  // namespace
}  // namespace relay::op
