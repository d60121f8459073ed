#include "aot/vta_layers.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "aot/embedded.h"
#include "base/cat.h"
#include "base/check.h"
#include "base/escape.h"
#include "ir/rewrite.h"
#include "kernel/statements.h"
#include "vta/compile/pack.h"
#include "vta/isa/encode.h"

namespace relay::aot {
namespace {

namespace buffers = vta::buffers;

constexpr uint32_t kNoBuffer = UINT32_MAX;  // kVtaNoBuffer

Tensor constant_of(std::span<const uint8_t> bytes) {
  Tensor out(kUInt8, Shape{std::ssize(bytes)});
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(out.data()));
  return out;
}

std::string_view bytes_of(const Tensor& t) {
  return {static_cast<const char*>(t.data()), static_cast<size_t>(t.bytes())};
}

// What a layer's constant buffer holds.
vta::Memory memory_of(size_t buffer) {
  if (buffer == buffers::kMicroOps) return vta::Memory::kUop;
  return buffer == buffers::kWeights ? vta::Memory::kWgt : vta::Memory::kAcc;
}

static_assert(vta::kInstructionBytes == 16, "support/vta_tables.cc says so");

// Where `dram_base` begins in a LOAD or STORE.
int dram_base_bit(const vta::Layout& layout) {
  const auto fields = layout.fields(vta::Opcode::kLoad);
  const auto at =
      std::find_if(fields.begin(), fields.end(), [](const auto& f) { return f.field->name == "dram_base"; });
  CHECK(at != fields.end() && at->first + at->width <= 64, "`dram_base` is not in the lower half");
  return at->first;
}

// LOG_BLOCK: log_block, the member of relay_vta_params.
std::string member_of(std::string_view key) {
  std::string out(key);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Its extents, and how far its elements are apart along N, C, H and W.
std::string show(const vta::TensorShape& s, const VtaAxes& axes) {
  const int64_t extents[] = {s.batch, s.channels, s.rows, s.columns};
  int64_t in_order[4] = {}, steps[4] = {};
  for (size_t k = 0; k < 4; ++k) in_order[axes[k]] = extents[k];
  for (size_t k = 0; k < 4; ++k)
    steps[k] = std::accumulate(in_order + axes[k] + 1, in_order + 4, int64_t{1}, std::multiplies<>());
  return cat("{{", join(extents, ", "), "}, {", join(steps, ", "), "}}");
}

}  // namespace

bool VtaLayers::add(VtaLayer layer, Diagnostics& d) {
  Result<std::vector<uint8_t>> stream =
      vta::encode(layout, std::span<const vta::Instruction>(layer.code.instructions), d);
  if (!stream) return false;
  layers.push_back(std::move(layer));
  streams.push_back(std::move(*stream));
  return true;
}

Module with_vta_kernels(const Module& lowered, const VtaLayers& vta) {
  std::map<Symbol, const VtaLayer*> layers;
  for (const VtaLayer& layer : vta.layers) layers.emplace(layer.kernel, &layer);
  Context& context = lowered.context();
  Module out = rewrite(lowered, [&](Builder& b, Expr e) -> Expr {
    const auto* call = e->as<Call>();
    const auto* global = call ? call->callee->as<Global>() : nullptr;
    const auto layer = global ? layers.find(global->name) : layers.end();
    if (layer == layers.end()) return e;
    std::vector<Expr> args;
    for (size_t read : layer->second->reads) args.push_back(call->args[read]);
    return b.call(b.global(global->name.text()), args, call->attrs, call->type);
  });
  for (const auto& [name, layer] : layers) {
    const kernel::Kernel& whole = *lowered.kernel(name.text());
    std::vector<const kernel::Buffer*> inputs, outputs;
    uint32_t id = 0;
    const auto add = [&](const kernel::Buffer* b, std::vector<const kernel::Buffer*>& list) {
      kernel::Buffer copy = *b;
      copy.id = id++;
      list.push_back(context.arena().make<kernel::Buffer>(copy));
    };
    for (size_t read : layer->reads) add(whole.inputs[read], inputs);
    for (const kernel::Buffer* b : whole.outputs) add(b, outputs);
    const kernel::Kernel kernel = {.name = whole.name,
                                   .inputs = context.arena().list<const kernel::Buffer*>(inputs),
                                   .outputs = context.arena().list<const kernel::Buffer*>(outputs),
                                   .temporaries = {},
                                   .body = kernel::make_nop(context.arena()),
                                   .origin = whole.origin};
    out.set_kernel(name.text(), context.arena().make<kernel::Kernel>(kernel));
  }
  return out;
}

VtaTables::VtaTables(const VtaLayers& vta) : vta_(vta) {
  for (const VtaLayer& layer : vta.layers) shared_ = std::max(shared_, 1 + layer.reads.size());
  buffers_.resize(shared_);
  for (size_t i = 0; i < vta.layers.size(); ++i) add(vta.layers[i], vta.streams[i]);
}

size_t VtaTables::add_buffer(std::span<const uint8_t> contents) {
  buffers_.push_back({.bytes = contents.size(), .contents = constants_.size()});
  constants_.push_back(constant_of(contents));
  return buffers_.size() - 1;
}

size_t VtaTables::add_read_only(std::span<const uint8_t> contents, int log_element) {
  const std::string_view bytes(reinterpret_cast<const char*>(contents.data()), contents.size());
  const size_t hash = std::hash<std::string_view>()(bytes);
  const auto [first, last] = read_only_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const Buffer& other = buffers_[at->second];
    if (other.log_element == log_element && bytes_of(constants_[*other.contents]) == bytes) return at->second;
  }
  const size_t buffer = add_buffer(contents);
  buffers_[buffer].log_element = log_element;
  read_only_.emplace(hash, buffer);
  return buffer;
}

