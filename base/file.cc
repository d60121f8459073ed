#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/cat.h"

namespace relay {
namespace {

std::string reason(std::string_view what, const std::string& path) {
  return cat(what, " ", path, ": ", std::strerror(errno));
}

struct Descriptor {
  int number;
  ~Descriptor() {
    if (number >= 0) close(number);
  }
};

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

std::string read_file(const std::string& path, uint64_t most_bytes, std::string& out) {
  // O_NONBLOCK: opening a pipe must not wait for a writer; a pipe is refused below.
  const Descriptor file{open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (file.number < 0) return reason("cannot read", path);
  struct stat about;
  if (fstat(file.number, &about) != 0) return reason("cannot read", path);
  if (S_ISDIR(about.st_mode)) return cat("cannot read ", path, ": it is a folder");
  if (!S_ISREG(about.st_mode)) return cat("cannot read ", path, ": it is not a regular file");
  const auto size = static_cast<uint64_t>(about.st_size);
  if (size > most_bytes) return cat(path, " has ", size, " bytes, more than the limit of ", most_bytes);
  out.resize(size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = ::read(file.number, out.data() + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return reason("cannot read", path);
    if (n == 0) break;  // it shrank meanwhile
    done += static_cast<size_t>(n);
  }
  out.resize(done);
  return {};
}

std::string write_file_atomically(const std::string& path, std::string_view bytes) {
  std::string temporary = path + ".XXXXXX";
  const Descriptor file{mkostemp(temporary.data(), O_CLOEXEC)};
  if (file.number < 0) return reason("cannot write", path);
  // mkostemp makes files for their owner alone; a result is as readable as any other file.
  const mode_t mask = umask(0);
  umask(mask);
  const bool written = fchmod(file.number, 0666 & ~mask) == 0 && write_all(file.number, bytes) &&
                       fsync(file.number) == 0 && std::rename(temporary.c_str(), path.c_str()) == 0;
  if (written) return {};
  const std::string why = reason("cannot write", path);
  unlink(temporary.c_str());
  return why;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::make() {
  std::error_code failed;
  const std::filesystem::path base = std::filesystem::temp_directory_path(failed);
  if (failed) return cat("there is no folder for temporary files: ", failed.message(), " (TMPDIR)");
  std::string name = (base / "relay-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) return reason("cannot make a temporary folder", name);
  path_ = name;
  return {};
}

}  // namespace relay
