// Texts of targets: a machine of the table, and numbers that differ from it in braces.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <span>

#include "base/cat.h"
#include "base/check.h"
#include "base/nearest.h"
#include "target/host.h"
#include "target/machines.h"
#include "target/target.h"

namespace relay::target {
namespace {

constexpr std::string_view kNative = "native";

constexpr std::string_view kHost = "host";  // `vta{host=avx2}`: the processor beside the device

// A number that a text may set.
struct Number {
  std::string_view name;
  int64_t least, most;
  bool power;                      // of two
  int64_t* (*of)(Target& target);  // null if such a target does not have it
};

constexpr int64_t kMostBytes = int64_t{1} << 40;
constexpr int64_t kMostScratchpad = int64_t{1} << 24;

template <int64_t Vta::* Member>
int64_t* of_vta(Target& t) {
  return t.vta ? &(*t.vta.*Member) : nullptr;
}

// In the order in which canonical texts have them.
constexpr std::array kNumbers = {
    Number{"batch", 1, 16, true, of_vta<&Vta::batch>},
    Number{"block", 4, 64, true, of_vta<&Vta::block>},
    Number{"uop", 4, kMostScratchpad, true, of_vta<&Vta::uop_bytes>},
    Number{"inp", 4, kMostScratchpad, true, of_vta<&Vta::inp_bytes>},
    Number{"wgt", 4, kMostScratchpad, true, of_vta<&Vta::wgt_bytes>},
    Number{"acc", 4, kMostScratchpad, true, of_vta<&Vta::acc_bytes>},
    Number{"threads", 1, 2, false, of_vta<&Vta::threads>},
    Number{"line", 16, 4096, false, [](Target& t) { return &t.cpu.line_bytes; }},
    Number{"l1", 1 << 10, kMostBytes, false, [](Target& t) { return &t.cpu.l1.bytes; }},
    Number{"l2", 1 << 10, kMostBytes, false, [](Target& t) { return &t.cpu.l2.bytes; }},
    Number{"l3", 1 << 10, kMostBytes, false, [](Target& t) { return &t.cpu.l3.bytes; }},
    Number{"l1-rate", 1, 4096, false, [](Target& t) { return &t.cpu.l1.bytes_per_cycle; }},
    Number{"l2-rate", 1, 4096, false, [](Target& t) { return &t.cpu.l2.bytes_per_cycle; }},
    Number{"l3-rate", 1, 4096, false, [](Target& t) { return &t.cpu.l3.bytes_per_cycle; }},
};

struct Unit {
  char letter;
  int shift;
};
constexpr std::array kUnits = {Unit{'G', 30}, Unit{'M', 20}, Unit{'K', 10}};

std::string show_number(int64_t value) {
  for (const Unit& u : kUnits) {
    if (value > 0 && value % (int64_t{1} << u.shift) == 0) return cat(value >> u.shift, u.letter);
  }
  return cat(value);
}

// 512, 48K, 2M, 1G. Nothing if the text is no such number.
std::optional<int64_t> read_number(std::string_view text) {
  int shift = 0;
  for (const Unit& u : kUnits) {
    if (!text.empty() && text.back() == u.letter) shift = u.shift;
  }
  if (shift != 0) text.remove_suffix(1);
  int64_t value = 0;
  const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (wrong != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  if (__builtin_mul_overflow(value, int64_t{1} << shift, &value)) return std::nullopt;
  return value;
}

// What braces may set of the target.
std::vector<std::string> settings_of(Target& target) {
  std::vector<std::string> out;
  if (target.vta) out.emplace_back(kHost);
  for (const Number& n : kNumbers) {
    if (n.of(target)) out.emplace_back(n.name);
  }
  return out;
}

// `l1=48K`: sets it, or returns what is wrong.
std::string set_number(std::string_view assignment, Target& target) {
  const size_t equals = assignment.find('=');
  const std::string name(assignment.substr(0, equals));
  const auto* number = std::find_if(kNumbers.begin(), kNumbers.end(),
                                    [&](const Number& n) { return n.name == name && n.of(target); });
  if (number == kNumbers.end()) return no_such("number of a target", name, settings_of(target));
  if (equals == std::string_view::npos)
    return cat("`", name, "` has no value: ", name, "=", show_number(*number->of(target)));
  const std::string_view text = assignment.substr(equals + 1);
  const std::optional<int64_t> value = read_number(text);
  if (!value || *value < number->least || *value > number->most ||
      (number->power && !std::has_single_bit(static_cast<uint64_t>(*value))))
    return cat("`", name, "` cannot be `", text, "`: it is a ", number->power ? "power of two" : "number",
               " from ", show_number(number->least), " to ", show_number(number->most));
  *number->of(target) = *value;
  return {};
}

// `l1=48K,l2=2M`: sets them, or returns what is wrong.
std::string set_numbers(std::span<const std::string_view> assignments, Target& target) {
  for (std::string_view assignment : assignments) {
    if (std::string wrong = set_number(assignment, target); !wrong.empty()) return wrong;
  }
  return {};
}

std::vector<std::string_view> split_assignments(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const size_t comma = text.find(',');
    out.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return out;
    text.remove_prefix(comma + 1);
  }
}

Target of_machine(const Machine& m) { return {std::string(m.name), m.cpu, m.gpu, m.vta}; }

// The processor of the table that is this one, but for its numbers.
const Machine& machine_of(const Cpu& cpu) {
  const auto all = machines();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Machine& m) {
    return m.is_processor() && m.cpu.isa == cpu.isa && m.cpu.features == cpu.features &&
           m.cpu.vector_bytes == cpu.vector_bytes;
  });
  CHECK(found != all.end(), "texts make no other processors");
  return *found;
}

