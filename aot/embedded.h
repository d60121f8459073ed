// Texts that go into artifacts, from the files of the same names (see aot/BUILD).
#pragma once

#include <string_view>

namespace relay::aot {

extern const std::string_view kPythonModule;         // aot/package/model.py
extern const std::string_view kRelayHeader;          // runtime/relay.h
extern const std::string_view kRelayVtaHeader;       // runtime/relay_vta.h
extern const std::string_view kDlpackHeader;         // runtime/dlpack.h
extern const std::string_view kDenormalsHeader;      // runtime/denormals.h
extern const std::string_view kUsableCoresHeader;    // base/usable_cores.h
extern const std::string_view kAlternationSource;    // aot/support/alternation.cc
extern const std::string_view kArenasSource;         // aot/support/arenas.cc
extern const std::string_view kArtifactSource;       // aot/support/artifact.cc
extern const std::string_view kBaseSource;           // aot/support/base.cc
extern const std::string_view kBatchesSource;        // aot/support/batches.cc
extern const std::string_view kCpuValueRunSource;    // aot/support/cpu_value_run.cc
extern const std::string_view kCpuValuesSource;      // aot/support/cpu_values.cc
extern const std::string_view kCudaArtifactSource;   // aot/support/cuda_artifact.cc
extern const std::string_view kCudaEmulationHeader;  // aot/cuda_emulation.h
extern const std::string_view kCudaLaunchSource;     // aot/support/cuda_launch.cc
extern const std::string_view
    kCudaMachineSource;  // aot/support/cuda_machine.cc, cuda_watch.cc, cuda_runtime.cc
extern const std::string_view kCudaModelSource;       // aot/support/cuda_model.cc
extern const std::string_view kCudaPlanRunSource;     // aot/support/cuda_plan_run.cc
extern const std::string_view kCudaValueRunSource;    // aot/support/cuda_value_run.cc
extern const std::string_view kCudaValuesSource;      // aot/support/cuda_values.cc
extern const std::string_view kDnnlSource;            // aot/support/dnnl.cc
extern const std::string_view kExtentsSource;         // aot/support/extents.cc
extern const std::string_view kInterfaceSource;       // aot/support/interface.cc
extern const std::string_view kMainSource;            // aot/support/main.cc
extern const std::string_view kModelSource;           // aot/support/model.cc
extern const std::string_view kNoValuesSource;        // aot/support/no_values.cc
extern const std::string_view kNoVtaSource;           // aot/support/no_vta.cc
extern const std::string_view kNpySource;             // aot/support/npy.cc
extern const std::string_view kOutputsSource;         // aot/support/outputs.cc
extern const std::string_view kPackageConfig;         // aot/package/Config.cmake
extern const std::string_view kPackageConfigVersion;  // aot/package/ConfigVersion.cmake
extern const std::string_view kPackagePc;             // aot/package/package.pc
extern const std::string_view kPlanRunSource;         // aot/support/plan_run.cc
extern const std::string_view kReportSource;          // aot/support/report.cc
extern const std::string_view kStopSource;            // aot/support/stop.cc
extern const std::string_view kTensorsSource;         // aot/support/tensors.cc
extern const std::string_view kThreadsSource;         // aot/support/threads.cc
extern const std::string_view kValueRunSource;        // aot/support/value_run.cc
extern const std::string_view kValuesSource;          // aot/support/values.cc
extern const std::string_view kVtaSource;             // aot/support/vta.cc
extern const std::string_view kVtaTablesSource;       // aot/support/vta_tables.cc
extern const std::string_view kWeightsFileSource;     // aot/support/weights_file.cc

}  // namespace relay::aot
