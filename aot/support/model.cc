// A model that is open, its contexts and its weights; part of the artifacts for CPUs
// (see interface.cc).

struct relay_model {
  relay_allocator memory;
  Pool pool;
  relay_parallel parallel;  // the pool's, or the caller's
  relay::Denormals denormals;
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
  void* spare[kOutputCount + 1];  // where they were before, if the last run read them there
  size_t spare_bytes[kOutputCount + 1];
  // Of plans: the extents of `held` and `spare`. Which of the two has row 1, `held_row` says.
  int64_t held_shapes[2][kMostDims * kOutputCount + 1];
  bool held_row[kOutputCount + 1];
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

// A loop of the model on the caller's threads, whose control words are not ours.
struct LentBody {
  int32_t (*body)(void*, int64_t, int64_t);
  void* closure;
  relay::Denormals denormals;
};
int32_t run_lent_body(void* self, int64_t begin, int64_t end) {
  const LentBody* lent = static_cast<const LentBody*>(self);
  const relay::DenormalsScope scope(lent->denormals);
  return lent->body(lent->closure, begin, end);
}
int32_t run_on_lent_threads(void* self, int64_t extent, int32_t (*body)(void*, int64_t, int64_t),
                            void* closure) {
  const relay_model* m = static_cast<const relay_model*>(self);
  LentBody lent = {body, closure, m->denormals};
  return m->parallel.run(m->parallel.self, extent, run_lent_body, &lent);
}

// The threads that a run may use: those of the model, unless another model in this process has
// its own at work. While it lives, the caller's thread flushes denormals or keeps them as they do.
class Threads {
 public:
  explicit Threads(relay_model* m, bool computes = true)
      : model_(m), ours_(m->parallel.run == run_in_pool), denormals_(m->denormals) {
    entered_ = computes && ours_ && m->pool.enter();
  }
  ~Threads() {
    if (entered_) model_->pool.leave();
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  const relay_parallel* get() const { return !ours_ ? &lent_ : entered_ ? &model_->parallel : &serial_; }

 private:
  relay_model* model_;
  bool ours_, entered_;
  relay_parallel serial_ = {sizeof(relay_parallel), nullptr, run_serially};
  relay_parallel lent_ = {sizeof(relay_parallel), model_, run_on_lent_threads};
  const relay::DenormalsScope denormals_;
};

}  // namespace
