// How programs with functions take and give tensors on CPUs; part of their artifacts
// (see interface.cc).

namespace {

DLDevice device_of(const relay_context*) { return {kDLCPU, 0}; }

// A call of the interface, with the threads that it may compute on.
class Stay {
 public:
  Stay(relay_context* c, Run& run, bool computes) : c_(c), run_(run), threads_(c->model, computes) {
    run.device->parallel = threads_.get();
    run.device->vta = &c->vta;
    run.device->backwards = backwards_of(threads_.get());
  }
  relay_status begun() const { return RELAY_OK; }
  // Everything is computed; what the run came to.
  relay_status end() const { return report(c_, run_.status, *run_.message); }

 private:
  relay_context* c_;
  Run& run_;
  const Threads threads_;
};

Value run_program(relay_context* c, Run& run, Value* args) { return c->model->variant->run_main(run, args); }

// The caller's memory as a value.
Value take_tensor(Run& run, const DLTensor& given, const TypeEntry& t) {
  return make_view(run, memory_of(given), t.count, given.shape);
}

Value copy_of(Run& run, const void* memory, unsigned dtype_bits, uint32_t rank, const int64_t* extents) {
  Value v = make_tensor(run, element_bytes(dtype_bits), rank, extents);
  const size_t bytes = v ? bytes_of(v.get(), element_bytes(dtype_bits)) : 0;
  if (bytes > 0) memcpy(v->data, memory, bytes);
  return v;
}
Value copy_tensor(Run& run, const DLTensor& given, const TypeEntry& t) {
  return copy_of(run, memory_of(given), t.dtype_bits, t.count, given.shape);
}

// What the caller may keep until the next run: the cell, or a copy if the elements are
// somebody else's.
Value keep_for_caller(Run& run, Cell* cell, unsigned dtype_bits) {
  Cell* owner = cell;
  while (owner->count > 0) owner = owner->held()[0];
  if (owner->data != reinterpret_cast<unsigned char*>(owner) + tensor_head(owner->rank))
    return copy_of(run, cell->data, dtype_bits, cell->rank, cell->extents());
  ++cell->references;
  return Value(cell);
}

void copy_out(Run&, Cell* cell, size_t bytes, const DLTensor& to) {
  if (bytes > 0 && memory_of(to) != cell->data) memcpy(memory_of(to), cell->data, bytes);
}

Value make_handle(Run& run, uint16_t type, Value v) { return make_node(run, type, static_cast<Value&&>(v)); }
Cell* readable_tensor(Run&, Cell* handle, const TypeEntry&) { return handle->held()[0]; }

}  // namespace
