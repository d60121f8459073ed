#include "ir/text/library.h"

#include "base/cat.h"
#include "ir/text/library_texts.inc"
#include "runtime/dtype.h"

namespace relay::text {
namespace {

// A text in which the word DTYPE stands for what follows the slash in its name.
constexpr std::string_view kOfDtype = "tensor_array/", kDtypeWord = "DTYPE";

constexpr std::string_view kSource = "<library ";  // no file's name begins so

std::string with_dtype(std::string_view text, std::string_view dtype) {
  std::string out;
  for (;;) {
    const size_t at = text.find(kDtypeWord);
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += dtype;
    text.remove_prefix(at + kDtypeWord.size());
  }
}

}  // namespace

std::optional<std::string> library_text(std::string_view name) {
  if (name == "prelude") return std::string(texts::kPrelude);
  if (name == "nat") return std::string(texts::kNat);
  if (name == "sequence") return std::string(texts::kSequence);
  if (name == "tensor_array") return std::string(texts::kTensorArray);
  if (name == "training") return std::string(texts::kTraining);
  if (!name.starts_with(kOfDtype)) return std::nullopt;
  const std::string_view dtype = name.substr(kOfDtype.size());
  const auto known = DType::parse(dtype);
  // One name for each: `int` would give int32 a second one.
  if (!known || known->name() != dtype) return std::nullopt;
  return with_dtype(texts::kTensorArrayOf, dtype);
}

std::string library_names() {
  return "`nat`, `prelude`, `sequence`, `tensor_array`, `training` and, for each dtype, "
         "`tensor_array/float32`";
}

std::string library_source(std::string_view name) { return cat(kSource, name, ">"); }

std::string_view library_of(const SourceMap& sources, Span span) {
  if (!span.known()) return {};
  std::string_view name = sources.name(span.file);
  if (!name.starts_with(kSource)) return {};
  name.remove_prefix(kSource.size());
  return name.substr(0, name.size() - 1);
}

}  // namespace relay::text
