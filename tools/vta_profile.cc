#include "tools/vta_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/escape.h"
#include "tools/vta_layers.h"
#include "vta/sim/cycles.h"

namespace relay::tools {
namespace {

constexpr size_t kNameWidth = 44;

double ratio(uint64_t a, uint64_t b) { return b ? static_cast<double>(a) / static_cast<double>(b) : 0; }

std::string shortened(const std::string& name) {
  return name.size() <= kNameWidth ? name : name.substr(0, kNameWidth - 3) + "...";
}

std::string line_of(const VtaProfileRow& r) {
  return fmt::format("{:<{}} {:>5} {:>12} {:>6.1f} % {:>12} {:>12} {:>8.1f} % {}\n", shortened(r.name),
                     kNameWidth, r.runs, r.cycles, 100 * r.utilisation(), r.bytes, r.gemm_bound,
                     100 * ratio(r.roof(), r.cycles), r.gemm_bound >= r.bus_bound ? "products" : "bus");
}

nlohmann::ordered_json json_of(const VtaProfileRow& r) {
  return {{"name", r.name},          {"runs", r.runs},
          {"cycles", r.cycles},      {"utilisation", r.utilisation()},
          {"bytes", r.bytes},        {"gemm_bound", r.gemm_bound},
          {"bus_bound", r.bus_bound}};
}

// A plot with logarithmic axes from powers of ten to powers of ten.
class LogPlot {
 public:
  LogPlot(double x_least, double x_most, double y_least, double y_most)
      : x0_(std::floor(std::log10(x_least))),
        x1_(std::max(x0_ + 1, std::ceil(std::log10(x_most)))),
        y0_(std::floor(std::log10(y_least))),
        y1_(std::max(y0_ + 1, std::ceil(std::log10(y_most)))) {}

  double x_least() const { return std::pow(10, x0_); }
  double x_most() const { return std::pow(10, x1_); }
  double y_least() const { return std::pow(10, y0_); }

  void line(double xa, double ya, double xb, double yb) {
    body_ += fmt::format(
        "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#c33\" "
        "stroke-width=\"2\"/>\n",
        x(xa), y(ya), x(xb), y(yb));
  }
  void point(double px, double py, const std::string& label, const std::string& title) {
    body_ += fmt::format(
        "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"4\" fill=\"#25a\"><title>{2}</title></circle>\n"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
        x(px), y(py), title, x(px) + 6, y(py) - 5, label);
  }
  std::string svg(const std::string& x_title, const std::string& y_title) const {
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" height=\"{1}\" "
        "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{0}\" height=\"{1}\" fill=\"white\"/>\n",
        kWidth, kHeight);
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
    out += body_;
    out += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", kWidth / 2, kHeight - 8,
                       x_title);
    out += fmt::format(
        "<text x=\"14\" y=\"{0}\" text-anchor=\"middle\" transform=\"rotate(-90 14 {0})\">{1}</text>\n",
        kHeight / 2, y_title);
    return out + "</svg>\n";
  }

 private:
  static constexpr int kWidth = 720, kHeight = 440, kLeft = 64, kRight = 24, kTop = 20, kBottom = 48;

  double x(double value) const {
    return kLeft + (std::log10(value) - x0_) / (x1_ - x0_) * (kWidth - kLeft - kRight);
  }
  double y(double value) const {
    return kHeight - kBottom - (std::log10(value) - y0_) / (y1_ - y0_) * (kHeight - kTop - kBottom);
  }

  double x0_, x1_, y0_, y1_;  // exponents
  std::string body_;
};

}  // namespace

