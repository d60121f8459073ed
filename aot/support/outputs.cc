// The outputs of a plan: in the caller's memory, or in the context where the caller gave none; part
// of the artifacts that run plans (see interface.cc).

namespace {

void release_held(relay_context* c) {
  const relay_allocator& memory = c->model->memory;
  for (size_t i = 0; i < kOutputCount; ++i) {
    if (c->held[i] != nullptr) memory.release(memory.self, c->held[i], c->held_bytes[i]);
    if (c->spare[i] != nullptr) memory.release(memory.self, c->spare[i], c->spare_bytes[i]);
    c->held[i] = c->spare[i] = nullptr;
  }
}

int64_t* held_shape(relay_context* c, size_t i) { return c->held_shapes[c->held_row[i]] + i * kMostDims; }

// Places an output in the context: the caller gave no memory for it. Where an input is what the run
// before gave, as the state of a recurrence, runs use two pieces of memory in turn, each with its
// extents. So the input stays as it is, also for another try after a run that failed.
relay_status hold_output(relay_context* c, size_t i, const DLTensor* const* inputs, const int64_t* variables,
                         DLTensor* t) {
  if (c->held[i] != nullptr && is_read(inputs, c->held[i], c->held_bytes[i], held_shape(c, i))) {
    exchange(c->held[i], c->spare[i]);
    exchange(c->held_bytes[i], c->spare_bytes[i]);
    c->held_row[i] = !c->held_row[i];
  }
  const Port& port = kOutputs[i];
  int64_t* shape = held_shape(c, i);
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
  describe_held(i, c->held[i], shape, t);
  return RELAY_OK;
}

// Sees to it that every output has memory.
relay_status place_outputs(relay_context* c, const DLTensor* const* inputs, DLTensor* const* outputs,
                           const int64_t* variables) {
  for (size_t i = 0; i < kOutputCount; ++i) {
    DLTensor* t = outputs[i];
    forget_held(c->held[i], i, inputs, t);
    const bool held = t != nullptr && t->data == nullptr;
    const relay_status status =
        held ? hold_output(c, i, inputs, variables, t) : check_tensor(c, "output", kOutputs[i], t, variables);
    if (status != RELAY_OK) return status;
  }
  return RELAY_OK;
}

}  // namespace
