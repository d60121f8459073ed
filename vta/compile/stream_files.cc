#include "vta/compile/stream_files.h"

#include "base/cat.h"
#include "base/integers.h"
#include "vta/compile/pack.h"
#include "vta/isa/encode.h"

namespace relay::vta {
namespace {

constexpr uint64_t kFirstAddress = 0x1000;
constexpr int64_t kPage = 4096;

bool has_files(const LayerCode& code, Diagnostics& d) {
  for (size_t i = 0; i < code.instructions.size(); i++) {
    if (code.instructions[i].memory != Memory::kAcc8) continue;
    const Origin& origin = code.origins[static_cast<size_t>(code.lines[i].origin)];
    d.error(origin.span, "vta-layer",
            cat(origin.name.empty() ? "" : cat("`", origin.name, "`: "),
                "it reads a tensor of 8 bits as accumulators, and streams in files have no file for it"));
    return false;
  }
  return true;
}

}  // namespace

Result<std::vector<StreamFile>> stream_files(const LayerCode& code, std::span<const int8_t> input,
                                             std::span<const uint8_t> result, const Layout& layout,
                                             Diagnostics& d) {
  if (!has_files(code, d)) return kReported;
  const Params& params = layout.params();
  StreamFile in = {"input.bin", pack_tensor(code.input, input, params)};
  StreamFile weight = {"weight.bin", code.contents[buffers::kWeights]};
  StreamFile out = {"expected_out.bin", {result.begin(), result.end()}};
  StreamFile uop = {"uop.bin", code.contents[buffers::kMicroOps]};
  StreamFile acc = {"accumulator.bin", {}};
  std::vector<uint64_t> addresses(code.contents.size());
  for (size_t k = buffers::kSteps; k < addresses.size(); k++) {
    addresses[k] = acc.bytes.size();  // in the file
    acc.bytes.insert(acc.bytes.end(), code.contents[k].begin(), code.contents[k].end());
  }
  uint64_t next = kFirstAddress;
  const auto place = [&](const StreamFile& file) {
    const uint64_t at = next;
    next += static_cast<uint64_t>(ceil_div(std::ssize(file.bytes), kPage) * kPage);
    return at;
  };
  addresses[buffers::kInput] = place(in);
  addresses[buffers::kWeights] = place(weight);
  addresses[buffers::kOutput] = place(out);
  addresses[buffers::kMicroOps] = place(uop);
  const uint64_t accumulators = place(acc);
  for (size_t k = buffers::kSteps; k < addresses.size(); k++) addresses[k] += accumulators;
  const std::vector<Instruction> stream = link(code, addresses, params);
  const Result<std::vector<uint8_t>> instructions = encode(layout, std::span<const Instruction>(stream), d);
  if (!instructions) return kReported;
  const std::string config = write_params(params);
  std::vector<StreamFile> files;
  files.push_back({"instructions.bin", *instructions});
  for (StreamFile* file : {&uop, &in, &weight, &acc, &out}) files.push_back(std::move(*file));
  files.push_back({"vta_config.json", {config.begin(), config.end()}});
  return files;
}

}  // namespace relay::vta
