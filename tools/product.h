// What `relay compile` makes, and where it is written.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "aot/build.h"
#include "aot/emit.h"
#include "aot/package.h"
#include "tools/model.h"
#include "tools/session.h"

namespace relay::tools {

// The options of `relay compile`.
struct CompileRequest {
  ModelOptions model;
  std::vector<std::string> targets = {"native"};
  std::vector<std::string> bounds, link;
  std::string extents;  // "from:DIR"
  std::string output, emit = "so", licence, passes, package_name, package_version;
  int opt_level = 2, threads = 1;
  std::string denormals = "flush";
  uint64_t memory_limit = 0;  // bytes; 0: none
  bool weights_file = false, time = false;
};

// A library, with a header and perhaps a module of Python beside it.
bool makes_library(const CompileRequest& o);
// A static one.
bool is_archive(const CompileRequest& o);

// The artifact that is asked for: where it is written, as what.
struct Product {
  std::string output;                   // a path, with the default for what -o leaves open
  std::optional<aot::Package> package;  // in the folder `output`
  std::string name;                     // of the artifact
  aot::ArtifactKind kind;
};

// Fails for what cannot be written: a long compilation should not end in a folder
// that is not there.
Product product_of(const CompileRequest& o, const std::string& licence, Session& s);
// The files that will be written. Empty: the result is printed.
std::vector<std::string> outputs_of(const CompileRequest& o, const Product& p);

// The files that the command reads.
std::vector<std::string> files_read(const CompileRequest& o, const driver::Model& model);

// Writes a text to the file that -o names; without one, prints it.
void deliver(const std::string& text, const CompileRequest& o, Session& s);

// What the weights of a source stand in that is one text, by itself and beside that text.
std::string weights_source(const CompileRequest& o, const std::string& name);
std::string weights_beside_source(const CompileRequest& o, const std::string& name);

// The source as one text. Its weights stand in a file beside it, which is needed when the text is
// compiled or, with --weights-file, when it runs.
void deliver_source(const aot::Sources& sources, const aot::EmitOptions& emit, const CompileRequest& o,
                    Session& s);

// Writes the artifact around its library or program. The paths of its files, or what is
// wrong is reported.
Result<std::vector<std::string>> write(const Product& product, const aot::Sources& sources,
                                       const Contents& made, Diagnostics& diagnostics);

}  // namespace relay::tools
