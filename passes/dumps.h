// Files that a pipeline leaves: the module after each pass, and a reproducer of one that fails.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "passes/observer.h"

namespace relay::passes {

struct DumpOptions {
  std::string folder = {};      // of numbered .relay files; empty: none
  std::string reproducer = {};  // written when a pass fails; empty: none
  // How a module is written to a file (with its constants beside it), behind a text; returns what
  // is wrong, or an empty text. Without it, large constants are left out of the files.
  std::function<std::string(const std::string& path, const std::string& head, const Module& m)> save = {};
};

// Reports "cannot-write", and "reproducer-written".
class Dumps : public Observer {
 public:
  explicit Dumps(DumpOptions options) : options_(std::move(options)) {}
  void begins(const Pipeline& steps, const Module& m, Diagnostics& d) override;
  void ran(const StepReport& report, Diagnostics& d) override;
  void failed(const Pipeline& rest, const Module& m, Diagnostics& d) override;

 private:
  void dump(const Pipeline& steps, size_t done, const Module& m, Diagnostics& d) const;
  std::string save(const std::string& path, const std::string& head, const Module& m) const;

  DumpOptions options_;
};

// The file in the folder for what the first `done` steps made of the module.
std::string dump_path(std::string_view folder, const Pipeline& steps, size_t done);

// The pipeline that a reproducer names in its first line, "// relay-pipeline: fuse,lower". Empty if
// the text has no such line.
std::string pipeline_of_reproducer(std::string_view text);

}  // namespace relay::passes