void VtaTables::add(const VtaLayer& layer, const std::vector<uint8_t>& stream) {
  const vta::Params& params = vta_.layout.params();
  const vta::LayerCode& code = layer.code;
  Tables tables;
  uint64_t packed = 0;
  std::vector<uint32_t> places(code.contents.size(), kNoBuffer);
  const auto add_tensor = [&](const vta::TensorShape& shape) {
    Buffer& shared = buffers_[tables.tensors.size()];
    const auto bytes = static_cast<uint64_t>(vta::packed_bytes(shape, params));
    shared.bytes = std::max(shared.bytes, bytes);
    if (!tables.tensors.empty()) packed += bytes;
    packed_bytes_ = std::max({packed_bytes_, packed, bytes});
    const size_t number = tables.tensors.size();
    tables.tensors.push_back(
        show(shape, number < layer.axes.size() ? layer.axes[number] : VtaAxes{0, 1, 2, 3}));
    return static_cast<uint32_t>(number);
  };
  places[buffers::kOutput] = add_tensor(code.output);
  places[buffers::kInput] = add_tensor(code.input);
  for (size_t k = 0; k < places.size(); ++k) {
    if (k >= buffers::kSteps && code.operands[k - buffers::kSteps] == vta::OperandKind::kTensor) {
      places[k] = add_tensor(code.output);
    } else if (!code.contents[k].empty()) {
      places[k] = static_cast<uint32_t>(add_read_only(code.contents[k], params.log_dram_bytes(memory_of(k))));
    }
  }
  CHECK(tables.tensors.size() == 1 + layer.reads.size(), "a layer reads other tensors than its kernel");
  Tensor used(kUInt32, Shape{std::ssize(code.lines)});
  auto* buffer_of = static_cast<uint32_t*>(used.data());
  for (size_t i = 0; i < code.lines.size(); ++i) {
    const int buffer = code.lines[i].buffer;
    buffer_of[i] = buffer == buffers::kNone ? kNoBuffer : places[static_cast<size_t>(buffer)];
    if (buffer == buffers::kNone) continue;
    CHECK(buffer_of[i] != kNoBuffer, "an instruction moves what is in no buffer");
    std::optional<int>& log = buffers_[buffer_of[i]].log_element;
    const int here = params.log_dram_bytes(code.instructions[i].memory);
    CHECK(!log || *log == here, "a buffer has elements of two sizes");
    log = here;
  }
  tables.stream = add_buffer(stream);
  buffers_.back().layer = tables_.size();
  stream_bytes_ = std::max<uint64_t>(stream_bytes_, stream.size());
  tables.buffers = constants_.size();
  constants_.push_back(std::move(used));
  tables_.push_back(std::move(tables));
}

std::optional<size_t> VtaTables::layer_of(const kernel::Kernel& k) const {
  const auto at = std::find_if(vta_.layers.begin(), vta_.layers.end(),
                               [&](const VtaLayer& layer) { return layer.kernel == k.name; });
  if (at == vta_.layers.end()) return std::nullopt;
  return static_cast<size_t>(at - vta_.layers.begin());
}

