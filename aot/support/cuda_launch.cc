// A kernel put into a stream; part of the artifacts for GPUs (see interface.cc).

struct Argument {
  const char* name;
  void* memory;
  uint64_t bytes;
  uint32_t element_bytes;
  bool writes;
};

// A kernel takes these arguments, the values of its shape parameters, and the word in which it
// says how it failed.
template <class Kernel, size_t kCount>
cudaError_t launch(cudaStream_t stream, Kernel* kernel, const char* name, dim3 grid, dim3 block,
                   const Argument (&arguments)[kCount], const int64_t* extents, size_t extent_count,
                   int32_t* failure) {
  void* memory[kCount];
  void* places[kCount + kMostExtents + 1];
  for (size_t i = 0; i < kCount; ++i) {
    memory[i] = arguments[i].memory;
    places[i] = &memory[i];
  }
  for (size_t i = 0; i < extent_count; ++i) places[kCount + i] = const_cast<int64_t*>(&extents[i]);
  places[kCount + extent_count] = &failure;
#ifdef RELAY_CUDA_EMULATION
  const relay_emulation::Turn turn;
  relay_emulation::name_launch(name);
  for (const Argument& a : arguments)
    relay_emulation::allow(a.name, a.memory, a.bytes, a.element_bytes, a.writes);
#else
  (void)name;
#endif
  return cudaLaunchKernel(kernel, grid, block, places, 0, stream);
}
