// Where a model's weights are when it is opened: inside its library, or in a file beside it; part
// of every artifact (see interface.cc).

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

// All of it zero at first.
struct WeightsFile {
  const unsigned char* weights;
  void* mapped;  // null if they are inside
  size_t size;
};

namespace {

#ifdef RELAY_WEIGHTS_FILE

// Where this code is: the library that was loaded, or the program that it was linked into. The C
// library knows a program by the name that it was called by, which says no folder if it was looked
// for in PATH, and a static one not at all: the system tells, into `room`. Null if nobody does.
const char* path_of_this_code(char* room, size_t size) {
  Dl_info info;
  link_map* map = nullptr;
  const bool known = dladdr1(reinterpret_cast<const void*>(&relay_get_api), &info,
                             reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0;
  if (known && map != nullptr && map->l_name != nullptr && map->l_name[0] != 0) return map->l_name;
  const ssize_t length = readlink("/proc/self/exe", room, size - 1);
  if (length <= 0 || static_cast<size_t>(length) == size - 1) return known ? info.dli_fname : nullptr;
  room[length] = 0;
  return room;
}

relay_status map_weights(WeightsFile* f, const char* path, char* error, size_t error_size) {
  char here[4096], beside[4096];
  if (path == nullptr) {
    const char* code = path_of_this_code(here, sizeof here);
    if (code == nullptr) {
      say(error, error_size, "cannot tell where this library is: give weights_path");
      return RELAY_BAD_MODEL;
    }
    const char* slash = strrchr(code, '/');
    const int folder = slash ? static_cast<int>(slash - code) + 1 : 0;
    if (snprintf(beside, sizeof beside, "%.*s%s", folder, code, RELAY_WEIGHTS_FILE) >=
        static_cast<int>(sizeof beside)) {
      say(error, error_size, "the path of the weights is too long");
      return RELAY_BAD_MODEL;
    }
    path = beside;
  }
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe is refused, and not waited for
  if (file < 0) {
    const relay_status status = errno == ENOMEM ? RELAY_LIMIT : RELAY_BAD_MODEL;
    say(error, error_size, "cannot open the weights %s: %s%s", path, strerror(errno),
        path != beside || beside[0] == '/'
            ? ""
            : " (the library was loaded by a relative path: if the process is in another folder by now, "
              "load it by a whole path)");
    return status;
  }
  struct stat about;
  if (fstat(file, &about) == 0 && !S_ISREG(about.st_mode)) {
    say(error, error_size, "cannot read the weights %s: they are not a regular file", path);
    close(file);
    return RELAY_BAD_MODEL;
  }
  if (fstat(file, &about) != 0 || static_cast<uint64_t>(about.st_size) != kWeightsOffset + kWeightsBytes) {
    say(error, error_size, "the weights %s have %lld bytes, this model's have %llu", path,
        static_cast<long long>(about.st_size),
        static_cast<unsigned long long>(kWeightsOffset + kWeightsBytes));
    close(file);
    return RELAY_BAD_MODEL;
  }
  f->size = static_cast<size_t>(about.st_size);
  f->mapped = mmap(nullptr, f->size, PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (f->mapped == MAP_FAILED) {
    f->mapped = nullptr;
    const relay_status status = errno == ENOMEM ? RELAY_LIMIT : RELAY_BAD_MODEL;
    say(error, error_size, "cannot map the weights %s: %s", path, strerror(errno));
    return status;
  }
  // The head holds the names, the shapes and a hash of the contents: another model's weights
  // have another head.
  if (memcmp(f->mapped, kWeightsHead, sizeof kWeightsHead - 1) != 0) {
    say(error, error_size, "the weights %s belong to another model", path);
    return RELAY_BAD_MODEL;
  }
  f->weights = static_cast<const unsigned char*>(f->mapped) + kWeightsOffset;
  return RELAY_OK;
}

#else

relay_status map_weights(WeightsFile* f, const char* path, char* error, size_t error_size) {
  if (path != nullptr) {
    say(error, error_size, "this model's weights are inside its library: weights_path must be null");
    return RELAY_USAGE;
  }
  f->weights = relay_embedded_weights();
  return RELAY_OK;
}

#endif

void unmap_weights(WeightsFile* f) {
  if (f->mapped != nullptr) munmap(f->mapped, f->size);
  f->mapped = nullptr;
}

}  // namespace
