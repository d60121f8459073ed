#include "tools/log_plot.h"

#include <gtest/gtest.h>

#include <regex>

#include "base/cat.h"

namespace relay::tools {
namespace {

struct Label {
  double left, bottom;
  std::string text;
};

// Texts that begin where they say: labels, and not the numbers of axes.
std::vector<Label> labels_of(const std::string& svg) {
  static const std::regex kLabel("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\">([^<]*)</text>");
  std::vector<Label> out;
  for (std::sregex_iterator at(svg.begin(), svg.end(), kLabel), end; at != end; ++at)
    out.push_back({std::stod((*at)[1]), std::stod((*at)[2]), (*at)[3]});
  return out;
}

bool overlap(const Label& a, const Label& b) {
  // As narrow as such letters are: a picture in which these meet cannot be read.
  const auto right = [](const Label& l) { return l.left + 5 * static_cast<double>(l.text.size()); };
  return a.left < right(b) && b.left < right(a) && std::abs(a.bottom - b.bottom) < 12;
}

TEST(LogPlot, LabelsOfDotsThatLieTogetherDoNotOverlap) {
  LogPlot plot(1, 100, 1, 300);
  plot.line(1, 8, 32, 256);
  plot.line(32, 256, 100, 256);
  for (int k = 0; k < 36; ++k) plot.point(40 + k % 6 * 0.7, 100 + k / 6 * 15, cat("layer ", k), "conv");
  const std::string svg = plot.svg("x", "y");
  const std::vector<Label> labels = labels_of(svg);
  ASSERT_EQ(labels.size(), 36u) << svg;
  for (size_t i = 0; i < labels.size(); ++i) {
    for (size_t j = 0; j < i; ++j)
      EXPECT_FALSE(overlap(labels[i], labels[j])) << labels[i].text << " and " << labels[j].text;
    EXPECT_GT(labels[i].left, 0);
    EXPECT_LT(labels[i].left, 720);
  }
}

TEST(LogPlot, DotsOnEachOtherShareALabel) {
  LogPlot plot(1, 10, 1, 10);
  plot.point(2, 3, "layer 1", "a");
  plot.point(5, 3, "layer 2", "b");
  plot.point(2, 3, "layer 3", "c & d");
  const std::string svg = plot.svg("x", "y");
  const std::vector<Label> labels = labels_of(svg);
  ASSERT_EQ(labels.size(), 2u) << svg;
  EXPECT_EQ(labels[0].text, "layer 1, 3");
  EXPECT_EQ(labels[1].text, "layer 2");
  EXPECT_NE(svg.find("<title>a\nc &amp; d</title>"), std::string::npos) << svg;
}

TEST(LogPlot, ALabelStaysInThePicture) {
  LogPlot plot(1, 10, 1, 10);
  plot.point(10, 10, "layer 1", "");  // the upper right corner
  plot.point(1, 1, "layer 2", "");
  for (const Label& l : labels_of(plot.svg("x", "y"))) {
    EXPECT_GE(l.left, 0) << l.text;
    EXPECT_LT(l.left + 7 * static_cast<double>(l.text.size()), 720) << l.text;
    EXPECT_GT(l.bottom, 12) << l.text;
    EXPECT_LT(l.bottom, 400) << l.text;
  }
}

}  // namespace
}  // namespace relay::tools
