// What every artifact begins with: memory, messages, and what is read of its caller
// (see interface.cc).

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

namespace {

// --- Memory --------------------------------------------------------------------------------------

constexpr size_t kAlignment = 64;  // of all memory that is asked for

void* c_allocate(void*, size_t size, size_t alignment) {
  void* memory = nullptr;
  return posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}
void c_release(void*, void* memory, size_t) { free(memory); }

// Memory of zeros, or null.
void* allocate_zeros(const relay_allocator& memory, size_t size) {
  void* out = memory.allocate(memory.self, size, kAlignment);
  return out != nullptr ? memset(out, 0, size) : nullptr;
}

// The bytes of a tensor; false if an extent is negative or there is no number for them.
inline bool count_bytes(size_t element_bytes, uint32_t rank, const int64_t* extents, size_t* bytes) {
  *bytes = element_bytes;
  bool empty = false;
  for (uint32_t i = 0; i < rank; ++i) {
    if (extents[i] < 0) return false;
    empty = empty || extents[i] == 0;
  }
  if (empty) return *bytes = 0, true;
  for (uint32_t i = 0; i < rank; ++i) {
    if (__builtin_mul_overflow(*bytes, static_cast<size_t>(extents[i]), bytes)) return false;
  }
  return *bytes <= SIZE_MAX / 4;
}

[[maybe_unused]] inline unsigned char* memory_of(const DLTensor& t) {
  return static_cast<unsigned char*>(t.data) + t.byte_offset;
}

// --- Errors --------------------------------------------------------------------------------------

constexpr size_t kErrorSize = 512;

__attribute__((format(printf, 3, 4))) void say(char* to, size_t size, const char* format, ...) {
  if (to == nullptr || size == 0) return;
  va_list args;
  va_start(args, format);
  vsnprintf(to, size, format, args);
  va_end(args);
}

// --- Options -------------------------------------------------------------------------------------

// More threads than this are a mistake: to start them takes seconds.
[[maybe_unused]] constexpr unsigned kMostRunThreads = 1024;

// The options as far as the caller's header has them, and who gives memory. `model` is the place
// for what is opened.
relay_status read_options(const relay_open_options* given, relay_model** model, relay_open_options* options,
                          relay_allocator* memory) {
  memset(options, 0, sizeof *options);
  if (given != nullptr)
    memcpy(options, given, given->struct_size < sizeof *options ? given->struct_size : sizeof *options);
  if (options->error != nullptr && options->error_size > 0) options->error[0] = 0;
  if (model == nullptr) {
    say(options->error, options->error_size, "there is no place for the model: `model` is null");
    return RELAY_USAGE;
  }
  *model = nullptr;
  if (given != nullptr && given->struct_size < sizeof(uint32_t)) {
    say(options->error, options->error_size, "struct_size of the options is not set");
    return RELAY_USAGE;
  }
  const auto refuse = [&](const char* what, const char* why) {
    say(options->error, options->error_size, "`%s` of the options %s", what, why);
    return RELAY_USAGE;
  };
  const char* unset = "is of no version that there is: set its struct_size to sizeof";
  const char* null = "has a function that is null";
  if (const relay_allocator* a = options->allocator) {
    if (a->struct_size < sizeof *a) return refuse("allocator", unset);
    if (a->allocate == nullptr || a->release == nullptr) return refuse("allocator", null);
  }
  if (const relay_parallel* p = options->parallel) {
    if (p->struct_size < sizeof *p) return refuse("parallel", unset);
    if (p->run == nullptr) return refuse("parallel", null);
  }
  if (options->denormals > RELAY_DENORMALS_KEEP)
    return refuse("denormals", "is none of RELAY_DENORMALS_AS_COMPILED, _FLUSH and _KEEP");
  const relay_allocator c_memory = {sizeof(relay_allocator), nullptr, c_allocate, c_release};
  *memory = options->allocator != nullptr ? *options->allocator : c_memory;
  return RELAY_OK;
}

}  // namespace
