#include "frontend/data/inputs.h"

#include <fmt/format.h>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>

#include "base/cat.h"
#include "base/counted.h"
#include "base/file.h"
#include "base/nearest_file.h"
#include "frontend/data/map_file.h"
#include "frontend/data/name_places.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/data/params.h"
#include "frontend/data/safetensors.h"

namespace relay::frontend::data {
namespace {

namespace fs = std::filesystem;

bool safe_in_file_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("_-.:+=@,()[] ").find(c) != std::string_view::npos;
}

std::string_view prefix(Role role) { return role == Role::kInput ? "input_" : "output_"; }

// K of "input_K.pb".
std::optional<size_t> number_of(std::string_view file, Role role) {
  if (!file.starts_with(prefix(role)) || !file.ends_with(".pb")) return std::nullopt;
  file.remove_prefix(prefix(role).size());
  file.remove_suffix(3);
  size_t number = 0;
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), number);
  if (error != std::errc() || end != file.data() + file.size()) return std::nullopt;
  return number;
}

bool is_test_data_set(const std::string& path) {
  fs::path p = fs::path(path).lexically_normal();
  if (!p.has_filename()) p = p.parent_path();
  return p.filename().string().starts_with("test_data_set");
}

// The regular files of a folder, sorted by name.
Result<std::vector<std::string>> files_of(const std::string& folder, const Limits& limits,
                                          Diagnostics& diagnostics) {
  std::vector<std::string> out;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) out.push_back(it->path().filename().string());
    if (out.size() > limits.tensors) {
      diagnostics.error(Span::none(), "limit-tensors",
                        cat("`", folder, "` has more files than the limit of ", limits.tensors));
      return kReported;
    }
  }
  if (error) {
    diagnostics.error(Span::none(), "file-unreadable",
                      cat("cannot read the folder `", folder, "`: ", error.message()));
    return kReported;
  }
  std::sort(out.begin(), out.end());
  return out;
}

Result<NamedTensor> read_pb(const std::string& path, const Limits& limits, Diagnostics& diagnostics) {
  const Result<InputFile::Mapping> file = map_file(path, limits.file_bytes, diagnostics);
  if (!file) return kReported;
  return parse_onnx_tensor(file->bytes, path, diagnostics);
}

Result<Tensor> read_npy(const std::string& path, const Limits& limits, Diagnostics& diagnostics) {
  const Result<InputFile::Mapping> file = map_file(path, limits.file_bytes, diagnostics);
  if (!file) return kReported;
  return parse_npy(file->bytes, path, diagnostics);
}

// One tensor of what was found, and its number if it comes from a test data set.
struct Found {
  NamedTensor tensor;
  std::optional<size_t> number;
};

Result<std::vector<Found>> read_folder(const std::string& folder, Role role, const Limits& limits,
                                       Diagnostics& diagnostics) {
  Result<std::vector<std::string>> files = files_of(folder, limits, diagnostics);
  if (!files) return kReported;
  const bool numbered = std::any_of(files->begin(), files->end(),
                                    [&](const std::string& f) { return number_of(f, role).has_value(); });
  std::vector<Found> out;
  uint64_t total = 0;
  for (const std::string& file : *files) {
    const std::string path = (fs::path(folder) / file).string();
    if (numbered) {
      const std::optional<size_t> number = number_of(file, role);
      if (!number) continue;
      Result<NamedTensor> t = read_pb(path, limits, diagnostics);
      if (!t) return kReported;
      out.push_back({std::move(*t), number});
    } else {
      if (!file.ends_with(".npy")) continue;
      Result<Tensor> t = read_npy(path, limits, diagnostics);
      if (!t) return kReported;
      out.push_back({{file.substr(0, file.size() - 4), std::move(*t)}, std::nullopt});
    }
    total += out.back().tensor.value.bytes();
    if (total > limits.total_bytes) {
      diagnostics.error(
          Span::none(), "limit-memory",
          cat("the tensors of `", folder, "` have more bytes than the limit of ", limits.total_bytes));
      return kReported;
    }
  }
  if (numbered) {
    std::sort(out.begin(), out.end(), [](const Found& a, const Found& b) { return a.number < b.number; });
  }
  return out;
}

