// Products of an input vector and a weight tile: the part of the simulator that takes the time.
//
// Each kind of processor has its own arithmetic, and wants operands in its own form. All of them
// give the same bits: sums keep their low 32 bits.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "vta/isa/fields.h"

namespace relay::vta {

// A GEMM instruction whose indices are known to be in range.
struct Gemm {
  std::span<const MicroOp> micro_ops;
  uint32_t iter_out = 0, iter_in = 0;
  uint32_t dst_out = 0, dst_in = 0, src_out = 0, src_in = 0, wgt_out = 0, wgt_in = 0;  // factors
  // Scratchpads; the last two in the form that the processor wants.
  int32_t* acc = nullptr;
  const uint8_t *inp = nullptr, *wgt = nullptr;
  int64_t batch = 1, block = 16;
};

struct Products {
  std::string_view target;  // that the processor has to be: "cpu:avx2"; empty: any
  bool (*takes)(const Params& params);
  // Bytes of an element in the processor's form.
  int64_t (*inp_bytes)(const Params& params);
  int64_t (*wgt_bytes)(const Params& params);
  // So many elements that lie side by side, from the form that they have in DRAM.
  void (*prepare_inp)(const Params& params, const uint8_t* from, int64_t count, uint8_t* to);
  void (*prepare_wgt)(const Params& params, const uint8_t* from, int64_t count, uint8_t* to);
  void (*multiply)(const Gemm& gemm);
};

// Those of this build, the fastest first. The last one takes all parameters on every processor.
std::span<const Products> all_products();
bool runs_here(const Products& products);
// The fastest that runs here and takes the parameters.
const Products& best_products(const Params& params);

// A signed number of 8, 16 or 32 bits, the lowest byte first.
int32_t signed_number(const uint8_t* bytes, int log_width);

}  // namespace relay::vta
