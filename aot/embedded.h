// Texts that go into every artifact, from the files of the same names (see aot/BUILD).
#pragma once

#include <string_view>

namespace relay::aot {

extern const std::string_view kRelayHeader;     // runtime/relay.h
extern const std::string_view kDlpackHeader;    // runtime/dlpack.h
extern const std::string_view kArtifactSource;  // aot/support/artifact.cc
extern const std::string_view kMainSource;      // aot/support/main.cc
extern const std::string_view kModelSource;     // aot/support/model.cc
extern const std::string_view kNpySource;       // aot/support/npy.cc
extern const std::string_view kPlanRunSource;   // aot/support/plan_run.cc
extern const std::string_view kStopSource;      // aot/support/stop.cc
extern const std::string_view kTensorsSource;   // aot/support/tensors.cc
extern const std::string_view kThreadsSource;   // aot/support/threads.cc
extern const std::string_view kValueRunSource;  // aot/support/value_run.cc
extern const std::string_view kValuesSource;    // aot/support/values.cc

}  // namespace relay::aot
