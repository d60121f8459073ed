#include "python/artifact.h"

#include <atomic>

#include "base/cat.h"
#include "driver/open_options.h"

namespace relay::python {
namespace {

// The same absolute path in words that no earlier call gave. The loader knows a library by its
// path: it gives again what was there when the path was first opened, even if the file has been
// replaced since.
std::string spelled_anew(const std::string& absolute) {
  static std::atomic<uint64_t> count{0};
  std::string out;
  for (uint64_t n = count.fetch_add(1); n > 0; n /= 2) out += n % 2 == 0 ? "/" : "/.";
  return out + absolute;
}

}  // namespace

Artifact::~Artifact() {
  for (relay_context* context : free_) api_->context_free(context);
  if (model_) api_->model_close(model_);
}

std::string Artifact::open(const std::string& path, unsigned threads, std::optional<Denormals> denormals) {
  path_ = path;
  if (!library_.open(spelled_anew(path)).empty()) {
    if (std::string wrong = library_.open(path); !wrong.empty()) return wrong;  // it names the path
  }
  const auto get = reinterpret_cast<const relay_api* (*)()>(library_.find("relay_get_api"));
  api_ = get ? get() : nullptr;
  if (!api_) return cat(path, " is no artifact of Relay's");
  if (api_->abi_version != RELAY_ABI_VERSION) {
    return cat(path, " has ABI version ", api_->abi_version, ", this package needs ", RELAY_ABI_VERSION,
               ": compile the model again");
  }
  char error[512] = "";
  const relay_open_options options = driver::open_options(threads, denormals, error);
  if (api_->model_open(&options, &model_) != RELAY_OK) return cat(path, ": ", error);
  if (std::string wrong = signature_of(description(), signature_); !wrong.empty())
    return cat(path, ": ", wrong);
  return {};
}

Artifact::Borrowed::Borrowed(const Artifact& from) : from_(from) {
  {
    const std::lock_guard guard(from_.mutex_);
    if (!from_.free_.empty()) {
      context_ = from_.free_.back();
      from_.free_.pop_back();
      return;
    }
  }
  if (from_.api_->context_create(from_.model_, &context_) != RELAY_OK) context_ = nullptr;
}

Artifact::Borrowed::~Borrowed() {
  if (!context_) return;
  if (is_spoilt_) {
    from_.api_->context_free(context_);
    return;
  }
  const std::lock_guard guard(from_.mutex_);
  from_.free_.push_back(context_);
}

}  // namespace relay::python
