#include "frontend/onnx/import.h"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <filesystem>

#include "base/cat.h"
#include "frontend/data/input_file.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/onnx/importer.h"
#include "frontend/onnx/interface_of.h"
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

Result<Module> import_onnx(const std::string& path, const Module& empty, const ImportOptions& options,
                           Diagnostics& diagnostics) {
  Result<std::string> bytes = data::read_file(path, options.files.file_bytes, diagnostics);
  if (!bytes) return kReported;
  const std::string folder = std::filesystem::path(path).parent_path().string();
  return import_onnx(*bytes, path, &folder, empty, options, diagnostics);
}

Result<Module> import_onnx(std::string_view bytes, const std::string& name, const std::string* folder,
                           const Module& empty, const ImportOptions& options, Diagnostics& diagnostics) {
  const auto refuse = [&](Slug slug, std::string why, std::string remedy = {}) -> Reported {
    Diagnostic& d = diagnostics.error(Span::none(), slug, cat("cannot read the model `", name, "`: ", why));
    if (!remedy.empty()) d.note(std::move(remedy));
    return kReported;
  };
  if (bytes.empty()) return refuse("onnx-empty", "it is empty", "a download or an export was cut short");
  if (bytes.starts_with("version https://git-lfs")) {
    return refuse("onnx-git-lfs", "it is a pointer of Git LFS and not the model",
                  "`git lfs pull` fetches it");
  }
  if (const WireFacts facts = scan_model(bytes); !facts.wrong.empty()) {
    return refuse("onnx-malformed", facts.wrong);
  } else if (facts.nodes > options.nodes) {
    return refuse("limit-nodes",
                  cat("it has ", facts.nodes, " nodes, more than the limit of ", options.nodes),
                  "divide the model into several");
  } else if (facts.messages > bytes.size() / 16 + 4 * options.nodes) {
    return refuse("limit-messages", cat("it has ", facts.messages, " parts, too many for its size"));
  }
  ::onnx::ModelProto model;
  if (std::string wrong = data::parse_message(bytes, model); !wrong.empty())
    return refuse("onnx-malformed", std::move(wrong));
  if (options.tells_interface) options.tells_interface(interface_of(model));
  return Importer(model, name, folder, empty, options, diagnostics).run();
}

std::vector<std::string> importable_operators() {
  std::vector<std::string> out;
  std::string_view last;
  for (const Row& row : all_rows()) {
    if (row.name == last) {
      out.back() += cat(", ", row.since);
    } else {
      out.push_back(cat(row.name, " ", row.since));
    }
    last = row.name;
  }
  for (const char* name : {"If 1", "Loop 1"}) out.emplace_back(name);
  for (std::string& name : composite_operators()) out.push_back(std::move(name));
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace relay::frontend