std::string VtaTables::print(const std::function<uint64_t(size_t)>& offset) const {
  const vta::Params& params = vta_.layout.params();
  std::string values, names, all_buffers, tensors, layers;
  for (const vta::ParamRow& row : vta::param_rows()) {
    values += cat(", ", params.*row.member);
    names += cat("    {", c_string(row.key), ", &relay_vta_params::", member_of(row.key), "},\n");
  }
  for (const Buffer& b : buffers_)
    all_buffers +=
        cat("    {", b.bytes, ", ", b.log_element.value_or(0), ", ", b.contents ? offset(*b.contents) : 0,
            ", ", b.layer ? static_cast<int64_t>(*b.layer) : -1, "},\n");
  for (size_t i = 0; i < tables_.size(); ++i) {
    const Tables& t = tables_[i];
    tensors += cat("constexpr VtaTensor kVtaTensors", i, "[] = {", join(t.tensors, ", "), "};\n");
    layers +=
        cat("    {", c_string(vta_.layers[i].name), ", kVtaTensors", i, ", ", t.tensors.size() - 1, ", ",
            t.stream, ", ", vta_.layers[i].code.instructions.size(), ", ", offset(t.buffers), "},\n");
  }
  return cat("constexpr relay_vta_params kNeededVta = {sizeof(relay_vta_params)", values,
             "};\nconstexpr VtaParam kVtaParams[] = {\n", names,
             "};\nconstexpr size_t kVtaBatch = ", params.batch(), ", kVtaBlock = ", params.block(),
             ";\nconstexpr int kVtaDramBaseBit = ", dram_base_bit(vta_.layout),
             ";\nconstexpr VtaBuffer kVtaBuffers[] = {\n", all_buffers,
             "};\nconstexpr size_t kVtaBufferCount = ", buffers_.size(), ", kVtaShared = ", shared_, ";\n",
             tensors, "constexpr VtaLayer kVtaLayers[] = {\n", layers,
             "};\n// The most of a layer.\nconstexpr size_t kVtaPackedBytes = ", packed_bytes_,
             ", kVtaStreamBytes = ", stream_bytes_, ";\n\n");
}

std::string VtaTables::call(size_t layer, std::string_view context, const std::vector<std::string>& inputs,
                            const std::string& result) {
  return cat("  const void* const read[] = {", join(inputs, ", "), "};\n  const int32_t status = run_layer(",
             context, ", kVtaLayers[", layer, "], read, ", result, ");\n");
}

std::vector<std::string> VtaTables::list() const {
  std::vector<std::string> out{
      "", "These layers run on a VTA, through the driver that relay_open_options.vta gives:", ""};
  for (const VtaLayer& layer : vta_.layers) out.push_back("  " + layer.name);
  out.insert(out.end(), {"", "The VTA has these parameters:", ""});
  for (const vta::ParamRow& row : vta::param_rows())
    out.push_back(cat("  ", row.key, " ", vta_.layout.params().*row.member));
  return out;
}

void VtaTables::describe(nlohmann::ordered_json& d) const {
  nlohmann::ordered_json vta = nlohmann::ordered_json::object();
  for (const vta::ParamRow& row : vta::param_rows())
    vta["parameters"][std::string(row.key)] = vta_.layout.params().*row.member;
  vta["layers"] = nlohmann::ordered_json::array();
  for (const VtaLayer& layer : vta_.layers) vta["layers"].push_back(layer.name);
  d["vta"] = std::move(vta);
}

std::string vta_header() {
  std::string out = cat("\n", kRelayVtaHeader);
  const std::string include = "#include \"relay.h\"\n\n";
  if (const size_t at = out.find(include); at != std::string::npos) out.erase(at, include.size());
  return out;
}

std::string VtaDeviceLibrary::run(const kernel::Kernel& k, const std::vector<std::string>& values,
                                  const std::vector<std::string>& extents) {
  const std::optional<size_t> layer = tables_.layer_of(k);
  if (!layer) return CpuDeviceLibrary::run(k, values, extents);
  std::vector<std::string> inputs;
  for (size_t i = 0; i < k.inputs.size(); ++i) inputs.push_back(cat("data<const void>(", values[i], ")"));
  return cat(
      VtaTables::call(*layer, "run.device->vta", inputs, cat("data<void>(", values[k.inputs.size()], ")")),
      "  if (status != 0) return run.fail(status, run.device->vta->error);\n");
}

}  // namespace relay::aot
