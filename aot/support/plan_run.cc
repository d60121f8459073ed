// A run of a plan of static dataflow; part of the artifacts that have one (see interface.cc).

namespace {

void start_workspace(unsigned char*, const relay_allocator*) {}
void end_workspace(unsigned char*) {}

// Where the slots lie for these extents, and memory for them.
relay_status place_slots(relay_context* c, const int64_t* variables, size_t* slots) {
  if (c->model->variant->lay_out == nullptr) return RELAY_OK;
  size_t bytes = 0;
  int32_t status = c->model->variant->lay_out(variables, slots, &bytes);
  if (status == 0 && !reserve(c, bytes)) status = kLimit;
  return report(c, status,
                status == kLimit ? "there is not enough memory for tensors of these extents"
                                 : "wrong shape: an extent of a tensor is negative or does not fit 64 bits");
}

relay_status run_tensors(relay_context* c, const DLTensor* const* inputs, DLTensor* const* outputs,
                         const int64_t* variables) {
  c->stop.start_run();
  const void* in[kInputCount + 1];
  void* out[kOutputCount + 1];
  for (size_t i = 0; i < kInputCount; ++i) {
    in[i] = memory_of(*inputs[i]);
  }
  relay_status status = place_outputs(c, inputs, outputs, variables);
  if (status == RELAY_OK) status = check_apart(c, inputs, outputs);
  if (status != RELAY_OK) return status;
  for (size_t i = 0; i < kOutputCount; ++i) {
    out[i] = memory_of(*outputs[i]);
  }
  size_t slots[kMostSlots + 1];
  status = place_slots(c, variables, slots);
  if (status != RELAY_OK) return status;
  const Threads threads(c->model);
  const char* message = nullptr;
  const int32_t ended = c->model->variant->run_plan(threads.get(), in, out, c->model->weights, c->workspace,
                                                    variables, slots, &c->vta, &c->stop, &message);
  return report(c, ended, message);
}

}  // namespace
