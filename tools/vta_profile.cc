#include "tools/vta_profile.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "tools/log_plot.h"
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
    plot.point(points[i]->x, points[i]->y, name.substr(0, name.find(':')), name);
  }
  return plot.svg("products per byte", "products per cycle");
}

}  // namespace relay::tools
