
// The runtime of the machine (cuda_machine.cc, which comes before this file): devices, memory and
// streams. Environment variables say what it has (cuda_emulation.h).

static uint64_t relay_emulated_number(const char* name, uint64_t otherwise) {
  const char* text = getenv(name);
  return text != nullptr && *text != 0 ? strtoull(text, nullptr, 10) : otherwise;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(relay_emulated_number("RELAY_EMULATED_DEVICES", 1));
  return *count > 0 ? cudaSuccess : cudaErrorNoDevice;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : cudaErrorInvalidValue; }
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  *value = attribute == cudaDevAttrComputeCapabilityMajor
               ? static_cast<int>(relay_emulated_number("RELAY_EMULATED_CAPABILITY", 99))
               : 0;
  return cudaSuccess;
}
// In front of each piece: how large it is.
cudaError_t cudaMalloc(void** memory, size_t size) {
  relay_emulation::Turn turn;
  uint64_t& allocated = relay_emulation::machine().allocated;
  const uint64_t most = relay_emulated_number("RELAY_EMULATED_MEMORY", UINT64_MAX);
  void* place = nullptr;
  if (size > most || allocated > most - size || posix_memalign(&place, 256, size + 256) != 0)
    return cudaErrorMemoryAllocation;
  allocated += size;
  memcpy(place, &size, sizeof size);
  *memory = static_cast<unsigned char*>(place) + 256;
  memset(*memory, 0xff, size);  // NaN
  return cudaSuccess;
}
cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  relay_emulation::Turn turn;
  void* place = static_cast<unsigned char*>(memory) - 256;
  size_t size;
  memcpy(&size, place, sizeof size);
  relay_emulation::machine().allocated -= size;
  free(place);
  return cudaSuccess;
}

struct relay_emulated_stream {
  struct Copy {
    void* to;
    const void* from;
    size_t size;
  };
  Copy waiting[32];  // in order
  unsigned count;
  uint64_t copies;  // since it was waited for
};

void relay_emulation::catch_up(cudaStream_t stream) {
  if (stream == nullptr) return;  // there everything happens at once
  for (unsigned i = 0; i < stream->count; ++i)
    memcpy(stream->waiting[i].to, stream->waiting[i].from, stream->waiting[i].size);
  stream->count = 0;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t size, cudaMemcpyKind, cudaStream_t stream) {
  if (stream == nullptr) {
    if (size > 0) memcpy(to, from, size);
    return cudaSuccess;
  }
  if (stream->copies == relay_emulated_number("RELAY_EMULATED_COPIES", UINT64_MAX))
    return cudaErrorInvalidValue;
  ++stream->copies;
  if (size == 0) return cudaSuccess;
  if (stream->count == sizeof stream->waiting / sizeof *stream->waiting) relay_emulation::catch_up(stream);
  stream->waiting[stream->count++] = {to, from, size};
  return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void* to, int value, size_t size, cudaStream_t stream) {
  relay_emulation::catch_up(stream);
  if (size > 0) memset(to, value, size);
  return cudaSuccess;
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = static_cast<cudaStream_t>(calloc(1, sizeof(relay_emulated_stream)));
  return *stream != nullptr ? cudaSuccess : cudaErrorMemoryAllocation;
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  relay_emulation::catch_up(stream);
  free(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  relay_emulation::catch_up(stream);
  if (stream != nullptr) stream->copies = 0;
  return cudaSuccess;
}
cudaError_t cudaGetLastError() { return cudaSuccess; }
const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidConfiguration:
    case cudaErrorLaunchFailure: return relay_emulation::machine().error;
    default: return "invalid argument";
  }
}
