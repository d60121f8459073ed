// Texts of targets: a machine of the table, and numbers that differ from it in braces.
#include <algorithm>
#include <array>
#include <charconv>

#include "base/cat.h"
#include "base/check.h"
#include "base/nearest.h"
#include "target/host.h"
#include "target/machines.h"
#include "target/target.h"

namespace relay::target {
namespace {

constexpr std::string_view kNative = "native";

// A number of a processor that a text may set.
struct Number {
  std::string_view name;
  int64_t least, most;
  int64_t& (*of)(Cpu& cpu);
};

constexpr int64_t kMostBytes = int64_t{1} << 40;

// In the order in which canonical texts have them.
constexpr std::array kNumbers = {
    Number{"line", 16, 4096, [](Cpu& c) -> int64_t& { return c.line_bytes; }},
    Number{"l1", 1 << 10, kMostBytes, [](Cpu& c) -> int64_t& { return c.l1.bytes; }},
    Number{"l2", 1 << 10, kMostBytes, [](Cpu& c) -> int64_t& { return c.l2.bytes; }},
    Number{"l3", 1 << 10, kMostBytes, [](Cpu& c) -> int64_t& { return c.l3.bytes; }},
    Number{"l1-rate", 1, 4096, [](Cpu& c) -> int64_t& { return c.l1.bytes_per_cycle; }},
    Number{"l2-rate", 1, 4096, [](Cpu& c) -> int64_t& { return c.l2.bytes_per_cycle; }},
    Number{"l3-rate", 1, 4096, [](Cpu& c) -> int64_t& { return c.l3.bytes_per_cycle; }},
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

// `l1=48K`: sets it, or returns what is wrong.
std::string set_number(std::string_view assignment, Cpu& cpu) {
  const size_t equals = assignment.find('=');
  const std::string name(assignment.substr(0, equals));
  const auto* number =
      std::find_if(kNumbers.begin(), kNumbers.end(), [&](const Number& n) { return n.name == name; });
  if (number == kNumbers.end())
    return no_such("number of a target", name, names_of(kNumbers, [](const Number& n) { return n.name; }));
  if (equals == std::string_view::npos) return cat("`", name, "` has no value: ", name, "=32K");
  const std::string_view text = assignment.substr(equals + 1);
  const std::optional<int64_t> value = read_number(text);
  if (!value || *value < number->least || *value > number->most)
    return cat("`", name, "` cannot be `", text, "`: it is a number from ", show_number(number->least),
               " to ", show_number(number->most));
  number->of(cpu) = *value;
  return {};
}

// `l1=48K,l2=2M`: sets them, or returns what is wrong.
std::string set_numbers(std::string_view assignments, Cpu& cpu) {
  while (true) {
    const size_t comma = assignments.find(',');
    if (std::string wrong = set_number(assignments.substr(0, comma), cpu); !wrong.empty()) return wrong;
    if (comma == std::string_view::npos) return {};
    assignments.remove_prefix(comma + 1);
  }
}

// The text of the machine with the numbers that differ from it.
std::string canonical(const Machine& machine, Cpu cpu) {
  Cpu usual = machine.cpu;
  std::vector<std::string> differ;
  for (const Number& n : kNumbers) {
    if (n.of(cpu) != n.of(usual)) differ.push_back(cat(n.name, "=", show_number(n.of(cpu))));
  }
  return differ.empty() ? std::string(machine.name) : cat(machine.name, "{", join(differ, ","), "}");
}

Target of_machine(const Machine& m) { return {std::string(m.name), m.cpu, m.gpu}; }

// The best machine of the table that this one is, so that an artifact says exactly what it needs.
const Machine& native_machine() {
  static const Machine* const found = [] {
    const Machine* best = nullptr;
    for (const Machine& m : machines()) {
      if (!m.gpu && cannot_run(of_machine(m)).empty()) best = &m;
    }
    CHECK(best, "the table has the least of each instruction set");
    return best;
  }();
  return *found;
}

// What was measured is read once, so that a process has one `native`.
const Cpu& native_cpu() {
  static const Cpu found = [] {
    Cpu out = native_machine().cpu;
    const std::string numbers = measured_numbers().numbers;
    const std::string wrong = numbers.empty() ? "" : set_numbers(numbers, out);
    CHECK(wrong.empty(), wrong);
    return out;
  }();
  return found;
}

// The target, or nothing and what is wrong.
std::optional<Target> parse(std::string_view text, std::string& wrong) {
  const size_t brace = text.find('{');
  const std::string_view name = text.substr(0, brace);
  const bool is_native = name == kNative || name == "cpu:native" || name == "cpu" || name.empty();
  const Machine* machine = is_native ? &native_machine() : find_machine(name);
  if (!machine) {
    wrong = no_such("target", std::string(name), all_names());
    return std::nullopt;
  }
  Target out = of_machine(*machine);
  if (is_native) out.cpu = native_cpu();
  if (brace != std::string_view::npos) {
    const std::string_view rest = text.substr(brace + 1);
    if (!rest.ends_with('}')) {
      wrong = cat("the target `", text, "` has no closing brace");
    } else if (machine->gpu) {
      wrong = cat("the target `", text, "` is a GPU, of which no numbers can be set");
    } else {
      wrong = set_numbers(rest.substr(0, rest.size() - 1), out.cpu);
    }
    if (!wrong.empty()) return std::nullopt;
  }
  out.text = canonical(*machine, out.cpu);
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
    if (!m.gpu && m.cpu.isa == native_machine().cpu.isa) out.emplace_back(m.name);
  }
  return out;
}

std::vector<std::string> all_names() {
  std::vector<std::string> out{std::string(kNative)};
  for (const Machine& m : machines()) out.emplace_back(m.gpu ? m.name : m.short_name);
  return out;
}

Target baseline(Isa isa) {
  const auto all = machines();
  return of_machine(
      *std::find_if(all.begin(), all.end(), [&](const Machine& m) { return m.cpu.isa == isa; }));
}

Target default_target() { return of_machine(*find_machine(kUsualCpu)); }

}  // namespace relay::target
