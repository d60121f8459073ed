#include "tests/fuzz/readers.h"

#include <cstring>

#include "base/cat.h"
#include "base/diagnostics.h"
#include "frontend/data/npy.h"
#include "frontend/data/npz.h"
#include "frontend/data/onnx_tensor.h"
#include "frontend/data/params.h"
#include "frontend/data/safetensors.h"
#include "frontend/graph/import.h"
#include "frontend/onnx/import.h"
#include "ir/analysis.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "op/operators.h"
#include "pattern/text.h"
#include "tests/fuzz/run_program.h"
#include "tests/fuzz/vta.h"
#include "typecheck/check.h"

namespace relay::fuzz {
namespace {

using Kind = Outcome::Kind;

Outcome wrong(std::string what) { return {Kind::kWrong, std::move(what)}; }

Outcome read_text(std::string_view bytes) {
  Diagnostics diagnostics;
  ParseOptions options;
  const SourceMap& sources = options.into.context().sources();
  const Result<Module> m = parse("fuzz.relay", std::string(bytes), diagnostics, op::operators(), options);
  if (!m) return judge(false, diagnostics, sources);
  if (Outcome parsed = judge(true, diagnostics, sources); parsed.kind != Kind::kAccepted) return parsed;
  if (const std::vector<std::string> faults = well_formed(*m); !faults.empty())
    return wrong("the module is not well formed: " + faults.front());

  // What was read is printed, and what is printed is read.
  const Operators operators = op::operators();
  PrintOptions print_options;
  print_options.operators = &operators;
  const std::string printed = print(*m, print_options);
  ParseOptions again_options;
  const Result<Module> again = parse("printed", printed, diagnostics, operators, again_options);
  if (!again)
    return wrong("what it prints cannot be read:\n" +
                 diagnostics.render(again_options.into.context().sources()));
  if (!alpha_equal(*m, *again))
    return wrong(cat("what it prints is another module:\n", printed, "\n", print(*again, print_options)));

  const Result<Module> checked = typecheck::check(*m, diagnostics);
  return judge(checked.ok(), diagnostics, sources);
}

// The text is read, printed and read back, and then it is run.
Outcome read_and_run(std::string_view bytes) {
  Outcome read = read_text(bytes);
  return read.kind == Kind::kAccepted ? run_text(bytes) : read;
}

Outcome read_pattern(std::string_view bytes) {
  Diagnostics diagnostics;
  const ParseOptions options;
  const Result<pattern::Pattern> p = pattern::parse("fuzz", std::string(bytes), diagnostics, options);
  Outcome read = judge(p.ok(), diagnostics, options.into.context().sources());
  if (read.kind != Kind::kAccepted) return read;
  const std::string printed = pattern::print(*p);
  const ParseOptions again_options;
  const Result<pattern::Pattern> again = pattern::parse("printed", printed, diagnostics, again_options);
  if (!again)
    return wrong("what it prints cannot be read:\n" +
                 diagnostics.render(again_options.into.context().sources()));
  if (pattern::print(*again) != printed)
    return wrong(cat("what it prints is another pattern:\n", printed, "\n", pattern::print(*again)));
  return read;
}

// What a module is like that was made of something else than its text.
Outcome judge_imported(const Result<Module>& m, Diagnostics& diagnostics, const SourceMap& sources) {
  if (Outcome imported = judge(m.ok(), diagnostics, sources); imported.kind != Kind::kAccepted)
    return imported;
  if (const std::vector<std::string> faults = well_formed(*m); !faults.empty())
    return wrong("the module is not well formed: " + faults.front());
  const Result<Module> checked = typecheck::check(*m, diagnostics);
  return judge(checked.ok(), diagnostics, sources);
}

Outcome read_model(std::string_view bytes) {
  Diagnostics diagnostics;
  const Module empty;
  const SourceMap& sources = empty.context().sources();
  const Result<Module> m = frontend::import_onnx(bytes, "fuzz.onnx", nullptr, empty, {}, diagnostics);
  return judge_imported(m, diagnostics, sources);
}

Outcome read_graph(std::string_view bytes) {
  Diagnostics diagnostics;
  const Module empty;
  const SourceMap& sources = empty.context().sources();
  const Result<frontend::Graph> graph = frontend::parse_graph(bytes, "fuzz.json", {}, diagnostics);
  if (!graph) return judge(false, diagnostics, sources);

  // What was read is written, and what is written is read.
  const Result<std::string> text = frontend::graph_text(*graph, diagnostics);
  const Result<frontend::Graph> again =
      text ? frontend::parse_graph(*text, "written", {}, diagnostics) : kReported;
  const Result<std::string> twice = again ? frontend::graph_text(*again, diagnostics) : kReported;
  if (!twice || *twice != *text)
    return wrong("what it writes cannot be read:\n" + diagnostics.render(sources));

  const Result<Module> m = frontend::import_graph({*graph, {}}, "fuzz.json", empty, {}, diagnostics);
  return judge_imported(m, diagnostics, sources);
}

// --- readers of tensors

template <class Read>
Outcome read_data(const Read& read) {
  Diagnostics diagnostics;
  const auto result = read(diagnostics);
  return judge(result.ok(), diagnostics, {});
}

Outcome read_npy(std::string_view bytes) {
  return read_data([&](Diagnostics& d) { return frontend::data::parse_npy(bytes, "fuzz.npy", d); });
}
Outcome read_npz(std::string_view bytes) {
  return read_data([&](Diagnostics& d) { return frontend::data::parse_npz(bytes, "fuzz.npz", {}, d); });
}
Outcome read_safetensors(std::string_view bytes) {
  return read_data(
      [&](Diagnostics& d) { return frontend::data::parse_safetensors(bytes, "fuzz.safetensors", {}, d); });
}
Outcome read_params(std::string_view bytes) {
  return read_data([&](Diagnostics& d) { return frontend::data::parse_params(bytes, "fuzz.params", {}, d); });
}
Outcome read_tensor(std::string_view bytes) {
  return read_data([&](Diagnostics& d) { return frontend::data::parse_onnx_tensor(bytes, "fuzz.pb", d); });
}

// --- mutations that keep the outer structure

// Elements that are as many as before, or about as many.
std::string mutate_payload(std::string payload, Random& random) {
  if (random.one_in(4))
    payload.resize(payload.size() + random.below(9) - std::min(payload.size(), random.below(9)));
  return payload;
}

// "\x93NUMPY", version, length of the header, header, elements
std::string mutate_npy(const std::string& seed, const Seeds& seeds, Random& random) {
  constexpr size_t kPrefix = 10;
  const auto header_of = [](const std::string& npy) {
    const size_t length =
        static_cast<unsigned char>(npy[8]) | static_cast<unsigned>(static_cast<unsigned char>(npy[9])) << 8;
    return npy.substr(kPrefix, length);
  };
  const std::string old = header_of(seed);
  const std::string header = mutate_text(old, {header_of(random.of(seeds))}, random);
  const size_t length = header.size() & 0xffff;
  return cat(seed.substr(0, 8), static_cast<char>(length & 255), static_cast<char>(length >> 8), header,
             mutate_payload(seed.substr(kPrefix + old.size()), random));
}

// Eight bytes of length, header, elements
std::string mutate_safetensors(const std::string& seed, const Seeds& seeds, Random& random) {
  const auto header_of = [](const std::string& file) {
    uint64_t length = 0;
    std::memcpy(&length, file.data(), 8);
    return file.substr(8, length);
  };
  const std::string old = header_of(seed);
  const std::string header = mutate_text(old, {header_of(random.of(seeds))}, random);
  const uint64_t length = header.size();
  return cat(std::string(reinterpret_cast<const char*>(&length), 8), header,
             mutate_payload(seed.substr(8 + old.size()), random));
}

// A word of the file becomes another small number: a length, a count, a dtype, an extent.
std::string mutate_params(const std::string& seed, const Seeds&, Random& random) {
  constexpr int kNumbers[] = {0, 1, 2, 3, 4, 6, 8, 16, 32, 64, 65, 127, 128, 255};
  std::string out = seed;
  constexpr size_t kMagic = 8;
  for (size_t n = 1 + random.below(3); n > 0; --n)
    out[kMagic + random.below(out.size() - kMagic)] = static_cast<char>(random.of(kNumbers));
  return out;
}

// A sound archive of entries that may not be: seeds are of no use, since their
// checksums would be wrong.
std::string mutate_npz(const std::string&, const Seeds&, Random& random) {
  constexpr std::string_view kNames[] = {"x.npy", "y.npy", "x.npy", "a/b:0.npy",  "../x.npy",
                                         ".npy",  "x",     "x.txt", "\x1b[1m.npy"};
  std::vector<std::pair<std::string, std::string>> entries;
  for (size_t n = random.below(4); n > 0; --n) {
    const Seeds& npy = npy_seeds();
    std::string bytes = random.of(npy);
    if (random.one_in(3)) bytes = mutate_npy(bytes, npy, random);
    if (random.one_in(6)) bytes += std::string(size_t{1} << random.below(20), '\0');
    entries.emplace_back(random.of(kNames), std::move(bytes));
  }
  return archive_of(entries, random.one_in(2));
}

std::string mutate_tensor(const std::string& seed, const Seeds& seeds, Random& random) {
  static const std::vector<std::string> kWords{"location", "offset",      "length",
                                               "checksum", "/etc/passwd", "w"};
  return mutate_message(seed, seeds, kWords, random);
}

// The operators' names, without versions.
const std::vector<std::string>& model_words() {
  static const std::vector<std::string> words = [] {
    std::vector<std::string> out{
        "axis",       "axes",      "to",       "perm",        "pads",        "strides", "kernel_shape",
        "group",      "dilations", "value",    "then_branch", "else_branch", "body",    "auto_pad",
        "SAME_UPPER", "mode",      "keepdims", "equation",    "batch",       "ai.onnx", "\x1b[31m"};
    for (const frontend::ImportableOperator& op : frontend::importable_operators()) out.push_back(op.name);
    return out;
  }();
  return words;
}
std::string mutate_model(const std::string& seed, const Seeds& seeds, Random& random) {
  return mutate_message(seed, seeds, model_words(), random);
}

}  // namespace

const std::vector<Reader>& readers() {
  static const std::vector<Reader> all{
      {"relay", program_seeds, mutate_text, read_text},
      {"kernel", kernel_seeds, mutate_text, read_text},
      {"metadata", metadata_seeds, mutate_text, read_text},
      {"pattern", pattern_seeds, mutate_text, read_pattern},
      {"npy", npy_seeds, mutate_npy, read_npy},
      {"npz", npz_seeds, mutate_npz, read_npz},
      {"safetensors", safetensors_seeds, mutate_safetensors, read_safetensors},
      {"params", params_seeds, mutate_params, read_params},
      {"graph", graph_seeds, mutate_text, read_graph},
      {"onnx", model_seeds, mutate_model, read_model},
      {"onnx-tensor", tensor_seeds, mutate_tensor, read_tensor},
      {"vta-config", vta_config_seeds, mutate_text, read_vta_config},
      {"vta-assembly", vta_assembly_seeds, mutate_text, read_vta_assembly},
      {"vta-stream", vta_stream_seeds, mutate_vta_stream, read_vta_stream},
      // What is read is also checked and run.
      {"run", function_seeds, mutate_program, run_text, false},
      {"names", function_seeds, mutate_names, read_and_run, false},
      {"deep", function_seeds, mutate_depth, read_and_run, false, {.memory_mib = 2048, .cpu_seconds = 10}},
      {"run-onnx", runnable_model_seeds, mutate_onnx, run_model, false},
      {"run-graph", graph_seeds, mutate_text, run_graph},
  };
  return all;
}

const Reader* find_reader(std::string_view name) {
  for (const Reader& r : readers()) {
    if (r.name == name) return &r;
  }
  return nullptr;
}

std::string mutation(const Reader& reader, uint64_t seed, uint64_t index) {
  uint64_t state = seed;
  for (char c : reader.name) state = Random(state ^ static_cast<unsigned char>(c)).next();
  Random random(state ^ Random(index).next());
  const Seeds& seeds = reader.seeds();
  const std::string& sound = random.of(seeds);
  // Bytes for what a disk or a network may do, structure for what gets further.
  const size_t how = reader.bytes ? random.below(8) : 3;
  if (how < 2) return mutate_bytes(sound, seeds, random);
  std::string out = reader.mutate(sound, seeds, random);
  return how == 2 ? mutate_bytes(std::move(out), seeds, random) : out;
}

}  // namespace relay::fuzz
