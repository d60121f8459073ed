#include "tests/golden/vta.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "base/cat.h"
#include "vta/compile/compile.h"
#include "vta/isa/encode.h"
#include "vta/isa/text.h"
#include "vta/simulator_driver.h"

namespace relay::tests {
namespace {

using namespace vta;

// The text of a section that a test may leave out.
std::string_view section_or(const tools::TestFile& file, std::string_view section,
                            std::string_view otherwise) {
  const std::string* found = file.find(section);
  return found ? std::string_view(*found) : otherwise;
}

Result<Layout> layout_of(const tools::TestFile& file, Diagnostics& d) {
  const Result<Params> params = read_params(section_or(file, "config", "{}"), d);
  return params ? Layout::make(*params, d) : Result<Layout>(kReported);
}

uint32_t add_source(const tools::TestFile& file, std::string_view section, SourceMap& sources) {
  EXPECT_TRUE(file.find(section)) << file.path << ": has no section `" << section << "`";
  return sources.add(std::filesystem::path(file.path).filename(), std::string(section_or(file, section, "")));
}

// A number of the test, which is at fault if it is none.
int64_t number_of(const std::string& word) {
  size_t end = 0;
  int64_t value = 0;
  try {
    value = std::stoll(word, &end, 0);
  } catch (const std::exception&) {
    end = std::string::npos;
  }
  EXPECT_EQ(end, word.size()) << "`" << word << "` is not a number";
  return value;
}

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// --- simulate

// "bytes: uop 4, inp 32", of the counts that are not zero.
template <class Name, class Counts>
std::string shown(std::string_view what, const Counts& counts) {
  std::vector<std::string> parts;
  for (size_t k = 0; k < counts.size(); ++k) {
    if (counts[k]) parts.push_back(cat(name_of(static_cast<Name>(k)), " ", counts[k]));
  }
  return parts.empty() ? "" : cat(what, ": ", join(parts, ", "), "\n");
}

std::string shown(const Counters& c) {
  return cat(shown<Engine>("instructions", c.instructions), "micro-ops: gemm ", c.gemm, ", reset ", c.reset,
             ", alu ", c.alu, "\n", shown<Memory>("bytes", c.bytes));
}

class Host {
 public:
  Host(SimulatorDriver& driver, const Stream& stream, Diagnostics& d)
      : driver_(driver), stream_(stream), d_(d) {}

  // Executes one line, and returns what it shows.
  std::string line(const std::string& text) {
    const std::vector<std::string> words = words_of(text);
    if (words.empty()) return "";
    std::vector<uint64_t> numbers;
    for (size_t i = 1; i < words.size(); ++i) numbers.push_back(static_cast<uint64_t>(number_of(words[i])));
    const auto is = [&](std::string_view call, size_t count) {
      return words[0] == call && numbers.size() == count;
    };
    if (is("run", 0)) return run();
    if (is("read", 2)) return read(numbers[0], numbers[1]);
    if (is("allocate", 1)) {
      (void)driver_.allocate(numbers[0], d_);
    } else if (is("free", 1)) {
      driver_.free(numbers[0], d_);
    } else if (words[0] == "write" && numbers.size() > 1) {
      driver_.write(numbers[0], std::vector<uint8_t>(numbers.begin() + 1, numbers.end()), d_);
    } else {
      ADD_FAILURE() << "no host program has the line `" << text << "`";
    }
    return "";
  }

 private:
  std::string run() { return run_stream(driver_, stream_.instructions, d_) ? shown(driver_.counters()) : ""; }

  std::string read(uint64_t address, uint64_t count) {
    std::vector<uint8_t> bytes(count);
    if (!driver_.read(address, bytes, d_)) return "";
    return cat("read: ", join(bytes, " ", [](uint8_t b) { return std::to_string(b); }), "\n");
  }

