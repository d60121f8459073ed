// The device of programs with functions that run on GPUs; part of their artifacts
// (see interface.cc).
//
// A tensor has its head in the host's memory and its elements in the device's. Everything is put
// into one stream, so memory that is given back can be taken again at once: what still reads it
// comes before what is going to write it. The host waits where it decides by an element (a
// condition, an extent that is data) and at the end of a run.
//
// A kernel that fails says so in a word of its own; these are looked at where the host waits.
// The first word in the order of the calls counts, and it comes before whatever the host
// found wrong since.

// The memory of a context on the device, in blocks that it keeps until its end.
class DeviceMemory {
 public:
  // Null if there is none left. The host's memory that it takes is of `heap`.
  void* take(Heap& heap, size_t bytes) {
    return chunk_.take(bytes, kChunk, [&](size_t all) { return block(heap, all); });
  }
  void end() {
    for (const Block* b = blocks_; b != nullptr; b = b->next) cudaFree(b->memory);
    blocks_ = spare_ = nullptr;
    chunk_ = {};
  }

 private:
  static constexpr size_t kChunk = size_t{2} << 20;
  struct Block {
    Block* next;
    void* memory;
  };

  void* block(Heap& heap, size_t bytes) {
    if (spare_ == nullptr) spare_ = static_cast<Block*>(heap.keep(sizeof(Block)));
    if (spare_ == nullptr) return nullptr;
    if (cudaMalloc(&spare_->memory, bytes) != cudaSuccess) {
      cudaGetLastError();  // else it would be another call's
      return nullptr;
    }
    Block* b = spare_;
    spare_ = nullptr;
    b->next = blocks_;
    blocks_ = b;
    return b->memory;
  }

  Block *blocks_ = nullptr, *spare_ = nullptr;
  Chunk chunk_;
};

// What lies in the workspace of a context.
struct Workspace {
  Heap heap;
  DeviceMemory memory;
  const char* const* messages[kFailureWords];
};
static_assert(sizeof(Workspace) <= kWorkspaceBytes, "aot/cuda/emit.cc knows how large it is");
inline void start_workspace(unsigned char* workspace, const relay_allocator* memory) {
  (new (workspace) Workspace)->heap.start(memory);
}
inline Workspace* workspace_in(unsigned char* workspace) { return reinterpret_cast<Workspace*>(workspace); }
inline Heap* heap_in(unsigned char* workspace) { return &workspace_in(workspace)->heap; }
inline void end_workspace(unsigned char* workspace) {
  workspace_in(workspace)->memory.end();
  workspace_in(workspace)->heap.end();
}

struct Device {
  cudaStream_t stream;
  DeviceMemory* memory;
  int32_t *failures, *seen;      // words of the device, and a copy of them
  const char* const** messages;  // of the kernels that have the words
  uint32_t calls;                // of kernels that may fail, since their words were looked at
  cudaError_t error;             // what ended the run, with kDevice
};

inline void device_failed(Run& run, const char* what, cudaError_t error) {
  if (run.status == 0) run.device->error = error;
  run.fail(kDevice, what);
}

// Waits for all that is in the stream. False if something of it failed, which ends the run.
inline bool look_back(Run& run) {
  Device& m = *run.device;
  const uint32_t calls = m.calls;
  m.calls = 0;
  cudaError_t error = cudaSuccess;
  if (calls > 0)
    error = cudaMemcpyAsync(m.seen, m.failures, calls * sizeof(int32_t), cudaMemcpyDeviceToHost, m.stream);
  if (error == cudaSuccess) error = cudaStreamSynchronize(m.stream);
  if (error == cudaSuccess && calls > 0)
    error = cudaMemsetAsync(m.failures, 0, calls * sizeof(int32_t), m.stream);
  if (error != cudaSuccess) {
    device_failed(run, "the run failed on the device", error);
    return false;
  }
  for (uint32_t i = 0; i < calls; ++i) {
    if (m.seen[i] == 0) continue;
    run.trap(m.messages[i][0x7fffffff - m.seen[i] - 1]);
    return false;
  }
  return true;
}

