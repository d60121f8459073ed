// The fixed half of an artifact for a GPU: the C interface of relay.h over the tables and the launches of one model.
//
// Relay's ahead-of-time compiler appends this text to what it generates (see aot/cuda/emit.cc), which defines the tables named
// below. A model has its weights in the memory of one device, a context has one stream and one piece of memory there, with
// places for the workspace, for inputs and outputs that the caller keeps elsewhere, and for a word a step that says whether it
// failed. A run puts everything into the stream and waits once, at its end.

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct relay_model {
  relay_allocator memory;
  int device;
  unsigned char* weights;
  unsigned contexts;  // changed with atomic built-ins only
};

struct relay_context {
  relay_model* model;
  cudaStream_t stream;
  unsigned char* device_memory;
  int32_t failures[kStepCount + 1];
  unsigned char* held[kOutputCount + 1];  // outputs that live in the context, in the host's memory
  int64_t held_shapes[kMostDims * kOutputCount + 1];
  int cancelled;
  char error[512];
};

namespace {

// --- Memory and errors ------------------------------------------------------------------------------------------------

constexpr size_t kAlignment = 64;
constexpr uintptr_t kDeviceAlignment = 16;  // that kernels count on

void* c_allocate(void*, size_t size, size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}
void c_release(void*, void* memory, size_t) { free(memory); }

__attribute__((format(printf, 3, 4))) void say(char* to, size_t size, const char* format, ...) {
  if (to == nullptr || size == 0) return;
  va_list args;
  va_start(args, format);
  vsnprintf(to, size, format, args);
  va_end(args);
}

relay_status status_of(cudaError_t error) {
  return error == cudaErrorMemoryAllocation ? RELAY_LIMIT : RELAY_INTERNAL;
}

// The device of the model while it is needed; afterwards that of the thread again.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = device;
    error = cudaSetDevice(device);
  }
  ~OnDevice() { cudaSetDevice(before_); }
  cudaError_t error;

 private:
  int before_ = 0;
};

