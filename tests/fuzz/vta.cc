#include "tests/fuzz/vta.h"

#include <algorithm>

#include "base/cat.h"
#include "base/check.h"
#include "tests/fuzz/run_program.h"
#include "tools/test_files/test_file.h"
#include "vta/isa/encode.h"
#include "vta/isa/testing.h"
#include "vta/isa/text.h"
#include "vta/sim/cycles.h"
#include "vta/sim/simulator.h"
#include "vta/sim/testing.h"

namespace relay::fuzz {
namespace {

using vta::Instruction;
using vta::MicroOp;
using Kind = Outcome::Kind;

// One buffer, which begins with micro-ops and goes on with numbers. The streams of the seeds have
// their tensors in it.
constexpr size_t kMemoryBytes = size_t{256} << 10;
constexpr uint64_t kMostOperations = uint64_t{1} << 16;
constexpr size_t kMicroOpsBytes = kVtaMicroOps * vta::kMicroOpBytes;

Outcome wrong(std::string what) { return {Kind::kWrong, std::move(what)}; }

const vta::Layout& default_layout() {
  static const vta::Layout layout = vta::testing::layout_of({});
  return layout;
}

vta::Simulator board(std::span<const uint8_t> micro_ops, std::optional<uint64_t> order) {
  vta::Simulator out(default_layout(), {.order = order, .most_operations = kMostOperations});
  Diagnostics d;
  const Result<uint64_t> begin = out.dram().allocate(kMemoryBytes, d);
  CHECK(begin.ok() && *begin == vta::Dram::kBegin, "the memory is not where the seeds look for it");
  uint8_t* to = out.dram().find(*begin, kMemoryBytes);
  for (size_t i = 0; i < kMemoryBytes; ++i) to[i] = static_cast<uint8_t>(i * 7);
  std::copy_n(micro_ops.begin(), std::min(micro_ops.size(), kMemoryBytes), to);
  return out;
}

// Runs the stream in two orders of engines, which have to agree, and counts its cycles.
Outcome run(std::span<const Instruction> stream, std::span<const uint8_t> micro_ops) {
  vta::Simulator simulator = board(micro_ops, std::nullopt), other = board(micro_ops, 1);
  const vta::Outcome outcome = simulator.run(stream), again = other.run(stream);
  Diagnostics d;
  if (outcome.refusal) report(*outcome.refusal, d);
  if (outcome.refusal.has_value() != again.refusal.has_value())
    return wrong("one order of engines is accepted, and another one refused");
  if (!outcome.refusal && simulator.dram().buffers() != other.dram().buffers())
    return wrong("two orders of engines give two results");
  const vta::Cycles cycles = count_cycles(default_layout(), stream, {});
  if (!outcome.refusal && cycles.refusal && cycles.refusal->slug != "vta-stall")
    return wrong(cat("the simulator runs it, and the cycle model refuses it: ", cycles.refusal->cause));
  return judge(!outcome.refusal, d, {});
}

// The number in the bits, as the fields of words have them: none crosses bit 64.
void set_bits(std::string& bytes, size_t at, int first, int width, uint64_t value) {
  for (int k = 0; k < width; ++k) {
    const size_t bit = static_cast<size_t>(first + k);
    const int mask = 1 << bit % 8;
    char& byte = bytes[at + bit / 8];
    byte = static_cast<char>((value >> k & 1) != 0 ? byte | mask : byte & ~mask);
  }
}

// A number near the one that is there, near an end, or any.
uint64_t changed(int64_t old, Random& random) {
  switch (random.below(4)) {
    case 0: return interesting_integer(random);
    case 1: return random.below(3);
    default: return static_cast<uint64_t>(old) + 2 * random.below(2) - 1;
  }
}

template <class Record>
void mutate_field(std::string& bytes, size_t at, std::span<const vta::Placed<Record>> fields,
                  const Record& record, Random& random) {
  const vta::Placed<Record>& placed = random.of(fields);
  set_bits(bytes, at, placed.first, placed.width, changed(placed.field->get(record), random));
}

std::span<const uint8_t> unsigned_bytes(std::string_view bytes) {
  return {reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()};
}

void injure(std::string& out, const std::string& other, Random& random) {
  constexpr size_t kSize = vta::kInstructionBytes;
  const auto place = [&](const std::string& stream) {
    return kMicroOpsBytes + random.below((stream.size() - kMicroOpsBytes) / kSize) * kSize;
  };
  if (out.size() < kMicroOpsBytes + kSize) return;
  const size_t at = place(out);
  std::string why;
  switch (random.below(8)) {
    case 0: out.erase(at, kSize); break;
    case 1: out.insert(at, other, place(other), kSize); break;
    case 2: {
      const std::string moved = out.substr(at, kSize);
      out.erase(at, kSize);
      out.insert(kMicroOpsBytes + random.below((out.size() - kMicroOpsBytes) / kSize + 1) * kSize, moved);
      break;
    }
    case 3: {
      const size_t word = random.below(kVtaMicroOps) * vta::kMicroOpBytes;
      const auto bytes = unsigned_bytes(out).subspan(word, vta::kMicroOpBytes);
      if (const auto micro_op = decode(default_layout(), vta::micro_op_word_of(bytes), why))
        mutate_field(out, word, default_layout().micro_op(), *micro_op, random);
      break;
    }
    default:
      const auto bytes = unsigned_bytes(out).subspan(at, kSize);
      if (const auto instruction = decode(default_layout(), vta::word_of(bytes), why))
        mutate_field(out, at, default_layout().fields(instruction->opcode), *instruction, random);
  }
}

// Streams that the board runs: matrix products and random programs. Each begins with the LOAD of
// its micro-ops.
std::vector<vta::Stream> streams() {
  std::vector<vta::Stream> out;
  std::mt19937_64 random(1);
  for (int k = 0; k < 12; ++k) {
    vta::Dram dram;
    vta::Stream& stream = out.emplace_back();
    stream.instructions =
        k < 4 ? vta::testing::matrix_product(default_layout(), {.rows = 4, .tile = 2, .buffers = 1 + k % 2},
                                             dram, random)
              : vta::testing::random_program(default_layout(), dram, random);
    Instruction& load = stream.instructions.front();
    const size_t bytes = size_t{load.x_size} * vta::kMicroOpBytes;
    const uint64_t address = uint64_t{load.dram_base} * vta::kMicroOpBytes;
    Diagnostics d;
    stream.micro_ops = *decode_micro_ops(default_layout(), {dram.find(address, bytes), bytes}, d);
    CHECK(stream.micro_ops.size() <= kVtaMicroOps, "a seed has too many micro-ops");
    load.dram_base = vta::Dram::kBegin / vta::kMicroOpBytes;
  }
  return out;
}

std::string bytes_of(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

}  // namespace

Outcome read_vta_config(std::string_view bytes) {
  Diagnostics d;
  const Result<vta::Params> params = vta::read_params(bytes, d);
  if (!params) return judge(false, d, {});
  const Result<vta::Params> again = vta::read_params(write_params(*params), d);
  if (!again || *again != *params)
    return wrong(cat("what it writes is something else:\n", write_params(*params), d.render({})));
  const Result<vta::Layout> layout = vta::Layout::make(*params, d);
  if (!layout) return judge(false, d, {});
  const Instruction finish;
  if (const vta::Outcome outcome = vta::Simulator(*layout).run({&finish, 1}); outcome.refusal)
    report(*outcome.refusal, d);
  return judge(true, d, {});
}

Outcome read_vta_assembly(std::string_view bytes) {
  const vta::Layout& layout = default_layout();
  SourceMap sources;
  Diagnostics d;
  const Result<vta::Stream> stream =
      assemble(layout, sources, sources.add("fuzz.vta", std::string(bytes)), d);
  if (!stream) return judge(false, d, sources);
  const std::string text = disassemble(*stream);
  const Result<vta::Stream> again = assemble(layout, sources, sources.add("printed", text), d);
  if (!again || *again != *stream) return wrong(cat("what it prints is something else:\n", text));
  const Result<std::vector<uint8_t>> words =
      encode(layout, std::span<const Instruction>(stream->instructions), d);
  const Result<std::vector<uint8_t>> micro_ops =
      encode(layout, std::span<const MicroOp>(stream->micro_ops), d);
  if (!words || !micro_ops) return wrong("what was assembled has no bits:\n" + d.render(sources));
  const Result<std::vector<Instruction>> decoded = decode_instructions(layout, *words, d);
  if (!decoded || *decoded != stream->instructions) return wrong("its bits are another stream:\n" + text);
  return run(stream->instructions, *micro_ops);
}

Outcome read_vta_stream(std::string_view bytes) {
  const auto all = unsigned_bytes(bytes);
  const auto micro_ops = all.first(std::min(kMicroOpsBytes, all.size())),
             words = all.subspan(micro_ops.size());
  Diagnostics d, of_micro_ops;
  if (const Result<std::vector<MicroOp>> read = decode_micro_ops(default_layout(), micro_ops, of_micro_ops)) {
    const Result<std::vector<uint8_t>> again =
        encode(default_layout(), std::span<const MicroOp>(*read), of_micro_ops);
    if (!again || !std::ranges::equal(*again, micro_ops)) return wrong("its micro-ops have other bits");
  }
  const Result<std::vector<Instruction>> stream = decode_instructions(default_layout(), words, d);
  if (!stream) return judge(false, d, {});
  const Result<std::vector<uint8_t>> again =
      encode(default_layout(), std::span<const Instruction>(*stream), d);
  if (!again || !std::ranges::equal(*again, words)) return wrong("its instructions have other bits");
  return run(*stream, micro_ops);
}

std::string mutate_vta_stream(const std::string& stream, const Seeds& seeds, Random& random) {
  std::string out = stream;
  for (size_t injuries = 1 + random.below(2) * random.below(4); injuries > 0; --injuries)
    injure(out, random.of(seeds), random);
  return out;
}

const Seeds& vta_config_seeds() {
  static const Seeds seeds = [] {
    Seeds out{"{}", R"({"TARGET": "pynq", "HW_VER": "0.0.1", "LOG_INP_WIDTH": 3, "LOG_BATCH": 1})"};
    for (const vta::Params& params : vta::testing::usual_params()) out.push_back(write_params(params));
    return out;
  }();
  return seeds;
}

const Seeds& vta_assembly_seeds() {
  static const Seeds seeds = [] {
    Seeds out;
    for (const vta::Stream& stream : streams()) out.push_back(disassemble(stream));
    for (const std::string& path : tools::test_files_beneath("tests/golden/vta")) {
      const tools::TestFile file = tools::read_test_file(path);
      if (const std::string* text = file.find("assembly")) out.push_back(*text);
    }
    return out;
  }();
  return seeds;
}

const Seeds& vta_stream_seeds() {
  static const Seeds seeds = [] {
    Seeds out;
    for (const vta::Stream& stream : streams()) {
      Diagnostics d;
      std::vector<MicroOp> micro_ops = stream.micro_ops;
      micro_ops.resize(kVtaMicroOps);
      out.push_back(
          bytes_of(*encode(default_layout(), std::span<const MicroOp>(micro_ops), d)) +
          bytes_of(*encode(default_layout(), std::span<const Instruction>(stream.instructions), d)));
    }
    return out;
  }();
  return seeds;
}

}  // namespace relay::fuzz