VtaProfile::VtaProfile(const driver::VtaProgram& program)
    : program_(program), timing_(program.schedule.timing) {
  for (size_t k = 0; k < program.parts.layers.size(); ++k) {
    const vta::DeviceLayer& layer = program.parts.layers[k];
    const driver::LayerRuns& runs = program.runs.at(k);
    if (runs.count == 0) continue;
    const vta::Cycles cycles = vta::count_cycles(program.layout, layer.code.instructions, timing_);
    VtaProfileRow row{.name = layer.name, .runs = runs.count};
    row.cycles = runs.count * cycles.total;
    row.gemm_bound = runs.count * runs.last.gemm * static_cast<uint64_t>(timing_.gemm_interval);
    for (const uint64_t bytes : runs.last.bytes) row.bytes += runs.count * bytes;
    row.bus_bound = row.bytes / static_cast<uint64_t>(timing_.bus_bytes);
    rows_.push_back(std::move(row));
  }
}

VtaProfileRow VtaProfile::total() const {
  VtaProfileRow out{.name = "all"};
  for (const VtaProfileRow& r : rows_) {
    out.runs += r.runs, out.cycles += r.cycles, out.bytes += r.bytes;
    out.gemm_bound += r.gemm_bound, out.bus_bound += r.bus_bound;
  }
  return out;
}

double VtaProfile::products_of_gemm() const {
  const vta::Params& p = program_.layout.params();
  return static_cast<double>(p.batch() * p.block() * p.block());
}

std::string VtaProfile::table() const {
  std::string out =
      fmt::format("{:<{}} {:>5} {:>12} {:>8} {:>12} {:>12} {:>10} {}\n", program_.target.text, kNameWidth,
                  "runs", "cycles", "GEMM", "bytes", "GEMM bound", "roofline", "bound by");
  for (const VtaProfileRow& r : rows_) out += line_of(r);
  const VtaProfileRow all = total();
  out += line_of(all);
  if (all.gemm_bound > 0)
    out +=
        fmt::format("the modelled time is {:.2f} times the GEMM bound\n", ratio(all.cycles, all.gemm_bound));
  if (const std::string left = vta_leftovers(program_, "  "); !left.empty())
    out += cat("stays on the CPU:\n", left);
  return out;
}

nlohmann::ordered_json VtaProfile::json() const {
  nlohmann::ordered_json out = {{"target", program_.target.text}};
  out["layers"] = nlohmann::ordered_json::array();
  for (const VtaProfileRow& r : rows_) out["layers"].push_back(json_of(r));
  out["total"] = json_of(total());
  out["cpu"] = nlohmann::ordered_json::array();
  const SourceMap& sources = program_.parts.module.context().sources();
  for (const vta::StaysOnCpu& left : program_.parts.left)
    out["cpu"].push_back({{"operator", left.what}, {"place", sources.place(left.span)}, {"why", left.why}});
  return out;
}

std::string VtaProfile::plot() const {
  const double peak = products_of_gemm() / static_cast<double>(timing_.gemm_interval),
               bus = static_cast<double>(timing_.bus_bytes), ridge = peak / bus;
  double x_least = ridge, x_most = ridge, y_least = peak;
  struct Point {
    double x, y;
  };
  std::vector<std::optional<Point>> points;
  for (const VtaProfileRow& r : rows_) {
    points.emplace_back();
    if (r.gemm_bound == 0) continue;  // it multiplies nothing
    const double products = static_cast<double>(r.gemm_bound) * peak;
    points.back() = Point{products / static_cast<double>(r.bytes), products / static_cast<double>(r.cycles)};
    x_least = std::min(x_least, points.back()->x), x_most = std::max(x_most, points.back()->x);
    y_least = std::min(y_least, points.back()->y);
  }
  LogPlot plot(x_least / 2, x_most * 2, std::min(y_least, x_least / 2 * bus), peak * 1.01);
  const double begin = std::max(plot.x_least(), plot.y_least() / bus);
  plot.line(begin, begin * bus, ridge, peak);
  plot.line(ridge, peak, plot.x_most(), peak);
  for (size_t i = 0; i < rows_.size(); ++i) {
    if (!points[i]) continue;
    const std::string& name = rows_[i].name;
    plot.point(points[i]->x, points[i]->y, html_text(name.substr(0, name.find(':'))), html_text(name));
  }
  return plot.svg("products per byte", "products per cycle");
}

}  // namespace relay::tools
