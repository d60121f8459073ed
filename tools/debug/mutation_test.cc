// Whatever is typed, the session answers: lines of words that the commands know, cut,
// doubled and spoilt.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "tools/debug/testing.h"

namespace relay::tools::debug {
namespace {

constexpr const char* kProgram = R"(
type List { Cons(int32, List), Nil }
def @main() {
  let %x = tensor([1f, -2f, nanf, 4f], float32);
  %0 = add(%x, 1f);
  let %r = ref(%0);
  let %f = fn (%i: int32) -> int32 { if (less(%i, 1)) { 0 } else { add(@sum(Cons(%i, Nil)), floor_divide(6, %i)) } };
  let %pair = (%f(2), multiply(%0, %0));
  let %u = ref_write(%r, sqrt(%pair.1));
  (ref_read(%r), %f(%pair.0))
}
def @sum(%l: List) -> int32 { match (%l) { Nil => 0, Cons(%h, %t) => add(%h, @sum(%t)) } }
)";

class Lines {
 public:
  explicit Lines(uint32_t seed) : random_(seed) {}

  std::string next() {
    static const std::vector<std::string> words = {"@main",
                                                   "@sum",
                                                   "@",
                                                   "add",
                                                   "sqrt",
                                                   "nn.conv2d",
                                                   "6",
                                                   "p.relay:8",
                                                   "p.relay:",
                                                   ":7",
                                                   "0",
                                                   "-1",
                                                   "2",
                                                   "18446744073709551615",
                                                   "18446744073709551616",
                                                   "if",
                                                   "nan",
                                                   "inf",
                                                   "max",
                                                   "min",
                                                   "mean",
                                                   "absmax",
                                                   ">",
                                                   "<=",
                                                   "==",
                                                   "1e3",
                                                   "1e999",
                                                   "%x",
                                                   "x",
                                                   "%0",
                                                   "result",
                                                   "r",
                                                   "pair",
                                                   "%f",
                                                   "[0]",
                                                   "[1:3]",
                                                   "[::2]",
                                                   "[",
                                                   "]",
                                                   "[-9]",
                                                   "[0,0]",
                                                   ",",
                                                   ":",
                                                   "within",
                                                   "no_folder/trace",
                                                   "#",
                                                   "\"",
                                                   "\xff\xfe",
                                                   "%",
                                                   "%%",
                                                   "\t",
                                                   "{}",
                                                   "{:d}"};
    std::string line;
    if (pick(20) == 0) return line;
    const Command& c = commands()[pick(commands().size())];
    line = std::string(c.name.substr(0, pick(8) ? c.name.size() : 1 + pick(c.name.size())));
    for (size_t n = pick(5); n > 0; --n) line += (pick(6) ? " " : "") + words[pick(words.size())];
    if (pick(6) == 0 && !line.empty()) line.erase(pick(line.size()), 1 + pick(4));
    if (pick(6) == 0) line.insert(pick(line.size() + 1), 1, static_cast<char>(pick(256)));
    if (pick(50) == 0) line += std::string(1000, static_cast<char>(32 + pick(90)));
    return line;
  }

 private:
  size_t pick(size_t below) { return random_() % below; }  // the same on every machine, unlike a distribution
  std::mt19937 random_;
};

TEST(Mutation, NoLineBreaksTheSession) {
  const auto files = [] {
    return std::distance(std::filesystem::directory_iterator("."), std::filesystem::directory_iterator());
  };
  const auto before = files();
  size_t answered = 0, refused = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    auto session = session_of(kProgram);
    Lines lines(seed);
    for (int i = 0; i < 150 && !session->ended(); ++i) {
      const std::string line = lines.next();
      // What is recorded would be a file of some strange name.
      if (line.find("rec") != std::string::npos || line.starts_with("rep")) continue;
      session->execute(line);
      session->complete(line, "");
      ++(session->refused() ? refused : answered);
    }
  }
  EXPECT_EQ(files(), before);
  // Both happen often, so that neither path is tested in name only.
  EXPECT_GT(answered, 300u);
  EXPECT_GT(refused, 300u);
}

}  // namespace
}  // namespace relay::tools::debug
