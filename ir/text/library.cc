#include "ir/text/library.h"

#include <map>

#include "base/cat.h"
#include "ir/text/library_texts.inc"
#include "runtime/dtype.h"

namespace relay::text {
namespace {

// A text in which the word DTYPE stands for what follows the slash in its name.
constexpr std::string_view kOfDtype = "tensor_array/", kDtypeWord = "DTYPE";

constexpr std::string_view kSource = "<library ";  // no file's name begins so

struct Row {
  std::string_view name, text;
};
constexpr Row kRows[] = {
    {"nat", texts::kNat},           {"prelude", texts::kPrelude},
    {"sequence", texts::kSequence}, {"tensor_array", texts::kTensorArray},
    {"training", texts::kTraining},
};

using Definitions = std::map<std::string_view, std::string_view>;  // the library of each name

constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";

std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_not_of(kLetters));
}

// Of a type, its name and its constructors, from `type` on.
void add_type(std::string_view text, std::string_view library, Definitions& out) {
  out.emplace(first_word(text), library);
  int depth = 0;
  for (text.remove_prefix(text.find('{')); text[0] != '}'; text.remove_prefix(1)) {
    depth += text[0] == '(' || text[0] == '[';
    depth -= text[0] == ')' || text[0] == ']';
    if (depth > 0 || (text[0] != '{' && text[0] != ',')) continue;
    text.remove_prefix(text.find_first_of(kLetters) - 1);
    out.emplace(first_word(text.substr(1)), library);
  }
}

// Each library's definitions begin in the first column.
Definitions definitions() {
  constexpr std::string_view kType = "\ntype ", kFunction = "\ndef @";
  Definitions out;
  for (const Row& row : kRows) {
    for (size_t at = row.text.find(kType); at != std::string_view::npos; at = row.text.find(kType, at + 1))
      add_type(row.text.substr(at + kType.size()), row.name, out);
    for (size_t at = row.text.find(kFunction); at != std::string_view::npos;
         at = row.text.find(kFunction, at + 1)) {
      const size_t sigil = at + kFunction.size() - 1;
      out.emplace(row.text.substr(sigil, 1 + first_word(row.text.substr(sigil + 1)).size()), row.name);
    }
  }
  return out;
}

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
  for (const Row& row : kRows) {
    if (row.name == name) return std::string(row.text);
  }
  if (!name.starts_with(kOfDtype)) return std::nullopt;
  const std::string_view dtype = name.substr(kOfDtype.size());
  const auto known = DType::parse(dtype);
  // One name for each: `int` would give int32 a second one.
  if (!known || known->name() != dtype) return std::nullopt;
  return with_dtype(texts::kTensorArrayOf, dtype);
}

std::vector<std::string> libraries() {
  std::vector<std::string> out;
  for (const Row& row : kRows) out.emplace_back(row.name);
  return out;
}

std::string library_names() {
  return cat(join(libraries(), ", ", [](const std::string& name) { return cat("`", name, "`"); }),
             " and, for each dtype, `tensor_array/float32`");
}

std::string_view library_with(std::string_view name) {
  static const Definitions all = definitions();
  const auto found = all.find(name);
  return found == all.end() ? std::string_view() : found->second;
}

bool explain_import(Diagnostic& d, std::string_view name) {
  const std::string_view library = library_with(name);
  if (!library.empty()) d.note(cat("`import \"", library, "\"` among the definitions brings it"));
  return !library.empty();
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
