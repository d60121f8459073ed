// relay demo: a trained model from its file to the same answer on every engine.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>

#include "base/cat.h"
#include "frontend/data/inputs.h"
#include "passes/reference.h"
#include "tools/model.h"
#include "tools/option_values.h"
#include "tools/session.h"
#include "tools/verify/verifier.h"

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

// All digits, each on every engine: the rows of the table add up the times and keep the worst errors.
void classify(const Model& model, const Tensor& images, const Tensor& labels, int64_t count, Session& s,
              std::vector<VerifyRow>& total) {
  int64_t right = 0;
  Verifier verifier(model, {.levels = {2}}, s);
  for (int64_t i = 0; i < count; ++i) {
    const std::vector<VerifyRow> rows = verifier.run({image_value(images, i)});
    std::string seen;
    for (size_t r = 0; r < rows.size(); ++r) {
      const VerifyRow& row = rows[r];
      if (row.result)
        seen +=
            cat(seen.empty() ? "" : ", ", row.label(), ": ", best_class(passes::tensors_of(row.result)[0]));
      if (i == 0) {
        total.push_back(row);
        continue;
      }
      total[r].seconds += row.seconds;
      total[r].ok &= row.ok;
      if (row.worst.needed > total[r].worst.needed) total[r].worst = row.worst;
    }
    const int64_t digit = best_class(passes::tensors_of(rows.front().result)[0]);
    right += digit == labels.get_int(i);
    s.print(cat(picture(images, i), "  a ", labels.get_int(i), "; seen as ", seen, "\n\n"));
  }
  for (VerifyRow& row : total) row.seconds /= static_cast<double>(count);
  s.print(cat(right, " of ", count,
              " digits are right. Time is per image; errors are against the interpreter in float64.\n\n"));
}

void run(int64_t count, Session& s) {
  const std::string folder = examples();
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    s.fail(kUsage,
           cat("there is no folder ", folder, ": call ./relay of the checkout, or set RELAY_ROOT to it"));
    return;
  }
  Result<Model> model = load_model({.path = folder + "/model.onnx", .input_shapes = {}}, s);
  if (!model) return;
  Diagnostics diagnostics;
  Result<data::NamedTensors> digits =
      data::read_tensors(folder + "/digits", data::Role::kInput, {}, diagnostics);
  if (!digits || digits->size() != 2) {
    s.fail(diagnostics, model->module.context().sources());
    return;
  }
  const Tensor& images = (*digits)[0].value;
  const Tensor& labels = (*digits)[1].value;
  s.print(cat("MNIST, a small convolutional network from ", folder, "/model.onnx\n\n"));
  std::vector<VerifyRow> rows;
  classify(*model, images, labels, std::min(count, labels.size()), s, rows);
  s.print(show(rows));
  for (const VerifyRow& r : rows) {
    if (!r.ok) s.exit_code = kMismatch;
  }
}

}  // namespace

void add_demo(CLI::App& app, Session& session) {
  auto images = std::make_shared<int64_t>(4);
  CLI::App* sub = app.add_subcommand("demo", "run a trained model on every engine and compare");
  sub->add_option("--images", *images, "digits to look at")->transform(count(1, 100))->capture_default_str();
  sub->callback([images, &session] { run(*images, session); });
}

}  // namespace relay::tools
