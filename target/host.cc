#include "target/host.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/cat.h"
#include "base/check.h"
#include "base/file.h"
#include "target/instructions.h"
#include "target/machines.h"
#include "target/system.h"

namespace relay::target {
namespace {

// Code for aarch64 needs nothing that a processor of that instruction set could lack.
bool has(std::string_view name) {
  for (const InstructionSet& s : instruction_sets()) {
    if (s.name == name) return s.is_here && s.is_here();
  }
  return false;
}

constexpr std::string_view kHowTo = "`relay doctor --measure` writes it again";

}  // namespace

std::string processor_name() {
  std::ifstream cpuinfo("/proc/cpuinfo");
  return name_in_cpuinfo({std::istreambuf_iterator<char>(cpuinfo), {}});
}

int64_t cache_bytes(int level) {
  CHECK(level >= 1 && level <= 3, cat("a cache of level ", level));
  constexpr int kNames[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE, _SC_LEVEL3_CACHE_SIZE};
  // The C library asks processors of x86-64, and knows nothing of others.
  const int64_t bytes = sysconf(kNames[level - 1]);
  return bytes > 0 ? bytes : cache_in_sysfs("/sys/devices/system/cpu/cpu0/cache", level);
}

std::string numbers_of_system() {
  std::vector<std::string> out;
  for (int level : {1, 2}) {
    if (const int64_t kib = cache_bytes(level) / 1024; kib > 0) out.push_back(cat("l", level, "=", kib, "K"));
  }
  return join(out, ",");
}

std::string measured_file() {
  const std::string cache = cache_folder();
  return cache.empty() ? "" : cache + "/processor.txt";
}

std::string save_measured(const std::string& numbers) {
  if (measured_file().empty())
    return "there is no place to keep what was measured: neither XDG_CACHE_HOME nor HOME is set";
  if (std::string wrong = make_folders(cache_folder()); !wrong.empty()) return wrong;
  return write_file_atomically(measured_file(), cat(processor_name(), "\n", numbers, "\n"));
}

Measured measured_numbers() {
  std::string text;
  if (measured_file().empty() || !read_file(measured_file(), 1 << 16, text).empty()) return {};
  const size_t line = text.find('\n');
  if (text.substr(0, line) != processor_name())
    return {{}, cat(measured_file(), " is of another processor: ", kHowTo)};
  std::string numbers = text.substr(line == std::string::npos ? text.size() : line + 1);
  if (numbers.ends_with('\n')) numbers.pop_back();
  if (numbers.empty()) return {};
  if (std::string wrong = wrong_target(cat(baseline(kHere).text, "{", numbers, "}")); !wrong.empty())
    return {{}, cat(measured_file(), ": ", wrong, "; ", kHowTo)};
  return {numbers, {}};
}

std::string first_missing(std::span<const std::string> needs) {
  const auto missing = std::find_if(needs.begin(), needs.end(), [](const std::string& n) { return !has(n); });
  return missing == needs.end() ? std::string() : *missing;
}

std::string lacks_for(std::string_view target, std::span<const std::string> needs) {
  const std::string missing = first_missing(needs);
  return missing.empty() ? missing
                         : cat("this processor has no ", missing, ", which the target `", target, "` needs");
}

std::string cannot_run(const Target& target) {
  if (target.gpu) return cat("`", target.text, "` is a GPU, and this engine runs on processors");
  if (target.vta)
    return cat("`", target.text, "` has an accelerator, and this engine runs on processors: ",
               "the engine `vta` runs it on a simulator");
  if (target.cpu.isa != kHere)
    return cat("this is no ", target.cpu.isa == Isa::kAarch64 ? "aarch64" : "x86-64", " machine, as `",
               target.text, "` needs: `relay compile` makes code for it");
  return lacks_for(target.text, needs(target.cpu));
}

}  // namespace relay::target
