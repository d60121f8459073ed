#include "frontend/data/input_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "base/cat.h"
#include "base/nearest_file.h"

namespace relay::frontend::data {
namespace {

std::string system_message(int error) { return std::generic_category().message(error); }

// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  void reset(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }

 private:
  int number_;
};

Reported refuse_without_memory(const std::string& name, uint64_t size, Diagnostics& diagnostics) {
  diagnostics.error(Span::none(), "limit-memory",
                    cat("not enough memory for the ", size, " bytes of `", name, "`"));
  return kReported;
}

int open_again(int folder, const char* name, int flags) {
  int number;
  do {
    number = ::openat(folder, name, flags | O_CLOEXEC | O_NOCTTY);
  } while (number < 0 && errno == EINTR);
  return number;
}

}  // namespace

Result<InputFile> InputFile::open(const std::string& path, uint64_t limit, Diagnostics& diagnostics) {
  // O_NONBLOCK, so that a named pipe is refused below instead of being waited for.
  errno = EINVAL;  // what a path with a zero byte is
  Descriptor file(
      path.find('\0') == std::string::npos ? open_again(AT_FDCWD, path.c_str(), O_RDONLY | O_NONBLOCK) : -1);
  struct stat facts;
  if (file.get() < 0 || ::fstat(file.get(), &facts) != 0) {
    suggest_file(diagnostics.error(Span::none(), "file-unreadable",
                                   cat("cannot read `", path, "`: ", system_message(errno))),
                 path);
    return kReported;
  }
  if (!S_ISREG(facts.st_mode)) {
    diagnostics.error(
        Span::none(), "file-unreadable",
        cat("cannot read `", path, "`: it is ", S_ISDIR(facts.st_mode) ? "a folder" : "not a regular file"));
    return kReported;
  }
  const auto size = static_cast<uint64_t>(facts.st_size);
  if (size > limit) {
    diagnostics
        .error(Span::none(), "limit-file-size",
               cat("`", path, "` has ", size, " bytes, more than the limit of ", limit))
        .note("divide its tensors among several files");
    return kReported;
  }
  return InputFile(file.release(), path, size);
}

Result<InputFile> InputFile::open_beneath(const std::string& folder, std::string_view location,
                                          Diagnostics& diagnostics) {
  const std::string shown(location.substr(0, 200));
  const auto refuse = [&](std::string why) -> Reported {
    diagnostics
        .error(Span::none(), "external-data-refused", cat("external data `", shown, "` is refused: ", why))
        .note(std::string(kWhatAModelMayName));
    return kReported;
  };
  if (location.empty()) return refuse("it has no location");
  if (location.size() > 4096) return refuse("its location is longer than 4096 bytes");
  if (location.find('\0') != std::string_view::npos) return refuse("its location contains a zero byte");
  if (location.find('\\') != std::string_view::npos) return refuse("its location contains a backslash");
  if (location.front() == '/') return refuse("its location is an absolute path");

  Descriptor at(open_again(AT_FDCWD, folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY));
  if (at.get() < 0) return refuse(cat("the model's folder cannot be opened: ", system_message(errno)));
  std::string_view rest = location;
  while (!rest.empty()) {
    const size_t slash = rest.find('/');
    const std::string part(rest.substr(0, slash));
    rest = slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1);
    if (part.empty() || part == ".") {
      if (rest.empty()) return refuse("its location names no file");
      continue;
    }
    if (part == "..") return refuse("its location contains `..`");
    const bool last = slash == std::string_view::npos;
    const int next =
        open_again(at.get(), part.c_str(), O_RDONLY | O_NOFOLLOW | (last ? O_NONBLOCK : O_DIRECTORY));
    if (next < 0) {
      const int error = errno;
      // With O_DIRECTORY the kernel reports a link as "not a directory".
      struct stat facts;
      const bool link =
          ::fstatat(at.get(), part.c_str(), &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(facts.st_mode);
      return refuse(link ? cat("`", part, "` is a symbolic link")
                         : cat("`", part, "` cannot be opened: ", system_message(error)));
    }
    at.reset(next);
    if (!last && rest.empty()) return refuse("its location names no file");
  }
  struct stat facts;
  if (::fstat(at.get(), &facts) != 0) return refuse(system_message(errno));
  if (!S_ISREG(facts.st_mode)) return refuse("it is not a regular file");
  if (facts.st_nlink != 1) return refuse("the file has other names (hard links)");
  return InputFile(at.release(), shown, static_cast<uint64_t>(facts.st_size));
}

InputFile::InputFile(InputFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), name_(std::move(other.name_)), size_(other.size_) {}

InputFile& InputFile::operator=(InputFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(name_, other.name_);
  std::swap(size_, other.size_);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::string> InputFile::read(Diagnostics& diagnostics) const {
  std::string out;
  try {
    out.resize(size_);
  } catch (const std::exception&) {  // bad_alloc, or a size that no string can have
    return refuse_without_memory(name_, size_, diagnostics);
  }
  if (!read_at(0, out.data(), size_, diagnostics)) return kReported;
  return out;
}

Result<bool> InputFile::read_at(uint64_t offset, void* to, uint64_t length, Diagnostics& diagnostics) const {
  CHECK(offset <= size_ && length <= size_ - offset, "read_at beyond the end of a file");
  auto* bytes = static_cast<char*>(to);
  while (length > 0) {
    const ssize_t n = ::pread(descriptor_, bytes, length, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      diagnostics.error(
          Span::none(), "file-unreadable",
          cat("cannot read `", name_, "`: ", n < 0 ? system_message(errno) : "it has become shorter"));
      return kReported;
    }
    bytes += n;
    offset += static_cast<uint64_t>(n);
    length -= static_cast<uint64_t>(n);
  }
  return true;
}

Result<InputFile::Mapping> InputFile::map(Diagnostics& diagnostics) const {
  if (size_ == 0) return Mapping{};
  void* address = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
  if (address == MAP_FAILED && errno == ENOMEM) return refuse_without_memory(name_, size_, diagnostics);
  if (address == MAP_FAILED) {
    diagnostics.error(Span::none(), "file-unreadable",
                      cat("cannot map `", name_, "`: ", system_message(errno)));
    return kReported;
  }
  const size_t size = size_;
  std::shared_ptr<const void> owner(address, [size](const void* p) { ::munmap(const_cast<void*>(p), size); });
  return Mapping{{static_cast<const char*>(address), size}, std::move(owner)};
}

Result<std::string> read_file(const std::string& path, uint64_t limit, Diagnostics& diagnostics) {
  Result<InputFile> file = InputFile::open(path, limit, diagnostics);
  if (!file) return kReported;
  return file->read(diagnostics);
}

}  // namespace relay::frontend::data
