// How programs with functions take and give tensors on GPUs; part of their artifacts
// (see interface.cc).

namespace {

DLDevice device_of(const relay_context* c) { return {kDLCUDA, c->model->device}; }

// A call of the interface, on the model's device. It ends when all is done that is in the stream:
// what that reads and writes may be the caller's memory.
class Stay {
 public:
  Stay(relay_context* c, Run& run, bool computes) : c_(c), run_(run), here_(c->model->device) {
    Device& m = *run.device;
    m.stream = c->stream;
    m.memory = &workspace_in(c->workspace)->memory;
    m.failures = reinterpret_cast<int32_t*>(c->device_memory + kFailuresAt);
    m.seen = c->failures;
    m.messages = workspace_in(c->workspace)->messages;
    error_ = here_.error;
    // The run before may have ended before its words were looked at.
    if (error_ == cudaSuccess && computes)
      error_ = cudaMemsetAsync(m.failures, 0, kFailureWords * sizeof(int32_t), c->stream);
  }
  ~Stay() {
    if (!ended_) cudaStreamSynchronize(c_->stream);
  }
  Stay(const Stay&) = delete;
  Stay& operator=(const Stay&) = delete;

  relay_status begun() const {
    return error_ == cudaSuccess ? RELAY_OK : failed(c_, "the device of the model cannot be used", error_);
  }
  // Everything is computed; what the run came to.
  relay_status end() {
    ended_ = true;
    const int32_t status = run_.status;
    const char* message = *run_.message;
    if (status == 0 || status == kTrapped || status == kLimit) {
      run_.status = 0;
      if (look_back(run_)) run_.status = status, *run_.message = message;
    } else {
      cudaStreamSynchronize(c_->stream);
    }
    return run_.status == kDevice ? failed(c_, *run_.message, run_.device->error)
                                  : report(c_, run_.status, *run_.message);
  }

 private:
  relay_context* c_;
  Run& run_;
  const OnDevice here_;
  cudaError_t error_;
  bool ended_ = false;
};

Value run_program(relay_context*, Run& run, Value* args) { return run_main(run, args); }

Value copy_tensor(Run& run, const DLTensor& given, const TypeEntry& t) {
  Value v = make_tensor(run, element_bytes(t.dtype_bits), t.count, given.shape);
  const size_t bytes = v ? bytes_of(v.get(), element_bytes(t.dtype_bits)) : 0;
  if (bytes == 0) return v;
  const cudaError_t error =
      cudaMemcpyAsync(v->data, memory_of(given), bytes,
                      on_gpu(given) ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, run.device->stream);
  if (error == cudaSuccess) return v;
  device_failed(run, "a tensor could not be copied to the device", error);
  return Value();
}
// The caller's tensor, where it is if kernels can use it there.
Value take_tensor(Run& run, const DLTensor& given, const TypeEntry& t) {
  return in_place(given) ? make_view(run, memory_of(given), t.count, given.shape)
                         : copy_tensor(run, given, t);
}

void copy_to(Run& run, void* to, bool to_gpu, const Cell* from, size_t bytes) {
  if (bytes == 0 || to == from->data) return;
  const cudaError_t error = cudaMemcpyAsync(
      to, from->data, bytes, to_gpu ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost, run.device->stream);
  if (error != cudaSuccess) device_failed(run, "a tensor could not be copied from the device", error);
}
void copy_out(Run& run, Cell* cell, size_t bytes, const DLTensor& to) {
  copy_to(run, memory_of(to), on_gpu(to), cell, bytes);
}

// A copy in the host's memory.
Value keep_for_caller(Run& run, Cell* cell, unsigned dtype_bits) {
  Value copy = make_host_tensor(run, element_bytes(dtype_bits), cell->rank, cell->extents());
  if (copy) copy_to(run, copy->data, false, cell, bytes_of(cell, element_bytes(dtype_bits)));
  return copy;
}

// Beside a tensor its copy in the host's memory, once somebody has looked at it.
Value make_handle(Run& run, uint16_t type, Value v) {
  return make_node(run, type, static_cast<Value&&>(v), Value());
}
Cell* readable_tensor(Run& run, Cell* handle, const TypeEntry& t) {
  Cell*& copy = handle->held()[1];
  if (copy == nullptr) {
    Value made = keep_for_caller(run, handle->held()[0], t.dtype_bits);
    if (made && run.status == 0 && look_back(run)) copy = made.leave();
  }
  return copy;
}

}  // namespace
