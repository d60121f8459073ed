/* The driver of a VTA, which an artifact of `relay compile --target vta` runs its layers with. C99 and C++.
 *
 *   relay_vta_params params = {0};
 *   params.struct_size = sizeof params;
 *   params.log_inp_width = 3; ...
 *   relay_vta_driver driver = {0};
 *   driver.struct_size = sizeof driver;
 *   driver.params = &params;
 *   driver.allocate = my_allocate; ...
 *   options.vta = &driver;                           (relay_open_options of relay.h)
 *   relay_model_open(&options, &model);
 *
 * The model's memory on the VTA is allocated, and its constants are written, by relay_model_open. A run writes the
 * tensors that a layer reads, runs the layer's instructions, and reads its result. relay_model_close releases all.
 *
 * Threads. A model calls one function at a time, from the threads that open it, run it and close it. A driver that
 * several models are given has to take calls from all of them at once. Layers do not hear relay_cancel or
 * relay_set_timeout while they run: `run` should end by itself if the VTA does not answer. */
#ifndef RELAY_RUNTIME_RELAY_VTA_H_
#define RELAY_RUNTIME_RELAY_VTA_H_

#include <stdint.h>

#include "relay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a function came to. Any other number is a failure, too, and stands in the message. */
typedef enum {
  RELAY_VTA_OK = 0,
  /* There is no room for so many bytes: the call on the model ends with RELAY_LIMIT. */
  RELAY_VTA_NO_MEMORY = 1,
  /* relay_model_open ends with RELAY_UNSUPPORTED, and a run with RELAY_TRAP. */
  RELAY_VTA_FAILED = 2
} relay_vta_status;

/* The parameters of a VTA, each a logarithm to base 2, as in a file vta_config.json: LOG_INP_WIDTH and so on. */
struct relay_vta_params {
  uint32_t struct_size;
  int32_t log_inp_width, log_wgt_width, log_acc_width, log_out_width; /* of bits */
  int32_t log_batch, log_block;
  int32_t log_uop_buff_size, log_inp_buff_size, log_wgt_buff_size, log_acc_buff_size; /* of bytes */
};

/* Sizes are in bytes. Addresses are those of the VTA, and what is written or read lies in one allocation. */
struct relay_vta_driver {
  uint32_t struct_size;
  void* self;
  /* Of this VTA. A model that was compiled for others is not opened. Read by relay_model_open only. */
  const relay_vta_params* params;
  /* Sets `*address` to a multiple of 4096 below 2^32. `size` is positive. */
  int32_t (*allocate)(void* self, uint64_t size, uint64_t* address);
  void (*release)(void* self, uint64_t address);
  int32_t (*write)(void* self, uint64_t address, const void* bytes, uint64_t size);
  int32_t (*read)(void* self, uint64_t address, void* bytes, uint64_t size);
  /* Runs `count` instructions of 16 bytes each, which lie at the address, and returns when FINISH is over. They read
   * what was written before, and `read` gives what they wrote: caches are the driver's affair. */
  int32_t (*run)(void* self, uint64_t address, uint32_t count);
  /* Why the last call failed, for people; asked for directly after it, on the same thread. May be NULL. */
  const char* (*error)(void* self);
};

#ifdef __cplusplus
}
#endif

#endif /* RELAY_RUNTIME_RELAY_VTA_H_ */
