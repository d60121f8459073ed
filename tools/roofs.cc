#include "tools/roofs.h"

#include <fmt/format.h>
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/cat.h"
#include "base/file.h"
#include "base/json_text.h"
#include "base/parallel.h"
#include "target/host.h"
#include "toolchain/compiler.h"

namespace relay::tools {
namespace {

constexpr int kVersion = 1;  // of the file
constexpr std::string_view kHowTo = "`relay doctor --measure` measures it";

nlohmann::ordered_json to_json(const Roofs& r) {
  nlohmann::ordered_json j = {{"version", kVersion},    {"processor", r.processor}, {"cores", r.cores},
                              {"trials", r.trials},     {"disturbed", r.disturbed}, {"l1_bytes", r.l1_bytes},
                              {"l2_bytes", r.l2_bytes}, {"l3_bytes", r.l3_bytes}};
  j["peaks"] = nlohmann::ordered_json::array();
  for (const Peak& p : r.peaks) {
    j["peaks"].push_back({{"target", p.target},
                          {"operation", p.operation},
                          {"one_core_gops", p.rate.one},
                          {"all_cores_gops", p.rate.all}});
  }
  j["reads"] = nlohmann::ordered_json::array();
  for (const Reading& read : r.readings) {
    j["reads"].push_back(
        {{"bytes", read.bytes}, {"one_core_gbs", read.rate.one}, {"all_cores_gbs", read.rate.all}});
  }
  return j;
}

// Throws nlohmann::json::exception where the file is not ours.
Roofs from_json(const nlohmann::json& j) {
  Roofs r;
  r.processor = j.at("processor");
  r.cores = j.at("cores");
  r.trials = j.at("trials");
  r.disturbed = j.at("disturbed");
  r.l1_bytes = j.at("l1_bytes");
  r.l2_bytes = j.at("l2_bytes");
  r.l3_bytes = j.at("l3_bytes");
  for (const auto& p : j.at("peaks"))
    r.peaks.push_back({p.at("target"), p.at("operation"), {p.at("one_core_gops"), p.at("all_cores_gops")}});
  for (const auto& read : j.at("reads"))
    r.readings.push_back({read.at("bytes"), {read.at("one_core_gbs"), read.at("all_cores_gbs")}});
  return r;
}

double of_threads(const Rate& rate, unsigned threads) {
  return threads <= 1 ? rate.one : std::min(rate.one * threads, rate.all);
}

std::string size_text(double bytes) {
  if (bytes >= 1 << 30) return fmt::format("{:g} GiB", bytes / (1 << 30));
  return bytes >= 1 << 20 ? fmt::format("{:g} MiB", bytes / (1 << 20))
                          : fmt::format("{:g} KiB", bytes / 1024);
}

}  // namespace

// Of the longest vectors up to the target's: what a target shares with a lesser one is listed once.
double Roofs::peak(const target::Target& target, unsigned threads) const {
  double out = 0;
  for (const Peak& p : peaks) {
    if (p.operation.starts_with("float32") && target::wrong_target(p.target).empty() &&
        target::target_of(p.target).cpu.vector_bytes <= target.cpu.vector_bytes)
      out = of_threads(p.rate, threads);
  }
  return out;
}

double Roofs::bandwidth(double bytes, unsigned threads) const {
  double best = 0;
  for (size_t i = 0; i < readings.size(); ++i) {
    // From the largest set that is no larger; larger ones are as fast at least where noise
    // made them faster.
    const bool is_smaller = i + 1 < readings.size() && readings[i + 1].bytes <= bytes;
    if (!is_smaller) best = std::max(best, of_threads(readings[i].rate, threads));
  }
  return best;
}

std::string roofs_file() {
  const std::string cache = cache_folder();
  return cache.empty() ? "" : cache + "/roofs.json";
}

std::string save_roofs(const Roofs& roofs) {
  if (roofs_file().empty())
    return "there is no place to keep the roofs: neither XDG_CACHE_HOME nor HOME is set";
  if (std::string wrong = make_folders(cache_folder()); !wrong.empty()) return wrong;
  return write_file_atomically(roofs_file(), json_of(roofs) + "\n");
}

std::string load_roofs(Roofs& out) {
  std::string text;
  if (roofs_file().empty() || !read_file(roofs_file(), 1 << 20, text).empty())
    return cat("this machine's roof is not measured: ", kHowTo);
  try {
    const nlohmann::json j = nlohmann::json::parse(text);
    if (j.at("version") != kVersion) return cat(roofs_file(), " is of another version: ", kHowTo);
    out = from_json(j);
  } catch (const nlohmann::json::exception&) {
    return cat(roofs_file(), " does not hold what Relay wrote: ", kHowTo);
  }
  const unsigned cores = usable_cores();
  if (out.processor == target::processor_name() && out.cores == cores) return {};
  return cat("the roof was measured on ", out.cores, " cores of ", out.processor, ", this is ", cores, " of ",
             target::processor_name(), ": ", kHowTo);
}

std::string show(const Roofs& r) {
  std::string out = fmt::format("{}, best of {} trials\n{:<34} {:>10} {:>12}\n", r.processor, r.trials, "",
                                "one core", r.cores == 1 ? "" : cat("all ", r.cores, " cores"));
  const auto line = [&](const std::string& what, const Rate& rate, std::string_view unit) {
    out += fmt::format("{:<34} {:>10.1f} {:>12} {}\n", what, rate.one,
                       r.cores == 1 ? std::string() : fmt::format("{:.1f}", rate.all), unit);
  };
  for (const Peak& p : r.peaks) line(cat(p.target, " ", p.operation), p.rate, "Gop/s");
  // A set of half a cache's size is in it; the largest that was measured is in memory.
  const auto read = [&](std::string_view name, double capacity) {
    const Reading* inside = nullptr;
    for (const Reading& m : r.readings) {
      if (m.bytes <= capacity / 2) inside = &m;
    }
    if (!inside) return;
    const std::string size = capacity < 1e300 ? cat(" of ", size_text(capacity)) : std::string();
    line(fmt::format("read {}{} (in {})", name, size, size_text(inside->bytes)), inside->rate, "GB/s");
  };
  if (r.l1_bytes > 0) read("L1", r.l1_bytes);
  if (r.l2_bytes > 0) read("L2", r.l2_bytes);
  if (r.l3_bytes > 0) read("L3", r.l3_bytes);
  read("memory", 1e301);
  if (r.disturbed > 0.05) {
    out +=
        fmt::format("others had the cores for {:.0f} % of the time: caches and memory were not ours alone\n",
                    100 * r.disturbed);
  }
  return out;
}

std::string json_of(const Roofs& roofs) { return json_text(to_json(roofs), 1); }

}  // namespace relay::tools
