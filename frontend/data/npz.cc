#include "frontend/data/npz.h"

#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>
#include <set>

#include "base/cat.h"
#include "frontend/data/npy.h"

namespace relay::frontend::data {
namespace {

struct ZipError {
  ZipError() { zip_error_init(&error); }
  ~ZipError() { zip_error_fini(&error); }
  std::string text() { return zip_error_strerror(&error); }
  zip_error_t error;
};

// An archive that is only read: closing it discards.
struct Discard {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseFile {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

constexpr std::string_view kSuffix = ".npy";

// Of some requests without success libzip forgets to say anything.
void throw_if_without_memory(const zip_error_t* error) {
  const int code = zip_error_code_zip(error);
  if (code == ZIP_ER_MEMORY || code == ZIP_ER_OK || zip_error_code_system(error) == ENOMEM)
    throw std::bad_alloc();
}

using Archive = std::unique_ptr<zip_t, Discard>;

// Null, with the reason, if it is no archive.
Archive open_archive(std::string_view bytes, ZipError& error) {
  zip_source_t* buffer = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error.error);
  if (!buffer) throw std::bad_alloc();
  Archive archive(zip_open_from_source(buffer, ZIP_RDONLY, &error.error));
  if (!archive) {
    zip_source_free(buffer);
    throw_if_without_memory(&error.error);
  }
  return archive;
}

}  // namespace

Result<NamedTensors> parse_npz(std::string_view bytes, std::string_view source, const Limits& limits,
                               Diagnostics& diagnostics) {
  const auto refuse = [&](std::string why, Slug slug = "npz-invalid") -> Reported {
    Diagnostic& d = diagnostics.error(Span::none(), slug, cat("cannot read `", source, "`: ", why));
    if (slug == "limit-archive") d.note("save it without compression, or each array in a file of its own");
    return kReported;
  };
  if (!bytes.starts_with("PK")) return refuse("it is not a .npz archive");

  ZipError error;
  std::string contents;  // of one entry
  Archive archive = open_archive(bytes, error);
  if (!archive) {
    // Without memory to look for its directory libzip says that it has none: when there is as much
    // as that takes, it looks again.
    constexpr size_t kMostOfDirectory = 1 << 18;
    contents.reserve(kMostOfDirectory);
    archive = open_archive(bytes, error);
  }
  if (!archive) return refuse(cat("it is not a sound archive: ", error.text()));

  const auto count = static_cast<uint64_t>(std::max<zip_int64_t>(0, zip_get_num_entries(archive.get(), 0)));
  if (count > limits.tensors) {
    return refuse(cat("it has ", count, " arrays, more than the limit of ", limits.tensors), "limit-tensors");
  }
  const uint64_t by_ratio =
      bytes.size() > UINT64_MAX / limits.archive_ratio ? UINT64_MAX : bytes.size() * limits.archive_ratio;
  uint64_t budget = std::min(limits.total_bytes, std::max(limits.small_archive_bytes, by_ratio));

  NamedTensors out;
  std::set<std::string, std::less<>> names;
  for (uint64_t i = 0; i < count; ++i) {
    zip_stat_t facts;
    if (zip_stat_index(archive.get(), i, ZIP_FL_ENC_RAW, &facts) != 0 || !(facts.valid & ZIP_STAT_NAME) ||
        !(facts.valid & ZIP_STAT_SIZE)) {
      return refuse(cat("entry ", i, " has no name or no size"));
    }
    std::string_view name = facts.name;
    if (!name.ends_with(kSuffix)) return refuse(cat("its entry `", name, "` is not a .npy file"));
    name.remove_suffix(kSuffix.size());
    if (!names.emplace(name).second) return refuse(cat("it holds `", name, "` twice"));
    if ((facts.valid & ZIP_STAT_ENCRYPTION_METHOD) && facts.encryption_method != ZIP_EM_NONE) {
      return refuse(cat("its entry `", name, "` is encrypted; save it without a password"), "npz-encrypted");
    }
    if (facts.size > budget) {
      return refuse(cat("`", name, "` unpacks to ", facts.size, " bytes, more than the ", budget,
                        " that are left of the limit for an archive of ", bytes.size(), " bytes"),
                    "limit-archive");
    }
    budget -= facts.size;
    std::unique_ptr<zip_file_t, CloseFile> file(zip_fopen_index(archive.get(), i, 0));
    if (!file) throw_if_without_memory(zip_get_error(archive.get()));
    if (!file) return refuse(cat("its entry `", name, "` cannot be opened: ", zip_strerror(archive.get())));
    try {
      contents.resize(facts.size);
    } catch (const std::exception&) {
      return refuse(cat("not enough memory for `", name, "`"), "limit-memory");
    }
    const zip_int64_t got = zip_fread(file.get(), contents.data(), contents.size());
    // One more read: it must find the end, where the checksum is verified too.
    char more;
    const zip_int64_t behind =
        got == static_cast<zip_int64_t>(contents.size()) ? zip_fread(file.get(), &more, 1) : 0;
    if (got != static_cast<zip_int64_t>(contents.size()) || behind != 0) {
      if (got < 0 || behind < 0) throw_if_without_memory(zip_file_get_error(file.get()));
      return refuse(cat("its entry `", name, "` is damaged"));
    }
    Result<Tensor> tensor = parse_npy(contents, cat(source, ": ", name, kSuffix), diagnostics);
    if (!tensor) return kReported;
    out.push_back({std::string(name), std::move(*tensor)});
  }
  return out;
}

Result<std::string> npz_bytes(const NamedTensors& tensors, Diagnostics& diagnostics) {
  const auto refuse = [&](std::string why) -> Reported {
    diagnostics.error(Span::none(), "npz-unwritable", cat("cannot make a .npz archive: ", why));
    return kReported;
  };
  const auto refuse_for = [&](zip_error_t* why) {
    throw_if_without_memory(why);
    return refuse(zip_error_strerror(why));
  };
  ZipError error;
  zip_source_t* buffer = zip_source_buffer_create(nullptr, 0, 0, &error.error);
  if (!buffer) return refuse_for(&error.error);
  zip_source_keep(buffer);  // it outlives the archive: the bytes are read back from it
  const std::unique_ptr<zip_source_t, void (*)(zip_source_t*)> keep(buffer, zip_source_free);
  std::unique_ptr<zip_t, Discard> archive(zip_open_from_source(buffer, ZIP_TRUNCATE, &error.error));
  if (!archive) {
    zip_source_free(buffer);
    return refuse_for(&error.error);
  }

  std::vector<std::string> contents;  // must live until the archive is closed
  contents.reserve(tensors.size());
  for (const NamedTensor& t : tensors) {
    if (t.name.find('\0') != std::string::npos)
      return refuse(
          cat("the name of tensor ", contents.size(), ", `", t.name, "`, contains a zero byte; rename it"));
    contents.push_back(npy_bytes(t.value));
    const std::string name = cat(t.name, kSuffix);
    zip_source_t* part = zip_source_buffer(archive.get(), contents.back().data(), contents.back().size(), 0);
    if (!part) return refuse_for(zip_get_error(archive.get()));
    const zip_int64_t index = zip_file_add(archive.get(), name.c_str(), part, ZIP_FL_ENC_UTF_8);
    if (index < 0) {
      zip_source_free(part);
      throw_if_without_memory(zip_get_error(archive.get()));
      const bool twice = zip_error_code_zip(zip_get_error(archive.get())) == ZIP_ER_EXISTS;
      return refuse(twice ? cat("two tensors are called `", t.name, "`; rename one")
                          : cat("`", t.name, "`: ", zip_strerror(archive.get())));
    }
    const auto i = static_cast<zip_uint64_t>(index);
    // The first day that the format knows; noon, so that no time zone turns it into the day before.
    constexpr zip_uint16_t kDate = 1 << 5 | 1, kTime = 12 << 11;
    if (zip_set_file_compression(archive.get(), i, ZIP_CM_STORE, 0) != 0 ||
        zip_file_set_dostime(archive.get(), i, kTime, kDate, 0) != 0) {
      return refuse_for(zip_get_error(archive.get()));
    }
  }
  // libzip writes nothing at all for an empty archive; this is what the format says it is.
  if (tensors.empty()) {
    std::string out = "PK\x05\x06";
    out.resize(22);
    return out;
  }
  if (zip_close(archive.get()) != 0) return refuse_for(zip_get_error(archive.get()));
  (void)archive.release();

  zip_stat_t facts;
  zip_stat_init(&facts);
  if (zip_source_open(buffer) != 0 || zip_source_stat(buffer, &facts) != 0) {
    return refuse_for(zip_source_error(buffer));
  }
  std::string out(facts.size, '\0');
  const zip_int64_t got = zip_source_read(buffer, out.data(), out.size());
  zip_source_close(buffer);
  if (got != static_cast<zip_int64_t>(out.size())) return refuse("the archive could not be read back");
  return out;
}

}  // namespace relay::frontend::data
