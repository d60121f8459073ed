#include "aot/decisions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/cat.h"
#include "ir/text/parser.h"
#include "op/operators.h"

namespace relay::aot {
namespace {

// A value of `type T { A, B(T), C(T, T) }`.
struct Term {
  uint32_t tag;
  std::vector<Term> fields = {};
};

class Terms {
 public:
  explicit Terms(uint32_t seed) : random_(seed) {}

  Term value(int depth) {
    Term out{depth == 0 ? 0 : pick(3)};
    for (uint32_t i = 0; i < out.tag; ++i) out.fields.push_back(value(depth - 1));
    return out;
  }
  std::string pattern(int depth) {
    const uint32_t kind = depth == 0 ? 3 : pick(5);
    switch (kind) {
      case 0: return "A";
      case 1: return cat("B(", pattern(depth - 1), ")");
      case 2: return cat("C(", pattern(depth - 1), ", ", pattern(depth - 1), ")");
      default: return "_";
    }
  }
  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }

 private:
  std::mt19937 random_;
};

struct Parsed {
  ParseOptions options;
  Module module;
  const Match* match = nullptr;

  explicit Parsed(const std::vector<std::string>& patterns) {
    std::string text = "type T { A, B(T), C(T, T) }\ndef @main(%t: T) { match? (%t) { ";
    for (size_t i = 0; i < patterns.size(); ++i) text += cat(i > 0 ? ", " : "", patterns[i], " => ", i);
    Diagnostics diagnostics;
    const Result<Module> m = parse("test", text + " } }", diagnostics, op::operators(), options);
    EXPECT_TRUE(m.ok()) << diagnostics.render(options.into.context().sources());
    if (!m) return;
    module = *m;
    match = module.function("main")->body->as<Match>();
  }
};

bool fits(Pattern p, const Term& v) {
  if (p->kind == PatternKind::kWildcard || p->kind == PatternKind::kVar) return true;
  if (p->ctor->tag != v.tag) return false;
  for (uint32_t i = 0; i < p->fields.size(); ++i) {
    if (!fits(p->fields[i], v.fields[i])) return false;
  }
  return true;
}

// The arm that the tree gives; a part of a value is looked at once at most.
std::optional<size_t> arm_of(const Decision& tree, const Term& v) {
  std::vector<std::vector<uint32_t>> seen;
  const Decision* d = &tree;
  while (!d->is_leaf()) {
    EXPECT_EQ(std::count(seen.begin(), seen.end(), d->path), 0);
    seen.push_back(d->path);
    const Term* part = &v;
    for (uint32_t i : d->path) part = &part->fields.at(i);
    const auto found = std::find_if(d->cases.begin(), d->cases.end(),
                                    [&](const auto& one) { return one.first == part->tag; });
    d = found != d->cases.end() ? &found->second : d->otherwise.get();
    EXPECT_NE(d, nullptr);
    if (d == nullptr) return std::nullopt;
  }
  return d->arm;
}

TEST(Decisions, TheFirstArmThatFitsIsTaken) {
  size_t taken = 0, none = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Terms terms(seed);
    std::vector<std::string> patterns;
    for (uint32_t i = 0, n = 1 + terms.pick(6); i < n; ++i) patterns.push_back(terms.pattern(3));
    const Parsed p(patterns);
    ASSERT_NE(p.match, nullptr);
    const std::optional<Decision> tree = decide(*p.match, p.module);
    ASSERT_TRUE(tree.has_value()) << join(patterns, " | ");
    for (int i = 0; i < 100; ++i) {
      const Term v = terms.value(4);
      std::optional<size_t> expected;
      for (size_t arm = 0; arm < p.match->arms.size() && !expected; ++arm) {
        if (fits(p.match->arms[arm].pattern, v)) expected = arm;
      }
      ++(expected ? taken : none);
      ASSERT_EQ(arm_of(*tree, v), expected) << join(patterns, " | ");
    }
  }
  EXPECT_GT(taken, 1000u);
  EXPECT_GT(none, 1000u);
}

TEST(Decisions, EveryConstructorHasAWayOrThereIsAnother) {
  const Parsed all({"A", "B(_)", "C(_, _)"}), some({"B(A)", "_"});
  const std::optional<Decision> one = decide(*all.match, all.module), two = decide(*some.match, some.module);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(one->cases.size(), 3u);
  EXPECT_EQ(one->otherwise, nullptr);
  EXPECT_EQ(two->cases.size(), 1u);
  ASSERT_NE(two->otherwise, nullptr);
  EXPECT_EQ(two->otherwise->arm, 1u);
}

// Each arm asks for a place of its own to be A, and the next one for the opposite: a tree
// doubles with each.
TEST(Decisions, ATreeThatWouldBeTooLargeIsNotMade) {
  const auto at = [](int place, std::string_view pattern) {
    std::string p = "_";
    for (int i = 11; i >= 0; --i) p = cat("C(", i == place ? pattern : "_", ", ", p, ")");
    return p;
  };
  std::vector<std::string> patterns;
  for (int i = 0; i < 12; i += 2) {
    std::string p = "_";
    for (int k = 11; k >= 0; --k) p = cat("C(", k == i || k == i + 1 ? "A" : "_", ", ", p, ")");
    patterns.push_back(p);
  }
  for (int i = 11; i >= 0; --i) patterns.push_back(at(i, "B(B(_))"));
  const Parsed p(patterns);
  ASSERT_NE(p.match, nullptr);
  EXPECT_FALSE(decide(*p.match, p.module).has_value());
}

}  // namespace
}  // namespace relay::aot
