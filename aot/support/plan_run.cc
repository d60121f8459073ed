// A run of a plan of static dataflow; part of the artifacts that have one (see artifact.cc).

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
                                 : "an extent of a tensor is negative");
}

// Where all extents have a bound, the memory for the largest is there from the beginning.
bool prepare_workspace(relay_context* c) {
  for (size_t i = 0; i < kVariableCount; ++i) {
    if (kVariableBounds[i] == INT64_MAX) return true;
  }
  size_t slots[kMostSlots + 1];
  return place_slots(c, kVariableBounds, slots) == RELAY_OK;
}

void release_held(relay_context* c) {
  const relay_allocator& memory = c->model->memory;
  for (size_t i = 0; i < kOutputCount; ++i) {
    if (c->held[i] != nullptr) memory.release(memory.self, c->held[i], c->held_bytes[i]);
    c->held[i] = nullptr;
  }
}

// Places an output in the context: the caller gave no memory for it.
relay_status hold_output(relay_context* c, size_t i, const int64_t* variables, DLTensor* t) {
  const Port& port = kOutputs[i];
  int64_t shape[kMostDims];
  for (int32_t d = 0; d < port.rank; ++d) shape[d] = extent_wanted(port.shape[d], variables);
  size_t bytes = 0;
  const bool fits = count_bytes(element_bytes(port), static_cast<uint32_t>(port.rank), shape, &bytes);
  if (bytes == 0) bytes = 1;
  if (!fits || c->held_bytes[i] < bytes) {
    const relay_allocator& memory = c->model->memory;
    if (c->held[i] != nullptr) memory.release(memory.self, c->held[i], c->held_bytes[i]);
    c->held[i] = fits ? memory.allocate(memory.self, bytes, kAlignment) : nullptr;
    c->held_bytes[i] = c->held[i] != nullptr ? bytes : 0;
    if (c->held[i] == nullptr) {
      say(c->error, kErrorSize, "there is no memory for output `%s` (%llu bytes)", port.name,
          static_cast<unsigned long long>(bytes));
      return RELAY_LIMIT;
    }
  }
  describe_held(c, i, c->held[i], shape, t);
  return RELAY_OK;
}

relay_status run_tensors(relay_context* c, const DLTensor* const* inputs, DLTensor* const* outputs,
                         const int64_t* variables) {
  const void* in[kInputCount + 1];
  void* out[kOutputCount + 1];
  for (size_t i = 0; i < kInputCount; ++i) {
    in[i] = static_cast<const unsigned char*>(inputs[i]->data) + inputs[i]->byte_offset;
  }
  for (size_t i = 0; i < kOutputCount; ++i) {
    DLTensor* t = outputs[i];
    const bool held = t != nullptr && t->data == nullptr;
    const relay_status status =
        held ? hold_output(c, i, variables, t) : check_tensor(c, "output", kOutputs[i], t, variables);
    if (status != RELAY_OK) return status;
    out[i] = static_cast<unsigned char*>(t->data) + t->byte_offset;
  }
  size_t slots[kMostSlots + 1];
  const relay_status placed = place_slots(c, variables, slots);
  if (placed != RELAY_OK) return placed;
  const Threads threads(c->model);
  const char* message = nullptr;
  const int32_t status = c->model->variant->run_plan(threads.get(), in, out, c->model->weights, c->workspace,
                                                     variables, slots, &c->stop, &message);
  return report(c, status, message);
}

}  // namespace
