// Models and contexts of the interface, for CPUs (see interface.cc).

extern "C" {

RELAY_EXPORT relay_status relay_model_open(const relay_open_options* given, relay_model** model) {
  relay_open_options options;
  relay_allocator memory;
  relay_status status = read_options(given, model, &options, &memory);
  if (status != RELAY_OK) return status;
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
  void* place = allocate_zeros(memory, sizeof(relay_model));
  if (place == nullptr) {
    say(options.error, options.error_size, "there is no memory for the model");
    return RELAY_LIMIT;
  }
  relay_model* m = new (place) relay_model();
  m->memory = memory;
  m->variant = variant;
  m->log = options.log;
  m->log_self = options.log_self;
  status = map_weights(&m->file, options.weights_path, options.error, options.error_size);
  m->weights = m->file.weights;
  m->denormals = options.denormals == RELAY_DENORMALS_KEEP    ? relay::Denormals::kKeep
                 : options.denormals == RELAY_DENORMALS_FLUSH ? relay::Denormals::kFlush
                                                              : kDefaultDenormals;
  if (status == RELAY_OK) {
    if (options.parallel != nullptr) {
      m->parallel = *options.parallel;
    } else {
      m->parallel.self = &m->pool;
      m->parallel.run = run_in_pool;
      const unsigned threads = options.threads   ? options.threads
                               : kDefaultThreads ? kDefaultThreads
                                                 : relay::usable_cores();
      if (threads > kMostRunThreads) {
        say(options.error, options.error_size, "`threads` of the options is %u: at most %u may run a model",
            threads, kMostRunThreads);
        status = RELAY_USAGE;
      } else if (!m->pool.start(threads, memory, m->denormals)) {
        say(options.error, options.error_size, "cannot start %u threads", threads);
        status = RELAY_LIMIT;
      }
    }
  }
  if (status == RELAY_OK) status = open_vta(&m->vta, options, m->weights, memory);
  if (status != RELAY_OK) {
    m->pool.stop();
    unmap_weights(&m->file);
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
  close_vta(&m->vta);
  unmap_weights(&m->file);
  const relay_allocator memory = m->memory;
  memory.release(memory.self, m, sizeof(relay_model));
  return RELAY_OK;
}

RELAY_EXPORT relay_status relay_context_create(relay_model* m, relay_context** context) {
  if (context == nullptr) return RELAY_USAGE;
  *context = nullptr;
  if (m == nullptr) return RELAY_USAGE;
  void* place = allocate_zeros(m->memory, sizeof(relay_context));
  if (place == nullptr) return no_context(m, RELAY_LIMIT, "there is no memory for a context");
  relay_context* c = static_cast<relay_context*>(place);
  c->model = m;
  if (!reserve(c, kWorkspaceBytes)) {
    release_workspace(c);
    m->memory.release(m->memory.self, place, sizeof(relay_context));
    char why[96];
    say(why, sizeof why, "there is no memory for the workspace of a context (%llu bytes)",
        static_cast<unsigned long long>(kWorkspaceBytes));
    return no_context(m, RELAY_LIMIT, why);
  }
  if (!create_vta_context(&c->vta, &m->vta, m->memory)) {
    release_workspace(c);
    m->memory.release(m->memory.self, place, sizeof(relay_context));
    return no_context(m, RELAY_LIMIT, "there is no memory for the tensors of the VTA");
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
  free_vta_context(&c->vta, m->memory);
  m->memory.release(m->memory.self, c, sizeof(relay_context));
  __atomic_sub_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
}

}  // extern "C"
