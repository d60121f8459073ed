// A model that is open, its contexts and its weights; part of the artifacts for CPUs (see interface.cc).

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct relay_model {
  relay_allocator memory;
  Pool pool;
  relay_parallel parallel;
  const Variant* variant;
  const unsigned char* weights;
  void* mapped;
  size_t mapped_size;
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
  Stop stop;
  char error[kErrorSize];
};

namespace {

// --- Weights --------------------------------------------------------------------------------------------------------

#ifdef RELAY_WEIGHTS_FILE

relay_status map_weights(relay_model* m, const char* path, char* error, size_t error_size) {
  char beside[4096];
  if (path == nullptr) {
    // The file stands beside the library.
    Dl_info info;
    if (dladdr(reinterpret_cast<const void*>(&relay_get_api), &info) == 0 || info.dli_fname == nullptr) {
      say(error, error_size, "cannot tell where this library is: give weights_path");
      return RELAY_BAD_MODEL;
    }
    const char* slash = strrchr(info.dli_fname, '/');
    const int folder = slash ? static_cast<int>(slash - info.dli_fname) + 1 : 0;
    if (snprintf(beside, sizeof beside, "%.*s%s", folder, info.dli_fname, RELAY_WEIGHTS_FILE) >=
        static_cast<int>(sizeof beside)) {
      say(error, error_size, "the path of the weights is too long");
      return RELAY_BAD_MODEL;
    }
    path = beside;
  }
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    say(error, error_size, "cannot open the weights %s: %s", path, strerror(errno));
    return RELAY_BAD_MODEL;
  }
  struct stat about;
  if (fstat(file, &about) != 0 || static_cast<uint64_t>(about.st_size) != kWeightsOffset + kWeightsBytes) {
    say(error, error_size, "the weights %s have %lld bytes, this model's have %llu", path,
        static_cast<long long>(about.st_size),
        static_cast<unsigned long long>(kWeightsOffset + kWeightsBytes));
    close(file);
    return RELAY_BAD_MODEL;
  }
  m->mapped_size = static_cast<size_t>(about.st_size);
  m->mapped = mmap(nullptr, m->mapped_size, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (m->mapped == MAP_FAILED) {
    m->mapped = nullptr;
    say(error, error_size, "cannot map the weights %s: %s", path, strerror(errno));
    return RELAY_BAD_MODEL;
  }
  // The head holds the names, the shapes and a hash of the contents: another model's weights have another head.
  if (memcmp(m->mapped, kWeightsHead, sizeof kWeightsHead - 1) != 0) {
    say(error, error_size, "the weights %s belong to another model", path);
    return RELAY_BAD_MODEL;
  }
  m->weights = static_cast<const unsigned char*>(m->mapped) + kWeightsOffset;
  return RELAY_OK;
}

#else

relay_status map_weights(relay_model* m, const char* path, char* error, size_t error_size) {
  if (path != nullptr) {
    say(error, error_size, "this model's weights are inside its library: weights_path must be null");
    return RELAY_USAGE;
  }
  m->weights = relay_embedded_weights();
  return RELAY_OK;
}

#endif

// --- Memory ---------------------------------------------------------------------------------------------------------

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

// --- Runs -----------------------------------------------------------------------------------------------------------

// Is the tensor where kernels can reach it? Says so if it is not.
bool check_device(relay_context* c, const char* role, const Port& port, const DLTensor& t) {
  if (t.device.device_type == kDLCPU) return true;
  say(c->error, kErrorSize, "%s `%s` is on device %d, the model runs on the CPU", role, port.name,
      static_cast<int>(t.device.device_type));
  return false;
}

// The threads that a run may use: those of the model, unless another model in this process has its own at work.
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
