#include "toolchain/library.h"

#include <dlfcn.h>

#include <utility>

#include "base/cat.h"

namespace relay::toolchain {

Library::~Library() {
  if (handle_) dlclose(handle_);
}

Library& Library::operator=(Library&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}

std::string Library::open(const std::string& path) {
  handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle_) return {};
  const char* why = dlerror();
  return cat("cannot load ", path, ": ", why ? why : "unknown reason");
}

void* Library::find(const std::string& symbol) const { return dlsym(handle_, symbol.c_str()); }

}  // namespace relay::toolchain
