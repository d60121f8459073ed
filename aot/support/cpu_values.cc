// The device of programs with functions that run on CPUs: tensors have their elements after their
// heads, and kernels run on the threads of the model. Part of their artifacts (see interface.cc).

struct Device {
  const relay_parallel* parallel;
  relay_parallel backwards;
  VtaContext* vta;  // null if nothing runs
  uint64_t turned;  // a bit for each kernel: whether it went backwards last

  // The loops of a kernel that goes to and fro (alternation.h).
  const relay_parallel* alternate(uint32_t kernel) {
    const uint64_t bit = uint64_t{1} << kernel % 64;
    turned ^= bit;
    return (turned & bit) != 0 ? &backwards : parallel;
  }
};

inline Value make_tensor(Run& run, size_t element_bytes, uint32_t rank, const int64_t* extents) {
  return make_host_tensor(run, element_bytes, rank, extents);
}
inline bool truth(const Value& v) { return *data<const unsigned char>(v) != 0; }

static_assert(sizeof(Heap) <= kWorkspaceBytes, "the heap lies in the workspace");
inline void start_workspace(unsigned char* workspace, const relay_allocator* memory) {
  (new (workspace) Heap)->start(memory);
}
inline void end_workspace(unsigned char* workspace) { reinterpret_cast<Heap*>(workspace)->end(); }
inline Heap* heap_in(unsigned char* workspace) { return reinterpret_cast<Heap*>(workspace); }
