// What a program with control flow computes with: values that count their references, and the
// heap of one context.
//
// Relay's ahead-of-time compiler puts this text in front of the functions that it generates (see
// aot/functions.cc). What depends on the machine is in cpu_values.cc and cuda_values.cc: where
// tensors have their elements, and how kernels run. A context belongs to one thread at a time, so
// nothing here is atomic. Memory that is given back is kept for the next value of its size: a
// program that has run once allocates nothing when it runs again with tensors of the same sizes.

// A program uses what it needs of this.
#pragma GCC diagnostic ignored "-Wunused-function"

enum class Kind : uint8_t { kTensor, kNode, kClosure, kReference, kPiece };

class Heap;
class Value;
struct Batches;
struct Device;  // what a run has of the device: cpu_values.cc, cuda_values.cc
struct Run;

// A function that was made a value: its own value, and its arguments, which it may take away.
using Code = Value (*)(Run& run, const Value& self, Value* args);

// What a value refers to. In memory it is followed by `count` values that it holds, then by the
// extents of a tensor or the links of a reference.
struct Cell {
  uint32_t references;
  uint16_t
      tag;  // of a data type's constructor; of a tensor, how many calls its elements wait for (batches.cc)
  Kind kind;
  uint8_t size;  // class of the heap; kNever: not the heap's
  uint32_t count, rank;
  union {
    Heap* heap;
    Cell* next;  // of a cell that nothing refers to
  };
  union {
    void* data;  // of a tensor, or of a piece of a device's memory
    Code code;   // of a closure
  };

  Cell** held() { return reinterpret_cast<Cell**>(this + 1); }
  int64_t* extents() { return reinterpret_cast<int64_t*>(held() + count); }
  Cell** links() { return held() + count; }  // to the reference after it, and to the one before
};
constexpr uint8_t kNever = 255;

// The rest of a block of memory, handed out piece by piece.
class Chunk {
 public:
  // `block` gives memory of so many bytes, or null. What is larger than a quarter of a chunk is a
  // block of its own.
  template <class Block>
  void* take(size_t bytes, size_t chunk_bytes, const Block& block) {
    if (bytes > chunk_bytes / 4) return block(bytes);
    if (left_ < bytes) {
      next_ = static_cast<unsigned char*>(block(chunk_bytes));
      left_ = next_ != nullptr ? chunk_bytes : 0;
      if (next_ == nullptr) return nullptr;
    }
    void* out = next_;
    next_ += bytes;
    left_ -= bytes;
    return out;
  }

 private:
  unsigned char* next_ = nullptr;
  size_t left_ = 0;
};

// Memory in classes of sizes, four to each power of two, so that at most a fifth of a large
// block is not used.
class Heap {
 public:
  void start(const relay_allocator* memory) { memory_ = memory; }

  // Null if there is none left.
  Cell* take(size_t bytes) {
    const uint8_t size = class_of(bytes);
    Cell* c = free_[0][size];
    if (c != nullptr) {
      free_[0][size] = c->next;
    } else {
      c = static_cast<Cell*>(fresh(bytes_of(size)));
      if (c == nullptr) return nullptr;
    }
    c->size = size;
    c->heap = this;
    return c;
  }
  void give(Cell* c) {
    Cell*& first = free_[c->kind == Kind::kPiece ? kMemories - 1 : 0][c->size];
    c->next = first;
    first = c;
  }
  // A piece of a device's memory that was given back, of at least so many bytes; null if there is
  // none. `most` is what the class of it has.
  Cell* take_piece(size_t bytes, size_t* most) {
    const uint8_t size = class_of(bytes);
    *most = bytes_of(size);
    Cell*& first = free_[kMemories - 1][size];
    Cell* c = first;
    if (c != nullptr) {
      first = c->next;
      c->heap = this;
    }
    return c;
  }
  // One that is new.
  Cell* add_piece(void* memory, size_t bytes) {
    Cell* c = take(sizeof(Cell));
    if (c == nullptr) return nullptr;
    c->kind = Kind::kPiece;
    c->count = c->rank = 0;
    c->size = class_of(bytes);
    c->data = memory;
    return c;
  }

  // Memory until the end; null if there is none.
  void* keep(size_t bytes) { return block(bytes); }

  // Gives all of it back, whatever refers to it.
  void end() {
    while (blocks_ != nullptr) {
      Block* b = blocks_;
      blocks_ = b->next;
      memory_->release(memory_->self, b, b->bytes);
    }
    for (auto& list : free_) {
      for (Cell*& c : list) c = nullptr;
    }
    chunk_ = {};
    references_ = nullptr;
    batches = nullptr;
  }
  // What a run has left are references that refer to themselves: nothing that is handed out has
  // one. Without its contents each of them goes as anything else does.
  void end_run();