// The text of the machine with what differs from it. The processor beside a VTA is in the text, so
// that it means the same everywhere.
std::string canonical(const Machine& machine, Target target) {
  Target usual = of_machine(machine);
  std::vector<std::string> differ;
  if (target.vta) {
    const Machine& host = machine_of(target.cpu);
    usual.cpu = host.cpu;
    differ.push_back(cat(kHost, "=", host.short_name));
  }
  for (const Number& n : kNumbers) {
    const int64_t* value = n.of(target);
    if (value && *value != *n.of(usual)) differ.push_back(cat(n.name, "=", show_number(*value)));
  }
  return differ.empty() ? std::string(machine.name) : cat(machine.name, "{", join(differ, ","), "}");
}

// The best machine of the table that this one is, so that an artifact says exactly what it needs.
const Machine& native_machine() {
  static const Machine* const found = [] {
    const Machine* best = nullptr;
    for (const Machine& m : machines()) {
      if (m.is_processor() && cannot_run(of_machine(m)).empty()) best = &m;
    }
    CHECK(best, "the table has the least of each instruction set");
    return best;
  }();
  return *found;
}

// What was measured is read once, so that a process has one `native`.
const Cpu& native_cpu() {
  static const Cpu found = [] {
    Target out = of_machine(native_machine());
    const std::string numbers = measured_numbers().numbers;
    const std::string wrong = numbers.empty() ? "" : set_numbers(split_assignments(numbers), out);
    CHECK(wrong.empty(), wrong);
    return out.cpu;
  }();
  return found;
}

// The processor of a name; null if it is none.
const Cpu* processor(std::string_view name) {
  if (name == kNative || name == "cpu:native" || name == "cpu" || name.empty()) return &native_cpu();
  const Machine* machine = find_machine(name);
  return machine && machine->is_processor() ? &machine->cpu : nullptr;
}

// The host comes first, wherever it stands: the numbers are its own.
std::string set_host(std::vector<std::string_view>& assignments, Target& target) {
  const std::string start = cat(kHost, "=");
  for (auto it = assignments.begin(); it != assignments.end();) {
    if (*it == kHost) return cat("`", kHost, "` has no value: ", start, kNative);
    if (!it->starts_with(start)) {
      ++it;
      continue;
    }
    const std::string name(it->substr(start.size()));
    const Cpu* cpu = name.empty() ? nullptr : processor(name);
    if (!cpu) {
      std::vector<std::string> names{std::string(kNative)};
      for (const Machine& m : machines()) {
        if (m.is_processor()) names.emplace_back(m.short_name);
      }
      return no_such("host", name, names);
    }
    target.cpu = *cpu;
    it = assignments.erase(it);
  }
  return {};
}

// The target, or nothing and what is wrong.
std::optional<Target> parse(std::string_view text, std::string& wrong) {
  const size_t brace = text.find('{');
  const std::string_view name = text.substr(0, brace);
  const Cpu* cpu = processor(name);
  const Machine* machine = cpu ? &machine_of(*cpu) : find_machine(name);
  if (!machine) {
    wrong = no_such("target", std::string(name), all_names());
    return std::nullopt;
  }
  Target out = of_machine(*machine);
  if (cpu) out.cpu = *cpu;
  if (out.vta) out.cpu = native_cpu();
  if (brace != std::string_view::npos) {
    const std::string_view rest = text.substr(brace + 1);
    if (!rest.ends_with('}')) {
      wrong = cat("the target `", text, "` has no closing brace");
    } else if (machine->gpu) {
      wrong = cat("the target `", text, "` is a GPU, of which no numbers can be set");
    } else {
      std::vector<std::string_view> assignments = split_assignments(rest.substr(0, rest.size() - 1));
      if (out.vta) wrong = set_host(assignments, out);
      if (wrong.empty()) wrong = set_numbers(assignments, out);
    }
    if (!wrong.empty()) return std::nullopt;
  }
  out.text = canonical(*machine, out);
  return out;
}

}  // namespace

Result<Target> parse_target(std::string_view text, Diagnostics& diagnostics) {
  std::string wrong;
  if (std::optional<Target> out = parse(text, wrong)) return std::move(*out);
  diagnostics.error(Span::none(), "bad-target", wrong);
  return kReported;
}

std::string wrong_target(std::string_view text) {
  std::string wrong;
  parse(text, wrong);
  return wrong;
}

Target target_of(std::string_view text) {
  std::string wrong;
  std::optional<Target> out = parse(text, wrong);
  CHECK(out, wrong);
  return std::move(*out);
}

std::vector<std::string> native_names() {
  std::vector<std::string> out;
  for (const Machine& m : machines()) {
    if (m.is_processor() && m.cpu.isa == native_machine().cpu.isa) out.emplace_back(m.name);
  }
  return out;
}

std::vector<std::string> all_names() {
  std::vector<std::string> out{std::string(kNative)};
  for (const Machine& m : machines()) out.emplace_back(m.is_processor() ? m.short_name : m.name);
  return out;
}

Target host_of(const Target& target) {
  const Machine& machine = machine_of(target.cpu);
  Target out{{}, target.cpu};
  out.text = canonical(machine, out);
  return out;
}

Target with_vta(const Target& target) {
  const Machine& machine = *find_machine(kUsualVta);
  Target out = of_machine(machine);
  out.cpu = target.cpu;
  out.text = canonical(machine, out);
  return out;
}

Target baseline(Isa isa) {
  const auto all = machines();
  return of_machine(
      *std::find_if(all.begin(), all.end(), [&](const Machine& m) { return m.cpu.isa == isa; }));
}

Target default_target() { return of_machine(*find_machine(kUsualCpu)); }

}  // namespace relay::target
