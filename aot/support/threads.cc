// How the loops of one model are spread over threads; part of the artifacts for CPUs
// (see interface.cc).

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

namespace {

// While it lives, signals do not interrupt this thread, nor those that it starts: their handlers
// run on threads of the program, which may wait for them with sigwait. What a thread's own
// instruction raises is not put off, nor the clock of a profiler.
class NoSignals {
 public:
  NoSignals() {
    sigset_t blocked;
    sigfillset(&blocked);
    const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, SIGABRT, SIGPROF};
    for (const int signal : own) sigdelset(&blocked, signal);
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~NoSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_;
};

// For how long a thread looks again before it sleeps. The loops of a model follow each other within
// less than that, and to be woken takes longer than many of them.
constexpr int64_t kPatienceNanoseconds = 200000;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Workers that share the ranges of one parallel loop at a time. The split depends on nothing but
// the extent and the number of threads, and every range computes the same bits wherever it runs.
class Pool {
 public:
  // False if not all threads could be started; those that were are stopped.
  bool start(unsigned threads, const relay_allocator& memory, relay::Denormals denormals) {
    if (threads <= 1) return true;
    memory_ = memory;
    denormals_ = denormals;
    count_ = threads - 1;
    // A thread that waits on the core that another one needs would keep it from working.
    patient_ = relay::usable_cores() >= threads;
    workers_ = static_cast<Worker*>(memory.allocate(memory.self, count_ * sizeof(Worker), kAlignment));
    if (workers_ == nullptr) return false;
    unsigned started = 0;
    {
      const NoSignals for_the_threads;
      for (; started < count_; ++started) {
        Worker& worker = workers_[started];
        worker.pool = this;
        worker.index = started + 1;
        if (pthread_create(&worker.thread, nullptr, work, &worker) != 0) break;
      }
    }
    if (started < count_) {
      stop(started);
      return false;
    }
    owner_ = getpid();
    // Where there is no such file, every model has its threads to itself.
    gate_ = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
    return true;
  }

  void stop() { stop(count_); }

  // Models in one process share its cores: the threads of one at a time work, and runs of others
  // meanwhile keep to the thread that calls. Libraries that know nothing of each other have one
  // thing in common, a file that only this process has; the lock is on that. True if the threads
  // may work; then `leave` ends it.
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
    // One loop at a time: a second run, a nested loop, and a child after fork (whose threads are
    // gone) do it all here.
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
    const relay::DenormalsScope denormals(pool->denormals_);
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
  relay::Denormals denormals_ = relay::Denormals::kFlush;  // of each worker, from its start
  unsigned count_ = 0;                                     // besides the thread that calls
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