  void add_reference(Cell* c) {
    c->links()[0] = references_;
    c->links()[1] = nullptr;
    if (references_ != nullptr) references_->links()[1] = c;
    references_ = c;
  }
  void remove_reference(Cell* c) {
    Cell *after = c->links()[0], *before = c->links()[1];
    if (before == c) return;  // it was
    if (after != nullptr) after->links()[1] = before;
    (before != nullptr ? before->links()[0] : references_) = after;
    c->links()[1] = c;
  }

  Batches* batches = nullptr;  // of programs in which calls wait: batches.cc; lies in this heap

  // How far calls of this thread may go, so that kernels have room, too.
  const char* stack_end() {
    const pthread_t self = pthread_self();
    if (stack_end_ != nullptr && pthread_equal(self, thread_)) return stack_end_;
    constexpr size_t kRoom = 512 * 1024;
    const char* here = static_cast<const char*>(__builtin_frame_address(0));
    pthread_attr_t attributes;
    void* low = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(self, &attributes) == 0) {
      pthread_attr_getstack(&attributes, &low, &size);
      pthread_attr_destroy(&attributes);
    }
    // The C library asks for memory to tell it. What there is for certain does for this run; the
    // next one asks again.
    if (low == nullptr) return here - kRoom;
    thread_ = self;
    stack_end_ = static_cast<const char*>(low) + (size / 2 < kRoom ? size / 2 : kRoom);
    return stack_end_;
  }

 private:
  static constexpr size_t kUnit = 64, kChunk = 64 * 1024;
  struct alignas(kUnit) Block {
    Block* next;
    size_t bytes;
  };

  static uint8_t class_of(size_t bytes) {
    const size_t units = (bytes + kUnit - 1) / kUnit;
    if (units <= 4) return static_cast<uint8_t>(units == 0 ? 0 : units - 1);
    const int power = 63 - __builtin_clzll(units - 1);  // units in (2^power, 2^(power + 1)]
    const size_t quarter = size_t{1} << (power - 2);
    return static_cast<uint8_t>(4 * (power - 1) + (units - (size_t{1} << power) + quarter - 1) / quarter - 1);
  }
  static size_t bytes_of(uint8_t size) {
    if (size < 4) return kUnit * (size + 1);
    const int power = size / 4 + 1;
    return kUnit * ((size_t{1} << power) + (size_t{1} << (power - 2)) * (size % 4 + 1));
  }

  void* fresh(size_t bytes) {
    return chunk_.take(bytes, kChunk, [this](size_t all) { return block(all); });
  }
  void* block(size_t bytes) {
    if (bytes > SIZE_MAX / 2) return nullptr;
    const size_t all = bytes + sizeof(Block);
    Block* b = static_cast<Block*>(memory_->allocate(memory_->self, all, kUnit));
    if (b == nullptr) return nullptr;
    b->next = blocks_;
    b->bytes = all;
    blocks_ = b;
    return b + 1;
  }

  const relay_allocator* memory_ = nullptr;
  Block* blocks_ = nullptr;
  Chunk chunk_;
  Cell* references_ = nullptr;  // that are in use, by their links
  pthread_t thread_ = {};
  const char* stack_end_ = nullptr;
  Cell* free_[kMemories][4 * 62 + 4] = {};  // of the host's memory, and of a device's
};

constexpr uint32_t kForever = UINT32_MAX;  // references of what is never given back

// A reference to a cell. None of them is null unless the run has failed.
class Value {
 public:
  Value() = default;
  explicit Value(Cell* c) : cell_(c) {}  // takes the reference over
  Value(const Value& other) : cell_(other.cell_) {
    if (cell_ != nullptr && cell_->references != kForever) ++cell_->references;
  }
  Value(Value&& other) noexcept : cell_(other.cell_) { other.cell_ = nullptr; }
  Value& operator=(Value other) noexcept {
    Cell* c = cell_;
    cell_ = other.cell_;
    other.cell_ = c;
    return *this;
  }
  ~Value() {
    if (cell_ != nullptr && cell_->references != kForever && --cell_->references == 0) release(cell_);
  }

  explicit operator bool() const { return cell_ != nullptr; }
  Cell* operator->() const { return cell_; }
  Cell* get() const { return cell_; }
  Cell* leave() {
    Cell* c = cell_;
    cell_ = nullptr;
    return c;
  }

