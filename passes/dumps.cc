#include "passes/dumps.h"

#include <fmt/format.h>
#include <filesystem>
#include <system_error>

#include "base/cat.h"
#include "base/file.h"
#include "op/operators.h"

namespace relay::passes {
namespace {

constexpr std::string_view kReproducerLine = "// relay-pipeline: ";

}  // namespace

void Dumps::begins(const Pipeline& steps, const Module& m, Diagnostics& d) { dump(steps, 0, m, d); }
void Dumps::ran(const StepReport& r, Diagnostics& d) { dump(r.steps, r.done, r.after, d); }

void Dumps::failed(const Pipeline& rest, const Module& m, Diagnostics& d) {
  if (options_.reproducer.empty()) return;
  const std::string wrong = save(options_.reproducer, cat(kReproducerLine, show(rest), "\n"), m);
  if (!wrong.empty()) {
    d.error(Span::none(), "cannot-write", wrong);
  } else {
    d.warning(Span::none(), "reproducer-written",
              cat("wrote ", options_.reproducer, "; `relay opt` runs it again"));
  }
}

void Dumps::dump(const Pipeline& steps, size_t done, const Module& m, Diagnostics& d) const {
  if (options_.folder.empty()) return;
  std::error_code ignored;  // what is wrong with the folder, the file says too
  std::filesystem::create_directories(options_.folder, ignored);
  const std::string wrong = save(dump_path(options_.folder, steps, done), "", m);
  if (!wrong.empty()) d.error(Span::none(), "cannot-write", wrong);
}

std::string Dumps::save(const std::string& path, const std::string& head, const Module& m) const {
  return options_.save ? options_.save(path, head, m) : write_file_atomically(path, head + op::text_of(m));
}

std::string dump_path(std::string_view folder, const Pipeline& steps, size_t done) {
  return fmt::format("{}/{:02}-{}.relay", folder, done, done == 0 ? "input" : steps[done - 1].pass->name);
}

std::string pipeline_of_reproducer(std::string_view text) {
  if (!text.starts_with(kReproducerLine)) return {};
  text.remove_prefix(kReproducerLine.size());
  return std::string(text.substr(0, text.find('\n')));
}

}  // namespace relay::passes