Result<std::vector<Found>> read_any(const std::string& path, Role role, const Limits& limits,
                                    Diagnostics& diagnostics) {
  std::error_code error;
  if (fs::is_directory(path, error)) return read_folder(path, role, limits, diagnostics);
  std::vector<Found> out;
  if (path.ends_with(".npz")) {
    const Result<InputFile::Mapping> file = map_file(path, limits.file_bytes, diagnostics);
    if (!file) return kReported;
    Result<NamedTensors> tensors = parse_npz(file->bytes, path, limits, diagnostics);
    if (!tensors) return kReported;
    for (NamedTensor& t : *tensors) out.push_back({std::move(t), std::nullopt});
  } else if (path.ends_with(".safetensors")) {
    Result<Safetensors> contents = map_safetensors(path, limits, diagnostics);
    if (!contents) return kReported;
    for (NamedTensor& t : contents->tensors) out.push_back({std::move(t), std::nullopt});
  } else if (path.ends_with(".params")) {
    const Result<InputFile::Mapping> file = map_file(path, limits.file_bytes, diagnostics);
    if (!file) return kReported;
    Result<NamedTensors> tensors = parse_params(file->bytes, path, limits, diagnostics);
    if (!tensors) return kReported;
    for (NamedTensor& t : *tensors) out.push_back({std::move(t), std::nullopt});
  } else if (path.ends_with(".npy")) {
    Result<Tensor> t = read_npy(path, limits, diagnostics);
    if (!t) return kReported;
    out.push_back({{"", std::move(*t)}, std::nullopt});
  } else if (path.ends_with(".pb")) {
    Result<NamedTensor> t = read_pb(path, limits, diagnostics);
    if (!t) return kReported;
    out.push_back({std::move(*t), 0});
  } else {
    const bool exists = fs::exists(path, error);
    Diagnostic& d =
        diagnostics.error(Span::none(), exists ? Slug("tensors-unknown-form") : Slug("file-unreadable"),
                          cat("cannot read tensors from `", path,
                              "`: ", exists ? "its form is unknown" : "there is no such file or folder"));
    suggest_file(d, path);
    d.note(
        "give x.npz, x.npy, x.safetensors, x.params, x.pb, a folder of NAME.npy, or a test_data_set_N/ "
        "folder");
    return kReported;
  }
  return out;
}

// `a`, `b`, ...
template <class Items, class NameOf>
std::string first_names(const Items& items, const NameOf& name_of) {
  constexpr size_t kMostNames = 20;
  const std::span first(items.data(), std::min(items.size(), kMostNames));
  return cat(join(first, ", ", [&](const auto& item) { return cat("`", name_of(item), "`"); }),
             items.size() > kMostNames ? ", ..." : "");
}

// The file of the i-th tensor in a folder.
std::string file_in(const std::string& folder, size_t i, std::string_view name, Role role) {
  const std::string file =
      is_test_data_set(folder) ? cat(prefix(role), i, ".pb") : cat(file_name_of(name), ".npy");
  return (fs::path(folder) / file).string();
}

// Like in spelling, for hints: equal but for case and punctuation, or one contains the other.
bool alike(std::string_view a, std::string_view b) {
  const auto letters = [](std::string_view s) {
    std::string out;
    for (char c : s) {
      if (c >= 'A' && c <= 'Z') out += static_cast<char>(c - 'A' + 'a');
      if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) out += c;
    }
    return out;
  };
  const std::string x = letters(a), y = letters(b);
  return !x.empty() && !y.empty() && (x.find(y) != std::string::npos || y.find(x) != std::string::npos);
}

std::string_view word(Role role) { return role == Role::kInput ? "input" : "output"; }

std::pair<Slug, std::string> what_is_wrong(const std::string& path, const Found& f, size_t wanted,
                                           Role role) {
  const std::string_view what = word(role);
  const std::string inputs = counted(wanted, what);
  if (f.number) {
    return {Slug("tensor-unknown"), cat("`", path, "` holds tensor number ", *f.number,
                                        ", and there are only ", inputs, ", numbered from 0")};
  }
  if (f.tensor.name.empty())
    return {Slug("tensor-unnamed"),
            cat("`", path, "` holds one tensor without a name, and there are ", inputs)};
  return {Slug("tensor-unknown"), cat("`", path, "` holds `", f.tensor.name, "`, which is no ", what)};
}

