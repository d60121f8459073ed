// Runs on a GPU, and models and contexts of the interface; part of the artifacts for GPUs (see interface.cc).
//
// A run puts everything into the context's stream and waits once, at its end.

namespace {

unsigned char* data_of(const DLTensor& t) { return static_cast<unsigned char*>(t.data) + t.byte_offset; }

// May kernels use the caller's memory?
bool in_place(const DLTensor& t) {
  return on_gpu(t) && reinterpret_cast<uintptr_t>(data_of(t)) % kDeviceAlignment == 0;
}

// --- A run ------------------------------------------------------------------------------------------------------------

relay_status failed(relay_context* c, const char* what, cudaError_t error) {
  say(c->error, kErrorSize, "%s: %s", what, cudaGetErrorString(error));
  return status_of(error);
}

// A run that has begun. What is in the stream has to end before the caller's memory is his again.
class Begun {
 public:
  explicit Begun(cudaStream_t stream) : stream_(stream) {}
  ~Begun() {
    if (!ended_) cudaStreamSynchronize(stream_);
  }
  Begun(const Begun&) = delete;
  cudaError_t end() {
    ended_ = true;
    return cudaStreamSynchronize(stream_);
  }

 private:
  cudaStream_t stream_;
  bool ended_ = false;
};

relay_status run_tensors(relay_context* c, const DLTensor* const* inputs, DLTensor* const* outputs,
                         const int64_t* variables) {
  c->stop.start_run();
  const relay_status placed = place_outputs(c, outputs, variables);
  if (placed != RELAY_OK) return placed;
  const OnDevice here(c->model->device);
  if (here.error != cudaSuccess) return failed(c, "the device of the model cannot be used", here.error);
  Begun begun(c->stream);
  Run r;
  r.stream = c->stream;
  r.weights = c->model->weights;
  r.workspace = c->device_memory;
  r.failures = reinterpret_cast<int32_t*>(c->device_memory + kFailuresAt);
  r.stop = &c->stop;
  cudaError_t error =
      kStepCount > 0 ? cudaMemsetAsync(r.failures, 0, kStepCount * sizeof(int32_t), c->stream) : cudaSuccess;
  for (size_t i = 0; i < kInputCount && error == cudaSuccess; ++i) {
    r.inputs[i] = data_of(*inputs[i]);
    if (in_place(*inputs[i]) || kInputs[i].bytes == 0) continue;
    error =
        cudaMemcpyAsync(c->device_memory + kInputPlaces[i], r.inputs[i], kInputs[i].bytes,
                        on_gpu(*inputs[i]) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, c->stream);
    r.inputs[i] = c->device_memory + kInputPlaces[i];
  }
  if (error != cudaSuccess) return failed(c, "the inputs could not be copied to the device", error);
  for (size_t i = 0; i < kOutputCount; ++i)
    r.outputs[i] = in_place(*outputs[i]) ? data_of(*outputs[i]) : c->device_memory + kOutputPlaces[i];
  const char* step = run_steps(r);
  if (r.stopped != 0) return report(c, r.stopped, nullptr);
  if (step != nullptr) return failed(c, step, r.error);
  for (size_t i = 0; i < kOutputCount && error == cudaSuccess; ++i) {
    if (in_place(*outputs[i]) || kOutputs[i].bytes == 0) continue;
    error =
        cudaMemcpyAsync(data_of(*outputs[i]), r.outputs[i], kOutputs[i].bytes,
                        on_gpu(*outputs[i]) ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost, c->stream);
  }
  if (error == cudaSuccess && kStepCount > 0)
    error = cudaMemcpyAsync(c->failures, r.failures, kStepCount * sizeof(int32_t), cudaMemcpyDeviceToHost,
                            c->stream);
  if (error == cudaSuccess) error = begun.end();
  if (error != cudaSuccess) return failed(c, "the run failed on the device", error);
  for (size_t i = 0; i < kStepCount; ++i) {
    if (c->failures[i] != 0) return report(c, kTrapped, kMessages[i][0x7fffffff - c->failures[i] - 1]);
  }
  return RELAY_OK;
}

}  // namespace

// --- The interface ----------------------------------------------------------------------------------------------------

extern "C" {

RELAY_EXPORT relay_status relay_model_open(const relay_open_options* given, relay_model** model) {
  relay_open_options options;
  relay_allocator memory;
  relay_status status = read_options(given, model, &options, &memory);
  if (status != RELAY_OK) return status;
  if (options.weights_path != nullptr) {
    say(options.error, options.error_size,
        "this model's weights are inside its library: weights_path must be null");
    return RELAY_USAGE;
  }
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
  status = copy_weights(m, options.error, options.error_size);
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
  const OnDevice here(m->device);
  cudaError_t error = here.error;
  if (error == cudaSuccess) error = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
  const bool streams = error == cudaSuccess;
  void* memory = nullptr;
  if (error == cudaSuccess) error = cudaMalloc(&memory, kDeviceBytes);
  if (error != cudaSuccess) {
    cudaGetLastError();
    if (streams) cudaStreamDestroy(c->stream);
    m->memory.release(m->memory.self, place, sizeof(relay_context));
    char why[160];
    say(why, sizeof why, "device %d has no stream or no memory for a context (%llu bytes): %s", m->device,
        static_cast<unsigned long long>(kDeviceBytes), cudaGetErrorString(error));
    return no_context(m, status_of(error), why);
  }
  c->device_memory = static_cast<unsigned char*>(memory);
  __atomic_add_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
  *context = c;
  return RELAY_OK;
}

RELAY_EXPORT void relay_context_free(relay_context* c) {
  if (c == nullptr) return;
  relay_model* m = c->model;
  {
    const OnDevice here(m->device);
    cudaStreamDestroy(c->stream);
    cudaFree(c->device_memory);
  }
  release_held(c);
  m->memory.release(m->memory.self, c, sizeof(relay_context));
  __atomic_sub_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
}

}  // extern "C"
