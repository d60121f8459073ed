// Which tiles a contraction is computed in (contraction.cc), and which operand is packed first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernel/schedule/stage.h"
#include "target/target.h"

namespace relay::kernel::schedule::cpu {

struct ContractionPlan {
  size_t row = 0;  // the axis of rows; unused if there are none
  bool has_rows = false;
  size_t columns = 0;  // the first axis of the columns, which go to the last
  Expr packed = {};    // the operand to pack; null to read it where it is
  int64_t tile_rows = 1, tile_vectors = 1;
};

// Nothing if the stage is no contraction, or has too few columns for vectors of float32.
std::optional<ContractionPlan> find_contraction_plan(const Stage& s, const target::Cpu& cpu);

}  // namespace relay::kernel::schedule::cpu
