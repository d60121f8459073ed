#include "vta/compile/run_layer.h"

#include "vta/compile/pack.h"

namespace relay::vta {
namespace {

// Buffers of a driver, which are freed at the end.
class Buffers {
 public:
  explicit Buffers(Driver& driver) : driver_(driver) {}
  ~Buffers() {
    Diagnostics ignored;  // what `add` returned can be freed
    for (const uint64_t address : addresses_) driver_.free(address, ignored);
  }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  bool add(std::span<const uint8_t> bytes, Diagnostics& d) {
    const Result<uint64_t> at = upload(driver_, bytes, d);
    if (at) addresses_.push_back(*at);
    return at.ok();
  }
  std::span<const uint64_t> addresses() const { return addresses_; }

 private:
  Driver& driver_;
  std::vector<uint64_t> addresses_;
};

}  // namespace

Result<std::vector<uint8_t>> run_packed(Driver& driver, const LayerCode& code, std::span<const int8_t> input,
                                        std::span<const std::vector<int8_t>> tensors, Diagnostics& d) {
  const Params& params = driver.layout().params();
  std::vector<uint8_t> result(static_cast<size_t>(packed_bytes(code.output, params)));
  Buffers all(driver);
  for (size_t k = 0; k < code.contents.size(); k++) {
    bool added = false;
    if (k == buffers::kInput) {
      added = all.add(pack_tensor(code.input, input, params), d);
    } else if (k == buffers::kOutput) {
      added = all.add(result, d);
    } else if (k >= buffers::kSteps && code.operands[k - buffers::kSteps] == OperandKind::kTensor) {
      added = all.add(pack_tensor(code.output, tensors[k - buffers::kSteps], params), d);
    } else {
      added = all.add(code.contents[k], d);
    }
    if (!added) return kReported;
  }
  if (!run_stream(driver, link(code, all.addresses(), params), d)) return kReported;
  if (!driver.read(all.addresses()[buffers::kOutput], result, d)) return kReported;
  return result;
}

Result<std::vector<int8_t>> run_layer(Driver& driver, const LayerCode& code, std::span<const int8_t> input,
                                      std::span<const std::vector<int8_t>> tensors, Diagnostics& d) {
  const Result<std::vector<uint8_t>> packed = run_packed(driver, code, input, tensors, d);
  if (!packed) return kReported;
  return unpack_tensor(code.output, *packed, driver.layout().params());
}

}  // namespace relay::vta
