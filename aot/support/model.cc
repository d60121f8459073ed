// A model that is open, its contexts and its weights; part of the artifacts for CPUs
// (see interface.cc).

struct relay_model {
  relay_allocator memory;
  Pool pool;
  relay_parallel parallel;
  const Variant* variant;
  const unsigned char* weights;
  WeightsFile file;
  Vta vta;
  void (*log)(void* log_self, relay_log_level level, const char* text);
  void* log_self;
  unsigned contexts;  // changed with atomic built-ins only
};

struct relay_context {
  relay_model* model;
  unsigned char* workspace;
  size_t workspace_bytes;
  void* held[kOutputCount + 1];  // outputs that live in the context
  size_t held_bytes[kOutputCount + 1];
  int64_t held_shapes[kMostDims * kOutputCount + 1];
  VtaContext vta;
  Stop stop;
  char error[kErrorSize];
};

namespace {

// --- Memory --------------------------------------------------------------------------------------

void release_workspace(relay_context* c) {
  const relay_allocator& memory = c->model->memory;
  if (c->workspace != nullptr) memory.release(memory.self, c->workspace, c->workspace_bytes);
  c->workspace = nullptr;
  c->workspace_bytes = 0;
}

// Sees to it that the workspace has so many bytes. What was in it is lost if it has to grow.
bool reserve(relay_context* c, size_t bytes) {
  if (bytes <= c->workspace_bytes) return true;
  release_workspace(c);
  const relay_allocator& memory = c->model->memory;
  c->workspace = static_cast<unsigned char*>(memory.allocate(memory.self, bytes, kAlignment));
  if (c->workspace != nullptr) c->workspace_bytes = bytes;
  return c->workspace != nullptr;
}

// --- Runs ----------------------------------------------------------------------------------------

// Is the tensor where kernels can reach it? Says so if it is not.
bool check_device(relay_context* c, const char* role, const Port& port, const DLTensor& t) {
  if (t.device.device_type == kDLCPU) return true;
  say(c->error, kErrorSize, "%s `%s` is on device %d, the model runs on the CPU", role, port.name,
      static_cast<int>(t.device.device_type));
  return false;
}

// The threads that a run may use: those of the model, unless another model in this process has
// its own at work.
class Threads {
 public:
  explicit Threads(relay_model* m, bool computes = true) : model_(m), ours_(m->parallel.run == run_in_pool) {
    entered_ = computes && ours_ && m->pool.enter();
  }
  ~Threads() {
    if (entered_) model_->pool.leave();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  const relay_parallel* get() const { return ours_ && !entered_ ? &serial_ : &model_->parallel; }

 private:
  relay_model* model_;
  bool ours_, entered_;
  relay_parallel serial_ = {sizeof(relay_parallel), nullptr, run_serially};
};

}  // namespace
