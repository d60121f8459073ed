// The fixed half of every artifact: the C interface of relay.h over the tables and the plan of one model.
//
// Relay's ahead-of-time compiler appends this text to what it generates (see aot/emit.cc), which defines the tables
// named below. It uses the C library and nothing else: no exceptions, no allocation in a run, no global state.

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

namespace {

// --- Memory ---------------------------------------------------------------------------------------------------------

constexpr size_t kAlignment = 64;

void* c_allocate(void*, size_t size, size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}
void c_release(void*, void* memory, size_t) { free(memory); }

// --- Errors ---------------------------------------------------------------------------------------------------------

constexpr size_t kErrorSize = 512;

__attribute__((format(printf, 3, 4))) void say(char* to, size_t size, const char* format, ...) {
  if (to == nullptr || size == 0) return;
  va_list args;
  va_start(args, format);
  vsnprintf(to, size, format, args);
  va_end(args);
}

// --- Threads --------------------------------------------------------------------------------------------------------

unsigned usable_cores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? static_cast<unsigned>(count) : 1;
}

// For how long a thread looks again before it sleeps. The loops of a model follow each other within less than that, and to
// be woken takes longer than many of them.
constexpr int64_t kPatienceNanoseconds = 200000;

int64_t nanoseconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1000000000 + now.tv_nsec;
}

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Workers that share the ranges of one parallel loop at a time. The split depends on nothing but the extent and the
// number of threads, and every range computes the same bits wherever it runs.
class Pool {
 public:
  // False if not all threads could be started; those that were are stopped.
  bool start(unsigned threads, const relay_allocator& memory) {
    if (threads <= 1) return true;
    memory_ = memory;
    count_ = threads - 1;
    // A thread that waits on the core that another one needs would keep it from working.
    patient_ = usable_cores() >= threads;
    workers_ = static_cast<Worker*>(memory.allocate(memory.self, count_ * sizeof(Worker), kAlignment));
    if (workers_ == nullptr) return false;
    for (unsigned i = 0; i < count_; ++i) {
      workers_[i].pool = this;
      workers_[i].index = i + 1;
      if (pthread_create(&workers_[i].thread, nullptr, work, &workers_[i]) != 0) {
        stop(i);
        return false;
      }
    }
    owner_ = getpid();
    // Where there is no such file, every model has its threads to itself.
    gate_ = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    return true;
  }

  void stop() { stop(count_); }

  // Models in one process share its cores: the threads of one at a time work, and runs of others meanwhile keep to the
  // thread that calls. Libraries that know nothing of each other have one thing in common, a file that only this
  // process has; the lock is on that. True if the threads may work; then `leave` ends it.
  bool enter() {
    if (count_ == 0 || owner_ != getpid()) return false;
    pthread_mutex_lock(&lock_);
    const bool may = inside_ > 0 || gate_ < 0 || flock(gate_, LOCK_EX | LOCK_NB) == 0;
    if (may) ++inside_;
    pthread_mutex_unlock(&lock_);
    return may;
  }
  void leave() {
    pthread_mutex_lock(&lock_);
    if (--inside_ == 0 && gate_ >= 0) flock(gate_, LOCK_UN);
    pthread_mutex_unlock(&lock_);
  }

  int32_t run(int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) {
    // One loop at a time: a second run, a nested loop, and a child after fork (whose threads are gone) do it all here.
    if (count_ == 0 || extent <= 1 || owner_ != getpid() || pthread_mutex_trylock(&busy_) != 0) {
      return body(closure, 0, extent);
    }
    pthread_mutex_lock(&lock_);
    body_ = body;
    closure_ = closure;
    extent_ = extent;
    failed_begin_ = extent;
    failed_status_ = 0;
    __atomic_store_n(&pending_, count_, __ATOMIC_RELAXED);
    __atomic_add_fetch(&round_, 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&wake_);
    pthread_mutex_unlock(&lock_);
    share(0);
    look_again([&] { return __atomic_load_n(&pending_, __ATOMIC_ACQUIRE) == 0; });
    pthread_mutex_lock(&lock_);
    while (__atomic_load_n(&pending_, __ATOMIC_RELAXED) != 0) pthread_cond_wait(&done_, &lock_);
    const int32_t status = failed_status_;
    pthread_mutex_unlock(&lock_);
    pthread_mutex_unlock(&busy_);
    return status;
  }