 private:
  // Without recursion: a list may be long. Cells wait in a chain in the place of `heap`, which is
  // the same for all of them.
  static void release(Cell* first) {
    Heap* heap = first->heap;
    first->next = nullptr;
    for (Cell* c = first; c != nullptr;) {
      Cell* rest = c->next;
      for (uint32_t i = 0; i < c->count; ++i) {
        Cell* child = c->held()[i];
        if (child == nullptr || child->references == kForever || --child->references != 0) continue;
        child->next = rest;
        rest = child;
      }
      if (c->kind == Kind::kReference) heap->remove_reference(c);
      heap->give(c);
      c = rest;
    }
  }

  Cell* cell_ = nullptr;
};

inline void Heap::end_run() {
  while (references_ != nullptr) {
    Cell* c = references_;
    remove_reference(c);
    const Value contents(c->held()[0]);  // which may have been all that kept the reference
    c->held()[0] = nullptr;
  }
}

inline const Value& field(const Value& v, uint32_t i) { return reinterpret_cast<const Value*>(v->held())[i]; }
inline uint16_t tag(const Value& v) { return v->tag; }
template <class T>
T* data(const Value& v) {
  return static_cast<T*>(v->data);
}
inline int64_t extent(const Value& v, uint32_t i) { return v->extents()[i]; }
inline void write(const Value& reference, Value v) {
  Cell*& place = reference->held()[0];
  const Value before(place);
  place = v.leave();
}

// One run of the program. What there is no value of ends it.
struct Run {
  Device* device;
  const unsigned char* weights;  // where kernels read them
  Stop* stop;
  const char** message;
  Heap* heap;
  DLTensor* const* outputs;  // the caller's, or null
  const char* stack_end;     // how far calls may go
  int32_t status;
  // A call in the place of another one, which has returned.
  Code code;
  Value self;
  Value args[kMostArguments];

  Value fail(int32_t with, const char* why) {
    if (status == 0) {
      status = with;
      *message = why;
    }
    return Value();
  }
  Value trap(const char* why) { return fail(kTrapped, why); }
  Value out_of_memory() { return fail(kLimit, "there is not enough memory"); }

  // At the beginning of every function. False if the run ends here.
  bool enter() {
    if (const int32_t asked = stop->asked()) {
      fail(asked, nullptr);
      return false;
    }
    if (static_cast<const char*>(__builtin_frame_address(0)) >= stack_end) return true;
    fail(kLimit, "the program's calls are nested too deeply for the thread's stack");
    return false;
  }
};

// Where the elements of a tensor begin that has them itself.
inline size_t tensor_head(uint32_t rank) { return (sizeof(Cell) + rank * sizeof(int64_t) + 63) / 64 * 64; }

// A cell that holds nothing yet, of so many bytes; null if there is no memory for it,
// which ends the run.
inline Cell* take_cell(Run& run, Kind kind, uint16_t tag, uint32_t count, uint32_t rank, size_t bytes) {
  Cell* c = run.heap->take(bytes);
  if (c == nullptr) {
    run.out_of_memory();
    return nullptr;
  }
  c->references = 1;
  c->tag = tag;
  c->kind = kind;
  c->count = count;
  c->rank = rank;
  c->code = nullptr;
  return c;
}

// The cell of a tensor whose elements come after its head.
inline Value with_elements(Cell* c, const int64_t* extents) {
  c->data = reinterpret_cast<unsigned char*>(c) + tensor_head(c->rank);
  for (uint32_t i = 0; i < c->rank; ++i) c->extents()[i] = extents[i];
  return Value(c);
}

