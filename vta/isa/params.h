// The parameters of a VTA: how wide its numbers are, how large its products and its scratchpads.
//
// Each parameter is a logarithm to base 2, as the published configuration files have it. The
// widths of instruction fields follow from them, so not all choices have instructions
// (fields.h, `Layout`).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/cat.h"
#include "base/diagnostics.h"
#include "base/result.h"

namespace relay::vta {

// What LOAD and STORE move. The numbers are those of the field `memory`.
enum class Memory : uint8_t {
  kUop,   // micro-ops
  kWgt,   // weight tiles: BLOCK x BLOCK, output channel outermost
  kInp,   // input vectors: BATCH x BLOCK
  kAcc,   // accumulator vectors: BATCH x BLOCK
  kOut,   // accumulator vectors, narrowed to the width of results on their way to DRAM
  kAcc8,  // accumulator vectors, widened from bytes on their way from DRAM
};
inline constexpr int kMemories = 6;

// The memory whose scratchpad this one is in.
constexpr Memory scratchpad_of(Memory memory) {
  return memory == Memory::kOut || memory == Memory::kAcc8 ? Memory::kAcc : memory;
}
inline constexpr Memory kScratchpads[] = {Memory::kUop, Memory::kWgt, Memory::kInp, Memory::kAcc};

struct Params {
  std::string target = "sim", hw_ver = "0.0.2";  // labels, which nothing depends on
  int log_inp_width = 3, log_wgt_width = 3, log_acc_width = 5, log_out_width = 3;  // of bits
  int log_batch = 0, log_block = 4;
  int log_uop_buff_size = 15, log_inp_buff_size = 15;  // of bytes
  int log_wgt_buff_size = 18, log_acc_buff_size = 17;

  int64_t batch() const { return int64_t{1} << log_batch; }
  int64_t block() const { return int64_t{1} << log_block; }
  // Bytes of one element of the memory: in DRAM, whose addresses in instructions count these.
  int log_dram_bytes(Memory memory) const;
  int64_t dram_bytes(Memory memory) const { return int64_t{1} << log_dram_bytes(memory); }
  // Elements of its scratchpad.
  int log_depth(Memory memory) const;
  int64_t depth(Memory memory) const { return int64_t{1} << log_depth(memory); }

  friend bool operator==(const Params&, const Params&) = default;
};

// One row for each number of a record: its key in files and messages, its range, what it is.
template <class Record, class Number>
struct NumberRow {
  std::string_view key;
  Number Record::* member;
  Number least, most;
  std::string_view doc;
};
using ParamRow = NumberRow<Params, int>;
std::span<const ParamRow> param_rows();

// Reports "vta-parameters" for each number that is out of its range.
template <class Record, class Number>
bool check_ranges(std::span<const NumberRow<Record, Number>> rows, const Record& record, Diagnostics& d) {
  const size_t before = d.errors();
  for (const auto& row : rows) {
    const Number value = record.*row.member;
    if (value < row.least || value > row.most)
      d.error(Span::none(), "vta-parameters",
              cat("`", row.key, "` is ", value, ", and has to be ", row.least, " to ", row.most));
  }
  return d.errors() == before;
}

// Reads the text of a vta_config.json. Reports "vta-parameters" with the key that is wrong. A key
// that is absent has its default; LOG_OUT_WIDTH has that of LOG_INP_WIDTH.
Result<Params> read_params(std::string_view json, Diagnostics& diagnostics);
std::string write_params(const Params& params);

// Reports "vta-parameters" for each number that is out of its range, and for a scratchpad of fewer
// than two elements.
bool check_params(const Params& params, Diagnostics& diagnostics);

}  // namespace relay::vta