 private:
  struct Worker {
    Pool* pool;
    unsigned index;
    pthread_t thread;
  };

  static void* work(void* argument) {
    Worker* worker = static_cast<Worker*>(argument);
    Pool* pool = worker->pool;
    uint64_t seen = 0;
    const auto called = [&] { return __atomic_load_n(&pool->round_, __ATOMIC_ACQUIRE) != seen; };
    for (;;) {
      pool->look_again(called);
      pthread_mutex_lock(&pool->lock_);
      while (!called() && !pool->ending_) pthread_cond_wait(&pool->wake_, &pool->lock_);
      const bool ending = pool->ending_;
      seen = __atomic_load_n(&pool->round_, __ATOMIC_RELAXED);
      pthread_mutex_unlock(&pool->lock_);
      if (ending) return nullptr;
      pool->share(worker->index);
      pthread_mutex_lock(&pool->lock_);
      if (__atomic_sub_fetch(&pool->pending_, 1, __ATOMIC_RELEASE) == 0) pthread_cond_signal(&pool->done_);
      pthread_mutex_unlock(&pool->lock_);
    }
  }

  // Until it holds, but not for long.
  template <class Condition>
  void look_again(const Condition& holds) const {
    if (!patient_) return;
    const int64_t end = nanoseconds() + kPatienceNanoseconds;
    do {
      for (int i = 0; i < 32; ++i) {
        if (holds()) return;
        pause_briefly();
      }
    } while (nanoseconds() < end);
  }

  void share(unsigned index) {
    const int64_t parts = count_ + 1;
    const int64_t begin = extent_ / parts * index + (index < extent_ % parts ? index : extent_ % parts);
    const int64_t end = begin + extent_ / parts + (index < extent_ % parts ? 1 : 0);
    if (begin == end) return;
    const int32_t status = body_(closure_, begin, end);
    if (status == 0) return;
    pthread_mutex_lock(&lock_);
    if (begin < failed_begin_) {
      failed_begin_ = begin;
      failed_status_ = status;
    }
    pthread_mutex_unlock(&lock_);
  }

  void stop(unsigned started) {
    if (workers_ == nullptr) return;
    if (started > 0 && (owner_ == 0 || owner_ == getpid())) {
      pthread_mutex_lock(&lock_);
      ending_ = true;
      pthread_cond_broadcast(&wake_);
      pthread_mutex_unlock(&lock_);
      for (unsigned i = 0; i < started; ++i) pthread_join(workers_[i].thread, nullptr);
    }
    memory_.release(memory_.self, workers_, count_ * sizeof(Worker));
    if (gate_ >= 0) close(gate_);
    gate_ = -1;
    workers_ = nullptr;
    count_ = 0;
  }

  relay_allocator memory_;
  unsigned count_ = 0;  // besides the thread that calls
  bool patient_ = false;
  Worker* workers_ = nullptr;
  pid_t owner_ = 0;
  int gate_ = -1;
  pthread_mutex_t busy_ = PTHREAD_MUTEX_INITIALIZER;  // held during a loop
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;  // guards what follows
  pthread_cond_t wake_ = PTHREAD_COND_INITIALIZER;
  pthread_cond_t done_ = PTHREAD_COND_INITIALIZER;
  uint64_t round_ = 0;    // with atomic built-ins: looked at without the lock, too
  unsigned pending_ = 0;  // so is this
  unsigned inside_ = 0;   // runs that hold the gate
  bool ending_ = false;
  int32_t (*body_)(void*, int64_t, int64_t) = nullptr;
  void* closure_ = nullptr;
  int64_t extent_ = 0;
  int64_t failed_begin_ = 0;
  int32_t failed_status_ = 0;
};

int32_t run_serially(void*, int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) {
  return body(closure, 0, extent);
}

int32_t run_in_pool(void* self, int64_t extent, int32_t (*body)(void*, int64_t, int64_t), void* closure) {
  return static_cast<Pool*>(self)->run(extent, body, closure);
}

}  // namespace

struct relay_model {
  relay_allocator memory;
  Pool pool;
  relay_parallel parallel;
  const Variant* variant;
  const unsigned char* weights;
  void* mapped;
  size_t mapped_size;
  unsigned contexts;  // changed with atomic built-ins only
};

