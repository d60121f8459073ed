// A model that is open, its contexts and its weights; part of every artifact (see artifact.cc).

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

// --- Memory ---------------------------------------------------------------------------------------------------------

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

}  // namespace
