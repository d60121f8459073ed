// For tests: random instructions, and the parameters that tests go over.
#pragma once

#include <random>
#include <vector>

#include "vta/isa/fields.h"

namespace relay::vta::testing {

// The layout of parameters that have one.
inline Layout layout_of(const Params& params) {
  Diagnostics d;
  Result<Layout> layout = Layout::make(params, d);
  CHECK(layout.ok(), "these parameters have no instructions");
  return *layout;
}

// BLOCK 8, 16 and 32, BATCH 1 and 2, whole and halved scratchpads: those that have instructions.
// BLOCK 8 leaves room for scratchpads of half the size only.
inline std::vector<Params> usual_params() {
  const Params whole;
  Params half = {
      .log_uop_buff_size = 14, .log_inp_buff_size = 14, .log_wgt_buff_size = 17, .log_acc_buff_size = 16};
  Params small = {.log_block = 3, .log_inp_buff_size = 13, .log_wgt_buff_size = 15, .log_acc_buff_size = 15};
  Params large = {.log_block = 5};
  std::vector<Params> out = {whole, half, small, large};
  for (size_t i = 0, n = out.size(); i < n; i++) {
    out.push_back(out[i]);
    out.back().log_batch = 1;
  }
  return out;
}

// Every field has a random value; small ones and the largest are frequent.
template <class Record>
Record random_record(std::span<const Placed<Record>> fields, std::mt19937_64& random) {
  Record out;
  for (const Placed<Record>& at : fields) {
    const uint64_t range = static_cast<uint64_t>(at.most() - at.least()) + 1;
    const uint64_t choice = random() % 8;
    const uint64_t value = choice == 0 ? 0 : choice == 1 ? range - 1 : random() % range;
    at.field->set(out, at.least() + static_cast<int64_t>(value));
  }
  return out;
}

inline Instruction random_instruction(const Layout& layout, std::mt19937_64& random) {
  const auto opcode = static_cast<Opcode>(random() % kOpcodes);
  Instruction out = random_record(layout.fields(opcode), random);
  out.opcode = opcode;
  return out;
}

}  // namespace relay::vta::testing
