// A run of a plan of static dataflow; part of the artifacts that have one (see artifact.cc).

namespace {

void start_workspace(unsigned char*, const relay_allocator*) {}
void end_workspace(unsigned char*) {}

void release_held(relay_context* c) {
  const relay_allocator& memory = c->model->memory;
  for (size_t i = 0; i < kOutputCount; ++i) {
    if (c->held[i] != nullptr)
      memory.release(memory.self, c->held[i], kOutputs[i].bytes ? kOutputs[i].bytes : 1);
  }
}

// Places an output in the context: the caller gave no memory for it.
relay_status hold_output(relay_context* c, size_t i, DLTensor* t) {
  const Port& port = kOutputs[i];
  if (c->held[i] == nullptr) {
    const relay_allocator& memory = c->model->memory;
    c->held[i] = memory.allocate(memory.self, port.bytes ? port.bytes : 1, kAlignment);
    if (c->held[i] == nullptr) {
      say(c->error, kErrorSize, "there is no memory for output `%s` (%llu bytes)", port.name,
          static_cast<unsigned long long>(port.bytes));
      return RELAY_LIMIT;
    }
  }
  describe_held(c, i, c->held[i], port.shape, t);
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
        held ? hold_output(c, i, t) : check_tensor(c, "output", kOutputs[i], t, variables);
    if (status != RELAY_OK) return status;
    out[i] = static_cast<unsigned char*>(t->data) + t->byte_offset;
  }
  const Threads threads(c->model);
  const char* message = nullptr;
  const int32_t status = c->model->variant->run_plan(threads.get(), in, out, c->model->weights, c->workspace,
                                                     &c->stop, &message);
  return report(c, status, message);
}

}  // namespace

// Programs of static dataflow take and give tensors, and have no other values.
namespace {

relay_status no_values(relay_context* c, relay_value** result) {
  if (result != nullptr) *result = nullptr;
  if (c == nullptr) return RELAY_USAGE;
  say(c->error, kErrorSize, "the model takes and gives tensors: use relay_run");
  return RELAY_UNSUPPORTED;
}

}  // namespace

extern "C" {

RELAY_EXPORT relay_status relay_value_tensor(relay_context* c, uint32_t, const DLTensor*,
                                             relay_value** value) {
  return no_values(c, value);
}
RELAY_EXPORT relay_status relay_value_node(relay_context* c, uint32_t, uint32_t, relay_value* const*, size_t,
                                           relay_value** value) {
  return no_values(c, value);
}
RELAY_EXPORT relay_status relay_value_look(relay_context* c, const relay_value*, relay_value_view*) {
  return no_values(c, nullptr);
}
RELAY_EXPORT relay_status relay_value_field(relay_context* c, const relay_value*, size_t,
                                            relay_value** result) {
  return no_values(c, result);
}
RELAY_EXPORT void relay_value_free(relay_context*, relay_value*) {}
RELAY_EXPORT relay_status relay_call(relay_context* c, relay_value* const*, size_t, relay_value** result) {
  return no_values(c, result);
}

}  // extern "C"
