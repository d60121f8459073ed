#include "vta/compile/for_target.h"

#include <bit>

#include "base/check.h"

namespace relay::vta {
namespace {

int log2_of(int64_t power) {
  CHECK(power > 0 && std::has_single_bit(static_cast<uint64_t>(power)), "targets have powers of two");
  return std::countr_zero(static_cast<uint64_t>(power));
}

}  // namespace

Params params_of(const target::Vta& vta) {
  Params out;
  out.log_batch = log2_of(vta.batch);
  out.log_block = log2_of(vta.block);
  out.log_uop_buff_size = log2_of(vta.uop_bytes);
  out.log_inp_buff_size = log2_of(vta.inp_bytes);
  out.log_wgt_buff_size = log2_of(vta.wgt_bytes);
  out.log_acc_buff_size = log2_of(vta.acc_bytes);
  return out;
}

ScheduleOptions schedule_options_of(const target::Vta& vta) {
  ScheduleOptions out;
  if (vta.threads == 1) out.threads = 1;
  return out;
}

}  // namespace relay::vta