// Of a tensor that stands for no name. `guesses` gets the name that it is most likely meant for.
void report_unknown(const std::string& path, const Found& f, std::span<const std::string> names,
                    const NamePlaces& places, Role role, const NamedTensors& out,
                    std::set<std::string_view>& guesses, Diagnostics& diagnostics) {
  auto [slug, message] = what_is_wrong(path, f, names.size(), role);
  Diagnostic& d = diagnostics.error(Span::none(), slug, std::move(message));
  std::vector<std::string_view> meant;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!out[i].value.defined() && alike(names[i], f.tensor.name)) meant.push_back(names[i]);
  }
  for (std::string_view name : meant) d.note(cat("is it meant for `", name, "`?"));
  if (const auto several = places.with_underscores(f.tensor.name); several.size() > 1)
    d.note(cat("name the files ",
               join(several, ", ", [&](size_t i) { return cat("`", file_name_of(names[i]), ".npy`"); })));
  // One tensor stands for one name: of several guesses all but one are missing, and
  // nobody knows which.
  if (meant.size() == 1) guesses.insert(meant.front());
  if (meant.empty())
    d.note(cat("the ", word(role), "s: ", first_names(names, [](const std::string& n) { return n; })));
}

}  // namespace

std::string file_name_of(std::string_view tensor_name) {
  std::string out;
  for (size_t i = 0; i < tensor_name.size(); ++i) {
    const char c = tensor_name[i];
    if (safe_in_file_name(c) && !(c == '.' && i == 0)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

Result<NamedTensors> read_tensors(const std::string& path, Role role, const Limits& limits,
                                  Diagnostics& diagnostics) {
  Result<std::vector<Found>> found = read_any(path, role, limits, diagnostics);
  if (!found) return kReported;
  NamedTensors out;
  for (Found& f : *found) out.push_back(std::move(f.tensor));
  return out;
}

Result<Tensor> read_tensor(const std::string& path, std::string_view name, const Limits& limits,
                           Diagnostics& diagnostics) {
  Result<std::vector<Found>> found = read_any(path, Role::kInput, limits, diagnostics);
  if (!found) return kReported;
  for (Found& f : *found) {
    // The name in an x.pb is whatever the program that wrote it called the tensor.
    const bool alone = found->size() == 1 && (f.number || f.tensor.name.empty());
    if (alone || f.tensor.name == name) return std::move(f.tensor.value);
  }
  diagnostics
      .error(Span::none(), "tensor-missing", cat("`", path, "` has no tensor for the input `", name, "`"))
      .note(found->empty() ? "it holds none" : cat("it holds ", first_names(*found, [](const Found& f) {
                                                     return std::string_view(f.tensor.name);
                                                   })));
  return kReported;
}

bool is_tensor_file(std::string_view path) {
  constexpr std::string_view kForms[] = {".npz", ".npy", ".safetensors", ".params", ".pb"};
  return std::any_of(std::begin(kForms), std::end(kForms),
                     [&](std::string_view f) { return path.ends_with(f); });
}

Result<NamedTensors> read_named(const std::string& path, std::span<const std::string> names, Role role,
                                const Limits& limits, Diagnostics& diagnostics, const NamedTensors& fixed) {
  Result<std::vector<Found>> found = read_any(path, role, limits, diagnostics);
  if (!found) return kReported;

  const NamePlaces places(names);
  NamedTensors out(names.size());
  std::map<size_t, const Tensor*> known;
  for (const NamedTensor& t : fixed) known.emplace(places.find(t.name).value(), &t.value);
  std::vector<size_t> open;  // the places that the file must fill
  for (size_t i = 0; i < names.size(); ++i) {
    if (!known.contains(i)) open.push_back(i);
  }
  const std::string_view what = word(role);
  bool complete = true;
  std::vector<const Found*> unknown;
  std::map<size_t, const Found*> taken;
  for (Found& f : *found) {
    std::optional<size_t> place;
    if (f.number) {
      if (*f.number < names.size()) place = *f.number;
    } else if (f.tensor.name.empty() && found->size() == 1 && open.size() == 1) {
      place = open[0];
    } else {
      place = places.find(f.tensor.name);
    }
    if (!place) {
      unknown.push_back(&f);
      continue;
    }
    const auto [first, fresh] = taken.emplace(*place, &f);
    if (!fresh && !f.number) {
      diagnostics
          .error(Span::none(), "tensor-unknown",
                 cat("`", path, "` holds `", first->second->tensor.name, "` and `", f.tensor.name,
                     "`, both for the ", what, " `", names[*place], "`"))
          .note("remove one of them");
      complete = false;
    }
    out[*place] = {names[*place], f.tensor.value};
  }

  for (const auto& [i, value] : known) {
    if (out[i].value.defined() && !identical(out[i].value, *value)) {
      constexpr int64_t kMostShown = 8;
      diagnostics
          .error(Span::none(), "input-value-conflict",
                 cat("`", path, "` holds another `", names[i], "` than it was fixed to"))
          .note(cat("it holds ", show(out[i].value, kMostShown)))
          .note(cat("it was fixed to ", show(*value, kMostShown)));
      complete = false;
    }
    out[i] = {names[i], *value};
  }
  std::set<std::string_view> guesses;
  if (!unknown.empty()) complete = false;
  for (const Found* f : unknown) report_unknown(path, *f, names, places, role, out, guesses, diagnostics);
  const bool unnamed = found->size() == 1 && found->front().tensor.name.empty();
  for (size_t i = 0; i < names.size(); ++i) {
    if (out[i].value.defined() || guesses.contains(names[i]) || (unnamed && !complete)) continue;
    Diagnostic& d = diagnostics.error(Span::none(), "tensor-missing",
                                      cat("`", path, "` has no tensor for the ", what, " `", names[i], "`"));
    d.note(found->empty()
               ? std::string("it holds no tensors")
               : cat("it holds ", first_names(*found, [](const Found& f) { return f.tensor.name; })));
    complete = false;
  }
  if (!complete) return kReported;
  return out;
}

Result<bool> write_tensors(const std::string& path, const NamedTensors& tensors, Role role,
                           Diagnostics& diagnostics) {
  const auto write = [&](const std::string& file, Result<std::string> bytes) -> Result<bool> {
    if (!bytes) return kReported;
    const std::string wrong = write_file_atomically(file, *bytes);
    if (wrong.empty()) return true;
    diagnostics.error(Span::none(), "file-unwritable", wrong);
    return kReported;
  };
  if (path.ends_with(".npz")) return write(path, npz_bytes(tensors, diagnostics));
  if (path.ends_with(".safetensors")) return write(path, safetensors_bytes({tensors, {}}, diagnostics));
  if (path.ends_with(".params")) return write(path, params_bytes(tensors, diagnostics));
  if (path.ends_with(".npy")) {
    if (tensors.size() != 1) {
      diagnostics
          .error(Span::none(), "too-many-tensors",
                 cat("`", path, "` can hold one tensor, not ", tensors.size()))
          .note("write to x.npz or to a folder");
      return kReported;
    }
    return write(path, npy_bytes(tensors[0].value));
  }
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    diagnostics.error(Span::none(), "file-unwritable",
                      cat("cannot make the folder `", path, "`: ", error.message()));
    return kReported;
  }
  // All of them or none.
  const bool numbered = is_test_data_set(path);
  std::vector<std::string> names, contents;
  for (size_t i = 0; i < tensors.size(); ++i) {
    names.push_back(file_in(path, i, tensors[i].name, role));
    contents.push_back(numbered ? onnx_tensor_bytes(tensors[i]) : npy_bytes(tensors[i].value));
  }
  std::vector<FileContents> files;
  for (size_t i = 0; i < tensors.size(); ++i) files.push_back({names[i], contents[i]});
  const std::string wrong = write_files_atomically(files);
  if (wrong.empty()) return true;
  diagnostics.error(Span::none(), "file-unwritable", wrong);
  return kReported;
}

std::vector<std::string> files_to_write(const std::string& path, std::span<const std::string> names,
                                        Role role) {
  if (is_tensor_file(path) && !path.ends_with(".pb")) return {path};
  std::vector<std::string> out;
  for (size_t i = 0; i < names.size(); ++i) out.push_back(file_in(path, i, names[i], role));
  return out;
}

std::vector<std::string> files_to_read(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) return {path};
  Diagnostics ignored;
  Result<std::vector<std::string>> files = files_of(path, {}, ignored);
  std::vector<std::string> out;
  for (size_t i = 0; files && i < files->size(); ++i) out.push_back((fs::path(path) / (*files)[i]).string());
  return out;
}

}  // namespace relay::frontend::data
