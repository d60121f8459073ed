#include "frontend/onnx/import.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>

#include "base/cat.h"
#include "frontend/data/input_file.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/interface_of.h"
#include "frontend/onnx/refused.h"
#include "frontend/onnx/schema.h"
#include "frontend/onnx/sequences.h"
#include "frontend/onnx/wire.h"

namespace relay::frontend {

ImportFailure import_failure(const Diagnostics& diagnostics) {
  const auto has_unreadable = [&] {
    return std::any_of(diagnostics.all().begin(), diagnostics.all().end(),
                       [](const Diagnostic& d) { return d.slug() == "file-unreadable"; });
  };
  switch (diagnostics.fault().value_or(Fault::kUnsupported)) {
    case Fault::kLimit: return ImportFailure::kLimit;
    case Fault::kUsage:
      if (has_unreadable()) return ImportFailure::kUnreadable;
      [[fallthrough]];
    case Fault::kModel:
    case Fault::kBug: return ImportFailure::kBadModel;
    case Fault::kUnsupported: return ImportFailure::kUnsupported;
  }
  __builtin_unreachable();
}

namespace {

// One model: how its bytes are looked at before it is parsed, and how it is parsed.
class ModelReader {
 public:
  ModelReader(const std::string& name, const std::string* folder, const Module& empty,
              const ImportOptions& options, Diagnostics& diagnostics)
      : name_(name), folder_(folder), empty_(empty), options_(options), diagnostics_(diagnostics) {}

  // Is it worth parsing? Reports why not.
  bool scan(WireBytes bytes) {
    if (bytes.size() == 0)
      return refuse("onnx-empty", "it is empty", "a download or an export was cut short");
    if (bytes.starts_with("version https://git-lfs")) {
      return refuse("onnx-git-lfs", "it is a pointer of Git LFS and not the model",
                    "`git lfs pull` fetches it");
    }
    const WireFacts facts = scan_model(bytes);
    if (bytes.failed()) return false;
    if (!facts.wrong.empty()) return refuse("onnx-malformed", facts.wrong);
    if (facts.nodes > options_.nodes) {
      const Refusal refusal = too_many(cat("it has ", facts.nodes, " nodes, more"), options_.nodes);
      return refuse(refusal.slug, refusal.reason, refusal.remedy);
    }
    if (facts.messages > bytes.size() / 16 + 4 * options_.nodes)
      return refuse("limit-messages", cat("it has ", facts.messages, " parts, too many for its size"));
    return true;
  }

  // The model that a text or a file holds.
  template <class Source>
  Result<Module> import(const Source& source) {
    const auto model = std::make_shared<::onnx::ModelProto>();
    if (std::string wrong = data::parse_message(source, *model); !wrong.empty()) {
      refuse("onnx-malformed", std::move(wrong));
      return kReported;
    }
    if (options_.tells_interface) options_.tells_interface(interface_of(*model));
    return Importer(model, name_, folder_, empty_, options_, diagnostics_).run();
  }

 private:
  bool refuse(Slug slug, std::string why, std::string remedy = {}) {
    Diagnostic& d = diagnostics_.error(Span::none(), slug, cat("cannot read the model `", name_, "`: ", why));
    if (!remedy.empty()) d.note(std::move(remedy));
    return false;
  }

  const std::string& name_;
  const std::string* folder_;
  const Module& empty_;
  const ImportOptions& options_;
  Diagnostics& diagnostics_;
};

// The first version of its set that has an operator.
int64_t oldest_version(std::string_view name) {
  const std::vector<Schema>& all = all_schemas();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Schema& s) { return s.name == name; });
  return at == all.end() ? 1 : at->since;
}

}  // namespace

Result<Module> import_onnx(const std::string& path, const Module& empty, const ImportOptions& options,
                           Diagnostics& diagnostics) {
  const Result<data::InputFile> file = data::InputFile::open(path, options.files.file_bytes, diagnostics);
  if (!file) return kReported;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  ModelReader reader(path, &folder, empty, options, diagnostics);
  const auto read = [&](uint64_t offset, char* to, size_t length) {
    return file->read_at(offset, to, length, diagnostics).ok();
  };
  if (!reader.scan(WireBytes(file->size(), read))) return kReported;
  return reader.import(*file);
}

Result<Module> import_onnx(std::string_view bytes, const std::string& name, const std::string* folder,
                           const Module& empty, const ImportOptions& options, Diagnostics& diagnostics) {
  ModelReader reader(name, folder, empty, options, diagnostics);
  if (!reader.scan(WireBytes(bytes))) return kReported;
  return reader.import(bytes);
}

std::vector<ImportableOperator> importable_operators() {
  std::vector<ImportableOperator> out;
  const auto add = [&](const Row& row) {
    if (out.empty() || out.back().name != row.name) {
      out.push_back({std::string(row.name), row.since});
      const size_t dot = row.name.rfind('.');
      const std::string_view domain = dot == row.name.npos ? "" : row.name.substr(0, dot);
      const Schema* last = find_schema(row.name, INT64_MAX);
      out.back().until = last && last->removed ? last->since - 1 : newest_version(domain);
    }
    out.back().refuses = row.refuses;  // of the newest version
  };
  for (const Row& row : all_rows()) add(row);
  for (const auto& [name, since] :
       std::initializer_list<std::pair<const char*, int64_t>>{{"If", 1}, {"Loop", 1}, {"Scan", 8}})
    add({name, since, nullptr});
  for (const auto& [name, since] : composite_operators()) add({name, since, nullptr});
  for (const RefusedOperator& refused : refused_operators()) {
    const std::string refuses = cat("all forms: ", refused.why);
    add({refused.name, oldest_version(refused.name), nullptr, refuses});
    out.back().refused = true;
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

}  // namespace relay::frontend
