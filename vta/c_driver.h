// A driver as C functions, which artifacts take (runtime/relay_vta.h).
#pragma once

#include <string>

#include "runtime/relay_vta.h"
#include "vta/driver.h"

namespace relay::vta {

relay_vta_params c_params(const Params& params);
Params params_of(const relay_vta_params& params);

// For one model: a driver takes calls from one thread at a time.
class CDriver {
 public:
  explicit CDriver(Driver& driver);  // which outlives it
  CDriver(const CDriver&) = delete;
  CDriver& operator=(const CDriver&) = delete;

  const relay_vta_driver& table() const { return table_; }

 private:
  template <class F>
  static int32_t call(void* self, const F& f);

  Driver& driver_;
  relay_vta_params params_;
  relay_vta_driver table_ = {};
  std::string error_;  // of the last call that failed
};

}  // namespace relay::vta