// The word of a kernel with these messages; null if an earlier one failed.
inline int32_t* failure_word(Run& run, const char* const* messages) {
  Device& m = *run.device;
  if (m.calls == kFailureWords && !look_back(run)) return nullptr;
  m.messages[m.calls] = messages;
  return m.failures + m.calls++;
}

// Puts a kernel into the stream. False if that cannot be, which ends the run.
template <class Kernel, size_t kCount>
bool put(Run& run, Kernel* kernel, const char* name, const int64_t (&grid)[3], dim3 block,
         const Argument (&arguments)[kCount], const int64_t* extents, size_t extent_count, int32_t* failure) {
  if (const int32_t asked = run.stop->asked()) {
    run.fail(asked, nullptr);
    return false;
  }
  const int64_t most[] = {0x7fffffff, 65535, 65535};
  for (int i = 0; i < 3; ++i) {
    if (grid[i] <= 0) return true;  // of no elements
    if (grid[i] <= most[i]) continue;
    run.fail(kLimit, "a tensor has more elements than a kernel has blocks of threads");
    return false;
  }
  const dim3 blocks(static_cast<unsigned>(grid[0]), static_cast<unsigned>(grid[1]),
                    static_cast<unsigned>(grid[2]));
  const cudaError_t error =
      launch(run.device->stream, kernel, name, blocks, block, arguments, extents, extent_count, failure);
  if (error != cudaSuccess) device_failed(run, name, error);
  return error == cudaSuccess;
}

inline Value take_piece(Run& run, size_t bytes) {
  size_t most = 0;
  Cell* c = run.heap->take_piece(bytes, &most);
  if (c == nullptr) {
    void* memory = run.device->memory->take(*run.heap, most);
    if (memory != nullptr) c = run.heap->add_piece(memory, most);
    if (c == nullptr) return run.fail(kLimit, "there is not enough memory on the device");
  }
  c->references = 1;
  return Value(c);
}

inline Value make_tensor(Run& run, size_t element_bytes, uint32_t rank, const int64_t* extents) {
  size_t bytes = 0;
  if (!count_elements(run, element_bytes, rank, extents, &bytes)) return Value();
  Value piece = take_piece(run, bytes);
  if (!piece) return piece;
  const void* memory = piece->data;
  return make_view(run, memory, rank, extents, static_cast<Value&&>(piece));
}

bool in_place(const DLTensor& t);  // may kernels use the caller's memory?

// In the caller's memory for this output, if that is of the device.
inline Value make_tensor(Run& run, size_t element_bytes, uint32_t rank, const int64_t* extents,
                         const Place& at) {
  size_t bytes = 0;
  if (at.output != nullptr && count_bytes(element_bytes, rank, extents, &bytes) &&
      has_room(*at.output, element_bytes, bytes) && in_place(*at.output))
    return make_view(run, memory_of(*at.output), rank, extents);
  return make_tensor(run, element_bytes, rank, extents);
}

// An argument of a kernel.
inline Argument argument(const char* name, const Value& v, uint32_t element_bytes, bool writes) {
  return {name, v->data, bytes_of(v.get(), element_bytes), element_bytes, writes};
}

// Elements for the host, which waits for them. False if the run ends.
inline bool read(Run& run, const Value& v, size_t offset, size_t bytes, void* to) {
  const cudaError_t error =
      cudaMemcpyAsync(to, data<unsigned char>(v) + offset, bytes, cudaMemcpyDeviceToHost, run.device->stream);
  if (error != cudaSuccess) device_failed(run, "an element could not be copied to the host", error);
  return error == cudaSuccess && look_back(run);
}
inline bool truth(Run& run, const Value& v, bool* is_true) {
  unsigned char byte = 0;
  if (!read(run, v, 0, 1, &byte)) return false;
  *is_true = byte != 0;
  return true;
}
