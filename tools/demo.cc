// relay demo: a trained model from its file to the same answer on every engine.
#include <fmt/format.h>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>

#include "base/cat.h"
#include "base/file.h"
#include "driver/engines.h"
#include "driver/verifier.h"
#include "frontend/data/inputs.h"
#include "passes/reference.h"
#include "tools/model.h"
#include "tools/options/options.h"
#include "tools/options/values.h"
#include "tools/overwriting.h"
#include "tools/page/page.h"
#include "tools/session.h"

namespace relay::tools {
namespace {

constexpr int64_t kSide = 28;

// The checkout's folder: ./relay exports it.
std::string examples() {
  const char* root = std::getenv("RELAY_ROOT");
  return std::string(root && *root ? root : ".") + "/examples/models/mnist_8";
}

// Two rows of pixels in a line of text, by half blocks.
std::string picture(const Tensor& images, int64_t number) {
  const auto dark = [&](int64_t row, int64_t column) {
    return images.get((number * kSide + row) * kSide + column) > 96;
  };
  std::string out;
  for (int64_t row = 0; row < kSide; row += 2) {
    std::string line;
    for (int64_t column = 0; column < kSide; ++column) {
      const bool upper = dark(row, column), lower = dark(row + 1, column);
      line += upper && lower ? "█" : upper ? "▀" : lower ? "▄" : " ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += cat("    ", line, "\n");
  }
  return out;
}

int64_t best_class(const Tensor& scores) {
  int64_t best = 0;
  for (int64_t i = 1; i < scores.size(); ++i) {
    if (scores.get(i) > scores.get(best)) best = i;
  }
  return best;
}

Value image_value(const Tensor& images, int64_t number) {
  Tensor one(kFloat32, {1, 1, kSide, kSide});
  for (int64_t i = 0; i < one.size(); ++i) one.set(i, images.get(number * kSide * kSide + i));
  return Value(one);
}

// What the time of an engine is the time of.
std::string_view what_it_is(std::string_view engine) {
  if (engine == "interp")
    return "the reference, which defines what programs mean: for reading, not for speed";
  if (engine == "jit") return "the interpreter with compiled operators";
  if (engine == "graph") return "compiled kernels in this process";
  if (engine == "aot-cpp") return "C++, compiled to a library";
  return "CUDA, run on this CPU thread by thread: no GPU is timed here";
}

void show_table(const std::vector<driver::VerifyRow>& rows, const Session& s) {
  std::string out = fmt::format("{:<20} {:>10} {:>10} {:>9}\n", "engine", "an image", "error", "bound");
  for (const driver::VerifyRow& r : rows) {
    const std::string name = r.engine == "aot-cuda" ? "aot-cuda (emulated)" : r.engine;
    if (r.verdict() == driver::Verdict::kSkipped) {
      out += fmt::format("{:<20} skipped: {}\n", name, r.skipped);
      continue;
    }
    out +=
        fmt::format("{:<20} {:>10} {:>10.2g} {:>9.2g}  {}\n", name, fmt::format("{:.2f} ms", r.seconds * 1e3),
                    r.worst.error, r.worst.bound, r.ok ? what_it_is(r.engine) : r.trouble());
  }
  s.print(out);
}

// The digits, side by side on every engine: the rows of the table add up the times and keep
// the worst errors.
void classify(const driver::Model& model, const Tensor& images, const Tensor& labels, int64_t count,
              Session& s, const std::string& libraries, std::vector<driver::VerifyRow>& total) {
  int64_t right = 0;
  std::optional<Progress> progress(std::in_place, s, "verify");
  driver::Verifier verifier(model, {.levels = {2}, .libraries = libraries},
                            [&](std::string_view now) { progress->step(now); });
  for (int64_t k = 0; k < count; ++k) {
    if (!progress) progress.emplace(s, "verify");
    const int64_t i = k * labels.size() / count;  // they are in order: as many different ones as there can be
    const std::vector<driver::VerifyRow> rows = verifier.run({image_value(images, i)});
    progress.reset();
    std::set<int64_t> seen;
    for (size_t r = 0; r < rows.size(); ++r) {
      const driver::VerifyRow& row = rows[r];
      if (row.result) seen.insert(best_class(passes::tensors_of(row.result)[0]));
      if (k == 0) {
        total.push_back(row);
        continue;
      }
      total[r].seconds += row.seconds;
      total[r].ok &= row.ok;
      if (row.worst.needed > total[r].worst.needed) total[r].worst = row.worst;
    }
    const bool agree = seen.size() == 1 && *seen.begin() == labels.get_int(i);
    right += agree;
    s.print(cat(picture(images, i), "  a ", labels.get_int(i),
                agree ? ": every engine sees it\n\n" : cat(": engines see ", join(seen, ", "), "\n\n")));
  }
  for (driver::VerifyRow& row : total) row.seconds /= static_cast<double>(count);
  s.print(cat(right, " of ", count,
              " digits are right on every engine. Errors are against the interpreter in float64.\n\n"));
}

void show_what_next(const Session& s) {
  s.print(
      "\nWith a model of your own:\n\n"
      "  relay check model.onnx                              what it takes and gives, and which engines take "
      "it\n"
      "  relay verify model.onnx                             the same table for it\n"
      "  relay compile model.onnx --emit python -o net.py    then, in Python: import net; net.run(x)\n");
}

// Libraries that the build has made, so that nothing is compiled here.
std::string kept_libraries() {
  const char* root = std::getenv("RELAY_ROOT");
  const std::string folder = std::string(root && *root ? root : ".") + "/bazel-bin/examples/models/demo";
  std::error_code error;
  return std::filesystem::is_directory(folder, error) ? folder : "";
}

// Makes these libraries: what the build runs.
void prepare(const std::string& folder, Session& s) {
  Result<driver::Model> model = load_model({.path = examples() + "/model.onnx", .input_shapes = {}}, s);
  if (!model) return;
  for (const char* name : {"aot-cpp", "aot-cuda"}) {
    const driver::Prepared p = driver::find_engine(name)->prepare(model->module, model->function,
                                                                  {.opt_level = 2, .libraries = folder});
    if (!p.run) s.fail(kUnsupported, p.skipped);
  }
}

struct Example {
  driver::Model model;
  Tensor images, labels;
};

// The trained model with its images. Reports what is missing, and then returns nullopt.
std::optional<Example> read_example(Session& s) {
  const std::string folder = examples();
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    s.fail(kUsage,
           cat("there is no folder ", folder, ": call ./relay of the checkout, or set RELAY_ROOT to it"));
    return std::nullopt;
  }
  Result<driver::Model> model = load_model({.path = folder + "/model.onnx", .input_shapes = {}}, s);
  if (!model) return std::nullopt;
  Diagnostics diagnostics;
  Result<frontend::data::NamedTensors> digits =
      frontend::data::read_tensors(folder + "/digits", frontend::data::Role::kInput, {}, diagnostics);
  if (!digits || digits->size() != 2) {
    s.fail(diagnostics, model->module.context().sources());
    return std::nullopt;
  }
  return Example{std::move(*model), (*digits)[0].value, (*digits)[1].value};
}

void run(int64_t count, Session& s) {
  const std::optional<Example> example = read_example(s);
  if (!example) return;
  s.print(cat("MNIST, a small convolutional network from ", examples(), "/model.onnx\n\n"));
  std::vector<driver::VerifyRow> rows;
  classify(example->model, example->images, example->labels, std::min(count, example->labels.size()), s,
           kept_libraries(), rows);
  show_table(rows, s);
  show_what_next(s);
  for (const driver::VerifyRow& r : rows) {
    if (!r.ok) s.exit_code = kMismatch;
  }
}

// The first digit, at every stage of the model (tools/page/page.h).
void write_page(const std::string& file, Session& s) {
  const std::optional<Example> example = read_example(s);
  if (!example || !spares_inputs(std::vector{file}, example->model.files, s)) return;
  if (std::string wrong = cannot_write(file); !wrong.empty()) {
    s.fail(kLimit, wrong);
    return;
  }
  const Result<Lineage> lineage = lineage_of(example->model, s);
  if (!lineage) return;
  const Value image = image_value(example->images, 0);
  const std::optional<Figures> figures = figures_of(example->model, *lineage, passes::tensors_of(image), s);
  if (!figures) return;
  PageContents contents{"MNIST, a small convolutional network, at every stage", {}};
  contents.picture = {kSide, {}, cat("a ", example->labels.get_int(0), " from the test set")};
  for (int64_t i = 0; i < kSide * kSide; ++i) contents.picture.pixels.push_back(example->images.get(i));
  if (std::string wrong = write_file_atomically(file, page_of(contents, *lineage, *figures));
      !wrong.empty()) {
    s.fail(kLimit, wrong);
    return;
  }
  s.say(cat("wrote ", file, ": open it in a browser\n"));
  if (!figures->ok) s.exit_code = kMismatch;
}

}  // namespace

void add_demo(Command app, Session& session) {
  auto images = std::make_shared<int64_t>(4);
  Command sub = app.command("demo", "run a trained model on every engine and compare");
  sub.option("--images", images.get(), "digits to look at").check(count(1, 100)).shows_default();
  auto page = std::make_shared<std::string>();
  sub.option("--page", page.get(),
             "write one HTML file instead, by default demo.html: the model as nodes, program, loops, "
             "C++ and assembly side by side, linked line by line, with each kernel's error and time")
      .expects(0, 1)
      .kind("[FILE]");
  auto folder = std::make_shared<std::string>();
  sub.option("--prepare", folder.get(), "").hidden();  // for the build alone
  sub.action([sub, images, page, folder, &session] {
    if (sub.given("--page")) {
      write_page(page->empty() ? "demo.html" : *page, session);
    } else if (folder->empty()) {
      run(*images, session);
    } else {
      prepare(*folder, session);
    }
  });
}

}  // namespace relay::tools
