// Texts that go into every artifact, from the files of the same names (see aot/BUILD).
#pragma once

#include <string_view>

namespace relay::aot {

extern const std::string_view kRelayHeader;          // runtime/relay.h
extern const std::string_view kDlpackHeader;         // runtime/dlpack.h
extern const std::string_view kArtifactSource;       // aot/support/artifact.cc
extern const std::string_view kCudaArtifactSource;   // aot/support/cuda_artifact.cc
extern const std::string_view kCudaEmulationHeader;  // aot/cuda_emulation.h
extern const std::string_view kCudaMachineSource;    // aot/support/cuda_machine.cc
extern const std::string_view kValuesSource;         // aot/support/values.cc

}  // namespace relay::aot
