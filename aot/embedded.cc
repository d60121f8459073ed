#include "aot/embedded.h"

#include "aot/embedded_texts.inc"

namespace relay::aot {

const std::string_view kRelayHeader = texts::kRelayHeader;
const std::string_view kDlpackHeader = texts::kDlpackHeader;
const std::string_view kArtifactSource = texts::kArtifactSource;
const std::string_view kCudaArtifactSource = texts::kCudaArtifactSource;
const std::string_view kCudaEmulationHeader = texts::kCudaEmulationHeader;
const std::string_view kCudaMachineSource = texts::kCudaMachineSource;
const std::string_view kValuesSource = texts::kValuesSource;

}  // namespace relay::aot
