// The commands of golden tests that read models and files of tensors, and a text form
// for what they read.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/diagnostics.h"
#include "base/file.h"
#include "ir/module.h"
#include "tests/golden/command.h"

namespace relay::tests {

// The folder that is the current one for the time being: messages name files as they are given, so
// they are given relative to it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();

 private:
  std::filesystem::path before_;
  TemporaryFolder folder_;
};

// A text in which `<<N|text>>` stands for N times the text, so that what is too long or too deep
// can be written down.
std::string repeated(std::string_view text);

// import: an ONNX model as protobuf's text format says it (`---- model`). Options:
// --shape=INPUT:2,n --nodes=N --graph-depth=N --unrolled-steps=N, and --data=FILE:N, a file of N
// zeros beside the model.
std::string import_text(const Command& c, const std::string& model, const Module& empty,
                        Diagnostics& diagnostics);

// import, with the bytes of a file (`---- bytes`), escaped as in C; line ends do not count.
std::string import_escaped(const Command& c, const std::string& bytes, const Module& empty,
                           Diagnostics& diagnostics);

// import PATH: a graph of the graph runtime; the files (`---- files`) are as for `read`.
// --shape=INPUT:2,4
std::string import_graph_text(const Command& c, const std::string& files, const Module& empty,
                              Diagnostics& diagnostics);

// read PATH: the tensors of a file. The files (`---- files`) are lines `NAME: escaped bytes`, and
// lines that go on with spaces. --names=a,b asks for these; --file-bytes=N and so on are the limits
// of frontend::data::Limits.
std::string read_text(const Command& c, const std::string& files, Diagnostics& diagnostics);

// write PATH --names=a,b: a scalar for each name, so that what cannot be written is refused.
std::string write_text(const Command& c, Diagnostics& diagnostics);

}  // namespace relay::tests
