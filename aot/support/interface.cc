// The part of relay.h's interface that is the same for every artifact.
//
// Relay's ahead-of-time compiler puts an artifact together from what it generates, which defines
// the tables named in these files (see aot/emit.cc and aot/cuda/emit.cc), and the texts of this
// folder. They use the C library, those for GPUs the CUDA runtime, and nothing else: no exceptions
// and, outside of main.cc, no global state. In order:
//
//   all        base.cc and the tables
//   for CPUs   among the tables stop.cc, alternation.cc, extents.cc, vta_tables.cc and vta.cc or
//              else no_vta.cc, and, of functions over values, values.cc, cpu_values.cc, arenas.cc
//              and batches.cc; threads.cc, weights_file.cc, model.cc, report.cc, tensors.cc; of
//              plans outputs.cc, plan_run.cc and no_values.cc, of functions cpu_value_run.cc and
//              value_run.cc; artifact.cc
//   for GPUs   among the tables stop.cc, no_vta.cc, cuda_launch.cc and, of functions over values,
//              extents.cc, values.cc and cuda_values.cc; weights_file.cc, cuda_model.cc, report.cc,
//              tensors.cc; of plans outputs.cc, cuda_plan_run.cc and no_values.cc, of functions
//              cuda_value_run.cc and value_run.cc; cuda_artifact.cc
//   all        this one; in a program of its own npy.cc and main.cc follow

extern "C" {

RELAY_EXPORT uint32_t relay_abi_version(void) { return RELAY_ABI_VERSION; }

RELAY_EXPORT const relay_vta_params* relay_needed_vta(void) { return needed_vta(); }

RELAY_EXPORT const char* relay_model_describe(const relay_model*) { return kDescription; }

RELAY_EXPORT relay_status relay_run(relay_context* c, const DLTensor* const* inputs, size_t input_count,
                                    DLTensor* const* outputs, size_t output_count) {
  if (c == nullptr) return RELAY_USAGE;
  c->error[0] = 0;
  if (!kTakesTensors) {
    say(c->error, kErrorSize, "the model takes or gives values that are no tensors: use relay_call");
    return RELAY_UNSUPPORTED;
  }
  if (input_count != kInputCount || output_count != kOutputCount) {
    say(c->error, kErrorSize, "the model has %zu inputs and %zu outputs, %zu and %zu were given", kInputCount,
        kOutputCount, input_count, output_count);
    return RELAY_USAGE;
  }
  if ((inputs == nullptr && kInputCount > 0) || (outputs == nullptr && kOutputCount > 0)) {
    say(c->error, kErrorSize, "the list of %s is null",
        inputs == nullptr && kInputCount > 0 ? "inputs" : "outputs");
    return RELAY_USAGE;
  }
  int64_t variables[kVariableCount + 1] = {};
  const relay_status status = check_inputs(c, inputs, variables);
  return status == RELAY_OK ? run_tensors(c, inputs, outputs, variables) : status;
}

RELAY_EXPORT void relay_cancel(relay_context* c) {
  if (c != nullptr) __atomic_store_n(&c->stop.cancelled, 1, __ATOMIC_RELEASE);
}

RELAY_EXPORT relay_status relay_set_timeout(relay_context* c, int64_t nanoseconds_of_a_run) {
  if (c == nullptr) return RELAY_USAGE;
  c->error[0] = 0;
  if (nanoseconds_of_a_run < 0) {
    say(c->error, kErrorSize, "a run cannot take less than no time: %lld ns were given",
        static_cast<long long>(nanoseconds_of_a_run));
    return RELAY_USAGE;
  }
  c->stop.timeout = nanoseconds_of_a_run;
  return RELAY_OK;
}

RELAY_EXPORT const char* relay_error(const relay_context* c) {
  return c != nullptr ? c->error : "the context is null";
}

RELAY_EXPORT const relay_api* relay_get_api(void) {
  static const relay_api api = {
      sizeof(relay_api),    RELAY_ABI_VERSION,  relay_model_open, relay_model_describe, relay_model_close,
      relay_context_create, relay_context_free, relay_run,        relay_cancel,         relay_error,
      relay_value_tensor,   relay_value_node,   relay_value_look, relay_value_field,    relay_value_free,
      relay_call,           relay_set_timeout,  relay_needed_vta};
  return &api;
}

}  // extern "C"
