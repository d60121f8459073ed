#include "base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/cat.h"
#include "base/escape.h"

namespace relay {
namespace {

std::string reason(std::string_view what, const std::string& path) {
  return cat(what, " ", path, ": ", std::strerror(errno));
}

// Why a file could not be made there.
std::string cannot_make(const std::string& path) {
  const bool no_such_file = errno == ENOENT;
  const std::string why = reason("cannot write", path);
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code unknown;
  const bool missing = no_such_file && !folder.empty() && !std::filesystem::exists(folder, unknown);
  if (!missing || unknown) return why;
  return cat("cannot write ", path, ": there is no folder ", folder.string(), "; `mkdir -p ",
             shell_word(folder.string()), "` makes it");
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

// A file's bytes, without having them all in memory.
bool copy_all(int to, const std::string& path) {
  const Descriptor from{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (from.number < 0) return false;
  std::string piece(size_t{1} << 20, '\0');
  for (;;) {
    const ssize_t n = ::read(from.number, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return n == 0;
    if (!write_all(to, std::string_view(piece).substr(0, static_cast<size_t>(n)))) return false;
  }
}

bool write_contents(int to, const Contents& contents) {
  for (const std::string_view piece : contents.pieces()) {
    if (!write_all(to, piece)) return false;
  }
  return contents.file().empty() || copy_all(to, contents.file());
}

constexpr int kMostTries = 1000;  // of names for a file on its way

// A file on its way: written under another name beside its destination, then renamed.
class Staged {
 public:
  Staged() = default;
  Staged(const Staged&) = delete;
  ~Staged() {
    if (!temporary_.empty()) unlink(temporary_.c_str());
  }

  std::string write(const FileContents& file) {
    path_ = file.path;
    struct stat about;
    existed_ = stat(path_.c_str(), &about) == 0;
    if (existed_ && S_ISDIR(about.st_mode)) return cat("cannot write ", path_, ": it is a folder");
    // Renaming over a device or a pipe would put a file in its place: /dev/null, for all programs.
    if (existed_ && !S_ISREG(about.st_mode)) return write_through(file.bytes);
    if (existed_) {
      // Renaming over a link would cut it.
      std::error_code failed;
      const std::filesystem::path target = std::filesystem::canonical(path_, failed);
      if (!failed) destination_ = target.string();
    }
    if (destination_.empty()) destination_ = path_;
    const Descriptor to{make_temporary()};
    if (to.number < 0) return cannot_make(path_);
    const bool done = write_contents(to.number, file.bytes) && fsync(to.number) == 0;
    return done ? std::string() : reason("cannot write", path_);
  }

  // False if it cannot be renamed: errno says why. Takes no memory.
  bool commit() {
    if (temporary_.empty()) return true;
    if (std::rename(temporary_.c_str(), destination_.c_str()) != 0) return false;
    temporary_.clear();
    fleeting_.keep();
    committed_ = true;
    return true;
  }

  const std::string& path() const { return path_; }

  // What was there before cannot be brought back, what is new can be taken away.
  void undo() {
    if (committed_ && !existed_) unlink(destination_.c_str());
  }

 private:
  // Opens a new file beside the destination; negative if that fails. A result is as readable as any
  // other file. mkostemp makes files for their owner alone, and who asks umask how readable others
  // are sets it, for all threads.
  int make_temporary() {
    static std::atomic<uint64_t> next{0};
    const std::string before = cat(destination_, ".", getpid(), "-");
    for (int tries = 0; tries < kMostTries; ++tries) {
      std::string name = cat(before, next++);
      const Uninterrupted making;
      const int file = open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
      if (file < 0 && errno == EEXIST) continue;  // a process of that number left it behind
      if (file < 0) return file;
      temporary_ = std::move(name);  // which takes no memory: what is there is never left behind
      fleeting_.path(temporary_);
      return file;
    }
    return -1;
  }

  std::string write_through(const Contents& bytes) {
    const Descriptor to{open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY)};
    if (to.number < 0 || !write_contents(to.number, bytes)) return reason("cannot write", path_);
    return {};
  }

  std::string path_, destination_, temporary_;
  Fleeting fleeting_;
  bool existed_ = false, committed_ = false;
};

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

std::string write_files_atomically(std::span<const FileContents> files) {
  std::vector<Staged> all(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    if (std::string wrong = all[i].write(files[i]); !wrong.empty()) return wrong;
  }
  const Uninterrupted renaming;  // files that belong together
  for (Staged& s : all) {
    if (s.commit()) continue;
    const int why = errno;
    for (Staged& done : all) done.undo();
    errno = why;
    return reason("cannot write", s.path());
  }
  return {};
}

std::string write_file_atomically(const std::string& path, std::string_view bytes) {
  const FileContents one{path, bytes};
  return write_files_atomically({&one, 1});
}

std::string cannot_write(const std::string& path) {
  // Whoever reads a pipe would take the probe for all there is.
  if (is_stream(path)) return {};
  Staged probe;
  return probe.write({path, {}});
}

bool is_stream(const std::string& path) {
  struct stat about;
  return stat(path.c_str(), &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

TemporaryFolder::~TemporaryFolder() {
  if (!path_.empty()) remove_without_memory(path_.c_str());
}

std::string TemporaryFolder::make() {
  std::error_code failed;
  const std::filesystem::path base = std::filesystem::temp_directory_path(failed);
  if (failed) {
    const char* chosen = std::getenv("TMPDIR");
    return cat("there is no folder for temporary files", chosen ? cat(" ", chosen) : std::string(), ": ",
               failed.message(), " (TMPDIR)");
  }
  std::string name = (base / "relay-XXXXXX").string();
  const Uninterrupted making;
  if (mkdtemp(name.data()) == nullptr) return reason("cannot make a temporary folder", name);
  path_ = std::move(name);
  fleeting_.path(path_);
  return {};
}

std::string cannot_write_temporaries(std::string_view said) {
  TemporaryFolder folder;
  if (std::string wrong = folder.make(); !wrong.empty()) return wrong;
  const auto full = [&](int error) {
    return cat("the folder for temporary files, ",
               std::filesystem::path(folder.path()).parent_path().string(),
               ", takes no more: ", std::strerror(error));
  };
  for (const int error : {ENOSPC, EDQUOT, EFBIG}) {
    if (said.find(std::strerror(error)) != std::string_view::npos) return full(error);
  }
  const Descriptor to{open((folder.path() + "/probe").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
  if (to.number >= 0 && write_all(to.number, std::string(size_t{4} << 20, '\0'))) return {};
  return full(errno);
}

std::string cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  // The XDG Base Directory Specification has relative paths ignored.
  if (const std::string chosen = variable("XDG_CACHE_HOME"); chosen.starts_with("/"))
    return chosen + "/relay";
  const std::string home = variable("HOME");
  return home.starts_with("/") ? home + "/.cache/relay" : std::string();
}

std::string make_folders(const std::string& path) {
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  return failed ? cat("cannot make the folder ", path, ": ", failed.message()) : std::string();
}

}  // namespace relay