relay_status copy_weights(relay_model* m, char* error, size_t error_size) {
  if (kWeightsBytes == 0) return RELAY_OK;
  void* memory = nullptr;
  cudaError_t wrong = cudaMalloc(&memory, kWeightsBytes);
  if (wrong != cudaSuccess) {
    say(error, error_size, "device %d has no memory for the weights (%llu bytes): %s", m->device,
        static_cast<unsigned long long>(kWeightsBytes), cudaGetErrorString(wrong));
    return status_of(wrong);
  }
  m->weights = static_cast<unsigned char*>(memory);
  cudaStream_t stream;
  wrong = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (wrong == cudaSuccess) {
    for (size_t i = 0; i < kWeightCount && wrong == cudaSuccess; ++i) {
      wrong = cudaMemcpyAsync(m->weights + kWeights[i].at, relay_weights_begin + kWeights[i].from,
                              kWeights[i].bytes, cudaMemcpyHostToDevice, stream);
    }
    if (wrong == cudaSuccess) wrong = cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
  if (wrong == cudaSuccess) return RELAY_OK;
  say(error, error_size, "the weights could not be copied to device %d: %s", m->device,
      cudaGetErrorString(wrong));
  cudaFree(m->weights);
  return status_of(wrong);
}

// --- Tensors ----------------------------------------------------------------------------------------------------------

bool dense(const DLTensor& t) {
  if (t.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t d = t.ndim; d-- > 0;) {
    if (t.shape[d] != 1 && t.strides[d] != expected) return false;
    expected *= t.shape[d];
  }
  return true;
}

void show_shape(char* to, size_t size, const int64_t* shape, int32_t rank) {
  size_t used = static_cast<size_t>(snprintf(to, size, "("));
  for (int32_t d = 0; d < rank && used < size; ++d) {
    used += static_cast<size_t>(
        snprintf(to + used, size - used, d ? ", %lld" : "%lld", static_cast<long long>(shape[d])));
  }
  if (used < size) snprintf(to + used, size - used, ")");
}

bool on_gpu(const DLTensor& t) {
  return t.device.device_type == kDLCUDA || t.device.device_type == kDLCUDAManaged;
}

relay_status check_tensor(relay_context* c, const char* role, const Port& port, const DLTensor* t) {
  char* error = c->error;
  constexpr size_t size = sizeof c->error;
  if (t == nullptr) {
    say(error, size, "%s `%s` is null", role, port.name);
    return RELAY_USAGE;
  }
  const int type = static_cast<int>(t->device.device_type);
  if (!on_gpu(*t) && type != kDLCPU && type != kDLCUDAHost) {
    say(error, size, "%s `%s` is on device %d, the model takes tensors of the CPU and of CUDA", role,
        port.name, type);
    return RELAY_USAGE;
  }
  if (t->device.device_type == kDLCUDA && t->device.device_id != c->model->device) {
    say(error, size, "%s `%s` is on CUDA device %d, the model runs on CUDA device %d", role, port.name,
        static_cast<int>(t->device.device_id), c->model->device);
    return RELAY_USAGE;
  }
  if (t->dtype.code != port.dtype_code || t->dtype.bits != port.dtype_bits || t->dtype.lanes != 1) {
    say(error, size, "%s `%s` must be %s", role, port.name, port.dtype_name);
    return RELAY_USAGE;
  }
  bool fits = t->ndim == port.rank;
  for (int32_t d = 0; fits && d < port.rank; ++d) fits = t->shape[d] == port.shape[d];
  if (!fits) {
    char want[128], got[128];
    show_shape(want, sizeof want, port.shape, port.rank);
    show_shape(got, sizeof got, t->shape, t->ndim < 0 || t->ndim > 16 ? 0 : t->ndim);
    say(error, size, "%s `%s` must have shape %s, it has %s", role, port.name, want, got);
    return RELAY_USAGE;
  }
  if (!dense(*t)) {
    say(error, size, "%s `%s` is not dense and row-major: copy it first", role, port.name);
    return RELAY_USAGE;
  }
  const size_t element = port.dtype_bits < 8 ? 1 : port.dtype_bits / 8;
  const unsigned char* data = static_cast<const unsigned char*>(t->data) + t->byte_offset;
  if (port.bytes > 0 && (t->data == nullptr || reinterpret_cast<uintptr_t>(data) % element != 0)) {
    say(error, size, "%s `%s` has %s", role, port.name,
        t->data == nullptr ? "no data" : "data that is not aligned for its dtype");
    return RELAY_USAGE;
  }
  return RELAY_OK;
}

// Places an output in the context, in the host's memory: the caller gave none.
relay_status hold_output(relay_context* c, size_t i, DLTensor* t) {
  const Port& port = kOutputs[i];
  if (c->held[i] == nullptr) {
    const relay_allocator& memory = c->model->memory;
    c->held[i] =
        static_cast<unsigned char*>(memory.allocate(memory.self, port.bytes ? port.bytes : 1, kAlignment));
    if (c->held[i] == nullptr) {
      say(c->error, sizeof c->error, "there is no memory for output `%s` (%llu bytes)", port.name,
          static_cast<unsigned long long>(port.bytes));
      return RELAY_LIMIT;
    }
  }
  int64_t* shape = c->held_shapes + i * kMostDims;
  for (int32_t d = 0; d < port.rank; ++d) shape[d] = port.shape[d];
  t->data = c->held[i];
  t->byte_offset = 0;
  t->device.device_type = kDLCPU;
  t->device.device_id = 0;
  t->ndim = port.rank;
  t->dtype.code = port.dtype_code;
  t->dtype.bits = port.dtype_bits;
  t->dtype.lanes = 1;
  t->shape = shape;
  t->strides = nullptr;
  return RELAY_OK;
}

unsigned char* data_of(const DLTensor& t) { return static_cast<unsigned char*>(t.data) + t.byte_offset; }

// May kernels use the caller's memory?
bool in_place(const DLTensor& t) {
  return on_gpu(t) && reinterpret_cast<uintptr_t>(data_of(t)) % kDeviceAlignment == 0;
}

// --- A run ------------------------------------------------------------------------------------------------------------

relay_status failed(relay_context* c, const char* what, cudaError_t error) {
  say(c->error, sizeof c->error, "%s: %s", what, cudaGetErrorString(error));
  return status_of(error);
}

relay_status run(relay_context* c, const DLTensor* const* inputs, DLTensor* const* outputs) {
  Run r;
  r.stream = c->stream;
  r.weights = c->model->weights;
  r.workspace = c->device_memory;
  r.failures = reinterpret_cast<int32_t*>(c->device_memory + kFailuresAt);
  r.cancelled = &c->cancelled;
  cudaError_t error =
      kStepCount > 0 ? cudaMemsetAsync(r.failures, 0, kStepCount * sizeof(int32_t), c->stream) : cudaSuccess;
  for (size_t i = 0; i < kInputCount && error == cudaSuccess; ++i) {
    r.inputs[i] = data_of(*inputs[i]);
    if (in_place(*inputs[i]) || kInputs[i].bytes == 0) continue;
    error =
        cudaMemcpyAsync(c->device_memory + kInputs[i].at, r.inputs[i], kInputs[i].bytes,
                        on_gpu(*inputs[i]) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, c->stream);
    r.inputs[i] = c->device_memory + kInputs[i].at;
  }
  if (error != cudaSuccess) return failed(c, "the inputs could not be copied to the device", error);
  for (size_t i = 0; i < kOutputCount; ++i)
    r.outputs[i] = in_place(*outputs[i]) ? data_of(*outputs[i]) : c->device_memory + kOutputs[i].at;
  const char* step = run_steps(r);
  // What was begun has to end before the caller's memory is his again.
  if (step != nullptr || r.stopped) {
    error = cudaStreamSynchronize(c->stream);
    if (r.stopped) {
      __atomic_store_n(&c->cancelled, 0, __ATOMIC_RELEASE);
      say(c->error, sizeof c->error, "the run was cancelled");
      return RELAY_CANCELLED;
    }
    return failed(c, step, r.error);
  }
  for (size_t i = 0; i < kOutputCount && error == cudaSuccess; ++i) {
    if (in_place(*outputs[i]) || kOutputs[i].bytes == 0) continue;
    error =
        cudaMemcpyAsync(data_of(*outputs[i]), r.outputs[i], kOutputs[i].bytes,
                        on_gpu(*outputs[i]) ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost, c->stream);
  }
  if (error == cudaSuccess && kStepCount > 0)
    error = cudaMemcpyAsync(c->failures, r.failures, kStepCount * sizeof(int32_t), cudaMemcpyDeviceToHost,
                            c->stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(c->stream);
  if (error != cudaSuccess) return failed(c, "the run failed on the device", error);
  for (size_t i = 0; i < kStepCount; ++i) {
    if (c->failures[i] == 0) continue;
    say(c->error, sizeof c->error, "%s", kMessages[i][0x7fffffff - c->failures[i] - 1]);
    return RELAY_TRAP;
  }
  return RELAY_OK;
}

}  // namespace

// --- The interface ----------------------------------------------------------------------------------------------------

extern "C" {

RELAY_EXPORT uint32_t relay_abi_version(void) { return RELAY_ABI_VERSION; }

RELAY_EXPORT const char* relay_model_describe(const relay_model*) { return kDescription; }

RELAY_EXPORT relay_status relay_model_open(const relay_open_options* given, relay_model** model) {
  relay_open_options options;
  memset(&options, 0, sizeof options);
  if (given != nullptr)
    memcpy(&options, given, given->struct_size < sizeof options ? given->struct_size : sizeof options);
  const auto refuse = [&](relay_status status, const char* why) {
    say(options.error, options.error_size, "%s", why);
    return status;
  };
  if (options.error != nullptr && options.error_size > 0) options.error[0] = 0;
  if (model == nullptr) return refuse(RELAY_USAGE, "there is no place for the model: `model` is null");
  *model = nullptr;
  if (given != nullptr && given->struct_size < sizeof(uint32_t))
    return refuse(RELAY_USAGE, "struct_size of the options is not set");
  if (options.weights_path != nullptr)
    return refuse(RELAY_USAGE, "this model's weights are inside its library: weights_path must be null");
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
  const relay_allocator c_memory = {nullptr, c_allocate, c_release};
  const relay_allocator memory = options.allocator ? *options.allocator : c_memory;
  void* place = memory.allocate(memory.self, sizeof(relay_model), kAlignment);
  if (place == nullptr) return refuse(RELAY_LIMIT, "there is no memory for the model");
  memset(place, 0, sizeof(relay_model));
  relay_model* m = static_cast<relay_model*>(place);
  m->memory = memory;
  m->device = device;
  const relay_status status = copy_weights(m, options.error, options.error_size);
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
  void* place = m->memory.allocate(m->memory.self, sizeof(relay_context), kAlignment);
  if (place == nullptr) return RELAY_LIMIT;
  memset(place, 0, sizeof(relay_context));
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
    return status_of(error);
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
  for (size_t i = 0; i < kOutputCount; ++i) {
    if (c->held[i] != nullptr)
      m->memory.release(m->memory.self, c->held[i], kOutputs[i].bytes ? kOutputs[i].bytes : 1);
  }
  m->memory.release(m->memory.self, c, sizeof(relay_context));
  __atomic_sub_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
}

RELAY_EXPORT relay_status relay_run(relay_context* c, const DLTensor* const* inputs, size_t input_count,
                                    DLTensor* const* outputs, size_t output_count) {
  if (c == nullptr) return RELAY_USAGE;
  c->error[0] = 0;
  if (input_count != kInputCount || output_count != kOutputCount) {
    say(c->error, sizeof c->error, "the model has %zu inputs and %zu outputs, %zu and %zu were given",
        kInputCount, kOutputCount, input_count, output_count);
    return RELAY_USAGE;
  }
  if ((inputs == nullptr && kInputCount > 0) || (outputs == nullptr && kOutputCount > 0)) {
    say(c->error, sizeof c->error, "the list of %s is null",
        inputs == nullptr && kInputCount > 0 ? "inputs" : "outputs");
    return RELAY_USAGE;
  }
  for (size_t i = 0; i < kInputCount; ++i) {
    const relay_status status = check_tensor(c, "input", kInputs[i], inputs[i]);
    if (status != RELAY_OK) return status;
  }
  for (size_t i = 0; i < kOutputCount; ++i) {
    DLTensor* t = outputs[i];
    const bool held = t != nullptr && t->data == nullptr;
    const relay_status status = held ? hold_output(c, i, t) : check_tensor(c, "output", kOutputs[i], t);
    if (status != RELAY_OK) return status;
  }
  const OnDevice here(c->model->device);
  if (here.error != cudaSuccess) return failed(c, "the device of the model cannot be used", here.error);
  return run(c, inputs, outputs);
}

RELAY_EXPORT void relay_cancel(relay_context* c) {
  if (c != nullptr) __atomic_store_n(&c->cancelled, 1, __ATOMIC_RELEASE);
}

RELAY_EXPORT const char* relay_error(const relay_context* c) {
  return c != nullptr ? c->error : "the context is null";
}

RELAY_EXPORT relay_status relay_set_timeout(relay_context* c, int64_t nanoseconds) {
  if (c == nullptr || nanoseconds < 0) return RELAY_USAGE;
  c->error[0] = 0;
  if (nanoseconds == 0) return RELAY_OK;
  say(c->error, sizeof c->error, "a run on a GPU takes no time limit: use relay_cancel");
  return RELAY_UNSUPPORTED;
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
