// Memory for tensors that a function needs only until it calls another one, and for those that the
// caller wants; part of the programs with functions that run on CPUs (see aot/arenas.h).

// A tensor in an arena: nobody counts its references, and nothing happens when they go.
class Borrowed {
 public:
  explicit Borrowed(Value v) : cell_(v.leave()) {}
  explicit operator bool() const { return cell_ != nullptr; }
  operator const Value&() const { return reinterpret_cast<const Value&>(cell_); }
  Cell* operator->() const { return cell_; }

 private:
  Cell* cell_;
};

// One block of the heap, for as long as the block of C++ in which it stands, or
// until it ends before.
class Arena {
 public:
  Arena(Run& run, size_t bytes) : cell_(take_cell(run, Kind::kNode, 0, 0, 0, kHead + bytes)) {}
  ~Arena() { end(); }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  explicit operator bool() const { return cell_ != nullptr; }
  Place at(size_t offset) const {
    return {reinterpret_cast<unsigned char*>(cell_) + kHead + offset, nullptr};
  }
  void end() {
    if (cell_ != nullptr) cell_->heap->give(cell_);
    cell_ = nullptr;
  }

 private:
  static constexpr size_t kHead = 64;  // places are multiples of it
  Cell* cell_;
};

static_assert(sizeof(Cell) == 32, "aot/arenas.cc plans with it");
constexpr size_t kMostPlaceBytes = size_t{1} << 44;  // so that the bytes of an arena have a number

// In its place, or by itself if it has none. By itself also what has no number of bytes:
// there it is said why.
inline Value make_tensor(Run& run, size_t element_bytes, uint32_t rank, const int64_t* extents,
                         const Place& at) {
  size_t bytes = 0;
  if (count_bytes(element_bytes, rank, extents, &bytes)) {
    if (at.memory != nullptr) {
      Cell* c = reinterpret_cast<Cell*>(at.memory);
      *c = {kForever, 0, Kind::kTensor, kNever, 0, rank, {nullptr}, {nullptr}};
      return with_elements(c, extents);
    }
    if (at.output != nullptr && has_room(*at.output, element_bytes, bytes))
      return make_view(run, memory_of(*at.output), rank, extents);
  }
  return make_tensor(run, element_bytes, rank, extents);
}

// Makes room from `begin` for a tensor with these extents. False if no memory holds it, which ends
// the run. A negative extent is found where the tensor is made.
template <class... Extents>
bool grow(Run& run, size_t begin, size_t& end, size_t element_bytes, Extents... extents) {
  const int64_t list[] = {(extents < 0 ? 0 : extents)..., 0};
  size_t bytes = 0;
  if (!count_bytes(element_bytes, sizeof...(extents), list, &bytes) || bytes > kMostPlaceBytes) {
    run.out_of_memory();
    return false;
  }
  bytes = (tensor_head(sizeof...(extents)) + bytes + 63) / 64 * 64;
  if (end < begin + bytes) end = begin + bytes;
  return true;
}
