// The safetensors format: named tensors behind a JSON header, safe to map.
//
// Everything that the format allows is read, and nothing else: a header of known keys that is not
// too long, offsets that neither overlap nor leave gaps, sizes that are exactly shape times dtype.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/result.h"
#include "frontend/data/limits.h"
#include "frontend/data/named_tensors.h"

namespace relay::frontend::data {

struct Safetensors {
  NamedTensors tensors;  // in the order of their data
  std::map<std::string, std::string> metadata;
};

// Copies the elements.
Result<Safetensors> parse_safetensors(std::string_view bytes, std::string_view source, const Limits& limits,
                                      Diagnostics& diagnostics);
// Maps the file: tensors share its pages, unless the file has not aligned them.
Result<Safetensors> map_safetensors(const std::string& path, const Limits& limits, Diagnostics& diagnostics);

// A file in pieces, of which those after the head are the tensors' own elements: the tensors must
// outlive it.
struct SafetensorsFile {
  std::string head;
  std::vector<std::string_view> elements;
  std::vector<std::string_view> pieces() const;
};
// Sorted by alignment and name; every tensor is aligned. 4-bit integers take a byte each, which
// the metadata notes.
Result<SafetensorsFile> safetensors_file(const Safetensors& contents, Diagnostics& diagnostics);
// The same as one text.
Result<std::string> safetensors_bytes(const Safetensors& contents, Diagnostics& diagnostics);

}  // namespace relay::frontend::data
