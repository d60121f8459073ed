// Programs of static dataflow take and give tensors, and have no other values; part of their
// artifacts (see interface.cc).

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
