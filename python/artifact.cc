#include "python/artifact.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "base/cat.h"
#include "driver/open_options.h"

namespace relay::python {
namespace {

// Instead of a file's name in the description: the weights are inside the library.
constexpr const char* kEmbedded = "embedded";

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

HeldFile::~HeldFile() {
  if (is_open()) ::close(descriptor_);
}

std::string HeldFile::open(const std::string& path) {
  if (is_stream(path)) return cat(path, " is not a regular file");  // the loader would wait for a pipe
  const int opened = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (opened < 0) return cat("cannot open ", path, ": ", std::generic_category().message(errno));
  if (is_open()) ::close(descriptor_);
  descriptor_ = opened;
  return {};
}

bool HeldFile::is_at(const std::string& path) const {
  struct stat held = {}, there = {};
  return ::fstat(descriptor_, &held) == 0 && ::stat(path.c_str(), &there) == 0 &&
         held.st_dev == there.st_dev && held.st_ino == there.st_ino;
}

std::string HeldFile::path() const { return cat("/proc/self/fd/", descriptor_); }

Artifact::~Artifact() {
  for (relay_context* context : free_) api_->context_free(context);
  if (model_) api_->model_close(model_);
}

std::string Artifact::load(const std::string& path) {
  // Another file may come to the path between the two calls. Then what is held is
  // not what is loaded.
  constexpr int kTries = 8;
  for (int i = 0; i < kTries; ++i) {
    if (std::string wrong = file_.open(path); !wrong.empty()) return wrong;
    library_ = {};
    if (!library_.open(spelled_anew(path)).empty()) {
      if (std::string wrong = library_.open(path); !wrong.empty()) return wrong;  // it names the path
    }
    if (file_.is_at(path)) return {};
  }
  return cat(path, " is replaced again and again while it is opened");
}

std::string Artifact::open(const std::string& path, unsigned threads, std::optional<Denormals> denormals) {
  if (std::string wrong = load(path); !wrong.empty()) return wrong;
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
  const std::string weights = nlohmann::json::parse(description()).value("weights", kEmbedded);
  if (weights == kEmbedded) return {};
  // The library has a hash of them: a file that came to the path since is refused wherever a copy
  // of the two is opened.
  weights_name_ = weights;
  return weights_.open(std::filesystem::path(path).replace_filename(weights).string());
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
