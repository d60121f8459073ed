// What the layers of a run took on a VTA, by the cycle model, and how close that is to what the
// machine can do.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "driver/vta_engine.h"

namespace relay::tools {

// A layer, or all of them; the sum over its runs.
struct VtaProfileRow {
  std::string name;
  uint64_t runs = 0;
  uint64_t cycles = 0;  // modelled
  uint64_t bytes = 0;   // that were moved from and to DRAM
  // Cycles that no VTA of these parameters is faster than: those of its products, and those of its
  // bytes on the bus.
  uint64_t gemm_bound = 0, bus_bound = 0;

  uint64_t roof() const { return gemm_bound > bus_bound ? gemm_bound : bus_bound; }
  double utilisation() const {
    return cycles ? static_cast<double>(gemm_bound) / static_cast<double>(cycles) : 0;
  }
};

class VtaProfile {
 public:
  // Of the runs so far. The program must outlive it.
  explicit VtaProfile(const driver::VtaProgram& program);

  const std::vector<VtaProfileRow>& rows() const { return rows_; }  // layers that ran, in their order
  VtaProfileRow total() const;

  std::string table() const;
  nlohmann::ordered_json json() const;
  // A roofline as SVG: products per cycle over products per byte, with a point for each layer.
  std::string plot() const;

 private:
  // Products of numbers in a micro-op of GEMM.
  double products_of_gemm() const;

  const driver::VtaProgram& program_;
  vta::Timing timing_;
  std::vector<VtaProfileRow> rows_;
};

}  // namespace relay::tools
