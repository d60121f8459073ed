// A plot with logarithmic axes, as SVG.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace relay::tools {

// Axes go from powers of ten to powers of ten. Texts are plain: `svg` escapes them.
class LogPlot {
 public:
  LogPlot(double x_least, double x_most, double y_least, double y_most);

  double x_least() const;
  double x_most() const;
  double y_least() const;

  void line(double xa, double ya, double xb, double yb);
  // A dot. `title` is shown when a pointer is on it. `label` is written beside it, where no other
  // label or dot is, with a thin line to the dot if that is further away. Dots that lie on each
  // other share a label: "layer 3", "layer 5".
  void point(double x, double y, std::string label, std::string title);

  // The time grows with the square of the dots.
  std::string svg(std::string_view x_title, std::string_view y_title) const;

 private:
  // Both are in the picture's numbers.
  struct Line {
    double xa, ya, xb, yb;
  };
  struct Dot {
    double x, y;
    std::vector<std::string> labels;
    std::string title;
  };
  double x(double value) const;
  double y(double value) const;
  std::string axes(std::string_view x_title, std::string_view y_title) const;
  std::string labels() const;

  double x0_, x1_, y0_, y1_;  // exponents
  std::vector<Line> lines_;
  std::vector<Dot> dots_;
};

}  // namespace relay::tools
