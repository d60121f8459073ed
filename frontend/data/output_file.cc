#include "frontend/data/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "base/cat.h"

namespace relay::data {
namespace {

// The error number, or 0.
int write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(file, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

}  // namespace

Result<bool> write_file(const std::string& path, std::string_view bytes, Diagnostics& diagnostics) {
  std::string temporary;
  int file = -1, error = 0;
  if (path.find('\0') != std::string::npos) {
    error = EINVAL;
  } else {
    // A name that nobody else has: other processes have other numbers, other threads see that the file exists.
    for (int attempt = 0; attempt < 1000 && file < 0; ++attempt) {
      temporary = cat(path, ".", ::getpid(), "-", attempt, ".tmp");
      file = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      error = file < 0 ? errno : 0;
      if (file < 0 && errno != EEXIST) break;
    }
  }
  if (file >= 0) {
    error = write_all(file, bytes);
    // A full disk may show itself only here.
    if (::close(file) != 0 && error == 0) error = errno;
    if (error == 0 && ::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) ::unlink(temporary.c_str());
  }
  if (error == 0) return true;
  diagnostics.error(Span::none(), "file-unwritable",
                    cat("cannot write `", path, "`: ", std::generic_category().message(error)));
  return kReported;
}

}  // namespace relay::data
