#include "tools/log_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/cat.h"
#include "base/escape.h"

namespace relay::tools {
namespace {

constexpr int kWidth = 720, kHeight = 440, kLeft = 64, kRight = 24, kTop = 20, kBottom = 48;
constexpr double kDotRadius = 4;
// Of a letter at size 12, on the wide side: fonts differ.
constexpr double kLetter = 6.3, kLine = 13;
constexpr double kSame = 1.5;  // dots that are nearer lie on each other

struct Rectangle {
  double left, top, right, bottom;

  bool meets(const Rectangle& o) const {
    return left < o.right && o.left < right && top < o.bottom && o.top < bottom;
  }
  bool in_plot() const {
    return left >= kLeft && right <= kWidth - kRight / 2 && top >= kTop / 2 && bottom <= kHeight - kBottom;
  }
};

bool meet(const std::vector<Rectangle>& some, const Rectangle& r) {
  return std::any_of(some.begin(), some.end(), [&](const Rectangle& s) { return s.meets(r); });
}

// A line as a row of small squares.
std::vector<Rectangle> squares(double xa, double ya, double xb, double yb) {
  const int steps = std::max(1, static_cast<int>(std::hypot(xb - xa, yb - ya) / 4));
  std::vector<Rectangle> out;
  for (int k = 0; k <= steps; ++k) {
    const double x = xa + (xb - xa) * k / steps, y = ya + (yb - ya) * k / steps;
    out.push_back({x - 2, y - 2, x + 2, y + 2});
  }
  return out;
}

constexpr double kFar = 16;  // a label at this distance has a line to its dot

struct Candidate {
  Rectangle area;
  double x, y;  // where a line to the dot ends
  bool is_far;
};

// Where a label of this width may be, the nearest first: around the dot, then on wider and wider
// circles.
std::vector<Candidate> candidates(double x, double y, double width) {
  std::vector<Candidate> out;
  for (double distance = kDotRadius + 3; distance < kHeight; distance += 8) {
    constexpr int kDirections = 16;
    for (int k = 0; k < kDirections; ++k) {
      // To the upper right first.
      const double angle = std::numbers::pi * (2.0 * k / kDirections - 0.25);
      const double ax = x + distance * std::cos(angle), ay = y + distance * std::sin(angle);
      const double left = std::cos(angle) >= 0 ? ax : ax - width;
      const double top = std::sin(angle) <= 0 ? ay - kLine : ay;
      out.push_back({{left, top, left + width, top + kLine},
                     std::clamp(x, left, left + width),
                     std::clamp(y, top, top + kLine),
                     distance > kFar});
    }
  }
  return out;
}

// "layer 1, 2, 7" of "layer 1", "layer 2", "layer 7"; labels without a common first word are
// joined.
std::string joined(const std::vector<std::string>& labels) {
  const std::string head = labels.front().substr(0, labels.front().find(' ') + 1);
  std::string out = labels.front();
  for (size_t i = 1; i < labels.size(); ++i)
    out += cat(", ", labels[i].starts_with(head) ? labels[i].substr(head.size()) : labels[i]);
  return out;
}

}  // namespace

LogPlot::LogPlot(double x_least, double x_most, double y_least, double y_most)
    : x0_(std::floor(std::log10(x_least))),
      x1_(std::max(x0_ + 1, std::ceil(std::log10(x_most)))),
      y0_(std::floor(std::log10(y_least))),
      y1_(std::max(y0_ + 1, std::ceil(std::log10(y_most)))) {}

double LogPlot::x_least() const { return std::pow(10, x0_); }
double LogPlot::x_most() const { return std::pow(10, x1_); }
double LogPlot::y_least() const { return std::pow(10, y0_); }

double LogPlot::x(double value) const {
  return kLeft + (std::log10(value) - x0_) / (x1_ - x0_) * (kWidth - kLeft - kRight);
}
double LogPlot::y(double value) const {
  return kHeight - kBottom - (std::log10(value) - y0_) / (y1_ - y0_) * (kHeight - kTop - kBottom);
}

void LogPlot::line(double xa, double ya, double xb, double yb) {
  lines_.push_back({x(xa), y(ya), x(xb), y(yb)});
}

void LogPlot::point(double px, double py, std::string label, std::string title) {
  const Dot dot = {.x = x(px), .y = y(py)};
  const auto same = std::find_if(dots_.begin(), dots_.end(), [&](const Dot& d) {
    return std::abs(d.x - dot.x) < kSame && std::abs(d.y - dot.y) < kSame;
  });
  Dot& to = same == dots_.end() ? dots_.emplace_back(dot) : *same;
  to.title += cat(to.title.empty() ? "" : "\n", title);
  to.labels.push_back(std::move(label));
}

std::string LogPlot::svg(std::string_view x_title, std::string_view y_title) const {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
      kWidth, kHeight);
  out += axes(x_title, y_title);
  for (const Line& l : lines_)
    out += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#c33\" "
        "stroke-width=\"2\"/>\n",
        l.xa, l.ya, l.xb, l.yb);
  const std::string texts = labels();
  for (const Dot& d : dots_)
    out +=
        fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"#25a\"><title>{}</title></circle>\n",
                    d.x, d.y, kDotRadius, html_text(d.title));
  return cat(out, texts, "</svg>\n");
}

