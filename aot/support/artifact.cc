// The C interface of relay.h over the tables and the code of one model.
//
// Relay's ahead-of-time compiler puts an artifact together from what it generates, which defines the tables named in
// these files (see aot/emit.cc), and the texts of this folder: stop.cc, threads.cc, model.cc, tensors.cc, then plan_run.cc
// or value_run.cc, and this one; in a program of its own npy.cc and main.cc follow. They use the C library and nothing
// else: no exceptions and, outside of main.cc, no global state.

extern "C" {

RELAY_EXPORT uint32_t relay_abi_version(void) { return RELAY_ABI_VERSION; }

RELAY_EXPORT const char* relay_model_describe(const relay_model*) { return kDescription; }

RELAY_EXPORT relay_status relay_model_open(const relay_open_options* given, relay_model** model) {
  relay_open_options options;
  memset(&options, 0, sizeof options);
  if (given != nullptr) {
    memcpy(&options, given, given->struct_size < sizeof options ? given->struct_size : sizeof options);
  }
  if (options.error != nullptr && options.error_size > 0) options.error[0] = 0;
  if (model == nullptr) {
    say(options.error, options.error_size, "there is no place for the model: `model` is null");
    return RELAY_USAGE;
  }
  *model = nullptr;
  if (given != nullptr && given->struct_size < sizeof(uint32_t)) {
    say(options.error, options.error_size, "struct_size of the options is not set");
    return RELAY_USAGE;
  }
  const Variant* variant = nullptr;
  const char* missing = nullptr;
  for (size_t i = 0; variant == nullptr && i < kVariantCount; ++i) {
    missing = kVariants[i].missing_feature();
    if (missing == nullptr) variant = &kVariants[i];
  }
  if (variant == nullptr) {
    say(options.error, options.error_size,
        "this processor has no %s, which the model was compiled for (--target)", missing);
    return RELAY_UNSUPPORTED;
  }
  const relay_allocator c_memory = {nullptr, c_allocate, c_release};
  const relay_allocator memory = options.allocator ? *options.allocator : c_memory;
  void* place = memory.allocate(memory.self, sizeof(relay_model), kAlignment);
  if (place == nullptr) {
    say(options.error, options.error_size, "there is no memory for the model");
    return RELAY_LIMIT;
  }
  memset(place, 0, sizeof(relay_model));
  relay_model* m = new (place) relay_model();
  m->memory = memory;
  m->variant = variant;
  relay_status status = map_weights(m, options.weights_path, options.error, options.error_size);
  if (status == RELAY_OK) {
    if (options.parallel != nullptr) {
      m->parallel = *options.parallel;
    } else {
      m->parallel.self = &m->pool;
      m->parallel.run = run_in_pool;
      const unsigned threads = options.threads   ? options.threads
                               : kDefaultThreads ? kDefaultThreads
                                                 : usable_cores();
      if (!m->pool.start(threads, memory)) {
        say(options.error, options.error_size, "cannot start %u threads", threads);
        status = RELAY_LIMIT;
      }
    }
  }
  if (status != RELAY_OK) {
    if (m->mapped != nullptr) munmap(m->mapped, m->mapped_size);
    memory.release(memory.self, place, sizeof(relay_model));
    return status;
  }
  if (options.log != nullptr) {
    options.log(options.log_self, RELAY_LOG_INFO, kDescription);
    char runs[128];
    say(runs, sizeof runs, "runs the code for %s", variant->target);
    options.log(options.log_self, RELAY_LOG_INFO, runs);
  }
  *model = m;
  return RELAY_OK;
}

RELAY_EXPORT relay_status relay_model_close(relay_model* m) {
  if (m == nullptr) return RELAY_OK;
  if (__atomic_load_n(&m->contexts, __ATOMIC_ACQUIRE) != 0) return RELAY_BUSY;
  m->pool.stop();
  if (m->mapped != nullptr) munmap(m->mapped, m->mapped_size);
  const relay_allocator memory = m->memory;
  memory.release(memory.self, m, sizeof(relay_model));
  return RELAY_OK;
}

RELAY_EXPORT relay_status relay_context_create(relay_model* m, relay_context** context) {
  if (context == nullptr) return RELAY_USAGE;
  *context = nullptr;
  if (m == nullptr) return RELAY_USAGE;
  void* place = m->memory.allocate(m->memory.self, sizeof(relay_context), kAlignment);
  if (place == nullptr) return RELAY_LIMIT;
  memset(place, 0, sizeof(relay_context));
  relay_context* c = static_cast<relay_context*>(place);
  c->model = m;
  if (!reserve(c, kWorkspaceBytes) || !prepare_workspace(c)) {
    release_workspace(c);
    m->memory.release(m->memory.self, place, sizeof(relay_context));
    return RELAY_LIMIT;
  }
  if (c->workspace != nullptr) start_workspace(c->workspace, &m->memory);
  __atomic_add_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
  *context = c;
  return RELAY_OK;
}

RELAY_EXPORT void relay_context_free(relay_context* c) {
  if (c == nullptr) return;
  relay_model* m = c->model;
  release_held(c);
  if (c->workspace != nullptr) end_workspace(c->workspace);
  release_workspace(c);
  m->memory.release(m->memory.self, c, sizeof(relay_context));
  __atomic_sub_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
}

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
  c->stop.start_run();
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
      relay_call,           relay_set_timeout};
  return &api;
}

}  // extern "C"