  SimulatorDriver& driver_;
  const Stream& stream_;
  Diagnostics& d_;
};

// --- layer

template <class Record>
struct Named {
  std::string_view name;
  int64_t Record::* member;
};
constexpr Named<Layer> kLayerNumbers[] = {{"batch", &Layer::batch},
                                          {"in_channels", &Layer::in_channels},
                                          {"out_channels", &Layer::out_channels},
                                          {"groups", &Layer::groups}};
constexpr Named<Axis> kAxisNumbers[] = {
    {"size", &Axis::size},         {"window", &Axis::window},         {"stride", &Axis::stride},
    {"dilation", &Axis::dilation}, {"pad_before", &Axis::pad_before}, {"pad_after", &Axis::pad_after},
    {"out_pad", &Axis::out_pad}};
constexpr std::string_view kKinds[] = {"product", "transposed", "max_pool", "sum_pool", "elementwise"};
constexpr AluOp kOps[] = {AluOp::kMin, AluOp::kMax, AluOp::kAdd, AluOp::kShr, AluOp::kMul};

// The words after the first one are `name=number`.
template <class Rows, class Record>
void set_numbers(const Rows& rows, const std::vector<std::string>& words, Record& record) {
  for (size_t i = 1; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const auto row = std::find_if(std::begin(rows), std::end(rows),
                                  [&](const auto& r) { return r.name == words[i].substr(0, equals); });
    if (equals == std::string::npos || row == std::end(rows)) {
      ADD_FAILURE() << "`" << words[0] << "` has no `" << words[i] << "`";
      continue;
    }
    record.*row->member = number_of(words[i].substr(equals + 1));
  }
}

LayerStep step_of(const std::vector<std::string>& words, const Origin& origin) {
  LayerStep out = {.origin = origin};
  const auto op = std::find_if(std::begin(kOps), std::end(kOps),
                               [&](AluOp candidate) { return name_of(candidate) == words[0]; });
  if (op == std::end(kOps) || words.size() != 2) {
    ADD_FAILURE() << "`" << words[0] << "` is no step with one operand";
    return out;
  }
  out.op = *op;
  if (words[1] == "channel") {
    out.operand = OperandKind::kChannel;
  } else if (words[1] == "tensor") {
    out.operand = OperandKind::kTensor;
  } else {
    out.immediate = number_of(words[1]);
  }
  return out;
}

Layer layer_of(const std::string& text, uint32_t file) {
  Layer out;
  std::istringstream in(text);
  uint32_t begin = 0;
  for (std::string line; std::getline(in, line); begin += static_cast<uint32_t>(line.size()) + 1) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    const Origin origin = {words[0], {file, begin, begin + static_cast<uint32_t>(line.size())}};
    const auto kind = std::find(std::begin(kKinds), std::end(kKinds), words[0]);
    if (kind != std::end(kKinds)) {
      out.kind = static_cast<LayerKind>(kind - std::begin(kKinds));
      out.origin = origin;
      set_numbers(kLayerNumbers, words, out);
    } else if (words[0] == "rows" || words[0] == "columns") {
      set_numbers(kAxisNumbers, words, words[0] == "rows" ? out.rows : out.columns);
    } else {
      out.steps.push_back(step_of(words, origin));
    }
  }
  return out;
}

// Zeros, as many as the layer has.
LayerConstants zeros_for(const Layer& layer) {
  LayerConstants out;
  out.weights.resize(static_cast<size_t>(weight_shape(layer).size()));
  for (const LayerStep& step : layer.steps) {
    const bool constant = step.operand == OperandKind::kChannel;
    out.channels.emplace_back(constant ? static_cast<size_t>(layer.out_channels) : 0);
  }
  return out;
}

}  // namespace

std::string simulate_text(const Command& c, const tools::TestFile& file, SourceMap& sources, Diagnostics& d) {
  const Result<Layout> layout = layout_of(file, d);
  if (!layout) return "";
  const Result<Stream> stream = assemble(*layout, sources, add_source(file, "assembly", sources), d);
  if (!stream) return "";
  SimulatorOptions options;
  options.most_operations = c.number("operations", options.most_operations);
  SimulatorDriver driver(*layout, options);
  const Result<std::vector<uint8_t>> micro_ops =
      encode(*layout, std::span<const MicroOp>(stream->micro_ops), d);
  if (!micro_ops || (!micro_ops->empty() && !upload(driver, *micro_ops, d))) return "";
  Host host(driver, *stream, d);
  std::istringstream program{std::string(section_or(file, "host", "run"))};
  std::string out;
  for (std::string line; std::getline(program, line);) out += host.line(line);
  return out;
}

std::string layer_text(const Command& c, const tools::TestFile& file, SourceMap& sources, Diagnostics& d) {
  const Result<Layout> layout = layout_of(file, d);
  if (!layout) return "";
  const uint32_t source = add_source(file, "layer", sources);
  const Layer layer = layer_of(std::string(sources.text(source)), source);
  if (!check_layer(layer, layout->params(), d)) return "";
  ScheduleOptions options;
  if (c.options.contains("threads")) options.threads = static_cast<int>(c.number("threads", 0));
  const Result<LayerCode> code = compile_layer(layer, zeros_for(layer), *layout, options, d);
  return code ? listing(*code, sources) : "";
}

}  // namespace relay::tests
