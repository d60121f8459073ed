// Models and contexts of the interface, for GPUs (see interface.cc).

extern "C" {

RELAY_EXPORT relay_status relay_model_open(const relay_open_options* given, relay_model** model) {
  relay_open_options options;
  relay_allocator memory;
  relay_status status = read_options(given, model, &options, &memory);
  if (status != RELAY_OK) return status;
  int devices = 0, device = 0, major = 0, minor = 0;
  cudaError_t error = cudaGetDeviceCount(&devices);
  if (error == cudaSuccess && devices == 0) error = cudaErrorNoDevice;
  if (error == cudaSuccess) error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
  if (error != cudaSuccess) {
    cudaGetLastError();  // else it would be another call's
    say(options.error, options.error_size, "there is no GPU that this model can run on: %s",
        cudaGetErrorString(error));
    return RELAY_UNSUPPORTED;
  }
  if (10 * major + minor < kCapability) {
    say(options.error, options.error_size,
        "CUDA device %d has compute capability %d.%d, the model was compiled for %d.%d (--target)", device,
        major, minor, kCapability / 10, kCapability % 10);
    return RELAY_UNSUPPORTED;
  }
  void* place = allocate_zeros(memory, sizeof(relay_model));
  if (place == nullptr) {
    say(options.error, options.error_size, "there is no memory for the model");
    return RELAY_LIMIT;
  }
  relay_model* m = static_cast<relay_model*>(place);
  m->memory = memory;
  m->device = device;
  m->log = options.log;
  m->log_self = options.log_self;
  WeightsFile file = {};
  status = map_weights(&file, options.weights_path, options.error, options.error_size);
  if (status == RELAY_OK) status = copy_weights(m, file.weights, options.error, options.error_size);
  unmap_weights(&file);
  if (status != RELAY_OK) {
    memory.release(memory.self, place, sizeof(relay_model));
    return status;
  }
  if (options.log != nullptr) options.log(options.log_self, RELAY_LOG_INFO, kDescription);
  *model = m;
  return RELAY_OK;
}

RELAY_EXPORT relay_status relay_model_close(relay_model* m) {
  if (m == nullptr) return RELAY_OK;
  if (__atomic_load_n(&m->contexts, __ATOMIC_ACQUIRE) != 0) return RELAY_BUSY;
  {
    const OnDevice here(m->device);
    cudaFree(m->weights);
  }
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
  if (kWorkspaceBytes > 0) {
    c->workspace = static_cast<unsigned char*>(allocate_zeros(m->memory, kWorkspaceBytes));
    if (c->workspace == nullptr) {
      release_context(c);
      return no_context(m, RELAY_LIMIT, "there is no memory for the workspace of a context");
    }
  }
  const OnDevice here(m->device);
  cudaError_t error = here.error;
  if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
  const bool streams = error == cudaSuccess;
  void* memory = nullptr;
  if (error == cudaSuccess) error = cudaMalloc(&memory, kDeviceBytes);
  if (error != cudaSuccess) {
    cudaGetLastError();
    if (streams) cudaStreamDestroy(c->stream);
    release_context(c);
    char why[160];
    say(why, sizeof why, "there is no memory or no stream on device %d for a context (%llu bytes): %s",
        m->device, static_cast<unsigned long long>(kDeviceBytes), cudaGetErrorString(error));
    return no_context(m, status_of(error), why);
  }
  c->device_memory = static_cast<unsigned char*>(memory);
  if (c->workspace != nullptr) start_workspace(c->workspace, &m->memory);
  __atomic_add_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
  *context = c;
  return RELAY_OK;
}

RELAY_EXPORT void relay_context_free(relay_context* c) {
  if (c == nullptr) return;
  relay_model* m = c->model;
  release_held(c);
  {
    const OnDevice here(m->device);
    if (c->workspace != nullptr) end_workspace(c->workspace);
    cudaStreamDestroy(c->stream);
    cudaFree(c->device_memory);
  }
  release_context(c);
  __atomic_sub_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
}

}  // extern "C"