struct relay_context {
  relay_model* model;
  unsigned char* workspace;
  unsigned char* held[kOutputCount + 1];  // outputs that live in the context
  int64_t held_shapes[kMostDims * kOutputCount + 1];
  int cancelled;
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

// --- Tensors --------------------------------------------------------------------------------------------------------

bool dense(const DLTensor& t) {
  if (t.strides == nullptr) return true;
  int64_t expected = 1;
  for (int32_t d = t.ndim; d-- > 0;) {
    if (t.shape[d] != 1 && t.strides[d] != expected) return false;
    expected *= t.shape[d];
  }
  return true;
}

void show_shape(char* to, size_t size, const int64_t* shape, int32_t rank) {
  size_t used = static_cast<size_t>(snprintf(to, size, "("));
  for (int32_t d = 0; d < rank && used < size; ++d) {
    used += static_cast<size_t>(
        snprintf(to + used, size - used, d ? ", %lld" : "%lld", static_cast<long long>(shape[d])));
  }
  if (used < size) snprintf(to + used, size - used, ")");
}

relay_status check_tensor(relay_context* c, const char* role, const Port& port, const DLTensor* t) {
  if (t == nullptr) {
    say(c->error, kErrorSize, "%s `%s` is null", role, port.name);
    return RELAY_USAGE;
  }
  if (t->device.device_type != kDLCPU) {
    say(c->error, kErrorSize, "%s `%s` is on device %d, the model runs on the CPU", role, port.name,
        static_cast<int>(t->device.device_type));
    return RELAY_USAGE;
  }
  if (t->dtype.code != port.dtype_code || t->dtype.bits != port.dtype_bits || t->dtype.lanes != 1) {
    say(c->error, kErrorSize, "%s `%s` must be %s", role, port.name, port.dtype_name);
    return RELAY_USAGE;
  }
  bool fits = t->ndim == port.rank;
  for (int32_t d = 0; fits && d < port.rank; ++d) fits = t->shape[d] == port.shape[d];
  if (!fits) {
    char want[128], got[128];
    show_shape(want, sizeof want, port.shape, port.rank);
    show_shape(got, sizeof got, t->shape, t->ndim < 0 || t->ndim > 16 ? 0 : t->ndim);
    say(c->error, kErrorSize, "%s `%s` must have shape %s, it has %s", role, port.name, want, got);
    return RELAY_USAGE;
  }
  if (!dense(*t)) {
    say(c->error, kErrorSize, "%s `%s` is not dense and row-major: copy it first", role, port.name);
    return RELAY_USAGE;
  }
  const size_t element = port.dtype_bits < 8 ? 1 : port.dtype_bits / 8;
  const unsigned char* data = static_cast<const unsigned char*>(t->data) + t->byte_offset;
  if (port.bytes > 0 && (t->data == nullptr || reinterpret_cast<uintptr_t>(data) % element != 0)) {
    say(c->error, kErrorSize, "%s `%s` has %s", role, port.name,
        t->data == nullptr ? "no data" : "data that is not aligned for its dtype");
    return RELAY_USAGE;
  }
  return RELAY_OK;
}

// Places an output in the context: the caller gave none.
relay_status hold_output(relay_context* c, size_t i, DLTensor* t) {
  const Port& port = kOutputs[i];
  if (c->held[i] == nullptr) {
    const relay_allocator& memory = c->model->memory;
    c->held[i] =
        static_cast<unsigned char*>(memory.allocate(memory.self, port.bytes ? port.bytes : 1, kAlignment));
    if (c->held[i] == nullptr) {
      say(c->error, kErrorSize, "there is no memory for output `%s` (%llu bytes)", port.name,
          static_cast<unsigned long long>(port.bytes));
      return RELAY_LIMIT;
    }
  }
  int64_t* shape = c->held_shapes + i * kMostDims;
  for (int32_t d = 0; d < port.rank; ++d) shape[d] = port.shape[d];
  t->data = c->held[i];
  t->byte_offset = 0;
  t->device.device_type = kDLCPU;
  t->device.device_id = 0;
  t->ndim = port.rank;
  t->dtype.code = port.dtype_code;
  t->dtype.bits = port.dtype_bits;
  t->dtype.lanes = 1;
  t->shape = shape;
  t->strides = nullptr;
  return RELAY_OK;
}

}  // namespace

