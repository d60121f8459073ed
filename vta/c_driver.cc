#include "vta/c_driver.h"

#include <new>

namespace relay::vta {
namespace {

struct Row {
  int Params::* ours;
  int32_t relay_vta_params::* theirs;
};
constexpr Row kRows[] = {
    {&Params::log_inp_width, &relay_vta_params::log_inp_width},
    {&Params::log_wgt_width, &relay_vta_params::log_wgt_width},
    {&Params::log_acc_width, &relay_vta_params::log_acc_width},
    {&Params::log_out_width, &relay_vta_params::log_out_width},
    {&Params::log_batch, &relay_vta_params::log_batch},
    {&Params::log_block, &relay_vta_params::log_block},
    {&Params::log_uop_buff_size, &relay_vta_params::log_uop_buff_size},
    {&Params::log_inp_buff_size, &relay_vta_params::log_inp_buff_size},
    {&Params::log_wgt_buff_size, &relay_vta_params::log_wgt_buff_size},
    {&Params::log_acc_buff_size, &relay_vta_params::log_acc_buff_size},
};

}  // namespace

relay_vta_params c_params(const Params& params) {
  relay_vta_params out = {};
  out.struct_size = sizeof out;
  for (const Row& row : kRows) out.*row.theirs = params.*row.ours;
  return out;
}

Params params_of(const relay_vta_params& params) {
  Params out;
  for (const Row& row : kRows) out.*row.ours = params.*row.theirs;
  return out;
}

// f reports what is wrong, and returns whether all is well. Exceptions do not get into C.
template <class F>
int32_t CDriver::call(void* self, const F& f) {
  CDriver& c = *static_cast<CDriver*>(self);
  c.error_.clear();
  try {
    Diagnostics d;
    if (f(c.driver_, d)) return RELAY_VTA_OK;
    if (d.all().empty()) return RELAY_VTA_FAILED;
    const Diagnostic& first = d.all().front();
    c.error_ = first.message();
    return first.slug() == Slug("vta-limit") ? RELAY_VTA_NO_MEMORY : RELAY_VTA_FAILED;
  } catch (const std::bad_alloc&) {
    return RELAY_VTA_NO_MEMORY;
  }
}

CDriver::CDriver(Driver& driver) : driver_(driver), params_(c_params(driver.layout().params())) {
  table_.struct_size = sizeof table_;
  table_.self = this;
  table_.params = &params_;
  table_.allocate = [](void* self, uint64_t size, uint64_t* address) {
    return call(self, [&](Driver& d, Diagnostics& wrong) {
      const Result<uint64_t> at = d.allocate(size, wrong);
      if (at) *address = *at;
      return at.ok();
    });
  };
  table_.release = [](void* self, uint64_t address) {
    call(self, [&](Driver& d, Diagnostics& wrong) { return d.free(address, wrong); });
  };
  table_.write = [](void* self, uint64_t address, const void* bytes, uint64_t size) {
    return call(self, [&](Driver& d, Diagnostics& wrong) {
      return d.write(address, {static_cast<const uint8_t*>(bytes), size}, wrong);
    });
  };
  table_.read = [](void* self, uint64_t address, void* bytes, uint64_t size) {
    return call(self, [&](Driver& d, Diagnostics& wrong) {
      return d.read(address, {static_cast<uint8_t*>(bytes), size}, wrong);
    });
  };
  table_.run = [](void* self, uint64_t address, uint32_t count) {
    return call(self, [&](Driver& d, Diagnostics& wrong) { return d.run(address, count, wrong); });
  };
  table_.error = [](void* self) { return static_cast<CDriver*>(self)->error_.c_str(); };
}

}  // namespace relay::vta