std::string LogPlot::axes(std::string_view x_title, std::string_view y_title) const {
  std::string out;
  for (double e = x0_; e <= x1_; ++e) {
    const double at = x(std::pow(10, e));
    out += fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1}\" x2=\"{0:.1f}\" y2=\"{2}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{0:.1f}\" y=\"{3}\" text-anchor=\"middle\">{4:g}</text>\n",
        at, kTop, kHeight - kBottom, kHeight - kBottom + 16, std::pow(10, e));
  }
  for (double e = y0_; e <= y1_; ++e) {
    const double at = y(std::pow(10, e));
    out += fmt::format(
        "<line x1=\"{1}\" y1=\"{0:.1f}\" x2=\"{2}\" y2=\"{0:.1f}\" stroke=\"#ddd\"/>\n"
        "<text x=\"{3}\" y=\"{0:.1f}\" text-anchor=\"end\">{4:g}</text>\n",
        at, kLeft, kWidth - kRight, kLeft - 6, std::pow(10, e));
  }
  return cat(
      out,
      fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", kWidth / 2, kHeight - 8,
                  html_text(x_title)),
      fmt::format(
          "<text x=\"14\" y=\"{0}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {0})\">{1}</text>\n",
          kHeight / 2, html_text(y_title)));
}

std::string LogPlot::labels() const {
  std::vector<Rectangle> taken, written;
  const auto add = [](std::vector<Rectangle>& to, const std::vector<Rectangle>& more) {
    to.insert(to.end(), more.begin(), more.end());
  };
  for (const Dot& d : dots_)
    taken.push_back({d.x - kDotRadius, d.y - kDotRadius, d.x + kDotRadius, d.y + kDotRadius});
  for (const Line& l : lines_) add(taken, squares(l.xa, l.ya, l.xb, l.yb));
  const auto is_free = [&](const Candidate& c) { return c.area.in_plot() && !meet(taken, c.area); };
  const auto crosses_text = [&](const Dot& d, const Candidate& c) {
    const std::vector<Rectangle> line = squares(d.x, d.y, c.x, c.y);
    return std::any_of(line.begin(), line.end(), [&](const Rectangle& r) { return meet(written, r); });
  };
  std::string out;
  for (const Dot& d : dots_) {
    const std::string text = joined(d.labels);
    const std::vector<Candidate> all = candidates(d.x, d.y, kLetter * static_cast<double>(text.size()));
    // In a crowd, its line may have to cross a label; a full picture has no free place.
    const Candidate* best = nullptr;
    for (const Candidate& c : all) {
      if (!is_free(c)) continue;
      const bool crosses = crosses_text(d, c);
      if (!best || !crosses) best = &c;
      if (!crosses) break;
    }
    const Candidate& place = best ? *best : all.front();
    taken.push_back(place.area);
    written.push_back(place.area);
    if (place.is_far) {
      add(taken, squares(d.x, d.y, place.x, place.y));
      out += fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#999\"/>\n",
                         d.x, d.y, place.x, place.y);
    }
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\">{}</text>\n", place.area.left, place.area.bottom - 3,
                       html_text(text));
  }
  return out;
}

}  // namespace relay::tools
