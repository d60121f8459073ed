// The outputs of a plan: in the caller's memory, or in the context where the caller gave none; part
// of the artifacts that run plans (see interface.cc).

namespace {

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
  for (int32_t d = 0; d < port.rank; ++d) {
    shape[d] = extent_wanted(port.shape[d], variables);
    if (shape[d] >= 0) continue;
    say(c->error, kErrorSize, "wrong shape: an extent of output `%s` is negative or does not fit 64 bits",
        port.name);
    return RELAY_TRAP;
  }
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

// Sees to it that every output has memory.
relay_status place_outputs(relay_context* c, DLTensor* const* outputs, const int64_t* variables) {
  for (size_t i = 0; i < kOutputCount; ++i) {
    DLTensor* t = outputs[i];
    const bool held = t != nullptr && t->data == nullptr;
    const relay_status status =
        held ? hold_output(c, i, variables, t) : check_tensor(c, "output", kOutputs[i], t, variables);
    if (status != RELAY_OK) return status;
  }
  return RELAY_OK;
}

}  // namespace