// The bytes of its elements. False if there is no such tensor, which ends the run.
inline bool count_elements(Run& run, size_t element_bytes, uint32_t rank, const int64_t* extents,
                           size_t* bytes) {
  if (count_bytes(element_bytes, rank, extents, bytes)) return true;
  for (uint32_t i = 0; i < rank; ++i) {
    if (extents[i] >= 0) continue;
    run.trap("wrong shape: an extent of a tensor is negative or does not fit 64 bits");
    return false;
  }
  run.out_of_memory();
  return false;
}
// The bytes of a tensor's elements.
inline size_t bytes_of(Cell* tensor, size_t element_bytes) {
  size_t bytes = 0;
  (void)count_bytes(element_bytes, tensor->rank, tensor->extents(), &bytes);
  return bytes;
}
// A tensor that has its elements itself, in the host's memory.
inline Value make_host_tensor(Run& run, size_t element_bytes, uint32_t rank, const int64_t* extents) {
  size_t bytes = 0;
  if (!count_elements(run, element_bytes, rank, extents, &bytes)) return Value();
  Cell* c = take_cell(run, Kind::kTensor, 0, 0, rank, tensor_head(rank) + bytes);
  return c == nullptr ? Value() : with_elements(c, extents);
}
// Memory that somebody else keeps: the caller's, the model's weights, or that of another tensor.
inline Value make_view(Run& run, const void* memory, uint32_t rank, const int64_t* extents,
                       Value keeper = Value()) {
  const uint32_t count = keeper ? 1 : 0;
  Cell* c = take_cell(run, Kind::kTensor, 0, count, rank, sizeof(Cell) + (count + rank) * sizeof(int64_t));
  if (c == nullptr) return Value();
  c->data = const_cast<void*>(memory);
  if (count > 0) c->held()[0] = keeper.leave();
  for (uint32_t i = 0; i < rank; ++i) c->extents()[i] = extents[i];
  return Value(c);
}
// A tuple or a constructor's value whose places are filled afterwards.
inline Value make_room(Run& run, uint16_t tag, uint32_t count) {
  Cell* c = take_cell(run, Kind::kNode, tag, count, 0, sizeof(Cell) + count * sizeof(Cell*));
  for (uint32_t i = 0; c != nullptr && i < count; ++i) c->held()[i] = nullptr;
  return Value(c);
}
template <class... V>
Value make_node(Run& run, uint16_t tag, V... held) {
  Cell* c =
      take_cell(run, Kind::kNode, tag, sizeof...(held), 0, sizeof(Cell) + sizeof...(held) * sizeof(Cell*));
  if (c == nullptr) return Value();
  uint32_t i = 0;
  (void)i;
  ((c->held()[i++] = held.leave()), ...);
  return Value(c);
}
template <class... V>
Value make_closure(Run& run, Code code, V... held) {
  Value v = make_node(run, 0, static_cast<V&&>(held)...);
  if (v) v->kind = Kind::kClosure, v->code = code;
  return v;
}
inline Value make_reference(Run& run, Value contents) {
  Cell* c = take_cell(run, Kind::kReference, 0, 1, 0, sizeof(Cell) + 3 * sizeof(Cell*));
  if (c == nullptr) return Value();
  c->held()[0] = contents.leave();
  run.heap->add_reference(c);
  return Value(c);
}
// An extent that a closure takes from around it.
inline Value make_extent(Run& run, int64_t extent) {
  Value v = make_host_tensor(run, sizeof extent, 0, nullptr);
  if (v) *data<int64_t>(v) = extent;
  return v;
}

// Calls in the last place of a function are made when it has returned, so that they take no space.
const Cell kLaterCell = {kForever, 0, Kind::kNode, kNever, 0, 0, {nullptr}, {nullptr}};
template <class... V>
Value later(Run& run, Code code, Value self, V... args) {
  run.code = code;
  run.self = static_cast<Value&&>(self);
  uint32_t i = 0;
  (void)i;
  ((run.args[i++] = static_cast<V&&>(args)), ...);
  return Value(const_cast<Cell*>(&kLaterCell));  // nobody counts its references
}
inline Value finish(Run& run, Value v) {
  while (v.get() == &kLaterCell) {
    const Value self = static_cast<Value&&>(run.self);
    Value args[kMostArguments];
    for (uint32_t i = 0; i < kMostArguments; ++i) args[i] = static_cast<Value&&>(run.args[i]);
    v = run.code(run, self, args);
  }
  return v;
}
template <class... V>
Value call(Run& run, const Value& callee, V... args) {
  const Value self = callee;
  Value list[] = {static_cast<V&&>(args)..., Value()};
  return finish(run, self->code(run, self, list));
}

// Where a kernel writes a tensor, if not by itself: in an arena, or to the caller's memory
// for this output.
struct Place {
  unsigned char* memory = nullptr;
  const DLTensor* output = nullptr;
};
inline Place output(Run& run, size_t i) {
  return {nullptr, run.outputs != nullptr ? run.outputs[i] : nullptr};
}

// Does the caller's tensor, whose type has been checked, have so many bytes?
inline bool has_room(const DLTensor& output, size_t element_bytes, size_t bytes) {
  size_t room = 0;
  return output.data != nullptr &&
         count_bytes(element_bytes, static_cast<uint32_t>(output.ndim), output.shape, &room) && room == bytes;
}