// --- The interface --------------------------------------------------------------------------------------------------

extern "C" {

RELAY_EXPORT uint32_t relay_abi_version(void) { return RELAY_ABI_VERSION; }

RELAY_EXPORT const char* relay_model_describe(const relay_model*) { return kDescription; }

RELAY_EXPORT relay_status relay_model_open(const relay_open_options* given, relay_model** model) {
  relay_open_options options;
  memset(&options, 0, sizeof options);
  if (given != nullptr) {
    memcpy(&options, given, given->struct_size < sizeof options ? given->struct_size : sizeof options);
  }
  if (options.error != nullptr && options.error_size > 0) options.error[0] = 0;
  if (model == nullptr) {
    say(options.error, options.error_size, "there is no place for the model: `model` is null");
    return RELAY_USAGE;
  }
  *model = nullptr;
  if (given != nullptr && given->struct_size < sizeof(uint32_t)) {
    say(options.error, options.error_size, "struct_size of the options is not set");
    return RELAY_USAGE;
  }
  const Variant* variant = nullptr;
  const char* missing = nullptr;
  for (size_t i = 0; variant == nullptr && i < kVariantCount; ++i) {
    missing = kVariants[i].missing_feature();
    if (missing == nullptr) variant = &kVariants[i];
  }
  if (variant == nullptr) {
    say(options.error, options.error_size,
        "this processor has no %s, which the model was compiled for (--target)", missing);
    return RELAY_UNSUPPORTED;
  }
  const relay_allocator c_memory = {nullptr, c_allocate, c_release};
  const relay_allocator memory = options.allocator ? *options.allocator : c_memory;
  void* place = memory.allocate(memory.self, sizeof(relay_model), kAlignment);
  if (place == nullptr) {
    say(options.error, options.error_size, "there is no memory for the model");
    return RELAY_LIMIT;
  }
  memset(place, 0, sizeof(relay_model));
  relay_model* m = new (place) relay_model();
  m->memory = memory;
  m->variant = variant;
  relay_status status = map_weights(m, options.weights_path, options.error, options.error_size);
  if (status == RELAY_OK) {
    if (options.parallel != nullptr) {
      m->parallel = *options.parallel;
    } else {
      m->parallel.self = &m->pool;
      m->parallel.run = run_in_pool;
      const unsigned threads = options.threads   ? options.threads
                               : kDefaultThreads ? kDefaultThreads
                                                 : usable_cores();
      if (!m->pool.start(threads, memory)) {
        say(options.error, options.error_size, "cannot start %u threads", threads);
        status = RELAY_LIMIT;
      }
    }
  }
  if (status != RELAY_OK) {
    if (m->mapped != nullptr) munmap(m->mapped, m->mapped_size);
    memory.release(memory.self, place, sizeof(relay_model));
    return status;
  }
  if (options.log != nullptr) {
    options.log(options.log_self, RELAY_LOG_INFO, kDescription);
    char runs[128];
    say(runs, sizeof runs, "runs the code for %s", variant->target);
    options.log(options.log_self, RELAY_LOG_INFO, runs);
  }
  *model = m;
  return RELAY_OK;
}

RELAY_EXPORT relay_status relay_model_close(relay_model* m) {
  if (m == nullptr) return RELAY_OK;
  if (__atomic_load_n(&m->contexts, __ATOMIC_ACQUIRE) != 0) return RELAY_BUSY;
  m->pool.stop();
  if (m->mapped != nullptr) munmap(m->mapped, m->mapped_size);
  const relay_allocator memory = m->memory;
  memory.release(memory.self, m, sizeof(relay_model));
  return RELAY_OK;
}

RELAY_EXPORT relay_status relay_context_create(relay_model* m, relay_context** context) {
  if (context == nullptr) return RELAY_USAGE;
  *context = nullptr;
  if (m == nullptr) return RELAY_USAGE;
  void* place = m->memory.allocate(m->memory.self, sizeof(relay_context), kAlignment);
  if (place == nullptr) return RELAY_LIMIT;
  memset(place, 0, sizeof(relay_context));
  relay_context* c = static_cast<relay_context*>(place);
  c->model = m;
  if (kWorkspaceBytes > 0) {
    c->workspace =
        static_cast<unsigned char*>(m->memory.allocate(m->memory.self, kWorkspaceBytes, kAlignment));
    if (c->workspace == nullptr) {
      m->memory.release(m->memory.self, place, sizeof(relay_context));
      return RELAY_LIMIT;
    }
  }
  __atomic_add_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
  *context = c;
  return RELAY_OK;
}

RELAY_EXPORT void relay_context_free(relay_context* c) {
  if (c == nullptr) return;
  relay_model* m = c->model;
  for (size_t i = 0; i < kOutputCount; ++i) {
    if (c->held[i] != nullptr)
      m->memory.release(m->memory.self, c->held[i], kOutputs[i].bytes ? kOutputs[i].bytes : 1);
  }
  if (c->workspace != nullptr) m->memory.release(m->memory.self, c->workspace, kWorkspaceBytes);
  m->memory.release(m->memory.self, c, sizeof(relay_context));
  __atomic_sub_fetch(&m->contexts, 1, __ATOMIC_ACQ_REL);
}

RELAY_EXPORT relay_status relay_run(relay_context* c, const DLTensor* const* inputs, size_t input_count,
                                    DLTensor* const* outputs, size_t output_count) {
  if (c == nullptr) return RELAY_USAGE;
  c->error[0] = 0;
  if (input_count != kInputCount || output_count != kOutputCount) {
    say(c->error, kErrorSize, "the model has %zu inputs and %zu outputs, %zu and %zu were given", kInputCount,
        kOutputCount, input_count, output_count);
    return RELAY_USAGE;
  }
  if ((inputs == nullptr && kInputCount > 0) || (outputs == nullptr && kOutputCount > 0)) {
    say(c->error, kErrorSize, "the list of %s is null",
        inputs == nullptr && kInputCount > 0 ? "inputs" : "outputs");
    return RELAY_USAGE;
  }
  const void* in[kInputCount + 1];
  void* out[kOutputCount + 1];
  for (size_t i = 0; i < kInputCount; ++i) {
    const relay_status status = check_tensor(c, "input", kInputs[i], inputs[i]);
    if (status != RELAY_OK) return status;
    in[i] = static_cast<const unsigned char*>(inputs[i]->data) + inputs[i]->byte_offset;
  }
  for (size_t i = 0; i < kOutputCount; ++i) {
    DLTensor* t = outputs[i];
    const bool held = t != nullptr && t->data == nullptr;
    const relay_status status = held ? hold_output(c, i, t) : check_tensor(c, "output", kOutputs[i], t);
    if (status != RELAY_OK) return status;
    out[i] = static_cast<unsigned char*>(t->data) + t->byte_offset;
  }
  const char* message = nullptr;
  relay_model* m = c->model;
  const bool ours = m->parallel.run == run_in_pool, entered = ours && m->pool.enter();
  const relay_parallel serial = {nullptr, run_serially};
  const relay_parallel* parallel = ours && !entered ? &serial : &m->parallel;
  const int32_t status =
      m->variant->run_plan(parallel, in, out, m->weights, c->workspace, &c->cancelled, &message);
  if (entered) m->pool.leave();
  if (status == 0) return RELAY_OK;
  if (status < 0) {
    __atomic_store_n(&c->cancelled, 0, __ATOMIC_RELEASE);
    say(c->error, kErrorSize, "the run was cancelled");
    return RELAY_CANCELLED;
  }
  say(c->error, kErrorSize, "%s", message ? message : "the program failed");
  return RELAY_TRAP;
}

RELAY_EXPORT void relay_cancel(relay_context* c) {
  if (c != nullptr) __atomic_store_n(&c->cancelled, 1, __ATOMIC_RELEASE);
}

RELAY_EXPORT const char* relay_error(const relay_context* c) {
  return c != nullptr ? c->error : "the context is null";
}

RELAY_EXPORT const relay_api* relay_get_api(void) {
  static const relay_api api = {
      sizeof(relay_api),    RELAY_ABI_VERSION,  relay_model_open, relay_model_describe, relay_model_close,
      relay_context_create, relay_context_free, relay_run,        relay_cancel,         relay_error};
  return &api;
}

}  // extern "C"
