// relay demo --page: the page is whole, needs nothing from outside, and each link has its target.
#include <algorithm>
#include <filesystem>
#include <regex>
#include <set>

#include "tests/cli/cli.h"

namespace relay::tests {
namespace {

class DemoPage : public Cli {
 protected:
  static Invocation at_checkout(std::map<std::string, std::string> more = {}) {
    more.emplace("RELAY_ROOT", of_checkout(""));
    Invocation how;
    how.environment = std::move(more);
    return how;
  }
  std::string page(const std::string& name, const Invocation& how = at_checkout()) const {
    works({"demo", "--page", name}, how);
    return read(name);
  }
};

// What one group of the pattern matches, everywhere.
std::vector<std::string> found(const std::string& text, const std::string& pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> out;
  for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
    out.push_back((*it)[1]);
  return out;
}

std::string without(std::string text, const std::string& open, const std::string& close) {
  for (size_t at = text.find(open); at != std::string::npos; at = text.find(open, at)) {
    const size_t end = text.find(close, at);
    text.erase(at, end == std::string::npos ? end : end + close.size() - at);
  }
  return text;
}

// Every element is closed in its turn. Returns the first that is not.
std::string unbalanced(std::string html) {
  html = without(without(std::move(html), "<script>", "</script>"), "<style>", "</style>");
  std::vector<std::string> open;
  for (size_t at = html.find('<'); at != std::string::npos; at = html.find('<', at + 1)) {
    const size_t end = html.find('>', at);
    if (end == std::string::npos) return "a tag that does not end";
    const std::string tag = html.substr(at + 1, end - at - 1);
    if (tag.starts_with("!") || tag.ends_with("/")) continue;
    if (!tag.starts_with("/")) {
      open.push_back(tag.substr(0, tag.find_first_of(" \n")));
      continue;
    }
    if (open.empty() || open.back() != tag.substr(1)) return tag;
    open.pop_back();
  }
  return open.empty() ? "" : open.back();
}

// The part of the page between an element's beginning and the next such one.
std::string part(const std::string& html, const std::string& begin, const std::string& end) {
  const size_t at = html.find(begin);
  return at == std::string::npos ? "" : html.substr(at, html.find(end, at) - at);
}

TEST_F(DemoPage, HasEveryStageAndEveryKernel) {
  const std::string html = page("p.html");
  EXPECT_EQ(unbalanced(html), "");
  for (const std::string pane : {"model", "program", "loops", "cpp", "asm"})
    EXPECT_NE(html.find("id=\"pane-" + pane + "\""), std::string::npos) << pane;
  const std::string kernels = works({"opt", mnist(), "-O2", "--emit", "kernel"});
  const std::vector<std::string> names = found(kernels, "(?:^|\n)kernel ([^(]+)\\(");
  ASSERT_GE(names.size(), 3u) << kernels;
  for (const std::string& name : names) {
    for (const std::string pane : {"loops", "cpp", "asm"})
      EXPECT_NE(part(html, "id=\"pane-" + pane + "\"", "</main>").find(name), std::string::npos)
          << pane << name;
  }
  EXPECT_EQ(found(html, "<tr id=\"(row-[0-9]+)\"").size(), names.size());
  EXPECT_EQ(html.find("{{"), std::string::npos) << "a part that was not filled in";
}

TEST_F(DemoPage, EveryLinkHasItsTarget) {
  const std::string html = page("p.html");
  std::set<std::string> ids;
  for (const std::string& id : found(html, " id=\"([^\"]+)\"")) EXPECT_TRUE(ids.insert(id).second) << id;
  for (const std::string& target : found(html, " href=\"#([^\"]+)\""))
    EXPECT_TRUE(ids.contains(target)) << target;
  const auto words = [&](const std::string& attribute) {
    std::set<std::string> out;
    for (const std::string& list : found(html, " " + attribute + "=\"([^\"]+)\"")) {
      for (const std::string& word : found(list, "([^ ]+)")) out.insert(word);
    }
    return out;
  };
  for (const std::string& kernel : words("data-k")) {
    for (const std::string pane : {"row-", "loops-", "cpp-", "asm-"})
      EXPECT_TRUE(ids.contains(pane + kernel)) << pane << kernel;
  }
  const std::string program = part(html, "id=\"pane-program\"", "id=\"pane-loops\"");
  for (const std::string& node : words("data-n")) {
    EXPECT_TRUE(ids.contains("model-" + node)) << node;
    EXPECT_TRUE(std::regex_search(program, std::regex("data-n=\"([0-9]+ )*" + node + "[ \"]"))) << node;
  }
  for (const std::string& kernel : words("data-k")) {
    const std::string block = part(html, "id=\"asm-" + kernel + "\"", "</section>");
    const std::vector<std::string> lines = found(block, "data-c=\"([0-9]+)\"");
    EXPECT_FALSE(lines.empty()) << kernel;
    for (const std::string& line : lines)
      EXPECT_TRUE(ids.contains("cpp-" + kernel + "-" + line)) << kernel << line;
  }
}

TEST_F(DemoPage, AsksForNothingFromOutside) {
  const std::string html = page("p.html");
  for (const std::string word : {"http:", "https:", " src=", "url(", "@import", "<link", "fetch("})
    EXPECT_EQ(html.find(word), std::string::npos) << word;
  for (const std::string& href : found(html, " href=\"([^\"]*)\""))
    EXPECT_TRUE(href.starts_with("#")) << href;
}

TEST_F(DemoPage, IsTheSameEachTimeButForTimes) {
  const auto timeless = [](const std::string& html) { return without(html, "<td class=\"time\">", "</td>"); };
  const std::string first = page("p.html");
  EXPECT_EQ(timeless(page("q.html")), timeless(first));
  EXPECT_LT(timeless(first).size(), first.size());
}

TEST_F(DemoPage, EveryKernelIsWithinItsBound) {
  const std::string html = page("p.html");
  EXPECT_EQ(found(html, "(<td class=\"bad\">)").size(), 0u);
  EXPECT_EQ(found(html, "(<td class=\"good\">)").size(), found(html, "<tr id=\"(row-[0-9]+)\"").size());
}

TEST_F(DemoPage, IsCalledDemoIfNothingElseIsSaid) {
  works({"demo", "--page"}, at_checkout());
  EXPECT_TRUE(exists("demo.html"));
}

TEST_F(DemoPage, SaysWhyThereIsNoAssembly) {
  const std::string html = page("p.html", at_checkout({{"RELAY_CXX", "/nowhere/<c++>"}}));
  const std::string pane = part(html, "id=\"pane-asm\"", "</main>");
  EXPECT_NE(pane.find("RELAY_CXX is /nowhere/&lt;c++&gt;, which cannot be run"), std::string::npos) << pane;
  EXPECT_NE(html.find("id=\"cpp-0\""), std::string::npos);
  EXPECT_EQ(unbalanced(html), "");
}

TEST_F(DemoPage, IsRefusedWhereItCannotBeWritten) {
  std::filesystem::create_directory(path("d"));
  write("file", "");
  refused({"demo", "--page", "nowhere/p.html"}, kLimit, {"nowhere"}, at_checkout());
  refused({"demo", "--page", "file/p.html"}, kLimit, {"file"}, at_checkout());
  refused({"demo", "--page", "d"}, kLimit, {"cannot write d", "folder"}, at_checkout());
  refused({"demo", "--page", "p.html"}, kUsage, {"/nowhere/examples", "RELAY_ROOT"},
          {.environment = {{"RELAY_ROOT", "/nowhere"}}});
  refused({"demo", "--page", mnist()}, kUsage, {"[output-is-input]"}, at_checkout());
}

}  // namespace
}  // namespace relay::tests
