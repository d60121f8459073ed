// A model in the memory of a GPU, and its contexts; part of the artifacts for GPUs
// (see interface.cc).
//
// A model has its weights in the memory of one device, a context has one stream and one piece of
// memory there, with words that say what failed, and for plans with places for the workspace and
// for inputs and outputs that the caller keeps elsewhere.

struct relay_model {
  relay_allocator memory;
  int device;
  unsigned char* weights;
  void (*log)(void* log_self, relay_log_level level, const char* text);
  void* log_self;
  unsigned contexts;  // changed with atomic built-ins only
};

struct relay_context {
  relay_model* model;
  cudaStream_t stream;
  unsigned char* device_memory;
  unsigned char* workspace;  // of the host's memory; null if nothing needs it
  int32_t failures[kFailureWords + 1];
  void* held[kOutputCount + 1];  // outputs that live in the context, in the host's memory
  size_t held_bytes[kOutputCount + 1];
  void* spare[kOutputCount + 1];  // where they were before, if the last run read them there
  size_t spare_bytes[kOutputCount + 1];
  // Of plans: the extents of `held` and `spare`. Which of the two has row 1, `held_row` says.
  int64_t held_shapes[2][kMostDims * kOutputCount + 1];
  bool held_row[kOutputCount + 1];
  Stop stop;
  char error[kErrorSize];
};

namespace {

// --- The device ----------------------------------------------------------------------------------

constexpr uintptr_t kDeviceAlignment = 16;  // that kernels count on

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

relay_status copy_weights(relay_model* m, const unsigned char* from, char* error, size_t error_size) {
  if (kDeviceWeightsBytes == 0) return RELAY_OK;
  void* memory = nullptr;
  cudaError_t wrong = cudaMalloc(&memory, kDeviceWeightsBytes);
  if (wrong != cudaSuccess) {
    say(error, error_size, "there is no memory on device %d for the weights (%llu bytes): %s", m->device,
        static_cast<unsigned long long>(kDeviceWeightsBytes), cudaGetErrorString(wrong));
    return status_of(wrong);
  }
  m->weights = static_cast<unsigned char*>(memory);
  cudaStream_t stream;
  wrong = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (wrong == cudaSuccess) {
    for (size_t i = 0; i < kWeightCount && wrong == cudaSuccess; ++i) {
      wrong = cudaMemcpyAsync(m->weights + kWeights[i].at, from + kWeights[i].from, kWeights[i].bytes,
                              cudaMemcpyHostToDevice, stream);
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

bool on_gpu(const DLTensor& t) {
  return t.device.device_type == kDLCUDA || t.device.device_type == kDLCUDAManaged;
}

// May kernels use the caller's memory?
bool in_place(const DLTensor& t) {
  return on_gpu(t) && reinterpret_cast<uintptr_t>(memory_of(t)) % kDeviceAlignment == 0;
}

relay_status failed(relay_context* c, const char* what, cudaError_t error) {
  say(c->error, kErrorSize, "%s: %s", what, cudaGetErrorString(error));
  return status_of(error);
}

void release_context(relay_context* c) {
  const relay_allocator& memory = c->model->memory;
  if (c->workspace != nullptr) memory.release(memory.self, c->workspace, kWorkspaceBytes);
  memory.release(memory.self, c, sizeof(relay_context));
}

// Is the tensor where it can be copied from or to? Says so if it is not.
bool check_device(relay_context* c, const char* role, const Port& port, const DLTensor& t) {
  const int type = static_cast<int>(t.device.device_type);
  if (!on_gpu(t) && type != kDLCPU && type != kDLCUDAHost) {
    say(c->error, kErrorSize, "%s `%s` is on device %d, the model takes tensors of the CPU and of CUDA", role,
        port.name, type);
    return false;
  }
  if (t.device.device_type == kDLCUDA && t.device.device_id != c->model->device) {
    say(c->error, kErrorSize, "%s `%s` is on CUDA device %d, the model runs on CUDA device %d", role,
        port.name, static_cast<int>(t.device.device_id), c->model->device);
    return false;
  }
  return true;
}

}  // namespace
