#include "tests/support/joined_artifacts.h"

#include <algorithm>
#include <set>

#include "aot/build.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/escape.h"
#include "kernel/print/prelude.h"
#include "toolchain/compiler.h"

namespace relay::tests {
namespace {

constexpr size_t kWeightsAlignment = 64;

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

std::string unquoted(const std::string& literal) { return literal.substr(1, literal.size() - 2); }

class Joiner {
 public:
  explicit Joiner(const kernel::print::Dialect& dialect)
      : prelude_(kernel::print::prelude(dialect)), gpu_(dialect.has_grid()) {}

  void add(const aot::Sources& artifact) {
    std::string header, declarations, kernels, model;
    for (const aot::SourceFile& f : artifact.files) {
      if (f.name == "dlpack.h") {
        dlpack_ = f.text;
      } else {
        std::string& part = f.name == "relay.h"              ? header
                            : f.name == "kernels.h"          ? declarations
                            : f.name.starts_with("kernels_") ? kernels
                                                             : model;
        part += without_prelude(f.text);
      }
    }
    // An artifact of one file begins with its kernels.
    const size_t begins = model.find("#include \"relay.h\"");
    CHECK(begins != std::string::npos, "the model's source includes relay.h");
    kernels += model.substr(0, begins);
    model.erase(0, begins);
    const size_t number = count_++;
    const std::string begin =
        cat("#undef RELAY_RUNTIME_RELAY_H_\n#undef RELAY_RUNTIME_DENORMALS_H_\n",
            "#undef RELAY_BASE_USABLE_CORES_H_\n#undef RELAY_KERNELS_H_\n",
            gpu_ ? "#undef RELAY_PARALLEL_DECLARED\n" : "", "namespace artifact_", number, " {\n");
    kernels_ += cat(begin, alone(declarations + kernels, artifact, number), "}\n");
    model_ += cat(begin, alone(header + declarations + model, artifact, number),
                  "}\nextern \"C\" __attribute__((visibility(\"default\"))) const void* ",
                  joined_entry(number), "() { return artifact_", number, "::relay_get_api(); }\n");
    weights_ += artifact.weights.text();
    weights_.resize((weights_.size() + kWeightsAlignment - 1) / kWeightsAlignment * kWeightsAlignment);
  }

  aot::Sources run() {
    std::string shared = gpu_ ? "#include \"cuda_emulation.h\"\n" : "";
    for (const std::string& line : includes_) shared += line + "\n";
    shared += "#include \"dlpack.h\"\n";
    aot::Sources out;
    out.weights = std::move(weights_);
    out.files.push_back({"dlpack.h", dlpack_});
    const std::string_view end = gpu_ ? ".cu" : ".cc";
    const std::optional<target::Target> target =
        gpu_ ? std::nullopt : std::optional(target::target_of("native"));
    out.files.push_back({cat("kernels_0", end), shared + prelude_ + kernels_, target});
    out.files.push_back({cat("model", end), shared + (gpu_ ? "" : prelude_) + model_, target});
    return out;
  }

 private:
  std::string without_prelude(std::string text) const {
    for (size_t at; (at = text.find(prelude_)) != std::string::npos;) text.erase(at, prelude_.size());
    return text;
  }

  // The text without includes, and with names of its own for what no namespace keeps apart.
  std::string alone(const std::string& text, const aot::Sources& artifact, size_t number) {
    std::string out;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string line = text.substr(begin, end - begin);
      begin = end + 1;
      // The emulation stands in the place of CUDA.
      if (line.starts_with("#include <") && line != "#include <cuda_runtime.h>") includes_.insert(line);
      if (!line.starts_with("#include") && line != "#pragma once") out += line + "\n";
    }
    const std::string weights = cat("relay_weights_begin_", number);
    replace_all(out, "relay_weights_begin", weights);
    replace_all(out, "extern \"C\"", "extern \"C++\"");
    // This one is defined in assembly.
    const std::string_view declared =
        " __attribute__((visibility(\"hidden\"))) const unsigned char relay_weights";
    replace_all(out, cat("extern \"C++\"", declared), cat("extern \"C\"", declared));
    // As aot::embed_weights writes it.
    const std::string whole = cat(".incbin ", c_string(aot::kWeightsSource));
    const std::string part = cat(whole, ", ", weights_.size(), ", ", artifact.weights.size());
    replace_all(out, unquoted(c_string(whole)), unquoted(c_string(part)));
    return out;
  }

  const std::string prelude_;
  const bool gpu_;
  size_t count_ = 0;
  std::set<std::string> includes_;
  std::string kernels_, model_, weights_, dlpack_;
};

}  // namespace

aot::Sources joined(std::span<const aot::Sources* const> artifacts, const kernel::print::Dialect& dialect) {
  Joiner joiner(dialect);
  for (const aot::Sources* artifact : artifacts) joiner.add(*artifact);
  return joiner.run();
}

std::string build_unoptimised(const aot::Sources& sources, const std::string& library) {
  Diagnostics diagnostics;
  toolchain::CompileOptions compile;
  compile.opt_level = 0;
  compile.compile_flags = {"-O0", "-w"};
  return aot::build(sources, aot::Weights::kEmbedded, compile, library, diagnostics) ? std::string()
                                                                                     : diagnostics.render({});
}

std::string joined_entry(size_t i) { return cat("relay_get_api_", i); }

}  // namespace relay::tests
