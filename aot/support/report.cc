// What calls came to, in words; part of every artifact (see interface.cc).

namespace {

// What a run came to, with its text.
relay_status report(relay_context* c, int32_t status, const char* message) {
  if (status == 0) return RELAY_OK;
  if (status == kLimit) {
    say(c->error, kErrorSize, "%s", message);
    return RELAY_LIMIT;
  }
  if (status == kCancelled) {
    __atomic_store_n(&c->stop.cancelled, 0, __ATOMIC_RELEASE);
    say(c->error, kErrorSize, "the run was cancelled");
    return RELAY_CANCELLED;
  }
  if (status == kTimedOut) {
    say(c->error, kErrorSize, "the run took longer than its limit of %lld ns",
        static_cast<long long>(c->stop.timeout));
    return RELAY_TIMED_OUT;
  }
  if (status == kExternal) {
    say(c->error, kErrorSize, "%s failed with code %d", message, static_cast<int>(c->stop.code));
    return RELAY_TRAP;
  }
  say(c->error, kErrorSize, "%s", message ? message : "the program failed");
  return RELAY_TRAP;
}

// There is no context that could hold the text: the model's log is told.
relay_status no_context(const relay_model* m, relay_status status, const char* why) {
  if (m->log != nullptr) m->log(m->log_self, RELAY_LOG_WARNING, why);
  return status;
}

}  // namespace
